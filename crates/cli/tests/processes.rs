//! Several processes on one journal, and processes that die.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod harness;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use harness::{BOOKING, Place, RUNNING_CASE, said, while_at_work};
use serde_json::{Value, json};

/// What is on record of a run, by kind.
fn kinds(place: &Place, run: &str) -> Vec<String> {
    let shown = place.says(&["--json", "show", run]);
    if shown.code == 2 {
        return Vec::new();
    }
    let kind = |record: &Value| record["kind"].as_str().unwrap().to_owned();
    shown.json()["timeline"].as_array().unwrap().iter().map(kind).collect()
}

fn count(kinds: &[String], kind: &str) -> usize {
    kinds.iter().filter(|found| *found == kind).count()
}

/// Waits until so many records of a kind are there.
fn wait_for(place: &Place, run: &str, kind: &str, times: usize) {
    let start = Instant::now();
    while !place.journal().exists() || count(&kinds(place, run), kind) < times {
        assert!(start.elapsed() < Duration::from_secs(120), "{kind} is not there: {:?}", kinds(place, run));
        thread::sleep(Duration::from_millis(10));
    }
}

/// Ends the process as a crash does: nothing more runs in it.
fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A journal in which `a` was cut off by the death of its process as soon as its work was handed over.
fn interrupted(more: &[&str]) -> Place {
    while_at_work(400, |slow| {
        let place = Place::new();
        let slow = slow.to_string();
        let ask = ["--slow", &slow, "ask", "--conversation", "a", RUNNING_CASE];
        let ask = place.begin(&[&ask, more].concat());
        wait_for(&place, "a", "handoff_committed", 1);
        kill(ask);
        (count(&kinds(&place, "a"), "closed") == 0).then_some(place)
    })
}

/// The bookings that the ledger has beside those that it began with.
fn booked(place: &Place) -> i64 {
    let connection = rusqlite::Connection::open(place.journal()).unwrap();
    connection.query_row("SELECT count(*) FROM reservo_bookings WHERE id > 5", (), |row| row.get(0)).unwrap()
}

/// C89: all that the second process is told is the question's id.
#[test]
fn a_run_that_waits_in_one_process_is_approved_in_another_and_goes_on_there() {
    let place = Place::new();
    let waits = place.apart(&["--json", "ask", BOOKING]);
    assert_eq!(waits.code, 3, "{waits:?}");
    let (question, run) = (&waits.json()["waiting"][0]["id"], &waits.json()["run"]);
    let done = place.apart(&["--json", "answer", question.as_str().unwrap(), "approve", "--by", "kim"]);
    assert_eq!((done.code, &done.json()["run"], &done.json()["end"]), (0, run, &json!("answered")));
    assert_eq!(booked(&place), 1);
    assert_eq!(place.says(&["verify"]).code, 0);
}

/// T22.
#[test]
fn of_two_processes_one_has_the_run_and_the_other_is_told_who() {
    let (place, first, second) = while_at_work(4500, |slow| {
        let (place, slow) = (Place::new(), slow.to_string());
        let first = place.begin(&["--slow", &slow, "ask", "--conversation", "a", "Quote Focus pro 3h"]);
        wait_for(&place, "a", "model_requested", 1);
        let second = place.apart(&["--json", "resume", "a"]);
        (second.code != 0).then_some((place, first, second))
    });
    assert_eq!((second.code, &second.json()["error"]["code"]), (1, &json!("held")), "{second:?}");
    assert_eq!(second.json()["error"]["whose"], "other_process");
    assert!(second.err.contains("waiting for it, 3 seconds at most"), "{second:?}");
    let first = said(first.wait_with_output().unwrap());
    assert_eq!((first.code, &*first.err), (0, ""));
    // It has been given back, so nobody waits for it now, or would say so.
    let third = place.apart(&["ask", "--conversation", "a", "Quote Studio pro 2h"]);
    assert_eq!((third.code, &*third.err), (0, ""), "{third:?}");
}

/// The moment is long enough for the second one to come, and shorter than it waits: how long that is depends on the machine.
#[test]
fn a_process_waits_for_a_run_that_another_has_for_a_moment() {
    let waited = |slow: u32| {
        let (place, slow) = (Place::new(), slow.to_string());
        let first = place.begin(&["--slow", &slow, "ask", "--conversation", "a", "Quote Focus pro 3h"]);
        wait_for(&place, "a", "model_requested", 1);
        let second = place.apart(&["--json", "ask", "--conversation", "a", "Quote Studio basic 2h"]);
        assert!(first.wait_with_output().unwrap().status.success());
        let has_waited = second.err.contains(r#"drives "a"; waiting for it"#);
        (has_waited && second.json()["error"]["code"] != "held").then_some(second)
    };
    let second = [1_000, 300, 1_400, 100].into_iter().find_map(waited).unwrap();
    assert_eq!(second.json()["answer"], "Studio basic for 2 hours costs 8000 cents.");
}

/// T4, T9, T10: wherever it is killed, the chat goes on at the agent that has the turn, and no reply on record is asked for
/// again.
#[test]
fn a_chat_that_is_killed_while_it_runs_goes_on_when_it_is_called_again() {
    let moments =
        [("turn_received", 1), ("model_responded", 1), ("handoff_committed", 1), ("model_responded", 3)];
    thread::scope(|scope| {
        for (kind, times) in moments {
            scope.spawn(move || killed_while_it_runs(kind, times));
        }
    });
}

fn killed_while_it_runs(kind: &str, times: usize) {
    let (place, before) = while_at_work(1500, |slow| {
        let (place, slow) = (Place::new(), slow.to_string());
        let mut chat = place.begin(&["--slow", &slow, "chat"]);
        writeln!(chat.stdin.as_mut().unwrap(), "{RUNNING_CASE}").unwrap();
        wait_for(&place, "chat", kind, times);
        kill(chat);
        let before = kinds(&place, "chat");
        (count(&before, "closed") == 0).then_some((place, before))
    });

    let again = place.apart(&["--json", "chat"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.err.starts_with(r#"sommelier: "chat" was interrupted, and goes on"#), "{again:?}");
    let talk = again.json();
    let row = &talk["before"];
    assert_eq!((&row["last_agent"], &row["hops"][0]["package_bytes"]), (&json!("policy_agent"), &json!(105)));
    assert!(row["answer"].as_str().unwrap().contains("6500 cents"), "{row}");
    let after = kinds(&place, "chat");
    let counted = ["turn_received", "model_responded", "tool_completed", "handoff_committed", "closed"];
    assert_eq!(counted.map(|kind| count(&after, kind)), [1, 4, 2, 1, 1], "{after:?}");
    assert_eq!(after[..before.len()], before);
    assert_eq!(place.says(&["verify"]).code, 0);
}

#[test]
fn a_chat_that_is_killed_while_it_waits_asks_the_same_again_and_books_once() {
    let place = Place::new();
    let mut chat = place.begin(&["chat"]);
    writeln!(chat.stdin.as_mut().unwrap(), "{BOOKING}").unwrap();
    let mut lines = BufReader::new(chat.stdout.take().unwrap()).lines();
    let asked: Vec<String> =
        lines.by_ref().map(Result::unwrap).take_while(|line| !line.starts_with("run ")).collect();
    kill(chat);

    let again = place.apart(&["chat"]);
    assert_eq!(again.code, 3, "{again:?}");
    assert_eq!(again.out.lines().take(asked.len()).collect::<Vec<_>>(), asked);
    assert_eq!(count(&kinds(&place, "chat"), "escalated"), 1);
    place.apart(&["answer", "chat/1/1/0", "approve"]).fine();
    let told = place.apart(&["chat"]).fine();
    let begins =
        "From before, the last answer in this conversation:\n\nBooked: Studio basic on 2026-12-01 at 14:00";
    assert!(told.starts_with(begins), "{told}");
    assert_eq!(booked(&place), 1);
}

/// T8: the booking and its record are both there or both absent, so however often it is gone on with there is one.
#[test]
fn an_answer_that_is_killed_at_any_moment_books_once() {
    thread::scope(|scope| {
        for moment in 0..8 {
            scope.spawn(move || killed_while_it_books(Duration::from_millis(moment * 12)));
        }
    });
}

fn killed_while_it_books(moment: Duration) {
    let place = Place::new();
    assert_eq!(place.says(&["ask", "--conversation", "b", BOOKING]).code, 3);
    let answer = place.begin(&["--slow", "20", "answer", "b/1/1/0", "approve"]);
    thread::sleep(moment);
    kill(answer);
    let on_record = count(&kinds(&place, "b"), "tool_completed");
    assert_eq!(usize::try_from(booked(&place)).unwrap(), on_record);

    let inbox = place.says(&["--json", "inbox"]).json();
    let open = inbox["questions"].as_array().unwrap().len();
    let done = match open {
        // It was killed before the answer was on record.
        1 => place.apart(&["answer", "b/1/1/0", "approve"]),
        _ => place.apart(&["resume", "b"]),
    };
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.out.starts_with("Booked: Studio basic on 2026-12-01 at 14:00"), "{done:?}");
    let after = kinds(&place, "b");
    assert_eq!((count(&after, "human_answered"), count(&after, "tool_completed"), booked(&place)), (1, 1, 1));
    let verified = place.says(&["verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

/// T45.
#[test]
fn what_a_dead_process_left_is_taken_up_by_a_sweep() {
    let place = interrupted(&[]);
    // Its lease still runs, and whether it lives nobody knows.
    lease(&place, NEVER);
    let left = place.says(&["--json", "sweep"]).json();
    let leased = &left["leased"][0];
    assert_eq!(json!([left["swept"], leased["run"]]), json!([[], "a"]), "{left}");
    let text = place.says(&["sweep"]);
    let told = "No run is taken up.\n\n1 run is left alone: its process may be at work, or dead.";
    assert!(text.code == 0 && text.out.starts_with(told), "{text:?}");
    let until = format!("\n  a, leased to `{}` until ", leased["owner"].as_str().unwrap());
    assert!(text.out.contains(&until) && leased["until"].is_u64(), "{text:?}");
    assert_eq!(place.says(&["--json", "runs"]).json()["runs"][0]["status"], "running");
    lease(&place, 1);
    assert_eq!(place.says(&["--json", "runs"]).json()["runs"][0]["status"], "interrupted");
    let swept = place.says(&["--json", "sweep"]).json();
    let row = &swept["swept"][0];
    assert_eq!((&row["run"], &row["hop"], &row["fault"]), (&json!("a"), &json!("a/1/2/0"), &Value::Null));
    assert_eq!(row["outcome"]["last_agent"], "policy_agent");
    assert_eq!(place.says(&["--json", "sweep"]).json(), json!({ "swept": [], "leased": [] }));
}

#[test]
fn a_sweep_waits_for_the_lease_of_a_dead_process_where_it_is_told_to() {
    let place = interrupted(&[]);
    let swept = place.says(&["--json", "sweep", "--wait"]).json();
    let row = &swept["swept"][0];
    assert_eq!(json!([row["run"], row["outcome"]["end"], swept["leased"]]), json!(["a", "answered", []]));
}

/// S1-20. Whoever goes on with what another model has begun, without naming one, is told so by each command that asks a model.
#[test]
fn what_goes_on_with_another_model_says_which_one_has_decided_until_now() {
    let remark =
        r#"decided until now by "concept (claude-sonnet-5)"; without --model it goes on with offline-rules"#;
    thread::scope(|scope| {
        let (plain, of_run) = (format!("sommelier: {remark}\n"), format!("sommelier: a: {remark}\n"));
        for (command, told) in [
            (&["sweep", "--wait"][..], of_run),
            (&["resume", "a"], plain.clone()),
            (&["chat", "a"], plain.clone()),
            (&["ask", "--conversation", "a", "Quote Focus pro 3h"], plain),
        ] {
            scope.spawn(move || {
                let place = interrupted(&["--model", "script"]);
                let named = [command, &["--model", "script"]].concat();
                let said = place.says(command);
                assert_eq!((said.code, said.err.matches(&*told).count()), (0, 1), "{command:?}: {said:?}");
                // What is named, or has decided already, or asks no model, is nothing to be told of.
                for quiet in [command, &named, &["resume", "a"], &["cancel", "a"]] {
                    let said = place.says(quiet);
                    assert!(!said.err.contains("decided until now"), "{quiet:?}: {said:?}");
                }
            });
        }
    });
}

#[test]
fn a_reader_that_has_seen_enough_ends_an_export_quietly() {
    let place = Place::new();
    for _ in 0..8 {
        place.says(&["ask", RUNNING_CASE]).fine();
    }
    let all = place.apart(&["export"]).fine();
    assert!(all.len() > 1 << 16, "a pipe holds all of it");
    let mut export = place.begin(&["export"]);
    let mut out = BufReader::new(export.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    drop(out);
    let mut err = String::new();
    export.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((export.wait().unwrap().code(), &*err), (Some(0), ""));
    assert_eq!(first.trim_end(), all.lines().next().unwrap());
}

/// A person need not wait for a process that is dead or is to be stopped.
#[test]
fn a_run_is_taken_from_a_process_that_lives_where_that_is_said() {
    let (place, first, second) = while_at_work(4000, |slow| {
        let (place, slow) = (Place::new(), slow.to_string());
        let first = place.begin(&["--slow", &slow, "--json", "ask", "--conversation", "b", BOOKING]);
        wait_for(&place, "b", "model_requested", 1);
        let second = place.apart(&["--json", "cancel", "b", "--evict"]);
        second.err.contains(r#"has lost "b": its lease is ended"#).then_some((place, first, second))
    });
    assert_eq!((second.code, &second.json()["end"]), (0, &json!("cancelled")), "{second:?}");
    assert!(!second.err.contains("waiting"), "{second:?}");
    let after = kinds(&place, "b");
    let first = said(first.wait_with_output().unwrap());
    let error = &first.json()["error"];
    assert_eq!((first.code, &error["code"], &error["whose"]), (1, &json!("held"), &json!("other_process")));
    assert_eq!((kinds(&place, "b"), booked(&place)), (after, 0));
    assert_eq!(place.says(&["inbox"]).fine(), "Nothing waits for a person.\n");
    assert_eq!(place.says(&["verify"]).code, 0);
}

/// Has the lease of each run be that of a process that is dead, until this moment.
fn lease(place: &Place, until: u64) {
    let raw = rusqlite::Connection::open(place.journal()).unwrap();
    let leased = format!("UPDATE conversations SET owner = 'a-dead-one', until = {until}");
    raw.execute(&leased, ()).unwrap();
}

/// A moment that does not come while a test runs.
const NEVER: u64 = 9_000_000_000_000;

/// A clock that was ahead, or somebody who writes to the file, leaves a lease that runs for years.
#[test]
fn a_lease_that_runs_for_years_is_ended_where_that_is_said() {
    let begins: [(&[&str], u8); 4] = [
        (&["answer", "b/1/1/0", "approve"], 0),
        (&["answer", "b/1/1/0", "reject", "why"], 0),
        (&["cancel", "b"], 0),
        (&["ask", "--conversation", "b", "hello"], 3),
    ];
    thread::scope(|scope| {
        for (command, code) in begins {
            scope.spawn(move || {
                let place = Place::new();
                assert_eq!(place.apart(&["ask", "--conversation", "b", BOOKING]).code, 3);
                lease(&place, NEVER);
                let held = place.apart(&[&["--json"], command].concat());
                let error = &held.json()["error"];
                assert_eq!((held.code, &error["code"]), (1, &json!("held")), "{held:?}");
                assert!(error["message"].as_str().unwrap().contains("--evict"), "{error}");
                let done = place.apart(&[command, &["--evict"]].concat());
                assert!(done.code == code && !done.err.contains("waiting"), "{done:?}");
            });
        }
    });
    let place = interrupted(&[]);
    lease(&place, NEVER);
    place.apart(&["resume", "a", "--evict"]);
    assert_eq!(count(&kinds(&place, "a"), "closed"), 1);
}

/// Input without an end is no reason to fall over.
#[cfg(unix)]
#[test]
fn a_line_without_an_end_is_told_as_too_long_and_left_out() {
    let place = Place::new();
    let mut chat = place.begin(&["--json", "chat"]);
    let mut input = chat.stdin.take().unwrap();
    let block = vec![b'a'; 1 << 20];
    for _ in 0..64 {
        input.write_all(&block).unwrap();
    }
    // Linux tells how much it had at most.
    let status = std::fs::read_to_string(format!("/proc/{}/status", chat.id())).unwrap_or_default();
    writeln!(input, "\nQuote Focus pro 3h").unwrap();
    drop(input);
    let said = said(chat.wait_with_output().unwrap());
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    assert!(peak.is_none_or(|peak| peak.parse::<u32>().unwrap() < 48 << 10), "{peak:?} kB");
    assert_eq!(said.json()["turns"].as_array().map(Vec::len), Some(1), "{said:?}");
    let told = "sommelier: a line is longer than 1048576 bytes and was left out\n";
    assert_eq!((said.code, &*said.err), (0, told));
}

/// What was answered is not lost to a program when a later line fails.
#[test]
fn a_chat_that_fails_prints_what_was_answered_before_with_the_error() {
    let place = Place::new();
    let before = place.says(&["--json", "ask", "--conversation", "chat", "Quote Focus pro 3h"]).json();
    let mut chat = place.begin(&["--json", "chat"]);
    let mut input = chat.stdin.take().unwrap();
    writeln!(input, "Quote Studio basic 2h\n{BOOKING}").unwrap();
    wait_for(&place, "chat", "escalated", 1);
    // What is on record may be so a moment before the run is given back, and then it is waited for, and told.
    assert_eq!(place.apart(&["cancel", "chat"]).code, 0);
    writeln!(input, "Quote Focus pro 4h").unwrap();
    drop(input);
    let said = said(chat.wait_with_output().unwrap());
    let document = said.json();
    let turns = document["turns"].as_array().unwrap();
    let texts: Vec<&Value> = turns.iter().map(|turn| &turn["text"]).collect();
    assert_eq!(json!([texts, document["before"]]), json!([["Quote Studio basic 2h", BOOKING], before]));
    assert_eq!(turns[0]["outcome"]["answer"], "Studio basic for 2 hours costs 8000 cents.");
    assert_eq!(
        (said.code, &document["run"], &document["error"]["code"]),
        (2, &json!("chat"), &json!("over"))
    );
}

/// A file that another process writes to for long is no fault of the journal, and who only looks need not wait for it.
#[test]
fn a_file_that_is_locked_is_told_as_busy_and_looked_at_all_the_same() {
    let place = Place::new();
    assert_eq!(place.says(&["ask", "--conversation", "b", BOOKING]).code, 3);
    let other = rusqlite::Connection::open(place.journal()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The file stays locked: whoever waited for it would be told so.
    for look in [&["verify"][..], &["inbox"], &["runs"], &["show", "b"], &["export"], &["sweep"]] {
        assert_eq!(place.says(look).code, 0, "{look:?}");
    }
    thread::scope(|scope| {
        for command in [
            &["ask", "hello"][..],
            &["answer", "b/1/1/0", "approve"],
            &["cancel", "b"],
            &["invite", "b/1/1/0"],
        ] {
            let place = &place;
            scope.spawn(move || {
                let said = place.apart(&[&["--json"], command].concat());
                let error = &said.json()["error"];
                let told = (said.code, &error["code"], &error["whose"]);
                assert_eq!(told, (1, &json!("busy"), &json!("other_process")), "{command:?} {error}");
            });
        }
    });
    // The first who comes makes the ledger, and waits for the file no less.
    other.execute_batch("ROLLBACK; DROP TABLE reservo_keys; DROP TABLE reservo_bookings; DROP TABLE reservo_ledger; BEGIN IMMEDIATE").unwrap();
    let said = place.apart(&["--json", "ask", "hello"]);
    assert_eq!((said.code, &said.json()["error"]["code"]), (1, &json!("busy")), "{said:?}");
}
