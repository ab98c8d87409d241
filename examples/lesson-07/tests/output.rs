//! The program does what its page says.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at what cannot be"
)]

#[path = "../../kit/tests/page/mod.rs"]
mod page;

use page::Lesson;
use serde_json::{Value, json};

fn lesson() -> Lesson {
    Lesson::new("07", env!("CARGO_BIN_EXE_lesson-07"))
}

fn document(flags: &str) -> Value {
    serde_json::from_str(&lesson().run(&format!("--json {flags}"), 0).stdout).unwrap()
}

/// Limits, turns of the first specialist, turns of each after it.
fn place(point: &Value) -> [u64; 3] {
    ["limits", "sender_turns", "receiver_turns"].map(|name| point[name].as_u64().unwrap())
}

/// Calls and hops of one way.
fn costs(point: &Value, way: &str) -> [u64; 2] {
    ["model_calls", "hops"].map(|name| point[way][name].as_u64().unwrap())
}

#[test]
fn the_page_shows_what_is_printed() {
    lesson().check_page();
}

#[test]
fn the_running_case_takes_four_calls_and_a_hop_or_six_and_three() {
    let document = document("--limits 1 --sender 2 --receiver 2");
    let answer = "The quote is 6000 cents. If you do not show up, you are charged 6500 cents [POL-NOSHOW].";
    assert_eq!(document["model"], "concept (claude-sonnet-5)");
    assert_eq!(document["request"], "Quote Focus pro 3h. And what happens if I don't show up?");
    let expected = json!({
        "variant": "base",
        "limits": 1,
        "sender_turns": 2,
        "receiver_turns": 2,
        "turns": 4,
        "direct": {
            "model_calls": 4,
            "hops": 1,
            "package_bytes": 105,
            "loosened": [],
            "chain": "booking_agent → policy_agent",
            "answer": answer,
            "unasked_turns": 0,
        },
        "return": {
            "model_calls": 6,
            "hops": 3,
            "package_bytes": 314,
            "loosened": [],
            "chain": "booking_agent → supervisor → policy_agent → supervisor",
            "answer": answer,
            "unasked_turns": 0,
        },
        "saved_calls": 2,
        "saved_hops": 2,
        "saved_bytes": 209,
        "same_answer": true,
    });
    assert_eq!(document["running_case"], expected);
    assert_eq!(document["points"][0], expected);
}

#[test]
fn direct_is_lower_on_both_at_every_point_of_every_variant() {
    let document = document("");
    let points = document["points"].as_array().unwrap();
    let mut asked = points.iter();
    // What a variant adds to both ways in front, and what the return adds to one call and two hops a limit.
    for (variant, in_front, [calls, hops]) in
        [("base", 0, [1, 1]), ("entry", 1, [1, 1]), ("code", 0, [0, 1]), ("none", 0, [0, 0])]
    {
        for (limits, sender, receiver) in (1..=3).flat_map(|limits| {
            (2..=6).flat_map(move |sender| (2..=6).map(move |receiver| (limits, sender, receiver)))
        }) {
            let point = asked.next().unwrap();
            let turns = sender + limits * receiver;
            assert_eq!((&point["variant"], place(point)), (&json!(variant), [limits, sender, receiver]));
            assert_eq!(point["turns"], turns, "{point}");
            let (direct, back) = (costs(point, "direct"), costs(point, "return"));
            assert_eq!(direct, [turns + in_front, limits + in_front], "{point}");
            assert_eq!(back, [turns + in_front + limits + calls, 2 * limits + in_front + hops], "{point}");
            assert!(direct[0] < back[0] && direct[1] < back[1], "{point}");
            assert_eq!(point["saved_calls"], limits + calls, "{point}");
            assert_eq!(point["saved_hops"], limits + hops, "{point}");
            assert_eq!(point["direct"]["answer"], point["return"]["answer"], "{point}");
        }
    }
    assert_eq!((points.len(), asked.next()), (300, None));

    assert_eq!(
        document["claims"],
        json!([
            { "claim": "the running case, direct: 4 calls, 1 hop", "holds": true },
            { "claim": "the running case, back to the supervisor: 6 calls, 3 hops", "holds": true },
            { "claim": "direct takes T calls and k hops at k limits", "holds": true },
            { "claim": "the return takes T + k + 1 calls and 2k + 1 hops", "holds": true },
            { "claim": "base: saved are k + 1 calls and k + 1 hops, whatever T is", "holds": true },
            { "claim": "entry: saved are k + 1 calls and k + 1 hops, whatever T is", "holds": true },
            { "claim": "code: saved are k calls and k + 1 hops, whatever T is", "holds": true },
            { "claim": "none: saved are k calls and k hops, whatever T is", "holds": true },
            { "claim": "entry: one call and one hop more than base, in both", "holds": true },
            { "claim": "direct is lower on both, at every point of every variant", "holds": true },
            { "claim": "both ways give the same answer", "holds": true },
            {
                "claim": "the usual guards refuse direct beyond 3 limits only, the return beyond 2",
                "holds": true,
            },
            { "claim": "every scripted decision was asked for", "holds": true },
        ])
    );
}

#[test]
fn the_flags_choose_the_points() {
    let base = |document: &Value| -> Vec<[u64; 3]> {
        let points = document["points"].as_array().unwrap().iter();
        points.filter(|point| point["variant"] == "base").map(place).collect()
    };
    assert_eq!(base(&document("--limits 1 --sender 3 --receiver 2..=4")), [[1, 3, 2], [1, 3, 3], [1, 3, 4]]);
    assert_eq!(base(&document("--limits 2..3 --sender 8 --receiver 2")), [[2, 8, 2], [3, 8, 2]]);
}

#[test]
fn the_work_goes_round_the_specialists_and_each_goes_on_where_it_was() {
    let document = document("--limits 6 --sender 2 --receiver 2");
    let point = &document["points"][0];
    assert_eq!(
        point["direct"]["chain"],
        "booking_agent → policy_agent → pricing_agent → booking_agent → policy_agent → pricing_agent → booking_agent"
    );
    assert_eq!(
        point["direct"]["answer"],
        "The quote is 6000 cents. If you do not show up, you are charged 6500 cents [POL-NOSHOW]. \
         The cheapest for 3 hours is Focus team at 5250 cents. The quote for it is 5250 cents. \
         If you do not show up for it, you are charged 5750 cents [POL-NOSHOW]. \
         The cheapest for 4 hours is Focus team at 7000 cents. The quote for it is 7000 cents."
    );
}

#[test]
fn what_the_usual_settings_end_is_told() {
    for (flags, direct, back) in [
        ("--limits 2", json!([]), json!([])),
        ("--limits 3", json!([]), json!(["cap", "pair"])),
        ("--limits 4", json!(["pair"]), json!(["cap", "pair"])),
        ("--limits 6", json!(["pair", "cap"]), json!(["cap", "pair"])),
    ] {
        let document = document(&format!("{flags} --sender 2 --receiver 2"));
        let point = &document["points"][0];
        let loosened = [&point["direct"]["loosened"], &point["return"]["loosened"]];
        assert_eq!(loosened, [&direct, &back], "{flags}");
    }
    let told = lesson().run("--limits 3 --sender 2 --receiver 2", 0).stdout;
    let refusal = "  return, 3 limits: cap, then pair\n    handoff_limit_exceeded: 5 handoff(s) are the most, \
                   a further one is not taken: booking_agent →\n      supervisor → policy_agent → supervisor → \
                   pricing_agent → supervisor → booking_agent\n    repeated_pair: booking_agent has already \
                   handed the turn to supervisor, a second time is a loop:\n      booking_agent → ";
    assert!(told.contains(refusal), "{told}");
}

#[test]
fn long_work_spends_the_usual_budget_and_costs_what_the_rule_says() {
    let document = document("--limits 6 --sender 8 --receiver 8");
    let point = &document["points"][0];
    assert_eq!(costs(point, "direct"), [56, 6]);
    assert_eq!(costs(point, "return"), [63, 13]);
    assert_eq!(point["direct"]["loosened"], json!(["pair", "cap", "max_model_calls"]));
}

#[test]
fn wrong_use_is_told() {
    lesson().check_wrong_use();
    for (flags, told) in [
        ("--limits 0", "--limits 0: 1 to 6 are possible"),
        ("--limits 2..7", "--limits 7: 1 to 6 are possible"),
        ("--sender 9..2", "--sender 9: 2 to 8 are possible"),
        ("--sender 6..2", "--sender 6..2: the range is empty; write 2..6"),
        ("--receiver 1", "--receiver 1: 2 to 8 are possible"),
        ("--receiver two", "--receiver two: a whole number is wanted"),
        ("2..6", "a lesson takes no words, found [\"2..6\"]"),
    ] {
        let run = lesson().run(flags, 2);
        assert_eq!(run.stdout, "", "{flags}");
        assert!(run.stderr.contains(told), "{flags}: {}", run.stderr);
    }
}

#[test]
fn spans_go_to_stderr() {
    lesson().check_traces(|line| serde_json::from_str::<Value>(line).is_ok());
}
