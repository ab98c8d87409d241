//! Wrong use: exit code 2, and what would be right; names that look like something else; files that are none of ours.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod harness;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use harness::{BOOKING, Place, RUNNING_CASE, said, says};
use serde_json::{Value, json};

#[track_caller]
fn misused(place: &Place, arguments: &[&str], code: &str, says: &str) {
    let text = place.then(arguments);
    assert_eq!((text.code, &*text.out), (2, ""), "{text:?}");
    assert!(text.err.starts_with("sommelier: ") && text.err.contains(says), "{text:?}");
    // In a document the same stands on stdout, since a program reads one stream.
    let json = place.then(&[&["--json"], arguments].concat());
    let (error, whose) = (json.json()["error"].clone(), json!("caller"));
    assert_eq!(
        (json.code, &*json.err, &error["code"], &error["whose"]),
        (2, "", &json!(code), &whose),
        "{error}"
    );
    assert!(error["message"].as_str().unwrap().contains(says), "{error}");
}

#[test]
fn wrong_use_is_told_with_what_would_be_right() {
    let place = Place::new();
    place.then(&["ask", "--conversation", "a", RUNNING_CASE]).fine();
    assert_eq!(place.then(&["ask", "--conversation", "b", BOOKING]).code, 3);
    let cases: [(&[&str], &str, &str); 16] = [
        (&["frobnicate"], "usage", "unrecognized subcommand 'frobnicate'"),
        (&["ask"], "usage", "<TEXT>"),
        (&["ask", "a", "b"], "usage", "unexpected argument 'b'"),
        (&["answer", "b/1/1/0", "reject"], "usage", "sommelier answer <ID> reject <REASON>"),
        (
            &["answer", "b/1/1/0", "approve", "please"],
            "usage",
            r#""please" is too much: `approve` stands alone"#,
        ),
        (
            &["answer", "b/1/1/0", "perhaps"],
            "usage",
            "possible values: approve, reject, say, take-over, happened",
        ),
        (&["ask", "  "], "blank", "there are no words; say something"),
        (&["resume", "nobody"], "unknown_run", r#"there is no run "nobody"; `sommelier runs` lists them"#),
        (&["show", ""], "ambiguous_run", r#"2 runs begin with "", "a" and "b" among them"#),
        (
            &["answer", "b/1/1/1", "approve"],
            "unknown_question",
            r#"no question "b/1/1/1" is open; `sommelier inbox`"#,
        ),
        (&["answer", "b/1/1/0", "say", "yes"], "no_choice", "possible: approve, reject"),
        (&["replay", "b"], "unknown_hop", r#""b" has no handoff that was taken; there are: none"#),
        (
            &["replay", "a", "--from", "2"],
            "unknown_hop",
            r#"no handoff "2" that was taken; there are: a/1/2/0"#,
        ),
        (
            &["replay", "a", "--to", "waiter"],
            "unknown_agent",
            "there are booking_agent, policy_agent, pricing_agent",
        ),
        (
            &["verify", "--heads", "/nowhere/heads"],
            "no_heads",
            "`sommelier export --heads` writes such a file",
        ),
        (&["ask", "--conversation", "", "hello"], "unfit", "a name is 1 to 256 bytes"),
    ];
    let before = place.then(&["export"]);
    for (arguments, code, says) in cases {
        misused(&place, arguments, code, says);
    }
    assert_eq!(place.then(&["export"]), before);
}

#[test]
fn help_and_version_are_no_wrong_use() {
    let help = says("", ["sommelier", "--help"].map(OsString::from)).fine();
    assert!(help.contains(
        "Exit codes: 0 answered or sound, 1 ended otherwise or damage found, 2 wrong use, 3 waiting"
    ));
    assert!(says("", ["sommelier", "--version"].map(OsString::from)).fine().starts_with("sommelier "));
}

/// T64, T67: a name is data, whatever it looks like.
#[test]
fn a_conversation_may_have_any_name() {
    let place = Place::new();
    let names =
        ["../../x", "'; DROP TABLE events; --", "a b\"c", "ü\u{202e}x\u{1b}[2J", "%n$s", "-h", "--json"];
    for name in names {
        let flag = format!("--conversation={name}");
        assert_eq!(place.then(&["ask", &flag, BOOKING]).code, 3, "{name:?}");
    }
    // One that ends like the path of a branch would share its keys.
    assert_eq!(place.then(&["ask", "--conversation", "a/1/1/0", BOOKING]).code, 2);
    let runs = place.json(&["runs"]);
    let mut found: Vec<&str> =
        runs["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    let mut expected = names.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    let inbox = place.json(&["inbox"]);
    for question in inbox["questions"].as_array().unwrap() {
        // One room, one hour: the first booking takes it, and the others are told.
        let said = place.then(&["--json", "answer", "--", question["id"].as_str().unwrap(), "approve"]);
        assert_eq!((said.code, &said.json()["run"]), (0, &question["run"]), "{said:?}");
    }
    let list =
        fs::read_dir(place.path("")).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    assert!(list.into_iter().all(|name| name.starts_with("journal.db")));
    assert_eq!(place.then(&["verify"]).code, 0);
}

/// What a terminal would obey, and what turns text, stands there to be seen, in whatever is printed.
#[test]
fn nothing_that_is_printed_is_obeyed_by_a_terminal() {
    let place = Place::new();
    let odd = "Quote \u{202e}Focus\u{1b}]0;x\u{7} pro\u{9b}31m 3h, \u{200b}ok?";
    let flag = format!("--conversation=x{odd}");
    let id = format!("x{odd}");
    let all = [
        place.then(&["ask", &flag, odd]),
        place.then(&["ask", &flag, BOOKING]),
        place.then(&["runs"]),
        place.then(&["show", &id]),
        place.then(&["inbox"]),
        place.then(&["resume", odd]),
        place.then(&["--json", "show", &id]),
        place.then(&["--json", "resume", odd]),
    ];
    for said in all {
        let hidden = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!said.out.contains(hidden) && !said.err.contains(hidden), "{said:?}");
        assert!(said.out.len() + said.err.len() > 20);
    }
    assert_eq!(place.json(&["show", &id])["run"]["id"], id);
}

/// C89: a person approves what they see.
#[test]
fn what_a_person_is_asked_shows_what_cannot_be_seen() {
    let place = Place::new();
    let text = "Book Studio basic for 2 hours tomorrow at 14, for Ada\u{200b}Eve";
    place.then(&["ask", "--conversation", "b", text]);
    let (inbox, json) = (place.then(&["inbox"]).fine(), place.then(&["--json", "inbox"]).fine());
    assert!(inbox.contains(r"\u200b") && json.contains(r"\u200b"), "{inbox}");
}

#[test]
fn a_journal_that_is_not_there_is_told_and_not_made() {
    let place = Place::new();
    for command in
        [&["runs"][..], &["inbox"], &["verify"], &["export"], &["show", "a"], &["resume", "a"], &["sweep"]]
    {
        misused(&place, command, "no_journal", "`sommelier ask` and `sommelier chat` begin one");
    }
    assert!(!place.journal().exists());
}

#[test]
fn a_file_that_is_no_journal_is_left_as_it_is() {
    let place = Place::new();
    fs::write(place.journal(), "a shopping list").unwrap();
    misused(&place, &["ask", "hello"], "no_journal", "is no journal of Sommelier's");
    misused(&place, &["verify"], "no_journal", "give the file of a journal with --store");
    assert_eq!(fs::read(place.journal()).unwrap(), b"a shopping list");

    fs::remove_file(place.journal()).unwrap();
    let other = rusqlite::Connection::open(place.journal()).unwrap();
    other.execute_batch("CREATE TABLE mine (x)").unwrap();
    drop(other);
    let before = fs::read(place.journal()).unwrap();
    misused(&place, &["ask", "hello"], "no_journal", "is no journal of Sommelier's");
    assert_eq!(fs::read(place.journal()).unwrap(), before);
}

#[test]
fn a_folder_that_cannot_be_made_is_told() {
    let place = Place::new();
    fs::write(place.path("file"), "").unwrap();
    let store = place.path("file").join("journal.db");
    let arguments =
        ["sommelier".into(), "--store".into(), store.into_os_string(), "ask".into(), "hello".into()];
    let said = says("", arguments);
    assert_eq!((said.code, &*said.out), (2, ""));
    assert!(said.err.contains("cannot be made") && said.err.contains("give a file with --store"), "{said:?}");
}

/// A file that may not be written is told, and nothing of it changes.
#[cfg(unix)]
#[test]
fn a_journal_that_may_not_be_written_is_told() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    let place = Place::new();
    place.then(&["ask", "--conversation", "a", RUNNING_CASE]).fine();
    let before = fs::read(place.journal()).unwrap();
    let may = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    // Who may do everything is not held back by a mode, so another user's process is what tries.
    let is_root = fs::metadata(place.journal()).unwrap().uid() == 0;
    let program = place.path("sommelier");
    fs::copy(env!("CARGO_BIN_EXE_sommelier"), &program).unwrap();
    may(&program, 0o755);
    may(&place.journal(), 0o444);
    may(&place.path(""), 0o555);
    let mut command = std::process::Command::new(&program);
    command.args(["--json", "--store"]).arg(place.journal()).args([
        "ask",
        "--conversation",
        "a",
        "Quote Focus pro 3h",
    ]);
    if is_root {
        command.uid(65_534);
    }
    let tried = said(command.output().unwrap());
    may(&place.path(""), 0o755);
    let error = &tried.json()["error"];
    assert_eq!((tried.code, &error["whose"]), (1, &json!("journal")), "{tried:?}");
    assert_eq!(fs::read(place.journal()).unwrap(), before);
}

/// Without `--store` the journal is where the user's programs keep their data.
#[cfg(all(unix, not(target_os = "macos")))]
#[test]
fn the_journal_is_in_the_data_directory_unless_told_otherwise() {
    let place = Place::new();
    let ask = |variables: &[(&str, &Path)]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sommelier"));
        command.args(["--json", "ask", "Quote Focus pro 3h"]).env_remove("XDG_DATA_HOME").env_remove("HOME");
        said(command.envs(variables.iter().copied()).output().unwrap())
    };
    let (home, data) = (place.path("home"), place.path("data"));
    assert_eq!(ask(&[("HOME", &home)]).code, 0);
    assert!(home.join(".local/share/sommelier/journal.db").is_file());
    assert_eq!(ask(&[("HOME", &home), ("XDG_DATA_HOME", &data)]).code, 0);
    assert!(data.join("sommelier/journal.db").is_file());
    let nowhere = ask(&[]);
    assert_eq!((nowhere.code, &nowhere.json()["error"]["code"]), (2, &json!("no_home")));
}

/// The command that is shown is the one that answers, typed in a shell.
#[cfg(unix)]
#[test]
fn the_command_that_is_shown_answers() {
    for name in ["it's $HOME; `x` \"y\"", "-h"] {
        let place = Place::new();
        let asked = place.then(&["--json", "ask", &format!("--conversation={name}"), BOOKING]).json();
        let command = asked["waiting"][0]["commands"][0].as_str().unwrap();
        let program = format!("'{}' --json", env!("CARGO_BIN_EXE_sommelier"));
        let shown = command.replacen("sommelier", &program, 1);
        let answered = said(std::process::Command::new("sh").args(["-c", &shown]).output().unwrap());
        let row: Value = answered.json();
        assert_eq!(
            (answered.code, &row["run"], &row["end"]),
            (0, &json!(name), &json!("answered")),
            "{command}"
        );
    }
}
