//! Whether a text can stand in a JSON string as it is.

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGHS: u64 = ONES << 7;

/// Whether JSON must escape a byte of a text. Most text is short and needs none, so eight bytes are looked at in one step; the last
/// steps of a text may overlap.
pub fn needs_escapes(text: &[u8]) -> bool {
    if let Some(&last) = text.last_chunk() {
        let (eights, _) = text.as_chunks();
        return eights.iter().any(|&eight| has_escaped(eight)) || has_escaped(last);
    }
    let four = |bytes: &[u8; 4]| u64::from(u32::from_ne_bytes(*bytes));
    match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => has_escaped((four(first) | four(last) << 32).to_ne_bytes()),
        (Some(_) | None, Some(_) | None) => text.iter().any(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\'),
    }
}

/// Whether one of the bytes is a control character, a quote or a backslash.
fn has_escaped(eight: [u8; 8]) -> bool {
    let eight = u64::from_ne_bytes(eight);
    let below = |eight: u64, limit: u64| eight.wrapping_sub(ONES * limit) & !eight & HIGHS;
    let is_one = |byte: u8| below(eight ^ (ONES * u64::from(byte)), 1);
    below(eight, 0x20) | is_one(b'"') | is_one(b'\\') != 0
}
