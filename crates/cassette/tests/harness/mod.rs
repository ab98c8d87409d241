//! What the tests of cassettes share: the running case, teams in a line, and runs that are recorded and played.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]
#![allow(dead_code, reason = "each test file uses its own part of the harness")]

use std::fmt::Debug;
use std::sync::Arc;

use reservo::{Entry, demo, specialists};
use sommelier_cassette::{Cassette, Player, Recorder, Redactor, Source};
use sommelier_handoff::{Agent, Delegate, Relay, RelayBuilder};
use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runner::journal::Journal;
use sommelier_runner::{DurableRunner, Gate, Outcome, Report, RunError, Runner, Settled, Turn};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Model, ModelError, Tool, script, tool_args};
use sommelier_store::MemoryStore;

/// The desk of the lessons.
pub(crate) fn desk() -> Relay {
    specialists::relay(&Arc::new(demo()), Entry::Booking).build().unwrap()
}

tool_args! {
    /// What to look up.
    pub(crate) struct Look {
        /// The word.
        pub(crate) word: String,
    }
}

tool_args! {
    /// Nothing is asked for.
    pub(crate) struct Nothing {}
}

/// An agent that can look a word up, and has a tool that fails.
pub(crate) fn agent(name: &str) -> Agent {
    Agent::new(name, format!("You are {name}.")).tools([
        Tool::new("look", "Looks a word up.", |look: Look, _: &CallContext<'_>| Ok::<_, Failure>(look.word))
            .read_only(),
        Tool::new("fail", "Fails.", |_: Nothing, _: &CallContext<'_>| -> Result<(), Failure> {
            Err(Failure::new("no_luck", "it does not work today"))
        })
        .read_only(),
    ])
}

/// A supervisor that asks `billing`, and `shipping`, which may hand over to `customs`.
pub(crate) fn supervised() -> RelayBuilder {
    let shipping = Relay::builder()
        .agent(agent("shipping"))
        .agent(agent("customs"))
        .entry("shipping")
        .route("shipping", "customs")
        .build()
        .unwrap();
    Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::new("ask_billing", agent("billing")))
        .delegate("supervisor", Delegate::team("ask_shipping", shipping))
        .entry("supervisor")
}

/// Several calls in one reply; the ids are `tu_<reply>_<place>`.
pub(crate) fn calls<const N: usize>(request: &ModelRequest<'_>, calls: [(&str, &str); N]) -> ModelResponse {
    let ids: Vec<String> = (0..N).map(|n| format!("tu_{}_{n}", request.replies + 1)).collect();
    script::calls(ids.iter().zip(calls).map(|(id, (name, arguments))| (id.as_str(), name, arguments)))
}

/// A runner whose clock stands still, so that two runs compare as whole values.
pub(crate) fn runner<'m>(model: impl Model + 'm) -> Runner<'m> {
    Runner::new(model).clock(|| 1000).gate(Gate::deny_all("nothing is booked here"))
}

/// A run in memory, in a conversation of this name.
pub(crate) fn run(model: &dyn Model, relay: &Relay, conversation: &str, text: &str) -> Report {
    ended(runner(model).conversation(conversation).run(relay, text))
}

pub(crate) fn ended(outcome: Result<Outcome, impl Into<RunError> + Debug>) -> Report {
    match outcome.unwrap() {
        Outcome::Ended(report) => report,
        other => panic!("{other:?}"),
    }
}

/// A recorder whose redactor knows the relay's secrets.
pub(crate) fn recorder<M: Model>(model: M, relay: &Relay) -> Recorder<M> {
    Recorder::new(model, Redactor::new().secrets_of(relay))
}

/// A player of a cassette that has been written and read.
pub(crate) fn player(cassette: &Cassette, relay: &Relay) -> Player {
    let read = Cassette::from_json(&cassette.to_json().unwrap()).unwrap();
    assert_eq!(&read, cassette);
    Player::new(read, Redactor::new().secrets_of(relay))
}

/// A run on record, message after message, and the cassettes of its recorder and of its records.
pub(crate) fn on_record(relay: &Relay, model: &dyn Model, texts: &[&str]) -> (MemoryStore, [String; 2]) {
    let (store, recorder) = (MemoryStore::new(), recorder(model, relay));
    let runner = runner(&recorder);
    let driver = DurableRunner::new(&runner, relay, &store);
    for text in texts {
        let _: Settled = driver.submit("c", Turn::new(*text)).unwrap();
    }
    let of_run = of_run(relay, &store, model);
    drop(driver);
    let recorded = recorder.cassette().to_json().unwrap();
    (store, [recorded, of_run.to_json().unwrap()])
}

/// The cassette of the records of the conversation `c`.
pub(crate) fn of_run(relay: &Relay, store: &MemoryStore, model: &dyn Model) -> Cassette {
    let records = store.load("c", 1).unwrap();
    Cassette::of_run(relay, "c", &records, Source::of(model), &Redactor::new().secrets_of(relay)).unwrap()
}

/// A model that fails now and then.
pub(crate) struct Flaky<M> {
    pub(crate) model: M,
    /// What becomes of each request, by its number from 0; the last stands for all others.
    pub(crate) fails: fn(usize) -> Option<ModelError>,
    pub(crate) asked: std::sync::atomic::AtomicUsize,
}

impl<M: Model> Model for Flaky<M> {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let number = self.asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        match (self.fails)(number) {
            Some(error) => Err(error),
            None => self.model.complete(request),
        }
    }
}
