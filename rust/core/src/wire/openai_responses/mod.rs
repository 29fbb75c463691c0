//! `OpenAI`'s Responses: events named by their type, items numbered by `output_index`, parts by an index of their own.

mod body;
mod calls;
mod decode;
mod encode;
mod item;
mod items;
mod kinds;
mod parts;
mod schema;
mod usage;

pub use decode::Decoder;
pub use encode::Encoder;
