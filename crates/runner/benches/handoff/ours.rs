//! The same conversations through the core, driven by a loop as small as the floor's.

use serde::Serialize;
use sommelier_handoff::{Agent, Guards, HandOff, Relay, Step};
use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runner::{Outcome, Runner};
use sommelier_runtime::{Limits, Model, ModelError, Tool, script, tool, tool_args};
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

pub(super) const REQUEST: &str = "Quote Focus pro 3h. And what happens if I don't show up?";
pub(super) const ANSWER: &str =
    "The quote is 6000 cents. If you do not show up, you are charged 6500 cents [POL-NOSHOW].";
const BOOKING: &str = "You quote and book rooms.";
const POLICY: &str = "You answer from the policy documents.";
const PACKAGE: &str = r#"{"specialist":"policy_agent","task":"What happens if the customer does not show up for the booking?","context":{"quoted_cents":6000}}"#;
const BACK: &str = r#"{"specialist":"booking_agent","task":"What happens if the customer does not show up for the booking?","context":{"quoted_cents":6000}}"#;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    None,
    Json,
}

#[derive(Serialize)]
pub(super) struct Quoted {
    room: String,
    plan: String,
    hours: i64,
    rate_cents_per_hour: i64,
    total_cents: i64,
}

pub(super) fn quoted(room: &str, plan: &str, hours: i64) -> Quoted {
    let (room, plan) = (room.to_owned(), plan.to_owned());
    Quoted { room, plan, hours, rate_cents_per_hour: 2000, total_cents: 2000 * hours }
}

#[derive(Serialize)]
pub(super) struct Found {
    doc_id: &'static str,
    title: &'static str,
    text: &'static str,
    score: usize,
}

pub(super) fn found(query: &str) -> [Found; 1] {
    let text = "If nobody shows up, the room is released 15 minutes after the start of the booking. Charge: 100 % of the quote plus 500 cents fee.";
    [Found { doc_id: "POL-NOSHOW", title: "No-show", text, score: query.len() }]
}

pub(super) fn arguments(tool: &str) -> &'static str {
    match tool {
        "get_quote" => r#"{"room":"Focus","plan":"pro","hours":3}"#,
        "search_docs" => r#"{"query":"customer does not show up"}"#,
        _ => PACKAGE,
    }
}

pub(super) fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}"}}"#)
}

pub(super) fn call_block(id: &str, name: &str, arguments: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{arguments}}}"#)
}

pub(super) fn reply_text(block: &str, stop: &str) -> String {
    format!(
        r#"{{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-5","content":[{block}],"stop_reason":"{stop}","stop_sequence":null,"usage":{{"input_tokens":0,"output_tokens":0}}}}"#
    )
}

tool_args! {
    /// A room, a plan and a length.
    pub struct Quote {
        pub room: String,
        pub plan: String,
        pub hours: i64,
    }
}

tool_args! {
    /// A question.
    pub struct Search {
        pub query: String,
    }
}

fn relay(max_steps: u32, max_handoffs: u32) -> Relay {
    let quote = Tool::new("get_quote", "Quotes.", |q: Quote, _: &tool::CallContext<'_>| {
        Ok::<_, tool::Failure>(quoted(&q.room, &q.plan, q.hours))
    });
    let search = Tool::new("search_docs", "Searches.", |s: Search, _: &tool::CallContext<'_>| {
        Ok::<_, tool::Failure>(found(&s.query))
    });
    let limits = Limits { max_steps, repeats: u32::MAX, ..Limits::default() };
    Relay::builder()
        .agent(Agent::new("booking_agent", BOOKING).tools([quote]).limits(limits))
        .agent(Agent::new("policy_agent", POLICY).tools([search]).limits(limits))
        .entry("booking_agent")
        .route("booking_agent", "policy_agent")
        .route("policy_agent", "booking_agent")
        .guards(Guards::default().max_handoffs(max_handoffs).allow_repeated_pairs())
        .max_model_calls(u32::MAX)
        .build()
        .unwrap()
}

/// The floor's desks, which tell the model the same instructions and tools.
pub(super) fn desks(relay: &Relay) -> [super::floor::Desk; 2] {
    let desk =
        |name: &str, system| super::floor::Desk::new(system, &relay.agent(name).unwrap().definitions());
    [desk("booking_agent", BOOKING), desk("policy_agent", POLICY)]
}

pub(super) fn running_relay() -> Relay {
    relay(8, 5)
}

pub(super) fn long_relay(n: u32) -> Relay {
    relay(n + 2, 5)
}

pub(super) fn to_and_fro_relay(k: u32) -> Relay {
    relay(8, k)
}

/// Drives to the end of the run; `reply` gives the block and the stop reason of each reply, by agent and by the
/// replies before it.
fn drive(relay: &Relay, wire: Wire, reply: impl Fn(&str, u32) -> (Block, &'static str)) -> usize {
    let mut step = relay.start("c", REQUEST).unwrap();
    loop {
        step = match step {
            Step::CallModel(call) => {
                let response = respond(&call.request(relay), wire, &reply);
                call.resume(relay, Ok(response), 0)
            }
            Step::CallTools(calls) => {
                let outputs = tool::dispatch(calls.agent(relay).unwrap(), calls.calls(), &calls.scope());
                calls.resume(relay, outputs, 0).unwrap()
            }
            Step::AskHuman(_) | Step::Delegate(_) => panic!("nobody is asked here"),
            Step::HandOff(handoff) => handoff.take(relay, 0),
            Step::Done(done) => return black_box(done.turn().map_or(0, |turn| turn.messages().len())),
        };
    }
}

/// What a reply holds.
pub(super) enum Block {
    Text(&'static str),
    Call(String, &'static str, &'static str),
}

fn respond(
    request: &ModelRequest<'_>,
    wire: Wire,
    reply: &impl Fn(&str, u32) -> (Block, &'static str),
) -> ModelResponse {
    let (block, stop) = reply(&request.caller, request.replies);
    if wire == Wire::Json {
        black_box(serde_json::to_vec(request).unwrap());
        let block = match block {
            Block::Text(text) => text_block(text),
            Block::Call(id, name, arguments) => call_block(&id, name, arguments),
        };
        return serde_json::from_str(&reply_text(&block, stop)).unwrap();
    }
    match block {
        Block::Text(text) => script::say(text),
        Block::Call(id, name, arguments) => script::call(&id, name, arguments),
    }
}

pub(super) fn running_case(relay: &Relay, wire: Wire) -> usize {
    drive(relay, wire, decision)
}

/// What the model of the running case replies.
fn decision(agent: &str, replies: u32) -> (Block, &'static str) {
    match (agent, replies) {
        ("booking_agent", 0) => (Block::Call("tu_1".into(), "get_quote", arguments("get_quote")), "tool_use"),
        ("booking_agent", _) => (Block::Call("tu_2".into(), "handoff_to_specialist", PACKAGE), "tool_use"),
        (_, 0) => (Block::Call("tu_1".into(), "search_docs", arguments("search_docs")), "tool_use"),
        _ => (Block::Text(ANSWER), "end_turn"),
    }
}

/// The running case's model, whose requests and replies go over the wire.
pub(super) struct Wired;

impl Model for Wired {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        Ok(respond(&request, Wire::Json, &decision))
    }
}

/// The running case by the driver, whose spans go to whoever listens.
pub(super) fn driven(runner: &Runner<'_>, relay: &Relay) -> usize {
    let Outcome::Ended(report) = runner.run(relay, REQUEST).unwrap() else { panic!("nobody is asked here") };
    black_box(report.answer().len())
}

fn long(n: u32) -> impl Fn(&str, u32) -> (Block, &'static str) {
    move |agent, replies| match (agent, replies) {
        ("booking_agent", step) if step < n => {
            (Block::Call(format!("tu_{step}"), "get_quote", arguments("get_quote")), "tool_use")
        }
        ("booking_agent", _) => (Block::Call("tu_last".into(), "handoff_to_specialist", PACKAGE), "tool_use"),
        _ => (Block::Text(ANSWER), "end_turn"),
    }
}

pub(super) fn steps(relay: &Relay, n: u32) -> usize {
    drive(relay, Wire::None, long(n))
}

/// The handoff of a sender that has made N tool steps, not taken yet.
pub(super) fn before_the_handoff(relay: &Relay, n: u32) -> HandOff {
    let mut step = relay.start("c", REQUEST).unwrap();
    loop {
        step = match step {
            Step::CallModel(call) => {
                let response = respond(&call.request(relay), Wire::None, &long(n));
                call.resume(relay, Ok(response), 0)
            }
            Step::CallTools(calls) => {
                let outputs = tool::dispatch(calls.agent(relay).unwrap(), calls.calls(), &calls.scope());
                calls.resume(relay, outputs, 0).unwrap()
            }
            Step::AskHuman(_) | Step::Delegate(_) => panic!("nobody is asked here"),
            Step::HandOff(handoff) => return handoff,
            Step::Done(done) => panic!("the run ended as {:?}", done.end()),
        };
    }
}

/// Bytes of the receiver's first request after a sender's N steps.
pub(super) fn first_request_of_the_receiver(relay: &Relay, n: u32) -> usize {
    match before_the_handoff(relay, n).take(relay, 0) {
        Step::CallModel(call) => serde_json::to_vec(&call.request(relay)).unwrap().len(),
        other => panic!("not a model call: {other:?}"),
    }
}

pub(super) fn to_and_fro(relay: &Relay, k: u32) -> usize {
    // The agents take turns: after k hops the one that has the turn answers.
    drive(relay, Wire::None, |agent, replies| {
        let hops = 2 * replies + u32::from(agent == "policy_agent");
        match agent {
            _ if hops >= k => (Block::Text(ANSWER), "end_turn"),
            "booking_agent" => {
                (Block::Call(format!("b_{replies}"), "handoff_to_specialist", PACKAGE), "tool_use")
            }
            _ => (Block::Call(format!("p_{replies}"), "handoff_to_specialist", BACK), "tool_use"),
        }
    })
}

/// Runs per second on two threads over those on one, the better of nine tries of each in turn.
pub(super) fn two_threads_over_one<T>(run: impl Fn() -> T + Sync) -> f64 {
    let count = |threads: usize| {
        let start = Instant::now();
        let runs: u64 = thread::scope(|scope| {
            let work = || {
                let mut runs = 0;
                while start.elapsed() < Duration::from_millis(300) {
                    black_box(run());
                    runs += 1;
                }
                runs
            };
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        runs as f64 / start.elapsed().as_secs_f64()
    };
    let (mut one, mut two) = (0.0_f64, 0.0_f64);
    for _ in 0..9 {
        one = one.max(count(1));
        two = two.max(count(2));
    }
    two / one
}
