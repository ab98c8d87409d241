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
use support_desk::desk::{guards, relay};

fn example() -> Lesson {
    Lesson::example("support-desk", env!("CARGO_BIN_EXE_support-desk"))
}

fn document(flags: &str) -> Value {
    serde_json::from_str(&example().run(&format!("--json {flags}"), 0).stdout).unwrap()
}

/// The member of this name of each failure.
fn of_failures(document: &Value, read: impl Fn(&Value) -> Value) -> Vec<Value> {
    document["failures"].as_array().unwrap().iter().map(read).collect()
}

#[test]
fn the_page_shows_what_is_printed() {
    example().check_page();
}

#[test]
fn the_page_draws_the_matrix() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/support-desk.md");
    let page = std::fs::read_to_string(page).unwrap();
    let chart = relay(guards()).build().unwrap().routes().mermaid();
    assert!(page.contains(&format!("```mermaid\n{chart}```\n")), "{chart}");
}

#[test]
fn the_json_tells_the_three_queries() {
    let mut document = document("");
    let claims = document["claims"].take();
    assert!(claims.as_array().unwrap().iter().all(|claim| claim["holds"] == true), "{claims}");
    assert_eq!(
        (&document["example"], &document["model"], document["lesson"].is_null()),
        (&json!("support-desk"), &json!("desk rules (no model)"), true)
    );
    let hop = |number: u32, to: &str, seconds: u64| json!({ "number": number, "from": "triage_agent", "to": to, "at": 1_796_032_800_000_u64 + 1000 * seconds, "end": "done" });
    let (first, second) = (hop(1, "billing_agent", 1), hop(2, "technical_agent", 8));
    assert_eq!(
        document["queries"],
        json!([
            {
                "query": "I was charged twice this month. I'm on the pro plan.",
                "intent": "billing",
                "word": "charged",
                "agent": "billing_agent",
                "answer": "You were charged 2900 cents twice on 2026-11-28 for the pro plan, December. 2900 cents go \
                           back to you, as RF-1042.",
                "end": "answered",
                "handoffs": 1,
                "log": [first],
            },
            {
                "query": "The app crashes at login with Google.",
                "intent": "technical",
                "word": "crashes",
                "agent": "technical_agent",
                "answer": "This is known as KB-7, \"Crash at login with Google\". Update the app to 4.2.1.",
                "end": "answered",
                "handoffs": 2,
                "log": [first, second],
            },
            {
                "query": "Hello there!",
                "intent": "closing",
                "word": "hello",
                "agent": "triage_agent",
                "answer": "Hello. What can we do for you? Say what went wrong, and whoever can help gets it.",
                "end": "answered",
                "handoffs": 2,
                "log": [first, second],
            },
        ])
    );
}

#[test]
fn every_failure_is_caught_and_told() {
    let told =
        of_failures(&document(""), |failure| json!([failure["mode"], failure["caught_by"], failure["told"]]));
    let circle = "triage_agent → technical_agent → billing_agent → technical_agent → billing_agent";
    assert_eq!(
        told,
        [
            json!([
                "context dumping",
                "guard package",
                "invalid_package: the package is not valid: `context.chat.0` holds a message (`role` and `content`); \
                 a package carries a task and its data, never a history"
            ]),
            json!(["orphaned task", "the end of the run", "unresolved: triage_agent has the turn, 0 hop(s)"]),
            json!([
                "orphaned task",
                "the trail's open hops",
                "failed: the model could not be reached: no route to the model; open: the work handed to billing_agent"
            ]),
            json!([
                "circular handoff",
                "guard pair, then a person",
                format!(
                    "repeated_pair: technical_agent has already handed the turn to billing_agent, a second time is a \
                     loop: {circle}"
                )
            ]),
            json!([
                "circular handoff",
                "guard cap, then a person",
                format!(
                    "handoff_limit_exceeded: 5 handoff(s) are the most, a further one is not taken: {circle} → \
                     technical_agent → billing_agent"
                )
            ]),
            json!([
                "lost constraints",
                "guard package",
                "invalid_package: the package is not valid: `constraints` is missing"
            ]),
            json!([
                "stale artifact",
                "guard package",
                "invalid_package: the package is not valid: `artifacts.user_words` is written by code on this route; \
                 leave it out"
            ]),
            json!([
                "skipped validation",
                "loading",
                "not a saved step: the handoff is not the one that its call asks for"
            ]),
            json!([
                "target not ready",
                "guard ready",
                "target_not_ready: billing_agent is not ready: it lacks refund_charge"
            ]),
        ]
    );
}

#[test]
fn after_each_failure_somebody_has_the_query() {
    let after = of_failures(&document(""), |failure| {
        json!([failure["after"]["end"], failure["after"]["agent"], failure["after"]["handoffs"]])
    });
    assert_eq!(
        after,
        [
            json!(["answered", "billing_agent", 1]),
            json!(["unresolved", "triage_agent", 0]),
            json!(["answered", "billing_agent", 1]),
            json!(["taken_over", "technical_agent", 3]),
            json!(["taken_over", "technical_agent", 5]),
            json!(["answered", "billing_agent", 1]),
            json!(["answered", "billing_agent", 1]),
            json!(["answered", "billing_agent", 1]),
            json!(["answered", "triage_agent", 0]),
        ]
    );
}

/// The handoffs of a circle of this many, the last of them not ended: sender, receiver, end.
fn circle(hops: usize) -> Vec<Value> {
    let (technical, billing) = ("technical_agent", "billing_agent");
    let agents = ["triage_agent", technical, billing, technical, billing, technical];
    let pairs = agents.windows(2).take(hops).enumerate();
    pairs.map(|(n, pair)| json!([pair[0], pair[1], (n + 1 < hops).then_some("handed_on")])).collect()
}

#[test]
fn a_person_sees_the_whole_circle() {
    let document = document("");
    let escalated = of_failures(&document, |failure| failure["escalated"].clone());
    let asked: Vec<&Value> = escalated.iter().filter(|seen| !seen.is_null()).collect();
    let [pair, cap] = asked[..] else { panic!("{asked:?}") };
    for (seen, guard, question, hops) in
        [(pair, "pair", "circle/1/4/0/escalation", 3), (cap, "cap", "circle/1/6/0/escalation", 5)]
    {
        let log: Vec<Value> = circle(hops);
        let seen_log: Vec<Value> = seen["log"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hop| json!([hop["from"], hop["to"], hop["end"]]))
            .collect();
        assert_eq!(
            (&seen["guard"], &seen["question"], &seen["from"], &seen["choices"], &seen["customer"], seen_log),
            (
                &json!(guard),
                &json!(question),
                &json!("technical_agent"),
                &json!(["reject", "take_over"]),
                &json!("The app crashes when I pay."),
                log
            )
        );
    }
}

#[test]
fn another_cap_lets_as_many_receivers_in() {
    for cap in [4, 7, 8] {
        let document = document(&format!("--cap {cap}"));
        let circles = of_failures(&document, |failure| failure["after"]["handoffs"].clone());
        assert_eq!((&circles[3], &circles[4]), (&json!(3), &json!(cap)), "{cap}");
    }
}

#[test]
fn wrong_use_is_told() {
    example().check_wrong_use();
    for cap in ["3", "9", "many"] {
        let run = example().run(&format!("--cap {cap}"), 2);
        assert_eq!(run.stdout, "", "{cap}");
        assert!(run.stderr.contains("--cap"), "{cap}: {}", run.stderr);
    }
}

#[test]
fn spans_go_to_stderr() {
    example().check_traces_of("triage_agent", |line| serde_json::from_str::<Value>(line).is_ok());
}
