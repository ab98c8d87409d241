//! How many durable turns a second, beside the store's own commits on the same disk.
//!
//! `cargo bench -p sommelier-runner --bench durable` runs it. What it measures is a disk that syncs, and that is a matter
//! of the hour: so the sides are timed in turn, and what is printed first are ratios. A turn is two commits where the model
//! answers at once, and five where it looks something up and hands over, and one more for the lease of each new conversation;
//! models and tools cost nothing here. With many in flight commits are shared, so fewer are counted for each turn.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark may stop at what cannot be")]

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use sommelier_handoff::{Agent, Relay};
use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runner::journal::{Epoch, Event, Journal};
use sommelier_runner::{DurableRunner, Runner, Settled, Turn};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Model, ModelError, Tool, script, tool_args};
use sommelier_store::SqliteStore;

const ROUNDS: usize = 7;
const SLICE: Duration = Duration::from_millis(700);
const MANY: usize = 64;

/// Turns after which a new conversation begins, so that none grows without end.
const TURNS: usize = 20;

fn main() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.0.join("journal.db")).unwrap();
    let (plain, handing) = (plain(), handing());
    let sides = [
        Side { name: "turns with one reply", of: &|n| turns(&store, &plain, n) },
        Side { name: "turns with a tool and a handoff", of: &|n| turns(&store, &handing, n) },
    ];
    for in_flight in [1, MANY] {
        let mut baseline = Rounds::default();
        let mut rounds = vec![Rounds::default(); sides.len()];
        for _ in 0..ROUNDS {
            baseline.time(&store, || appends(&store, in_flight));
            for (side, rounds) in sides.iter().zip(&mut rounds) {
                rounds.time(&store, || (side.of)(in_flight));
            }
        }
        let (appends, commits) = baseline.medians();
        println!("{in_flight} in flight: {appends:.0} appends a second, {commits:.2} commits for each");
        for (side, rounds) in sides.iter().zip(rounds) {
            let (rate, commits) = rounds.medians();
            let ratio = rate / appends;
            println!("    {} / appends: {ratio:.3}", side.name);
            println!("        {rate:.0} turns a second, {commits:.2} commits for each");
        }
    }
}

struct Side<'a> {
    name: &'static str,
    of: &'a dyn Fn(usize) -> Done,
}

/// What the rounds of one side came to.
#[derive(Clone, Default)]
struct Rounds {
    rates: Vec<f64>,
    commits: Vec<f64>,
}

/// How much was done, and in how many seconds.
struct Done {
    count: u64,
    seconds: f64,
}

impl Rounds {
    fn time(&mut self, store: &SqliteStore, round: impl FnOnce() -> Done) {
        let before = store.commits();
        let done = round();
        self.rates.push(done.count as f64 / done.seconds);
        self.commits.push((store.commits() - before) as f64 / done.count as f64);
    }

    /// How much a second, and how many commits for each.
    fn medians(self) -> (f64, f64) {
        (median(self.rates), median(self.commits))
    }
}

/// Appends of one event, each thread in a conversation of its own.
fn appends(store: &SqliteStore, in_flight: usize) -> Done {
    let event = Event::new("model_responded", 1, 1, format!(r#"{{"text":"{}"}}"#, "x".repeat(400))).unwrap();
    timed(in_flight, |n, until| {
        let name = format!("appends-{n}");
        let mut seq = store.head(&name).unwrap().seq;
        let mut done = 0;
        while Instant::now() < until {
            seq = store.append(&name, seq, Epoch::NONE, std::slice::from_ref(&event)).unwrap().head().seq;
            done += 1;
        }
        done
    })
}

/// Durable turns.
fn turns(store: &SqliteStore, relay: &Relay, in_flight: usize) -> Done {
    let runner = Runner::new(Rules);
    let durable = DurableRunner::new(&runner, relay, store);
    timed(in_flight, |n, until| {
        let begun = Instant::now();
        let mut done = 0;
        while Instant::now() < until {
            let name = format!("turns-{n}-{}-{}", begun.elapsed().as_nanos(), relay.definition_id());
            for _ in 0..TURNS {
                let settled = durable.submit(&name, Turn::new("Is a room free on Friday?")).unwrap();
                let Settled::Ended(_) = settled else { panic!("{settled:?}") };
                done += 1;
                if Instant::now() >= until {
                    break;
                }
            }
        }
        done
    })
}

fn timed(in_flight: usize, work: impl Fn(usize, Instant) -> u64 + Sync) -> Done {
    let start = Instant::now();
    let work = &work;
    let count: u64 = thread::scope(|threads| {
        let workers: Vec<_> = (0..in_flight).map(|n| threads.spawn(move || work(n, start + SLICE))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    Done { count, seconds: start.elapsed().as_secs_f64() }
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

tool_args! {
    /// A day.
    struct Day {
        /// Its name.
        day: String,
    }
}

fn plain() -> Relay {
    Relay::builder().agent(Agent::new("till", "You answer.")).entry("till").build().unwrap()
}

/// Each turn begins at the clerk, who looks something up and hands over.
fn handing() -> Relay {
    let look = Tool::new("look", "Looks whether a room is free.", |day: Day, _: &CallContext<'_>| {
        Ok::<_, Failure>(format!("free on {}", day.day))
    });
    Relay::builder()
        .agent(Agent::new("clerk", "You look things up.").tools([look.read_only()]))
        .agent(Agent::new("till", "You answer."))
        .entry("clerk")
        .entry_policy(sommelier_handoff::EntryPolicy::Entry)
        .route("clerk", "till")
        .build()
        .unwrap()
}

/// The clerk looks, then hands over; the till answers. It goes by what stands last, and costs nothing.
struct Rules;

impl Model for Rules {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        // The results of the turn before stand in the same message as the user's new words, ahead of them.
        let last = request.messages.last().and_then(|last| last.content.blocks().last());
        let is_result = last.is_some_and(|block| block.kind() == "tool_result");
        Ok(match &*request.caller {
            "clerk" if is_result => script::call(
                "tu",
                "handoff_to_specialist",
                r#"{"specialist":"till","task":"Say that the room is free.","context":{"day":"Friday"}}"#,
            ),
            "clerk" => script::call("tu", "look", r#"{"day":"Friday"}"#),
            _ => script::say("It is free on Friday."),
        })
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("sommelier-durable-bench-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
