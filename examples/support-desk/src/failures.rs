//! Every way in which such a desk fails elsewhere, done on purpose here, and what catches it.
//!
//! One of them has no place to be done in: a handoff that nobody has validated. A
//! [`HandOff`](sommelier_handoff::HandOff) is the one thing that can be taken. The arbiter makes it after the last guard,
//! and other code can neither put one together nor exchange what is in it:
//!
//! ```compile_fail,E0451
//! use sommelier_handoff::HandOff;
//!
//! fn with_another_package(allowed: HandOff, other: HandOff) -> HandOff {
//!     let HandOff { taken, .. } = other;
//!     HandOff { taken, ..allowed }
//! }
//! ```
//!
//! One that was saved comes back by [`Relay::load`], which holds it against its call. Whoever reads it with serde alone
//! has skipped that door, and what is behind it.

use serde::Serialize;
use serde_json::json;
use sommelier_handoff::{Answer, Guards, HANDOFF_TO_SPECIALIST, Relay, Step};
use sommelier_protocol::{ModelRequest, ModelResponse, ToolName};
use sommelier_runner::{Outcome, Report};
use sommelier_runtime::{AgentName, Model, ModelError, script};
use std::error::Error;
use std::fmt;

use crate::desk::{self, Desk, Role, guards};
use crate::{DeskRules, Escalated, Told};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A failure that was provoked, and what caught it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The kind of failure.
    pub mode: &'static str,
    /// What was done to provoke it.
    pub done: &'static str,
    /// What caught it: a guard, or another part of the core.
    pub caught_by: String,
    /// What was told.
    pub told: String,
    /// What came of the query afterwards.
    pub after: Told,
    /// What a person saw; `None` when nobody was asked.
    pub escalated: Option<Escalated>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mode, done, caught_by, told, after, escalated } = self;
        writeln!(f, "{mode}: {done}\n  caught   {caught_by}\n  told     {told}")?;
        if let Some(seen) = escalated {
            writeln!(
                f,
                "  person   asked {} by {}: {}?",
                seen.question,
                seen.from,
                seen.choices.join(" or ")
            )?;
            writeln!(f, "           customer: {}", seen.customer)?;
            seen.log.iter().try_for_each(|hop| writeln!(f, "           {hop}"))?;
        }
        write!(f, "  then     {}, {} handoff(s)", after.end, after.handoffs)?;
        if after.answer.is_empty() { Ok(()) } else { write!(f, ": {}", after.answer) }
    }
}

/// The rules, but for some replies that are written down: the mistakes that a model might make.
#[derive(Debug)]
pub struct Slips(Vec<Slip>);

/// The agent, how many replies its conversation has had before, and what comes of the call.
pub type Slip = (Role, u32, std::result::Result<ModelResponse, ModelError>);

impl Slips {
    /// These replies, and the rules for all others.
    pub fn new(replies: impl IntoIterator<Item = Slip>) -> Self {
        Self(replies.into_iter().collect())
    }

    /// One wrong reply, the first of triage.
    fn of_triage(reply: ModelResponse) -> Self {
        Self::new([(Role::Triage, 0, Ok(reply))])
    }
}

impl Model for Slips {
    fn complete(&self, request: ModelRequest<'_>) -> std::result::Result<ModelResponse, ModelError> {
        let slip = self
            .0
            .iter()
            .find(|(role, replies, _)| role.agent() == Some(&*request.caller) && *replies == request.replies);
        slip.map_or_else(|| DeskRules.complete(request), |(.., reply)| reply.clone())
    }

    fn name(&self) -> Option<&str> {
        DeskRules.name()
    }

    fn label(&self) -> Option<&str> {
        Some("desk rules, with mistakes of concept (claude-sonnet-5)")
    }
}

/// A handoff as a model may write it: the receiver, the task, and sections beside an empty context.
pub fn handoff(to: Role, task: &str, sections: &serde_json::Value) -> ModelResponse {
    let mut arguments = json!({ "specialist": to.agent(), "task": task, "context": {} });
    if let (Some(arguments), Some(sections)) = (arguments.as_object_mut(), sections.as_object()) {
        arguments.extend(sections.clone());
    }
    script::call("slip", HANDOFF_TO_SPECIALIST, &arguments.to_string())
}

const QUERY: &str = "I was charged twice this month.";
const TASK: &str = "Find out what is wrong with the charges.";

/// All of them, each in a conversation of its own, where at most `cap` handoffs are taken between two messages.
///
/// # Errors
/// When one of them is not caught as it should be.
pub fn all(cap: u32) -> Result<Vec<Failure>> {
    Ok(vec![
        context_dumping()?,
        announced_only()?,
        left_lying()?,
        circle("technical and billing hand over to each other", guards().max_handoffs(cap))?,
        circle("the same, where pairs may repeat", guards().max_handoffs(cap).allow_repeated_pairs())?,
        lost_constraints()?,
        stale_artifact()?,
        skipped_validation()?,
        not_ready()?,
    ])
}

fn context_dumping() -> Result<Failure> {
    let chat =
        json!([{ "role": "user", "content": QUERY }, { "role": "assistant", "content": "Let me see." }]);
    let slip = handoff(
        Role::Billing,
        TASK,
        &json!({ "context": { "chat": chat }, "open_items": ["resolve it"], "constraints": ["be concise"] }),
    );
    refused("context dumping", "triage puts the chat into the package", Slips::of_triage(slip))
}

fn lost_constraints() -> Result<Failure> {
    let slip = handoff(Role::Billing, TASK, &json!({ "open_items": ["resolve it"] }));
    refused("lost constraints", "triage leaves the constraints out", Slips::of_triage(slip))
}

/// What is from an earlier moment cannot stand for the newest words: code writes them as the handoff is judged.
///
/// Artifacts that other agents wrote have no version yet. Once they do, a receiver that holds an older one belongs here.
fn stale_artifact() -> Result<Failure> {
    let old = json!({ "user_words": "My invoice of last year is missing." });
    let sections = json!({ "open_items": ["resolve it"], "constraints": ["be concise"], "artifacts": old });
    let slip = handoff(Role::Billing, TASK, &sections);
    refused("stale artifact", "triage passes an older query as the customer's words", Slips::of_triage(slip))
}

fn refused(mode: &'static str, done: &'static str, slips: Slips) -> Result<Failure> {
    let desk = Desk::new(mode, slips)?;
    let outcome = desk.ask(None, QUERY)?;
    of_refusal(mode, done, &outcome)
}

fn of_refusal(mode: &'static str, done: &'static str, outcome: &Outcome) -> Result<Failure> {
    let Outcome::Ended(report) = outcome else { return Err(format!("{mode}: it waits").into()) };
    let refusal = report.refusals().next().ok_or_else(|| format!("{mode}: nothing was refused"))?;
    Ok(Failure {
        mode,
        done,
        caught_by: format!("guard {}", refusal.guard().as_str()),
        told: format!("{}: {refusal}", refusal.code()),
        after: Told::of(outcome),
        escalated: None,
    })
}

/// A task that nobody has: it was handed over in words, and no call was made.
fn announced_only() -> Result<Failure> {
    let slips = Slips::of_triage(script::say("I hand you over to billing_agent, who will see to it."));
    let outcome = Desk::new("announced", slips)?.ask(None, QUERY)?;
    let report = ended(&outcome)?;
    Ok(Failure {
        mode: "orphaned task",
        done: "triage announces a handoff and makes none",
        caught_by: "the end of the run".into(),
        told: format!(
            "{}: {} has the turn, {} hop(s)",
            report.end(),
            report.last_agent(),
            report.hops().count()
        ),
        after: Told::of(&outcome),
        escalated: None,
    })
}

/// A task that was taken on and not done: its hop is open in a run that is over, and the trail finds it.
fn left_lying() -> Result<Failure> {
    let unreachable = ModelError::Unreachable { detail: "no route to the model".into() };
    let desk = Desk::new("lying", Slips::new([(Role::Billing, 0, Err(unreachable))]))?;
    let outcome = desk.ask(None, QUERY)?;
    let report = ended(&outcome)?;
    let open: Vec<&str> = report.done().run().trail().open().map(|hop| &*hop.to).collect();
    let told = format!("{}; open: the work handed to {}", report.end(), open.join(", "));
    // Another executor goes on where the run stands; nothing is handed over or looked up a second time.
    let step = report.done().clone().retry(&desk.relay).map_err(|_| "nothing is to be tried again")?;
    let after = Desk::new("lying", DeskRules)?.runner.drive(&desk.relay, step)?;
    Ok(Failure {
        mode: "orphaned task",
        done: "billing's model cannot be reached once it has the turn",
        caught_by: "the trail's open hops".into(),
        told,
        after: Told::of(&after),
        escalated: None,
    })
}

/// technical and billing hand the query to and fro, each time with another task.
pub fn to_and_fro() -> Slips {
    let pass = |from: Role, replies: u32, to: Role| {
        let task = format!("Take this over, round {}.", replies + 1);
        let sections = json!({ "open_items": ["resolve it"], "constraints": ["be concise"] });
        (from, replies, Ok(handoff(to, &task, &sections)))
    };
    Slips::new((0..5).flat_map(|round| {
        [pass(Role::Technical, round, Role::Billing), pass(Role::Billing, round, Role::Technical)]
    }))
}

/// A person is asked at the limit, and takes over.
fn circle(done: &'static str, guards: Guards) -> Result<Failure> {
    let desk = Desk::with("circle", guards, to_and_fro())?;
    let Outcome::Waiting(parked) = desk.ask(None, "The app crashes when I pay.")? else {
        return Err("nobody was asked about the circle".into());
    };
    let seen = Escalated::of(&parked).ok_or("it waits for something else")?;
    let note = "the second line of support".into();
    let after = desk.runner.answer(&desk.relay, parked, &seen.question, Answer::TakeOver { note })?;
    Ok(Failure {
        mode: "circular handoff",
        done,
        caught_by: format!("guard {}, then a person", seen.guard),
        told: format!("{}: {}", seen.error, seen.refusal),
        after: Told::of(&after),
        escalated: Some(seen),
    })
}

/// The one way around the guards is to change a run while it is saved; it is held against its call as it is loaded.
fn skipped_validation() -> Result<Failure> {
    let desk = Desk::new("skipped", DeskRules)?;
    let saved = at_the_handoff(&desk.relay)?.save()?;
    desk.relay.load(&saved)?;
    let (before, taken) = saved.split_once(r#""taken":"#).ok_or("no handoff was taken")?;
    let altered =
        taken.replacen(r#""open_items":["resolve the query"]"#, r#""open_items":["refund it all"]"#, 1);
    let Err(error) = desk.relay.load(&format!(r#"{before}"taken":{altered}"#)) else {
        return Err("a package was altered behind the guards, and the run was loaded".into());
    };
    Ok(Failure {
        mode: "skipped validation",
        done: "the package of a handoff that was allowed is altered while the run is saved",
        caught_by: "loading".into(),
        told: error.to_string(),
        after: Told::of(&desk.runner.drive(&desk.relay, desk.relay.load(&saved)?)?),
        escalated: None,
    })
}

/// The step at which triage's handoff has passed the guards and is not taken yet.
pub fn at_the_handoff(relay: &Relay) -> Result<Step> {
    let Step::CallModel(call) = relay.start("skipped", QUERY)? else {
        return Err("no model is asked".into());
    };
    let reply = DeskRules.complete(call.request(relay));
    match call.resume(relay, reply, desk::OPENING) {
        step @ Step::HandOff(_) => Ok(step),
        other => Err(format!("no handoff: {other:?}").into()),
    }
}

fn not_ready() -> Result<Failure> {
    let desk = Desk::new("not ready", DeskRules)?;
    let billing = AgentName::new(Role::Billing.agent().unwrap_or_default())?;
    let step = desk.relay.start("not ready", QUERY)?.switch_off(billing, ToolName::new("refund_charge")?);
    let outcome = desk.runner.drive(&desk.relay, step)?;
    of_refusal("target not ready", "the tool for refunds is switched off", &outcome)
}

fn ended(outcome: &Outcome) -> Result<&Report> {
    match outcome {
        Outcome::Ended(report) => Ok(report),
        _ => Err("the run did not end".into()),
    }
}
