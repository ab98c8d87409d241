//! The rules of the sequence, as a checker for conversations that others made.
//!
//! Each [`Rule`] is one thing that the Messages API is documented or reported to refuse, or to answer badly.
//! The rules come from documents and reports, not from trials against a live service; they stand in this one
//! file so that a rule that proves wrong is mended in one place.
//!
//! What [`transcript`](crate::transcript) builds breaks none of them and needs no check. This checker is for
//! saved conversations, for servers that play the service, and for tests. It reports every violation, in the
//! order of the request, and takes time in proportion to the request's size.
//!
//! ```
//! use sommelier_protocol::sequence::{Rule, check_messages};
//! use sommelier_protocol::{Message, ToolUse};
//!
//! let call = ToolUse::scripted("tu_1", "get_quote", "{}");
//! let messages = [Message::user("Quote Focus"), Message::assistant(vec![call.into()]), Message::user("Well?")];
//! let violations = check_messages(&messages);
//! assert_eq!(violations[0].rule, Rule::CallsAreAnsweredNext);
//! assert_eq!(
//!     violations[0].to_string(),
//!     r#"S2 messages.1.content.0: the call "tu_1" has no result in the next message"#,
//! );
//! ```
//!
//! Tools that the service runs itself (`server_tool_use` and the results of such) are no calls in the sense
//! of these rules: nobody owes them an answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::name::is_word;
use crate::{
    Content, ContentBlock, Message, ModelRequest, RawBlock, RawJson, ResultContent, Role, System, ToolName,
    ToolResult, ToolUse,
};

/// A rule of the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// S1: there is a message, and the first is not the model's.
    ModelIsNotFirst,
    /// S2: every call is the model's and is answered in the very next message.
    CallsAreAnsweredNext,
    /// S3: every result is the user's and names a call of the message before it.
    ResultsNameCalls,
    /// S4: results stand before everything else in their message.
    ResultsComeFirst,
    /// S5: each call has exactly one result, and those of one reply stand in one message.
    OneResultPerCall,
    /// S6: the id of a call is legal, and unique in the whole request.
    CallIdsAreUnique,
    /// S7: no text block is blank and no content is empty.
    NothingIsBlank,
    /// S8: the model's message is not last, unless the service paused it; nor does it end in white space.
    ModelIsNotLast,
    /// S9: thinking blocks are whole, stand in the model's messages beside something else, and come back as
    /// they were.
    ThinkingIsWhole,
    /// S10: a system message follows a user's message and precedes the model's, if any.
    SystemFollowsUser,
    /// S11: no two neighbours have the same role.
    RolesAlternate,
    /// S12: tool names are legal and unique, and tools are given when blocks of tools are in the messages.
    ToolsAreNamed,
    /// S13: a result that is an error says what went wrong.
    ErrorsHaveWords,
}

impl Rule {
    /// Every rule, in the order of their codes.
    pub const ALL: [Self; 13] = [
        Self::ModelIsNotFirst,
        Self::CallsAreAnsweredNext,
        Self::ResultsNameCalls,
        Self::ResultsComeFirst,
        Self::OneResultPerCall,
        Self::CallIdsAreUnique,
        Self::NothingIsBlank,
        Self::ModelIsNotLast,
        Self::ThinkingIsWhole,
        Self::SystemFollowsUser,
        Self::RolesAlternate,
        Self::ToolsAreNamed,
        Self::ErrorsHaveWords,
    ];

    /// The rule's short name, `S1` to `S13`.
    pub fn code(self) -> &'static str {
        match self {
            Self::ModelIsNotFirst => "S1",
            Self::CallsAreAnsweredNext => "S2",
            Self::ResultsNameCalls => "S3",
            Self::ResultsComeFirst => "S4",
            Self::OneResultPerCall => "S5",
            Self::CallIdsAreUnique => "S6",
            Self::NothingIsBlank => "S7",
            Self::ModelIsNotLast => "S8",
            Self::ThinkingIsWhole => "S9",
            Self::SystemFollowsUser => "S10",
            Self::RolesAlternate => "S11",
            Self::ToolsAreNamed => "S12",
            Self::ErrorsHaveWords => "S13",
        }
    }

    /// The rule in one line.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::ModelIsNotFirst => "there is a message, and the first is not the model's",
            Self::CallsAreAnsweredNext => {
                "every call is the model's and is answered in the very next message"
            }
            Self::ResultsNameCalls => "every result is the user's and names a call of the message before it",
            Self::ResultsComeFirst => "results stand before everything else in their message",
            Self::OneResultPerCall => "each call has exactly one result, those of one reply in one message",
            Self::CallIdsAreUnique => "the id of a call is legal, and unique in the whole request",
            Self::NothingIsBlank => "no text block is blank and no content is empty",
            Self::ModelIsNotLast => "the model's message is not last, unless the service paused it",
            Self::ThinkingIsWhole => "thinking blocks are the model's, whole, and come back as they were",
            Self::SystemFollowsUser => "a system message follows a user's and precedes the model's, if any",
            Self::RolesAlternate => "no two neighbours have the same role",
            Self::ToolsAreNamed => "tool names are legal and unique, and tools are given where they are used",
            Self::ErrorsHaveWords => "a result that is an error says what went wrong",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// One rule broken, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The place within the request, such as `messages.3.content.1`.
    pub path: String,
    /// What is wrong there, with the ids or values that are.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.rule, self.path, self.detail)
    }
}

/// Every violation in `request`: first of its instructions and tools, then of its messages.
pub fn check(request: &ModelRequest<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut report = |rule, path, detail| violations.push(Violation { rule, path, detail });
    if let Some(System::Blocks(raw)) = request.system.as_deref() {
        for place in blank_texts(raw) {
            report(Rule::NothingIsBlank, format!("system.{place}"), "the text is blank".to_owned());
        }
    }
    let mut names = BTreeSet::new();
    for (place, tool) in request.tools.iter().enumerate() {
        if !names.insert(&tool.name) {
            let detail = format!("the name {} is taken by an earlier tool", quoted(tool.name.as_str()));
            report(Rule::ToolsAreNamed, format!("tools.{place}"), detail);
        }
    }
    if request.tools.is_empty()
        && let Some(place) = first_tool_block(&request.messages)
    {
        report(
            Rule::ToolsAreNamed,
            "tools".to_owned(),
            format!("{place} is a block of a tool, but none is given"),
        );
    }
    violations.append(&mut check_messages(&request.messages));
    violations
}

/// Every violation in `messages`, taken as the whole conversation of a request.
///
/// What needs the rest of the request (whether tools are given, and under which names) is left to [`check`].
pub fn check_messages(messages: &[Message]) -> Vec<Violation> {
    let mut checker =
        Checker { messages, ids: BTreeSet::new(), asked: BTreeMap::new(), violations: Vec::new() };
    if messages.is_empty() {
        checker.report(Rule::ModelIsNotFirst, "messages".to_owned(), "there is no message".to_owned());
    }
    for (at, message) in messages.iter().enumerate() {
        checker.message(at, message);
    }
    checker.violations
}

/// Whether the thinking blocks of a `received` reply stand in the latest assistant message of the next
/// `request`: complete, in order and byte for byte.
///
/// A reply that was paused and went on is one reply: give all its blocks. Blocks without what a thinking
/// block must have, which the conversation does not keep, are not asked for.
pub fn check_echo(received: &[ContentBlock], request: &ModelRequest<'_>) -> Vec<Violation> {
    let expected =
        thinking(received).map(|(_, block)| block).filter(|block| block.thinking_fault().is_none());
    let mut expected = expected.enumerate();
    let latest = request.messages.iter().enumerate().rfind(|(_, message)| message.role == Role::Assistant);
    let Some((at, latest)) = latest else {
        let missing = expected.map(|(nth, _)| Violation {
            rule: Rule::ThinkingIsWhole,
            path: "messages".to_owned(),
            detail: format!(
                "thinking block {nth} of the reply did not come back: there is no assistant message"
            ),
        });
        return missing.collect();
    };
    let mut violations = Vec::new();
    let mut report = |path, detail| violations.push(Violation { rule: Rule::ThinkingIsWhole, path, detail });
    for (place, found) in thinking(latest.content.blocks()) {
        let path = format!("messages.{at}.content.{place}");
        match expected.next() {
            Some((_, block)) if block.raw == found.raw => {}
            Some((nth, _)) => report(path, format!("this is not thinking block {nth} of the reply")),
            None => report(path, "the reply has no such thinking block".to_owned()),
        }
    }
    for (nth, _) in expected {
        report(format!("messages.{at}"), format!("thinking block {nth} of the reply did not come back"));
    }
    violations
}

struct Checker<'a> {
    messages: &'a [Message],
    /// The ids of all calls so far.
    ids: BTreeSet<&'a str>,
    /// The calls of the latest reply, as long as only users have spoken since.
    asked: BTreeMap<&'a str, Asked>,
    violations: Vec<Violation>,
}

/// A call of the latest reply.
struct Asked {
    /// The place of the reply among the messages.
    at: usize,
    answered: bool,
}

impl<'a> Checker<'a> {
    fn report(&mut self, rule: Rule, path: String, detail: String) {
        self.violations.push(Violation { rule, path, detail });
    }

    fn message(&mut self, at: usize, message: &'a Message) {
        let path = format!("messages.{at}");
        let before = at.checked_sub(1).and_then(|before| self.messages.get(before));
        let next = self.messages.get(at + 1);
        match (message.role, before.map(|before| before.role)) {
            (Role::Assistant, None) => {
                self.report(
                    Rule::ModelIsNotFirst,
                    path.clone(),
                    "the first message is the model's".to_owned(),
                );
            }
            (Role::System, _) => self.system_place(&path, before, next),
            (role, Some(before)) if role == before => {
                let detail = format!("two neighbours have the role {}", name(role));
                self.report(Rule::RolesAlternate, path.clone(), detail);
            }
            _ => {}
        }
        let may_be_empty = message.role == Role::Assistant && next.is_none();
        match &message.content {
            content if content.is_empty() && may_be_empty => {}
            content if content.is_empty() => {
                self.report(Rule::NothingIsBlank, path.clone(), "the content is empty".to_owned());
            }
            Content::Text(text) if text.trim().is_empty() => {
                self.report(Rule::NothingIsBlank, path.clone(), "the text is blank".to_owned());
            }
            _ => {}
        }
        if message.role != Role::User {
            self.asked.clear();
        }
        if message.role == Role::Assistant && is_only_thinking(message.content.blocks()) {
            self.report(
                Rule::ThinkingIsWhole,
                path.clone(),
                "there is nothing beside the thinking".to_owned(),
            );
        }
        let answered: BTreeSet<&str> = next
            .filter(|next| next.role == Role::User)
            .into_iter()
            .flat_map(Message::tool_results)
            .map(ToolResult::tool_use_id)
            .collect();
        let mut results_may_follow = true;
        for (place, block) in message.content.blocks().iter().enumerate() {
            let path = format!("{path}.content.{place}");
            match block {
                ContentBlock::Text(text) if text.as_str().trim().is_empty() => {
                    self.report(Rule::NothingIsBlank, path, "the text is blank".to_owned());
                }
                ContentBlock::Text(_) => {}
                ContentBlock::ToolUse(call) => self.call(at, message.role, call, &answered, path),
                ContentBlock::ToolResult(result) => {
                    self.result(at, message.role, result, results_may_follow, path);
                }
                ContentBlock::Other(block) => self.other(message.role, block, path),
            }
            results_may_follow &= matches!(block, ContentBlock::ToolResult(_));
        }
        if message.role == Role::Assistant && next.is_none() {
            self.last_reply(path, message);
        }
    }

    fn system_place(&mut self, path: &str, before: Option<&Message>, next: Option<&Message>) {
        let follows_well = before.is_some_and(|before| before.role == Role::User || before.ends_paused());
        if !follows_well {
            let detail = match before {
                None => "a system message is first".to_owned(),
                Some(before) => format!("a system message follows the role {}", name(before.role)),
            };
            self.report(Rule::SystemFollowsUser, path.to_owned(), detail);
        }
        if let Some(next) = next.filter(|next| next.role != Role::Assistant) {
            let detail = format!("a system message precedes the role {}", name(next.role));
            self.report(Rule::SystemFollowsUser, path.to_owned(), detail);
        }
    }

    fn call(&mut self, at: usize, role: Role, call: &'a ToolUse, answered: &BTreeSet<&str>, path: String) {
        let id = quoted(call.id());
        if !is_word(call.id()) {
            let detail = format!("the id {id} is not made of ASCII letters, digits, `_` and `-`");
            self.report(Rule::CallIdsAreUnique, path.clone(), detail);
        }
        if !self.ids.insert(call.id()) {
            let detail = format!("the id {id} is taken by an earlier call");
            self.report(Rule::CallIdsAreUnique, path.clone(), detail);
        }
        if !ToolName::is_legal(call.name()) {
            let detail = format!("the call {id} has the illegal tool name {}", quoted(call.name()));
            self.report(Rule::ToolsAreNamed, path.clone(), detail);
        }
        if role != Role::Assistant {
            let detail = format!("the call {id} stands in a message of the role {}", name(role));
            self.report(Rule::CallsAreAnsweredNext, path, detail);
            return;
        }
        self.asked.insert(call.id(), Asked { at, answered: false });
        if !answered.contains(call.id()) {
            let detail = format!("the call {id} has no result in the next message");
            self.report(Rule::CallsAreAnsweredNext, path, detail);
        }
    }

    fn result(&mut self, at: usize, role: Role, result: &'a ToolResult, may_stand_here: bool, path: String) {
        let id = quoted(result.tool_use_id());
        if let Some(ResultContent::Blocks(raw)) = result.content() {
            for place in blank_texts(raw) {
                let path = format!("{path}.content.{place}");
                self.report(Rule::NothingIsBlank, path, "the text is blank".to_owned());
            }
        }
        if result.is_error() && result.words().trim().is_empty() {
            let detail = format!("the error that answers {id} has no words");
            self.report(Rule::ErrorsHaveWords, path.clone(), detail);
        }
        if role != Role::User {
            let detail = format!("the result for {id} stands in a message of the role {}", name(role));
            self.report(Rule::ResultsNameCalls, path, detail);
            return;
        }
        if !may_stand_here {
            let detail = format!("the result for {id} stands after something else");
            self.report(Rule::ResultsComeFirst, path.clone(), detail);
        }
        let (rule, detail) = match self.asked.get_mut(result.tool_use_id()) {
            None => {
                (Rule::ResultsNameCalls, format!("the result for {id} names no call of the message before"))
            }
            Some(asked) if asked.answered => {
                (Rule::OneResultPerCall, format!("the call {id} has a second result"))
            }
            Some(asked) => {
                asked.answered = true;
                if asked.at + 1 == at {
                    return;
                }
                (Rule::OneResultPerCall, format!("the result for {id} is not in one message with the others"))
            }
        };
        self.report(rule, path, detail);
    }

    fn other(&mut self, role: Role, block: &RawBlock, path: String) {
        if !block.is_thinking() {
            return;
        }
        if role != Role::Assistant {
            let detail = format!("a {} block stands in a message of the role {}", block.kind(), name(role));
            self.report(Rule::ThinkingIsWhole, path.clone(), detail);
        }
        if let Some(fault) = block.thinking_fault() {
            self.report(Rule::ThinkingIsWhole, path, fault.to_owned());
        }
    }

    fn last_reply(&mut self, path: String, message: &Message) {
        let (place, text) = match &message.content {
            Content::Text(text) => (path.clone(), Some(&**text)),
            Content::Blocks(blocks) => {
                let last = blocks.len().saturating_sub(1);
                (format!("{path}.content.{last}"), blocks.last().and_then(ContentBlock::as_text))
            }
        };
        if text.is_some_and(|text| text.ends_with(char::is_whitespace)) {
            let detail = "the last text of the request ends in white space".to_owned();
            self.report(Rule::ModelIsNotLast, place, detail);
        }
        if !message.ends_paused() {
            self.report(Rule::ModelIsNotLast, path, "the last message is the model's".to_owned());
        }
    }
}

/// Whether there is thinking and nothing else.
fn is_only_thinking(blocks: &[ContentBlock]) -> bool {
    !blocks.is_empty() && thinking(blocks).count() == blocks.len()
}

fn thinking(blocks: &[ContentBlock]) -> impl Iterator<Item = (usize, &RawBlock)> {
    blocks.iter().enumerate().filter_map(|(place, block)| match block {
        ContentBlock::Other(block) if block.is_thinking() => Some((place, block)),
        _ => None,
    })
}

/// The places of blank text blocks in a list kept raw; none if it is no list of blocks.
fn blank_texts(raw: &RawJson) -> Vec<usize> {
    let blocks: Vec<ContentBlock> = raw.read().unwrap_or_default();
    let is_blank = |block: &ContentBlock| block.as_text().is_some_and(|text| text.trim().is_empty());
    blocks.iter().enumerate().filter(|(_, block)| is_blank(block)).map(|(place, _)| place).collect()
}

fn first_tool_block(messages: &[Message]) -> Option<String> {
    messages.iter().enumerate().find_map(|(at, message)| {
        let is_tool =
            |block: &ContentBlock| matches!(block, ContentBlock::ToolUse(_) | ContentBlock::ToolResult(_));
        let place = message.content.blocks().iter().position(is_tool)?;
        Some(format!("messages.{at}.content.{place}"))
    })
}

fn name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
    }
}

/// `text` in quotes, cut to its first 60 characters.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
