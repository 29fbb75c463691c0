//! `OpenAI` chat completions: `data: {chunk}` events, then `data: [DONE]`.

mod body;
mod decode;
mod reasoning;
mod schema;
mod template;
mod usage;

pub use decode::Decoder;
