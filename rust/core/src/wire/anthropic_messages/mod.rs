//! Anthropic's Messages: events named by their type, blocks numbered by `index`.

mod decode;
mod schema;

pub use decode::Decoder;
