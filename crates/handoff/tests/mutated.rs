//! Saved steps with one thing changed in them, wherever it stands: each is refused, or it is a step like any other, which
//! comes to its end with every request legal.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    Session, agent, calls, hands, hands_to, looks, payer, pays, question, says, script, tool_name,
};
use serde_json::{Value, json};
use sommelier_handoff::{
    ASK_HUMAN, Answer, Asks, Budget, Contract, Delegate, Guard, Guards, OnRefusal, READ_ARTIFACT, Rejected,
    Relay, Route, RunEnd, Step,
};
use sommelier_protocol::{Message, ModelRequest, Role, Words, sequence};
use sommelier_runtime::{ToolOutput, script as reply};

/// Every kind of step and of wait in one house: a gated tool, a route with approval, one that returns, a delegate with a
/// team of its own, one with a contract to keep, agents that ask a person, a guard that passes on to one, a budget of every
/// measure.
fn house() -> Relay {
    let team = harness::team("clerk -> expert").may_ask_human("clerk").build().unwrap();
    Relay::builder()
        .agent(payer("desk"))
        .agent(agent("policy"))
        .agent(agent("till"))
        .delegate(
            "desk",
            Delegate::new("ask_leaf", agent("leaf"))
                .contract(Contract::default().evidence())
                .budget(Budget::new(4).tool_calls(2).millis(500)),
        )
        .delegate("desk", Delegate::team("ask_team", team).max_model_calls(9))
        .max_branches(2)
        .budget(Budget::new(50).tool_calls(20).tokens(1_000).hops(9).millis(5_000))
        .route_with(Route::new("desk", "policy").returns().with_user_words())
        .route_with(Route::new("desk", "till").needs_approval().references())
        .route("policy", "till")
        .route_with(Route::new("till", "policy").references())
        .constraint("be brief")
        .may_ask_human("desk")
        .may_ask_human("till")
        .guards(Guards::default().on_refusal(Guard::Pair, OnRefusal::Escalate))
        .entry("desk")
        .build()
        .unwrap()
}

/// A session whose steps are gathered, with the branch that was opened last going on first.
fn gathered<'a>(
    relay: &'a Relay,
    model: &'a sommelier_runtime::ScriptedModel,
    into: &'a mut Vec<Step>,
) -> Session<'a> {
    Session::new(relay, model).telling_time(1).pick(|open| open - 1).at_each_step(|step| {
        into.push(step.clone());
        step
    })
}

/// What leaf says when its first answer was sent back.
const KEEPS: &str =
    r#"{"status":"done","finding":"Leaf.","action_needed":"wait","evidence":["LEAF"],"reason":null}"#;

/// The steps of a run in which artifacts are handed over by value and by reference, beside one that code keeps.
fn steps_with_artifacts(relay: &Relay) -> Vec<Step> {
    let hands_with = |to: &str, artifacts: &str| {
        hands(format!(r#"{{"specialist":"{to}","task":"Go on.","context":{{}},"artifacts":{artifacts}}}"#))
    };
    let prices = r#""prices":{"$artifact":"prices"}"#;
    let model = script([
        ("desk", looks(&"w".repeat(600))),
        ("desk", hands_with("till", &format!(r#"{{"found":{{"$result_of":"look"}},{prices},"a":1}}"#))),
        ("till", calls([(READ_ARTIFACT, r#"{"name":"found"}"#), (ASK_HUMAN, r#"{"question":"So?"}"#)])),
        ("till", hands_with("policy", &format!(r#"{{"found":{{"$artifact":"found"}},{prices},"a":2}}"#))),
        ("policy", says("Well.")),
    ]);
    let mut steps = Vec::new();
    let session = Session::new(relay, &model).at_each_step(|mut step| {
        step.put_artifact("prices", &[6000], 5).unwrap();
        steps.push(step.clone());
        step
    });
    let session = session.say("Hello.").approve("conv/1/2/0");
    drop(session.answer("conv/1/3/1", Answer::Say { text: "so".into() }).ends(RunEnd::Answered));
    steps
}

/// The steps of four runs in which everything happens that may.
fn steps(relay: &Relay) -> Vec<Step> {
    let (mut asked, mut handed, mut looped) = (Vec::new(), Vec::new(), Vec::new());
    let both =
        [("ask_leaf", question("Leaf?")), ("ask_team", question("Team?")), ("ask_leaf", "{}".to_owned())];
    let model = script([
        ("desk", calls([pays("INV-1"), ("look", r#"{"word":"x"}"#.to_owned())])),
        ("desk", calls([(ASK_HUMAN, r#"{"question":"Red?","choices":["red","white"]}"#)])),
        ("desk", calls(both)),
        ("leaf", looks("LEAF")),
        ("leaf", says("Leaf it is.")),
        ("leaf", says(KEEPS)),
        ("clerk", calls([(ASK_HUMAN, r#"{"question":"Which?"}"#)])),
        ("clerk", hands_to("expert")),
        ("expert", says("Well.")),
        ("desk", says("Done.")),
    ]);
    let session = gathered(relay, &model, &mut asked).say("Pay INV-1.");
    let session = session.approve("conv/1/1/0").answer("conv/1/2/0", Answer::Say { text: "red".into() });
    let session = session.answer("conv/1/3/1/1/1/0", Answer::Say { text: "this".into() });
    drop(session.ends(RunEnd::Answered));

    let model = script([
        ("desk", hands_to("policy")),
        ("policy", says("Six.")),
        ("desk", hands(harness::to("nobody", "x"))),
        ("desk", hands_to("till")),
        ("till", says("Paid.")),
    ]);
    let session = gathered(relay, &model, &mut handed).say("And then?").approve("conv/1/4/0");
    drop(session.ends(RunEnd::Answered));

    let model = script([
        ("desk", hands_to("till")),
        ("till", hands_to("policy")),
        ("policy", hands_to("till")),
        ("till", hands_to("policy")),
    ]);
    let session = gathered(relay, &model, &mut looped).say("Round.").approve("conv/1/1/0");
    drop(session.answer("conv/1/4/0/escalation", Answer::TakeOver { note: "Ada".into() }));
    let mut steps: Vec<Step> = [asked, handed, looped].concat();
    let with_artifacts = steps_with_artifacts(relay);
    let last = steps.last().cloned().unwrap();
    steps.push(last.hear(relay, Words::new("Still there?").unwrap()));
    let first = steps[0].clone().hear(relay, Words::new("Wait.").unwrap());
    steps.push(first.switch_off(harness::name("desk"), tool_name("look")));
    steps.extend(with_artifacts);
    steps
}

/// What may stand in the place of a value.
fn instead(value: &Value, others: &[Value]) -> Vec<Value> {
    match value {
        Value::Null => vec![json!(0), json!("x"), json!({})],
        Value::Bool(is) => vec![json!(!is)],
        Value::Number(number) => {
            let number = number.as_u64().unwrap_or(0);
            [0, 1, number + 1, number.saturating_sub(1), u64::from(u32::MAX), u64::MAX]
                .into_iter()
                .filter(|other| *other != number)
                .map(Value::from)
                .collect()
        }
        Value::String(_) => {
            others.iter().filter(|other| *other != value).cloned().chain([json!("")]).collect()
        }
        Value::Array(items) => {
            let mut changed = vec![json!([])];
            for place in 0..items.len() {
                let mut without = items.clone();
                let item = without.remove(place);
                changed.push(Value::Array(without.clone()));
                let mut twice = items.clone();
                twice.insert(place, item.clone());
                changed.push(Value::Array(twice));
                without.push(item);
                changed.push(Value::Array(without));
            }
            changed
        }
        Value::Object(members) => {
            let without = |name: &String| {
                let mut members = members.clone();
                members.remove(name);
                Value::Object(members)
            };
            members.keys().map(without).collect()
        }
    }
}

/// All places in a value, as JSON pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{place}"), found);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                places(member, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        _ => {}
    }
}

/// Brings a step to its end: models say a word, tools have a result, people say the first thing they may.
fn ends(relay: &Relay, mut step: Step) {
    for _ in 0..200 {
        if let Step::Done(done) = &step {
            for (agent, turn) in done.run().at_rest() {
                let mut messages = turn.messages().to_vec();
                if messages.last().is_some_and(|message| message.role == Role::Assistant) {
                    messages.push(Message::user("Go on."));
                }
                let mut request = ModelRequest::new("m", 1, &messages);
                request.tools = relay.agent(agent.as_str()).unwrap().definitions().into();
                assert_eq!(sequence::check(&request), []);
            }
            return;
        }
        if let Some((path, question)) =
            step.questions().first().map(|(path, asked)| (*path, (*asked).clone()))
        {
            let _ = path;
            let answer = match &question.asks {
                Asks::Words { choices, .. } => {
                    Answer::Say { text: choices.first().cloned().unwrap_or_else(|| "so".into()) }
                }
                Asks::Escalation { .. } => Answer::Reject { reason: "no".into() },
                _ => Answer::Approve,
            };
            step = match step.answer(relay, &question.id, answer, 9) {
                Ok(step) => step,
                // When its time is over only the root says, so a change of that is loaded.
                Err((step, Rejected::TooLate { .. })) => step.now(relay, 9),
                Err((_, why)) => panic!("{why}"),
            };
            continue;
        }
        let path = step.open()[0].run().conversation().to_owned();
        step = step.go_on_at(relay, &path, go_on).unwrap();
    }
    panic!("it does not end: {}", step.save().unwrap());
}

fn go_on(relay: &Relay, step: Step) -> Step {
    match step {
        Step::CallModel(call) => {
            assert_eq!(sequence::check(&call.request(relay)), []);
            call.resume(relay, Ok(reply::say("Well.")), 9)
        }
        Step::CallTools(calls) => {
            let outputs = calls.calls().map(|_| ToolOutput::ok("{}")).collect();
            calls.resume(relay, outputs, 9).unwrap()
        }
        Step::Delegate(delegation) => delegation.join(relay, 9).unwrap(),
        Step::HandOff(handoff) => handoff.take(relay, 9),
        step => step,
    }
}

/// S1-07: of all that may be changed in one place of a saved step, every `stride`-th is tried. None makes a panic, an
/// illegal request or a run without an end.
fn try_changes(stride: usize) -> (usize, usize) {
    let relay = house();
    let strings = [
        json!("desk"),
        json!("till"),
        json!("tu_1_0"),
        json!("conv"),
        json!("conv/1/1/0"),
        json!("leaf"),
        json!("found"),
    ];
    let (mut tried, mut loaded) = (0, 0);
    let mut at = 0;
    for step in steps(&relay) {
        let saved: Value = serde_json::from_str(&step.save().unwrap()).unwrap();
        let mut found = Vec::new();
        places(&saved, "", &mut found);
        for place in found {
            for other in instead(saved.pointer(&place).unwrap(), &strings) {
                at += 1;
                if at % stride != 0 {
                    continue;
                }
                let mut changed = saved.clone();
                *changed.pointer_mut(&place).unwrap() = other;
                tried += 1;
                if let Ok(step) = relay.load(&changed.to_string()) {
                    loaded += 1;
                    ends(&relay, step);
                }
            }
        }
    }
    (tried, loaded)
}

#[test]
fn a_step_with_one_change_is_refused_or_ends() {
    let (tried, loaded) = try_changes(11);
    println!("{tried} tried, {loaded} loaded");
    assert!(tried > 3000 && loaded > 100 && loaded < tried / 2, "{tried} tried, {loaded} loaded");
}
