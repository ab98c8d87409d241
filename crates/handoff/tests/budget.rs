//! The budget: how much a run and its branches may use, who gets what is left, and what becomes of a run that has used it
//! all.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    BOTH, Session, agent, calls, desk, hands, hands_to, looks, name, question, says, says_and_looks, script,
    story, team, to, tool_name, used,
};
use sommelier_handoff::{
    Budget, Cost, Delegate, DelegateRefusal, DelegateResult, DelegateStatus, Guards, LinkOutcome, Measure,
    Refusal, Relay, RelayBuilder, Run, RunEnd, Step,
};
use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runtime::{Model, ModelError, script};
use std::collections::BTreeMap;

/// What the run that asked has left, and what each open branch was given, wherever a delegation has just been opened.
fn shares(step: &Step) -> Option<(u32, Vec<u32>)> {
    let Step::Delegate(delegation) = step else { return None };
    let given = delegation.branches().iter().map(|branch| branch.step().run().model_calls_left());
    Some((delegation.run().model_calls_left(), given.collect()))
}

fn model_calls_spent(most: u32) -> RunEnd {
    RunEnd::BudgetSpent { measure: Measure::ModelCalls, most: most.into() }
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

/// S3-24, S3-25, T66: a question is given 4 model calls, or what its delegate says; when fewer are left they are shared in
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
        assert_eq!(*end, model_calls_spent(result.steps_used));
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
    let refusal = DelegateRefusal::BudgetSpent {
        tool: tool_name("ask_billing"),
        measure: Measure::ModelCalls,
        left: 1,
        allowance: 2,
    };
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
        assert_eq!(*session.done().end(), model_calls_spent(most));
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
    let model = script([
        ("s", used(calls([("ask_b", question("Well?"))]), 4, 1)),
        ("b", used(hands_to("c"), 15, 5)),
        ("c", used(says("Well."), 3, 2)),
        ("s", used(says("All well."), 3, 2)),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.order(), "s b c s");
    let cost = |model_calls, input_tokens, output_tokens| Cost {
        model_calls,
        tool_calls: 0,
        input_tokens,
        output_tokens,
    };
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

fn spent(measure: Measure, most: u64) -> RunEnd {
    RunEnd::BudgetSpent { measure, most }
}

/// What is left of tool calls, tokens and hops.
fn left(run: &Run) -> [Option<u64>; 3] {
    [Measure::ToolCalls, Measure::Tokens, Measure::Hops].map(|measure| run.left(measure))
}

/// One agent with this budget.
fn alone(budget: Budget) -> Relay {
    Relay::builder().agent(agent("a")).entry("a").budget(budget).build().unwrap()
}

/// A call of a tool for which no tool call is left.
fn unrun(id: &str, most: u32) -> String {
    format!(
        r#"{id}!{{"error":"tool_calls_spent","detail":"look was not run: no tool calls are left of {most}"}}"#
    )
}

/// S3-29: a run makes so many runs of tools and no more: of a reply the first that are left run, the others are told, and
/// the model answers with what it has. The user's next message begins anew.
#[test]
fn tool_calls_beyond_the_most_are_told_and_not_run() {
    let relay = alone(Budget::new(50).tool_calls(3));
    let two = || calls([("look", r#"{"word":"x"}"#), ("look", r#"{"word":"y"}"#)]);
    let turns =
        [("a", two()), ("a", two()), ("a", two()), ("a", says("Some.")), ("a", two()), ("a", says("More."))];
    let model = script(turns);
    let session = Session::new(&relay, &model).say("hello");
    assert_eq!((session.done().end(), session.ran.len()), (&RunEnd::Answered, 3));
    assert_eq!(session.results("a", 1), [r#"tu_2_0="x""#.to_owned(), unrun("tu_2_1", 3)]);
    assert_eq!(session.results("a", 2), [unrun("tu_3_0", 3), unrun("tu_3_1", 3)]);
    assert_eq!(left(session.run()), [Some(0), None, None]);
    let session = session.say("And more?").ends(RunEnd::Answered);
    assert_eq!((session.ran.len(), left(session.run())[0]), (5, Some(1)));
    // Each agent's are told by its name.
    let cost = session.run().cost_by_agent().remove(&name("a")).unwrap();
    assert_eq!((cost.tool_calls, session.run().cost().tool_calls), (5, 5));
}

/// A call that is answered without a run uses nothing up: of a tool that is switched off, or that is not there.
#[test]
fn a_call_that_does_not_run_uses_no_tool_call() {
    let relay = alone(Budget::new(50).tool_calls(1));
    let wild = calls([("fail", "{}"), ("nothing", "{}"), ("look", r#"{"word":"x"}"#)]);
    let model = script([("a", wild), ("a", says("x."))]);
    let session = Session::new(&relay, &model)
        .at_each_step(|step| step.switch_off(name("a"), tool_name("fail")))
        .say("hello")
        .ends(RunEnd::Answered);
    let begins = |result: &String| result.split(',').next().unwrap().to_owned();
    assert_eq!(
        session.results("a", 0).iter().map(begins).collect::<Vec<_>>(),
        [r#"tu_1_0!{"error":"tool_switched_off""#, r#"tu_1_1!{"error":"unknown_tool""#, r#"tu_1_2="x""#]
    );
    assert_eq!((session.ran.len(), left(session.run())[0]), (1, Some(0)));
}

/// S3-24, S3-25: tool calls, tokens and hops are shared among branches like model calls, never more than a delegate's own
/// budget; tokens are kept for the asker's answer. At the join only what was used is gone.
#[test]
fn every_measure_is_shared_and_given_back() {
    let own = Budget::new(4).tool_calls(1).tokens(100).hops(0);
    let relay = desk()
        .delegate("supervisor", Delegate::new("ask_law", agent("law")).budget(own))
        .budget(Budget::new(50).tool_calls(7).tokens(1210).hops(6))
        .build()
        .unwrap();
    let model = script([
        ("supervisor", used(calls(BOTH.into_iter().chain([("ask_law", r#"{"question":"May we?"}"#)])), 8, 2)),
        ("billing", used(looks("INV"), 50, 10)),
        ("billing", used(says("Twice."), 60, 10)),
        ("shipping", used(says("In transit."), 40, 10)),
        ("law", used(says("We may."), 20, 10)),
        ("supervisor", used(says("All."), 90, 10)),
    ]);
    let mut given = Vec::new();
    let mut joined = None;
    let session = Session::new(&relay, &model).at_each_step(|step| {
        match &step {
            Step::Delegate(delegation) if given.is_empty() => {
                given.push(left(delegation.run()));
                given.extend(delegation.branches().iter().map(|branch| left(branch.step().run())));
            }
            Step::CallModel(call) if !given.is_empty() => joined = Some(left(call.run())),
            _ => {}
        }
        step
    });
    let session = session.say("hello").ends(RunEnd::Answered);
    let after = left(session.run());
    drop(session);
    let of = |tool_calls, tokens, hops| [Some(tool_calls), Some(tokens), Some(hops)];
    // A third of seven is two, a third of six is two, and a fourth of what is left of the tokens is 300.
    assert_eq!(given, [of(2, 500, 2), of(2, 300, 2), of(2, 300, 2), of(1, 100, 0)]);
    // Billing looked once; the branches took 130, 50 and 30 tokens.
    assert_eq!((joined, after), (Some(of(6, 990, 6)), of(6, 890, 6)));
}

/// A delegate's own budget holds where its asker has none of the kind.
#[test]
fn a_delegate_has_a_budget_of_its_own() {
    let own = Budget::new(4).tool_calls(1);
    let relay = Relay::builder()
        .agent(agent("a"))
        .delegate("a", Delegate::new("ask_b", agent("b")).budget(own))
        .entry("a")
        .build()
        .unwrap();
    let model = script([
        ("a", calls([("ask_b", question("Well?"))])),
        ("b", looks("x")),
        ("b", looks("y")),
        ("b", says("x.")),
        ("a", says("x.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let branch = session.run().links()[0].run().unwrap().run();
    let told = story(branch.idle("b").unwrap().messages());
    assert!(told.contains(&unrun("tu_2_0", 1)), "{told}");
    assert_eq!((left(session.run()), left(branch)), ([None; 3], [Some(0), None, None]));
}

/// C122: a run that has used up its model calls, or its tokens, loses nothing: the conversations with each step done and
/// its result, the package that was last handed over. It goes on from there with more, in this process or another, and
/// nothing is done twice.
#[test]
fn a_spent_run_keeps_everything_and_goes_on_with_more() {
    for (budget, end, more) in [
        (Budget::new(3), spent(Measure::ModelCalls, 3), Budget::new(2)),
        (Budget::new(50).tokens(30), spent(Measure::Tokens, 30), Budget::new(0).tokens(20)),
    ] {
        let relay = team("a -> b").budget(budget).build().unwrap();
        let ten = |turn| used(turn, 7, 3);
        let model = script([
            ("a", ten(hands(to("b", "Look t1 and t2 up.")))),
            ("b", ten(says_and_looks("First.", "t1"))),
            ("b", ten(looks("t2"))),
            ("b", ten(looks("t3"))),
            ("b", ten(says("t1, t2, t3."))),
        ]);
        let session = Session::new(&relay, &model).say("hello").ends_leaving(end, &[("b", 3), ("b", 4)]);
        let told = session.story("b");
        assert_eq!(
            told.lines().rev().take(4).collect::<Vec<_>>(),
            [
                r#"user: tu_2_0="t2""#,
                r#"assistant: look#tu_2_0{"word":"t2"}"#,
                r#"user: tu_1_0="t1""#,
                r#"assistant: First. | look#tu_1_0{"word":"t1"}"#,
            ]
        );
        let package = session.run().trail().taken().last().unwrap().package.clone().unwrap();
        assert_eq!((package.task(), session.ran.len()), ("Look t1 and t2 up.", 2));
        let session = session.with_more(more).ends(RunEnd::Answered);
        let keys: Vec<&str> = session.ran.iter().map(|(_, key)| key.as_str()).collect();
        assert_eq!(keys, ["conv/1/2/0", "conv/1/3/0", "conv/1/4/0"]);
        assert_eq!(session.done().answer().as_deref(), Some("t1, t2, t3."));
        // The hop is one that was done, and not one that was given up.
        assert_eq!(
            session
                .run()
                .trail()
                .taken()
                .filter_map(|hop| hop.end)
                .map(|end| end.how.as_str())
                .collect::<Vec<_>>(),
            ["done"]
        );
    }
}

/// What is added is there until the user speaks again; what was not limited stays without a limit, and a run that waits
/// for its user does not go on by itself.
#[test]
fn more_is_for_this_message_of_the_user() {
    let relay = alone(Budget::new(1).tool_calls(9));
    let model = script([("a", looks("x")), ("a", says("x.")), ("a", says("Again."))]);
    let session =
        Session::new(&relay, &model).say("hello").with_more(Budget::new(4).tool_calls(1).tokens(1).hops(1));
    let given = |run: &Run| {
        [Measure::ModelCalls, Measure::ToolCalls, Measure::Tokens, Measure::Hops]
            .map(|measure| run.given(measure))
    };
    assert_eq!(given(session.run()), [Some(5), Some(10), None, None]);
    let done = session.done().clone();
    assert_eq!(done.clone().with_more(&relay, Budget::new(9)).unwrap_err(), done);
    let session = session.say("And?").ends(RunEnd::Answered);
    assert_eq!(given(session.run()), [Some(1), Some(9), None, None]);
}

/// A run that is given nothing more ends again at once, and asks nobody.
#[test]
fn nothing_more_is_nothing() {
    let relay = alone(Budget::new(1));
    let model = script([("a", looks("x"))]);
    let session = Session::new(&relay, &model).say("hello").with_more(Budget::new(0));
    assert_eq!((session.done().end(), session.asked.len()), (&spent(Measure::ModelCalls, 1), 1));
}

/// S3-29, C122: hops of the whole tree count: one that a branch has taken is missing at the root, and one beyond the most is
/// refused by the cap. With one more the run goes on.
#[test]
fn hops_are_counted_over_the_tree() {
    let relay = team("a -> b")
        .delegate("a", Delegate::team("ask_team", harness::relay("clerk -> expert")))
        .budget(Budget::new(50).hops(1))
        .build()
        .unwrap();
    let model = script([
        ("a", calls([("ask_team", question("Well?"))])),
        ("clerk", hands_to("expert")),
        ("expert", says("Well.")),
        ("a", hands_to("b")),
        ("a", hands(to("b", "Then you."))),
        ("b", says("I have it.")),
    ]);
    let session = Session::new(&relay, &model).say("hello");
    let refusal = Refusal::HandoffLimitExceeded { max: 1, chain: harness::names(&["a", "b"]) };
    assert_eq!(session.done().end(), &RunEnd::HopLimit { refusal });
    assert_eq!(left(session.run()), [None, None, Some(0)]);
    let session = session.with_more(Budget::new(0).hops(1)).ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["a -> b: handoff_limit_exceeded", "a -> b: taken 1"]);
    assert_eq!(session.done().answer().as_deref(), Some("I have it."));
}

/// S3-29, C122: a run that ended since its hops were used up says that it was they, and its model is told when there are more:
/// the result of its call says that there are none. Where the cap of the guards is reached there are no more, and nobody says so.
#[test]
fn more_hops_are_told_to_the_model() {
    let model = script([("a", hands_to("b")), ("a", hands(to("b", "Then you."))), ("b", says("I have it."))]);
    let relay = team("a -> b").budget(Budget::new(50).hops(0)).build().unwrap();
    let session = Session::new(&relay, &model).say("hello");
    assert_eq!(session.done().end().measure(), Some(Measure::Hops));
    let session = session.with_more(Budget::new(0).hops(1)).ends(RunEnd::Answered);
    let told = story(&session.asked[1].messages);
    let last = concat!(
        r#"user: tu_1_0!{"error":"handoff_limit_exceeded","detail":"0 handoff(s) are the most, a further one is not taken: "#,
        r#"a → b"} | A further handoff may be taken now."#
    );
    assert_eq!(told.lines().last(), Some(last));

    let capped = team("a -> b").guards(Guards::default().max_handoffs(0)).build().unwrap();
    let session = Session::new(&capped, &model).say("hello");
    assert_eq!(session.done().end().measure(), Some(Measure::Hops));
    let session = session.with_more(Budget::new(9).hops(1));
    assert!(!story(&session.asked[1].messages).contains("may be taken now"));
}

/// S3-24: what is not limited has no number, model calls without a limit included; a branch is limited by its share.
#[test]
fn what_is_unlimited_has_no_number() {
    let child = || Delegate::new("ask_child", agent("child")).budget(Budget::unlimited());
    let relay = Relay::builder().agent(agent("a")).delegate("a", child()).entry("a");
    let relay = relay.budget(Budget::unlimited()).build().unwrap();
    let turns =
        [("a", calls([("ask_child", question("Well?"))])), ("child", says("Well.")), ("a", says("Well."))];
    let model = script(turns);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let run = session.run();
    let measures = [Measure::ModelCalls, Measure::ToolCalls, Measure::Tokens, Measure::Hops, Measure::Millis];
    assert_eq!(measures.map(|measure| (run.given(measure), run.left(measure))), [(None, None); 5]);
    let branch = run.links()[0].run().unwrap().run();
    let share = u64::from(u32::MAX) - 2;
    assert_eq!(branch.given(Measure::ModelCalls), Some(share));
    // A limit can be lifted.
    let relay = team("a -> b").budget(Budget::new(1)).build().unwrap();
    let model = script([("a", looks("tea")), ("a", says("Well."))]);
    let session = Session::new(&relay, &model).say("hello");
    assert_eq!(session.run().given(Measure::ModelCalls), Some(1));
    let session = session.with_more(Budget::unlimited()).ends(RunEnd::Answered);
    assert_eq!(session.run().given(Measure::ModelCalls), None);
}

/// Of the guards' cap and the budget's hops the smaller number is the one that refuses, and is told.
#[test]
fn the_smaller_of_two_caps_is_told() {
    for (cap, hops, most) in [(1, 2, 1), (2, 1, 1), (5, 2, 2)] {
        let relay = team("a -> b, b -> c, c -> d").guards(Guards::default().max_handoffs(cap));
        let relay = relay.budget(Budget::new(50).hops(hops)).build().unwrap();
        let model = script([("a", hands_to("b")), ("b", hands_to("c")), ("c", hands_to("d"))]);
        let session = Session::new(&relay, &model).say("hello");
        let Refusal::HandoffLimitExceeded { max, .. } = &session.refusals()[0] else { panic!("the cap") };
        assert_eq!((*max, session.run().trail().count()), (most, most));
    }
}

/// C124: a limit that is raised at the root reaches a delegate without a limit of its own; one that has its own keeps it.
#[test]
fn a_raised_limit_reaches_the_delegates() {
    let of = |own: Budget| -> RelayBuilder {
        let child = agent("child").max_steps(200);
        Relay::builder()
            .agent(agent("a"))
            .delegate("a", Delegate::new("ask_child", child).budget(own))
            .entry("a")
    };
    for (own, root, made, end) in [
        (Budget::unlimited(), 100, 40, RunEnd::Answered),
        (Budget::new(10), 100, 10, spent(Measure::ModelCalls, 10)),
        // All but the call that asked and the one that is kept.
        (Budget::unlimited(), 20, 18, spent(Measure::ModelCalls, 18)),
    ] {
        let relay = of(own).max_model_calls(root).build().unwrap();
        let looking = (0..made.min(39)).map(|n| ("child", calls([("look", format!(r#"{{"word":"{n}"}}"#))])));
        let turns = [("a", calls([("ask_child", question("Well?"))])), ("a", says("Well."))];
        let answer = (made == 40).then(|| ("child", says("Well.")));
        let model = script(turns.into_iter().chain(looking).chain(answer));
        let session = Session::new(&relay, &model).unsaved().say("hello").ends(RunEnd::Answered);
        let branch = session.run().links()[0].run().unwrap();
        assert_eq!((branch.end(), branch.run().cost().model_calls), (&end, made));
    }
}

/// S3-33: where no tokens are left for a branch its question is refused, and the asker's model is told; a share is kept
/// for its answer.
#[test]
fn a_question_without_tokens_left_is_told() {
    let relay = desk().budget(Budget::new(50).tokens(12)).build().unwrap();
    let model = script([("supervisor", used(calls(BOTH), 8, 2)), ("supervisor", says("I cannot ask."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let told = |n: usize, tool: &str| {
        format!(
            r#"tu_1_{n}!{{"error":"budget_spent","detail":"no tokens are left for {tool}: 2 of 12, and a share is kept for the answer"}}"#
        )
    };
    assert_eq!(session.results("supervisor", 0), [told(0, "ask_billing"), told(1, "ask_shipping")]);
    assert_eq!(left(session.run()), [None, Some(2), None]);
}

/// S3-24: a reply opens so many branches and no more. A question beyond that is refused and may be asked when the others
/// are back, as what they held is free again.
#[test]
fn a_reply_opens_so_many_branches() {
    let relay = desk().max_branches(2).build().unwrap();
    let three = BOTH.into_iter().chain([("ask_billing", r#"{"question":"And INV-312?"}"#)]);
    let model = script([
        ("supervisor", calls(three)),
        ("billing", says("Twice.")),
        ("shipping", says("In transit.")),
        ("supervisor", calls([("ask_billing", question("And INV-312?"))])),
        ("supervisor", says("All.")),
    ]);
    let session = Session::new(&relay, &model);
    let session = session.say("hello").ends(RunEnd::Answered);
    let refusal = DelegateRefusal::TooManyBranches { tool: tool_name("ask_billing"), most: 2 };
    assert_eq!(
        session.results("supervisor", 0)[2],
        r#"tu_1_2!{"error":"too_many_branches","detail":"a reply may ask 2 delegate(s) at once, and ask_billing is one more; ask it when they are back"}"#
    );
    assert_eq!(session.run().links()[0].outcome, LinkOutcome::Refused { refusal });
    assert_eq!(
        session.results("supervisor", 1),
        [r#"tu_2_0={"status":"done","finding":"Twice.","steps_used":1}"#]
    );
}

/// S3-24, S3-29: what nobody has set is limited all the same: model calls over the tree, those of a delegate, depth, hops
/// since the user spoke. A tree that never stops asking ends.
#[test]
fn what_nobody_sets_is_safe() {
    let relay = desk().build().unwrap();
    let guards = Guards::default();
    assert_eq!((*relay.budget(), guards.max_handoffs), (Budget::new(50), 5));
    assert_eq!(Delegate::new("ask_billing", agent("billing")).allowance(), 4);
    let session = Session::with(&relay, &Greedy).say("hello");
    assert_eq!(*session.done().end(), model_calls_spent(50));
    assert_eq!(session.asked.len(), 50);
}
