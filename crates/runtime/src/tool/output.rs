//! What a tool gives back.

use serde::{Deserialize, Serialize};
use sommelier_protocol::{RawJson, ToolResult};

use crate::AgentName;

/// What came of one call: the text for the model, and a code when it went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// What the model reads; JSON where the tool is typed.
    pub content: Box<str>,
    /// A word of few kinds for what went wrong, such as `slot_taken`; `None` when nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<str>>,
}

impl ToolOutput {
    /// An output that worked.
    pub fn ok(content: impl Into<Box<str>>) -> Self {
        Self { content: content.into(), error: None }
    }

    /// An output that tells of an error, with its code.
    pub fn error(code: impl Into<Box<str>>, content: impl Into<Box<str>>) -> Self {
        Self { content: content.into(), error: Some(code.into()) }
    }

    /// An error as JSON, `{"error": code, ...}`, from anything that has such a form.
    pub fn failed(failure: &impl ToolFailure) -> Self {
        Self::error(failure.code(), json(failure))
    }

    /// The output as the answer to the call `id`.
    pub fn into_result(self, id: &str) -> ToolResult {
        match self.error {
            None => ToolResult::text(id, self.content),
            Some(_) => ToolResult::error(id, self.content),
        }
    }

    /// The output, or, when it is larger than `most` bytes, an error that names both sizes.
    pub fn at_most(self, most: usize) -> Self {
        if self.content.len() <= most {
            return self;
        }
        Self::failed(&TooLarge { error: "result_too_large", bytes: self.content.len(), most })
    }
}

/// An error of a tool that a model can read: it serialises as an object with a member `error`, its code.
pub trait ToolFailure: Serialize {
    /// A word of few kinds, such as `slot_taken`.
    fn code(&self) -> &str;
}

/// A failure of a code and words, for tools that need no more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    error: String,
    detail: String,
}

impl Failure {
    /// A failure with its code and what to tell the model.
    pub fn new(code: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { error: code.into(), detail: detail.into() }
    }
}

impl ToolFailure for Failure {
    fn code(&self) -> &str {
        &self.error
    }
}

macro_rules! own_failure {
    ($($name:ident $(<$life:lifetime>)? { $($field:ident: $ty:ty),* $(,)? })*) => { $(
        #[derive(Serialize)]
        struct $name $(<$life>)? { error: &'static str, $($field: $ty),* }

        impl $(<$life>)? ToolFailure for $name $(<$life>)? {
            fn code(&self) -> &str {
                self.error
            }
        }
    )* };
}

own_failure! {
    TooLarge { bytes: usize, most: usize }
    TooManyCalls { most: usize }
    NoJson { detail: String }
    UnknownTool<'a> { agent: &'a str, tool: String, available: Vec<&'a str> }
    InvalidArguments<'a> { detail: String, schema: &'a RawJson }
    Panicked<'a> { tool: &'a str, detail: &'a str }
    NotRun<'a> { detail: &'a str }
    Denied<'a> { tool: &'a str, reason: &'a str, effect: &'static str }
}

pub(crate) fn from_result<R: Serialize, E: ToolFailure>(result: Result<R, E>) -> ToolOutput {
    match result {
        Ok(value) => of_value(&value),
        Err(failure) => ToolOutput::failed(&failure),
    }
}

pub(super) fn of_value(value: &impl Serialize) -> ToolOutput {
    match serde_json::to_string(value) {
        Ok(text) => ToolOutput::ok(text),
        Err(error) => ToolOutput::failed(&NoJson { error: "result_has_no_json", detail: error.to_string() }),
    }
}

pub(crate) fn unknown_tool<'a>(
    agent: &'a AgentName,
    tool: &str,
    available: impl Iterator<Item = &'a str>,
) -> ToolOutput {
    ToolOutput::failed(&UnknownTool {
        error: "unknown_tool",
        agent: agent.as_str(),
        tool: shortened(tool),
        available: available.collect(),
    })
}

/// At most 64 characters of a text that a model wrote, with the size of the whole: what an error may quote.
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(64) {
        Some((end, _)) => format!("{}... ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

pub(crate) fn invalid_arguments(detail: &str, schema: &RawJson) -> ToolOutput {
    ToolOutput::failed(&InvalidArguments {
        error: "invalid_arguments",
        detail: without_middle(detail),
        schema,
    })
}

/// A detail that may quote a whole argument, its middle left out when it is long: what is wrong stands at
/// the beginning, the place at the end.
fn without_middle(detail: &str) -> String {
    let (head, tail) = (detail.char_indices().nth(200), detail.char_indices().nth_back(199));
    match (head, tail) {
        (Some((head, _)), Some((tail, _))) if head < tail => {
            format!("{} ... {}", &detail[..head], &detail[tail..])
        }
        _ => detail.to_owned(),
    }
}

pub(crate) fn arguments_too_large(bytes: usize, most: usize) -> ToolOutput {
    ToolOutput::failed(&TooLarge { error: "arguments_too_large", bytes, most })
}

pub(crate) fn panicked(tool: &str) -> ToolOutput {
    let detail = "the tool failed inside; whether it had an effect is not known";
    ToolOutput::failed(&Panicked { error: "panic", tool, detail })
}

pub(crate) fn too_many_calls(most: usize) -> ToolOutput {
    ToolOutput::failed(&TooManyCalls { error: "too_many_calls", most })
}

/// What a model is told of a call that was not approved: that the tool was not run, so that it does not believe otherwise.
pub fn denied(tool: &str, reason: &str) -> ToolOutput {
    let effect = "none: the tool was not run";
    ToolOutput::failed(&Denied { error: "approval_denied", tool, reason, effect })
}

/// What a model is told of a call that was called off while it ran: whether it had an effect is not known.
pub(crate) fn in_doubt(detail: &str) -> ToolOutput {
    ToolOutput::failed(&NotRun { error: "in_doubt", detail })
}

/// Whether a call that was answered with this error may have had an effect all the same: it was called off while it ran,
/// or its tool failed inside.
pub fn is_in_doubt(error: &str) -> bool {
    [r#"{"error":"in_doubt""#, r#"{"error":"panic""#].iter().any(|code| error.starts_with(code))
}

pub(crate) fn not_run(detail: &str) -> ToolOutput {
    ToolOutput::failed(&NotRun { error: "not_run", detail })
}

/// The JSON of a value, or of the error that kept it from having one.
fn json(value: &impl Serialize) -> Box<str> {
    let text = serde_json::to_string(value);
    text.unwrap_or_else(|error| RawJson::string(&format!("no JSON: {error}")).get().to_owned()).into()
}
