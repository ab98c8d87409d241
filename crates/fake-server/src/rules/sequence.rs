//! The order of messages, in the service's words.
//!
//! What is wrong is found by the project's own checker, [`sommelier_protocol::sequence`]. It is stricter than the
//! service at some places; what the service lets pass is *noted* and not refused:
//!
//! - S11: neighbours of one role. The service makes one message of them, documents say.
//! - S9: a message of the model in which there is nothing but thinking.
//! - S13: an error that says nothing but white space. One that says nothing at all is refused.
//! - S8 for older models, which go on from the model's words.

use serde_json::Value;
use sommelier_protocol::sequence::{Rule as Law, Violation, check_messages};
use sommelier_protocol::{Content, ContentBlock, Message, ResultContent, Role};

use super::model::Traits;
use super::tools::is_name;
use super::{list, word};
use crate::Rule;
use crate::breach::{ApiError, Breach};

/// What was found, in the order of the request.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) broken: Vec<Breach>,
    pub(super) noted: Vec<Breach>,
}

pub(super) fn judge(body: &Value, messages: &[Message]) -> Judged {
    let case = Case { messages, traits: Traits::of(word(body, "model")) };
    let mut judged = Judged { broken: instructions(body).into_iter().collect(), noted: Vec::new() };
    judged.broken.extend(case.system_role());
    for violation in check_messages(messages) {
        let place = if case.is_let_pass(&violation) { &mut judged.noted } else { &mut judged.broken };
        place.extend(case.breach(&violation));
    }
    judged.broken.extend(tools_missing(body, messages));
    judged
}

/// S7 for the instructions.
fn instructions(body: &Value) -> Option<Breach> {
    let is_blank = |block: &Value| word(block, "text").trim().is_empty();
    let blank = list(body, "system").iter().find(|block| is_blank(block))?;
    Some(Breach::at(Rule::Sequence(Law::NothingIsBlank), "system", blank_text(word(blank, "text"))))
}

/// S12: tools are given where their blocks are.
fn tools_missing(body: &Value, messages: &[Message]) -> Option<Breach> {
    let is_tool =
        |block: &ContentBlock| matches!(block, ContentBlock::ToolUse(_) | ContentBlock::ToolResult(_));
    let uses = messages.iter().flat_map(|message| message.content.blocks()).any(is_tool);
    (uses && list(body, "tools").is_empty()).then(|| {
        let what = "Requests which include `tool_use` or `tool_result` blocks must define tools";
        Breach::at(Rule::Sequence(Law::ToolsAreNamed), "tools", what)
    })
}

struct Case<'a> {
    messages: &'a [Message],
    traits: Traits,
}

impl Case<'_> {
    /// S10 for a model that has no such role.
    fn system_role(&self) -> Option<Breach> {
        let at = self.messages.iter().position(|message| message.role == Role::System)?;
        (!self.traits.takes_system_role).then(|| {
            let what = "Unexpected role \"system\". This model takes instructions in the top-level `system` parameter.";
            Breach::at(Rule::Sequence(Law::SystemFollowsUser), format!("messages.{at}.role"), what)
        })
    }

    fn is_let_pass(&self, violation: &Violation) -> bool {
        let place = Place::read(&violation.path);
        match violation.rule {
            Law::RolesAlternate => true,
            Law::ThinkingIsWhole => place.block.is_none(),
            Law::ErrorsHaveWords => !self.is_empty_result(place),
            Law::ModelIsNotLast => self.traits.takes_prefill && !self.ends_in_space(),
            // The checker's names are shorter than the service's.
            Law::ToolsAreNamed => {
                self.block(place).and_then(ContentBlock::as_tool_use).is_some_and(|call| is_name(call.name()))
            }
            _ => false,
        }
    }

    /// The violation as the service would tell it.
    fn breach(&self, violation: &Violation) -> Option<Breach> {
        let rule = Rule::Sequence(violation.rule);
        if violation.rule == Law::ModelIsNotLast && !self.ends_in_space() {
            let what = "This model does not support assistant message prefill. The conversation must end with a user message.";
            return Some(Breach::new(rule, ApiError::invalid(what)));
        }
        let place = Place::read(&violation.path);
        let (path, what) = match violation.rule {
            Law::CallsAreAnsweredNext | Law::CallIdsAreUnique | Law::ToolsAreNamed => {
                self.about_call(violation, place)?
            }
            Law::ResultsNameCalls | Law::ResultsComeFirst | Law::OneResultPerCall | Law::ErrorsHaveWords => {
                self.about_result(violation, place)?
            }
            Law::ModelIsNotFirst if self.messages.is_empty() => {
                ("messages".to_owned(), "at least one message is required".to_owned())
            }
            Law::ModelIsNotFirst => {
                ("messages".to_owned(), "first message must use the \"user\" role".to_owned())
            }
            Law::ModelIsNotLast => (
                "messages".to_owned(),
                "final assistant content cannot end with trailing whitespace".to_owned(),
            ),
            Law::NothingIsBlank => self.blank(place),
            Law::SystemFollowsUser => {
                (violation.path.clone(), format!("Unexpected role \"system\": {}", violation.detail))
            }
            Law::ThinkingIsWhole | Law::RolesAlternate => (violation.path.clone(), violation.detail.clone()),
        };
        Some(Breach::at(rule, path, what))
    }

    /// Where something is wrong with a call, and what.
    fn about_call(&self, violation: &Violation, place: Place) -> Option<(String, String)> {
        let path = &violation.path;
        let call = self.block(place).and_then(ContentBlock::as_tool_use)?;
        Some(match violation.rule {
            Law::CallsAreAnsweredNext if self.role(place) == Some(Role::Assistant) => {
                self.unanswered(place.message)
            }
            Law::CallsAreAnsweredNext => {
                (path.clone(), "`tool_use` blocks can only be in `assistant` messages".to_owned())
            }
            Law::ToolsAreNamed => (
                format!("{path}.tool_use.name"),
                "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'".to_owned(),
            ),
            _ if is_id(call.id()) => (path.clone(), "`tool_use` ids must be unique".to_owned()),
            _ => (format!("{path}.tool_use.id"), "String should match pattern '^[a-zA-Z0-9_-]+$'".to_owned()),
        })
    }

    /// Where something is wrong with a result, and what.
    fn about_result(&self, violation: &Violation, place: Place) -> Option<(String, String)> {
        let path = &violation.path;
        let result = self.block(place).and_then(ContentBlock::as_tool_result)?;
        Some(match violation.rule {
            Law::ResultsComeFirst => self.unanswered(place.message.checked_sub(1)?),
            Law::ErrorsHaveWords => {
                (format!("{path}.tool_result"), "content cannot be empty if `is_error` is true".to_owned())
            }
            Law::ResultsNameCalls if self.role(place) != Some(Role::User) => {
                (path.clone(), "`tool_result` blocks can only be in `user` messages".to_owned())
            }
            Law::OneResultPerCall if self.is_answered_before(place) => {
                (path.clone(), twice(result.tool_use_id()))
            }
            // No call of the message before, or one of whose results the others stand elsewhere.
            _ => (path.clone(), stray(result.tool_use_id())),
        })
    }

    fn block(&self, place: Place) -> Option<&ContentBlock> {
        self.messages.get(place.message)?.content.blocks().get(place.block?)
    }

    fn role(&self, place: Place) -> Option<Role> {
        self.messages.get(place.message).map(|message| message.role)
    }

    /// All calls of a message that the head of the next one does not answer.
    fn unanswered(&self, at: usize) -> (String, String) {
        let head: Vec<&str> = self
            .messages
            .get(at + 1)
            .map(|next| next.content.blocks())
            .unwrap_or_default()
            .iter()
            .map_while(ContentBlock::as_tool_result)
            .map(|result| result.tool_use_id())
            .collect();
        let calls = self.messages.get(at).into_iter().flat_map(Message::tool_uses).map(|call| call.id());
        let open: Vec<&str> = calls.filter(|id| !head.contains(id)).collect();
        let what = format!(
            "`tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have \
             a corresponding `tool_result` block in the next message.",
            open.join(", ")
        );
        (format!("messages.{at}"), what)
    }

    fn is_answered_before(&self, place: Place) -> bool {
        let Some(id) =
            self.block(place).and_then(ContentBlock::as_tool_result).map(|result| result.tool_use_id())
        else {
            return false;
        };
        let before =
            self.messages.get(place.message).map(|message| message.content.blocks()).unwrap_or_default();
        before
            .iter()
            .take(place.block.unwrap_or_default())
            .filter_map(ContentBlock::as_tool_result)
            .any(|result| result.tool_use_id() == id)
    }

    fn blank(&self, place: Place) -> (String, String) {
        let content = self.messages.get(place.message).map(|message| &message.content);
        match (content, place.block, self.block(place)) {
            (Some(Content::Text(text)), None, _) if !text.is_empty() => {
                ("messages".to_owned(), blank_text(text))
            }
            (_, None, _) => {
                let what = "all messages must have non-empty content except for the optional final assistant message";
                (format!("messages.{}", place.message), what.to_owned())
            }
            (_, _, Some(ContentBlock::Text(text))) => ("messages".to_owned(), blank_text(text.as_str())),
            // Within a result.
            _ => ("messages".to_owned(), blank_text("")),
        }
    }

    fn ends_in_space(&self) -> bool {
        let Some(last) = self.messages.last().filter(|last| last.role == Role::Assistant) else {
            return false;
        };
        let text = match &last.content {
            Content::Text(text) => Some(&**text),
            Content::Blocks(blocks) => blocks.last().and_then(ContentBlock::as_text),
        };
        text.is_some_and(|text| text.ends_with(char::is_whitespace))
    }

    fn is_empty_result(&self, place: Place) -> bool {
        let result = self.block(place).and_then(ContentBlock::as_tool_result);
        result.is_some_and(|result| match result.content() {
            None => true,
            Some(ResultContent::Text(text)) => text.is_empty(),
            Some(ResultContent::Blocks(raw)) => {
                raw.read::<Vec<Value>>().is_ok_and(|blocks| blocks.is_empty())
            }
        })
    }
}

/// A place within a request, `messages.3.content.1`.
#[derive(Clone, Copy, Debug)]
struct Place {
    message: usize,
    block: Option<usize>,
}

impl Place {
    fn read(path: &str) -> Self {
        let mut numbers = path.split('.').filter_map(|part| part.parse().ok());
        Self { message: numbers.next().unwrap_or_default(), block: numbers.next() }
    }
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn blank_text(text: &str) -> String {
    let what = if text.is_empty() { "be non-empty" } else { "contain non-whitespace text" };
    format!("text content blocks must {what}")
}

fn stray(id: &str) -> String {
    format!(
        "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding \
         `tool_use` block in the previous message."
    )
}

fn twice(id: &str) -> String {
    format!("each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}")
}
