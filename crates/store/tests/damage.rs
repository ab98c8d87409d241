//! Files of SQLite that a disk, a crash or a hand has damaged.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::fs;
use std::path::PathBuf;

use harness::{Folder, event, fill};
use sommelier_store::{
    Claim, Damage, Epoch, Finding, Heads, Journal, JournalError, Record, SqliteStore, computed_hash,
};

/// A journal of two conversations, the heads that were exported and the records, with the log beside the file
/// as a crash leaves it.
struct Crashed {
    folder: Folder,
    heads: Heads,
    records: Vec<(String, Vec<Record>)>,
}

impl Crashed {
    /// `in_the_log` says whether the records stand in the log or have been copied into the file.
    fn new(in_the_log: bool) -> Self {
        let (live, folder) = (Folder::new(), Folder::new());
        let store = live.open();
        // The last page of the file has something on it: what is cut off an empty one means nothing.
        store.invitations().check("", 99).unwrap_err();
        for _ in 0..6 {
            fill(&store, "a", 2);
            fill(&store, "b", 2);
        }
        store.note_late("a", Epoch::NONE, &event(99)).unwrap();
        let claiming = event(12).claiming([Claim::Take("refund 17".to_owned())]);
        store.append("b", 12, Epoch::NONE, &[claiming]).unwrap();
        if !in_the_log {
            let copied: i64 =
                live.raw().query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get(0)).unwrap();
            assert_eq!(copied, 0);
        }
        fs::copy(live.journal(), folder.journal()).unwrap();
        fs::copy(live.log(), folder.log()).unwrap();
        let heads = store.heads().unwrap();
        let records = heads.keys().map(|name| (name.clone(), store.load(name, 1).unwrap())).collect();
        Self { folder, heads, records }
    }

    /// Whatever was done to the file: it is not opened, or what is not whole is found and what is handed out
    /// is true. Tells whether anything was found to be wrong.
    fn check(&self, what: &str) -> bool {
        let Ok(store) = SqliteStore::open(self.folder.journal()) else { return true };
        let verified = match store.verify(None, &self.heads) {
            Ok(verified) => verified,
            Err(JournalError::Broken(_) | JournalError::Malformed(_)) => return true,
            Err(error) => panic!("{what}: {error}"),
        };
        for (name, records) in &self.records {
            let found = verified.findings.iter().find(|finding| finding.conversation == *name);
            // Who knows of no heads gets the truth, or the beginning of it, or nothing.
            let answer = self.folder.open().load(name, 1);
            let is_refused = answer.is_err();
            let loaded = answer.unwrap_or_default();
            assert!(records.starts_with(&loaded), "{what}: {name} has other records");
            let Some(finding) = found else {
                // A page that holds records of both may be refused to the one that meets it first.
                assert!(
                    is_refused || loaded.len() == records.len(),
                    "{what}: a tail of {name} was lost unseen"
                );
                continue;
            };
            if matches!(finding.damage, Damage::Cut { .. }) {
                assert_eq!(finding.seq, loaded.len() as u64 + 1, "{what}: {finding}");
            }
            let refused = store.append(name, finding.seq - 1, Epoch::NONE, &[event(99)]);
            assert_eq!(refused, Err(JournalError::ReadOnly(finding.clone())), "{what}");
        }
        !verified.is_sound()
    }
}

/// Damages a copy of the file at places all over it; tells how often that was found, and how often it was
/// tried.
fn at_many_places(
    in_the_log: bool,
    path: fn(&Folder) -> PathBuf,
    places: usize,
    damage: impl Fn(&[u8], usize) -> Vec<u8>,
) -> (usize, usize) {
    let crashed = Crashed::new(in_the_log);
    let file = fs::read(crashed.folder.journal()).unwrap();
    let log = fs::read(crashed.folder.log()).unwrap();
    let whole = fs::read(path(&crashed.folder)).unwrap();
    let mut found = 0;
    for n in 0..places {
        // Places in steps that are no multiple of a page.
        let place = (n * whole.len() / places + n * 7) % whole.len();
        fs::write(crashed.folder.journal(), &file).unwrap();
        fs::write(crashed.folder.log(), &log).unwrap();
        let _ = fs::remove_file(crashed.folder.journal().with_extension("db-shm"));
        fs::write(path(&crashed.folder), damage(&whole, place)).unwrap();
        found += usize::from(crashed.check(&format!("place {place} of {}", whole.len())));
    }
    (found, places)
}

fn flip(bytes: &[u8], place: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[place] ^= 1 << (place % 8);
    bytes
}

fn cut(bytes: &[u8], place: usize) -> Vec<u8> {
    bytes[..place].to_vec()
}

/// T17: one bit of the log drops what was committed after it, and SQLite does not mind. The exported heads
/// do.
#[test]
fn a_bit_of_the_log_is_found() {
    let (found, tried) = at_many_places(true, Folder::log, 60, flip);
    assert_eq!(found, tried);
}

/// T17: a log that ends early, within a frame or between two.
#[test]
fn a_torn_log_is_found() {
    let (found, tried) = at_many_places(true, Folder::log, 60, cut);
    assert_eq!(found, tried);
}

/// T17: bits of the file. Some bytes of it mean nothing, as those of free pages do; none leads to another
/// record.
#[test]
fn a_bit_of_the_file_is_found_or_means_nothing() {
    let (found, tried) = at_many_places(false, Folder::journal, 150, flip);
    assert!(found > tried / 10, "{found} of {tried}");
}

/// T17: a file that was truncated.
#[test]
fn a_truncated_file_is_found() {
    let (found, tried) = at_many_places(false, Folder::journal, 40, cut);
    assert!(found + 1 >= tried, "{found} of {tried}");
}

/// T18: names that one conversation has at a time and that cannot be read are told, and stop nobody.
#[test]
fn names_that_cannot_be_read_are_told() {
    let folder = Folder::new();
    let store = folder.open();
    fill(&store, "a", 2);
    // The type of the column is looked at when it is written, not when it is read.
    folder
        .raw()
        .execute_batch(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = replace(sql, 'STRICT, ', '') WHERE name = 'claims';
             PRAGMA writable_schema = RESET;
             INSERT INTO claims VALUES ('refund 17', x'ff')",
        )
        .unwrap();
    let findings = store.verify(None, &Heads::new()).unwrap().findings;
    let named: Vec<(&str, u64)> =
        findings.iter().map(|finding| (&*finding.conversation, finding.seq)).collect();
    assert_eq!(named, [("#claims", 1)]);
    fill(&store, "a", 1);
}

/// T18: records whose conversation was taken away belong to nobody, and that is told.
#[test]
fn records_of_no_conversation_are_found() {
    let folder = Folder::new();
    fill(&folder.open(), "a", 3);
    folder.raw().execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM conversations").unwrap();
    let findings = folder.open().verify(None, &Heads::new()).unwrap().findings;
    let told: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(told, [r##"conversation "#1", record 1: it cannot be read: it belongs to no conversation"##]);
}

/// T18: what was kept apart is not chained, and what of it cannot be read is told all the same, and stops no
/// conversation.
#[test]
fn a_late_result_that_cannot_be_read_is_told() {
    let folder = Folder::new();
    let store = folder.open();
    fill(&store, "a", 1);
    for n in 0..3 {
        store.note_late("a", Epoch::NONE, &event(n)).unwrap();
    }
    folder.raw().execute_batch("UPDATE late_results SET body = CAST(x'ff' AS TEXT) WHERE id = 2").unwrap();
    let told = store.verify(None, &Heads::new()).unwrap().to_string();
    assert!(told.contains(r##"conversation "#late_results", record 2: it cannot be read"##), "{told}");
    assert!(matches!(store.late("a"), Err(JournalError::Damaged(Finding { seq: 2, .. }))));
    assert_eq!(fill(&store, "a", 1).seq, 2);
}

/// T18: a text that is no text any more is a finding with its place, not an error without one.
#[test]
fn a_record_that_cannot_be_read_is_named() {
    let folder = Folder::new();
    let store = folder.open();
    let sound = fill(&store, "a", 3);
    folder.raw().execute_batch("UPDATE events SET body = CAST(x'ff' AS TEXT) WHERE seq = 2").unwrap();
    let findings = store.verify(None, &Heads::new()).unwrap().findings;
    let places: Vec<_> =
        findings.iter().map(|found| (found.seq, matches!(found.damage, Damage::Unreadable(_)))).collect();
    assert_eq!(places, [(2, true)]);
    assert_eq!(store.salvage("a").unwrap().len(), 1);
    fill(&store, "b", 1);
    folder.raw().execute_batch("UPDATE events SET at = -1 WHERE seq = 3").unwrap();
    assert_eq!(store.newest().unwrap().len(), 2, "a wrong value is told as it is");
    folder.raw().execute_batch("UPDATE events SET hash = x'00' WHERE seq = 3").unwrap();
    let newest: Vec<_> = store.newest().unwrap().into_iter().map(|record| record.conversation).collect();
    assert_eq!(newest, ["b"], "what cannot be read keeps nobody from the others");
    folder
        .raw()
        .execute("UPDATE events SET at = 2, hash = ?1 WHERE seq = 3", [sound.hash.as_bytes()])
        .unwrap();
    folder.raw().execute_batch(r#"UPDATE events SET body = '{"n": 1}' WHERE seq = 2"#).unwrap();
    assert!(store.verify(None, &Heads::new()).unwrap().is_sound());
    assert_eq!(store.append("a", 3, Epoch::NONE, &[event(3)]).unwrap().head().seq, 4, "mended, it goes on");
}

/// T18: a value that is none of ours, in what the store keeps beside the records too, stops its conversation
/// alone.
#[test]
fn damage_stops_one_conversation_and_not_the_others() {
    for statement in [
        "UPDATE conversations SET hash = x'00' WHERE name = 'a'",
        "UPDATE conversations SET owner = CAST(x'ff' AS TEXT) WHERE name = 'a'",
        "UPDATE conversations SET seq = -1 WHERE name = 'a'",
        "UPDATE events SET hash = x'00' WHERE conversation = 1 AND seq = 3",
        "UPDATE events SET batch = x'00' WHERE conversation = 1 AND seq = 3",
        "UPDATE events SET at = -1, version = -1 WHERE conversation = 1 AND seq = 3",
    ] {
        let folder = Folder::new();
        fill(&folder.open(), "a", 3);
        fill(&folder.open(), "b", 3);
        folder.raw().execute_batch(statement).unwrap();
        let store = folder.open();
        assert!(matches!(store.load("a", 1), Err(JournalError::Damaged(_))), "{statement}");
        let answer = store.append("a", 3, Epoch::NONE, &[event(3)]);
        assert!(matches!(answer, Err(JournalError::ReadOnly(_))), "{statement}: {answer:?}");
        let blind = folder.open().append("a", 3, Epoch::NONE, &[event(3)]);
        assert!(blind.is_err() || statement.contains("at = -1"), "{statement}: {blind:?}");

        assert_eq!(store.append("b", 3, Epoch::NONE, &[event(3)]).unwrap().head().seq, 4);
        let findings = store.verify(None, &Heads::new()).unwrap().findings;
        assert_eq!(
            findings.iter().map(|found| &*found.conversation).collect::<Vec<_>>(),
            ["a"],
            "{statement}"
        );
    }
}

/// T18: a record with a hash of its own and an epoch that nobody took.
#[test]
fn an_epoch_that_nobody_took_is_found() {
    let folder = Folder::new();
    let store = folder.open();
    fill(&store, "a", 3);
    let mut forged = store.load("a", 3).unwrap().remove(0);
    forged.epoch = Epoch::new(2);
    let hash = computed_hash(&forged);
    folder.raw().execute("UPDATE events SET epoch = 2, hash = ?1 WHERE seq = 3", [hash.as_bytes()]).unwrap();
    folder.raw().execute("UPDATE conversations SET hash = ?1", [hash.as_bytes()]).unwrap();
    let damage = Damage::Epoch { expected: Epoch::NONE, found: Epoch::new(2) };
    let finding = Finding { conversation: "a".to_owned(), seq: 3, damage };
    assert_eq!(store.load("a", 1), Err(JournalError::Damaged(finding)));
}
