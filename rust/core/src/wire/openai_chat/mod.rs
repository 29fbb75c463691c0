//! `OpenAI` chat completions: `data: {chunk}` events, then `data: [DONE]`.

mod decode;
mod reasoning;
mod schema;
mod usage;

pub use decode::{Decoded, TERMINATOR, decode_frame, decode_json, decode_value};
