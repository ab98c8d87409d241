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
    Lesson::new("01", env!("CARGO_BIN_EXE_lesson-01"))
}

#[test]
fn the_page_shows_what_is_printed() {
    lesson().check_page();
}

#[test]
fn the_json_is_what_the_code_of_the_house_says() {
    let mut document: Value = serde_json::from_str(&lesson().run("--json", 0).stdout).unwrap();
    let claims = document.as_object_mut().unwrap().remove("claims").unwrap();
    assert!(claims.as_array().unwrap().iter().all(|claim| claim["holds"] == true), "{claims}");
    let desk = |name: &str, purpose: &str, tools: &[&str], others: [&str; 2]| json!({ "name": name, "purpose": purpose, "tools": tools, "routes": others, "may_name": others });
    assert_eq!(
        document,
        json!({
            "lesson": "01",
            "title": "the waiter, the sommelier, and where the pattern ends",
            "desks": [
                desk(
                    "booking_agent",
                    "quotes, books and cancels rooms",
                    &["book", "cancel", "get_quote"],
                    ["policy_agent", "pricing_agent"],
                ),
                desk(
                    "policy_agent",
                    "answers questions about the rules from the policy documents",
                    &["search_docs"],
                    ["booking_agent", "pricing_agent"],
                ),
                desk(
                    "pricing_agent",
                    "compares prices of rooms and plans and finds the cheapest",
                    &["compare_prices"],
                    ["booking_agent", "policy_agent"],
                ),
            ],
            "handoff": {
                "properties": {
                    "specialist": { "enum": ["policy_agent", "pricing_agent"] },
                    "task": {},
                    "context": {},
                    "constraints": {},
                    "completed_steps": {},
                    "open_items": {},
                    "artifacts": {},
                },
                "required": ["specialist", "task", "context"],
                "additionalProperties": false,
            },
            "max_handoffs": 5,
            "max_model_calls": 50,
            "rule": [
                ["Quote Focus pro 3h. And what happens if I don't show up?", "booking_agent"],
                ["What happens if I don't show up?", "policy_agent"],
                ["Which room is cheapest for 3 hours?", "pricing_agent"],
            ],
            "no_shows": [[7500, 8000], [6000, 6500], [5250, 5750]],
            "first_step": "ask the agent at the entry",
        })
    );
}

#[test]
fn every_boundary_is_told_by_when_the_need_is_found() {
    let stdout = lesson().run("", 0).stdout;
    for (pattern, when) in [
        ("pipeline", "Before there is any request."),
        ("supervisor", "On the raw request, once, before any work."),
        ("fan-out", "Before dispatch."),
        ("handoff", "During the work of an agent."),
        ("blackboard", "A boundary only"),
    ] {
        assert!(stdout.contains(&format!("\n  {pattern:<12} {when}")), "{pattern}: {stdout}");
    }
    let lines = stdout.lines().map(|line| line.chars().count());
    assert!(lines.max() <= Some(100), "{stdout}");
}

#[test]
fn every_wrong_belief_names_the_lesson_that_refutes_it() {
    let stdout = lesson().run("", 0).stdout;
    let (_, beliefs) = stdout.split_once("Four beliefs that are wrong").unwrap();
    let numbers: Vec<&str> = beliefs.lines().skip(1).take(4).map(|line| line.trim().split_at(2).0).collect();
    assert_eq!(numbers, ["07", "03", "08", "06"]);
}

#[test]
fn wrong_use_is_told() {
    lesson().check_wrong_use();
}

#[test]
fn nothing_runs_so_nothing_is_traced() {
    lesson().check_that_nothing_is_traced();
    assert!(!lesson().run("", 0).stdout.contains("The same as spans"));
}
