//! What `verify` finds, and that nothing goes on from what is damaged.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod harness;

use std::fs;

use harness::{BOOKING, Place, RUNNING_CASE, Said};
use rusqlite::Connection;
use serde_json::{Value, json};

/// A journal in which `a` was answered after a handoff, and a room was booked in `b`.
fn sound() -> Place {
    let place = Place::new();
    place.then(&["ask", "--conversation", "a", RUNNING_CASE]).fine();
    assert_eq!(place.then(&["ask", "--conversation", "b", BOOKING]).code, 3);
    place.then(&["answer", "b/1/1/0", "approve"]).fine();
    assert_eq!(
        place.then(&["verify"]).fine(),
        "2 conversations, 37 records, 6 bookings (the house begins with 5): sound\n"
    );
    place
}

/// Somebody writes to the file past the command.
fn edit(place: &Place, sql: &str) {
    let connection = Connection::open(place.journal()).unwrap();
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    let edited = connection.execute(sql, ()).unwrap();
    assert!(edited > 0, "{sql} has changed nothing");
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())).unwrap();
}

fn verified(place: &Place, arguments: &[&str]) -> (u8, Value) {
    let said = place.then(&[&["--json", "verify"], arguments].concat());
    assert_eq!(said.err, "");
    (said.code, said.json())
}

/// A run and the number of a record in it, where there is one.
type Made<'a> = Option<(&'a str, u64)>;

/// What is found in the records, and what in the ledger.
#[track_caller]
fn found(place: &Place, records: &[(&str, u64, &str)], ledger: &[(&str, Made<'_>, &str)]) {
    let (code, report) = verified(place, &[]);
    let records: Vec<Value> = records
        .iter()
        .map(|(conversation, seq, what)| json!({ "conversation": conversation, "seq": seq, "what": what }))
        .collect();
    let ledger: Vec<Value> = ledger
        .iter()
        .map(|(booking, at, what)| {
            let (conversation, seq) = (at.map(|at| at.0), at.map(|at| at.1));
            json!({ "booking": booking, "conversation": conversation, "seq": seq, "what": what })
        })
        .collect();
    assert_eq!(json!([report["findings"], report["ledger"]["findings"]]), json!([records, ledger]));
    assert_eq!((code, &report["sound"]), (1, &json!(false)));
}

/// Nothing of the run is gone on with, and the others are as they were.
fn is_read_only(place: &Place, run: &str) {
    let before = rows(place, run);
    for arguments in
        [&["resume", run][..], &["cancel", run], &["ask", "--conversation", run, "Quote Focus pro 3h"]]
    {
        let said = place.then(&[&["--json"], arguments].concat());
        assert_eq!((said.code, &said.json()["error"]["code"]), (1, &json!("damaged")), "{arguments:?}");
    }
    let runs = place.then(&["--json", "runs"]);
    assert_eq!(runs.code, 1);
    let status = |id: &str| {
        let runs = runs.json();
        let run = runs["runs"].as_array().unwrap().iter().find(|run| run["id"] == id).cloned();
        run.unwrap()["status"].clone()
    };
    let other = if run == "a" { "b" } else { "a" };
    assert_eq!((status(run), status(other)), (json!("damaged"), json!("answered")));
    assert_eq!(place.then(&["resume", other]).code, 0);
    let shown = place.then(&["show", run]);
    assert!(shown.code == 1 && shown.out.contains("damaged: conversation"), "{shown:?}");
    assert_eq!(rows(place, run), before);
}

/// How many records a run has, and in which epoch.
fn rows(place: &Place, run: &str) -> (i64, i64) {
    let connection = Connection::open(place.journal()).unwrap();
    let count = "SELECT count(*), max(events.epoch) FROM events JOIN conversations ON conversation = id WHERE name = ?";
    connection.query_row(count, [run], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

/// T18.
#[test]
fn an_edited_row_is_found_and_its_run_is_not_gone_on_with() {
    let place = sound();
    edit(&place, "UPDATE events SET body = replace(body, '6000', '1000') WHERE kind = 'handoff_committed'");
    found(&place, &[("a", 12, "its content and its hash do not agree")], &[]);
    let text = place.then(&["verify"]);
    let told = "2 conversations, 26 records, 6 bookings (the house begins with 5): 1 finding\n10 records stand behind what was found, and nobody has looked at them\nconversation \"a\", record 12: its content and its hash do not agree\n";
    assert_eq!((text.code, &*text.out), (1, told));
    is_read_only(&place, "a");
}

/// T17: one bit of what a tool gave, on disk.
#[test]
fn a_flipped_bit_is_found() {
    let place = sound();
    // No copy of a page is left that nobody reads.
    Connection::open(place.journal()).unwrap().execute_batch("VACUUM").unwrap();
    edit(&place, "UPDATE conversations SET until = until + 1");
    let mut file = fs::read(place.journal()).unwrap();
    let text = br#"\"rate_cents_per_hour\":2000"#;
    let mut all = file.windows(text.len()).enumerate().filter(|(_, window)| window == text).map(|(at, _)| at);
    let at = all.next_back().unwrap() + text.len() - 4;
    file[at] ^= 1;
    fs::write(place.journal(), file).unwrap();
    found(&place, &[("a", 8, "its content and its hash do not agree")], &[]);
    is_read_only(&place, "a");
}

#[test]
fn a_missing_record_is_found() {
    let place = sound();
    edit(&place, "DELETE FROM events WHERE kind = 'turn_received' AND conversation = 1");
    found(&place, &[("a", 3, "it is missing")], &[]);
    is_read_only(&place, "a");
}

/// The chain says nothing of what stood behind its end; a head that was kept elsewhere does.
#[test]
fn a_cut_tail_is_found_by_heads_that_were_exported() {
    let place = sound();
    let heads = place.path("heads.json");
    fs::write(&heads, place.then(&["export", "--heads"]).fine()).unwrap();
    let heads = heads.to_str().unwrap();
    let (code, report) = verified(&place, &["--heads", heads]);
    assert_eq!((code, &report["heads"]), (0, &json!({ "compared": 2, "without": 0 })));

    let last = "(SELECT hash FROM events WHERE conversation = 1 AND seq = 19)";
    edit(&place, "DELETE FROM events WHERE conversation = 1 AND seq > 19");
    edit(&place, &format!("UPDATE conversations SET seq = 19, hash = {last} WHERE id = 1"));
    assert_eq!(verified(&place, &[]).0, 0);
    let (code, report) = verified(&place, &["--heads", heads]);
    let what = "the journal ends before it, and it once went to record 22";
    assert_eq!((code, &report["findings"]), (1, &json!([{ "conversation": "a", "seq": 20, "what": what }])));
}

/// A conversation that is gone altogether leaves nothing in the file that would miss it.
#[test]
fn a_deleted_conversation_is_found_by_heads_that_were_exported() {
    let place = sound();
    let heads = place.path("heads.json");
    fs::write(&heads, place.then(&["export", "--heads"]).fine()).unwrap();
    edit(&place, "DELETE FROM events WHERE conversation = 1");
    edit(&place, "DELETE FROM conversations WHERE id = 1");
    assert_eq!(verified(&place, &[]).0, 0);
    let (code, report) = verified(&place, &["--heads", heads.to_str().unwrap()]);
    let what = "the journal ends before it, and it once went to record 22";
    assert_eq!((code, &report["findings"]), (1, &json!([{ "conversation": "a", "seq": 1, "what": what }])));
}

/// What no head was exported of may have lost its end, so it is told how much was compared; and heads of nothing are no check.
#[test]
fn verify_says_how_much_the_heads_cover() {
    let place = sound();
    let heads = place.path("heads.json");
    let all = place.json(&["export", "--heads"]);
    fs::write(&heads, json!({ "b": all["b"] }).to_string()).unwrap();
    let file = heads.to_str().unwrap();
    assert_eq!(verified(&place, &["--heads", file]).1["heads"], json!({ "compared": 1, "without": 1 }));
    let text = place.then(&["verify", "--heads", file]).fine();
    let told = "sound\n1 head compared; 1 conversation has none, and may have lost their end unseen\n";
    assert!(text.ends_with(told), "{text}");
    fs::write(&heads, "{}").unwrap();
    let said = place.then(&["--json", "verify", "--heads", file]);
    assert_eq!((said.code, &said.json()["error"]["code"]), (2, &json!("no_heads")));
}

/// A part of the file is gone: no command calls that sound, or a mistake of who typed it.
#[test]
fn a_file_of_which_a_part_is_missing_is_damaged() {
    let place = sound();
    let whole = fs::read(place.journal()).unwrap();
    for length in [100, 4096, whole.len() / 2, whole.len() - 4096] {
        fs::write(place.journal(), &whole[..length]).unwrap();
        for command in
            [&["verify"][..], &["export"], &["runs"], &["inbox"], &["resume", "a"], &["ask", "hello"]]
        {
            let said = place.then(&[&["--json"], command].concat());
            let error = &said.json()["error"];
            let told = error["message"]
                .as_str()
                .unwrap()
                .contains("the file itself is damaged: database disk image is");
            assert!(told, "{length} {command:?}: {said:?}");
            assert_eq!(
                (said.code, &error["code"], &error["whose"]),
                (1, &json!("damaged"), &json!("journal"))
            );
        }
    }
}

/// Whichever page is overwritten, `verify` finds it, nothing panics, and what stands on other pages is exported.
#[test]
fn a_page_that_was_overwritten_is_found_and_the_rest_is_exported() {
    let place = sound();
    let whole = fs::read(place.journal()).unwrap();
    let is_used = |page: &[u8]| page.iter().any(|byte| *byte != 0);
    let all = place.then(&["export"]).out.lines().count();
    let mut parts = 0;
    for (number, page) in whole.chunks(4096).enumerate().skip(1).filter(|(_, page)| is_used(page)) {
        let mut file = whole.clone();
        file[number * 4096..][..page.len()].fill(0xff);
        for beside in ["journal.db-wal", "journal.db-shm"] {
            let _ = fs::remove_file(place.path(beside));
        }
        fs::write(place.journal(), file).unwrap();
        let said = place.then(&["verify"]);
        // The index of the ledger's days is of no record, and read by nobody here.
        assert!(said.code == 1 || said.out.ends_with(": sound\n"), "{number}: {said:?}");
        let exported = place.then(&["export"]);
        let lines = exported.out.lines().count();
        assert_eq!(exported.code, u8::from(lines < all), "{number}: {exported:?}");
        parts += usize::from(lines > 0 && lines < all && said.code == 1);
    }
    assert!(parts > 0, "no page was of one conversation alone");
}

#[test]
fn a_tail_that_was_cut_without_the_note_of_it_is_found_by_that() {
    let place = sound();
    edit(&place, "DELETE FROM events WHERE conversation = 1 AND seq > 19");
    found(&place, &[("a", 20, "it is missing")], &[]);
}

#[test]
fn a_note_of_where_a_run_ends_that_is_another_is_found() {
    let place = sound();
    edit(&place, "UPDATE conversations SET seq = 12 WHERE id = 1");
    let (code, report) = verified(&place, &[]);
    assert_eq!((code, &report["findings"][0]["conversation"]), (1, &json!("a")), "{report}");
}

/// The ledger is a cache of what the records tell, so each of its bookings has a record and each record its booking.
#[test]
fn a_ledger_that_says_something_else_than_the_records_is_found() {
    let at = Some(("b", 12));
    let others = "room, plan, time or customer are others than were asked for";
    let cases: [(&str, &str, Made<'_>, &str); 11] = [
        ("UPDATE reservo_bookings SET customer = 'Eve' WHERE id = 6", "RSV-0006", at, others),
        ("UPDATE reservo_bookings SET start_hour = 15 WHERE id = 6", "RSV-0006", at, others),
        (
            "UPDATE reservo_bookings SET total_cents = 1 WHERE id = 6",
            "RSV-0006",
            at,
            "it costs 1 cents by the ledger, and 8000 by the record",
        ),
        (
            "UPDATE reservo_bookings SET refund_cents = 8000 WHERE id = 6",
            "RSV-0006",
            None,
            "it is cancelled, and no record tells of that",
        ),
        (
            "UPDATE reservo_bookings SET total_cents = 1 WHERE id = 1",
            "RSV-0001",
            None,
            "the house begins with it, and the ledger has it otherwise",
        ),
        (
            "UPDATE reservo_bookings SET customer = 'Eve' WHERE id = 2",
            "RSV-0002",
            None,
            "the house begins with it, and the ledger has it otherwise",
        ),
        ("DELETE FROM reservo_keys", "RSV-0006", at, "the ledger does not have the key \"b/1/1/0\" for it"),
        (
            "UPDATE reservo_keys SET key = 'b/9/9/9'",
            "RSV-0006",
            at,
            "the ledger does not have the key \"b/1/1/0\" for it",
        ),
        (
            "INSERT INTO reservo_bookings SELECT 7, room, plan, '2026-12-09', start_hour, hours, customer, total_cents, \
             refund_cents FROM reservo_bookings WHERE id = 6",
            "RSV-0007",
            None,
            "no record tells of it",
        ),
        (
            "DELETE FROM reservo_bookings WHERE id = 6",
            "RSV-0006",
            at,
            "it is on record, and the ledger does not have it",
        ),
        (
            "DELETE FROM reservo_bookings WHERE id = 1",
            "RSV-0001",
            None,
            "the house begins with it, and the ledger does not have it",
        ),
    ];
    for (sql, booking, at, what) in cases {
        let place = sound();
        edit(&place, sql);
        let (code, report) = verified(&place, &[]);
        let (conversation, seq) = (at.map(|at| at.0), at.map(|at| at.1));
        let expected = json!({ "booking": booking, "conversation": conversation, "seq": seq, "what": what });
        assert_eq!((code, &report["findings"]), (1, &json!([])), "{sql}");
        let findings = report["ledger"]["findings"].as_array().unwrap();
        assert_eq!(findings[0], expected, "{sql}");
        // A key that is another is missing, and one too many.
        let count = if sql.starts_with("UPDATE reservo_keys") { 2 } else { 1 };
        assert_eq!(findings.len(), count, "{sql}: {findings:?}");
    }
}

/// A booking whose record was cut off, heads or none.
#[test]
fn a_booking_without_its_record_is_found_and_where_that_would_stand() {
    let place = sound();
    let last = "(SELECT hash FROM events WHERE conversation = 2 AND seq = 8)";
    edit(&place, "DELETE FROM events WHERE conversation = 2 AND seq > 8");
    edit(&place, &format!("UPDATE conversations SET seq = 8, epoch = 1, hash = {last} WHERE id = 2"));
    let what = "it was booked under the key \"b/1/1/0\", and no record tells of it";
    found(&place, &[], &[("RSV-0006", Some(("b", 9)), what)]);
    let text = place.then(&["verify"]).out;
    assert!(text.ends_with(&format!("\nconversation \"b\", record 9: booking RSV-0006: {what}\n")), "{text}");
}

/// T20.
#[test]
fn a_run_of_a_newer_release_is_not_gone_on_with_and_is_no_damage() {
    let place = sound();
    // What a newer release would write: a kind that is not known here, in a chain that is whole.
    let store = sommelier_store::SqliteStore::open(place.journal()).unwrap();
    let event = sommelier_store::Event::new("sang_a_song", 1, 7, "{}").unwrap();
    use sommelier_store::Journal;
    store.append("c", 0, sommelier_store::Epoch::NONE, &[event]).unwrap();
    drop(store);
    let (code, report) = verified(&place, &[]);
    let what = "the kind \"sang_a_song\" is not known to this release";
    assert_eq!((code, &report["findings"]), (0, &json!([])));
    assert_eq!(report["unplayed"], json!([{ "conversation": "c", "seq": 1, "what": what }]));
    let Said { out, code, .. } = place.then(&["--json", "resume", "c"]);
    let out: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &out["error"]["code"], &out["error"]["whose"]),
        (1, &json!("other_definition"), &json!("program"))
    );
}

#[test]
fn what_can_be_read_of_a_damaged_run_is_exported_and_the_exit_code_says_so() {
    let place = sound();
    edit(&place, "UPDATE events SET body = '{}' WHERE kind = 'closed' AND conversation = 1");
    let said = place.then(&["export"]);
    assert_eq!((said.code, said.out.lines().count()), (1, 37));
    assert!(said.err.contains("damaged: conversation \"a\", record 22"), "{}", said.err);
}

/// T18: what is damaged beside the questions is told, and hides none of them.
#[test]
fn invitations_that_cannot_be_read_hide_no_question() {
    let place = Place::new();
    assert_eq!(place.then(&["ask", "--conversation", "b", BOOKING]).code, 3);
    place.json(&["invite", "b/1/1/0"]);
    assert_eq!(place.then(&["answer", "--token", "x", "approve"]).code, 2);
    let raw = Connection::open(place.journal()).unwrap();
    raw.execute_batch(
        "UPDATE invitations SET standing = 'ajar'; UPDATE refused_tokens SET reason = CAST(x'ff' AS TEXT)",
    )
    .unwrap();
    let inbox = place.then(&["inbox"]);
    assert_eq!((inbox.code, inbox.out.contains("may run    book")), (1, true), "{inbox:?}");
    let told = "\n\n#invitations is left out: damaged: conversation \"#invitations\", record 1";
    assert!(inbox.out.contains(told), "{inbox:?}");
    let inbox = place.then(&["--json", "inbox"]);
    let document = inbox.json();
    let left_out = document["left_out"].as_array().unwrap();
    let runs: Vec<&Value> = left_out.iter().map(|left| &left["run"]).collect();
    assert_eq!((inbox.code, json!(runs)), (1, json!(["#invitations", "#refused_tokens"])), "{document}");
    assert_eq!(document["questions"].as_array().map(Vec::len), Some(1));
    assert_eq!(place.then(&["verify"]).code, 1);
}

/// What does not follow by the same definition was not written like that: the journal is at fault. A sweep tells of such a run.
#[test]
fn a_run_that_does_not_follow_is_the_journals_fault_and_a_sweep_tells_of_it() {
    let place = sound();
    let store = sommelier_store::SqliteStore::open(place.journal()).unwrap();
    let event =
        sommelier_store::Event::new("retried", 1, 7, r#"{"run":"c","at":7,"what":"retried"}"#).unwrap();
    use sommelier_store::Journal;
    store.append("c", 0, sommelier_store::Epoch::NONE, &[event]).unwrap();
    drop(store);
    let Said { out, code, .. } = place.then(&["--json", "resume", "c"]);
    let error = serde_json::from_str::<Value>(&out).unwrap()["error"].clone();
    assert_eq!((code, &error["code"], &error["whose"]), (1, &json!("diverged"), &json!("journal")));
    let Said { out, code, .. } = place.then(&["--json", "sweep"]);
    let swept: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, swept),
        (1, json!({ "swept": [], "leased": [], "unread": [{ "run": "c", "fault": error }] }))
    );
    let Said { out, code, .. } = place.then(&["sweep"]);
    assert!(code == 1 && out.starts_with("c cannot be read\nrecord 1 of "), "{out}");
}

/// A run that cannot be read may have a question: an inbox without it is no answer.
#[test]
fn an_inbox_says_of_what_it_leaves_out_that_it_does() {
    let place = Place::new();
    assert_eq!(place.then(&["ask", "--conversation", "b", BOOKING]).code, 3);
    edit(&place, "UPDATE events SET body = replace(body, 'Ada', 'Eve') WHERE kind = 'turn_received'");
    let said = place.then(&["--json", "inbox"]);
    let (code, document) = (said.code, said.json());
    assert_eq!((code, &document["questions"], &*said.err), (1, &json!([]), ""));
    let left_out = &document["left_out"][0];
    assert_eq!(
        json!([left_out["run"], left_out["fault"]["code"], left_out["fault"]["whose"]]),
        json!(["b", "damaged", "journal"])
    );
    let said = place.then(&["inbox"]);
    let told = "Nothing that can be read waits for a person.\n\nb is left out: damaged: conversation \"b\", record 3: ";
    assert!(said.code == 1 && said.out.starts_with(told), "{said:?}");
}

/// One row that nobody can read hides nothing else: it is a finding, with the booking and the column, and the chain is looked at
/// as ever.
#[test]
fn a_row_of_the_ledger_that_cannot_be_read_is_a_finding_among_the_others() {
    let at = Some(("b", 12));
    let cases: [(&str, &str, Made<'_>, &str); 12] = [
        ("UPDATE reservo_bookings SET hours = 99 WHERE id = 6", "RSV-0006", at, "its hours cannot be read: "),
        (
            "UPDATE reservo_bookings SET room = 'Attic' WHERE id = 6",
            "RSV-0006",
            at,
            "its room cannot be read: ",
        ),
        ("UPDATE reservo_bookings SET plan = '' WHERE id = 6", "RSV-0006", at, "its plan cannot be read: "),
        (
            "UPDATE reservo_bookings SET customer = ' ' WHERE id = 6",
            "RSV-0006",
            at,
            "its customer cannot be read: ",
        ),
        (
            "UPDATE reservo_bookings SET date = 'soon' WHERE id = 6",
            "RSV-0006",
            at,
            "its date cannot be read: ",
        ),
        (
            "UPDATE reservo_bookings SET start_hour = -1 WHERE id = 6",
            "RSV-0006",
            at,
            "its start_hour cannot be read: ",
        ),
        (
            "UPDATE reservo_bookings SET room = CAST(x'ff' AS TEXT) WHERE id = 2",
            "RSV-0002",
            None,
            "its room cannot be read: ",
        ),
        (
            "UPDATE reservo_bookings SET hours = 99 WHERE id = 1",
            "RSV-0001",
            None,
            "its hours cannot be read: ",
        ),
        (
            "INSERT INTO reservo_bookings SELECT -7, room, plan, date, start_hour, hours, customer, total_cents, 0 \
             FROM reservo_bookings WHERE id = 6",
            "-7",
            None,
            "its id cannot be read: ",
        ),
        (
            "INSERT INTO reservo_bookings SELECT 9223372036854775807, room, plan, date, start_hour, hours, customer, \
             total_cents, 0 FROM reservo_bookings WHERE id = 6",
            "9223372036854775807",
            None,
            "its id cannot be read: ",
        ),
        (
            "UPDATE reservo_keys SET used_for = 'fun'",
            "RSV-0006",
            at,
            "the used_for of its key \"b/1/1/0\" cannot be read: ",
        ),
        (
            "UPDATE reservo_keys SET booking = -6",
            "-6",
            None,
            "the booking of its key \"b/1/1/0\" cannot be read: ",
        ),
    ];
    for (sql, booking, at, what) in cases {
        let place = sound();
        edit(&place, sql);
        edit(
            &place,
            "UPDATE events SET body = replace(body, '6000', '1000') WHERE kind = 'handoff_committed'",
        );
        let (code, report) = verified(&place, &[]);
        assert_eq!(
            (code, &report["findings"][0]["seq"], &report["conversations"]),
            (1, &json!(12), &json!(2))
        );
        let findings = report["ledger"]["findings"].as_array().unwrap();
        let found = &findings[0];
        assert!(found["what"].as_str().unwrap().starts_with(what), "{sql}: {findings:?}");
        let (conversation, seq) = (at.map(|at| at.0), at.map(|at| at.1));
        assert_eq!(
            json!([found["booking"], found["conversation"], found["seq"], findings.len()]),
            json!([booking, conversation, seq, 1]),
            "{sql}: {findings:?}"
        );
        // Who asks for something else is none the worse for it.
        place.then(&["ask", "Quote Focus pro 3h"]).fine();
        let other = place.json(&["ask", "Book Forum team for 1 hour on 2026-12-05 at 10, for Bob"]);
        let id = other["waiting"][0]["id"].as_str().unwrap();
        let booked = place.json(&["answer", id, "approve"]);
        assert!(booked["done"][0]["result"]["booking_id"].is_string(), "{sql}: {booked}");
    }
}

/// A ledger of which a table is gone is told, beside what is found in the records.
#[test]
fn a_ledger_that_has_lost_a_table_is_a_finding_and_is_not_written_to() {
    for (sql, what) in [
        ("DROP TABLE reservo_bookings", "the table reservo_bookings is not there"),
        ("DROP TABLE reservo_keys", "the table reservo_keys is not there"),
        ("DROP TABLE reservo_ledger", "the table reservo_ledger is not there"),
        ("DELETE FROM reservo_ledger", "the table reservo_ledger has no version"),
    ] {
        let place = sound();
        edit(
            &place,
            "UPDATE events SET body = replace(body, '6000', '1000') WHERE kind = 'handoff_committed'",
        );
        let raw = Connection::open(place.journal()).unwrap();
        raw.pragma_update(None, "foreign_keys", false).unwrap();
        raw.execute_batch(sql).unwrap();
        let (code, report) = verified(&place, &[]);
        assert_eq!((code, &report["findings"][0]["seq"]), (1, &json!(12)), "{sql}");
        let findings = report["ledger"]["findings"].as_array().unwrap();
        let told = findings[0]["what"].as_str().unwrap();
        assert!(findings.len() == 1 && told.contains(what), "{sql}: {findings:?}");
        let said = place.then(&["--json", "ask", "Quote Focus pro 3h"]);
        let error = &said.json()["error"];
        assert_eq!(
            (said.code, &error["code"], &error["whose"]),
            (1, &json!("altered"), &json!("journal")),
            "{sql}"
        );
        assert!(error["message"].as_str().unwrap().contains(what), "{sql}: {error}");
    }
}

/// The journal's own tables too.
#[test]
fn a_journal_that_has_lost_a_table_is_told_as_altered() {
    let place = sound();
    Connection::open(place.journal()).unwrap().execute_batch("DROP TABLE late_results").unwrap();
    for command in [&["verify"][..], &["runs"], &["ask", "Quote Focus pro 3h"]] {
        let said = place.then(&[&["--json"], command].concat());
        let error = &said.json()["error"];
        assert_eq!((said.code, &error["code"], &error["whose"]), (1, &json!("altered"), &json!("journal")));
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("late_results") && message.contains("take the file from a copy"),
            "{message}"
        );
    }
}

/// A chain can be computed anew; the time of a record stands in its body too.
#[test]
fn a_time_that_is_another_than_that_of_the_body_is_found() {
    use sommelier_store::{Epoch, Event, Journal, SqliteStore};

    let (from, to) = (sound(), Place::new());
    let read = SqliteStore::open(from.journal()).unwrap();
    let written = SqliteStore::open(to.journal()).unwrap();
    let moved = |kind: &str| if kind == "tool_intended" { 1 } else { 0 };
    let records = read.load("a", 1).unwrap();
    let events = records.iter().map(|record| &record.event).filter(|event| event.kind() != "lease_taken");
    let events: Vec<Event> = events
        .map(|event| {
            Event::new(event.kind(), event.version(), event.at() + moved(event.kind()), event.body()).unwrap()
        })
        .collect();
    written.append("a", 0, Epoch::NONE, &events).unwrap();
    drop((read, written));
    let (code, report) = verified(&to, &[]);
    let what = "the time of tool_intended is 1796032800001 beside its body and 1796032800000 in it";
    assert_eq!((code, &report["findings"]), (1, &json!([{ "conversation": "a", "seq": 6, "what": what }])));
    let said = to.then(&["--json", "resume", "a"]);
    let error = &said.json()["error"];
    assert_eq!((said.code, &error["code"], &error["whose"]), (1, &json!("diverged"), &json!("journal")));
}
