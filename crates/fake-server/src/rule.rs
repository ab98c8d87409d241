//! What a request is held to.

use std::fmt;

use sommelier_protocol::sequence;

/// A rule of the service. Each has a file of cases under `fixtures/`, named by its [`code`](Self::code).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rule {
    /// What was sent is HTTP/1.x with a head and a body of known and bearable length.
    Http,
    /// The path is `/v1/messages`, or `/v1/messages/count_tokens`.
    Path,
    /// The method is `POST`.
    Method,
    /// There is a key, and it is a known one.
    Key,
    /// There is a version of the API, written as a date.
    Version,
    /// The body is said to be JSON.
    ContentType,
    /// The body is not larger than the service takes.
    Size,
    /// The body is JSON.
    Json,
    /// Members have the types that they must have, and what must be there is there.
    Shape,
    /// The model is a known one.
    Model,
    /// Under the newest version there are no parameters of sampling.
    Sampling,
    /// Thinking is asked for in a way that the model knows.
    Thinking,
    /// The definition of a tool is one.
    ToolDefinition,
    /// The choice of a tool is one that can be made.
    ToolChoice,
    /// There are at most four places at which the cache may break.
    CacheControl,
    /// A rule of the sequence, S1 to S13.
    Sequence(sequence::Rule),
}

impl Rule {
    /// Every rule, those of the sequence last.
    pub fn all() -> impl Iterator<Item = Self> {
        [
            Self::Http,
            Self::Path,
            Self::Method,
            Self::Key,
            Self::Version,
            Self::ContentType,
            Self::Size,
            Self::Json,
            Self::Shape,
            Self::Model,
            Self::Sampling,
            Self::Thinking,
            Self::ToolDefinition,
            Self::ToolChoice,
            Self::CacheControl,
        ]
        .into_iter()
        .chain(sequence::Rule::ALL.into_iter().map(Self::Sequence))
    }

    /// The rule's short name, as the log has it.
    pub fn code(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Path => "path",
            Self::Method => "method",
            Self::Key => "key",
            Self::Version => "version",
            Self::ContentType => "content_type",
            Self::Size => "size",
            Self::Json => "json",
            Self::Shape => "shape",
            Self::Model => "model",
            Self::Sampling => "sampling",
            Self::Thinking => "thinking",
            Self::ToolDefinition => "tool_definition",
            Self::ToolChoice => "tool_choice",
            Self::CacheControl => "cache_control",
            Self::Sequence(rule) => rule.code(),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
