//! What reading a request costs for a byte, in a short text and in one ten times as long: for a reader of linear
//! time the two are alike, whatever the text repeats.
//!
//! `cargo bench -p reservo` prints the ratio for each pattern. The two are timed in turn, so that a drift of the
//! machine's speed meets both.

use reservo::{DEMO_NOW, read};
use std::hint::black_box;
use std::time::Instant;

const PATTERNS: [&str; 12] = [
    "a",
    "a ",
    "quote ",
    "cancel ",
    "if ",
    "<a",
    "1.",
    "at 9 ",
    "Focus ",
    "under 5 ",
    "book if ",
    "policy and ",
];

fn main() {
    for pattern in PATTERNS {
        let (short, long) = (text(pattern, 10_000), text(pattern, 100_000));
        let (mut of_short, mut of_long) = (Vec::new(), Vec::new());
        for _ in 0..7 {
            of_short.push(nanoseconds_a_byte(&short));
            of_long.push(nanoseconds_a_byte(&long));
        }
        let (short, long) = (median(of_short), median(of_long));
        println!(
            "{pattern:?}: a byte of 100 kB / of 10 kB: {:.2} ({long:.0} ns / {short:.0} ns)",
            long / short
        );
    }
}

fn text(pattern: &str, bytes: usize) -> String {
    pattern.repeat(bytes / pattern.len())
}

fn nanoseconds_a_byte(text: &str) -> f64 {
    let start = Instant::now();
    black_box(read(text, DEMO_NOW));
    start.elapsed().as_secs_f64() * 1e9 / text.len() as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
