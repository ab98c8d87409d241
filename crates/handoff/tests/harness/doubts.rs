//! Agents whose calls nobody knows the outcome of, and drivers that have lost their process.

use super::{Nothing, Session, Turn, agent, calls, payer, script};
use sommelier_handoff::{Answer, CallTools, Delegate, Relay, Step};
use sommelier_runtime::Tool;
use sommelier_runtime::tool::{CallContext, Failure};
use std::cell::Cell;

pub(crate) const FIRST: &str = "conv/1/1/0/in_doubt";
pub(crate) const SECOND: &str = "conv/1/1/1/in_doubt";

/// An agent with a tool that needs no approval and cannot be done twice, and the others.
pub(crate) fn sender(name: &str) -> sommelier_handoff::Agent {
    let mail = |_: Nothing, _: &CallContext<'_>| Ok::<_, Failure>("sent");
    payer(name).tools([Tool::new("mail", "Sends a letter.", mail)])
}

pub(crate) fn clerk() -> Relay {
    Relay::builder().agent(sender("clerk")).entry("clerk").build().unwrap()
}

pub(crate) const MAIL: (&str, &str) = ("mail", "{}");

pub(crate) fn looks_at(word: &str) -> (&'static str, String) {
    ("look", format!(r#"{{"word":"{word}"}}"#))
}

/// Mail, then a look at tea.
pub(crate) fn mails_and_looks() -> Turn {
    calls([("mail", "{}".to_owned()), looks_at("tea")])
}

pub(crate) fn happened(result: &str) -> Answer {
    Answer::Happened { result: result.into() }
}

pub(crate) fn no(reason: &str) -> Answer {
    Answer::Reject { reason: reason.into() }
}

/// A driver that has lost its process when it comes to tools for the first time: what it does with them then.
pub(crate) fn once(mut act: impl FnMut(CallTools) -> Step) -> impl FnMut(Step) -> Step {
    let done = Cell::new(false);
    move |step| match step {
        Step::CallTools(calls) if !done.replace(true) => act(calls),
        other => other,
    }
}

/// The step of a session that comes to tools, the first time.
pub(crate) fn at_tools(relay: &Relay, turn: Turn, act: impl FnMut(CallTools) -> Step) -> Step {
    let model = script([("clerk", turn)]);
    Session::new(relay, &model).at_each_step(once(act)).say("Go.").waiting().clone()
}

pub(crate) fn tools(step: Step) -> CallTools {
    match step {
        Step::CallTools(calls) => calls,
        other => panic!("no tools are to run: {other:?}"),
    }
}

/// A supervisor that asks a branch to send letters.
pub(crate) fn supervised() -> Relay {
    Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::new("ask_sender", sender("sender")))
        .entry("supervisor")
        .build()
        .unwrap()
}

/// Leaves the letter of the branch in doubt, once.
pub(crate) fn in_branch(relay: &Relay) -> impl FnMut(Step) -> Step + '_ {
    let mut doubt = once(|calls| calls.doubt(&[0], 7).unwrap());
    move |step| match step.open()[..] {
        [Step::CallTools(_)] => step.go_on_at(relay, "conv/1/1/0", |_, step| doubt(step)).unwrap(),
        _ => step,
    }
}
