//! One agent run by itself, with nobody to hand over to or up to its handoff; and several conversations at once.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    Watched, agent, calls, ended, hands_to, relay, runner, says, script, story, story_of, team, to, trail,
};
use sommelier_handoff::{Agent, Guards, HANDOFF_TO_SPECIALIST, HandoffPackage, Relay, RunEnd, StartError};
use sommelier_protocol::sequence::{self, Violation};
use sommelier_protocol::{Message, ModelRequest, ModelResponse, Role};
use sommelier_runner::{
    AgentRun, HandoffRun, Report, RunError, Runner, Stopped, run_agent, run_agent_with_handoff,
};
use sommelier_runtime::turn::Standstill;
use sommelier_runtime::{AgentName, Model, ModelError, ScriptedModel};
use std::sync::{Arc, Barrier};

const PAIR: &str = "booking_agent -> policy_agent";

/// S3-01, S3-04: answer, steps, reason and messages; user and assistant in their places, one result a call.
#[test]
fn an_agent_runs_to_its_answer() {
    let model = script([
        ("clerk", calls([("look", r#"{"word":"tea"}"#), ("fail", "{}"), ("gone", "{}")])),
        ("clerk", says("Tea it is.")),
    ]);
    let AgentRun { answer, steps, stopped, messages } =
        run_agent(&runner(&model), agent("clerk"), "What is there?").unwrap();
    assert_eq!((answer.as_deref(), steps, stopped), (Some("Tea it is."), 2, RunEnd::Answered));
    assert_eq!(
        story(&messages),
        [
            "user: What is there?",
            r#"assistant: look#tu_1_0{"word":"tea"} | fail#tu_1_1{} | gone#tu_1_2{}"#,
            concat!(
                r#"user: tu_1_0="tea" | tu_1_1!{"error":"no_luck","detail":"it does not work today"} | "#,
                r#"tu_1_2!{"error":"unknown_tool","agent":"clerk","tool":"gone","available":["fail","look"]}"#
            ),
            "assistant: Tea it is.",
        ]
    );
    assert_eq!(model.unused(), []);
}

/// S3-01: the step limit is a reason to stop, and everything so far is kept.
#[test]
fn an_agent_stops_at_its_step_limit_without_an_answer() {
    let model = script([
        ("clerk", calls([("look", r#"{"word":"tea"}"#)])),
        ("clerk", calls([("look", r#"{"word":"cake"}"#)])),
        ("clerk", says("Never said.")),
    ]);
    let run = run_agent(&runner(&model), agent("clerk").max_steps(2), "hello").unwrap();
    assert_eq!((run.answer, run.steps, run.stopped), (None, 2, RunEnd::TurnLimit { max_steps: 2 }));
    assert_eq!(
        story(&run.messages),
        [
            "user: hello",
            r#"assistant: look#tu_1_0{"word":"tea"}"#,
            r#"user: tu_1_0="tea""#,
            r#"assistant: look#tu_2_0{"word":"cake"}"#,
            r#"user: tu_2_0="cake""#,
        ]
    );
    assert_eq!(model.unused(), [("clerk", 3)]);
}

/// S3-04: an agent that does not answer says why.
#[test]
fn a_run_without_an_answer_has_its_reason() {
    let failed = run_agent(&runner(ScriptedModel::new()), agent("clerk"), "hello").unwrap();
    let error = ModelError::NoScript { agent: "clerk".to_owned(), turn: 1, known: 0 };
    assert_eq!(
        failed,
        AgentRun {
            answer: None,
            steps: 0,
            stopped: RunEnd::Failed { error },
            messages: vec![Message::user("hello")]
        }
    );

    let silent = script([("clerk", says("")), ("clerk", says(" ")), ("clerk", says("\n"))]);
    let silent = run_agent(&runner(&silent), agent("clerk"), "hello").unwrap();
    let end = RunEnd::NoProgress { why: Standstill::Empty };
    assert_eq!((silent.answer, silent.steps, silent.stopped), (None, 3, end));
}

/// S3-04, S3-05: the instructions are in the system field; an agent is offered its own tools and no handoff.
#[test]
fn an_agent_alone_is_offered_its_own_tools() {
    let model = Watched::new(script([("clerk", says("Good morning."))]));
    run_agent(&runner(&model), agent("clerk"), "hello").unwrap();
    let asked = model.asked();
    let request: serde_json::Value = serde_json::from_str(&asked[0].1).unwrap();
    let tools: Vec<&str> =
        request["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        (asked.len(), request["system"].as_str(), tools),
        (1, Some("You are clerk."), vec!["fail", "look"])
    );
}

/// S3-01: what the caller does wrong is an error, and no model is asked.
#[test]
fn a_blank_task_and_an_illegal_agent_are_the_callers_fault() {
    let model = script([("clerk", says("Never said."))]);
    assert!(matches!(run_agent(&runner(&model), agent("clerk"), " \n"), Err(RunError::Blank(_))));
    assert!(matches!(
        run_agent(&runner(&model), Agent::new("A Clerk", ""), "hello"),
        Err(RunError::Build(_))
    ));
    assert_eq!(model.unused(), [("clerk", 1)]);
}

fn alone(model: &ScriptedModel, relay: &Relay) -> HandoffRun {
    let run = run_agent_with_handoff(&runner(model), relay, "booking_agent", "hello").unwrap();
    assert_eq!(broken_rules(&run.messages), []);
    run
}

/// The rules that a conversation breaks when it goes on. After an answer it is the user who does.
fn broken_rules(messages: &[Message]) -> Vec<Violation> {
    let answered = messages.last().filter(|message| message.role == Role::Assistant);
    let next = answered.map(|_| Message::user("And then?"));
    sequence::check_messages(&[messages, next.as_slice()].concat())
}

/// 5.4-L04: one agent, up to its answer.
#[test]
fn an_agent_that_answers_has_answered() {
    let model = script([("booking_agent", says("6000 cents."))]);
    let run = alone(&model, &relay(PAIR));
    assert_eq!(run.stopped, Stopped::Answered { text: "6000 cents.".to_owned() });
    assert_eq!((run.model_calls, run.hops.len()), (1, 0));
    assert_eq!(story(&run.messages), ["user: hello", "assistant: 6000 cents."]);
}

/// S0-L04, 5.4-L04: the handoff ends the sender's own loop. The sender is not asked again, the receiver not at all,
/// and the sender's conversation is legal.
#[test]
fn an_agent_that_hands_off_is_not_asked_again() {
    let package =
        r#"{"specialist":"policy_agent","task":"What does a no-show cost?","context":{"quoted_cents":6000}}"#;
    let model = script([
        ("booking_agent", calls([("look", r#"{"word":"price"}"#), (HANDOFF_TO_SPECIALIST, package)])),
        ("booking_agent", says("Never said.")),
        ("policy_agent", says("Never asked.")),
    ]);
    let watched = Watched::new(&model);
    let run = run_agent_with_handoff(&runner(&watched), &relay(PAIR), "booking_agent", "hello").unwrap();

    let package = HandoffPackage::new("What does a no-show cost?").context("quoted_cents", &6000).unwrap();
    let to = AgentName::new("policy_agent").unwrap();
    assert_eq!(run.stopped, Stopped::HandedOff { to, package });
    assert_eq!(watched.order(), "booking_agent");
    assert_eq!(model.unused(), [("booking_agent", 2), ("policy_agent", 1)]);
    assert_eq!(
        (run.model_calls, trail(&run.hops)),
        (1, vec!["booking_agent -> policy_agent: taken 1".to_owned()])
    );
    assert_eq!(broken_rules(&run.messages), []);
    assert_eq!(
        story(&run.messages).last().unwrap(),
        r#"user: tu_1_0="price" | tu_1_1={"status":"handed_over","to":"policy_agent"}"#
    );
}

/// 5.4-L04: a refused handoff is no end; the agent is told and goes on.
#[test]
fn an_agent_whose_handoff_is_refused_goes_on() {
    let model = script([
        ("booking_agent", hands_to("nobody")),
        ("booking_agent", hands_to("policy_agent")),
        ("booking_agent", says("Never said.")),
    ]);
    let run = alone(&model, &relay(PAIR));
    assert!(matches!(run.stopped, Stopped::HandedOff { .. }));
    let hops = ["booking_agent -> nobody: unknown_specialist", "booking_agent -> policy_agent: taken 1"];
    assert_eq!((run.model_calls, trail(&run.hops)), (2, hops.map(str::to_owned).to_vec()));
}

/// 5.4-L04: an agent that only says that it hands over has not.
#[test]
fn an_agent_that_announces_a_handoff_is_unresolved() {
    let model = script([("booking_agent", says("I pass you on to policy_agent."))]);
    let run = alone(&model, &relay(PAIR));
    assert_eq!(run.stopped, Stopped::Unresolved { text: "I pass you on to policy_agent.".to_owned() });
    assert_eq!(trail(&run.hops), Vec::<String>::new());
}

/// 5.4-L04: one that reaches its limit has stopped, and says why.
#[test]
fn an_agent_that_reaches_its_limit_has_stopped() {
    let model = script([("booking_agent", calls([("fail", "{}")])), ("booking_agent", says("Never said."))]);
    let limited = Relay::builder().agent(agent("booking_agent").max_steps(1)).entry("booking_agent");
    let run = alone(&model, &limited.build().unwrap());
    assert_eq!(run.stopped, Stopped::Stopped { reason: RunEnd::TurnLimit { max_steps: 1 } });
    assert_eq!((run.model_calls, run.messages.len()), (1, 3));
}

#[test]
fn any_agent_of_the_relay_can_be_run_by_itself() {
    let model = script([("policy_agent", says("6500 cents."))]);
    let run = run_agent_with_handoff(&runner(&model), &relay(PAIR), "policy_agent", "A no-show?").unwrap();
    assert_eq!(run.stopped, Stopped::Answered { text: "6500 cents.".to_owned() });
}

/// 5.4-L04: an agent that is not there and words that are none are the caller's fault.
#[test]
fn an_unknown_agent_and_a_blank_text_are_the_callers_fault() {
    let model = script([("booking_agent", says("Never said."))]);
    let run = |agent: &str, text: &str| run_agent_with_handoff(&runner(&model), &relay(PAIR), agent, text);
    let unknown = StartError::UnknownAgent {
        name: "nobody".to_owned(),
        known: ["booking_agent", "policy_agent"].map(|name| AgentName::new(name).unwrap()).to_vec(),
    };
    assert!(matches!(run("nobody", "hello"), Err(RunError::Start(error)) if error == unknown));
    assert!(matches!(run("booking_agent", "  "), Err(RunError::Start(StartError::Blank(_)))));
    assert_eq!(model.unused(), [("booking_agent", 1)]);
}

/// A relay in which one hop is the most, so that a counter shared by two conversations would refuse the second.
fn strict() -> Relay {
    team(PAIR).guards(Guards::default().max_handoffs(1)).build().unwrap()
}

/// Echoes the user's words through a tool and a handoff, so that whatever is mixed up shows.
fn echo() -> ScriptedModel {
    use sommelier_runtime::script::{call, first_words, last_result, last_words, say};
    ScriptedModel::new()
        .turn("booking_agent", |request| {
            call("tu_1", "look", &format!(r#"{{"word":"{}"}}"#, last_words(request)))
        })
        .turn("booking_agent", |request| {
            let found = last_result(request).replace('"', "");
            call("tu_2", HANDOFF_TO_SPECIALIST, &to("policy_agent", &format!("About {found}.")))
        })
        .turn("policy_agent", |request| say(first_words(request)))
        .turn("policy_agent", |request| say(last_words(request)))
}

/// Two messages of one conversation, to be driven in any order with those of others.
fn first(runner: &Runner<'_>, relay: &Relay, name: &str) -> Report {
    ended(runner.drive(relay, relay.start(name, format!("{name} speaks")).unwrap()))
}

fn second(runner: &Runner<'_>, relay: &Relay, name: &str, report: Report) -> Report {
    ended(runner.go_on(relay, report.into_done(), &format!("{name} again")))
}

fn by_itself(name: &str) -> Report {
    let (runner, relay) = (runner(echo()), strict());
    second(&runner, &relay, name, first(&runner, &relay, name))
}

/// R10: turn by turn on one runner and one relay, each conversation is what it would be by itself.
#[test]
fn conversations_in_turn_share_nothing() {
    let (runner, relay) = (runner(echo()), strict());
    let (a, b) = (first(&runner, &relay, "a"), first(&runner, &relay, "b"));
    let b = second(&runner, &relay, "b", b);
    let a = second(&runner, &relay, "a", a);
    assert_eq!((&a, &b), (&by_itself("a"), &by_itself("b")));
    assert_eq!((a.answer(), b.answer()), ("a again", "b again"));
    let told = story_of(&a, "policy_agent").join("\n");
    assert!(told.contains("About a speaks.") && !told.contains("b speaks"), "{told}");
}

/// R10: the same from threads that are in their model at the same time.
#[test]
fn conversations_at_the_same_time_share_nothing() {
    let names: Vec<String> = (0..8).map(|n| format!("c{n}")).collect();
    let meeting = Arc::new(Barrier::new(names.len()));
    let (runner, relay) = (runner(Meeting { model: echo(), meeting }), strict());
    let reports: Vec<Report> = std::thread::scope(|scope| {
        let (runner, relay) = (&runner, &relay);
        let threads: Vec<_> = names
            .iter()
            .map(|name| scope.spawn(move || second(runner, relay, name, first(runner, relay, name))))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(reports, names.iter().map(|name| by_itself(name)).collect::<Vec<_>>());
}

/// A model whose every call waits until all conversations are in one.
struct Meeting {
    model: ScriptedModel,
    meeting: Arc<Barrier>,
}

impl Model for Meeting {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        self.meeting.wait();
        self.model.complete(request)
    }
}
