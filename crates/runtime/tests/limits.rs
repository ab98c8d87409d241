//! The limits that hold when none are set.

use sommelier_runtime::{Agent, Limits};

/// 5.5: eight model calls in one activation; the others are those that docs and callers count on.
#[test]
fn the_defaults_are_these() {
    let limits = Limits {
        max_steps: 8,
        empty_replies: 3,
        pauses: 3,
        repeats: 5,
        calls_per_reply: 32,
        input_bytes: 262_144,
        result_bytes: 262_144,
    };
    assert_eq!(Agent::new("clerk", "").build().unwrap().limits(), &limits);
}
