//! Handoffs are written down before they are taken, and what becomes of a run when that fails.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    Spans, Watched, agent, calls, ended, hands_to, question, relay, runner, says, script, story_of, team,
};
use sommelier_handoff::{AgentName, Delegate, Hop, HopOutcome, OnFailedBranch, Relay, Route, RunEnd, Step};
use sommelier_protocol::ToolName;
use sommelier_runner::{Parked, RunError, Runner, Stopped, run_until_handoff};
use sommelier_runtime::Model;
use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// A store that is full for the first few hops, and what it has written.
#[derive(Default)]
struct Store {
    fails: AtomicU32,
    written: Mutex<Vec<Hop>>,
}

impl Store {
    fn failing(times: u32) -> Self {
        Self { fails: times.into(), ..Self::default() }
    }

    fn write(&self, hop: &Hop) -> Result<(), Box<dyn Error + Send + Sync>> {
        let full = self.fails.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if full.is_ok() {
            return Err("the disk is full".into());
        }
        self.written.lock().unwrap().push(hop.clone());
        Ok(())
    }

    fn ids(&self) -> Vec<String> {
        self.written.lock().unwrap().iter().map(|hop| hop.id.to_string()).collect()
    }
}

fn writing<'a>(model: &'a (impl Model + 'a), store: &'a Store) -> Runner<'a> {
    runner(model).conversation("c").record_hops(|hop| store.write(hop))
}

#[track_caller]
fn unwritten(outcome: Result<impl std::fmt::Debug, RunError>) -> Parked {
    match outcome.unwrap_err() {
        error @ RunError::Unwritten { .. } => {
            assert_eq!(error.to_string(), "a handoff could not be written down, so it was not taken");
            assert_eq!(error.source().unwrap().to_string(), "the disk is full");
            let RunError::Unwritten { parked, .. } = error else { unreachable!("just seen") };
            *parked
        }
        other => panic!("{other}"),
    }
}

/// C116: while a handoff cannot be written down the sender has the turn, no hop is on the trail, the receiver is not asked
/// and nobody is told of success. Driven again, also from JSON, the same handoff is taken, and no model is asked twice.
#[test]
fn a_handoff_that_cannot_be_written_down_is_not_taken() {
    let relay = relay("a -> b");
    let model = Watched::new(script([("a", hands_to("b")), ("b", says("Well."))]));
    let store = Store::failing(2);
    let mut parked = unwritten(writing(&model, &store).run(&relay, "hello"));
    for _ in 0..2 {
        let run = parked.step().run();
        assert_eq!((run.active().as_str(), run.trail().hops().len(), model.order().as_str()), ("a", 0, "a"));
        assert!(parked.questions().is_empty() && store.ids().is_empty());
        let loaded = relay.load(&parked.into_step().save().unwrap()).unwrap();
        match writing(&model, &store).drive(&relay, loaded) {
            Ok(outcome) => {
                let report = ended(Ok(outcome));
                assert_eq!((report.answer(), model.order().as_str()), ("Well.", "a b"));
                assert_eq!(store.ids(), ["c/1/1/0"]);
                let taken: Vec<&Hop> = report.hops().collect();
                let written = store.written.lock().unwrap();
                assert_eq!(
                    (taken.len(), &taken[0].id, &taken[0].package),
                    (1, &written[0].id, &written[0].package)
                );
                assert_eq!(written[0].outcome, HopOutcome::Taken { number: 1 });
                return;
            }
            again => parked = unwritten(again),
        }
    }
    panic!("the third attempt is written");
}

/// C116: called off instead, the handoff never was: the sender's call is answered with that, and its conversation goes on.
#[test]
fn a_handoff_that_was_not_written_down_can_be_called_off() {
    let relay = relay("a -> b");
    let model = script([("a", hands_to("b")), ("a", says("Nobody else is here."))]);
    let store = Store::failing(1);
    let runner = writing(&model, &store);
    let parked = unwritten(runner.run(&relay, "hello"));
    let done = parked.into_step().cancel(&relay, "the store is down", 7);
    assert_eq!(done.end(), &RunEnd::Cancelled { reason: "the store is down".into() });
    let report = ended(runner.go_on(&relay, done, "And now?"));
    assert_eq!((report.last_agent(), report.hops().count()), ("a", 0));
    assert_eq!(
        story_of(&report, "a")[2],
        r#"user: tu_1_0!{"error":"not_run","detail":"called off before it was taken"} | And now?"#
    );
}

/// A desk that asks two teams, in one of which the turn is handed over.
fn desk(then: OnFailedBranch) -> Relay {
    Relay::builder()
        .agent(agent("s"))
        .delegate("s", Delegate::team("ask_b", relay("b -> c")))
        .delegate("s", Delegate::new("ask_d", agent("d")))
        .entry("s")
        .on_failed_branch(then)
        .build()
        .unwrap()
}

/// C116: where it is a branch that cannot hand over, the tree comes back whole: the other branch is at its end, and driven
/// again nothing of it is repeated.
#[test]
fn a_branch_that_cannot_hand_over_costs_nothing_of_its_tree() {
    let relay = desk(OnFailedBranch::Keep);
    let model = Watched::new(script([
        ("s", calls([("ask_b", question("Well?")), ("ask_d", question("Well?"))])),
        ("b", hands_to("c")),
        ("c", says("Six.")),
        ("d", says("Seven.")),
        ("s", says("Six or seven.")),
    ]));
    let store = Store::failing(1);
    let parked = unwritten(writing(&model, &store).run(&relay, "hello"));
    let Step::Delegate(delegation) = parked.step() else { panic!("{:?}", parked.step()) };
    let [b, d] = delegation.branches() else { panic!("two branches") };
    assert_eq!((b.step().run().active().as_str(), b.step().run().trail().hops().len()), ("b", 0));
    assert!(matches!(b.step(), Step::HandOff(_)) && d.done().is_some());
    let report = ended(writing(&model, &store).drive(&relay, parked.into_step()));
    assert_eq!((report.answer(), report.model_calls()), ("Six or seven.", 5));
    assert_eq!(store.ids(), ["c/1/1/0/1/1/0"]);
    let mut order: Vec<String> = model.asked().into_iter().map(|(agent, _)| agent).collect();
    order.sort();
    assert_eq!(order, ["b", "c", "d", "s", "s"]);
}

/// A branch whose handoff could not be written down is called off as one that waits is, where another one fails.
#[test]
fn a_branch_that_cannot_hand_over_may_be_called_off() {
    let relay = desk(OnFailedBranch::CallOff);
    // d has no script, so its model cannot be asked.
    let model = script([
        ("s", calls([("ask_b", question("Well?")), ("ask_d", question("Well?"))])),
        ("b", hands_to("c")),
        ("s", says("Nobody knows.")),
    ]);
    let store = Store::failing(u32::MAX);
    let report = ended(writing(&model, &store).run(&relay, "hello"));
    assert_eq!(report.answer(), "Nobody knows.");
    let ends: Vec<&str> = report.links().iter().map(|link| link.run().unwrap().end().as_str()).collect();
    assert_eq!(ends, ["cancelled", "failed"]);
}

/// A recorder that breaks down has written nothing.
#[test]
fn a_recorder_that_panics_has_written_nothing() {
    let relay = relay("a -> b");
    let model = script([("a", hands_to("b"))]);
    let runner = runner(&model).record_hops(|_| panic!("broken"));
    let error = runner.run(&relay, "hello").unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), "it panicked");
}

/// A handoff that is given to somebody outside is written down before, as any other.
#[test]
fn a_handoff_that_is_taken_out_is_written_down_before() {
    let relay = team("a -> b, b -> c").build().unwrap();
    let turns = || script([("a", hands_to("b")), ("b", hands_to("c"))]);
    let store = Store::default();
    let model = turns();
    let run =
        run_until_handoff(&writing(&model, &store), &relay, "hello", |handoff| handoff.to().as_str() == "c");
    assert!(matches!(run.unwrap().stopped, Stopped::HandedOff { .. }));
    assert_eq!(store.ids(), ["c/1/1/0", "c/1/2/0"]);
    let (store, model) = (Store::failing(1), turns());
    unwritten(run_until_handoff(&writing(&model, &store), &relay, "hello", |_| true));
}

/// C116: the span of the handoff and the root say that it failed, and which error it was.
#[test]
fn the_trace_tells_that_a_handoff_failed() {
    let relay = relay("a -> b");
    let model = script([("a", hands_to("b"))]);
    let store = Store::failing(1);
    let (_, spans) = Spans::of(|| unwritten(writing(&model, &store).run(&relay, "hello")));
    let handoffs = spans.named("handoff");
    let told: Vec<[&str; 3]> =
        handoffs.iter().map(|span| span.pick(["outcome", "error.type", "hop"])).collect();
    assert_eq!(told, [["failed", "unwritten", ""]]);
    assert_eq!(spans.named("invoke_workflow")[0].pick(["end", "error.type"]), ["unwritten", "unwritten"]);
    assert_eq!(spans.named("invoke_agent").len(), 1);
}

/// C116: where the receiver lost its tool while the disk was full, the second try is not written down: nothing is on record
/// that was not taken.
#[test]
fn a_handoff_that_does_not_stand_any_more_is_not_written_down() {
    let relay = Relay::builder().agent(agent("a")).agent(agent("b")).entry("a");
    let relay = relay.route_with(Route::new("a", "b").requires(["look"])).build().unwrap();
    let (store, model) = (Store::failing(1), script([("a", hands_to("b")), ("a", says("Then not."))]));
    let runner = writing(&model, &store);
    let step = unwritten(runner.run(&relay, "hello")).into_step();
    let step = step.switch_off(AgentName::new("b").unwrap(), ToolName::new("look").unwrap());
    let report = ended(runner.drive(&relay, step));
    assert_eq!((report.answer(), report.hops().count(), report.refusals().count()), ("Then not.", 0, 1));
    assert_eq!(store.ids(), [""; 0]);
}
