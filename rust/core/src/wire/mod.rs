//! The wire formats, a folder each.

pub mod json;
pub mod openai_chat;
