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

fn example() -> Lesson {
    Lesson::example("mini-agents", env!("CARGO_BIN_EXE_mini-agents"))
}

/// What the program shows with these flags, where all that it claims holds.
fn document(flags: &str) -> Value {
    serde_json::from_str(&example().run(&format!("--json {flags}"), 0).stdout).unwrap()
}

/// The members of this name of each row, in order.
fn column(rows: &Value, name: &str) -> Vec<Value> {
    rows.as_array().unwrap().iter().map(|row| row[name].clone()).collect()
}

#[test]
fn the_page_shows_what_is_printed() {
    example().check_page();
}

/// S3-06, S3-10, S3-11, S3-12, S3-13, S3-21, S3-22: both questions in one message, the joint answer over both fixtures,
/// and two links from the run that asked. Each finding has what it rests on and what it recommends beside it.
#[test]
fn a_supervisor_answers_both_halves_over_two_links() {
    let document = document("");
    let link = |child: &str, tool: &str, question: &str, bytes: u32, finding: &str, id: &str| {
        json!({
            "parent_run": "both",
            "child_run": child,
            "from": "supervisor",
            "tool": tool,
            "package": { "task": question, "context": {} },
            "package_bytes": bytes,
            "status": "done",
            "finding": finding,
            "evidence": [id],
            "reason": null,
            "steps_used": 2,
        })
    };
    let mut billing = link(
        "both/1/1/0",
        "ask_billing",
        "Was INV-311 paid twice?",
        47,
        "INV-311 was paid twice.",
        "INV-311",
    );
    billing["action_needed"] = json!("refund 49.00");
    let refund = "INV-311 was paid twice; next: refund 49.00.";
    let parcel = "A-7 is in transit, expected on 2026-09-30.";
    assert_eq!(
        document["supervisor"]["run"],
        json!({
            "answer": format!("{refund} {parcel}"),
            "last_agent": "supervisor",
            "end": "answered",
            "model": "concept (claude-sonnet-5)",
            "hops": [],
            "model_calls": 6,
            "tool_calls": 2,
            "refusals": [],
            "links": [
                billing,
                link("both/1/1/1", "ask_shipping", "Where is parcel A-7?", 44, parcel, "A-7"),
            ],
        })
    );
}

/// S3-07, S3-09: what the supervisor holds is six messages in the form of OpenAI, and the two calls stand in one.
#[test]
fn a_supervisor_holds_six_messages() {
    assert_eq!(
        document("")["supervisor"]["openai_roles"],
        json!(["system", "user", "assistant", "tool", "tool", "assistant"])
    );
    assert!(example().run("", 0).stdout.contains("  assistant    calls ask_billing, ask_shipping\n"));
}

/// S3-14, S3-17, S3-19, R14: hop 0 goes to billing with triage's summary and, by code, the customer's last message; what
/// was said before stays behind. With the turn, prompt and tools are others.
#[test]
fn triage_hands_over_with_a_note_and_the_customers_message() {
    let handoff = &document("")["handoff"];
    assert_eq!(
        handoff["run"]["hops"],
        json!([{
            "from": "triage",
            "to": "billing",
            "package": {
                "task": "Find out how often INV-311 was paid.",
                "context": {},
                "artifacts": { "user_words": "Was INV-311 charged twice?" },
            },
            "package_bytes": 116,
            "history_bytes": 206,
            "outcome": "taken",
        }])
    );
    let given = |asked: &Value| (asked["agent"].clone(), asked["tools"].clone(), asked["messages"].clone());
    let asked: Vec<_> = handoff["asked"].as_array().unwrap().iter().map(given).collect();
    let [triage, billing] =
        [json!(["handoff_to_specialist"]), json!(["get_invoice", "handoff_to_specialist"])];
    assert_eq!(
        asked,
        [
            (json!("triage"), triage.clone(), json!(1)),
            (json!("triage"), triage, json!(3)),
            (json!("billing"), billing.clone(), json!(1)),
            (json!("billing"), billing.clone(), json!(3)),
            (json!("billing"), billing, json!(5)),
        ]
    );
    let prompts = column(&handoff["asked"], "prompt");
    assert_eq!(prompts[0], prompts[1]);
    assert_ne!(prompts[1], prompts[2]);
}

/// S3-16, S3-19: the customer talks to one assistant. Billing answers itself, and has the next message too.
#[test]
fn the_customer_goes_on_talking_to_one_assistant() {
    assert_eq!(
        document("")["handoff"]["customer_sees"],
        json!([
            {
                "customer": "Hello, I have a question about my last order.",
                "assistant": "What is it about?",
                "by": "triage",
            },
            {
                "customer": "Was INV-311 charged twice?",
                "assistant": "INV-311 was paid twice; next: refund 49.00.",
                "by": "billing",
            },
            {
                "customer": "And when do I get the money back?",
                "assistant": "The 49.00 go back the way they came when the refund has been approved.",
                "by": "billing",
            },
        ])
    );
    let seen = example().run("", 0).stdout;
    let (_, seen) = seen.split_once("What the customer sees:\n").unwrap();
    let (seen, _) = seen.split_once("\n\n").unwrap();
    let speakers: Vec<&str> = seen.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(speakers, ["you", "assistant", "you", "assistant", "you", "assistant"]);
}

/// S3-15, S3-18: agents that always transfer are stopped by a counter in code, after at most one activation more than
/// there may be transfers. Then a person is asked, with the whole log, and takes over.
#[test]
fn a_loop_is_stopped_by_a_counter_and_a_person_is_asked() {
    for (flags, hops, guard) in [
        ("--handoffs 0", vec![], "cap"),
        ("--handoffs 1", vec!["billing"], "cap"),
        ("", vec!["billing", "triage"], "cap"),
        // A wider cap lets the loop no further in: the same pair a second time is refused by itself.
        ("--handoffs 3", vec!["billing", "triage"], "pair"),
        ("--handoffs 5", vec!["billing", "triage"], "pair"),
    ] {
        let looped = &document(flags)["loop"];
        assert_eq!(column(&looped["hops"], "to"), hops, "{flags}");
        let found = ["activations", "model_calls", "end", "then"].map(|name| looped[name].clone());
        let turns = json!(hops.len() + 1);
        assert_eq!(found, [turns.clone(), turns, json!("waiting"), json!("taken_over")], "{flags}");
        assert_eq!(column(&looped["refusals"], "guard"), [guard], "{flags}");
    }
    let text = example().run("", 0).stdout;
    // Long lines are broken on the terminal; the words are these.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "hop 0: triage → billing, 93 bytes: Look at this. \
                hop 1: billing → triage, 107 bytes: Not mine: see who takes it. \
                refused: triage → billing, 2 handoff(s) are the most, a further one is not taken: \
                triage → billing → triage → billing \
                escalated to a human, who takes over; triage had the turn";
    assert!(words.contains(told), "{text}");
}

/// S3-32: billing's tool fails three times. Shipping is answered all the same, and billing is told as unavailable. One
/// failure is tried again; two leave no call to tell what the third brought.
#[test]
fn a_desk_that_fails_is_told_and_the_other_half_is_answered() {
    let parcel = "A-7 is in transit, expected on 2026-09-30.";
    let spent = json!("budget_spent: 3 model call(s)");
    for (fails, billing, reason, steps) in [
        ("0", "INV-311 was paid twice; next: refund 49.00.", Value::Null, 2),
        ("1", "INV-311 was paid twice; next: refund 49.00.", Value::Null, 3),
        ("2", "Billing is unavailable.", spent.clone(), 3),
        ("3", "Billing is unavailable.", spent, 3),
    ] {
        let run = &document(&format!("--fails {fails}"))["billing_fails"]["run"];
        assert_eq!(run["answer"], format!("{billing} {parcel}"), "{fails}");
        assert_eq!(column(&run["links"], "reason"), [reason, Value::Null], "{fails}");
        assert_eq!(column(&run["links"], "steps_used"), [json!(steps), json!(2)], "{fails}");
    }
}

/// S3-29, S3-33: one budget for the whole tree. What a question used is taken off; with nothing left a further question
/// is answered with an error, and the supervisor answers for what it has.
#[test]
fn a_budget_over_all_ends_further_questions_with_an_error() {
    let row = |what: &str, used: u32, left: u32| json!({ "what": what, "used": used, "left": left });
    let refused = "ask_shipping is refused: no model calls are left for ask_shipping: 1 of 5, and one is kept for \
                   the answer";
    let begins = |budget: u32| {
        [
            row("supervisor asks", 1, budget - 1),
            row("ask_billing", 2, budget - 3),
            row("supervisor asks", 1, budget - 4),
        ]
    };
    for (budget, (what, used), answer, status) in [
        (5, (refused, 0), "Shipping could not be asked (budget_spent).", "refused"),
        (6, ("ask_shipping", 1), "Shipping is unavailable.", "failed"),
        (7, ("ask_shipping", 2), "A-7 is in transit, expected on 2026-09-30.", "done"),
        (50, ("ask_shipping", 2), "A-7 is in transit, expected on 2026-09-30.", "done"),
    ] {
        let found = &document(&format!("--budget {budget}"))["budget"];
        let left = budget - 4 - used;
        let end = [row(what, used, left), row("supervisor answers", 1, left - 1)];
        let spending: Vec<Value> = begins(budget).into_iter().chain(end).collect();
        assert_eq!(found["spending"], json!(spending), "{budget}");
        assert_eq!(found["run"]["answer"], format!("INV-311 was paid twice; next: refund 49.00. {answer}"));
        assert_eq!(column(&found["run"]["links"], "status"), ["done", status], "{budget}");
        assert_eq!(found["run"]["model_calls"], budget.min(7), "{budget}");
    }
}

/// S3-34: shipping is there too. A triage that errs once is mended by a transfer back, where the cap has room for it; one
/// that always errs ends at a person, at every cap.
#[test]
fn a_wrong_transfer_is_mended_by_one_back_and_the_cap_stops_ping_pong() {
    let document = document("");
    let rows = document["wrong_triage"].as_array().unwrap();
    let found: Vec<Vec<(Value, Value)>> = rows
        .iter()
        .map(|row| {
            let runs = row.as_array().unwrap().iter();
            runs.map(|run| (run["end"].clone(), run["activations"].clone())).collect()
        })
        .collect();
    let [answered, waiting] = ["answered", "waiting"].map(|end| move |turns: u32| (json!(end), json!(turns)));
    assert_eq!(
        found,
        [
            [waiting(1), waiting(1), waiting(1)],
            [answered(2), waiting(2), waiting(2)],
            [answered(2), waiting(3), waiting(3)],
            [answered(2), answered(4), waiting(3)],
            [answered(2), answered(4), waiting(3)],
        ]
    );
    let mended = &rows[3][1];
    assert_eq!(column(&mended["hops"], "to"), ["billing", "triage", "shipping"]);
    assert_eq!(mended["answer"], "A-7 is in transit, expected on 2026-09-30.");
    assert_eq!(mended["agent"], "shipping");
}

/// S3-23: an answer in free text is sent back once. One that is mended is taken; one that is not is refused, and the other
/// half is answered all the same.
#[test]
fn free_text_is_sent_back_and_then_refused() {
    let parcel = "A-7 is in transit, expected on 2026-09-30.";
    let refund = "INV-311 was paid twice; next: refund 49.00.";
    let broken = json!("contract_broken: free_text at answer");
    for (words, status, billing, reason, steps) in [
        ("0", "done", refund, Value::Null, 2),
        ("1", "done", refund, Value::Null, 3),
        ("2", "failed", "Billing's answer cannot be used.", broken, 3),
    ] {
        let run = &document(&format!("--words {words}"))["free_text"]["run"];
        assert_eq!(run["answer"], format!("{billing} {parcel}"), "{words}");
        assert_eq!(column(&run["links"], "status"), [status, "done"], "{words}");
        assert_eq!(column(&run["links"], "reason"), [reason, Value::Null], "{words}");
        assert_eq!(column(&run["links"], "steps_used"), [json!(steps), json!(2)], "{words}");
    }
}

#[test]
fn everything_that_is_claimed_holds() {
    for flags in [
        "",
        "--fails 0",
        "--budget 6",
        "--budget 50",
        "--words 0",
        "--words 1",
        "--handoffs 0",
        "--handoffs 5",
    ] {
        let claims = document(flags)["claims"].clone();
        assert_eq!(column(&claims, "holds"), [true; 36], "{flags}: {claims}");
    }
}

#[test]
fn wrong_use_is_told() {
    example().check_wrong_use();
    for (flags, told) in [
        ("--fails 4", "--fails 4: 0 to 3 are possible"),
        ("--budget 4", "--budget 4: 5 to 50 are possible"),
        ("--words 3", "--words 3: 0 to 2 are possible"),
        ("--handoffs 6", "--handoffs 6: 0 to 5 are possible"),
        ("--handoffs two", "--handoffs two: a whole number is wanted"),
    ] {
        let run = example().run(flags, 2);
        assert_eq!(run.stdout, "", "{flags}");
        assert!(run.stderr.contains(told), "{flags}: {}", run.stderr);
    }
}

#[test]
fn spans_go_to_stderr() {
    example().check_traces_of("triage", |line| serde_json::from_str::<Value>(line).is_ok());
}
