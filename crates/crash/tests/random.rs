//! Processes that are killed at random moments.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]
#![cfg(unix)]

use std::collections::BTreeMap;
use std::env;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use sommelier_crash::{Audit, CONVERSATION, Case, Scenario, Scene, Seed, Victim, Way};
use sommelier_runner::DurableRunner;
use sommelier_runner::journal::Journal;

const VICTIM: &str = env!("CARGO_BIN_EXE_victim");
const WORKERS: u64 = 6;
/// One less than what is left to people: a call that was begun so often is not begun again.
const MOST_KILLS: usize = DurableRunner::MOST_ATTEMPTS as usize - 1;

/// Kills by the kind of the record that was the newest one at that moment.
struct Tally {
    wanted: usize,
    kinds: BTreeMap<String, usize>,
}

impl Tally {
    fn total(&self) -> usize {
        self.kinds.values().sum()
    }

    fn is_full(&self) -> bool {
        self.total() >= self.wanted && self.kinds.values().all(|count| *count > 0)
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    env::var(name).map_or(otherwise, |number| number.parse().unwrap())
}

/// T1, T2, T4, T5, T6, T8, T9, T10, T11, T12, T13, C71, C155, S1-38: killed by another process at moments drawn by chance,
/// several times over, a run comes to the end of one that was never killed; and the moments fall behind each kind of record
/// that there is.
///
/// `cargo xtask crash [KILLS] [SEED]` sets how many.
#[test]
fn a_kill_at_any_moment_changes_nothing() {
    let (wanted, seed) = (number("SOMMELIER_CRASH_KILLS", 200), number("SOMMELIER_CRASH_SEED", 1));
    let begun = Instant::now();
    let whole = whole();
    // More than one process of several takes, as the others are slowed down by each other.
    let span = begun.elapsed().as_micros() as u64;
    let kinds = whole.1.into_iter().map(|kind| (kind, 0)).collect();
    let tally = Mutex::new(Tally { wanted: wanted as usize, kinds });
    thread::scope(|scope| {
        let (tally, whole) = (&tally, &whole.0);
        for worker in 0..WORKERS {
            scope.spawn(move || {
                for round in 0.. {
                    if tally.lock().unwrap().is_full() {
                        return;
                    }
                    let seed = Seed::new(seed ^ (worker << 32) ^ (round << 40));
                    let amid = killed_by_chance(seed, span, whole);
                    let mut tally = tally.lock().unwrap();
                    amid.into_iter().for_each(|kind| *tally.kinds.entry(kind).or_default() += 1);
                    assert!(
                        tally.total() < 50 * tally.wanted.max(50),
                        "never killed behind: {:?}",
                        tally.kinds
                    );
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    println!("seed {seed}: {} kills amid a run, by the newest record:", tally.total());
    tally.kinds.iter().for_each(|(kind, count)| println!("{count:>6}  {kind}"));
}

/// What a run leaves whose processes live, and the kinds of its records, leases and intents too.
fn whole() -> (Audit, Vec<String>) {
    let scene = Scene::new(env!("CARGO_TARGET_TMPDIR"));
    let mut case = Case::new(VICTIM, &scene, Scenario::Whole, Way::Resume);
    case.finish(|victim| victim.pause(3));
    let records = scene.store().load(CONVERSATION, 1).unwrap();
    let kinds = records.into_iter().map(|record| record.event.kind().to_owned()).collect();
    (case.audit(Scenario::Whole), kinds)
}

/// A run that is killed up to four times; the kinds of the records behind which it was.
fn killed_by_chance(mut seed: Seed, span: u64, whole: &Audit) -> Vec<String> {
    let scene = Scene::new(env!("CARGO_TARGET_TMPDIR"));
    let way = Way::ALL[seed.below(3) as usize];
    // Half of them write in batches, as drivers do, and half each record by itself, for what no batch ends with.
    let splits = seed.below(2) == 0;
    let set = |victim: Victim| if splits { victim.pause(3).splits() } else { victim.pause(3) };
    let mut case = Case::new(VICTIM, &scene, Scenario::Whole, way);
    while case.kills < MOST_KILLS && !case.is_over() {
        case.step_killed(set, Duration::from_micros(seed.below(span)));
    }
    case.finish(set);
    assert_eq!(case.audit(Scenario::Whole), *whole, "{seed:?}");
    case.amid
}
