//! How many appends a second the store takes, beside bare commits of the same SQLite on the same disk.
//!
//! `cargo bench -p sommelier-store` runs it. What it measures is a disk that syncs, and that is a matter of
//! the hour: so the three sides are timed in turn, A B C A B C, and what is printed first are ratios.
//! Criterion has no word for a ratio of two sides, so this is a program of its own.

#![expect(clippy::unwrap_used, reason = "a benchmark may stop at what cannot be")]

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use sommelier_store::{Epoch, Event, Journal, SqliteStore};

const ROUNDS: usize = 9;
const SLICE: Duration = Duration::from_millis(700);
const IN_FLIGHT: usize = 64;

fn main() {
    let folder = Folder::new();
    let body = format!(r#"{{"text":"{}"}}"#, "x".repeat(400));
    let raw = Raw::open(&folder.0.join("raw.db"));
    let store = SqliteStore::open(folder.0.join("journal.db")).unwrap();
    let event = Event::new("model_responded", 1, 1_750_000_000_000, &*body).unwrap();

    let (mut bare, mut one, mut many) = (Vec::new(), Vec::new(), Vec::new());
    let commits = store.commits();
    let mut in_flight = (0.0, 0);
    for _ in 0..ROUNDS {
        bare.push(raw.commits(&body));
        one.push(appends(&store, &event, 1));
        let before = store.commits();
        let rate = appends(&store, &event, IN_FLIGHT);
        in_flight = (in_flight.0 + rate * SLICE.as_secs_f64(), in_flight.1 + store.commits() - before);
        many.push(rate);
    }
    assert!(store.commits() > commits);

    let (bare, one, many) = (median(bare), median(one), median(many));
    println!("medians of {ROUNDS} rounds of {SLICE:?}, bodies of {} B", body.len());
    println!("appends with 1 in flight / bare commits:   {:.2}", one / bare);
    println!("appends with {IN_FLIGHT} in flight / bare commits:  {:.2}", many / bare);
    println!("appends that shared a commit, {IN_FLIGHT} in flight: {:.1}", in_flight.0 / in_flight.1 as f64);
    println!("per second: {bare:.0} bare commits, {one:.0} appends with 1, {many:.0} with {IN_FLIGHT}");
}

/// Appends per second, each thread in conversations of its own.
fn appends(store: &SqliteStore, event: &Event, in_flight: usize) -> f64 {
    let start = Instant::now();
    let work = |n: usize| {
        let name = format!("c-{n}");
        let mut seq = store.head(&name).unwrap().seq;
        let mut done = 0_u64;
        while start.elapsed() < SLICE {
            seq = store.append(&name, seq, Epoch::NONE, std::slice::from_ref(event)).unwrap().head().seq;
            done += 1;
        }
        done
    };
    let done: u64 = thread::scope(|threads| {
        let workers: Vec<_> = (0..in_flight).map(|n| threads.spawn(move || work(n))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    done as f64 / start.elapsed().as_secs_f64()
}

/// SQLite alone with the same settings: one row, one commit.
struct Raw(Connection);

impl Raw {
    fn open(path: &Path) -> Self {
        let connection = Connection::open(path).unwrap();
        let _mode: String = connection.query_row("PRAGMA journal_mode = WAL", (), |row| row.get(0)).unwrap();
        connection
            .execute_batch(
                "PRAGMA synchronous = FULL; CREATE TABLE events (seq INTEGER PRIMARY KEY, body TEXT) STRICT",
            )
            .unwrap();
        Self(connection)
    }

    fn commits(&self, body: &str) -> f64 {
        let start = Instant::now();
        let mut done = 0_u64;
        while start.elapsed() < SLICE {
            self.0
                .prepare_cached("INSERT INTO events (body) VALUES (?1)")
                .unwrap()
                .execute(params![body])
                .unwrap();
            done += 1;
        }
        done as f64 / start.elapsed().as_secs_f64()
    }
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("append-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
