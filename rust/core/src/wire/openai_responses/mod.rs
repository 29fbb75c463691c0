//! `OpenAI`'s Responses: events named by their type, blocks numbered by `output_index` and a part's index.

mod decode;
mod schema;

pub use decode::Decoder;
