//! Calling a run off: wherever it stands, it ends, its conversations stay legal, and it may go on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    BOTH, Session, Turn, agent, calls, desk, hands_to, looks, payer, pays, question, says, says_and_looks,
    script, story,
};
use sommelier_handoff::{
    Answer, Budget, Delegate, DelegateResult, DelegateStatus, Link, LinkOutcome, Measure, Relay,
    RelayBuilder, Route, Run, RunEnd, Step,
};
use sommelier_protocol::sequence::{self, Rule};
use sommelier_protocol::{Message, ModelRequest};
use sommelier_runtime::{Model, ScriptedModel};
use std::collections::{BTreeMap, BTreeSet};

/// A supervisor that asks billing and shipping, and may hand over to policy.
fn relay() -> Relay {
    desk().agent(agent("policy")).route("supervisor", "policy").build().unwrap()
}

/// Calls a run off at the first step that `here` picks.
fn calls_off<'a>(
    relay: &'a Relay,
    mut here: impl FnMut(&Step) -> bool + 'a,
) -> impl FnMut(Step) -> Step + 'a {
    let mut is_off = false;
    move |step| {
        if is_off || !here(&step) {
            return step;
        }
        is_off = true;
        Step::Done(step.cancel(relay, "the user has left", 2000))
    }
}

fn cancelled() -> RunEnd {
    RunEnd::Cancelled { reason: "the user has left".into() }
}

const CALLED_OFF: &str = r#"{"error":"not_run","detail":"#;

/// One kind of step at which a run is called off.
struct Case {
    kind: &'static str,
    turns: Vec<(&'static str, Turn)>,
    here: fn(&Step) -> bool,
    /// What the supervisor's conversation ends with.
    last: String,
}

fn cases() -> Vec<Case> {
    let not_run = |why: &str| format!("tu_1_0!{CALLED_OFF}{why:?}}}");
    let given = |n: usize, rest: &str| format!("tu_1_{n}={rest}");
    vec![
        Case {
            kind: "model",
            turns: vec![],
            here: |step| matches!(step, Step::CallModel(_)),
            last: "user: hello".to_owned(),
        },
        Case {
            kind: "tools",
            turns: vec![("supervisor", looks("tea"))],
            here: |step| matches!(step, Step::CallTools(_)),
            last: format!(
                r#"user: tu_1_0!{{"error":"in_doubt","detail":"{}"}}"#,
                "called off; whether the call had an effect is not known"
            ),
        },
        Case {
            kind: "delegate",
            turns: vec![
                ("supervisor", calls(BOTH)),
                ("billing", says("Twice.")),
                ("shipping", says_and_looks("On the road.", "A-7")),
            ],
            // Billing has answered, and shipping has said something and is about to look.
            here: |step| match step {
                Step::Delegate(delegation) => {
                    matches!(delegation.branches()[1].step(), Step::CallTools(_))
                }
                _ => false,
            },
            last: format!(
                "user: {} | {}",
                given(0, r#"{"status":"done","finding":"Twice.","steps_used":1}"#),
                given(
                    1,
                    r#"{"status":"partial","finding":"On the road.","reason":"cancelled: the user has left","steps_used":1}"#
                )
            ),
        },
        Case {
            kind: "handoff",
            turns: vec![("supervisor", hands_to("policy"))],
            here: |step| matches!(step, Step::HandOff(_)),
            last: format!("user: {}", not_run("called off before it was taken")),
        },
    ]
}

fn model_of(case: Case) -> (ScriptedModel, fn(&Step) -> bool, String, &'static str) {
    let Case { kind, turns, here, last } = case;
    let model = script(turns.into_iter().chain([("supervisor", says("Welcome back."))]));
    (model, here, last, kind)
}

/// A run is called off in whichever kind of step it is: it ends as such, each open call has its answer, and what was done
/// is kept. Nothing more is asked.
#[test]
fn a_run_is_called_off_wherever_it_stands() {
    let relay = relay();
    for case in cases() {
        let (model, here, last, kind) = model_of(case);
        let session = Session::new(&relay, &model).at_each_step(calls_off(&relay, here)).say("hello");
        assert_eq!((session.done().end(), kind), (&cancelled(), kind));
        let told = session.story("supervisor");
        assert_eq!(told.lines().last(), Some(last.as_str()), "{kind}");
        assert_eq!(session.run().trail().count(), 0, "{kind}");
        assert_eq!(session.done().answer(), None);
    }
}

/// The user speaks on after a run was called off: the words follow the results in one message, the request is legal, and
/// the run ends well.
#[test]
fn a_run_that_was_called_off_hears_the_user() {
    let relay = relay();
    for case in cases() {
        let (model, here, last, kind) = model_of(case);
        let session = Session::new(&relay, &model).at_each_step(calls_off(&relay, here));
        let session = session.say("hello").say("Are you there?").ends(RunEnd::Answered);
        let asked = story(&session.asked.last().unwrap().messages);
        let expected = match kind {
            // Two messages of the user in a row are one, of two texts.
            "model" => "user: hello | Are you there?".to_owned(),
            _ => format!("{last} | Are you there?"),
        };
        assert_eq!(asked.lines().last(), Some(expected.as_str()), "{kind}");
        assert_eq!(session.done().answer().as_deref(), Some("Welcome back."));
    }
}

/// A run that was called off can be tried again from there: the model is asked with what stands there.
#[test]
fn a_run_that_was_called_off_can_be_tried_again() {
    let relay = relay();
    for case in cases() {
        let (model, here, last, kind) = model_of(case);
        let session = Session::new(&relay, &model).at_each_step(calls_off(&relay, here));
        let session = session.say("hello").retry().ends(RunEnd::Answered);
        let asked = story(&session.asked.last().unwrap().messages);
        assert_eq!(asked.lines().last(), Some(last.as_str()), "{kind}");
        assert_eq!(session.done().answer().as_deref(), Some("Welcome back."));
    }
}

/// What the branches of a run that is called off have found so far is kept in its links, and what they have left of their
/// model calls comes back.
#[test]
fn what_called_off_branches_have_found_is_kept() {
    let relay = relay();
    let case = cases().swap_remove(2);
    let (model, here, ..) = model_of(case);
    let session = Session::new(&relay, &model).at_each_step(calls_off(&relay, here)).say("hello");
    let result = |status, finding: &str, reason: Option<&str>| DelegateResult {
        status,
        finding: Some(finding.into()),
        reason: reason.map(Into::into),
        steps_used: 1,
        effects: Vec::new(),
        action_needed: None,
        evidence: Vec::new(),
    };
    let results: Vec<&DelegateResult> =
        session.run().links().iter().filter_map(|link| link.result()).collect();
    assert_eq!(
        results,
        [
            &result(DelegateStatus::Done, "Twice.", None),
            &result(DelegateStatus::Partial, "On the road.", Some("cancelled: the user has left")),
        ]
    );
    let ends: Vec<&RunEnd> =
        session.run().links().iter().filter_map(|link| Some(link.run()?.end())).collect();
    assert_eq!(ends, [&RunEnd::Answered, &cancelled()]);
    let shipping = session.run().links()[1].run().unwrap().run().idle("shipping").unwrap();
    assert_eq!(
        story(shipping.messages()).lines().last(),
        Some(
            r#"user: tu_1_0!{"error":"in_doubt","detail":"called off; whether the call had an effect is not known"}"#
        )
    );
    // Three model calls were made of fifty.
    assert_eq!((session.run().cost().model_calls, session.run().model_calls_left()), (3, 47));
}

/// A branch of a branch is called off too, at any of the steps of the tree, and the run goes on from there.
#[test]
fn a_tree_can_be_called_off_at_any_step() {
    let mid = Relay::builder()
        .agent(agent("mid"))
        .delegate("mid", Delegate::new("ask_leaf", agent("leaf")))
        .entry("mid")
        .build()
        .unwrap();
    let relay = desk().delegate("supervisor", Delegate::team("ask_mid", mid)).build().unwrap();
    let mut ends = Vec::new();
    for stop in 0.. {
        let asks = ["ask_mid", "ask_billing"].map(|tool| (tool, question("Well?")));
        let model = script([
            ("supervisor", calls(asks)),
            ("mid", calls([("ask_leaf", question("Well?"))])),
            ("leaf", says_and_looks("LEAF-1", "tea")),
            ("leaf", says("LEAF-2")),
            ("mid", says("MID")),
            ("billing", says("BILLING")),
            ("supervisor", says("ALL")),
        ]);
        let mut steps = 0;
        let session = Session::new(&relay, &model).at_each_step(calls_off(&relay, move |_| {
            steps += 1;
            steps > stop
        }));
        let session = session.say("hello");
        if *session.done().end() == RunEnd::Answered {
            break;
        }
        assert_eq!(session.done().end(), &cancelled());
        let left = session.run().model_calls_left() + session.run().cost().model_calls;
        assert_eq!(left, 50, "step {stop}");
        let found: Vec<String> = harness::runs(session.run())
            .iter()
            .flat_map(|run| run.links())
            .map(|link| {
                let result = link.result().unwrap();
                format!("{} {}", link.tool, result.finding.as_deref().unwrap_or(result.status.as_str()))
            })
            .collect();
        ends.push(found.join(", "));
        // Each request on the way to the end is legal: the session looks.
        assert_eq!(session.say("And?").done().end(), &RunEnd::Answered);
    }
    assert_eq!(
        ends,
        [
            "",
            "ask_mid failed, ask_billing failed",
            "ask_mid failed, ask_billing failed, ask_leaf failed",
            "ask_mid failed, ask_billing failed, ask_leaf LEAF-1",
            "ask_mid failed, ask_billing failed, ask_leaf LEAF-1",
            "ask_mid failed, ask_billing failed, ask_leaf LEAF-2",
            "ask_mid failed, ask_billing failed, ask_leaf LEAF-2",
            "ask_mid MID, ask_billing failed, ask_leaf LEAF-2",
            "ask_mid MID, ask_billing BILLING, ask_leaf LEAF-2",
            "ask_mid MID, ask_billing BILLING, ask_leaf LEAF-2",
        ]
    );
}

/// A run that has ended is left as it is.
#[test]
fn a_run_that_has_ended_is_not_called_off() {
    let relay = relay();
    let model = script([("supervisor", says("Good day."))]);
    let done = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered).into_done();
    assert_eq!(Step::Done(done.clone()).cancel(&relay, "too late", 9), done);
}

/// A supervisor that asks a team, whose clerk asks a leaf and hands over to an expert, and billing, which pays when a person
/// allows it; and hands over to policy itself where a person allows that.
fn every_wait() -> RelayBuilder {
    let inner = harness::team("clerk -> expert")
        .delegate("clerk", Delegate::new("ask_leaf", agent("leaf")))
        .may_ask_human("expert")
        .build()
        .unwrap();
    Relay::builder()
        .agent(agent("supervisor"))
        .agent(agent("policy"))
        .route_with(Route::new("supervisor", "policy").needs_approval())
        .delegate("supervisor", Delegate::team("ask_team", inner).max_model_calls(12))
        .delegate("supervisor", Delegate::new("ask_billing", payer("billing")))
        .entry("supervisor")
        .budget(Budget::new(50).tool_calls(20).tokens(1_000).hops(9).millis(1_000_000))
}

/// Each agent says something before it waits, so that there is something to keep.
fn every_turn() -> ScriptedModel {
    script([
        ("supervisor", calls([("ask_team", question("Well?")), ("ask_billing", question("Pay it?"))])),
        ("clerk", says_and_looks("CLERK", "tea")),
        ("clerk", calls([("ask_leaf", question("Leaf?"))])),
        ("leaf", says_and_looks("LEAF", "tea")),
        ("leaf", says("LEAF-2")),
        ("clerk", hands_to("expert")),
        ("expert", says_and_looks("EXPERT", "tea")),
        ("expert", calls([("ask_human", r#"{"question":"Red?"}"#)])),
        ("expert", says("EXPERT-2")),
        ("billing", says_and_looks("BILLING", "tea")),
        ("billing", calls([pays("INV-1")])),
        ("billing", says("BILLING-2")),
        ("supervisor", hands_to("policy")),
        ("policy", says_and_looks("POLICY", "tea")),
        ("policy", says("POLICY-2")),
    ])
}

/// The kind of a wait, and who waits.
fn wait_of(step: &Step) -> String {
    let kind = match step {
        Step::CallModel(_) => "model",
        Step::CallTools(_) => "tools",
        Step::AskHuman(_) => "human",
        Step::Delegate(_) => "delegate",
        Step::HandOff(_) => "handoff",
        Step::Done(_) => "done",
    };
    format!("{kind} of {}", step.run().active())
}

/// Every state of a tree as it goes on, in the order that `pick` makes of the branches; persons are answered when nothing
/// else goes on.
fn states(relay: &Relay, pick: fn(usize) -> usize) -> Vec<Step> {
    let model = every_turn();
    let mut states = Vec::new();
    let mut session = Session::new(relay, &model).telling_time(1).pick(pick).at_each_step(|step| {
        states.push(step.clone());
        step
    });
    session = session.say("hello");
    while session.is_waiting() {
        let (_, question) = session.questions().remove(0);
        let answer = match question.asks.choices().contains(&"approve") {
            true => Answer::Approve,
            false => Answer::Say { text: "Red.".into() },
        };
        session = session.answer(&question.id, answer);
    }
    drop(session.ends(RunEnd::Answered));
    states
}

/// What must be true of a run that was called off, and of each of its branches: nobody works or waits, each conversation
/// is one that a model may be asked with, each call has one answer.
fn assert_is_over(run: &Run) {
    for run in harness::runs(run) {
        assert!(run.trail().open().next().is_none(), "{}: nobody has ended a hop", run.conversation());
        for (agent, turn) in run.at_rest() {
            let messages = turn.messages();
            // No tools are given here, and whose words are last is not the question.
            let is_of_calls = |rule| !matches!(rule, Rule::ToolsAreNamed | Rule::ModelIsNotLast);
            let mut broken = sequence::check(&ModelRequest::new("m", 1, messages));
            broken.retain(|violation| is_of_calls(violation.rule));
            assert_eq!(broken, [], "{agent} in {}: {}", run.conversation(), story(messages));
            let called: Vec<&str> =
                messages.iter().flat_map(Message::tool_uses).map(|call| call.id()).collect();
            let answered: Vec<&str> =
                messages.iter().flat_map(Message::tool_results).map(|result| result.tool_use_id()).collect();
            assert_eq!(called, answered, "{agent} in {}", run.conversation());
        }
        for link in run.links() {
            assert!(matches!(link.outcome, LinkOutcome::Returned { .. }), "{}", link.id);
        }
    }
}

/// All that is said in the conversations of a tree, open ones included: the words of the scripts that have been there.
fn said(json: &str) -> BTreeSet<&'static str> {
    let words =
        ["CLERK", "LEAF", "LEAF-2", "EXPERT", "EXPERT-2", "BILLING", "BILLING-2", "POLICY", "POLICY-2"];
    words.into_iter().filter(|word| json.contains(&format!("\"{word}\""))).collect()
}

/// The branches of a tree that are open or ended, by path.
fn branches(step: &Step) -> BTreeSet<String> {
    let mut open: Vec<String> = Vec::new();
    let mut look = vec![step];
    while let Some(step) = look.pop() {
        if let Step::Delegate(delegation) = step {
            open.extend(delegation.branches().iter().map(|branch| branch.path().to_owned()));
            look.extend(delegation.branches().iter().map(|branch| branch.step()));
        }
        let ended = harness::runs(step.run()).into_iter().flat_map(Run::links);
        open.extend(ended.map(|link| link.id.to_string()));
    }
    open.into_iter().collect()
}

/// Each link of a tree, with how its branch ended.
fn ends(run: &Run) -> Vec<(String, &RunEnd)> {
    let links = harness::runs(run).into_iter().flat_map(Run::links);
    links.filter_map(|link: &Link| Some((link.id.to_string(), link.run()?.end()))).collect()
}

/// C161, S3-32: a tree is called off at every wait of every branch, in two orders of the branches: the run and each branch
/// that was opened has one end and no second, nobody works or waits any more, every conversation is legal, all that was
/// said is kept, and what was given to branches is back. It may be saved, and the user goes on with it.
#[test]
fn a_tree_is_called_off_at_every_wait() {
    let relay = every_wait().build().unwrap();
    let mut waits: BTreeMap<String, usize> = BTreeMap::new();
    for pick in [|_: usize| 0, |open: usize| open - 1] {
        for step in states(&relay, pick) {
            let open: Vec<String> = step.open().into_iter().map(wait_of).collect();
            if matches!(step, Step::Done(_)) {
                continue;
            }
            open.into_iter().for_each(|wait| *waits.entry(wait).or_default() += 1);
            let before = (said(&step.save().unwrap()), branches(&step));
            let done = step.cancel(&relay, "the user has left", 5_000);
            assert_eq!(done.end(), &cancelled());
            assert_is_over(done.run());
            let ends = ends(done.run());
            let ended: BTreeSet<String> = ends.iter().map(|(id, _)| id.clone()).collect();
            assert_eq!((ended.len(), &ended), (ends.len(), &before.1), "each branch has one end");
            let spent = done.run().cost();
            assert_eq!(done.run().model_calls_left() + spent.model_calls, 50);
            let over = Step::Done(done);
            assert_eq!((said(&over.save().unwrap()), branches(&over)), before);
            assert!(over.questions().is_empty() && over.deadline().is_none());
            let over = relay.load(&over.save().unwrap()).unwrap();
            let model = Answers;
            let session = Session::with(&relay, &model);
            let Step::Done(done) = over else { panic!("it has ended") };
            let words = sommelier_protocol::Words::new("And?").unwrap();
            let heard = session.unchecked().drive(done.hear(&relay, words));
            assert_eq!(heard.done().end(), &RunEnd::Answered);
        }
    }
    let kinds: BTreeSet<&str> = waits.keys().map(|wait| wait.split(' ').next().unwrap()).collect();
    assert_eq!(kinds, BTreeSet::from(["delegate", "handoff", "human", "model", "tools"]), "{waits:?}");
    let who =
        |kind: &str| waits.keys().filter_map(|wait| wait.strip_prefix(kind)).collect::<Vec<_>>().join("");
    assert_eq!(who("model of "), "billingclerkexpertleafpolicysupervisor");
    assert_eq!(who("human of "), "billingexpertsupervisor");
}

/// Answers whatever it is asked.
struct Answers;

impl Model for Answers {
    fn complete(
        &self,
        _: ModelRequest<'_>,
    ) -> Result<sommelier_protocol::ModelResponse, sommelier_runtime::ModelError> {
        Ok(sommelier_runtime::script::say("Here."))
    }
}

/// C161: one branch alone is called off, at each of its waits: its asker is told so and goes on, with whatever the branch
/// had said; the others do not notice.
#[test]
fn one_branch_is_called_off_at_every_wait() {
    let relay = every_wait().build().unwrap();
    let mut told = BTreeSet::new();
    for pick in [|_: usize| 0, |open: usize| open - 1] {
        for step in states(&relay, pick) {
            let Step::Delegate(delegation) = &step else { continue };
            let paths: Vec<String> =
                step.open().into_iter().map(|step| step.run().conversation().to_owned()).collect();
            for path in paths.into_iter().filter(|_| !delegation.is_over()) {
                let cancel =
                    |inside: &Relay, step: Step| Step::Done(step.cancel(inside, "not needed", 5_000));
                let off = step.clone().go_on_at(&relay, &path, cancel).unwrap();
                let off = relay.load(&off.save().unwrap()).unwrap();
                assert!(off.open().iter().all(|step| step.run().conversation() != path));
                // All others are brought to their ends too: each of them answers.
                let session = Session::with(&relay, &Answers).unchecked().drive(off);
                let session = match session.is_waiting() {
                    true => continue,
                    false => session,
                };
                assert_eq!(session.done().end(), &RunEnd::Answered);
                assert_is_over(session.run());
                let ends = ends(session.run());
                let mine: Vec<&RunEnd> =
                    ends.iter().filter(|(id, _)| *id == path).map(|(_, end)| *end).collect();
                assert_eq!(mine, [&RunEnd::Cancelled { reason: "not needed".into() }]);
                let others = ends.iter().filter(|(id, _)| *id != path);
                assert!(others.into_iter().all(|(_, end)| **end == RunEnd::Answered));
                let result = harness::runs(session.run()).into_iter().flat_map(Run::links);
                let result = result.filter(|link| *link.id == *path).find_map(Link::result).unwrap();
                told.insert(format!("{} {:?}", result.status.as_str(), result.finding.as_deref()));
            }
        }
    }
    let expected = [
        "failed None",
        "partial Some(\"BILLING\")",
        "partial Some(\"CLERK\")",
        "partial Some(\"LEAF\")",
        "partial Some(\"EXPERT\")",
    ];
    assert_eq!(told, expected.map(str::to_owned).into());
}

/// C77, C08: a call that a person has rejected does not run, so nobody has to doubt what it did, when the run is called off
/// while another call of the reply is out.
#[test]
fn what_was_rejected_is_not_in_doubt() {
    let relay = Relay::builder().agent(payer("clerk")).entry("clerk").build().unwrap();
    let both = calls([pays("INV-1"), ("look", r#"{"word":"tea"}"#.to_owned())]);
    let model = script([("clerk", both)]);
    let here = |step: &Step| matches!(step, Step::CallTools(calls) if calls.calls().count() == 1);
    let session = Session::new(&relay, &model).at_each_step(calls_off(&relay, here)).say("hello");
    let session = session.reject("conv/1/1/0", "paid last week").ends(cancelled());
    let told = "\
user: tu_1_0!{\"error\":\"approval_denied\",\"tool\":\"pay\",\"reason\":\"paid last week\",\"effect\":\"none: the tool was not run\"} | \
tu_1_1!{\"error\":\"in_doubt\",\"detail\":\"called off; whether the call had an effect is not known\"}";
    assert_eq!(story(session.done().turn().unwrap().messages()).lines().last(), Some(told));
}

/// C166: branches that were called off hold nothing: of a quota that is just enough for two of them, the fifth pair still
/// gets all of it.
#[test]
fn called_off_branches_give_back_what_they_held() {
    let budget = Budget::new(9).tool_calls(4).tokens(900).hops(4);
    let left =
        |run: &Run| [Measure::ToolCalls, Measure::Tokens, Measure::Hops].map(|measure| run.left(measure));
    let relay = desk().max_branches(2).budget(budget).build().unwrap();
    let model = script((0..5).map(|_| ("supervisor", calls(BOTH))));
    let ask = |mut step: Step| {
        let Step::CallModel(call) = step else { panic!("the supervisor is asked") };
        let reply = model.complete(call.request(&relay));
        step = call.resume(&relay, reply, 7);
        let Step::Delegate(delegation) = &step else { panic!("two branches are open") };
        let given = delegation.branches().iter().map(|branch| left(branch.step().run()));
        let given: Vec<_> = given.collect();
        // One call for the asker, which the next time is given more: what the branches held came back.
        let done = step.cancel(&relay, "not needed", 8);
        (given, left(done.run()), done.run().model_calls_left(), done)
    };
    let mut step = relay.start("conv", "hello").unwrap();
    for n in 1..=5 {
        let (given, rest, model_calls, done) = ask(step);
        assert_eq!(given, [[Some(2), Some(300), Some(2)]; 2], "the {n}th time");
        assert_eq!((rest, model_calls), ([Some(4), Some(900), Some(4)], 9 - n));
        step = done.with_more(&relay, Budget::new(0)).unwrap();
    }
}
