//! What a reply comes to: calls beside a handoff, several handoffs, none, and every end of a run.

mod harness;

use harness::{
    Session, Turn, agent, calls, hands, hands_to, name, pair, pair_with, relay, says, script, story, team,
    to, tool_name,
};
use sommelier_handoff::{
    Guards, HANDOFF_TO_SPECIALIST, HopOutcome, Measure, PackageError, Refusal, Relay, RunEnd, Step,
};
use sommelier_protocol::{ContentBlock, ModelRequest, ModelResponse, StopReason, ToolUse};
use sommelier_runtime::script::{reply, say};
use sommelier_runtime::turn::Standstill;
use sommelier_runtime::{Model, ModelError};
use std::sync::atomic::{AtomicUsize, Ordering};

const HAND: &str = HANDOFF_TO_SPECIALIST;
const LOOK: &str = r#"{"word":"Focus"}"#;
const TAKEN: &str = r#"{"status":"handed_over","to":"b"}"#;

fn three() -> Relay {
    relay("a -> b, a -> c, b -> c")
}

fn stopping(content: Vec<ContentBlock>, stop: StopReason) -> Turn {
    Box::new(move |_| reply(content.clone(), stop.clone()))
}

/// C01: one result for the call, one legal first request for the receiver.
#[test]
fn a_handoff_closes_its_own_call() {
    let relay = three();
    let model = script([("a", hands_to("b")), ("b", says("Yes."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.results("a", 0), [format!("tu_1_0={TAKEN}")]);
    assert_eq!(session.request("b", 0).messages.len(), 1);
}

/// R12, 5.4-mixed, C02, durability T39: the turn's own tools run first, then there is one hop; each call is
/// answered, in call order.
#[test]
fn tools_beside_a_handoff_run_first() {
    let relay = three();
    let model =
        script([("a", calls([(HAND, to("b", "t")), ("look", LOOK.to_owned())])), ("b", says("Yes."))]);
    let mut order = Vec::new();
    let session = Session::new(&relay, &model)
        .at_each_step(|step| {
            order.push(match &step {
                Step::CallModel(call) => call.run().active().to_string(),
                Step::CallTools(_) => "tools".to_owned(),
                Step::AskHuman(_) => "human".to_owned(),
                Step::Delegate(_) => "delegate".to_owned(),
                Step::HandOff(_) => "handoff".to_owned(),
                Step::Done(_) => "done".to_owned(),
            });
            step
        })
        .say("hello")
        .ends(RunEnd::Answered);
    assert_eq!(session.results("a", 0), [format!("tu_1_0={TAKEN}"), "tu_1_1=\"Focus\"".to_owned()]);
    assert_eq!(session.ran, [("look".to_owned(), "conv/1/1/1".to_owned())]);
    drop(session);
    assert_eq!(order, ["a", "tools", "handoff", "b", "done"]);
}

/// R12: a tool that fails beside it does not keep a handoff from happening.
#[test]
fn a_handoff_beside_a_failed_tool_still_happens() {
    let relay = three();
    let turn = calls([
        ("fail", "{}".to_owned()),
        (HAND, to("b", "t")),
        ("gone", "{}".to_owned()),
        ("look", "{".to_owned()),
    ]);
    let model = script([("a", turn), ("b", says("Yes."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["a -> b: taken 1"]);
    let results = session.results("a", 0);
    let starts: Vec<&str> = results.iter().map(|result| &result[..15.min(result.len())]).collect();
    assert_eq!(
        starts,
        [r#"tu_1_0!{"error""#, r#"tu_1_1={"status"#, r#"tu_1_2!{"error""#, r#"tu_1_3!{"error""#]
    );
    assert_eq!(session.ran.len(), 2);
}

/// R12, C04, C26, durability T40: of two receivers the first is taken, the second is told so with a type, it
/// stands in the outcome, and the next message of the user meets a legal conversation.
#[test]
fn the_first_of_two_handoffs_wins() {
    let relay = three();
    let model = script([
        ("a", calls([(HAND, to("b", "one")), (HAND, to("c", "two"))])),
        ("b", says("Yes.")),
        ("b", says("And yes.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").say("and?").ends(RunEnd::Answered);
    let refusal = Refusal::OnePerTurn {
        taken: "tu_1_0".to_owned(),
        to: name("b"),
        differs: vec!["specialist".to_owned(), "task".to_owned()],
    };
    assert_eq!(session.refusals(), [refusal]);
    // The refusal was ruled before the handoff was taken.
    assert_eq!(session.trail(), ["a -> c: one_handoff_per_turn", "a -> b: taken 1"]);
    let told = "one handoff a turn: b has the turn by call tu_1_0; not taken, differs in specialist, task";
    assert_eq!(
        session.results("a", 0),
        [
            format!("tu_1_0={TAKEN}"),
            format!(r#"tu_1_1!{{"error":"one_handoff_per_turn","detail":"{told}"}}"#)
        ]
    );
    assert_eq!(session.order(), "a b b");
}

/// R12: the first *valid* one: what a guard refuses before it does not count.
#[test]
fn the_first_valid_handoff_wins() {
    let relay = three();
    let turn =
        calls([(HAND, to("nobody", "x")), (HAND, to("a", "x")), (HAND, to("c", "y")), (HAND, to("b", "y"))]);
    let model = script([("a", turn), ("c", says("Yes."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(
        session.trail(),
        [
            "a -> nobody: unknown_specialist",
            "a -> a: self_handoff",
            "a -> b: one_handoff_per_turn",
            "a -> c: taken 1"
        ]
    );
}

/// C25: the receiver sees nothing of what was refused, and may hand on to that very agent.
#[test]
fn a_refused_handoff_does_not_keep_the_receiver_from_it() {
    let relay = three();
    let model = script([
        ("a", calls([(HAND, to("b", "one")), (HAND, to("c", "two_marker"))])),
        ("b", hands_to("c")),
        ("c", says("Yes.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["a -> c: one_handoff_per_turn", "a -> b: taken 1", "b -> c: taken 2"]);
    let request = &session.request("b", 0).json;
    assert!(!request.contains("two_marker") && !request.contains("not taken"));
}

/// C34: the same handoff twice is a duplicate; with another package it is told what differs.
#[test]
fn an_equal_handoff_is_a_duplicate_and_not_a_conflict() {
    let relay = three();
    let full = |task: &str, extra: &str| {
        format!(r#"{{"specialist":"b","task":"{task}","context":{{"n":1}}{extra}}}"#)
    };
    let spelt = r#"{ "context": {"n": 1}, "task": "t", "specialist": " \"B\" ", "open_items": [] }"#;
    let other = r#","constraints":["c"],"completed_steps":["s"],"open_items":["o"],"artifacts":{"a":1}"#;
    let turn = calls([
        (HAND, full("t", "")),
        (HAND, full("t", "")),
        (HAND, spelt.to_owned()),
        (HAND, full("u", "").replace('1', "2")),
        (HAND, full("t", other)),
    ]);
    let model = script([("a", turn), ("b", says("Yes."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let duplicate = || Refusal::Duplicate { of: "tu_1_0".to_owned() };
    let differs = |members: &[&str]| Refusal::OnePerTurn {
        taken: "tu_1_0".to_owned(),
        to: name("b"),
        differs: members.iter().map(|member| (*member).to_owned()).collect(),
    };
    assert_eq!(
        session.refusals(),
        [
            duplicate(),
            duplicate(),
            differs(&["task", "context"]),
            differs(&["constraints", "completed_steps", "open_items", "artifacts"]),
        ]
    );
    assert_eq!(
        session.results("a", 0)[1],
        r#"tu_1_1!{"error":"duplicate_handoff","detail":"duplicate of tu_1_0, which was taken"}"#
    );
    assert_eq!(session.order(), "a b");
}

/// R18: when the receiver is no longer ready at the taking, the reply is ruled on again as things stand: each
/// call is told what is true, and the next valid handoff is taken.
#[test]
fn a_handoff_that_falls_away_makes_room_for_the_next() {
    let relay = Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .agent(agent("c"))
        .entry("a")
        .route_with(sommelier_handoff::Route::new("a", "b").requires(["look"]))
        .route("a", "c")
        .build()
        .unwrap();
    let turn = calls([(HAND, to("b", "t")), (HAND, to("b", "t")), (HAND, to("c", "t"))]);
    let model = script([("a", turn), ("c", says("Yes."))]);
    let session = Session::new(&relay, &model)
        .before_take(|step| step.switch_off(name("b"), tool_name("look")))
        .say("hello")
        .ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["a -> b: target_not_ready", "a -> b: target_not_ready", "a -> c: taken 1"]);
    assert_eq!(session.results("a", 0)[2], r#"tu_1_2={"status":"handed_over","to":"c"}"#);
}

/// A tool that is switched off is not run: its call gets an error, beside others and alone.
#[test]
fn a_tool_that_is_switched_off_is_not_run() {
    let relay = three();
    let model = script([
        ("a", calls([("look", LOOK), ("fail", "{}")])),
        ("a", calls([("look", LOOK)])),
        ("a", says("It is off.")),
    ]);
    let session = Session::new(&relay, &model)
        .at_each_step(|step| step.switch_off(name("a"), tool_name("look")))
        .say("hello")
        .ends(RunEnd::Answered);
    let off = r#"{"error":"tool_switched_off","detail":"look is switched off for now"}"#;
    assert_eq!(session.results("a", 0)[0], format!("tu_1_0!{off}"));
    assert_eq!(session.results("a", 1), [format!("tu_2_0!{off}")]);
    assert_eq!(session.ran, [("fail".to_owned(), "conv/1/1/1".to_owned())]);
}

/// C28, R5, S0-L04: the sender's model is not asked again; what the script had more for it is left over.
#[test]
fn the_sender_is_not_asked_after_a_handoff() {
    let relay = three();
    let model = script([
        ("a", hands_to("b")),
        ("a", calls([("look", LOOK)])),
        ("a", says("More.")),
        ("b", says("Yes.")),
    ]);
    let session =
        Session::new(&relay, &model).say("hello").ends_leaving(RunEnd::Answered, &[("a", 2), ("a", 3)]);
    assert_eq!((session.order().as_str(), session.ran.len()), ("a b", 0));
}

/// C109, S0-13: the pseudo-tool stands beside the agent's own tools, with the legal receivers and no other.
#[test]
fn the_pseudo_tool_stands_beside_the_agents_own() {
    let relay = three();
    let model = script([("a", hands_to("b")), ("b", says("Yes."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.request("a", 0).tools, ["fail", "handoff_to_specialist", "look"]);
    let schema = |agent: &str| {
        let tools = relay.agent(agent).unwrap().definitions();
        let tool = tools.iter().find(|tool| tool.name.as_str() == HAND);
        tool.map(|tool| serde_json::from_str::<serde_json::Value>(tool.input_schema.get()).unwrap())
    };
    let of_a = schema("a").unwrap();
    assert_eq!(of_a["properties"]["specialist"]["enum"], serde_json::json!(["b", "c"]));
    assert_eq!(of_a["required"], serde_json::json!(["specialist", "task", "context"]));
    assert_eq!(of_a["additionalProperties"], serde_json::json!(false));
    assert_eq!(schema("b").unwrap()["properties"]["specialist"]["enum"], serde_json::json!(["c"]));
    assert_eq!(schema("c"), None);
}

/// C115: who is reached in mid-run has its own edges.
#[test]
fn a_chain_of_handoffs_goes_on() {
    let relay = three();
    let model = script([("a", hands_to("b")), ("b", hands_to("c")), ("c", says("Yes."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["a -> b: taken 1", "b -> c: taken 2"]);
    assert_eq!(session.request("b", 0).tools, ["fail", "handoff_to_specialist", "look"]);
    assert_eq!(session.request("c", 0).tools, ["fail", "look"]);
}

/// An agent without routes that calls the pseudo-tool all the same calls a tool it has not.
#[test]
fn without_a_route_the_pseudo_tool_is_unknown() {
    let relay = pair();
    let model = script([
        ("booking_agent", hands_to("policy_agent")),
        ("policy_agent", hands_to("booking_agent")),
        ("policy_agent", says("I stay.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["booking_agent -> policy_agent: taken 1"]);
    assert_eq!(
        session.results("policy_agent", 0),
        [
            r#"tu_1_0!{"error":"unknown_tool","agent":"policy_agent","tool":"handoff_to_specialist","available":["fail","look"]}"#
        ]
    );
}

/// Durability T58: only the pseudo-tool's own name hands over; one that looks like it is a tool nobody has.
#[test]
fn a_name_like_the_pseudo_tools_makes_no_hop() {
    let huge: &'static str = "x".repeat(1_000_000).leak();
    for tool in [
        "",
        " ",
        "handoff_to_specialist ",
        "Handoff_to_specialist",
        "h\u{430}ndoff_to_specialist",
        "handoff",
        huge,
    ] {
        let relay = three();
        let model = script([("a", calls([(tool, to("b", "t"))])), ("a", says("Then not."))]);
        let session = Session::new(&relay, &model).unsaved().say("hello").ends(RunEnd::Answered);
        assert_eq!((session.trail(), session.ran.len()), (vec![], 0), "{tool:.30}");
        let result = session.results("a", 0).join("");
        assert!(
            result.starts_with(r#"tu_1_0!{"error":"unknown_tool""#) && result.len() < 400,
            "{result:.400}"
        );
    }
}

/// C19: empty text, or nothing of what is needed, is told; the agent may try again.
#[test]
fn empty_arguments_are_told_and_may_be_mended() {
    let missing = |field: &str| PackageError::Missing { field: field.to_owned() };
    for arguments in ["", "  ", "{}"] {
        let relay = three();
        let model = script([("a", hands(arguments)), ("a", hands_to("b")), ("b", says("Yes."))]);
        let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
        let errors = vec![missing("specialist"), missing("task"), missing("context")];
        assert_eq!(session.refusals(), [Refusal::InvalidPackage { errors }]);
        assert_eq!(session.trail(), ["a -> : invalid_package", "a -> b: taken 1"]);
        assert!(session.story("a").contains("handoff_to_specialist#tu_1_0{}"));
    }
}

/// C20: broken JSON is told with its place; then a normal hop.
#[test]
fn broken_arguments_are_told_and_may_be_mended() {
    let relay = three();
    let model = script([("a", hands(r#"{"task": "x"#)), ("a", hands_to("b")), ("b", says("Yes."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let detail = r#"the arguments are no JSON: EOF while parsing a string at line 1 column 11; it begins "{\"task\": \"x""#;
    let error = PackageError::NotJson { path: String::new(), detail: detail.to_owned() };
    assert_eq!(session.refusals(), [Refusal::InvalidPackage { errors: vec![error] }]);
    assert_eq!(session.run().trail().count(), 1);
    for other in ["[]", "\"b\"", "null", "7", "{\"task\":\"t\"} and more"] {
        let model = script([("a", hands(other)), ("a", says("Sorry."))]);
        let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
        assert!(matches!(session.refusals()[..], [Refusal::InvalidPackage { .. }]), "{other}");
    }
}

/// C37, R12, 5.4-mixed: a handoff in prose is an answer, and said to be unresolved; a legal name inside a
/// word is none, nor is an agent without a route.
#[test]
fn a_handoff_in_prose_is_no_hop() {
    let end = |text: &'static str| {
        let relay = pair();
        let model = script((0..4).map(|_| ("booking_agent", says(text))));
        let session = Session::new(&relay, &model).say("hello");
        assert_eq!((session.order().as_str(), session.trail().len()), ("booking_agent", 0));
        assert_eq!(session.done().answer().as_deref(), Some(text));
        session.into_done().end().clone()
    };
    assert_eq!(end("Transferring to policy_agent."), RunEnd::Unresolved);
    assert_eq!(end("(policy_agent)"), RunEnd::Unresolved);
    for answer in [
        "policy_agents know",
        "my_policy_agent",
        "the policy agent",
        "booking_agent speaking",
        "Policy_Agent",
    ] {
        assert_eq!(end(answer), RunEnd::Answered, "{answer}");
    }
    let relay = pair();
    let model = script([
        ("booking_agent", hands_to("policy_agent")),
        ("policy_agent", says("Ask booking_agent, says policy_agent.")),
    ]);
    Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
}

/// C13, C38: empty replies make no empty message, and end the run as without progress, everything kept.
#[test]
fn empty_replies_end_without_progress() {
    let relay = relay("a -> b, b -> a");
    let empty = || stopping(vec![], StopReason::EndTurn);
    let blank = stopping(vec![ContentBlock::text(" \n")], StopReason::EndTurn);
    let model = script([
        ("a", hands_to("b")),
        ("b", calls([("look", LOOK)])),
        ("b", empty()),
        ("b", blank),
        ("b", empty()),
    ]);
    let session = Session::new(&relay, &model).say("hello");
    let session = session.ends(RunEnd::NoProgress { why: Standstill::Empty });
    assert_eq!((session.done().answer(), session.ran.len(), session.run().active()), (None, 1, &name("b")));
    let model = script([("b", empty()), ("b", hands_to("a")), ("a", says("Yes."))]);
    let step = relay.start_at("b", "conv", "hello").unwrap();
    let session = Session::new(&relay, &model).drive(step).ends(RunEnd::Answered);
    assert!(
        session
            .asked
            .iter()
            .all(|asked| !asked.json.contains(r#""content":[]"#) && !asked.json.contains(r#""content":"""#))
    );
}

/// C40: the same call with the same result again and again; the same refused handoff is no different.
#[test]
fn repeating_oneself_ends_without_progress() {
    let relay = team("a -> b").agent(agent("c").max_steps(20)).route("b", "c").build().unwrap();
    let repeats = RunEnd::NoProgress { why: Standstill::Repeating };
    let model = script((0..10).map(|_| ("a", calls([("look", LOOK)]))));
    let session = Session::new(&relay, &model).say("hello");
    assert_eq!((session.done().end(), session.ran.len()), (&repeats, 5));
    let model = script((0..10).map(|_| ("a", hands_to("nobody"))));
    let session = Session::new(&relay, &model).say("hello");
    assert_eq!((session.done().end(), session.refusals().len()), (&repeats, 5));
}

/// Every end of a run that a single reply brings, with what it leaves.
#[test]
fn a_reply_may_end_the_run() {
    let text = || ContentBlock::text("Let me");
    let call = || ContentBlock::from(ToolUse::scripted("tu_1", HAND, &to("b", "t")));
    let cut = StopReason::MaxTokens;
    let full = StopReason::ContextWindowExceeded;
    let other = StopReason::Other("strange".into());
    for (stop, end) in [
        (cut.clone(), RunEnd::Truncated { stop: cut }),
        (full.clone(), RunEnd::Truncated { stop: full }),
        (StopReason::Refusal, RunEnd::ModelRefused),
        (other.clone(), RunEnd::UnknownStop { stop: other }),
    ] {
        // A call in such a reply is answered and not taken.
        for content in [vec![text()], vec![text(), call()], vec![]] {
            let relay = three();
            let model = script([("a", stopping(content, stop.clone()))]);
            let session = Session::new(&relay, &model).say("hello").ends(end.clone());
            assert_eq!((session.trail(), session.done().answer()), (vec![], None));
        }
    }
}

/// The limit of one agent's calls, and the budget of all of them, keep all that was done.
#[test]
fn limits_end_the_run_and_keep_the_work() {
    let relay = Relay::builder().agent(agent("a").max_steps(2)).entry("a").build().unwrap();
    let words = [r#"{"word":"1"}"#, r#"{"word":"2"}"#, r#"{"word":"3"}"#];
    let turns = || words.map(|word| ("a", calls([("look", word)])));
    let model = script(turns());
    let session = Session::new(&relay, &model)
        .say("hello")
        .ends_leaving(RunEnd::TurnLimit { max_steps: 2 }, &[("a", 3)]);
    assert_eq!((session.ran.len(), session.results("a", 1)), (2, vec!["tu_2_0=\"2\"".to_owned()]));

    let relay = team("a -> b").max_model_calls(2).build().unwrap();
    let model = script([
        ("a", calls([("look", LOOK)])),
        ("a", hands_to("b")),
        ("b", says("At last.")),
        ("b", says("Again.")),
    ]);
    let spent = RunEnd::BudgetSpent { measure: Measure::ModelCalls, most: 2 };
    let session = Session::new(&relay, &model).say("hello").ends_leaving(spent, &[("b", 1), ("b", 2)]);
    // The hop was taken: the receiver has the turn and its package, and goes on when it is tried again.
    assert_eq!((session.run().active(), session.run().trail().count()), (&name("b"), 1));
    let session = session.retry();
    assert_eq!(
        (session.done().end(), session.done().answer().as_deref()),
        (&RunEnd::Answered, Some("At last."))
    );
    // A new message of the user begins a new budget.
    assert_eq!(session.say("more").ends(RunEnd::Answered).run().model_calls(), 4);
}

/// A model that fails at its second call, once.
struct Shaky<M>(M, AtomicUsize);

impl<M: Model> Model for Shaky<M> {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        match self.1.fetch_add(1, Ordering::Relaxed) {
            1 => Err(ModelError::Unreachable { detail: "no line".to_owned() }),
            _ => self.0.complete(request),
        }
    }
}

/// A model that cannot be asked ends the run, and the run goes on from there: nothing is done twice.
#[test]
fn a_failed_run_goes_on_where_it_was() {
    let relay = three();
    let turns =
        || script([("a", calls([("look", LOOK.to_owned()), (HAND, to("b", "t"))])), ("b", says("Yes."))]);
    let shaky = Shaky(turns(), AtomicUsize::new(0));
    let session = Session::with(&relay, &shaky).say("hello");
    let error = ModelError::Unreachable { detail: "no line".to_owned() };
    assert_eq!(session.done().end(), &RunEnd::Failed { error });
    assert_eq!((session.run().active(), session.run().model_calls()), (&name("b"), 1));
    let session = session.retry().ends(RunEnd::Answered);
    assert_eq!((session.ran.len(), session.run().trail().count(), session.run().model_calls()), (1, 1, 2));
    let model = turns();
    assert_eq!(session.story("b"), Session::new(&relay, &model).say("hello").story("b"));

    // It is the user's turn now: the run is handed back as it was.
    let done = session.into_done();
    assert_eq!(done.clone().retry(&relay), Err(done));

    let missing = script([("a", hands_to("b"))]);
    let error = ModelError::NoScript { agent: "b".to_owned(), turn: 1, known: 0 };
    Session::new(&relay, &missing).say("hello").ends(RunEnd::Failed { error });
}

/// 5.5-ids: ids and keys are conversation, message, call of a model, place; the same each time.
#[test]
fn ids_are_derived_and_stable() {
    let relay = relay("a -> b, b -> a");
    let model = script([
        ("a", say_once("Hello.")),
        (
            "a",
            calls([
                ("look", LOOK.to_owned()),
                ("look", LOOK.to_owned()),
                (HAND, to("nobody", "t")),
                (HAND, to("b", "t")),
            ]),
        ),
        ("b", calls([("look", LOOK.to_owned())])),
        ("b", hands_to("a")),
        ("a", says("Done.")),
    ]);
    let go = || Session::new(&relay, &model).say("one").say("two").ends(RunEnd::Answered);
    let session = go();
    let ids: Vec<&str> = session.run().trail().hops().iter().map(|hop| &*hop.id).collect();
    assert_eq!(ids, ["conv/2/2/2", "conv/2/2/3", "conv/2/4/0"]);
    let keys: Vec<&str> = session.ran.iter().map(|(_, key)| key.as_str()).collect();
    assert_eq!(keys, ["conv/2/2/0", "conv/2/2/1", "conv/2/3/0"]);
    assert_eq!(go().run(), session.run());
    let numbers: Vec<&HopOutcome> = session.run().trail().taken().map(|hop| &hop.outcome).collect();
    assert_eq!(numbers, [&HopOutcome::Taken { number: 1 }, &HopOutcome::Taken { number: 2 }]);
}

fn say_once(text: &'static str) -> Turn {
    Box::new(move |_| say(text))
}

/// What a hop's record says: who, whom, when, what crossed and what stayed behind.
#[test]
fn a_hop_is_recorded_with_its_sizes_and_its_moment() {
    let relay = pair();
    let model = script([
        ("booking_agent", hands(to("policy_agent", "Tell the fee."))),
        ("policy_agent", says("500.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let [hop] = session.run().trail().hops() else { panic!("one hop") };
    let package = harness::read(r#"{"task":"Tell the fee.","context":{}}"#);
    let expected = sommelier_handoff::Hop {
        end: Some(sommelier_handoff::HopEnd { how: sommelier_handoff::Closing::Done, at: 1003 }),
        account: None,
        id: "conv/1/1/0".into(),
        from: name("booking_agent"),
        to: "policy_agent".into(),
        call_id: "tu_1_0".into(),
        at: 1002,
        package_bytes: 37,
        package: Some(package),
        history_bytes: r#"[{"role":"user","content":"hello"}]"#.len(),
        outcome: HopOutcome::Taken { number: 1 },
    };
    assert_eq!(hop, &expected);
}

/// The handoff taken out of its relay: the sender's conversation is closed, the receiver was not activated.
#[test]
fn a_handoff_can_be_released() {
    let relay = pair_with(|route| route);
    let step = relay.start("conv", "hello").unwrap();
    let Step::CallModel(call) = step else { panic!("a model call") };
    let arguments = to("policy_agent", "Tell the fee.");
    let response = sommelier_runtime::script::call("tu_1", HAND, &arguments);
    let Step::HandOff(handoff) = call.resume(&relay, Ok(response), 5) else { panic!("a handoff") };
    assert_eq!((handoff.from(), handoff.to()), (&name("booking_agent"), &name("policy_agent")));
    assert_eq!(story(handoff.messages()), format!("user: hello\nassistant: {HAND}#tu_1{arguments}"));
    let released = handoff.clone().release(&relay, handoff.hop().at).unwrap();
    assert_eq!(
        story(released.sender.messages()),
        format!(
            "user: hello\nassistant: {HAND}#tu_1{arguments}\nuser: tu_1={{\"status\":\"handed_over\",\"to\":\"policy_agent\"}}"
        )
    );
    assert_eq!(
        (&released.to, &released.package, &released.hop),
        (handoff.to(), handoff.package(), handoff.hop())
    );
    assert_eq!((released.run.active(), released.run.trail().count()), (&name("booking_agent"), 1));
}

/// Several ends at once: a reply in which each handoff is refused and one guard is loud ends the run, all
/// calls answered.
#[test]
fn of_several_refusals_the_loud_one_ends_the_run() {
    let relay = team("a -> b, b -> a").guards(Guards::default()).build().unwrap();
    let model = script([
        ("a", hands_to("b")),
        ("b", hands_to("a")),
        ("a", calls([(HAND, to("nobody", "t")), (HAND, to("b", "t")), ("look", LOOK.to_owned())])),
    ]);
    let session = Session::new(&relay, &model).say("hello");
    let Some(refusal @ Refusal::RepeatedPair { .. }) = session.done().end().refusal() else {
        panic!("a loop")
    };
    assert_eq!(session.refusals().last(), Some(refusal));
    assert_eq!((session.results("a", 1).len(), session.ran.len()), (3, 1));
}
