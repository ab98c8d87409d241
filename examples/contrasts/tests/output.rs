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
    Lesson::example("contrasts", env!("CARGO_BIN_EXE_contrasts"))
}

/// What the program shows with these flags, where all that it claims holds.
fn document(flags: &str) -> Value {
    serde_json::from_str(&example().run(&format!("--json {flags}"), 0).stdout).unwrap()
}

/// A member of each row, in order.
fn column(rows: &Value, name: &str) -> Vec<Value> {
    rows.as_array().unwrap().iter().map(|row| row[name].clone()).collect()
}

#[test]
fn the_page_shows_what_is_printed() {
    example().check_page();
}

#[test]
fn the_answer_and_the_model_calls_are_the_same_four_ways() {
    let document = document("");
    let answer = "Yes [clause 7]. It costs 48 euros: 10 percent of the monthly rent of 480.";
    for (rows, calls) in [(&document["short"], 4), (&document["long"], 10)] {
        assert_eq!(column(rows, "way"), ["command", "tasks", "speaker", "package"]);
        assert_eq!(column(rows, "answer"), [answer; 4]);
        assert_eq!(column(rows, "model_calls"), [calls; 4]);
        assert_eq!(column(rows, "hops"), [1, 0, 1, 1]);
    }
    assert_eq!(document["model"], "concept (claude-sonnet-5)");
}

/// S1-23, S1-25, S3-27, R6: where a history goes along, its bytes grow with the work before. The package stays, and is
/// the smallest of those that an agent decides on. The bytes are those of the messages that the receiver was sent.
#[test]
fn a_history_grows_with_the_work_and_a_package_stays() {
    for (steps, bytes) in [(1, [897, 261, 942, 350]), (20, [6075, 261, 6120, 350])] {
        let document = document(&format!("--steps {steps}"));
        assert_eq!(column(&document["short"], "crossing_bytes"), [627, 261, 672, 350]);
        assert_eq!(column(&document["long"], "crossing_bytes"), bytes, "{steps}");
        assert_eq!(column(&document["long"], "messages"), [5 + 2 * steps, 1, 5 + 2 * steps, 1], "{steps}");
    }
}

/// What an agent did not write on, its receiver knows only where the history went along.
#[test]
fn what_was_not_written_on_is_known_with_a_history_alone() {
    let document = document("");
    assert_eq!(column(&document["short"], "knows_tenant"), [true, false, true, false]);
    for row in document["short"].as_array().unwrap() {
        let saw = row["receiver_saw"].to_string();
        assert_eq!(row["knows_tenant"], saw.contains("Lovelace Looms"), "{saw}");
    }
}

/// S1-23: a node is given the state that all share: who is active, the log, the messages, the artifacts.
#[test]
fn a_command_changes_a_state_that_all_nodes_share() {
    let document = document("");
    let ran = &document["short"][0];
    let mut state: Value = serde_json::from_str(ran["given"].as_str().unwrap()).unwrap();
    let messages = state.as_object_mut().unwrap().remove("messages").unwrap();
    assert_eq!(messages, ran["receiver_saw"]);
    assert_eq!(
        state,
        json!({
            "active_agent": "legal_agent",
            "handoff_log": [["support", "legal_agent"]],
            "artifacts": { "monthly_rent": 480 },
        })
    );
}

/// S1-24: a task's agent reads its description, what is expected, and the output of the task that its context lists.
#[test]
fn a_task_receives_the_output_that_its_context_lists() {
    let document = document("");
    let ran = &document["short"][1];
    assert_eq!(ran["given"], "Contract C-12 has a monthly rent of 480.");
    assert_eq!(
        ran["receiver_saw"],
        json!([{
            "role": "user",
            "content": "Answer from the terms: May I pass on my contract C-12 to another company, and what would it cost?\n\
                        Expected: whether it may be done, and what it costs, with the clause.\n\
                        From earlier tasks:\nContract C-12 has a monthly rent of 480.",
        }])
    );
}

/// S1-25: the new speaker reads the conversation from its beginning, and the notice stands last.
#[test]
fn a_new_speaker_reads_the_history_and_then_a_notice() {
    let document = document("");
    let saw = &document["short"][2]["receiver_saw"];
    assert_eq!(saw[0]["content"], document["request"]);
    assert_eq!(saw[1]["content"][0]["name"], "get_contract");
    assert_eq!(saw[3]["content"][0]["name"], "transfer_to_legal_agent");
    assert_eq!(saw[4]["content"][1]["text"], "support has given the floor to legal_agent.");
    assert_eq!(saw.as_array().unwrap().len(), 5);
}

/// With the package crosses what support wrote into it, and nothing else of the conversation.
#[test]
fn our_receiver_reads_the_package() {
    let document = document("");
    let ran = &document["short"][3];
    let package = r#"{"task":"May the customer pass this contract on, and what does it cost?","context":{"contract":"C-12","monthly_rent":480}}"#;
    assert_eq!(ran["given"], package);
    let saw = ran["receiver_saw"].as_array().unwrap();
    assert_eq!(saw.len(), 1);
    assert!(saw[0]["content"].as_str().unwrap().contains(package), "{saw:?}");
    assert_eq!(column(&document["short"], "given_bytes"), [744, 40, 672, package.len()]);
}

#[test]
fn everything_that_is_claimed_holds() {
    for flags in ["", "--steps 1", "--steps 20"] {
        let claims = document(flags)["claims"].clone();
        assert_eq!(column(&claims, "holds"), [true; 8], "{flags}: {claims}");
    }
}

#[test]
fn wrong_use_is_told() {
    example().check_wrong_use();
    for (flags, told) in [
        ("--steps 21", "--steps 21: 1 to 20 are possible"),
        ("--steps 0", "--steps 0: 1 to 20 are possible"),
        ("--steps many", "--steps many: a whole number is wanted"),
    ] {
        let run = example().run(flags, 2);
        assert_eq!(run.stdout, "", "{flags}");
        assert!(run.stderr.contains(told), "{flags}: {}", run.stderr);
    }
}

/// The imitations with a conversation of their own have no runner, so the spans are those of the other two.
#[test]
fn spans_go_to_stderr() {
    example().check_traces_of("support", |line| serde_json::from_str::<Value>(line).is_ok());
}
