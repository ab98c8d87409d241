//! A folder with all that a run leaves, and the agents that leave it there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use sommelier_handoff::{Agent, Delegate, Relay};
use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runner::{Decision, Gate, Runner};
use sommelier_runtime::tool::{CallContext, Failure, Found};
use sommelier_runtime::{Model, ModelError, Tool, tool_args};
use sommelier_store::{Options, SqliteStore};

use crate::ledger::{self, Row};
use crate::point::{Moment, Point, die};
use crate::process::tell;
use crate::remote::{Remote, append_line};
use crate::scenario::Scenario;

/// A folder that is gone at the end of its test.
#[derive(Debug)]
pub struct Scene(PathBuf);

impl Scene {
    /// A new one, in a folder that may be written to.
    pub fn new(folder: impl AsRef<Path>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("crash-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = folder.as_ref().join(name);
        // A process of this number that was killed may have left it.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The store of its journal, opened anew.
    pub fn store(&self) -> SqliteStore {
        self.store_with(&Options::new())
    }

    /// The store of its journal, opened anew.
    pub fn store_with(&self, options: &Options) -> SqliteStore {
        SqliteStore::open_with(self.0.join("journal.db"), options).unwrap()
    }

    /// Its other side.
    pub fn remote(&self) -> Remote {
        Remote::at(&self.0.join("remote"))
    }

    /// The rows of the ledger in the journal's file.
    pub fn ledger(&self) -> Vec<Row> {
        ledger::rows(&self.store().connection().unwrap())
    }

    /// For each model call how often the model was asked: the agent, and how many replies it had had.
    pub fn asked(&self) -> Vec<String> {
        let asked = fs::read_to_string(self.0.join("models")).unwrap_or_default();
        asked.lines().map(str::to_owned).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The agents of a process, and how it is with its tools and models.
#[derive(Clone, Debug, Default)]
pub struct Desk {
    /// Where the process kills itself.
    pub point: Option<Point>,
    /// For how long a model thinks, and a tool works before and after its effect.
    pub pause: Duration,
    /// The tool that takes longer than anybody waits, when its effect has happened: until there is a file `go`.
    pub hold: Option<String>,
    /// The tool that panics when its effect has happened.
    pub panics: Option<String>,
}

/// Does `check` for every item, a few at a time: most of the time is the disk's.
pub fn each<T: Sync>(items: &[T], check: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(item);
                }
            });
        }
    });
}

tool_args! {
    /// A seat.
    pub(crate) struct Seat {
        /// Which.
        pub(crate) seat: u32,
    }
}

tool_args! {
    /// A booking.
    pub(crate) struct Booking {
        /// Which.
        pub(crate) booking: String,
    }
}

#[derive(Serialize)]
struct Booked {
    booking: &'static str,
}

/// What the tools of a process work with.
#[derive(Debug)]
struct Shop {
    folder: PathBuf,
    remote: Remote,
    desk: Desk,
}

impl Shop {
    fn at(&self, tool: &str, moment: Moment) {
        if self.desk.point == Some(Point::Tool(tool.to_owned(), moment)) {
            die();
        }
    }

    /// An effect between the moments at which its tool can be killed.
    fn work<T>(&self, tool: &str, effect: impl FnOnce() -> T) -> Result<T, Failure> {
        self.at(tool, Moment::Begun);
        thread::sleep(self.desk.pause);
        let done = effect();
        self.at(tool, Moment::Done);
        assert!(self.desk.panics.as_deref() != Some(tool), "{tool} panics");
        thread::sleep(self.desk.pause);
        if self.desk.hold.as_deref() == Some(tool) {
            tell(&format!("in {tool}"));
            while !self.folder.join("go").exists() {
                thread::sleep(Duration::from_millis(2));
            }
        }
        Ok(done)
    }
}

impl Desk {
    /// The definition. It is the same whatever else is set, and it stays as it is: the golden records are of runs of this
    /// one, and a run is not gone on with under another.
    pub fn relay(&self, folder: &Path) -> Relay {
        let remote = Remote::at(&folder.join("remote"));
        let shop = Arc::new(Shop { folder: folder.to_owned(), remote, desk: self.clone() });
        let prices = Agent::new("prices", "You know the prices.").tools([look_up(&shop)]);
        let clerk = Agent::new("clerk", "You book seats.").tools([
            book(&shop),
            cancel(&shop),
            notify(&shop),
            reserve(&shop),
            send(&shop),
        ]);
        Relay::builder()
            .agent(Agent::new("desk", "You hear the guests."))
            .agent(clerk)
            .agent(Agent::new("till", "You take the money."))
            .delegate("desk", Delegate::new("ask_prices", prices))
            .entry("desk")
            .route("desk", "clerk")
            .route("clerk", "till")
            .build()
            .unwrap()
    }

    /// The driver of a scenario's runs, with a clock.
    pub fn runner(
        &self,
        folder: &Path,
        scenario: Scenario,
        clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Runner<'static> {
        let models = folder.join("models");
        let gate = Gate::new(|_| Decision::Ask);
        Runner::new(Counted { scenario, models, pause: self.pause }).gate(gate).clock(clock)
    }
}

fn look_up(shop: &Arc<Shop>) -> Tool {
    let shop = Arc::clone(shop);
    let look = move |seat: Seat, _: &CallContext<'_>| {
        shop.work("look_up", || format!("seat {} is 12.00", seat.seat))
    };
    Tool::new("look_up", "Tells what a seat costs.", look).read_only()
}

fn book(shop: &Arc<Shop>) -> Tool {
    let shop = Arc::clone(shop);
    let book = move |_: Seat, context: &CallContext<'_>| {
        let effect = || ledger::write(context.transaction, context.idempotency_key, "book", "B-7");
        shop.work("book", effect)?.map(|()| Booked { booking: "B-7" })
    };
    Tool::new("book", "Books a seat.", book).needs_approval().transactional().business_key(["seat"])
}

fn cancel(shop: &Arc<Shop>) -> Tool {
    let shop = Arc::clone(shop);
    let cancel = move |of: Booking, context: &CallContext<'_>| {
        let effect = || ledger::write(context.transaction, context.idempotency_key, "cancel", &of.booking);
        shop.work("cancel", effect)?.map(|()| "cancelled")
    };
    Tool::new("cancel", "Cancels a booking.", cancel)
        .transactional()
        .business_key(["booking"])
        .undoes("book", "booking")
}

fn notify(shop: &Arc<Shop>) -> Tool {
    let shop = Arc::clone(shop);
    let notify = move |seat: Seat, context: &CallContext<'_>| {
        let effect = || shop.remote.do_once(context.idempotency_key, &format!("told of seat {}", seat.seat));
        shop.work("notify", effect)
    };
    Tool::new("notify", "Tells the house of a seat.", notify).keyed(u64::MAX)
}

fn reserve(shop: &Arc<Shop>) -> Tool {
    let (at_work, asked) = (Arc::clone(shop), Arc::clone(shop));
    let reserve = move |seat: Seat, context: &CallContext<'_>| {
        let what = format!("seat {} reserved", seat.seat);
        at_work.work("reserve", || at_work.remote.do_always(context.idempotency_key, &what))
    };
    Tool::new("reserve", "Reserves a seat.", reserve).queried(0, move |context| {
        asked.at("reserve", Moment::Asked);
        let found = asked.remote.find(context.idempotency_key);
        found.map_or(Found::Absent, |what| Found::done(&what))
    })
}

fn send(shop: &Arc<Shop>) -> Tool {
    let shop = Arc::clone(shop);
    let send = move |seat: Seat, context: &CallContext<'_>| {
        let what = format!("ticket for seat {} sent", seat.seat);
        shop.work("send", || shop.remote.do_always(context.idempotency_key, &what))
    };
    Tool::new("send", "Sends a ticket.", send)
}

/// The script, and a line for each time that it was asked.
struct Counted {
    scenario: Scenario,
    models: PathBuf,
    pause: Duration,
}

impl Model for Counted {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        append_line(&self.models, &format!("{} {}", request.caller, request.replies));
        thread::sleep(self.pause);
        Ok(self.scenario.reply(&request))
    }
}
