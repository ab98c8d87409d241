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
        let output = Self::error(failure.code(), json(failure));
        // Whoever has the words alone, as in a conversation, tells a doubt by how they begin.
        if output.is_in_doubt() && !is_in_doubt(&output.content) { in_doubt(&output.content) } else { output }
    }

    /// The output as the answer to the call `id`.
    pub fn into_result(self, id: &str) -> ToolResult {
        match self.error {
            None => ToolResult::text(id, self.content),
            Some(_) => ToolResult::error(id, self.content),
        }
    }

    /// The output, or, when it is larger than `most` bytes, what can be told of it. What worked has worked whatever its size:
    /// it is told with both sizes and with how the result begins, so far as `most` has room, and is no error. An error stays
    /// one, and a doubt a doubt.
    ///
    /// ```
    /// use sommelier_runtime::ToolOutput;
    ///
    /// let told = ToolOutput::ok(format!(r#"{{"booking":"B-1","note":"{}"}}"#, "x".repeat(300))).at_most(200);
    /// assert_eq!(
    ///     &*told.content,
    ///     r#"{"note":"result_too_large","detail":"the call worked; its result is too large to be told","bytes":327,"most":200,"beginning":"{\"booking\":\"B-1\",\"note\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}"#,
    /// );
    /// assert_eq!(told.error, None);
    /// ```
    pub fn at_most(self, most: usize) -> Self {
        let bytes = self.content.len();
        if bytes <= most {
            return self;
        }
        match self.error {
            None => {
                let note = Note {
                    note: "result_too_large",
                    detail: "the call worked; its result is too large to be told",
                    bytes: Some(bytes),
                    most: Some(most),
                    ..Note::default()
                };
                note.with_beginning(&self.content)
            }
            Some(_) if self.is_in_doubt() => {
                in_doubt("whether the call had an effect is not known; what it said is too large to be told")
            }
            Some(_) => Self::failed(&TooLarge { error: "result_too_large", bytes, most }),
        }
    }

    /// Whether it leaves open if the call has had its effect: an error that says so itself, see [`Failure::in_doubt`], or
    /// what is told of a call that was called off while it ran, or whose tool failed inside.
    pub fn is_in_doubt(&self) -> bool {
        let is_of = |code: &str| DOUBTS.contains(&code) || is_in_doubt(&self.content);
        self.error.as_deref().is_some_and(is_of)
    }
}

/// An error of a tool that a model can read: it serialises as an object with a member `error`, its code.
///
/// It says that the call has had **no effect**, under its idempotency key: neither now nor when it was made before. What it
/// was for may be had again, unasked. A tool that cannot say so, since a connection broke after a request was sent or since
/// somebody else's answer cannot be read, fails with the code `in_doubt`, as [`Failure::in_doubt`] does: then what is known of
/// its effect is found out by what it [declares](crate::Tool), or a person is asked. So is what becomes of a tool that panics.
pub trait ToolFailure: Serialize {
    /// A word of few kinds, such as `slot_taken`.
    fn code(&self) -> &str;
}

/// A failure of a code and words, for tools that need no more. As every [`ToolFailure`] it says that nothing has happened,
/// but for [`in_doubt`](Self::in_doubt).
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

    /// What a tool says that does not know whether its effect was had, with what it knows.
    ///
    /// ```
    /// use sommelier_runtime::ToolOutput;
    /// use sommelier_runtime::tool::Failure;
    ///
    /// let broke = Failure::in_doubt("the connection broke after the order was sent");
    /// assert!(ToolOutput::failed(&broke).is_in_doubt());
    /// assert!(!ToolOutput::failed(&Failure::new("sold_out", "there is no chalk")).is_in_doubt());
    /// ```
    pub fn in_doubt(detail: impl Into<String>) -> Self {
        Self::new(IN_DOUBT, detail)
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

/// The output of a call that worked, also where its result cannot be told.
pub(super) fn of_value(value: &impl Serialize) -> ToolOutput {
    match serde_json::to_string(value) {
        Ok(text) => ToolOutput::ok(text),
        Err(error) => ToolOutput::ok(json(&Note {
            note: "result_has_no_json",
            detail: "the call worked; its result has no JSON form and cannot be told",
            why: Some(error.to_string()),
            ..Note::default()
        })),
    }
}

/// What is told of a call that worked in the place of a result that cannot be.
#[derive(Default, Serialize)]
struct Note<'a> {
    note: &'static str,
    detail: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    most: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    beginning: Option<&'a str>,
}

impl<'a> Note<'a> {
    /// How much of a result is told at most, in bytes of JSON: enough for what names an effect.
    const BEGINNING: usize = 1024;

    /// The output with as much of `text` as there is room for.
    fn with_beginning(mut self, text: &'a str) -> ToolOutput {
        self.beginning = Some("");
        let least = json(&self).len();
        let room = self.most.unwrap_or_default().saturating_sub(least).min(Self::BEGINNING);
        self.beginning = Some(text_within(text, room)).filter(|text| !text.is_empty());
        ToolOutput::ok(json(&self))
    }
}

/// As much of the beginning of a text as takes `room` bytes in JSON.
fn text_within(text: &str, room: usize) -> &str {
    let written = |character: char| match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        character => character.len_utf8(),
    };
    let mut room = room;
    let is_full = |(_, character): &(usize, char)| match room.checked_sub(written(*character)) {
        Some(rest) => {
            room = rest;
            false
        }
        None => true,
    };
    let end = text.char_indices().find(is_full).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or_default()
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
    ToolOutput::failed(&Panicked { error: PANIC, tool, detail })
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
    ToolOutput::failed(&NotRun { error: IN_DOUBT, detail })
}

const IN_DOUBT: &str = "in_doubt";
const PANIC: &str = "panic";
/// The codes of errors that leave open whether there was an effect.
const DOUBTS: [&str; 2] = [IN_DOUBT, PANIC];

/// Whether a call that was answered with this error may have had an effect all the same: it was called off while it ran,
/// or its tool failed inside, or said that it does not know. Who has the output asks [`ToolOutput::is_in_doubt`].
pub fn is_in_doubt(error: &str) -> bool {
    let code = error.strip_prefix(r#"{"error":""#);
    code.is_some_and(|code| {
        DOUBTS.iter().any(|doubt| code.strip_prefix(doubt).is_some_and(|rest| rest.starts_with('"')))
    })
}

pub(crate) fn not_run(detail: &str) -> ToolOutput {
    ToolOutput::failed(&NotRun { error: "not_run", detail })
}

/// The JSON of a value, or of the error that kept it from having one.
fn json(value: &impl Serialize) -> Box<str> {
    let text = serde_json::to_string(value);
    text.unwrap_or_else(|error| RawJson::string(&format!("no JSON: {error}")).get().to_owned()).into()
}
