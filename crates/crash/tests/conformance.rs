//! The tools that the crashes are tried with are what they say; the one that is not is known.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]
#![cfg(unix)]

use std::any::Any;

use sommelier_crash::{Desk, Scene, prepare_ledger};
use sommelier_runtime::tool::Effect;
use sommelier_runtime::tool::conformance::{
    Alone, Claim, Conformance, Ending, Finding, Moment, Report, Seen, Unchecked,
};
use sommelier_store::{Epoch, Event, Journal, SqliteStore, Undone};

/// As a driver does: what is written is there with the event that tells of it, or not at all.
fn transact(store: &SqliteStore, work: &mut dyn FnMut(&dyn Any), ending: Ending) {
    let seq = store.head("guest-7").unwrap().seq;
    let done = store.append_with("guest-7", seq, Epoch::NONE, &mut |transaction| {
        work(transaction);
        if ending == Ending::RollBack {
            return Err(Undone);
        }
        Ok(vec![Event::new("tool_completed", 1, 1_000, "{}").unwrap()])
    });
    assert_eq!(done.is_ok(), ending == Ending::Commit);
}

/// T5, T6, T8, T37: what a run does after a crash rests on these declarations. The table of the ledger lets a row stand there
/// twice, so that it is seen if a run writes it twice: `cancel` is no success that changes nothing.
#[test]
fn the_tools_of_the_crashes_are_what_they_say() {
    let scene = Scene::new(env!("CARGO_TARGET_TMPDIR"));
    let (relay, store) = (Desk::default().relay(scene.path()), scene.store());
    prepare_ledger(&store);
    let clerk = relay.agent("clerk").unwrap();
    let applied =
        || scene.remote().traffic().into_iter().map(|(key, done)| (key, done.applied)).collect::<Vec<_>>();
    let world = || (applied(), scene.ledger());
    let of = |tool| {
        let check = Conformance::of(clerk, tool, world);
        check.transaction(|work, ending| transact(&store, work, ending))
    };
    let report = |effect, unchecked: &[Unchecked]| Report {
        effect,
        alone: None,
        could_be: None,
        unchecked: [&[Unchecked::Failure], unchecked].concat(),
    };
    let expected = [
        ("book", Report { alone: Some(Alone::Fails), ..report(Effect::Transactional, &[]) }),
        ("notify", report(Effect::Keyed { retention: u64::MAX }, &[Unchecked::Retention])),
        ("reserve", report(Effect::Queried { settle: 0 }, &[Unchecked::Settle])),
        ("send", report(Effect::AtMostOnce, &[Unchecked::Effect])),
    ];
    for (tool, expected) in expected {
        assert_eq!(of(tool).check(r#"{"seat":7}"#), Ok(expected), "{tool}");
    }
    let findings = of("cancel").after("book", r#"{"seat":7}"#).check("{}").unwrap_err();
    let [Finding { claim: Claim::Undoes, at: Moment::Another, seen: Seen::Changed { .. } }] = findings.all()
    else {
        panic!("{findings}")
    };
}
