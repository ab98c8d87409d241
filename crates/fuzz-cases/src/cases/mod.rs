//! The cases, a file each.

pub(crate) mod address;
pub(crate) mod anthropic_reply;
pub(crate) mod anthropic_stream;
pub(crate) mod call;
pub(crate) mod conversation;
pub(crate) mod error;
pub(crate) mod openai_reply;
pub(crate) mod openai_stream;
pub(crate) mod server_files;
pub(crate) mod server_http;
pub(crate) mod server_rules;
pub(crate) mod sse;
