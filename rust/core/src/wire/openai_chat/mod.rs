//! `OpenAI` chat completions: `data: {chunk}` events, then `data: [DONE]`.

mod body;
mod decode;
mod encode;
mod reasoning;
mod schema;
mod usage;

pub use decode::Decoder;
pub use encode::Encoder;
