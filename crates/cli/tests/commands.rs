//! Each command as text and as JSON.
#![allow(clippy::unwrap_used, reason = "a test says so by panicking")]

mod harness;

use harness::{BOOKING, Place, RUNNING_CASE};
use serde_json::{Value, json};

const NOW: u64 = 1_796_032_800_000;
const ANSWER: &str = "The quote is 6000 cents.\nIf nobody shows up, the room is released 15 minutes after the start of the \
                      booking. Charge: 100 % of the quote plus 500 cents fee (POL-NOSHOW). Not showing up costs 6500 cents.";

/// A journal in which `a` was answered after a handoff and `b` waits for a person.
fn two_runs() -> Place {
    let place = Place::new();
    place.then(&["ask", "--conversation", "a", RUNNING_CASE]).fine();
    assert_eq!(place.then(&["ask", "--conversation", "b", BOOKING]).code, 3);
    place
}

fn hop() -> Value {
    json!({
        "id": "a/1/2/0", "number": 1, "from": "booking_agent", "to": "policy_agent", "at": NOW,
        "package": {
            "task": "What happens if the customer does not show up for the booking?",
            "context": { "quoted_cents": 6000 },
        },
        "package_bytes": 105, "history_bytes": 406, "outcome": "taken", "end": "done", "open_items": [],
    })
}

fn answered() -> Value {
    json!({
        "run": "a", "end": "answered", "why": null, "again": null, "answer": ANSWER, "answer_id": "a/1/4", "last_agent": "policy_agent",
        "model": "offline-rules", "hops": [hop()], "refusals": [], "model_calls": 4, "tool_calls": 2,
        "done": [], "done_before": [], "waiting": [], "kept": [],
    })
}

fn question(place: &Place, digest: &Value) -> Value {
    let digest = digest.as_str().unwrap();
    let command = format!("sommelier --store {} answer --digest {digest} b/1/1/0", place.journal().display());
    json!({
        "id": "b/1/1/0", "run": "b", "path": "b", "agent": "booking_agent", "since": NOW,
        "model": "offline-rules", "asks": "tool",
        "digest": digest, "tool": "book",
        "input": {
            "room": "Studio", "plan": "basic", "date": "2026-12-01", "start_hour": 14, "hours": 2, "customer": "Ada",
        },
        "choices": ["approve", "reject"], "commands": [format!("{command} approve"), format!("{command} reject 'WHY'")],
        "hops": [],
    })
}

#[test]
fn ask_prints_the_answer_who_gave_it_how_it_came_there_and_the_run() {
    let said = Place::new().then(&["ask", "--conversation", "a", RUNNING_CASE]).fine();
    let rest = "policy_agent answered, decisions by offline-rules\n\
                booking_agent → policy_agent with 105 bytes, 406 stay behind\nrun a\n";
    assert_eq!(said, format!("{ANSWER}\n\n{rest}"));
    assert_eq!(Place::new().json(&["ask", "--conversation", "a", RUNNING_CASE]), answered());
}

#[test]
fn ask_begins_a_new_run_each_time_and_says_which() {
    let place = Place::new();
    let runs =
        [(); 2].map(|()| place.json(&["ask", "Quote Focus pro 3h"])["run"].as_str().unwrap().to_owned());
    assert_ne!(runs[0], runs[1]);
    let text = place.then(&["resume", &runs[0]]).fine();
    assert!(text.ends_with(&format!("\nrun {}\n", runs[0])), "{text}");
    assert_eq!(place.json(&["runs"])["runs"].as_array().map(Vec::len), Some(2));
}

/// T24, T25.
#[test]
fn a_text_under_a_key_is_answered_once_and_the_same_whenever_it_comes() {
    let place = Place::new();
    let ask = |text| place.then(&["--json", "ask", "--conversation", "a", "--key", "m-1", text]);
    let first = ask("Quote Focus pro 3h");
    place.then(&["ask", "--conversation", "a", "Quote Studio basic 2h"]).fine();
    assert_eq!(ask("Quote Focus pro 3h"), first);
    assert_eq!(place.json(&["runs"])["runs"][0]["turns"], 2);
    let other = ask("Quote Focus pro 4h");
    assert_eq!((other.code, &other.json()["error"]["code"]), (2, &json!("key_reused")));
}

#[test]
fn a_run_that_waits_says_for_what_and_how_to_answer() {
    let place = Place::new();
    let said = place.then(&["ask", "--conversation", "b", BOOKING]);
    let digest = place.json(&["inbox"])["questions"][0]["digest"].clone();
    let mut row = question(&place, &digest);
    let digest = digest.as_str().unwrap();
    let question = format!(
        "b/1/1/0\n  asked by   booking_agent, in b\n  since      2026-11-30 10:00:00.000 UTC\n  may run    book {}\n  \
         digest     {digest}\n  handoffs   none\n  {}\n  {}",
        r#"{"room":"Studio","plan":"basic","date":"2026-12-01","start_hour":14,"hours":2,"customer":"Ada"}"#,
        row["commands"][0].as_str().unwrap(),
        row["commands"][1].as_str().unwrap(),
    );
    let begins = "The run waits for an answer. What is asked has not been done.";
    assert_eq!((said.code, said.out), (3, format!("{begins}\n\n{question}\n\nrun b\n")));
    // Whoever did not see the user's words sees them in the inbox.
    let heard = question.replacen("\n  sommelier", &format!("\n  user said  \"{BOOKING}\"\n  sommelier"), 1);
    assert_eq!(place.then(&["inbox"]).fine(), format!("{heard}\n"));
    row["said"] = json!(BOOKING);
    let none = json!({ "total": 0, "last": null, "reasons": {} });
    assert_eq!(
        place.json(&["inbox"]),
        json!({ "questions": [row], "invitations": [], "refused_tokens": none })
    );
}

#[test]
fn runs_lists_how_each_run_stands() {
    let place = two_runs();
    let text = "a  answered at policy_agent  1 turn, 1 hop, 22 records  2026-11-30 10:00:00.000 UTC\n\
                b  waiting at booking_agent  1 turn, 0 hops, 8 records, 1 question open  2026-11-30 10:00:00.000 UTC\n";
    assert_eq!(place.then(&["runs"]).fine(), text);
    let run = |id: &str, status: &str, agent: &str, hops: u32, questions: u32, records: u32| {
        json!({
            "id": id, "status": status, "agent": agent, "turns": 1, "hops": hops, "questions": questions,
            "records": records, "epoch": 1, "began": NOW, "updated": NOW,
        })
    };
    let runs =
        [run("a", "answered", "policy_agent", 1, 0, 22), run("b", "waiting", "booking_agent", 0, 1, 8)];
    assert_eq!(place.json(&["runs"]), json!({ "runs": runs }));
}

/// Whoever decides sees what was said since, too, and of long words the beginning; a program gets all of them.
#[test]
fn the_inbox_tells_what_the_user_has_said() {
    let place = Place::new();
    let long = format!("{BOOKING}. {}\u{200b}", "Please. ".repeat(60));
    place.then(&["ask", "--conversation", "b", &long]);
    place.then(&["ask", "--conversation", "b", "or rather not"]);
    let begin: String = long.chars().take(400).collect();
    let text = place.then(&["inbox"]).fine();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(" said")).collect();
    assert_eq!(lines, [&*format!("  user said  \"{begin}…\""), "  said since \"or rather not\""]);
    let question = &place.json(&["inbox"])["questions"][0];
    assert_eq!((&question["said"], &question["kept"]), (&json!(long.trim()), &json!(["or rather not"])));
}

/// A run that lasts has the day where it changes, above the times of it.
#[test]
fn show_tells_which_day_a_time_is_of() {
    let place = Place::new();
    for (now, words) in
        [("2026-11-30T23:59", "Quote Focus pro 3h"), ("2026-12-01T00:01", "Quote Studio basic 2h")]
    {
        place.says(&["--now", now, "ask", "--conversation", "a", words]).fine();
    }
    let text = place.then(&["show", "a"]).fine();
    let days: Vec<&str> = text.lines().filter(|line| line.trim().starts_with("2026-")).collect();
    assert_eq!(days, ["              2026-12-01"]);
    let at = |words: &str| text.lines().position(|line| line.contains(words)).unwrap();
    assert_eq!(at("  00:01:00.000  "), at("              2026-12-01") + 1);
    assert!(at("  23:59:00.000  ") < at("              2026-12-01"));
}

#[test]
fn show_tells_a_run_record_by_record() {
    let place = two_runs();
    let (text, short) = (place.then(&["show", "a", "--all"]).fine(), place.then(&["show", "a"]).fine());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "a  answered at policy_agent  1 turn, 1 hop, 22 records  2026-11-30 10:00:00.000 UTC"
    );
    assert_eq!(lines[3], "  seq  epoch  time          what");
    assert!(
        lines[4].starts_with(r#"    1      1  10:00:00.000  lease_taken         {"owner":"process-"#),
        "{}",
        lines[4]
    );
    // Who drives a run is shown where it is asked for.
    let without = text.lines().filter(|line| !line.contains(" lease_taken "));
    assert_eq!(short.lines().collect::<Vec<_>>(), without.collect::<Vec<_>>());
    let kinds: Vec<&str> = lines[4..26].iter().filter_map(|line| line.split_whitespace().nth(3)).collect();
    let expected = [
        "lease_taken",
        "opened",
        "turn_received",
        "model_requested",
        "model_responded",
        "planned",
        "tool_intended",
        "tool_completed",
        "model_requested",
        "model_responded",
        "planned",
        "handoff_committed",
        "model_requested",
        "model_responded",
        "receiver_accepted",
        "planned",
        "tool_intended",
        "tool_completed",
        "model_requested",
        "model_responded",
        "obligation_closed",
        "closed",
    ];
    assert_eq!(kinds, expected);
    let committed = r#"   12      1  10:00:00.000  handoff_committed   booking_agent → policy_agent with 105 bytes, 406 stay behind: {"task":"What happens if the customer does not show up for the booking?","context":{"quoted_cents":6000}}"#;
    assert_eq!(lines[15], committed);
    let last = "    1  a/1/2/0  booking_agent → policy_agent with 105 bytes, 406 stay behind; done";
    assert_eq!(&lines[26..29], ["", "handoffs", last]);

    let shown = place.json(&["show", "a"]);
    let timeline = shown["timeline"].as_array().unwrap();
    assert_eq!(timeline.iter().map(|record| record["kind"].as_str().unwrap()).collect::<Vec<_>>(), expected);
    let opened = &timeline[1];
    let definition = &opened["body"]["what"]["opened"]["definition"];
    let body = json!({ "run": "a", "at": NOW, "what": { "opened": { "definition": definition, "agent": "booking_agent" } } });
    assert_eq!(
        *opened,
        json!({ "seq": 2, "epoch": 1, "at": NOW, "kind": "opened", "version": 1, "body": body })
    );
    let rest =
        json!([shown["run"]["status"], shown["answer"], shown["hops"], shown["waiting"], shown["late"]]);
    assert_eq!(rest, json!(["answered", ANSWER, [hop()], [], []]));
}

#[test]
fn a_run_that_has_ended_is_resumed_by_the_answer_on_record() {
    let place = two_runs();
    let before = place.json(&["export", "--heads"]);
    assert_eq!(place.json(&["resume", "a"]), answered());
    assert_eq!(place.json(&["export", "--heads"]), before);
}

#[test]
fn a_run_is_known_by_a_prefix_that_no_other_has() {
    let place = Place::new();
    for name in ["guest-7", "guest-77", "host"] {
        place.then(&["ask", "--conversation", name, "Quote Focus pro 3h"]).fine();
    }
    assert_eq!(place.json(&["resume", "h"])["run"], "host");
    // A whole name is that run, whichever others begin with it.
    assert_eq!(place.json(&["resume", "guest-7"])["run"], "guest-7");
    let said = place.then(&["resume", "guest"]);
    let told = r#"sommelier: 2 runs begin with "guest", "guest-7" and "guest-77" among them; say more of it"#;
    assert_eq!((said.code, said.err), (2, format!("{told}\n")));
}

#[test]
fn answer_goes_on_with_the_run_that_asks() {
    let place = two_runs();
    let digest = place.json(&["inbox"])["questions"][0]["digest"].as_str().unwrap().to_owned();
    let other = place.then(&["answer", "b/1/1/0", "approve", "--digest", "0123456789abcdef"]);
    assert_eq!(other.code, 2, "{other:?}");
    assert!(other.err.contains("is to a question with the digest 0123456789abcdef"), "{other:?}");
    let said = place.then(&["answer", "b/1/1/0", "approve", "--digest", &digest, "--by", "kim"]).fine();
    let booked = "Booked: Studio basic on 2026-12-01 at 14:00 for 2 hours, for Ada. The booking is RSV-0006 and costs 8000 cents.";
    let done = "Done: book RSV-0006, 8000 cents";
    assert_eq!(
        said,
        format!("{booked}\n\n{done}\n\nbooking_agent answered, decisions by offline-rules\nrun b\n")
    );
    let shown = place.then(&["show", "b"]).fine();
    assert!(shown.contains(r#"human_answered      b/1/1/0: "Approve", by "kim""#), "{shown}");
    assert_eq!(place.then(&["inbox"]).fine(), "Nothing waits for a person.\n");

    // T48.
    let again = place.then(&["answer", "b/1/1/0", "reject", "too late"]);
    assert_eq!(
        (again.code, &*again.err),
        (
            2,
            "sommelier: b/1/1/0 has been answered before, with approve; `sommelier resume b` tells what came of it\n"
        )
    );
}

#[test]
fn a_rejection_goes_to_the_agent_with_its_reason() {
    let place = two_runs();
    let said = place.json(&["answer", "b/1/1/0", "reject", "the room is painted"]);
    assert_eq!((&said["end"], &said["tool_calls"]), (&json!("answered"), &json!(0)));
    assert!(said["answer"].as_str().unwrap().contains("the room is painted"), "{said}");
}

#[test]
fn an_answer_that_the_question_does_not_have_is_refused_with_those_it_has() {
    let place = two_runs();
    let before = place.json(&["inbox"]);
    for (given, word) in
        [(&["say", "yes"][..], "say"), (&["undone"], "undone"), (&["take-over", "kim"], "take_over")]
    {
        let said = place.then(&[&["answer", "b/1/1/0"], given].concat());
        let word = word.replace('_', "-");
        let told = format!("sommelier: {word:?} is no answer to b/1/1/0; possible: approve, reject\n");
        assert_eq!((said.code, said.err), (2, told));
    }
    assert_eq!(place.json(&["inbox"]), before);
}

#[test]
fn cancel_ends_a_run_where_it_stands() {
    let place = two_runs();
    let said = place.then(&["cancel", "b", "--reason", "Ada called"]);
    let text = "The run was called off, so it has no answer.\n\nNothing was done in this turn.\n\n\
                booking_agent had the turn, decisions by offline-rules\nrun b\n";
    assert_eq!((said.code, &*said.out), (0, text));
    assert_eq!(place.json(&["runs"])["runs"][1]["status"], "cancelled");
    assert_eq!(place.then(&["inbox"]).fine(), "Nothing waits for a person.\n");
    let again = place.then(&["cancel", "b"]);
    let before = "It had been called off before, and nothing was done now.\n\n";
    assert_eq!((again.code, again.out), (0, format!("{before}{text}")));
    // T28: what has ended stays as it ended.
    assert_eq!(place.json(&["cancel", "a"]), answered());
    let ended = place.then(&["cancel", "a"]);
    let told = "Nothing was called off: the run had ended before, as answered. What it came to stands:\n\n";
    assert_eq!((ended.code, ended.out), (1, format!("{told}{}", place.then(&["resume", "a"]).fine())));
}

#[test]
fn export_prints_a_record_a_line_and_heads_are_where_each_run_ends() {
    let place = two_runs();
    let out = place.then(&["export"]).fine();
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 30);
    assert_eq!(lines[2]["body"]["what"]["turn_received"]["text"], RUNNING_CASE);
    for (line, next) in
        lines.iter().zip(&lines[1..]).filter(|(line, next)| line["conversation"] == next["conversation"])
    {
        assert_eq!(line["hash"], next["prev_hash"]);
    }
    let head = |line: &Value| json!({ "seq": line["seq"], "hash": line["hash"] });
    assert_eq!(place.json(&["export", "--heads"]), json!({ "a": head(&lines[21]), "b": head(&lines[29]) }));
}

#[test]
fn verify_finds_a_journal_sound() {
    let place = two_runs();
    assert_eq!(
        place.then(&["verify"]).fine(),
        "2 conversations, 30 records, 5 bookings (the house begins with 5): sound\n"
    );
    let sound = json!({ "sound": true, "conversations": 2, "records": 30, "not_looked_at": 0, "findings": [], "unplayed": [], "ledger": { "bookings": 5, "from_start": 5, "findings": [] }, "claims": [], "heads": null });
    assert_eq!(place.json(&["verify"]), sound);
}

#[test]
fn replay_takes_one_handoff_again_and_leaves_nothing_on_record() {
    let place = two_runs();
    let before = place.then(&["export"]);
    let said = place.json(&["replay", "a"]);
    let expected = json!({
        "hop": "a/1/2/0", "from": "booking_agent", "to": "policy_agent", "receiver": "policy_agent",
        "package_bytes": 105, "ruling": "taken", "outcome": answered(),
    });
    assert_eq!(said["outcome"]["answer"], ANSWER);
    assert_eq!((&said["receiver"], &said["ruling"]), (&expected["receiver"], &expected["ruling"]));
    let text = place.then(&["replay", "a", "--from", "a/1/2/0", "--to", "pricing_agent"]).fine();
    let told = "a/1/2/0: booking_agent → pricing_agent with 105 bytes, in a replay: nothing is on record";
    assert!(text.contains(told), "{text}");
    let refused = place.then(&["replay", "a", "--from", "1", "--to", "booking_agent"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(
        refused.out.ends_with(
            "booking_agent → booking_agent refused: booking_agent cannot hand the turn to itself\n"
        )
    );
    assert_eq!(place.then(&["export"]), before);
}

/// C97.
#[test]
fn a_replay_has_no_effect() {
    let place = Place::new();
    place.then(&["ask", "--conversation", "c", "What happens if I don't show up?"]).fine();
    let waits = place.json(&["ask", "--conversation", "c", BOOKING]);
    assert_eq!(
        (&waits["hops"][0]["to"], &waits["end"]),
        (&json!("booking_agent"), &json!("waiting")),
        "{waits}"
    );
    place.then(&["answer", waits["waiting"][0]["id"].as_str().unwrap(), "approve"]).fine();
    let before = place.then(&["export"]);
    let said = place.json(&["replay", "c"]);
    assert!(said["outcome"]["answer"].as_str().unwrap().contains("this is a replay"), "{said}");
    assert_eq!(place.then(&["export"]), before);
}

#[test]
fn chat_goes_on_whenever_it_is_called_again() {
    let place = Place::new();
    let first = place.hears("Quote Focus pro 3h\n\n", &["--now", "2026-11-30T10:00", "chat"]).fine();
    let told = "\n\nbooking_agent answered, decisions by offline-rules\nrun chat\n";
    assert_eq!(first, format!("Focus pro for 3 hours costs 6000 cents.{told}"));
    let again =
        place.hears("And Studio basic 2h?\n", &["--json", "--now", "2026-11-30T10:00", "chat"]).json();
    assert_eq!(
        (&again["run"], &again["before"]["answer"]),
        (&json!("chat"), &json!("Focus pro for 3 hours costs 6000 cents."))
    );
    assert_eq!(again["turns"][0]["text"], "And Studio basic 2h?");
    assert_eq!(again["turns"][0]["outcome"]["answer"], "Studio basic for 2 hours costs 8000 cents.");
    assert_eq!(place.json(&["runs"])["runs"][0]["turns"], 2);
}

#[test]
fn chat_shows_what_it_waits_for_and_what_came_of_it_elsewhere() {
    let place = Place::new();
    let waits = place.hears(&format!("{BOOKING}\n"), &["chat", "ada"]);
    assert_eq!(waits.code, 3);
    assert!(waits.out.contains("ada/1/1/0\n  asked by   booking_agent"), "{waits:?}");
    place.says(&["answer", "ada/1/1/0", "approve"]).fine();
    let on = place.hears("Quote Focus pro 3h\n", &["chat", "--conversation", "ada"]).fine();
    let booked = place.says(&["--json", "resume", "ada"]).json();
    let lines: Vec<&str> = on.lines().filter(|line| !line.is_empty()).collect();
    let by = ["booking_agent answered, decisions by offline-rules", "run ada"];
    let before = [
        "From before, the last answer in this conversation:",
        "Booked: Studio basic on 2026-12-01 at 14:00 for 2 hours, for Ada. The booking is RSV-0006 and costs 8000 cents.",
        "Done: book RSV-0006, 8000 cents",
    ];
    assert_eq!(lines, [&before[..], &by, &["Focus pro for 3 hours costs 6000 cents."], &by].concat());
    // What was done is told in the turn in which it was done.
    assert_eq!((&booked["done"], booked["done_before"].as_array().map(Vec::len)), (&json!([]), Some(1)));
}

#[test]
fn words_for_who_has_taken_over_are_not_answered_by_an_agent() {
    let place = two_runs();
    place.then(&["cancel", "b"]);
    let said = place.hears("Are you there?\n", &["--now", "2026-11-30T10:00", "chat", "b"]);
    assert_eq!(said.code, 2);
    assert!(
        said.err.starts_with(r#"sommelier: "b" ended as cancelled, so agents do not go on by themselves"#),
        "{said:?}"
    );
    assert_eq!(place.then(&["ask", "--conversation", "b", "Quote Focus pro 3h"]).code, 0);
}

#[test]
fn sweep_finds_nothing_where_nothing_is_left_behind() {
    let place = two_runs();
    assert_eq!(place.then(&["sweep"]).fine(), "No run is left behind.\n");
    assert_eq!(place.json(&["sweep"]), json!({ "swept": [], "leased": [] }));
}
