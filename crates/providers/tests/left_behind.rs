//! What a run leaves behind: nothing. A file of its own, since it counts the threads of its process.

#![cfg(target_os = "linux")]
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test ends where something unexpected stands")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sommelier_fake_server::{FakeServer, Faults, Script, Settings};
use sommelier_providers::protocol::{ModelRequest, ModelResponse};
use sommelier_providers::runtime::{Model, ModelError};
use sommelier_providers::{Heard, Live, Observer, ReplyLimits, anthropic};
use sommelier_runner::handoff::{Agent, Delegate, Relay};
use sommelier_runner::{Mailbox, Outcome, Runner};

/// A supervisor that asks two at once.
fn relay() -> Relay {
    Relay::builder()
        .agent(Agent::new("supervisor", "You ask."))
        .delegate("supervisor", Delegate::new("ask_billing", Agent::new("billing", "You know bills.")))
        .delegate("supervisor", Delegate::new("ask_shipping", Agent::new("shipping", "You know parcels.")))
        .entry("supervisor")
        .build()
        .unwrap()
}

/// The first request asks both; theirs are the second and the third.
fn server(fault: &Value) -> FakeServer {
    let ask = |tool: &str| json!({"name": tool, "input": {"question": "Well?"}});
    let script = json!({"replies": [
        {"when": {"offers": "ask_billing", "tool_result": false}, "tool_use": [ask("ask_billing"), ask("ask_shipping")]},
        {"text": "All is well. ".repeat(20), "repeat": true},
    ]});
    let faults = json!({"faults": [{"at": 2, "until": 3, "fault": fault}]});
    let (script, faults) =
        (Script::read(&script.to_string()).unwrap(), Faults::read(&faults.to_string()).unwrap());
    FakeServer::start(0, Settings { script, faults, ..Settings::default() }).unwrap()
}

/// A model, and how many calls of it are under way.
struct Counted(Live, Arc<AtomicUsize>);

struct AtWork<'a>(&'a AtomicUsize);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Model for Counted {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        let _at_work = AtWork(&self.1);
        self.0.complete(request)
    }
}

/// What is done when the first words of billing come.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    Listen,
    CallOff,
    Panic,
}

struct Ear(Mailbox, Then);

impl Observer for Ear {
    fn hear(&self, caller: &str, heard: Heard<'_>) {
        if caller == "billing" && matches!(heard, Heard::Text(_)) {
            match self.1 {
                Then::Listen => {}
                Then::CallOff => self.0.cancel("the user has left"),
                Then::Panic => panic!("an observer that fails"),
            }
        }
    }
}

/// More time than any machine needs, so that a failure is a failed test and not one that hangs.
const LONG: Duration = Duration::from_secs(60);

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// C167. However a run with two streamed branches ends, soon after it has, no call of a model is under way, no thread of it
/// runs, and no connection is open: the server's own threads, one for each connection, have ended as well. A caller that
/// does not wait for it ends its thread, and the run with it, by calling it off.
#[test]
fn a_run_leaves_nothing_behind() {
    let rows = [
        (json!({"slow_events": 1}), Then::Listen, "answered"),
        (json!({"slow_events": 10}), Then::CallOff, "cancelled"),
        (json!({"slow_events": 1}), Then::Panic, "answered"),
        (json!("endless_stream"), Then::Listen, "answered"),
        (json!({"slow_headers": 1500}), Then::Listen, "answered"),
        (json!({"cut_after_events": 4}), Then::Listen, "answered"),
        (json!("hang_up"), Then::CallOff, "answered"),
    ];
    for (fault, then, end) in rows {
        let server = server(&fault);
        let before = threads();
        let (mailbox, at_work) = (Mailbox::new(), Arc::new(AtomicUsize::new(0)));
        let live = |deadline| {
            Live::anthropic(anthropic::Settings::default())
                .base_url(server.url())
                // Cargo sets it for every test; the server takes any key.
                .key_variable("CARGO_PKG_NAME")
                .retries(0)
                .deadline(deadline)
                .limits(ReplyLimits { total_bytes: 200_000, ..ReplyLimits::default() })
                .stream_to(Ear(mailbox.clone(), then))
                .build()
                .unwrap()
        };
        let of_two = if fault["slow_headers"].is_null() { LONG } else { Duration::from_millis(500) };
        let [own, billing, shipping] =
            [LONG, of_two, of_two].map(|deadline| Counted(live(deadline), Arc::clone(&at_work)));
        let runner = Runner::new(own).model_of("billing", billing).model_of("shipping", shipping);
        let caller = std::thread::spawn(move || {
            let relay = relay();
            let step = relay.start("k", "hello").unwrap();
            runner.drive_with(&relay, step, &mailbox)
        });
        let Outcome::Ended(report) = caller.join().unwrap().unwrap() else { panic!("it waits") };
        assert_eq!(at_work.load(Ordering::SeqCst), 0, "{fault} {then:?}");
        assert_eq!(report.end().as_str(), end, "{fault} {then:?} {:?}", report.end());
        let until = Instant::now() + LONG;
        while threads() > before {
            assert!(Instant::now() < until, "{fault} {then:?}: {} threads are left", threads() - before);
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(report.done().run().links().len(), 2, "both were asked, and both ended");
    }
}
