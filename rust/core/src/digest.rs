//! SHA-256 over fields that cannot run into each other, wherever one ends and the next begins.

use sha2::{Digest, Sha256};

/// Takes fields, gives their digest.
#[derive(Clone, Debug, Default)]
pub struct FieldHash(Sha256);

impl FieldHash {
    /// A number is eight bytes, the highest first.
    pub fn add_number(&mut self, number: u64) {
        self.0.update(number.to_be_bytes());
    }

    /// A text is its length in bytes as such a number, then its bytes.
    pub fn add_text(&mut self, text: &str) {
        self.add_number(text.len() as u64);
        self.0.update(text.as_bytes());
    }

    /// The digest, in hexadecimal.
    pub fn finish(self) -> String {
        let bytes = self.0.finalize();
        let mut text = String::with_capacity(2 * bytes.len());
        let digits = bytes.iter().flat_map(|&byte| [byte >> 4, byte & 15]);
        text.extend(digits.map(|digit| char::from(if digit < 10 { b'0' + digit } else { b'a' + digit - 10 })));
        text
    }
}
