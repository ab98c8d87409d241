//! A conversation is not waited for from within itself.

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;
use std::time::Duration;

use sommelier_handoff::{Agent, InputKind, Relay};
use sommelier_runner::{DurableError, DurableRunner, Gate, Runner, Turn};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{ScriptedModel, Tool, script, tool_args};
use sommelier_store::MemoryStore;

use crate::desk::awake;

/// Longer than any test machine needs, so that a failure is a failed test and not one that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

type Driver = OnceLock<DurableRunner<'static>>;

/// What a tool does to a conversation.
type Does = fn(&DurableRunner<'_>, &str) -> Result<(), DurableError>;

tool_args! {
    /// Which conversation.
    struct Of {
        /// Its name.
        name: String,
    }
}

/// A driver whose tool does this to the conversation that it is told, and tells the fault.
fn driver(model: ScriptedModel, meets: usize, does: Does) -> &'static Driver {
    awake();
    let driver: &'static Driver = Box::leak(Box::default());
    let barrier = Arc::new(Barrier::new(meets));
    let enter = Tool::new("enter", "Goes in.", move |of: Of, _: &CallContext<'_>| {
        barrier.wait();
        let came = does(driver.get().unwrap(), &of.name);
        match came {
            Ok(()) => Ok("in"),
            Err(DurableError::Inside { conversation }) => Err(Failure::new("inside", conversation)),
            Err(other) => Err(Failure::new("other", other.to_string())),
        }
    });
    let agent = Agent::new("clerk", "").tools([enter]);
    let relay = Box::leak(Box::new(Relay::builder().agent(agent).entry("clerk").build().unwrap()));
    let runner = Box::leak(Box::new(Runner::new(model).gate(Gate::approve_all())));
    let store = Box::leak(Box::new(MemoryStore::new()));
    let _ = driver.set(DurableRunner::new(runner, relay, store));
    driver
}

/// What each of these conversations, driven at the same time, answers.
fn answers<const N: usize>(driver: &'static Driver, names: [&'static str; N]) -> Vec<String> {
    let (told, hears) = channel();
    for name in names {
        let told = told.clone();
        thread::spawn(move || {
            let settled = driver.get().unwrap().submit(name, Turn::new(other(name))).unwrap();
            told.send(settled.answer().to_owned()).unwrap();
        });
    }
    let mut all: Vec<String> = names.iter().map(|_| hears.recv_timeout(PATIENCE).unwrap()).collect();
    all.sort();
    all
}

/// A tool that speaks to its own conversation would wait for itself: it is refused, alone and beside others of its reply, at
/// every door; and what it wanted is not done.
#[test]
fn a_tool_does_not_wait_for_its_own_conversation() {
    let doors: [Does; 4] = [
        |durable, name| durable.submit(name, Turn::new("And?")).map(drop),
        |durable, name| durable.resume(name).map(drop),
        |durable, name| durable.cancel(name, "enough").map(drop),
        |durable, name| durable.give(name, InputKind::Retried).map(drop),
    ];
    for does in doors {
        for beside in [1, 2] {
            let call = r#"{"name":"ada"}"#;
            let calls = [("tu_1", "enter", call), ("tu_2", "enter", call)];
            let model = tells_after(calls[..beside].to_vec());
            let refused = r#"{"error":"inside","detail":"ada"}"#;
            assert_eq!(answers(driver(model, beside, does), ["ada"]), [refused]);
        }
    }
}

fn tells_after(calls: Vec<(&'static str, &'static str, &'static str)>) -> ScriptedModel {
    ScriptedModel::new()
        .turn("clerk", move |_| script::calls(calls.clone()))
        .turn("clerk", |request| script::say(script::last_result(request)))
}

/// The other one of two.
fn other(name: &str) -> &'static str {
    if name == "ada" { "bob" } else { "ada" }
}

/// Another conversation it may speak to, and wait for it; but not in a ring, of one thread or of two. In a ring one of them is
/// refused, and so the other one hears of it.
#[test]
fn nor_do_two_conversations_wait_for_each_other() {
    let submits: Does = |durable, name| durable.submit(name, Turn::new(other(name))).map(drop);
    let model = || {
        ScriptedModel::new()
            .turn("clerk", |request| {
                script::call("tu_1", "enter", &format!(r#"{{"name":"{}"}}"#, script::first_words(request)))
            })
            .turn("clerk", |request| script::say(script::last_result(request)))
            .turn("clerk", |request| script::say(script::last_result(request)))
    };
    assert_eq!(answers(driver(model(), 1, submits), ["ada"]), [r#""in""#]);
    let both = answers(driver(model(), 2, submits), ["ada", "bob"]);
    assert_eq!(both[0], r#""in""#);
    assert!(both[1].starts_with(r#"{"error":"inside","detail":""#), "{both:?}");
}
