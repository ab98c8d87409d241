//! Budgets at their ends: of less than is asked for, and of as much as there are numbers.

#![allow(clippy::unwrap_used, reason = "a test may stop at what cannot be")]

mod harness;

use harness::{BOTH, Session, agent, calls, desk, looks, says, script, used};
use sommelier_handoff::{Budget, Delegate, Measure, Run, RunEnd, Step};

/// What is left of tool calls, tokens and hops.
fn left(run: &Run) -> [Option<u64>; 3] {
    [Measure::ToolCalls, Measure::Tokens, Measure::Hops].map(|measure| run.left(measure))
}

/// T66: a reply that opens more branches than there is something of: each has what it was given before anything is spent, those
/// that come too late have nothing, and together they have no more than there was.
#[test]
fn a_fan_out_wider_than_the_rest_is_shared_before_it_is_spent() {
    let relay = desk().budget(Budget::new(50).tool_calls(2).tokens(89).hops(1)).build().unwrap();
    let model = script([
        ("supervisor", used(calls(BOTH.into_iter().cycle().take(3)), 8, 1)),
        ("billing", used(looks("INV"), 2, 2)),
        ("billing", says("Twice.")),
        ("shipping", used(looks("A-7"), 2, 2)),
        ("shipping", says("In transit.")),
        ("supervisor", says("All.")),
    ]);
    let mut given = Vec::new();
    let session = Session::new(&relay, &model).at_each_step(|step| {
        if let Step::Delegate(delegation) = &step
            && given.is_empty()
        {
            given.push(left(delegation.run()));
            given.extend(delegation.branches().iter().map(|branch| left(branch.step().run())));
        }
        step
    });
    let session = session.say("hello").ends(RunEnd::Answered);
    let ran = session.run().cost().tool_calls;
    drop(session);
    let of = |tool_calls, hops| [Some(tool_calls), Some(20), Some(hops)];
    assert_eq!((given, ran), (vec![of(0, 0), of(1, 1), of(1, 0), of(0, 0)], 2));
}

/// T66: with as much of everything as there are numbers nothing wraps: not what is shared, not what models say that they have
/// used, not the time, and not what is added to it.
#[test]
fn as_much_as_there_are_numbers_does_not_wrap() {
    let all = Budget::new(u32::MAX).tool_calls(u32::MAX).tokens(u64::MAX).hops(u32::MAX).millis(u64::MAX);
    let relay = desk()
        .delegate("supervisor", Delegate::new("ask_law", agent("law")).budget(all))
        .budget(all)
        .build()
        .unwrap();
    let model = script([
        ("supervisor", used(calls([("ask_law", r#"{"question":"May we?"}"#)]), 8, 2)),
        ("law", used(looks("tea"), 3, 2)),
        ("law", used(says("We may."), u64::MAX, u64::MAX)),
        ("supervisor", says("All.")),
    ]);
    let measures = [Measure::ModelCalls, Measure::ToolCalls, Measure::Tokens, Measure::Hops, Measure::Millis];
    let of = |run: &Run| measures.map(|measure| (run.given(measure), run.left(measure)));
    let session = Session::new(&relay, &model).say("hello");
    let (most, tokens, millis) = (u64::from(u32::MAX), u64::MAX, u64::MAX);
    let counts = |most: u64, tokens| {
        let (tool_calls, hops) = ((Some(most), Some(most - 1)), (Some(most), Some(most)));
        [(None, None), tool_calls, (Some(tokens), Some(0)), hops, (Some(millis), None)]
    };
    assert_eq!(
        (session.done().end(), of(session.run())),
        (&RunEnd::BudgetSpent { measure: Measure::Tokens, most: tokens }, counts(most, tokens))
    );
    let [calls, tool_calls, of_tokens, hops, time] = of(session.run().links()[0].run().unwrap().run());
    assert_eq!(calls, (Some(most - 2), Some(most - 4)), "two are the supervisor's");
    assert_eq!(
        [tool_calls, of_tokens, hops],
        [(Some(most), Some(most - 1)), (Some((tokens - 10) / 2), Some(0)), (Some(most), Some(most))]
    );
    assert!(time.0.is_some_and(|time| time < millis), "the branch has what is left of it: {time:?}");
    let session = session.with_more(all);
    assert_eq!(
        (session.done().end(), of(session.run())),
        (&RunEnd::BudgetSpent { measure: Measure::Tokens, most: tokens }, counts(2 * most, tokens))
    );
}
