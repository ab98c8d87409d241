//! What the core costs, beside a bare loop that keeps its transcript too.
//!
//! `cargo bench -p sommelier-runner` runs it. Criterion measures each figure; after it, every pair whose ratio
//! docs/performance.md states is timed in turn, A B A B, and the median of the rounds' ratios is printed, so that a
//! drift of the machine's speed meets both sides.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark may stop at what cannot be")]

mod floor;
mod ours;

use criterion::{BatchSize, BenchmarkId, Criterion};
use sommelier_handoff::Relay;
use sommelier_metrics::{LinesLayer, Metrics};
use sommelier_runner::Runner;
use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};
use tracing::{Dispatch, dispatcher};
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry;

/// As many as a ratio needs to come out the same once more on a machine that has other guests.
const ROUNDS: u32 = 201;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    running_case(&mut criterion);
    steps_before_a_handoff(&mut criterion);
    handoffs_to_and_fro(&mut criterion);
    criterion.final_summary();
    ratios();
}

/// The running case: a quote, a handoff, a search, an answer.
fn running_case(criterion: &mut Criterion) {
    let relay = ours::running_relay();
    let desks = ours::desks(&relay);
    let mut group = criterion.benchmark_group("running case");
    group.bench_function("floor", |b| b.iter(|| floor::running_case(&desks, floor::Wire::None)));
    group.bench_function("ours", |b| b.iter(|| ours::running_case(&relay, ours::Wire::None)));
    group.bench_function("floor with wire", |b| b.iter(|| floor::running_case(&desks, floor::Wire::Json)));
    group.bench_function("ours with wire", |b| b.iter(|| ours::running_case(&relay, ours::Wire::Json)));
    group.finish();
}

/// N tool steps of the sender, then a handoff.
fn steps_before_a_handoff(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tool steps before a handoff");
    for n in [1_u32, 10, 100, 1000] {
        let relay = ours::long_relay(n);
        let desks = ours::desks(&relay);
        group.bench_with_input(BenchmarkId::new("floor", n), &n, |b, n| b.iter(|| floor::steps(&desks, *n)));
        group.bench_with_input(BenchmarkId::new("ours", n), &n, |b, n| b.iter(|| ours::steps(&relay, *n)));
        group.bench_with_input(BenchmarkId::new("the hop alone", n), &n, |b, n| {
            b.iter_batched(
                || ours::before_the_handoff(&relay, *n),
                |handoff| black_box(handoff.take(&relay, 0)),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

/// K handoffs to and fro between two agents.
fn handoffs_to_and_fro(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("handoffs to and fro");
    for k in [10_u32, 100, 1000] {
        let relay = ours::to_and_fro_relay(k);
        group.bench_with_input(BenchmarkId::new("ours", k), &k, |b, k| {
            b.iter(|| ours::to_and_fro(&relay, *k));
        });
    }
    group.finish();
}

fn ratios() {
    let relay = ours::running_relay();
    let desks = ours::desks(&relay);
    println!(
        "\nratios, two sides timed in turn (the median of {ROUNDS} rounds; in brackets each side's own)"
    );
    ratio(
        "running case, ours / floor",
        2.5,
        || ours::running_case(&relay, ours::Wire::None),
        || floor::running_case(&desks, floor::Wire::None),
    );
    ratio(
        "running case with wire, ours / floor",
        1.5,
        || ours::running_case(&relay, ours::Wire::Json),
        || floor::running_case(&desks, floor::Wire::Json),
    );

    let (short, long) = (ours::long_relay(10), ours::long_relay(1000));
    per(
        "core cost per step, N = 1000 / N = 10",
        || ours::steps(&long, 1000),
        1000.0,
        || ours::steps(&short, 10),
        10.0,
    );
    let (few, many) = (ours::to_and_fro_relay(10), ours::to_and_fro_relay(1000));
    per(
        "core cost per hop, K = 1000 / K = 10",
        || ours::to_and_fro(&many, 1000),
        1000.0,
        || ours::to_and_fro(&few, 10),
        10.0,
    );

    traced(&relay);

    let bytes = |n| {
        let relay = ours::long_relay(n);
        ours::first_request_of_the_receiver(&relay, n)
    };
    println!("first request of the receiver: {} B after 1 step, {} B after 1000", bytes(1), bytes(1000));
    let ours = ours::two_threads_over_one(|| ours::running_case(&relay, ours::Wire::None));
    let floor = ours::two_threads_over_one(|| floor::running_case(&desks, floor::Wire::None));
    println!(
        "two threads / one thread, runs per second: {ours:.2} (at least 1.9 wanted; the floor's: {floor:.2})"
    );
}

/// What it costs to be watched: the driver with somebody who listens to its spans, and with nobody.
fn traced(relay: &Relay) {
    let runner = Runner::new(ours::Wired).conversation("c").clock(|| 0);
    let off = || ours::driven(&runner, relay);
    let bare = Dispatch::new(registry());
    ratio_alone(
        "running case with wire, a registry without a layer / tracing off",
        watched(&bare, &off),
        off,
    );
    let metrics = Metrics::new();
    let counted = Dispatch::new(registry().with(metrics.layer()));
    ratio("running case with wire, metrics layer / tracing off", 1.3, watched(&counted, &off), off);
    let nowhere = Dispatch::new(registry().with(LinesLayer::new(io::sink())));
    ratio_alone("running case with wire, JSON lines to nowhere / tracing off", watched(&nowhere, &off), off);
    let path = std::env::temp_dir().join(format!("sommelier-bench-{}.jsonl", std::process::id()));
    let file = io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let kept = Dispatch::new(registry().with(LinesLayer::new(file)));
    ratio_alone("running case with wire, JSON lines to a file / tracing off", watched(&kept, &off), off);
    drop(kept);
    std::fs::remove_file(path).unwrap();
    println!("the metrics layer has counted {} runs", metrics.report().workflows.closed);
}

fn watched<T>(dispatch: &Dispatch, run: &impl Fn() -> T) -> impl Fn() -> T {
    move || dispatcher::with_default(dispatch, run)
}

/// Prints the ratio of `a` and `b`, run in turn, for which no bound is set.
fn ratio_alone<A, B>(name: &str, a: impl Fn() -> A, b: impl Fn() -> B) {
    let InTurn { ratio, a, b } = in_turn(a, b);
    println!("{name}: {ratio:.2} ({a:.0} ns / {b:.0} ns)");
}

/// Prints the ratio of `a` and `b`, run in turn.
fn ratio<A, B>(name: &str, target: f64, a: impl Fn() -> A, b: impl Fn() -> B) {
    let InTurn { ratio, a, b } = in_turn(a, b);
    println!("{name}: {ratio:.2} (at most {target} wanted; {a:.0} ns / {b:.0} ns)");
}

/// Prints the ratio of the costs per unit of `a` and `b`, run in turn.
fn per<A, B>(name: &str, a: impl Fn() -> A, units_a: f64, b: impl Fn() -> B, units_b: f64) {
    let InTurn { ratio, a, b } = in_turn(a, b);
    let (ratio, a, b) = (ratio * units_b / units_a, a / units_a, b / units_b);
    println!("{name}: {ratio:.2} ({a:.0} ns / {b:.0} ns)");
}

/// Medians of rounds: of what A took of what B took in the same round, and of either in nanoseconds.
struct InTurn {
    ratio: f64,
    a: f64,
    b: f64,
}

fn in_turn<A, B>(a: impl Fn() -> A, b: impl Fn() -> B) -> InTurn {
    let rounds: Vec<_> = (0..ROUNDS).map(|_| (time(&a), time(&b))).collect();
    let median_of = |what: fn(&(f64, f64)) -> f64| median(rounds.iter().map(what).collect());
    InTurn { ratio: median_of(|(a, b)| a / b), a: median_of(|(a, _)| *a), b: median_of(|(_, b)| *b) }
}

/// Nanoseconds of one call, from as many as fit in about 4 ms.
fn time<T>(work: impl Fn() -> T) -> f64 {
    let start = Instant::now();
    let mut calls = 0_u32;
    while start.elapsed() < Duration::from_millis(4) {
        black_box(work());
        calls += 1;
    }
    start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
