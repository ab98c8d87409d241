//! People outside, who have a token and nothing else.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod harness;

use std::fs;
use std::io::Write as _;
use std::process::Child;
use std::thread;
use std::time::Duration;

use harness::{BOOKING, Place, Said, said};
use serde_json::{Value, json};
use sommelier_store::{InvitedTo, SqliteStore};

const NOW: u64 = 1_796_032_800_000;
const DAY: u64 = 24 * 60 * 60 * 1000;

/// What whoever has a token that is not good is told, whatever is wrong with it.
const REFUSED: &str = "sommelier: the token is not valid\n";

/// A journal in which `b` waits for a person.
fn waiting() -> Place {
    let place = Place::new();
    assert_eq!(place.then(&["ask", "--conversation", "b", BOOKING]).code, 3);
    place
}

/// A token to answer the question of `b`.
fn token(place: &Place) -> String {
    place.json(&["invite", "b/1/1/0"])["token"].as_str().unwrap().to_owned()
}

/// Answers by a token that is typed on stdin.
fn answers(place: &Place, token: &str, words: &[&str]) -> Said {
    let arguments = ["--now", "2026-11-30T10:00", "answer", "--token", "-"];
    place.hears(&format!("{token}\n"), &[&arguments, words].concat())
}

/// What the inbox tells of tokens that were refused.
fn refused(place: &Place) -> Value {
    place.json(&["inbox"])["refused_tokens"].clone()
}

/// How often a question was answered, and the bookings that were made.
fn done(place: &Place) -> (usize, i64) {
    let shown = place.json(&["show", "b"]);
    let is_answer = |record: &&Value| record["kind"] == "human_answered";
    let answers = shown["timeline"].as_array().unwrap().iter().filter(is_answer).count();
    let connection = rusqlite::Connection::open(place.journal()).unwrap();
    let booked = "SELECT count(*) FROM reservo_bookings WHERE id > 5";
    (answers, connection.query_row(booked, (), |row| row.get(0)).unwrap())
}

#[test]
fn invite_tells_the_token_once_and_inbox_who_is_invited() {
    let place = waiting();
    let digest = place.json(&["inbox"])["questions"][0]["digest"].as_str().unwrap().to_owned();
    let invited = place.json(&["invite", "b/1/1/0", "--to", "Kim", "--digest", &digest]);
    let token = invited["token"].as_str().unwrap();
    let id = &token[..16];
    assert_eq!((token.len(), &token[16..17]), (81, "."));
    let row = json!({
        "id": id, "run": "b", "question": "b/1/1/0", "digest": digest, "to": "Kim", "issued": NOW, "until": NOW + DAY,
    });
    let command = format!("sommelier --store {} answer --token -", place.journal().display());
    let commands = [format!("{command} approve"), format!("{command} reject 'WHY'")];
    assert_eq!(invited, json!({ "invitation": row, "token": token, "commands": commands }));

    let inbox = place.json(&["inbox"]);
    assert_eq!(inbox["invitations"], json!([row]));
    let text = place.then(&["inbox"]).fine();
    let line = format!("\n  invited    Kim, by invitation {id}, until 2026-12-01 10:00:00.000 UTC\n");
    assert!(text.ends_with(&line), "{text}");

    let text = place.then(&["invite", "b/1/1/0", "--hours", "2"]).fine();
    let lines: Vec<&str> = text.lines().collect();
    let id = lines[0].split(' ').nth(1).unwrap();
    let token = lines[3].strip_prefix("  token      ").unwrap();
    let expected = [
        format!("Invitation {id} to answer b/1/1/0"),
        format!("  digest     {digest}"),
        "  until      2026-11-30 12:00:00.000 UTC".to_owned(),
        format!("  token      {token}"),
        format!("  {}", commands[0]),
        format!("  {}", commands[1]),
        format!(
            "The token is shown this once. Whoever has it may give one answer; `sommelier withdraw {id}` takes it back."
        ),
    ];
    assert_eq!(lines, expected);
    assert!(token.starts_with(id));
    let short = place.json(&["invite", "b/1/1/0", "--for", "1500"]);
    assert_eq!(
        (&short["invitation"]["until"], &short["invitation"]["to"]),
        (&json!(NOW + 1500), &Value::Null)
    );
}

/// C89, T48: the person is told that the answer is on record and nothing else of the run; the record tells who it was; and
/// the second time it is no token any more.
#[test]
fn a_person_with_a_token_answers_once() {
    let place = waiting();
    let invited = place.json(&["invite", "b/1/1/0", "--to", "Kim"]);
    let token = invited["token"].as_str().unwrap();
    let taken = answers(&place, token, &["--json", "approve"]);
    let id = &invited["invitation"]["id"];
    assert_eq!(taken.json(), json!({ "question": "b/1/1/0", "answer": "approve", "invitation": id }));
    assert_eq!((taken.code, &*taken.err), (0, ""));
    let shown = place.then(&["show", "b"]).fine();
    let by = format!(
        r#"human_answered      b/1/1/0: "Approve", by "Kim, by invitation {}""#,
        id.as_str().unwrap()
    );
    assert!(shown.contains(&by), "{shown}");
    assert_eq!(place.json(&["runs"])["runs"][0]["status"], "answered");

    let heads = place.json(&["export", "--heads"]);
    let again = answers(&place, token, &["approve"]);
    assert_eq!((again.code, &*again.out, &*again.err), (2, "", REFUSED));
    assert_eq!(done(&place), (1, 1));
    assert_eq!(place.json(&["export", "--heads"]), heads);
    assert_eq!(refused(&place), json!({ "total": 1, "last": NOW, "reasons": { "spent": 1 } }));
    assert_eq!(place.json(&["inbox"])["invitations"], json!([]));
    let told = "Nothing waits for a person.\n\nTokens refused: 1, the last at 2026-11-30 10:00:00.000 UTC: 1 spent.\n";
    assert_eq!(place.then(&["inbox"]).fine(), told);
}

#[test]
fn a_token_may_be_given_as_an_argument_and_its_answer_may_have_words() {
    let place = waiting();
    let said = place.then(&["answer", "--token", &token(&place), "reject", "the room is painted"]).fine();
    assert_eq!(said, "The answer to b/1/1/0 is on record: reject.\n");
    let shown = place.then(&["show", "b"]).fine();
    assert!(shown.contains("the room is painted"), "{shown}");
}

/// T48, T67: whatever is wrong with a token, its holder reads the same, nothing is in a chain, and the house can tell.
#[test]
fn who_has_no_good_token_learns_nothing_and_the_house_learns_why() {
    let place = waiting();
    let (good, withdrawn) = (token(&place), token(&place));
    place.then(&["withdraw", &withdrawn[..16]]).fine();
    let heads = place.json(&["export", "--heads"]);
    let is_refused = |said: &Said| assert_eq!((said.code, &*said.out, &*said.err), (2, "", REFUSED));
    let json = answers(&place, "open sesame", &["--json", "approve"]);
    let error = json!({ "code": "invalid_token", "whose": "caller", "message": "the token is not valid" });
    assert_eq!((json.code, json.json()), (2, json!({ "error": error })));
    is_refused(&answers(&place, "", &["approve"]));
    let unknown = good.replace(&good[..16], "0123456789abcdef");
    is_refused(&answers(&place, &unknown, &["approve"]));
    is_refused(&answers(&place, &good.replace(&good[17..], &withdrawn[17..]), &["approve"]));
    is_refused(&answers(&place, &withdrawn, &["approve"]));
    // A question under the same id that was another one when the invitation was issued.
    let store = SqliteStore::open(place.journal()).unwrap();
    let to = InvitedTo { conversation: "b", question: "b/1/1/0", digest: "0123456789abcdef", whom: None };
    let (_, other) = store.invitations().issue(&to, NOW, NOW + DAY).unwrap();
    drop(store);
    is_refused(&answers(&place, &other.reveal(), &["approve"]));
    let late = ["--now", "2026-12-01T10:00", "answer", "--token", &good, "approve"];
    is_refused(&place.says(&late));
    assert_eq!(place.json(&["export", "--heads"]), heads);
    // Somebody at the machine answers, and the question is not open any more.
    place.then(&["answer", "b/1/1/0", "approve"]).fine();
    is_refused(&answers(&place, &good, &["approve"]));
    let reasons = json!({
        "closed": 1, "expired": 1, "misshapen": 2, "other_question": 1, "unknown": 1, "withdrawn": 1, "wrong": 1,
    });
    assert_eq!(refused(&place), json!({ "total": 8, "last": NOW + DAY, "reasons": reasons }));
    assert_eq!(done(&place), (1, 1));
}

/// An answer that the question does not have costs nothing: the token is good for the right one.
#[test]
fn a_wrong_word_does_not_use_up_a_token() {
    let place = waiting();
    let token = token(&place);
    let said = answers(&place, &token, &["say", "yes"]);
    let told = "sommelier: \"say\" is no answer to b/1/1/0; possible: approve, reject\n";
    assert_eq!((said.code, &*said.err), (2, told));
    assert_eq!(answers(&place, &token, &["approve"]).code, 0);
    assert_eq!(refused(&place)["total"], 0);
}

/// T48: two processes with one token and two minds: one is heard.
#[test]
fn of_two_who_use_a_token_at_once_one_is_heard() {
    let place = waiting();
    let token = place.says(&["--json", "invite", "b/1/1/0"]).json()["token"].as_str().unwrap().to_owned();
    let both = [&["approve"][..], &["reject", "no"]].map(|words| by_stdin(&place, &token, words));
    let mut heard = both.map(|child| said(child.wait_with_output().unwrap()));
    heard.sort_by_key(|said| said.code);
    assert_eq!([heard[0].code, heard[1].code], [0, 2], "{heard:?}");
    assert!(heard[1].err.ends_with(REFUSED), "{heard:?}");
    let (answers, booked) = done(&place);
    assert_eq!((answers, booked), (1, i64::from(heard[0].out.contains("approve"))));
    assert_eq!(refused(&place)["total"], 1);
}

/// The command in a process of its own, with the token on stdin.
fn by_stdin(place: &Place, token: &str, words: &[&str]) -> Child {
    let mut child = place.begin(&[&["answer", "--token", "-"], words].concat());
    writeln!(child.stdin.take().unwrap(), "{token}").unwrap();
    child
}

/// T13: whenever the process is killed, the person sends the same again, and the answer is on record once.
#[test]
fn an_answer_by_token_that_is_killed_at_any_moment_is_on_record_once() {
    thread::scope(|scope| {
        for moment in 0..8 {
            scope.spawn(move || killed_while_it_answers(Duration::from_millis(moment * 12)));
        }
    });
}

fn killed_while_it_answers(moment: Duration) {
    let place = Place::new();
    assert_eq!(place.says(&["ask", "--conversation", "b", BOOKING]).code, 3);
    let token = place.says(&["--json", "invite", "b/1/1/0"]).json()["token"].as_str().unwrap().to_owned();
    let mut child = place.begin(&["--slow", "20", "answer", "--token", &token, "approve"]);
    thread::sleep(moment);
    child.kill().unwrap();
    child.wait().unwrap();

    let again = place.apart(&["answer", "--token", &token, "approve"]);
    // Only where it was killed after everything was done the token is none any more.
    assert!(again.code == 0 || done(&place) == (1, 1), "{again:?}");
    // It may have to wait for the lease of the one that was killed, and says so.
    assert_eq!(place.apart(&["resume", "b"]).code, 0);
    assert_eq!(done(&place), (1, 1));
    let last = place.apart(&["answer", "--token", &token, "approve"]);
    assert_eq!((last.code, &*last.err), (2, REFUSED));
    assert_eq!(place.says(&["verify"]).code, 0);
}

/// T13, T48: where a crash came between the answer and the note of it, the same again is told that it is on record, once; and
/// another answer is too late.
#[test]
fn who_was_cut_off_after_the_answer_may_send_the_same_again() {
    for (words, code, out) in
        [(&["approve"][..], 0, "The answer to b/1/1/0 is on record: approve.\n"), (&["reject", "no"], 2, "")]
    {
        let place = waiting();
        let token = token(&place);
        assert_eq!(answers(&place, &token, &["approve"]).code, 0);
        let raw = rusqlite::Connection::open(place.journal()).unwrap();
        raw.execute_batch("UPDATE invitations SET standing = 'open'").unwrap();
        let again = answers(&place, &token, words);
        assert_eq!((again.code, &*again.out), (code, out), "{again:?}");
        let last = answers(&place, &token, &["approve"]);
        assert_eq!((last.code, &*last.err), (2, REFUSED));
        assert_eq!(done(&place), (1, 1));
        assert_eq!(refused(&place)["reasons"]["spent"], 1 + u64::from(code == 2));
    }
}

#[test]
fn withdraw_takes_an_invitation_back_and_tells_where_it_is_too_late() {
    let place = waiting();
    let (first, second) = (token(&place), token(&place));
    let said = place.then(&["withdraw", &first]);
    assert_eq!(said.fine(), format!("Invitation {} to answer b/1/1/0 is withdrawn.\n", &first[..16]));
    let json = place.json(&["withdraw", &first[..16]]);
    assert_eq!((&json["invitation"]["id"], &json["withdrawn"]), (&json!(&first[..16]), &json!(NOW)));
    assert_eq!(answers(&place, &second, &["approve"]).code, 0);
    let late = place.then(&["withdraw", &second]);
    let told =
        "sommelier: it was made use of at 2026-11-30 10:00:00.000 UTC; `sommelier show b` tells the answer\n";
    assert_eq!((late.code, &*late.err), (2, told));
    let none = place.then(&["withdraw", "kim"]);
    let told = "sommelier: there is no invitation \"kim\"; `sommelier inbox` lists those that are open\n";
    assert_eq!((none.code, &*none.err), (2, told));
}

/// T62, T67: the secret of a token is in no file and in nothing that a command says, but for the one that made it.
#[test]
fn a_token_is_nowhere_but_with_its_holder() {
    let place = waiting();
    let token = token(&place);
    let secret = &token[17..];
    let wrong_use: [&[&str]; 7] = [
        &["answer", &token, "approve"],
        &["answer", "b/1/1/0", &token],
        &["answer", "--token", &token],
        &["answer", "--token", "-", &token],
        &["answer", "--token", &token, "b/1/1/0", "approve", "x"],
        &["answer", "--token", &token, "--by", "kim", "approve"],
        &["invite", &token],
    ];
    let mut said: Vec<Said> = wrong_use.into_iter().map(|arguments| place.then(arguments)).collect();
    assert!(said.iter().all(|said| said.code == 2), "{said:?}");
    said.push(answers(&place, &token, &["say", "yes"]));
    said.push(answers(&place, &token, &["approve"]));
    said.push(answers(&place, &token, &["approve"]));
    for command in
        [&["inbox"][..], &["show", "b"], &["export"], &["runs"], &["verify"], &["withdraw", &token]]
    {
        said.push(place.then(command));
        said.push(place.then(&[&["--json"], command].concat()));
    }
    let told = format!("{said:?}");
    assert!(told.contains(&token[..16]) && !told.contains(secret), "{told}");
    let files = fs::read_dir(place.path("")).unwrap().map(|file| fs::read(file.unwrap().path()).unwrap());
    let holds =
        |bytes: &[u8], needle: &str| bytes.windows(needle.len()).any(|window| window == needle.as_bytes());
    let files: Vec<Vec<u8>> = files.collect();
    assert!(files.iter().any(|bytes| holds(bytes, &token[..16])));
    assert!(!files.iter().any(|bytes| holds(bytes, secret)));
}

#[test]
fn wrong_use_of_invitations_is_told_with_what_would_be_right() {
    let place = waiting();
    let cases: [(&[&str], &str, &str); 9] = [
        (&["invite", "b/1/1/1"], "unknown_question", "no question \"b/1/1/1\" is open"),
        (&["invite", "b/1/1/0", "--digest", "0123456789abcdef"], "other_question", "0123456789abcdef"),
        (&["invite", "b/1/1/0", "--to", " "], "usage", "there is nothing in it"),
        (&["invite", "b/1/1/0", "--hours", "0"], "usage", "0 is not in 1.."),
        (&["invite", "b/1/1/0", "--hours", "1", "--for", "1"], "usage", "cannot be used with"),
        (&["invite", "b/1/1/0", "--for", "18446744073709551615"], "unfit", "beyond what a journal counts to"),
        (&["answer", "b/1/1/0"], "usage", "sommelier answer <ID> <WORD> [TEXT]"),
        (&["answer", "--token", "x", "perhaps"], "usage", "invalid value 'perhaps' for '<WORD>'"),
        (&["answer", "--token", "x", "b/1/1/0", "approve", "y"], "usage", "no id is given with it"),
    ];
    let before = place.json(&["inbox"]);
    for (arguments, code, says) in cases {
        let said = place.then(&[&["--json"], arguments].concat());
        let error = &said.json()["error"];
        assert_eq!((said.code, &error["code"]), (2, &json!(code)), "{error}");
        assert!(error["message"].as_str().unwrap().contains(says), "{error}");
    }
    assert_eq!(place.json(&["inbox"]), before);
    let help = place.then(&["answer", "--help"]).fine();
    assert!(help.contains("--token <TOKEN> <WORD> [TEXT]"), "{help}");
    for word in [
        "reject          No: it is not done, the agent reads why and goes on; a handoff that was refused stays so",
        "take-over       The run ends for the agents, and what is left to do is yours",
    ] {
        assert!(help.contains(word), "{word}: {help}");
    }
}
