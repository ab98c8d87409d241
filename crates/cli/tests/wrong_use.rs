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

/// `--contents` alone would do nothing, whichever the command and wherever the flag stands.
#[test]
fn contents_without_a_place_for_spans_are_refused_and_leave_nothing_behind() {
    let place = Place::new();
    let told = "--contents is for spans, and none are wanted; say where they go with --trace tree, --trace json, --trace-file FILE or \
                --otlp URL";
    for arguments in [
        ["ask", RUNNING_CASE, "--contents"].as_slice(),
        &["--contents", "ask", RUNNING_CASE],
        &["ask", RUNNING_CASE, "--contents", "--trace", "off"],
        &["chat", "--contents"],
    ] {
        misused(&place, arguments, "usage", told);
    }
    assert!(!place.journal().exists());
    let file = place.path("spans.jsonl");
    place.then(&["ask", RUNNING_CASE, "--contents", "--trace-file", file.to_str().unwrap()]).fine();
}

#[test]
fn wrong_use_is_told_with_what_would_be_right() {
    let place = Place::new();
    place.then(&["ask", "--conversation", "a", RUNNING_CASE]).fine();
    assert_eq!(place.then(&["ask", "--conversation", "b", BOOKING]).code, 3);
    let cases: [(&[&str], &str, &str); 18] = [
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
        (&["ask", "\u{200b}\u{202e}"], "blank", "there are no words; say something"),
        (&["resume", "nobody"], "unknown_run", r#"there is no run "nobody"; `sommelier runs` lists them"#),
        (
            &["answer", "-x/1/1/0", "approve"],
            "usage",
            "tip: to pass '-x/1/1/0' as a value, use '-- -x/1/1/0'",
        ),
        (&["show", "c"], "unknown_run", r#"there is no run "c""#),
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
        (&["ask", "--conversation", &"x".repeat(257), "hello"], "unfit", "a name is 1 to 256 bytes"),
    ];
    let before = place.then(&["export"]);
    for (arguments, code, says) in cases {
        misused(&place, arguments, code, says);
    }
    assert_eq!(place.then(&["export"]), before);
}

/// A prefix that is empty would be one of every run.
#[test]
fn an_argument_in_which_there_is_nothing_is_refused_wherever_it_says_nothing() {
    let place = Place::new();
    assert_eq!(place.then(&["ask", "--conversation", "only", BOOKING]).code, 3);
    let id = "only/1/1/0";
    let cases: [&[&str]; 20] = [
        &["show", ""],
        &["show", " "],
        &["resume", ""],
        &["cancel", ""],
        &["cancel", "only", "--reason", ""],
        &["replay", ""],
        &["replay", "only", "--from", ""],
        &["replay", "only", "--to", ""],
        &["chat", ""],
        &["ask", "--conversation", "", "hello"],
        &["ask", "--key", "", "hello"],
        &["answer", "", "approve"],
        &["answer", id, "approve", "--digest", ""],
        &["answer", id, "approve", "--by", ""],
        &["answer", id, "reject", ""],
        &["answer", id, "say", " "],
        &["answer", id, ""],
        &["verify", "--heads", ""],
        &["--store", "", "runs"],
        &["--store", "", "ask", "hello"],
    ];
    let before = place.then(&["export"]);
    for arguments in cases {
        let begins = arguments.first() == Some(&"--store");
        let flag = ["sommelier".into()].into_iter().chain(arguments.iter().map(Into::into));
        let said = if begins { says("", flag) } else { place.then(arguments) };
        assert_eq!((said.code, &*said.out), (2, ""), "{arguments:?}: {said:?}");
    }
    assert!(place.then(&["show", ""]).err.contains("there is nothing in it"));
    assert_eq!(place.then(&["export"]), before);
}

#[test]
fn messages_say_words_as_they_are_typed_and_what_to_do() {
    let place = Place::new();
    assert_eq!(place.then(&["ask", "--conversation", "b", BOOKING]).code, 3);
    let no_choice = place.then(&["answer", "b/1/1/0", "did-not-happen"]).err;
    let told = "sommelier: \"did-not-happen\" is no answer to b/1/1/0; possible: approve, reject\n";
    assert_eq!(no_choice, told);

    place.then(&["ask", "--conversation", "a", "--key", "m-1", "Quote Focus pro 3h"]).fine();
    let reused = place.then(&["ask", "--conversation", "a", "--key", "m-1", "Quote Focus pro 4h"]).err;
    let told = "sommelier: \"m-1\" is the key of other words in \"a\", so this is not the same turn sent again; give another \
                --key, or those words to be told their answer\n";
    assert_eq!(reused, told);
}

/// A disk that is full behind stdout is not the journal's.
#[cfg(target_os = "linux")]
#[test]
fn stdout_that_cannot_be_written_is_told_as_that() {
    let place = Place::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut ask = place.command(&["ask", "--conversation", "a", "Quote Focus pro 3h"]);
    let tried = ask.stdout(full).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let tried = said(tried.wait_with_output().unwrap());
    let told = "sommelier: stdout cannot be written: No space left on device (os error 28); the journal has what was done";
    assert!(tried.code == 1 && tried.err.starts_with(told), "{tried:?}");
    assert!(place.then(&["resume", "a"]).fine().starts_with("Focus pro for 3 hours costs 6000 cents."));
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

/// An empty file is none yet, and only what begins a conversation makes one of it. A database in which there is nothing is
/// the same.
#[test]
fn what_only_looks_makes_no_journal_of_a_file_in_which_there_is_nothing() {
    let empty: fn(&Place) = |place| fs::write(place.journal(), "").unwrap();
    let bare: fn(&Place) = |place| {
        let made = rusqlite::Connection::open(place.journal()).unwrap();
        made.execute_batch("CREATE TABLE x (x); DROP TABLE x; VACUUM").unwrap();
    };
    for make in [empty, bare] {
        let place = Place::new();
        make(&place);
        let before = fs::read(place.journal()).unwrap();
        let told = format!("there is no journal yet at {}", place.journal().display());
        let commands: [&[&str]; 11] = [
            &["runs"],
            &["show", "a"],
            &["inbox"],
            &["verify"],
            &["export"],
            &["export", "--heads"],
            &["replay", "a"],
            &["resume", "a"],
            &["answer", "a/1/1/0", "approve"],
            &["cancel", "a"],
            &["sweep"],
        ];
        for command in commands {
            misused(&place, command, "no_journal", &told);
        }
        assert_eq!(fs::read(place.journal()).unwrap(), before);
        assert_eq!(fs::read_dir(place.path("")).unwrap().count(), 1);
        place.then(&["ask", "Quote Focus pro 3h"]).fine();
        assert_eq!(place.then(&["verify"]).code, 0);
    }
}

/// A journal in which nobody has spoken gets no ledger by what looks, or finds nothing to go on with.
#[test]
fn what_only_looks_makes_no_tables() {
    let place = Place::new();
    drop(sommelier_store::SqliteStore::open(place.journal()).unwrap());
    for (command, code) in
        [(&["runs"][..], 0), (&["verify"], 0), (&["sweep"], 0), (&["inbox"], 0), (&["resume", "a"], 2)]
    {
        assert_eq!(place.then(command).code, code, "{command:?}");
    }
    let look = rusqlite::Connection::open(place.journal()).unwrap();
    let count = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'reservo%'";
    assert_eq!(look.query_row(count, (), |row| row.get::<_, i64>(0)), Ok(0));
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
fn a_store_that_is_a_folder_or_whose_folder_is_not_there_is_refused() {
    let place = Place::new();
    let at = |path: &Path, command: &[&str]| {
        let store = ["sommelier".into(), "--store".into(), path.as_os_str().to_owned()];
        says("", store.into_iter().chain(command.iter().map(OsString::from)))
    };
    for command in [&["ask", "hello"][..], &["chat"], &["runs"], &["verify"]] {
        let said = at(&place.path(""), command);
        assert!(said.code == 2 && said.err.contains("is a folder; give a file with --store"), "{said:?}");
    }
    let said = at(&place.path("mistyped").join("journal.db"), &["ask", "hello"]);
    assert_eq!((said.code, &*said.out), (2, ""));
    let told = format!("there is no folder {}, and it is not made for you", place.path("mistyped").display());
    assert!(said.err.contains(&told) && !place.path("mistyped").exists(), "{said:?}");
}

/// What guests say and book is for nobody else to read.
#[cfg(unix)]
#[test]
fn a_journal_is_made_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_sommelier"));
    command
        .args(["ask", "Quote Focus pro 3h"])
        .env("XDG_DATA_HOME", place.path("data"))
        .env("HOME", place.path(""));
    assert!(command.status().unwrap().success());
    if cfg!(not(target_os = "macos")) {
        let folder = place.path("data/sommelier");
        assert_eq!((mode(&folder), mode(&folder.join("journal.db"))), (0o700, 0o600));
    }
    place.then(&["ask", "Quote Focus pro 3h"]).fine();
    assert_eq!(mode(&place.journal()), 0o600);
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
