//! Wherever an agent is put, it is the agent that its author wrote down.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what cannot be")]

use serde_json::{Value, json};
use sommelier_handoff::{
    Agent, Delegate, Done, Field, HANDOFF_TO_SPECIALIST, Link, Refusal, Relay, RelayBuilder, Route, RunEnd,
    Verdict,
};
use sommelier_patterns::{FanOut, Pipeline, Question, Supervisor, Team};
use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runner::{Decision, Gate, Outcome, Report, Runner, run_agent};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Limits, Model, ModelError, ScriptedModel, Tool, script, tool_args};
use std::sync::{Arc, Mutex};

tool_args! {
    /// A word.
    struct Word {
        /// The word.
        word: String,
    }
}

/// An agent with nothing left as it is when nothing is said.
fn clerk() -> Agent {
    let tool = |name: &str| {
        Tool::new(name, format!("Does {name}."), |asked: Word, _: &CallContext<'_>| {
            Ok::<_, Failure>(asked.word)
        })
    };
    Agent::new("clerk", "You keep the books.")
        .label("The clerk")
        .purpose("Keeps the books.")
        .model("model-of-the-clerk")
        .max_tokens(77)
        .limits(Limits { max_steps: 3, result_bytes: 300, ..Limits::default() })
        .tools([tool("look"), tool("pay").needs_approval()])
}

/// The clerk with all that a relay gives it: a route with a field and a guard, and a delegate of its own.
fn books() -> RelayBuilder {
    let route = Route::new("clerk", "till").field(Field::integer("cents", "how much")).guard(
        "small_sums",
        |package, _| {
            let cents = package.context_value("cents").and_then(|cents| cents.as_i64()).unwrap_or(0);
            Ok(match cents {
                ..=10_000 => Verdict::Allow,
                _ => Verdict::Refuse { reason: format!("{cents} cents are too much") },
            })
        },
    );
    Relay::builder()
        .agent(clerk())
        .agent(Agent::new("till", "You take the money.").purpose("Takes the money."))
        .route_with(route)
        .delegate("clerk", Delegate::new("ask_ledger", Agent::new("ledger", "").purpose("Knows the past.")))
}

/// What the clerk does wherever it stands: each of its settings is tried.
fn turns(model: ScriptedModel) -> ScriptedModel {
    let long = json!({ "word": "x".repeat(400) }).to_string();
    let order = r#"{"specialist":"till","task":"Take it.","context":{"cents":20000}}"#;
    model
        .turn("clerk", move |_| {
            script::calls([
                ("tu_a", "look", long.as_str()),
                ("tu_b", "pay", r#"{"word":"INV-1"}"#),
                ("tu_c", "ask_ledger", r#"{"question":"Was it paid?"}"#),
            ])
        })
        .turn("clerk", move |_| script::call("tu_d", HANDOFF_TO_SPECIALIST, order))
        .turn("clerk", |_| script::call("tu_e", "look", r#"{"word":"tea"}"#))
        .turn("ledger", |_| script::say("It was not."))
        .turn("boss", |_| script::call("tu_1", "ask_clerk", r#"{"question":"Go on."}"#))
        .turn("boss", |_| script::say("Nobody knows."))
        .turn("desk", |_| {
            script::call(
                "tu_1",
                HANDOFF_TO_SPECIALIST,
                r#"{"specialist":"clerk","task":"Go on.","context":{}}"#,
            )
        })
}

/// A model that keeps the clerk's requests, all but the first message, which is what the clerk was given to do.
struct Watched {
    model: ScriptedModel,
    asked: Mutex<Vec<Value>>,
}

impl Model for Watched {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        if request.caller == "clerk" {
            let mut asked = serde_json::to_value(&request).unwrap();
            asked["messages"].as_array_mut().unwrap().remove(0);
            self.asked.lock().unwrap().push(asked);
        }
        self.model.complete(request)
    }
}

/// All that is seen of the clerk's settings in one place.
#[derive(Debug, PartialEq)]
struct Seen {
    requests: Vec<Value>,
    /// The agent and the tool that the gate was asked about.
    gate: Vec<String>,
    end: RunEnd,
    refusals: Vec<Refusal>,
    /// The delegates that were asked, and what they found.
    asked: Vec<(String, String)>,
    label: String,
}

/// The run that the clerk was in, wherever in the tree it is.
fn run_of_clerk(done: &Done) -> Option<&Done> {
    let below = || done.run().links().iter().filter_map(Link::run).find_map(run_of_clerk);
    done.run().idle("clerk").map(|_| done).or_else(below)
}

/// The relay that the clerk is in.
fn relay_of_clerk(relay: &Relay) -> Option<&Relay> {
    let behind = relay.delegates().filter_map(|(asker, tool)| relay.delegate(asker.as_str(), tool.as_str()));
    relay.agent("clerk").map(|_| relay).or_else(|| behind.into_iter().find_map(relay_of_clerk))
}

fn seen(relay: &Relay, run: impl FnOnce(Runner<'_>) -> Outcome) -> Seen {
    let model = Watched { model: turns(ScriptedModel::new()), asked: Mutex::default() };
    let gate = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&gate);
    let runner = Runner::new(&model).conversation("c").gate(Gate::new(move |approval| {
        asked.lock().unwrap().push(format!("{} {}", approval.agent, approval.tool));
        Decision::Deny { reason: "not now".to_owned() }
    }));
    let Outcome::Ended(report) = run(runner) else { panic!("it ends") };
    let done = run_of_clerk(report.done()).unwrap();
    let found = |link: &Link| {
        let found = link.result().and_then(|result| result.finding.as_deref()).unwrap_or_default();
        (link.tool.to_string(), found.to_owned())
    };
    let of_clerk = done.run().links().iter().filter(|link| link.from.as_str() == "clerk");
    Seen {
        requests: model.asked.lock().unwrap().clone(),
        gate: gate.lock().unwrap().clone(),
        end: done.end().clone(),
        refusals: done.run().trail().refusals().cloned().collect(),
        asked: of_clerk.map(found).collect(),
        label: relay_of_clerk(relay).unwrap().agent("clerk").unwrap().label().to_owned(),
    }
}

fn alone() -> Seen {
    let relay = books().entry("clerk").build().unwrap();
    seen(&relay, |runner| runner.run(&relay, "Go on.").unwrap())
}

/// C110: in a relay of its own each of the settings acts.
#[test]
fn each_setting_acts() {
    let Seen { requests, gate, end, refusals, asked, label } = alone();
    let first = &requests[0];
    assert_eq!(first["system"], "You keep the books.");
    assert_eq!((&first["model"], &first["max_tokens"]), (&json!("model-of-the-clerk"), &json!(77)));
    let tools: Vec<&str> =
        first["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["ask_ledger", "handoff_to_specialist", "look", "pay"]);
    let told = first["tools"].to_string();
    assert!(
        told.contains("till: Takes the money. (in `context`: cents: a whole number, how much)"),
        "{told}"
    );
    assert!(told.contains("Knows the past."), "{told}");
    let results = requests[1]["messages"][1]["content"].to_string();
    assert!(results.contains("result_too_large") && results.contains(r#"\"most\":300"#), "{results}");
    assert!(results.contains("not now"), "{results}");
    assert_eq!((gate, end), (vec!["clerk pay".to_owned()], RunEnd::TurnLimit { max_steps: 3 }));
    let codes: Vec<&str> = refusals.iter().map(Refusal::code).collect();
    assert_eq!(codes, ["guard_refused"]);
    assert_eq!(asked, [("ask_ledger".to_owned(), "It was not.".to_owned())]);
    assert_eq!(label, "The clerk");
}

/// The clerk's relay behind a tool.
fn behind() -> Delegate {
    Delegate::team("ask_clerk", books().entry("clerk").build().unwrap()).max_model_calls(9)
}

/// C110: as the receiver of a handoff, as a delegate, in every pattern, and nested in two of them, the clerk is what it is
/// alone: its requests are equal as whole values, but for what it is given to do, and so is what its gate, its limits, its
/// guards and its delegates make of it.
#[test]
fn an_agent_keeps_its_settings_wherever_it_is_put() {
    let alone = alone();
    let receiver = books()
        .agent(Agent::new("desk", "You hear first."))
        .entry("desk")
        .route("desk", "clerk")
        .build()
        .unwrap();
    let boss = Agent::new("boss", "");
    let delegate =
        Relay::builder().agent(boss.clone()).delegate("boss", behind()).entry("boss").build().unwrap();
    for relay in [receiver, delegate] {
        assert_eq!(seen(&relay, |runner| runner.run(&relay, "Go on.").unwrap()), alone);
    }
    let by_rule = || {
        Supervisor::by_rule(
            "lead",
            |words| vec![Question::new("ask_clerk", words)],
            |_, _| "Well.".to_owned(),
        )
        .delegate(behind())
    };
    let words = |words: &str| words.to_owned();
    let nested = by_rule().build().unwrap().behind("ask_lead");
    let teams: [Team; 5] = [
        Supervisor::by_model(boss).delegate(behind()).build().unwrap(),
        by_rule().build().unwrap(),
        FanOut::new("fan").part(behind(), words).build().unwrap(),
        Pipeline::new("row").stage(behind(), |words, _| words.to_owned()).build().unwrap(),
        Pipeline::new("outer")
            .stage(nested, |words, _| words.to_owned())
            .build_with(|relay| relay.max_depth(3))
            .unwrap(),
    ];
    for team in &teams {
        assert_eq!(seen(team.relay(), |runner| team.run(runner, "Go on.").unwrap()), alone);
    }
}

/// C110: an agent without routes and delegates has the same requests by itself, and as a delegate that is nothing but an
/// agent; and whoever asks it is told its purpose.
#[test]
fn an_agent_alone_and_as_a_delegate_makes_the_same_requests() {
    let turns = || {
        let looks = ScriptedModel::new().turn("clerk", |_| script::call("tu_1", "look", r#"{"word":"tea"}"#));
        looks.turn("clerk", |_| script::say("Tea."))
    };
    let by_itself = Watched { model: turns(), asked: Mutex::default() };
    run_agent(&Runner::new(&by_itself), clerk(), "Go on.").unwrap();
    let asks = |_: &ModelRequest<'_>| script::call("tu_1", "ask_clerk", r#"{"question":"Go on."}"#);
    let model = turns().turn("boss", asks).turn("boss", |_| script::say("Tea."));
    let asked = Watched { model, asked: Mutex::default() };
    let relay = Relay::builder()
        .agent(Agent::new("boss", ""))
        .delegate("boss", Delegate::new("ask_clerk", clerk()))
        .entry("boss")
        .build()
        .unwrap();
    let outcome = Runner::new(&asked).run(&relay, "Go on.").unwrap();
    let Outcome::Ended(report) = outcome else { panic!("it ends") };
    assert_eq!(Report::answer(&report), "Tea.");
    assert_eq!(*asked.asked.lock().unwrap(), *by_itself.asked.lock().unwrap());
    let told = relay.agent("boss").unwrap().definitions()[0].description.clone().unwrap().to_string();
    assert!(told.starts_with("Keeps the books."), "{told}");
}
