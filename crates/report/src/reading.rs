//! What single values of a journal say, in the words of a story.

use std::ops::Range;

use sommelier_handoff::{
    Answer, Asks, Branch, Effect, Entry, HANDOFF_TO_SPECIALIST, InputKind, Measure, Millis, Relay, Run, Step,
};
use sommelier_protocol::{Message, ModelResponse, Role, ToolResult, ToolUse};
use sommelier_runner::journal::Event;

use crate::draft::json;
use crate::story::{Done, Outcome, Piece, Spent};

/// The question that a record answers, and who does.
pub(crate) fn named_answer(event: &Event) -> Option<(String, String)> {
    if event.kind() != "human_answered" {
        return None;
    }
    let Ok(Entry::Input(input)) = Entry::read(event.kind(), event.version(), event.body()) else {
        return None;
    };
    match input.what {
        InputKind::HumanAnswered { id, by: Some(by), .. } => Some((id.into(), by.into())),
        _ => None,
    }
}

/// Where the run stands.
pub(crate) fn outcome(step: Option<&Step>) -> Outcome {
    let named = |status: &str| Outcome { status: status.to_owned(), answer: None, why: None };
    match step {
        None => named("opened"),
        Some(Step::Done(done)) => {
            let (status, said) = (done.end().as_str(), done.end().to_string());
            let why = said.strip_prefix(status).map(|why| why.trim_start_matches(": ").to_owned());
            Outcome {
                status: status.to_owned(),
                answer: done.answer(),
                why: why.filter(|why| !why.is_empty()),
            }
        }
        Some(step) if step.is_at_rest() => named("waiting"),
        Some(_) => named("open"),
    }
}

/// What a run and its branches have used since the user spoke, of what there was. What a branch was given and has not used
/// is used by nobody.
pub(crate) fn budget(relay: &Relay, step: &Step, millis: Millis) -> Vec<Spent> {
    budget_of(relay, step.run(), branches(step), millis)
}

/// As [`budget`], of a run that has ended.
pub(crate) fn last_budget(relay: &Relay, run: &Run, millis: Millis) -> Vec<Spent> {
    budget_of(relay, run, &[], millis)
}

fn budget_of(relay: &Relay, run: &Run, open: &[Branch], millis: Millis) -> Vec<Spent> {
    let spent = |measure: &str, used, allowed| Spent { measure: measure.to_owned(), used, allowed };
    let mut budget = Vec::new();
    for measure in [Measure::ModelCalls, Measure::ToolCalls, Measure::Tokens, Measure::Hops] {
        if let (Some(given), Some(left)) = (run.given(measure), unspent(run, open, measure)) {
            budget.push(spent(&measure.to_string(), given.saturating_sub(left), Some(given)));
        }
    }
    if let Some(given) = run.given(Measure::Millis) {
        budget.push(spent(&Measure::Millis.to_string(), millis, Some(given)));
    }
    let (trail, guards) = (run.trail(), relay.guards());
    let taken = trail.count_since_user().into();
    budget.push(spent("handoffs, by the cap of the guards", taken, Some(guards.max_handoffs.into())));
    if let Some(most) = guards.max_handoffs_per_conversation {
        budget.push(spent("handoffs in the whole conversation", trail.count().into(), Some(most.into())));
    }
    budget
}

/// The branches that are open in a step.
pub(crate) fn branches(step: &Step) -> &[Branch] {
    match step {
        Step::Delegate(delegation) => delegation.branches(),
        _ => &[],
    }
}

/// How much nobody has used yet of what a run was given, in it and in the branches that are open.
fn unspent(run: &Run, open: &[Branch], measure: Measure) -> Option<u64> {
    let lent = open.iter().filter_map(|branch| {
        let step = branch.step();
        unspent(step.run(), branches(step), measure)
    });
    Some(lent.fold(run.left(measure)?, u64::saturating_add))
}

/// Whether a reply asks for a handoff, taken or not.
pub(crate) fn asks_for_a_handoff(reply: &ModelResponse) -> bool {
    let calls = reply.content.iter().filter_map(|block| block.as_tool_use());
    calls.into_iter().any(|call| call.name() == HANDOFF_TO_SPECIALIST)
}

/// More messages than this are not told one by one, but for those at both ends.
const MOST_PIECES: usize = 40;

/// The sender's conversation before it hands over: the messages at both ends, and how many there are between.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    first: Vec<Piece>,
    between: usize,
    last: Vec<Piece>,
}

impl Kept {
    pub(crate) fn of(messages: &[Message]) -> Self {
        let half = if messages.len() > MOST_PIECES { MOST_PIECES / 2 } else { messages.len() };
        let last = messages.len() - half.min(messages.len() - half);
        let pieces = |places: Range<usize>| {
            let before = |place: usize| place.checked_sub(1).and_then(|before| messages.get(before));
            let piece = |place: usize| Some(piece(before(place), messages.get(place)?));
            places.filter_map(piece).collect()
        };
        Self { first: pieces(0..half), between: last - half, last: pieces(last..messages.len()) }
    }

    /// What stays behind, piece by piece, of so many bytes in all; nothing where these are of another conversation.
    pub(crate) fn pieces(self, bytes: u64) -> Vec<Piece> {
        let Self { first, between, last } = self;
        let count = first.len() + between + last.len();
        let brackets = "the brackets of the list and the commas in it".to_owned();
        let brackets = Piece { what: brackets, bytes: count as u64 + 1 };
        let told: u64 = first.iter().chain(&last).chain([&brackets]).map(|piece| piece.bytes).sum();
        let rest = bytes.checked_sub(told).filter(|rest| (*rest > 0) == (between > 0));
        let Some(rest) = rest.filter(|_| count > 0) else { return Vec::new() };
        let between =
            (between > 0).then(|| Piece { what: format!("{between} messages between"), bytes: rest });
        first.into_iter().chain(between).chain(last).chain([brackets]).collect()
    }
}

/// A message, behind the one before it: of the calls in that one it has the results.
fn piece(before: Option<&Message>, message: &Message) -> Piece {
    let called: Vec<&str> = message.tool_uses().map(ToolUse::name).collect();
    let name = |result: &ToolResult| {
        let mut calls = before.into_iter().flat_map(Message::tool_uses);
        calls.find(|call| call.id() == result.tool_use_id()).map_or("a tool", ToolUse::name)
    };
    let results: Vec<&str> = message.tool_results().map(name).collect();
    let what = match (&*called, &*results) {
        ([], []) if message.role == Role::Assistant => "reply".to_owned(),
        ([], []) => "what it was told".to_owned(),
        ([], [tool]) => format!("result of {tool}"),
        ([], tools) => format!("results of {}", tools.join(", ")),
        (tools, _) => format!("reply that calls {}", tools.join(", ")),
    };
    Piece { what, bytes: message.wire_len() as u64 }
}

/// Who allowed a call, or did not, as far as the records say.
pub(crate) fn approval(is_approved: bool, has_begun: bool, error: Option<&str>) -> Option<String> {
    match error {
        _ if is_approved => Some("approved_by_person".to_owned()),
        Some("approval_denied") if !has_begun => Some("denied".to_owned()),
        _ => None,
    }
}

/// What a question is about, in a few words, and all of it.
pub(crate) fn asked_about(asks: &Asks) -> (String, Option<String>) {
    match asks {
        Asks::Tool { tool, input, .. } | Asks::InDoubt { tool, input, .. } => {
            (tool.to_string(), Some(input.get().to_owned()))
        }
        Asks::Repeat { tool, input, earlier, .. } => {
            (tool.to_string(), Some(format!("{}\nearlier: {earlier}", input.get())))
        }
        Asks::Handoff { to, package, .. } => (to.to_string(), Some(package.to_json())),
        Asks::Words { question, choices, .. } => {
            let choices = (!choices.is_empty()).then(|| choices.join(" | "));
            (question.to_string(), choices)
        }
        Asks::Escalation { refusal } => (refusal.guard().as_str().to_owned(), Some(refusal.to_string())),
    }
}

/// What a tool has done.
pub(crate) fn done(effect: &Effect) -> Done {
    Done {
        tool: effect.tool.to_string(),
        result: effect.result.as_deref().map(json),
        told: None,
        undone: effect.is_undone,
    }
}

pub(crate) fn words_of(answer: &Answer) -> Option<&str> {
    match answer {
        Answer::Reject { reason } => Some(reason),
        Answer::Say { text } => Some(text),
        Answer::TakeOver { note } => Some(note),
        Answer::Happened { result } => Some(result),
        Answer::Approve | Answer::DidNotHappen | Answer::Undone => None,
    }
}

pub(crate) fn micros(millis: Millis) -> u64 {
    millis.saturating_mul(1000)
}
