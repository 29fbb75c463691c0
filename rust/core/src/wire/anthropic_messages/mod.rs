//! Anthropic's Messages: events named by their type, blocks numbered by `index`.

mod body;
mod decode;
mod deltas;
mod encode;
mod schema;
mod usage;

pub use decode::Decoder;
pub use encode::Encoder;
