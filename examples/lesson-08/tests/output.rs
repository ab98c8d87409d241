//! The program does what its page says.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may stop at what cannot be"
)]

#[path = "../../kit/tests/page/mod.rs"]
mod page;

use examples_kit::Verdict;
use page::Lesson;
use reservo::{DEMO_NOW, OfflineRules, Reservo, demo, entry, specialists};
use serde_json::{Value, json};
use sommelier_runner::{Gate, Outcome, Runner};
use std::sync::Arc;

fn lesson() -> Lesson {
    Lesson::new("08", env!("CARGO_BIN_EXE_lesson-08"))
}

fn document(flags: &str) -> Value {
    serde_json::from_str(&lesson().run(&format!("--json {flags}"), 0).stdout).unwrap()
}

/// These members of each scene.
fn of_scenes(document: &Value, members: &[&str]) -> Value {
    let scenes = document["scenes"].as_array().unwrap().iter();
    let of = |scene: &Value| -> Value {
        members.iter().map(|path| scene.pointer(path).unwrap().clone()).collect()
    };
    scenes.map(of).collect()
}

#[test]
fn the_page_shows_what_is_printed() {
    lesson().check_page();
}

#[test]
fn the_json_is_the_four_runs() {
    let expected: Value = serde_json::from_str(include_str!("document.json")).unwrap();
    assert_eq!(document(""), expected);
}

#[test]
fn a_handoff_was_right_once_not_needed_once_and_once_in_the_place_of_a_fan_out() {
    let document = document("");
    let verdicts = of_scenes(
        &document,
        &[
            "/name",
            "/parts",
            "/verdict/from_text/pattern",
            "/verdict/as_met/pattern",
            "/verdict/handoff_was_right",
        ],
    );
    assert_eq!(
        verdicts,
        json!([
            ["room_taken", 1, "single_agent", "handoff", true],
            ["on_condition", 2, "single_agent", "single_agent", null],
            ["handed_on", 2, "fan_out", "fan_out", false],
            ["side_by_side", 2, "fan_out", "fan_out", null],
        ])
    );
    let costs = of_scenes(&document, &["/model_calls", "/critical_path"]);
    assert_eq!(costs, json!([[4, 4], [3, 3], [4, 4], [4, 2]]));
}

#[test]
fn a_taken_room_is_found_by_booking_and_another_is_recommended_and_not_booked() {
    let document = document("");
    let scene = &document["scenes"][0];
    let steps: Vec<[&str; 2]> = scene["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| ["agent", "calls"].map(|name| step[name].as_str().unwrap()))
        .collect();
    assert_eq!(
        steps,
        [
            ["booking_agent", "book"],
            ["booking_agent", "handoff_to_specialist"],
            ["pricing_agent", "compare_prices"],
        ]
    );
    assert_eq!(scene["steps"][0]["result"], "slot_taken");
    let context = json!({ "hours": 3, "plan": "team", "min_seats": 6, "exclude": "Forum" });
    assert_eq!(scene["hops"][0]["package"]["context"], context);
    assert_eq!(
        scene["answer"],
        "Forum is taken from 2026-12-01 09:00 to 2026-12-01 12:00; nothing is booked. I recommend Studio team: \
         8400 cents for 3 hours."
    );
    assert_eq!((&scene["booked"], &scene["kept"]), (&json!([]), &json!(true)));
}

#[test]
fn the_condition_decides_whether_a_room_is_booked_and_never_who_is_asked() {
    let booking = json!([{
        "id": "RSV-0001",
        "room": "Forum",
        "plan": "basic",
        "slot": { "date": "2026-12-01", "start_hour": 9, "hours": 2 },
        "customer": "guest",
        "total_cents": 13000,
        "state": "booked",
    }]);
    let booked = "Booked as RSV-0001, for 13000 cents.";
    let left = "Forum basic costs 13000 cents. That is not what you set, so nothing was booked.";
    for (flags, calls, bookings, answer) in [
        ("", 3, &booking, booked),
        ("--under 13001", 3, &booking, booked),
        ("--under 1000000", 3, &booking, booked),
        ("--under 13000", 2, &json!([]), left),
        ("--under 12000", 2, &json!([]), left),
        ("--under 1", 2, &json!([]), left),
    ] {
        let document = document(flags);
        let scene = &document["scenes"][1];
        assert_eq!(
            (&scene["model_calls"], &scene["critical_path"]),
            (&json!(calls), &json!(calls)),
            "{flags}"
        );
        assert_eq!((&scene["booked"], &scene["answer"]), (bookings, &json!(answer)), "{flags}");
        assert_eq!((&scene["hops"], &scene["last_agent"]), (&json!([]), &json!("booking_agent")), "{flags}");
        assert_eq!(scene["verdict"]["handoff_was_right"], Value::Null, "{flags}");
        assert_eq!(scene["verdict"]["as_met"]["pattern"], "single_agent", "{flags}");
    }
}

#[test]
fn side_by_side_says_the_same_in_half_of_the_path_and_nothing_crosses_between_the_two() {
    let document = document("");
    let (handed, at_once) = (&document["scenes"][2], &document["scenes"][3]);
    assert_eq!(handed["answer"], at_once["answer"]);
    let prices = "On pro for 4 hours: Focus 8000 cents, Studio 12800 cents, Forum 20800 cents.";
    assert!(handed["answer"].as_str().unwrap().contains(prices), "{handed}");
    // policy_agent is handed the prices only to say them again.
    assert_eq!(handed["hops"][0]["package"]["context"], json!({ "prices": prices }));
    let asked: Vec<(&str, &Value, u64)> = at_once["asked"]
        .as_array()
        .unwrap()
        .iter()
        .map(|asked| {
            let tool = asked["tool"].as_str().unwrap();
            (tool, &asked["package"]["context"], asked["model_calls"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(asked, [("ask_pricing", &json!({}), 2), ("ask_policy", &json!({}), 2)]);
}

#[test]
fn rules_in_the_place_of_the_script_come_to_the_same_verdicts() {
    let document = document("");
    for (scene, house) in [(0, demo()), (1, Reservo::new(DEMO_NOW)), (2, demo())] {
        let scene = &document["scenes"][scene];
        let text = scene["request"].as_str().unwrap();
        let relay = specialists::relay(&Arc::new(house), entry(text)).build().unwrap();
        let runner = Runner::new(OfflineRules).gate(Gate::approve_all());
        let Outcome::Ended(report) = runner.run(&relay, text).unwrap() else {
            panic!("{text:?} did not end")
        };
        assert_eq!(serde_json::to_value(Verdict::of(text, &report)).unwrap(), scene["verdict"], "{text:?}");
        let hops = scene["hops"].as_array().unwrap().len();
        assert_eq!((report.hops().count(), report.model_calls()), (hops, calls(scene)), "{text:?}");
    }
}

fn calls(scene: &Value) -> u32 {
    scene["model_calls"].as_u64().unwrap().try_into().unwrap()
}

#[test]
fn wrong_use_is_told() {
    lesson().check_wrong_use();
    for (flags, told) in [
        ("--under 0", "--under 0: 1 to 1000000 are possible"),
        ("--under -5", "--under -5: 1 to 1000000 are possible"),
        ("--under 1000001", "--under 1000001: 1 to 1000000 are possible"),
        ("--under little", "--under little: a whole number is wanted"),
        ("--under", "--under"),
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

#[test]
fn the_two_questions_of_the_fan_out_are_delegate_spans_that_hold_their_agents() {
    let stderr = lesson().run("--trace json", 0).stderr;
    let spans: Vec<Value> = stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let named = |name: &str| spans.iter().filter(|span| span["name"] == name).collect::<Vec<_>>();
    let delegates = named("delegate");
    let asked: Vec<(&Value, &Value)> = delegates
        .iter()
        .map(|span| (&span["fields"]["gen_ai.transfer.target.name"], &span["fields"]["status"]))
        .collect();
    let done = json!("done");
    let mut targets: Vec<&str> = asked.iter().map(|(target, _)| target.as_str().unwrap()).collect();
    targets.sort_unstable();
    assert_eq!(targets, ["policy_agent", "pricing_agent"]);
    assert!(asked.iter().all(|(_, status)| **status == done), "{asked:?}");
    for delegate in delegates {
        let inside: Vec<&Value> = named("invoke_agent")
            .into_iter()
            .filter(|span| span["parent"] == delegate["span"])
            .map(|span| &span["fields"]["gen_ai.agent.name"])
            .collect();
        assert_eq!(inside, [&delegate["fields"]["gen_ai.transfer.target.name"]]);
    }
    assert_eq!(named("handoff").len(), 2);
}
