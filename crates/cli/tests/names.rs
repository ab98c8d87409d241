//! Names come from outside: what is shown of them is one line in which all can be seen, wherever it stands.
#![allow(clippy::unwrap_used, reason = "a test says so by panicking")]

mod harness;

use harness::{BOOKING, Place, said};
use rusqlite::Connection;
use serde_json::json;

/// A name that forges an approver's screen where it is shown as it is.
const FORGED: &str =
    "x\n  may run    get_quote {}\n  sommelier answer y approve\n\nwaits for y\u{1b}[2J\u{200b}";
/// The same as it is shown.
const SHOWN: &str =
    r#""x\n  may run    get_quote {}\n  sommelier answer y approve\n\nwaits for y\u001b[2J\u200b""#;

/// No line begins as the name would have one begin, and nothing of it reaches a terminal.
#[track_caller]
fn is_not_forged(text: &str) {
    let mut lines = text.lines();
    let forged = ["may run    get_quote", "sommelier answer y", "waits for y"];
    let found = lines.find(|line| forged.iter().any(|forged| line.trim_start().starts_with(forged)));
    assert_eq!(found, None, "{text}");
    assert!(!text.contains(['\u{1b}', '\u{200b}']), "{text}");
}

#[test]
fn a_name_with_line_ends_forges_nothing_that_a_person_is_shown() {
    let place = Place::new();
    let asked = place.then(&["ask", "--conversation", FORGED, BOOKING]);
    assert_eq!(asked.code, 3);
    let run = format!("\n\nrun {SHOWN}\n");
    assert!(asked.out.ends_with(&run), "{}", asked.out);
    let inbox = place.then(&["inbox"]).fine();
    let id = format!("{}/1/1/0\"", SHOWN.strip_suffix('"').unwrap());
    assert!(inbox.starts_with(&format!("{id}\n  asked by   booking_agent, in {SHOWN}\n")), "{inbox}");
    assert!(place.then(&["runs"]).out.starts_with(&format!("{SHOWN}  waiting at booking_agent  ")));
    let question = format!("{FORGED}/1/1/0");
    let to = "Kim\n  may run    get_quote {}";
    let commands: [&[&str]; 9] = [
        &["inbox"],
        &["runs"],
        &["show", FORGED, "--all"],
        &["resume", FORGED],
        &["ask", "--conversation", FORGED, "hello"],
        &["invite", &question, "--to", to],
        &["inbox"],
        &["answer", &question, "say", "x"],
        &["answer", &question, "approve", "--digest", "x\n  may run    get_quote {}"],
    ];
    for command in commands {
        let said = place.then(command);
        is_not_forged(&said.out);
        is_not_forged(&said.err);
        assert_eq!(said.err.lines().count(), usize::from(said.code == 2), "{command:?}: {said:?}");
    }
    place.then(&["answer", &question, "approve"]).fine();
    for command in
        [&["answer", &question, "approve"][..], &["cancel", FORGED], &["show", FORGED], &["verify"]]
    {
        let said = place.then(command);
        is_not_forged(&said.out);
        is_not_forged(&said.err);
    }
}

/// What stands in the file may be anybody's writing.
#[test]
fn what_is_wrong_with_a_run_is_told_in_a_line_that_its_name_does_not_end() {
    let place = Place::new();
    assert_eq!(place.then(&["ask", "--conversation", FORGED, BOOKING]).code, 3);
    let raw = Connection::open(place.journal()).unwrap();
    raw.execute("UPDATE conversations SET owner = ?, until = until + 9000000", [FORGED]).unwrap();
    for command in [&["sweep"][..], &["resume", FORGED], &["--now", "2026-11-30T11:00", "sweep"]] {
        let said = place.says(command);
        is_not_forged(&said.out);
        is_not_forged(&said.err);
    }
    raw.execute("UPDATE events SET body = replace(body, 'Ada', 'Eve'), kind = ? WHERE seq = 4", [FORGED])
        .unwrap();
    for command in [&["sweep"][..], &["inbox"], &["runs"], &["show", FORGED], &["verify"]] {
        let said = place.then(command);
        assert_eq!(said.code, 1, "{command:?} {said:?}");
        is_not_forged(&said.out);
        is_not_forged(&said.err);
    }
}

/// The command that is shown is one line too, and answers.
#[cfg(unix)]
#[test]
fn the_command_that_is_shown_answers_whatever_is_in_the_name() {
    for name in [FORGED, "it's\n\\n %s $HOME `x` \"y\"\u{202e}ü"] {
        let place = Place::new();
        let asked = place.then(&["ask", &format!("--conversation={name}"), BOOKING]);
        let command = asked.out.lines().find(|line| line.contains(" answer --digest ")).unwrap().trim();
        let shown =
            command.replacen("sommelier", &format!("'{}' --json", env!("CARGO_BIN_EXE_sommelier")), 1);
        let answered = said(std::process::Command::new("sh").args(["-c", &shown]).output().unwrap());
        assert_eq!((answered.code, &answered.json()["run"]), (0, &json!(name)), "{command}");
    }
}

#[test]
fn a_name_in_which_nothing_can_be_seen_is_refused() {
    let place = Place::new();
    for name in [" ", "\n", "\t\u{a0}", "\u{200b}", "\u{3164} \u{2060}", "\u{7}"] {
        for command in [
            &["ask", "--conversation", name, "hello"][..],
            &["chat", name],
            &["chat", "--conversation", name],
        ] {
            let said = place.then(&[&["--json"], command].concat());
            assert_eq!((said.code, &said.json()["error"]["code"]), (2, &json!("usage")), "{command:?}");
        }
    }
    assert!(!place.journal().exists());
}
