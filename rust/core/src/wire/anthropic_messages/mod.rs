//! Anthropic's Messages: events named by their type, blocks numbered by `index`.

mod body;
mod decode;
mod deltas;
mod schema;
mod usage;

pub use decode::Decoder;
