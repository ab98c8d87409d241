//! What failed in a tree, as a chain of errors from the outside in.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Down, Session, agent, calls, question, says, script};
use sommelier_handoff::{
    Agent, Budget, BuildError, Contract, Delegate, DelegateRefusal, FailedBy, Failure, Guards,
    HANDOFF_TO_SPECIALIST, Refusal, Relay, RunEnd,
};
use sommelier_runtime::{DefinitionError, ModelError};
use std::error::Error;

/// The supervisor s asks b, which asks c and d. `most` are the model calls of s and of b.
fn nested(most: u32) -> Relay {
    let inner = Relay::builder()
        .agent(agent("b").max_steps(most))
        .delegate("b", Delegate::new("ask_c", agent("c")))
        .delegate("b", Delegate::new("ask_d", agent("d")))
        .entry("b")
        .build()
        .unwrap();
    Relay::builder()
        .agent(agent("s").max_steps(most))
        .delegate("s", Delegate::team("ask_b", inner).max_model_calls(9))
        .entry("s")
        .build()
        .unwrap()
}

fn asks(tool: &'static str) -> harness::Turn {
    calls([(tool, question("Well?"))])
}

fn down() -> ModelError {
    ModelError::Unreachable { detail: "no route to host".to_owned() }
}

fn failed(path: &str, who: &str, end: RunEnd, behind: Vec<Failure>) -> Failure {
    Failure { path: path.into(), who: who.into(), why: FailedBy::End(end), behind }
}

/// The error and all that stand behind it.
fn errors<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source()).collect()
}

/// The error and all that stand behind it, a line each.
fn chain(error: &(dyn Error + 'static)) -> Vec<String> {
    errors(error).into_iter().map(ToString::to_string).collect()
}

const B: &str = "conv/1/1/0";
const C: &str = "conv/1/1/0/1/1/0";
const D: &str = "conv/1/1/0/1/1/1";

/// C121: c cannot reach its model, inside b, inside s, and neither of them comes to an answer. The chain has one short line
/// for each, and the error itself at its bottom, to be matched.
#[test]
fn a_failure_two_delegates_deep_is_a_chain_with_its_cause_at_the_bottom() {
    let relay = nested(1);
    let model = script([("s", asks("ask_b")), ("b", asks("ask_c"))]);
    let model = Down { model: &model, agents: &["c"] };
    let session = Session::with(&relay, &model).say("hello");
    let failures = session.done().failures();
    let limit = || RunEnd::TurnLimit { max_steps: 1 };
    let of_c = failed(C, "c", RunEnd::Failed { error: down() }, vec![]);
    let of_b = failed(B, "b", limit(), vec![of_c.clone()]);
    assert_eq!(failures, [failed("conv", "s", limit(), vec![of_b])]);
    assert_eq!(
        chain(&failures[0]),
        [
            "s (conv): turn_limit: 1 model call(s)",
            "b (conv/1/1/0): turn_limit: 1 model call(s)",
            "c (conv/1/1/0/1/1/0): failed",
            "the model could not be reached: no route to host"
        ]
    );
    assert_eq!(failures[0].root(), &of_c);
    let bottom = *errors(&failures[0]).last().unwrap();
    assert_eq!(bottom.downcast_ref::<ModelError>(), Some(&down()));
}

/// C121: who answers nonetheless has not failed: the chain begins below. Of two that failed both are there, in order.
#[test]
fn who_answers_nonetheless_has_not_failed() {
    let relay = nested(4);
    let model = script([
        ("s", asks("ask_b")),
        ("b", calls([("ask_c", question("Well?")), ("ask_d", question("Well?"))])),
        ("b", says("Neither knows.")),
        ("s", says("Nobody knows.")),
    ]);
    let model = Down { model: &model, agents: &["c", "d"] };
    let session = Session::with(&relay, &model).say("hello").ends(RunEnd::Answered);
    let error = || RunEnd::Failed { error: down() };
    let both = [failed(C, "c", error(), vec![]), failed(D, "d", error(), vec![])];
    assert_eq!(session.done().failures(), both);
}

/// C121: an end with an error of its own is its own cause, whatever failed before; the branches that failed are told
/// beside it.
#[test]
fn an_error_of_ones_own_is_the_cause() {
    let relay = nested(4);
    let model = script([("s", asks("ask_b")), ("b", asks("ask_c")), ("b", says("c does not know."))]);
    let model = Down { model: &model, agents: &["c"] };
    let session = Session::with(&relay, &model).say("hello");
    let missing = ModelError::NoScript { agent: "s".into(), turn: 2, known: 1 };
    let of_c = failed(C, "c", RunEnd::Failed { error: down() }, vec![]);
    let of_s = failed("conv", "s", RunEnd::Failed { error: missing.clone() }, vec![of_c]);
    assert_eq!(session.done().failures(), std::slice::from_ref(&of_s));
    assert_eq!(chain(&of_s), ["s (conv): failed".to_owned(), missing.to_string()]);
    assert_eq!(of_s.root(), &of_s);
}

/// C118, C121: a question that opened no run has failed too, by the name of its tool and with why it was refused.
#[test]
fn a_question_that_was_refused_is_a_failure() {
    let relay = nested(1);
    let model = script([("s", asks("ask_b")), ("b", calls([("ask_c", "{}")]))]);
    let session = Session::new(&relay, &model).say("hello");
    let failures = session.done().failures();
    let refusal = match &failures[0].root().why {
        FailedBy::Refusal(refusal) => refusal,
        other => panic!("{other:?}"),
    };
    assert!(matches!(refusal, DelegateRefusal::InvalidQuestion { .. }));
    assert_eq!(
        chain(&failures[0])[2..],
        ["ask_c (conv/1/1/0/1/1/0): invalid_question".to_owned(), refusal.to_string()]
    );
}

/// C121: a handoff whose refusal ended the run stands at the bottom as what it is.
#[test]
fn a_refused_handoff_is_the_cause_of_its_run() {
    let relay = harness::team("a -> b").guards(Guards::default().stop_on_any_refusal()).build().unwrap();
    let model = script([("a", calls([(HANDOFF_TO_SPECIALIST, harness::to("a", "Go on."))]))]);
    let session = Session::new(&relay, &model).say("hello");
    let failures = session.done().failures();
    assert_eq!(chain(&failures[0]), ["a (conv): handoff_refused", "a cannot hand the turn to itself"]);
    let refusal = Refusal::SelfHandoff { agent: harness::name("a") };
    assert_eq!(failures[0].source().unwrap().downcast_ref::<Refusal>(), Some(&refusal));
}

/// C121: an end without an error of its own says what it was: which limit of which measure, and in what an answer broke its
/// contract.
#[test]
fn a_failure_without_an_error_of_its_own_says_what_it_was() {
    let build = |calls| {
        let asked = Delegate::new("ask_b", agent("b")).contract(Contract::default().repairs(0));
        let relay = Relay::builder().agent(agent("s")).delegate("s", asked).entry("s");
        relay.budget(Budget::new(calls)).build().unwrap()
    };
    let (spent, broken) = (build(1), build(9));
    let model = script([("s", asks("ask_b")), ("b", says("Paid.")), ("s", says("Nobody knows."))]);
    let of = |relay| Session::new(relay, &model).say("hello").done().failures();
    assert_eq!(chain(&of(&spent)[0])[0], "s (conv): budget_spent: 1 model call(s)");
    assert_eq!(
        chain(&of(&broken)[0]),
        ["b (conv/1/1/0): contract_broken: it must be one JSON object by itself; it begins \"Paid.\""]
    );
}

/// What failed is told of the user's newest message: what was amiss before it is over.
#[test]
fn what_failed_before_the_user_spoke_is_over() {
    let relay = nested(4);
    let asks_b = |text: &str| calls([("ask_b", question(text))]);
    let model = script([
        ("s", asks_b("First?")),
        ("s", says("Not today.")),
        ("s", says("You are welcome.")),
        ("b", asks("ask_c")),
        ("b", says("c does not know.")),
    ]);
    let model = Down { model: &model, agents: &["c"] };
    let session = Session::with(&relay, &model).say("hello");
    assert_eq!(session.done().failures().len(), 1);
    let session = session.say("Thank you.").ends(RunEnd::Answered);
    assert_eq!(session.done().failures(), []);
}

/// C121: what is wrong with an agent behind a delegate has its cause behind it, too.
#[test]
fn a_delegate_that_cannot_be_built_has_its_cause_behind_it() {
    let asked = Delegate::new("ask_b", Agent::new("Not a name", ""));
    let errors = Relay::builder().agent(agent("s")).delegate("s", asked).entry("s").build().unwrap_err();
    let [BuildError::Delegate { errors: inner, .. }] = &errors.0[..] else { panic!("{errors}") };
    let BuildError::Agent(DefinitionError::Name(illegal)) = &inner.0[0] else { panic!("{inner}") };
    assert_eq!(chain(&errors), [format!("the delegate ask_b of s: {illegal}"), illegal.to_string()]);
}
