//! An agent that is code.

use serde::{Deserialize, Serialize};
use sommelier_handoff::{Contract, DelegateStatus, Fields, HandoffPackage};
use sommelier_protocol::{ContentBlock, Message, ModelRequest, ModelResponse, Role, StopReason, ToolUse};
use sommelier_runtime::{Model, ModelError};
use std::fmt;
use std::sync::Arc;

/// What a rule does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// It asks delegates, all at once.
    Ask(Vec<Question>),
    /// It answers.
    Say(String),
}

/// A question to a delegate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The delegate's tool.
    pub tool: String,
    /// The question, complete in itself.
    pub question: String,
    /// Values that go with it; empty when it needs none.
    pub context: Fields,
}

impl Question {
    /// A question to the delegate behind `tool`.
    pub fn new(tool: impl Into<String>, question: impl Into<String>) -> Self {
        Self { tool: tool.into(), question: question.into(), context: Fields::default() }
    }

    /// With these values, such as those of a [`Sight`].
    pub fn with_context(self, context: Fields) -> Self {
        Self { context, ..self }
    }

    /// The arguments of the call that asks it.
    fn arguments(&self) -> String {
        #[derive(Serialize)]
        struct Arguments<'a> {
            question: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            context: Option<&'a Fields>,
        }
        let context = Some(&self.context).filter(|context| !context.is_empty());
        serde_json::to_string(&Arguments { question: &self.question, context }).unwrap_or_default()
    }
}

/// What a delegate answered, or why it did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The delegate's tool.
    pub tool: String,
    /// How far it came.
    pub status: DelegateStatus,
    /// What it says; `None` when there is nothing.
    pub finding: Option<String>,
    /// What it recommends to be done next, where it answers under a [contract](sommelier_handoff::Contract).
    pub action_needed: Option<String>,
    /// The ids that bear the finding out, where it answers under a contract.
    pub evidence: Vec<String>,
    /// Why it is not done; `None` when it is. These are the core's words, for whoever looks after the agents; its own
    /// where it answers under a contract.
    pub reason: Option<String>,
    /// Model calls it took, those of its own delegates included.
    pub steps_used: u32,
}

impl Finding {
    /// What it says; empty when there is nothing.
    pub fn words(&self) -> &str {
        self.finding.as_deref().unwrap_or_default()
    }

    /// Whether it answered.
    pub fn is_done(&self) -> bool {
        self.status == DelegateStatus::Done
    }
}

/// What a rule decides by: what it was asked, and what delegates have found since, in the order of the questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The user's newest words; where another agent has asked or handed over, the task of its package.
    pub words: String,
    /// The values that came with the task; empty for a user's words.
    pub context: Fields,
    /// The findings.
    pub findings: Vec<Finding>,
}

type Decide = dyn Fn(&Sight) -> Move + Send + Sync;

/// Code in a model's place: an agent whose every move is a function of what it sees.
///
/// It is asked like a model and calls delegates like one, so its runs are the same value, with the same records and
/// spans; they can be saved in the middle. It remembers nothing. Its moves are labelled `rule (no model)`, and
/// [`Team::model_calls`](crate::Team::model_calls) does not count them.
#[derive(Clone)]
pub struct Rule(Arc<Decide>);

impl Rule {
    /// A rule that decides by `decide`.
    pub fn new(decide: impl Fn(&Sight) -> Move + Send + Sync + 'static) -> Self {
        Self(Arc::new(decide))
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rule")
    }
}

/// The label of a rule's moves.
pub(crate) const LABEL: &str = "rule (no model)";

impl Model for Rule {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let calls_so_far = request.messages.iter().flat_map(Message::tool_uses).count();
        let blocks = match (self.0)(&sight(&request.messages)) {
            Move::Say(text) => return Ok(reply(vec![ContentBlock::text(text)], StopReason::EndTurn)),
            Move::Ask(questions) => questions.into_iter().enumerate().map(|(place, asked)| {
                let arguments = asked.arguments();
                let id = format!("ask_{}", calls_so_far + place + 1);
                ContentBlock::from(ToolUse::scripted(id, asked.tool, &arguments))
            }),
        };
        Ok(reply(blocks.collect(), StopReason::ToolUse))
    }

    fn name(&self) -> Option<&str> {
        Some("rule")
    }

    fn label(&self) -> Option<&str> {
        Some(LABEL)
    }
}

fn reply(content: Vec<ContentBlock>, stop: StopReason) -> ModelResponse {
    ModelResponse::new("rule", content, stop)
}

fn sight(messages: &[Message]) -> Sight {
    // What the user adds while delegates work stands beside their results, and begins nothing anew. Neither does an
    // answer that is sent back: a rule has the same one again.
    let begins = |message: &Message| {
        message.role == Role::User
            && message.texts().any(|text| !Contract::is_sent_back(text))
            && message.tool_results().next().is_none()
    };
    let start = messages.iter().rposition(begins).unwrap_or(0);
    let since = messages.get(start..).unwrap_or_default();
    let spoken = since.iter().filter(|message| message.role == Role::User);
    let words = spoken.flat_map(Message::texts).filter(|text| !Contract::is_sent_back(text));
    let words = words.last().unwrap_or_default();
    let results = since.iter().flat_map(Message::tool_results);
    let calls: Vec<&ToolUse> = since.iter().flat_map(Message::tool_uses).collect();
    let findings = results.map(|result| {
        let call = calls.iter().find(|call| call.id() == result.tool_use_id());
        finding(call.map_or("", |call| call.name()), &result.words())
    });
    let (words, context) = match HandoffPackage::from_told(words) {
        Some((_, package)) => (package.task().to_owned(), package.context_fields().clone()),
        None => (words.to_owned(), Fields::default()),
    };
    Sight { words, context, findings: findings.collect() }
}

/// What the core wrote as the answer to a question: the result of a branch, or why there was none.
fn finding(tool: &str, words: &str) -> Finding {
    #[derive(Deserialize)]
    struct Told {
        status: Option<DelegateStatus>,
        finding: Option<String>,
        action_needed: Option<String>,
        #[serde(default)]
        evidence: Vec<String>,
        reason: Option<String>,
        detail: Option<String>,
        #[serde(default)]
        steps_used: u32,
    }
    let tool = tool.to_owned();
    match serde_json::from_str::<Told>(words) {
        Ok(Told { status: Some(status), finding, action_needed, evidence, reason, steps_used, .. }) => {
            Finding { tool, status, finding, action_needed, evidence, reason, steps_used }
        }
        told => {
            let detail = told.ok().and_then(|told| told.detail).unwrap_or_else(|| words.to_owned());
            Finding {
                tool,
                status: DelegateStatus::Failed,
                finding: None,
                action_needed: None,
                evidence: Vec::new(),
                reason: Some(detail),
                steps_used: 0,
            }
        }
    }
}
