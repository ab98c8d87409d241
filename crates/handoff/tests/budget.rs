//! The allowance: how many model calls a run and its branches have, and who gets what is left.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{BOTH, Session, agent, calls, desk, looks, question, says, says_and_looks, script};
use sommelier_handoff::{
    Cost, Delegate, DelegateRefusal, DelegateResult, DelegateStatus, LinkOutcome, Relay, RunEnd, Step,
};
use sommelier_protocol::{ModelRequest, ModelResponse, Usage};
use sommelier_runtime::{Model, ModelError, script};
use std::collections::BTreeMap;

/// What the run that asked has left, and what each open branch was given, wherever a delegation has just been opened.
fn shares(step: &Step) -> Option<(u32, Vec<u32>)> {
    let Step::Delegate(delegation) = step else { return None };
    let given = delegation.branches().iter().map(|branch| branch.step().run().model_calls_left());
    Some((delegation.run().model_calls_left(), given.collect()))
}

/// The first shares of a run of the desk whose supervisor asks both, of so many model calls in all.
fn shared(relay: &Relay, questions: usize) -> (u32, Vec<u32>) {
    let asks = BOTH.into_iter().cycle().take(questions);
    let model = script([("supervisor", calls(asks))]);
    let mut found = None;
    let step = relay.start("conv", "hello").unwrap();
    let session = Session::new(relay, &model).at_each_step(|step| {
        found = found.take().or_else(|| shares(&step));
        step
    });
    drop(session.drive(step));
    found.unwrap_or_default()
}

/// S3-24, S3-25: a question is given 4 model calls, or what its delegate says; when fewer are left they are shared in
/// equal parts, and one is kept for the agent that asks.
#[test]
fn what_is_left_is_shared_and_one_is_kept() {
    let of = |most: u32| desk().max_model_calls(most).build().unwrap();
    // After the reply that asks, one call less is left than there were.
    let cases = [
        (50, 2, (41, vec![4, 4])),
        (10, 2, (1, vec![4, 4])),
        (9, 2, (2, vec![3, 3])),
        (8, 2, (1, vec![3, 3])),
        (8, 3, (1, vec![2, 2, 2])),
        (6, 3, (2, vec![1, 1, 1])),
        (4, 3, (1, vec![1, 1])),
        (3, 3, (1, vec![1])),
    ];
    for (most, questions, expected) in cases {
        assert_eq!(shared(&of(most), questions), expected, "{most} calls for {questions} questions");
    }
    let capped = |most: u32| {
        Relay::builder()
            .agent(agent("supervisor"))
            .delegate("supervisor", Delegate::new("ask_billing", agent("billing")).max_model_calls(2))
            .delegate("supervisor", Delegate::new("ask_shipping", agent("shipping")).max_model_calls(7))
            .entry("supervisor")
            .max_model_calls(most)
            .build()
            .unwrap()
    };
    assert_eq!(shared(&capped(50), 2), (40, vec![2, 7]));
    // The parts are equal; what the first may not take is not given to the second.
    assert_eq!(shared(&capped(8), 2), (2, vec![2, 3]));
}

/// S3-24: a delegate that goes on and on is stopped at 4 model calls, or at its own cap, and the asker is told.
#[test]
fn a_branch_is_stopped_at_its_allowance() {
    let of = |cap: Option<u32>| {
        let billing = Delegate::new("ask_billing", agent("billing"));
        let billing = cap.map_or(billing.clone(), |most| billing.max_model_calls(most));
        let relay = Relay::builder().agent(agent("supervisor")).delegate("supervisor", billing);
        relay.entry("supervisor").build().unwrap()
    };
    for (cap, calls_made) in [(None, 4), (Some(1), 1), (Some(2), 2), (Some(6), 6)] {
        let relay = of(cap);
        let mut turns = vec![("supervisor", calls([BOTH[0]])), ("supervisor", says("So far."))];
        turns.extend((0..calls_made).map(|n| ("billing", says_and_looks("Looking.", ["a", "b"][n % 2]))));
        let model = script(turns);
        let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
        let result = DelegateResult {
            status: DelegateStatus::Partial,
            finding: Some("Looking.".into()),
            reason: Some(format!("budget_spent: {calls_made} model call(s)").into()),
            steps_used: u32::try_from(calls_made).unwrap(),
            effects: Vec::new(),
            action_needed: None,
            evidence: Vec::new(),
        };
        assert_eq!(session.run().links()[0].result(), Some(&result));
        let end = session.run().links()[0].run().unwrap().end();
        assert_eq!(*end, RunEnd::BudgetSpent { max_model_calls: result.steps_used });
    }
}

/// S3-24, S3-33: when no model call is left for a question it is not asked; the asker's model is told and answers.
#[test]
fn a_question_without_a_model_call_left_is_told_and_the_run_answers() {
    let told = |n: usize, tool: &str, left: u32, allowance: u32| {
        format!(
            r#"tu_1_{n}!{{"error":"budget_spent","detail":"no model calls are left for {tool}: {left} of {allowance}, and one is kept for the answer"}}"#
        )
    };
    let none = desk().max_model_calls(2).build().unwrap();
    let model = script([("supervisor", calls(BOTH)), ("supervisor", says("I cannot ask."))]);
    let session = Session::new(&none, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(
        session.results("supervisor", 0),
        [told(0, "ask_billing", 1, 2), told(1, "ask_shipping", 1, 2)]
    );
    let refusal =
        DelegateRefusal::BudgetSpent { tool: harness::tool_name("ask_billing"), left: 1, allowance: 2 };
    assert_eq!(session.run().links()[0].outcome, LinkOutcome::Refused { refusal });

    // One for one of two: the first is asked.
    let one = desk().max_model_calls(3).build().unwrap();
    let model = script([
        ("supervisor", calls(BOTH)),
        ("billing", says("Twice.")),
        ("supervisor", says("Twice, and I cannot ask more.")),
    ]);
    let session = Session::new(&one, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(
        session.results("supervisor", 0),
        [
            r#"tu_1_0={"status":"done","finding":"Twice.","steps_used":1}"#.to_owned(),
            told(1, "ask_shipping", 1, 3),
        ]
    );
    assert_eq!((session.asked.len(), session.run().model_calls_left()), (3, 0));
}

/// S3-25: what a branch does not use comes back at the join; the user's next message begins anew.
#[test]
fn what_a_branch_leaves_over_comes_back() {
    let relay = desk().max_model_calls(20).build().unwrap();
    let model = script([
        ("supervisor", calls(BOTH)),
        ("billing", looks("INV")),
        ("billing", says("Twice.")),
        ("shipping", says("In transit.")),
        ("supervisor", says("Both.")),
        ("supervisor", says("Again.")),
    ]);
    let mut left = Vec::new();
    let session = Session::new(&relay, &model).at_each_step(|step| {
        left.push(step.run().model_calls_left());
        step
    });
    let session = session.say("one").say("two").ends(RunEnd::Answered);
    drop(session);
    // Asked, five steps with both branches open, joined (20 - 4 calls made), answered; then the user's second message.
    assert_eq!(left, [20, 11, 11, 11, 11, 11, 16, 15, 20, 19]);
}

/// S3-25, S3-08: a delegate's own delegate lives on its allowance, and the steps that are told count both.
#[test]
fn a_nested_branch_uses_the_allowance_of_the_one_that_asked_it() {
    let relay = nested(9);
    let model = script([
        ("supervisor", calls([("ask_mid", question("Well?"))])),
        ("mid", calls([("ask_leaf", question("Well?"))])),
        ("leaf", looks("a")),
        ("leaf", says("Leaf.")),
        ("mid", says("Mid.")),
        ("supervisor", says("Top.")),
    ]);
    let mut given = Vec::new();
    let session = Session::new(&relay, &model).at_each_step(|step| {
        if let Step::Delegate(delegation) = &step
            && let Some((mid_left, leaves)) = shares(delegation.branches()[0].step())
        {
            given.push((delegation.run().model_calls_left(), mid_left, leaves));
        }
        step
    });
    let session = session.say("hello").ends(RunEnd::Answered);
    let results: Vec<u32> = harness::runs(session.run())
        .iter()
        .flat_map(|run| run.links())
        .map(|link| link.result().unwrap().steps_used)
        .collect();
    assert_eq!((results, session.run().model_calls_left()), (vec![4, 2], 44));
    drop(session);
    // The top has 50 - 1 - 9 left. The middle had 9, made one call, gave 4 to the leaf and has 4 left; the leaf makes two.
    assert_eq!(given, [(40, 4, vec![4]), (40, 4, vec![3]), (40, 4, vec![3]), (40, 4, vec![2])]);

    // Of four, the middle needs one to ask and keeps one to answer: the leaf has two.
    let relay = nested(4);
    let mut found = None;
    let session = Session::new(&relay, &model).at_each_step(|step| {
        if let Step::Delegate(delegation) = &step {
            found = found.take().or_else(|| shares(delegation.branches()[0].step()));
        }
        step
    });
    drop(session.say("hello").ends(RunEnd::Answered));
    assert_eq!(found, Some((1, vec![2])));
}

/// A supervisor that asks mid, which asks leaf; a question to mid is given so many model calls.
fn nested(most: u32) -> Relay {
    let mid = Relay::builder()
        .agent(agent("mid"))
        .delegate("mid", Delegate::new("ask_leaf", agent("leaf")))
        .entry("mid")
        .build()
        .unwrap();
    let mid = Delegate::team("ask_mid", mid).max_model_calls(most);
    Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", mid)
        .entry("supervisor")
        .build()
        .unwrap()
}

/// Asks whatever it can, every time, and never answers.
struct Greedy;

impl Model for Greedy {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let asks =
            request.tools.iter().map(|tool| tool.name.as_str()).filter(|name| name.starts_with("ask_"));
        let mut wanted: Vec<&str> = asks.flat_map(|name| [name, name]).collect();
        wanted.push("look");
        let ids: Vec<String> = (0..wanted.len()).map(|n| format!("tu_{}_{n}", request.replies)).collect();
        let input = |name: &str| match name {
            "look" => format!(r#"{{"word":"{}"}}"#, request.replies),
            _ => question("More?"),
        };
        let inputs: Vec<String> = wanted.iter().map(|name| input(name)).collect();
        let parts = ids.iter().zip(&wanted).zip(&inputs);
        Ok(script::calls(parts.map(|((id, name), input)| (id.as_str(), *name, input.as_str()))))
    }
}

/// S3-24: a tree never makes more model calls than its run was given, however much each agent in it asks, and uses all it
/// was given when it never stops asking.
#[test]
fn a_tree_never_makes_more_model_calls_than_it_was_given() {
    for most in 1..=24 {
        let mid = Relay::builder()
            .agent(agent("mid"))
            .delegate("mid", Delegate::new("ask_leaf", agent("leaf")))
            .entry("mid")
            .build()
            .unwrap();
        let relay = desk()
            .delegate("supervisor", Delegate::team("ask_mid", mid).max_model_calls(8))
            .max_model_calls(most)
            .build()
            .unwrap();
        let session = Session::with(&relay, &Greedy).say("hello");
        assert_eq!(*session.done().end(), RunEnd::BudgetSpent { max_model_calls: most });
        let made = (session.asked.len(), session.run().cost().model_calls, session.run().model_calls_left());
        assert_eq!(made, (most as usize, most, 0));
    }
}

/// C139: what the agents of branches and of their teams used is in the total, and in the sum of each agent.
#[test]
fn what_branches_used_is_in_the_total() {
    let team = harness::relay("b -> c");
    let relay = Relay::builder()
        .agent(agent("s"))
        .delegate("s", Delegate::team("ask_b", team))
        .entry("s")
        .build()
        .unwrap();
    let used = |turn: harness::Turn, read: u64, written: u64| -> harness::Turn {
        Box::new(move |request| {
            let mut reply = turn(request);
            reply.usage = Usage::new(read, written);
            reply
        })
    };
    let model = script([
        ("s", used(calls([("ask_b", question("Well?"))]), 4, 1)),
        ("b", used(harness::hands_to("c"), 15, 5)),
        ("c", used(says("Well."), 3, 2)),
        ("s", used(says("All well."), 3, 2)),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.order(), "s b c s");
    let cost = |model_calls, input_tokens, output_tokens| Cost { model_calls, input_tokens, output_tokens };
    assert_eq!(session.run().cost(), cost(4, 25, 10));
    let by_agent: BTreeMap<String, Cost> =
        session.run().cost_by_agent().into_iter().map(|(agent, cost)| (agent.to_string(), cost)).collect();
    let expected = [("s", cost(2, 7, 3)), ("b", cost(1, 15, 5)), ("c", cost(1, 3, 2))];
    assert_eq!(by_agent, expected.map(|(agent, cost)| (agent.to_owned(), cost)).into());
    // 10, 20 and 5, in all 35.
    let tokens = |cost: &Cost| cost.input_tokens + cost.output_tokens;
    assert_eq!(["s", "b", "c"].map(|agent| tokens(&by_agent[agent])), [10, 20, 5]);
    assert_eq!(tokens(&session.run().cost()), 35);
}
