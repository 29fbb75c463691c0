//! Thinking and tool calls that a model writes into its text, read out of it again.
//!
//! Rules. (1) A vocabulary is data: which markers there are, what each opens or closes. (2) Whether a marker stands at a place depends on
//! the bytes from there on alone, at most `tag_bytes` of them; so where reads end changes nothing, and no more than that is ever held.
//! (3) What begins like a marker and is none releases one character, and the rest is looked at again. (4) Inside thinking, a value or a
//! result only its own close marker acts. (5) Nothing closes that was not opened. (6) What a marker of the vocabulary is in text is never
//! text, whatever else is wrong with it. (7) Nothing is corrected in silence: each repair is a quirk, each suspicion a note on the block.
//!
//! `lexeme` says what a marker is, `lookup` what is looked for, `grammar` finds the next one, `scanner` goes through the text, `state` is where that stands, `transitions` and
//! `calling` say what each marker does, `call`, `value` and `json_call` make arguments of what a call holds, `text` and `stage` stand between the decoder and the machine.

mod attributes;
mod call;
mod calling;
mod grammar;
mod json_call;
mod lexeme;
mod lookup;
mod op;
mod scanner;
mod stage;
mod state;
mod tag;
#[cfg(test)]
mod tests;
mod text;
mod transitions;
mod value;
mod vocabulary;

pub use grammar::Grammar;
pub(crate) use stage::Stage;
pub use vocabulary::{Body, Element, Kept, Marker, MarkerPiece, Role, ValueRule, Vocabulary, VocabularyError};
