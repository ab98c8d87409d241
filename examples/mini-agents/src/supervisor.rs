//! Pattern 1: the desks are tools of a supervisor, which keeps the turn, and their answers are under a contract. And what
//! happens when one of them fails, when the budget of all is spent, or when one answers in free text.

use examples_kit::{Claim, LinkRow, RunRow, excerpt, printable};
use serde::Serialize;
use sommelier_handoff::{Agent, Contract, Delegate, LinkOutcome};
use sommelier_patterns::{Supervisor, Team};
use sommelier_protocol::openai::{ChatMessage, ChatRole, ChatToolCall, to_chat};
use sommelier_protocol::{Message, ModelRequest, Role, ToolResult};
use sommelier_runner::{Outcome, Report, Runner};
use sommelier_runtime::{Model, ScriptedModel, Turn};
use std::borrow::Cow;
use std::error::Error;

use crate::desks::{billing, shipping};
use crate::script::{ask, bill, bill_stated, joint, ship_stated, turns};

const REQUEST: &str = "Was INV-311 charged twice, and where is parcel A-7?";
const BILLING: (&str, &str) = ("ask_billing", "Was INV-311 paid twice?");
const SHIPPING: (&str, &str) = ("ask_shipping", "Where is parcel A-7?");
/// The most model calls of a desk for one question.
pub(crate) const PER_QUESTION: u32 = 3;
/// The most answers of a desk to one question: one that breaks the contract is sent back once.
const MOST_ANSWERS: u32 = 2;

/// A run of the supervisor.
#[derive(Clone, Debug)]
pub(crate) struct Supervised {
    pub(crate) report: Report,
    /// The supervisor's conversation in the form of OpenAI.
    chat: Vec<ChatMessage>,
    /// Scripted turns that nothing asked for.
    unasked: usize,
    label: String,
}

/// The same as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct SupervisedRow {
    run: RunRow,
    openai_roles: Vec<ChatRole>,
}

/// What is left of a budget after a step that used some of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Spent {
    what: String,
    used: u32,
    left: u32,
}

/// Both questions in one message. Billing's archive fails the first `failures` times.
pub(crate) fn at_once(name: &str, failures: u32) -> Result<Supervised, Box<dyn Error>> {
    let calls = (failures + 2).min(PER_QUESTION);
    run_both(name, failures, turns(ScriptedModel::new(), "billing", calls, bill_stated))
}

/// Both questions in one message. Billing answers in words the first `times`, and as the contract wants after that, if it
/// is asked again.
pub(crate) fn in_words(name: &str, times: u32) -> Result<Supervised, Box<dyn Error>> {
    let model = turns(ScriptedModel::new(), "billing", 1 + times, bill);
    run_both(name, 0, turns(model, "billing", u32::from(times < MOST_ANSWERS), bill_stated))
}

fn run_both(name: &str, failures: u32, billing: ScriptedModel) -> Result<Supervised, Box<dyn Error>> {
    let model = turns(billing, "shipping", 2, ship_stated)
        .turn("supervisor", |_| ask(&[BILLING, SHIPPING]))
        .turn("supervisor", joint);
    run(name, &team(failures, 50)?, &model)
}

/// One question after the other, under a budget over all of them.
pub(crate) fn in_turn(name: &str, budget: u32) -> Result<Supervised, Box<dyn Error>> {
    let model = turns(ScriptedModel::new(), "billing", 2, bill_stated);
    // What the budget leaves for shipping when billing is through: nothing, one call, or enough.
    let model = turns(model, "shipping", budget.saturating_sub(5).min(2), ship_stated)
        .turn("supervisor", |_| ask(&[BILLING]))
        .turn("supervisor", |_| ask(&[SHIPPING]))
        .turn("supervisor", joint);
    run(name, &team(0, budget)?, &model)
}

fn team(failures: u32, budget: u32) -> Result<Team, Box<dyn Error>> {
    let lead =
        Agent::new("supervisor", "You ask the desks and answer from what they find, and from that alone.");
    let contract = Contract::default().evidence().repairs(MOST_ANSWERS - 1);
    let delegate = |tool, agent| Delegate::new(tool, agent).max_model_calls(PER_QUESTION).contract(contract);
    let team = Supervisor::by_model(lead)
        .delegate(delegate("ask_billing", billing(failures)))
        .delegate(delegate("ask_shipping", shipping()));
    Ok(team.build_with(|relay| relay.max_model_calls(budget))?)
}

fn run(name: &str, team: &Team, model: &ScriptedModel) -> Result<Supervised, Box<dyn Error>> {
    let runner = Runner::new(model).conversation(name);
    let Outcome::Ended(report) = team.run(runner, REQUEST)? else {
        return Err("the supervisor's run did not end".into());
    };
    let messages = report.done().turn().map(Turn::messages).unwrap_or_default();
    let lead = team.relay().agent("supervisor").ok_or("the supervisor is gone")?;
    let request = ModelRequest {
        system: lead.system().map(Cow::Borrowed),
        ..ModelRequest::new(lead.model(), lead.max_tokens(), messages)
    };
    let label = model.label().unwrap_or_default().to_owned();
    Ok(Supervised { chat: to_chat(&request), unasked: model.unused().len(), label, report })
}

impl Supervised {
    pub(crate) fn row(&self) -> SupervisedRow {
        SupervisedRow { run: RunRow::of(&self.report, &self.label), openai_roles: self.roles() }
    }

    /// Who decided.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    fn roles(&self) -> Vec<ChatRole> {
        self.chat.iter().map(|message| message.role).collect()
    }

    /// The supervisor's messages, by role.
    pub(crate) fn told_chat(&self) -> String {
        let lines = self.chat.iter().map(|message| {
            let calls: Vec<&str> = calls(message).map(|call| &*call.function.name).collect();
            let words = match calls.is_empty() {
                true => message.words(),
                false => format!("calls {}", calls.join(", ")).into(),
            };
            format!("  {:<12} {}\n", role(message.role), printable(&excerpt(&words, 140)))
        });
        lines.collect()
    }

    /// Who asked whom, and what came of it.
    pub(crate) fn told_links(&self) -> String {
        let links = LinkRow::all(self.report.done().run());
        let lines = links.iter().map(|link| {
            let found = told_finding(link);
            let (parent, child) = (&link.parent_run, &link.child_run);
            let (tool, status, steps) = (&link.tool, link.status, link.steps_used);
            format!("  {parent} → {child}  {tool}, {steps} steps, {status}: {}\n", printable(&found))
        });
        lines.collect()
    }

    /// The conversation of the desk in the branch of this place.
    fn desk(&self, place: usize) -> &[Message] {
        let branch = self.report.links().get(place).and_then(|link| link.run());
        branch.and_then(|done| done.turn()).map(Turn::messages).unwrap_or_default()
    }

    /// How often a tool of the desk failed in the branch of this place.
    fn failures(&self, place: usize) -> usize {
        self.desk(place).iter().flat_map(Message::tool_results).filter(|result| result.is_error()).count()
    }

    /// What billing read when its answer was sent back.
    fn sent_back(&self) -> impl Iterator<Item = &str> {
        let texts = self.desk(0).iter().filter(|message| message.role == Role::User).flat_map(Message::texts);
        texts.filter(|text| Contract::is_sent_back(text))
    }

    /// How billing's answer was sent back.
    pub(crate) fn told_sent_back(&self) -> String {
        let lines =
            self.sent_back().map(|text| format!("  billing reads: {}\n", printable(&excerpt(text, 160))));
        lines.collect()
    }

    /// The budget, and what each step of the tree has left of it. The supervisor's own calls are one before each
    /// question and one for the answer.
    pub(crate) fn spending(&self, budget: u32) -> Vec<Spent> {
        let mut left = budget;
        let mut spent = Vec::new();
        let mut spend = |what: &str, used: u32| {
            left = left.saturating_sub(used);
            spent.push(Spent { what: what.to_owned(), used, left });
        };
        for link in self.report.links() {
            spend("supervisor asks", 1);
            match &link.outcome {
                LinkOutcome::Returned { result, .. } => spend(link.tool.as_str(), result.steps_used),
                LinkOutcome::Refused { refusal } => {
                    spend(&format!("{} is refused: {refusal}", link.tool), 0);
                }
            }
        }
        spend("supervisor answers", 1);
        spent
    }

    /// What is claimed of both desks asked in one message, when all goes well.
    pub(crate) fn claims(&self) -> Vec<Claim> {
        use ChatRole::{Assistant, System, Tool, User};
        let run = self.report.done().run();
        let calls: Vec<usize> = self.chat.iter().map(|message| calls(message).count()).collect();
        let links = LinkRow::all(run);
        let parents = links.iter().filter(|link| link.parent_run == run.conversation()).count();
        let held = serde_json::to_string(&self.chat).unwrap_or_default();
        let evidence: Vec<String> = links.iter().flat_map(|link| link.evidence.clone()).collect();
        let recommended: Vec<String> = links.iter().filter_map(|link| link.action_needed.clone()).collect();
        vec![
            Claim::equal("1: both questions go out in one message", calls, vec![0, 0, 2, 0, 0, 0]),
            Claim::equal(
                "1: the supervisor holds six messages",
                self.roles(),
                vec![System, User, Assistant, Tool, Tool, Assistant],
            ),
            Claim::that("1: no step of a desk is among them", {
                !held.contains("get_invoice") && !held.contains("track_parcel")
            }),
            Claim::equal(
                "1: the answer serves both halves",
                self.report.answer(),
                "INV-311 was paid twice; next: refund 49.00. A-7 is in transit, expected on 2026-09-30.",
            ),
            Claim::equal("1: two links, each with the run that asked", parents, 2),
            Claim::equal(
                "1: each finding names what it rests on",
                evidence,
                vec!["INV-311".to_owned(), "A-7".to_owned()],
            ),
            Claim::equal(
                "1: billing recommends, and does nothing",
                recommended,
                vec!["refund 49.00".to_owned()],
            ),
        ]
    }

    /// What is claimed when billing answers in words so many times.
    pub(crate) fn claims_in_words(&self, times: u32) -> Vec<Claim> {
        let is_refused = times >= MOST_ANSWERS;
        let links = LinkRow::all(self.report.done().run());
        let statuses: Vec<&str> = links.iter().map(|link| link.status).collect();
        let held = serde_json::to_string(&self.chat).unwrap_or_default();
        vec![
            Claim::equal(
                "d: an answer in words is sent back once",
                self.sent_back().count(),
                usize::from(times > 0),
            ),
            Claim::equal(
                "d: what each desk came to",
                statuses,
                vec![if is_refused { "failed" } else { "done" }, "done"],
            ),
            Claim::equal(
                "d: of a refused answer no word reaches the supervisor",
                held.contains("was paid"),
                !is_refused,
            ),
        ]
    }

    /// What is claimed when billing's archive fails.
    pub(crate) fn claims_failing(&self, failures: u32) -> Vec<Claim> {
        let is_down = failures + 2 > PER_QUESTION;
        let status = if is_down { "failed" } else { "done" };
        let links = LinkRow::all(self.report.done().run());
        let statuses: Vec<&str> = links.iter().map(|link| link.status).collect();
        let answer = self.report.answer();
        vec![
            Claim::equal("a: billing's tool failed as often as was set", self.failures(0), failures as usize),
            Claim::equal("a: what each desk came to", statuses, vec![status, "done"]),
            Claim::that("a: the half of shipping is answered all the same", {
                answer.contains("A-7 is in transit, expected on 2026-09-30.")
            }),
            Claim::equal(
                "a: the answer says whether billing is unavailable",
                answer.contains("Billing is unavailable."),
                is_down,
            ),
        ]
    }

    /// What is claimed under a budget over all.
    pub(crate) fn claims_budget(&self, budget: u32) -> Vec<Claim> {
        let run = self.report.done().run();
        let left = self.spending(budget).last().map(|spent| spent.left);
        let errors = run.idle("supervisor").map(Turn::messages).unwrap_or_default();
        let refused = errors.iter().flat_map(Message::tool_results).filter(is_refused).count();
        vec![
            Claim::equal("b: the budget less what was used is left", left, Some(run.model_calls_left())),
            Claim::that("b: no more than the budget was spent", self.report.model_calls() <= budget),
            Claim::equal(
                "b: with nothing left a further question is answered with an error",
                refused,
                usize::from(budget == 5),
            ),
            Claim::that("b: the supervisor answers for all that was found", {
                self.report.answer().contains("INV-311 was paid twice")
            }),
        ]
    }

    /// What is claimed of the script.
    pub(crate) fn claim_asked(&self, which: &str) -> Claim {
        Claim::equal(&format!("{which}: every scripted decision was asked for"), self.unasked, 0)
    }
}

/// What a desk found, recommends and rests on, or why there is nothing.
fn told_finding(link: &LinkRow) -> String {
    let found = link.finding.as_ref().or(link.reason.as_ref()).cloned().unwrap_or_default();
    let next = link.action_needed.iter().map(|next| format!(" Next: {next}."));
    let evidence = (!link.evidence.is_empty()).then(|| format!(" Evidence: {}.", link.evidence.join(", ")));
    std::iter::once(found).chain(next).chain(evidence).collect()
}

/// What each step used, and what it left.
pub(crate) fn told_spending(spent: &[Spent]) -> String {
    let lines =
        spent.iter().map(|Spent { what, used, left }| format!("  {used} used, {left} left: {what}\n"));
    lines.collect()
}

fn calls(message: &ChatMessage) -> impl Iterator<Item = &ChatToolCall> {
    message.tool_calls.iter().flatten()
}

fn is_refused(result: &&ToolResult) -> bool {
    result.is_error() && result.words().contains(r#""error":"budget_spent""#)
}

fn role(role: ChatRole) -> &'static str {
    match role {
        ChatRole::System => "system",
        ChatRole::User => "user",
        ChatRole::Assistant => "assistant",
        ChatRole::Tool => "tool",
    }
}
