//! What every store is held to, as functions that a store's tests call.
//!
//! It is behind the feature `conformance`, since only tests have a use for it: it panics where a store breaks
//! a rule, and it brings [`Faults`] along. A store of one's own implements [`Shelf`] for where it keeps its
//! things, and has one test for each rule, so that a failure names the rule:
//!
//! ```
//! use sommelier_store::conformance::{self, Shelf, Tamper};
//! use sommelier_store::{Faults, Journal, MemoryStore};
//!
//! struct Memory(MemoryStore);
//!
//! impl Shelf for Memory {
//!     fn open(&self, faults: Faults) -> Box<dyn Journal> {
//!         Box::new(self.0.another().faults(faults))
//!     }
//!
//!     fn tamper(&self, conversation: &str, tamper: Tamper) {
//!         self.0.tamper(conversation, tamper);
//!     }
//! }
//!
//! conformance::appends_follow_the_expected_number(&Memory(MemoryStore::new()))?;
//! # Ok::<(), sommelier_store::JournalError>(())
//! ```

use std::collections::BTreeSet;
use std::thread;

use sommelier_runner::journal::{
    Appended, Damage, Epoch, Event, Finding, Hash, Head, Heads, Journal, JournalError, Lease, Record, Unfit,
    Verified,
};

use crate::faults::{Fault, Faults};
use crate::record::computed_hash;

mod claims;
mod late;
mod works;

pub use claims::{
    a_fault_leaves_a_name_with_its_record, a_name_has_one_conversation, a_race_for_a_name_has_one_winner,
    a_work_claims_with_its_events,
};
pub use late::{
    a_fault_leaves_a_late_result_kept_or_not, late_results_are_kept_apart, the_newest_records_are_told,
};
pub use works::{
    a_fault_around_a_work_leaves_the_old_state_or_the_new, a_work_does_not_wait_for_itself,
    a_work_is_appended_with_its_events, a_work_is_not_begun_where_it_may_not_be_appended,
    a_work_that_fails_leaves_nothing, works_and_appends_do_not_mix,
};

/// How a rule ends that was kept. One that was broken panics.
pub type Kept = Result<(), JournalError>;

/// Where a store keeps its things. It is empty at first, and each rule wants one of its own.
pub trait Shelf {
    /// A handle on it. Several may be open, as those of several processes.
    fn open(&self, faults: Faults) -> Box<dyn Journal>;

    /// Changes what is kept, past every rule of the store.
    fn tamper(&self, conversation: &str, tamper: Tamper);
}

/// What may happen to what is kept.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Tamper {
    /// A record gets another body.
    Body {
        /// The record.
        seq: u64,
        /// Its new body.
        body: &'static str,
    },
    /// A record gets another kind.
    Kind {
        /// The record.
        seq: u64,
        /// Its new kind.
        kind: &'static str,
    },
    /// A record gets another body, and the hash that goes with it.
    Rehashed {
        /// The record.
        seq: u64,
        /// Its new body.
        body: &'static str,
    },
    /// A record gets an id of another batch.
    Batch {
        /// The record.
        seq: u64,
    },
    /// A record is taken out, and nothing else is changed.
    Delete {
        /// The record.
        seq: u64,
    },
    /// All records from a number on are taken out, and the kept head is that of the record before it: by
    /// itself, what is left is sound.
    Cut {
        /// The first record to go.
        seq: u64,
    },
    /// All records are taken out, and whatever else is kept of the conversation.
    Forget,
    /// The kept head becomes another.
    Head {
        /// The new one.
        head: Head,
    },
    /// The kept epoch becomes another.
    Epoch {
        /// The new one.
        epoch: Epoch,
    },
}

/// Numbers go from 1 without a gap, and an append that expects another head is a conflict that tells the
/// right one.
pub fn appends_follow_the_expected_number(shelf: &dyn Shelf) -> Kept {
    let journal = shelf.open(Faults::NONE);
    assert_eq!(journal.head("a")?, Head::START);
    assert_eq!(journal.load("a", 1)?, []);
    let first = journal.append("a", 0, Epoch::NONE, &[event(1)?])?.head();
    let second = journal.append("a", 1, Epoch::NONE, &[event(2)?, event(3)?])?.head();
    assert_eq!((first.seq, second.seq), (1, 3));
    for expected in [0, 1, 2, 4, 1000] {
        let answer = journal.append("a", expected, Epoch::NONE, &[event(9)?]);
        assert_eq!(answer, Err(JournalError::Conflict(second)), "{expected}");
    }
    assert_eq!(numbers(&journal.load("a", 1)?), [(1, 1), (2, 2), (3, 3)]);
    assert_eq!(numbers(&journal.load("a", 3)?), [(3, 3)]);
    assert_eq!(numbers(&journal.load("a", 4)?), []);

    // Another conversation begins at the beginning.
    let other = journal.append("b", 0, Epoch::NONE, &[event(1)?])?.head();
    assert_eq!(journal.conversations()?, ["a", "b"]);
    assert_eq!(journal.heads()?, Heads::from([("a".to_owned(), second), ("b".to_owned(), other)]));
    Ok(())
}

/// What is read is what was written, to the byte, whatever it looks like. A name is data and nothing else.
pub fn everything_is_kept_byte_for_byte(shelf: &dyn Shelf) -> Kept {
    let names =
        ["../../etc/passwd", "a'; DROP TABLE events; --", "%", " ", "Ä\u{200b}\n", ":memory:", "A", "a"];
    let bodies = [
        "{ \"b\" : 1.0,\n\t\"a\":1e400, \"a\": 18446744073709551617 }",
        "\"\\u0000 \\ud83c\\udf77 🍷\"",
        "null",
        "[[[[[[]]]]]]",
    ];
    let events: Vec<Event> =
        bodies.iter().map(|body| Event::new("noted", u32::MAX, 7, *body)).collect::<Result<_, _>>()?;
    let journal = shelf.open(Faults::NONE);
    for name in names {
        let head = journal.append(name, 0, Epoch::NONE, &events)?.head();
        let records = shelf.open(Faults::NONE).load(name, 1)?;
        assert_eq!(records.last().map(Record::head), Some(head));
        let read: Vec<Event> = records.into_iter().map(|record| record.event).collect();
        assert_eq!(read, events, "{name:?}");
    }
    let mut sorted = names.map(str::to_owned);
    sorted.sort();
    assert_eq!(journal.conversations()?, sorted);
    for name in ["", "a\0b", &"n".repeat(257)] {
        let answer = journal.append(name, 0, Epoch::NONE, &events);
        assert!(matches!(answer, Err(JournalError::Unfit(Unfit::Name(_)))), "{answer:?}");
    }
    assert_eq!(journal.append("a", 4, Epoch::NONE, &[]), Err(JournalError::Unfit(Unfit::Empty)));
    Ok(())
}

/// The same batch again is answered with the head that it made, from any handle, and written once.
pub fn a_repeated_batch_is_a_duplicate(shelf: &dyn Shelf) -> Kept {
    let (journal, other) = (shelf.open(Faults::NONE), shelf.open(Faults::NONE));
    let batch = [event(1)?, event(2)?];
    let head = journal.append("a", 0, Epoch::NONE, &batch)?.head();
    assert_eq!(journal.append("a", 0, Epoch::NONE, &batch)?, Appended::Duplicate(head));
    let later = journal.append("a", 2, Epoch::NONE, &[event(3)?])?.head();
    assert_eq!(other.append("a", 0, Epoch::NONE, &batch)?, Appended::Duplicate(head));

    // Less of it, more of it, another place, other events: none of these was written before.
    let near: [(u64, Vec<Event>); 5] = [
        (0, vec![event(1)?]),
        (0, vec![event(1)?, event(2)?, event(3)?]),
        (1, vec![event(2)?]),
        (1, batch.to_vec()),
        (0, vec![event(1)?, event(4)?]),
    ];
    for (expected, events) in near {
        let answer = journal.append("a", expected, Epoch::NONE, &events);
        assert_eq!(answer, Err(JournalError::Conflict(later)), "{expected} {events:?}");
    }
    assert_eq!(numbers(&journal.load("a", 1)?), [(1, 1), (2, 2), (3, 3)]);
    Ok(())
}

/// A batch that many send at the same moment, over two handles, is written once, and all are told the same
/// head.
pub fn a_batch_that_many_send_is_written_once(shelf: &dyn Shelf) -> Kept {
    const SENDERS: usize = 50;
    let handles = [shelf.open(Faults::NONE), shelf.open(Faults::NONE)];
    let batch = [event(1)?, event(2)?];
    let mut answers = Vec::new();
    thread::scope(|threads| {
        let senders: Vec<_> = handles
            .iter()
            .cycle()
            .take(SENDERS)
            .map(|journal| threads.spawn(|| journal.append("a", 0, Epoch::NONE, &batch)))
            .collect();
        answers = senders.into_iter().filter_map(|sender| sender.join().ok()).collect();
    });
    let answers = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
    let head = shelf.open(Faults::NONE).head("a")?;
    let written = answers.iter().filter(|answer| **answer == Appended::Head(head)).count();
    let known = answers.iter().filter(|answer| **answer == Appended::Duplicate(head)).count();
    assert_eq!((head.seq, written, known), (2, 1, SENDERS - 1));
    Ok(())
}

/// Only the present epoch writes: not an older one, not one to come, and not with a batch that it did write
/// once.
pub fn an_old_epoch_is_fenced(shelf: &dyn Shelf) -> Kept {
    let (old, new) = (shelf.open(Faults::NONE), shelf.open(Faults::NONE));
    let first = old.take_lease("a", "host-1", 1000, 500)?;
    let batch = [event(1)?];
    let head = old.append("a", first.head.seq, first.epoch, &batch)?.head();
    let second = new.take_lease("a", "host-2", 1500, 500)?;
    assert_eq!((first.epoch, second.epoch, second.head.seq), (Epoch::new(1), Epoch::new(2), head.seq + 1));

    let fenced = Err(JournalError::Fenced(second.epoch));
    assert_eq!(old.append("a", first.head.seq, first.epoch, &batch), fenced);
    assert_eq!(old.append("a", second.head.seq, first.epoch, &[event(2)?]), fenced);
    assert_eq!(old.append("a", second.head.seq, Epoch::NONE, &[event(2)?]), fenced);
    assert_eq!(old.append("a", second.head.seq, Epoch::new(3), &[event(2)?]), fenced);
    assert_eq!(old.renew_lease("a", first.epoch, 1600, 500), Err(JournalError::Fenced(second.epoch)));
    let answer = new.append("a", second.head.seq, second.epoch, &[event(2)?])?;
    assert_eq!(answer.head().seq, 4);
    let epochs: Vec<u64> = new.load("a", 1)?.iter().map(|record| record.epoch.get()).collect();
    assert_eq!(epochs, [1, 1, 2, 2]);
    Ok(())
}

/// A lease has one owner until its time is over; appends and renewals put that off; who has it may take it
/// again.
pub fn a_lease_has_one_owner(shelf: &dyn Shelf) -> Kept {
    let (one, two) = (shelf.open(Faults::NONE), shelf.open(Faults::NONE));
    assert_eq!(one.lease("a")?, None);
    let lease = one.take_lease("a", "host-1", 1000, 100)?;
    assert_eq!(two.lease("a")?.as_ref(), Some(&lease));
    let held = |until| Err(JournalError::Held { owner: "host-1".to_owned(), until });
    assert_eq!(two.take_lease("a", "host-2", 1099, 100), held(1100));
    let head = one.append("a", lease.head.seq, lease.epoch, &[noted(1, 1050)?])?.head();
    assert_eq!(two.take_lease("a", "host-2", 1149, 100), held(1150));
    one.renew_lease("a", lease.epoch, 1100, 400)?;
    assert_eq!(two.take_lease("a", "host-2", 1499, 100), held(1500));
    assert_eq!(one.lease("a")?, Some(Lease { until: 1500, head, ..lease.clone() }));

    // A clock that went back shortens nothing, and the owner may take it again, under a new epoch.
    let head = one.append("a", head.seq, lease.epoch, &[noted(2, 10)?])?.head();
    assert_eq!(two.take_lease("a", "host-2", 1499, 100), held(1500));
    let again = one.take_lease("a", "host-1", 1200, 100)?;
    assert_eq!((again.epoch, again.until, again.head.seq), (Epoch::new(2), 1300, head.seq + 1));

    // Given back before its time.
    one.renew_lease("a", again.epoch, 1210, 0)?;
    assert_eq!(two.take_lease("a", "host-2", 1210, 100)?.epoch, Epoch::new(3));
    assert!(one.verify(None, &Heads::new())?.is_sound());
    Ok(())
}

/// Of many that take a lease at the same moment, one gets it.
pub fn a_race_for_a_lease_has_one_winner(shelf: &dyn Shelf) -> Kept {
    let handles = [shelf.open(Faults::NONE), shelf.open(Faults::NONE)];
    let mut won = Vec::new();
    thread::scope(|threads| {
        let racers: Vec<_> = (0..8_u32)
            .map(|n| {
                let journal = handles.get(n as usize % 2);
                threads.spawn(move || journal.map(|j| j.take_lease("a", &format!("host-{n}"), 1000, 100)))
            })
            .collect();
        won = racers.into_iter().filter_map(|racer| racer.join().ok().flatten()).collect();
    });
    assert_eq!(won.len(), 8);
    let (winners, losers): (Vec<_>, Vec<_>) = won.into_iter().partition(Result::is_ok);
    assert_eq!((winners.len(), losers.len()), (1, 7));
    let journal = shelf.open(Faults::NONE);
    let lease = journal.lease("a")?;
    let owner = lease.as_ref().map(|lease| lease.owner.clone()).unwrap_or_default();
    assert_eq!(winners.into_iter().collect::<Result<Vec<Lease>, _>>()?, Vec::from_iter(lease));
    let held = Err(JournalError::Held { owner, until: 1100 });
    assert!(losers.iter().all(|loser| *loser == held), "{losers:?}");
    assert_eq!(journal.load("a", 1)?.len(), 1);
    Ok(())
}

/// Whichever call beneath fails, a batch is there as a whole or not at all, and the answer fits: what was
/// acknowledged is there, and what could not be written for want of room can be written when there is room.
pub fn a_fault_leaves_the_old_state_or_the_new(shelf: &dyn Shelf) -> Kept {
    let sound = shelf.open(Faults::NONE);
    let batch = [event(3)?, event(4)?, event(5)?];
    for fault in [Fault::Full, Fault::Io] {
        let mut seen = BTreeSet::new();
        for n in 1.. {
            let name = format!("{fault:?}-{n}");
            let old = sound.append(&name, 0, Epoch::NONE, &[event(1)?, event(2)?])?.head();
            let faults = Faults::nth(n, fault);
            let faulty = shelf.open(faults.clone());
            let answer = faulty.append(&name, 2, Epoch::NONE, &batch);
            let records = shelf.open(Faults::NONE).load(&name, 1)?;
            let is_new = records.len() == 5;
            assert!(is_new || records.last().map(Record::head) == Some(old), "{name}: {records:?}");
            if !faults.is_spent() {
                assert_eq!((answer?.head().seq, is_new), (5, true));
                break;
            }
            seen.insert(is_new);
            if fault == Fault::Full {
                assert_eq!((answer, is_new), (Err(JournalError::Full), false), "{name}");
                assert_eq!(faulty.append(&name, 2, Epoch::NONE, &batch)?.head().seq, 5);
            } else {
                // Nobody knows, and this handle does not go on; another one tells.
                assert!(matches!(answer, Err(JournalError::Broken(_))), "{name}: {answer:?}");
                assert!(matches!(faulty.head(&name), Err(JournalError::Broken(_))), "{name}");
                let again = sound.append(&name, 2, Epoch::NONE, &batch)?;
                let head = again.head();
                assert_eq!(again, if is_new { Appended::Duplicate(head) } else { Appended::Head(head) });
            }
            assert_eq!(sound.load(&name, 1)?.len(), 5, "{name}");
        }
        // Before the commit and, where a fault may come after it, after it.
        assert_eq!(seen.len(), if fault == Fault::Full { 1 } else { 2 }, "{fault:?}");
    }
    assert!(sound.verify(None, &Heads::new())?.is_sound());
    Ok(())
}

/// A lease under faults is taken or not, and either way the next one has an epoch of its own.
pub fn a_fault_leaves_a_lease_taken_or_not(shelf: &dyn Shelf) -> Kept {
    let sound = shelf.open(Faults::NONE);
    for fault in [Fault::Full, Fault::Io] {
        for n in 1.. {
            let name = format!("{fault:?}-{n}");
            let first = sound.take_lease(&name, "host-1", 0, 10)?;
            let faults = Faults::nth(n, fault);
            let answer = shelf.open(faults.clone()).take_lease(&name, "host-2", 10, 10);
            let now = shelf.open(Faults::NONE).lease(&name)?;
            let taken = now.as_ref().is_some_and(|lease| lease.epoch == Epoch::new(2));
            assert!(taken || now == Some(first), "{name}: {now:?}");
            if !faults.is_spent() {
                assert_eq!(answer.ok(), now);
                break;
            }
            if fault == Fault::Full {
                assert_eq!((answer, taken), (Err(JournalError::Full), false), "{name}");
            } else {
                assert!(matches!(answer, Err(JournalError::Broken(_))), "{name}: {answer:?}");
            }
            let next = sound.take_lease(&name, "host-2", 10, 10)?;
            assert_eq!(next.epoch, Epoch::new(if taken { 3 } else { 2 }), "{name}");
        }
    }
    assert!(sound.verify(None, &Heads::new())?.is_sound());
    Ok(())
}

/// Each record has the hash of its content and the hash of the record before; where a conversation ends is
/// its head.
pub fn records_are_chained(shelf: &dyn Shelf) -> Kept {
    let journal = shelf.open(Faults::NONE);
    let lease = journal.take_lease("a", "host-1", 5, 10)?;
    journal.append("a", 1, lease.epoch, &[event(1)?, event(2)?])?;
    let head = journal.append("a", 3, lease.epoch, &[event(3)?])?.head();
    let mut before = Head::START;
    for record in journal.load("a", 1)? {
        assert_eq!((record.seq, record.prev_hash), (before.seq + 1, before.hash));
        assert_eq!(record.hash, computed_hash(&record));
        before = record.head();
    }
    assert_eq!((before, journal.head("a")?), (head, head));
    let exported = journal.heads()?;
    let sound = Verified { conversations: 1, records: 4, findings: Vec::new() };
    assert_eq!(journal.verify(None, &exported)?, sound);
    assert_eq!(journal.verify(Some("a"), &exported)?, sound);
    Ok(())
}

/// What was done to a conversation behind the store's back is found, at the first record that is bad or
/// missing, and nothing is handed out or written. Others are not held up by it.
pub fn damage_is_found(shelf: &dyn Shelf) -> Kept {
    let journal = shelf.open(Faults::NONE);
    let kept = Head { seq: 5, hash: Hash::ZERO };
    let (one, seven) = (Epoch::new(1), Epoch::new(7));
    let cases: [(&str, Tamper, u64, Damage); 11] = [
        ("flipped byte", Tamper::Body { seq: 3, body: r#"{"n":3}"# }, 3, Damage::Altered),
        ("edited row", Tamper::Kind { seq: 2, kind: "closed" }, 2, Damage::Altered),
        ("edited with its hash", Tamper::Rehashed { seq: 3, body: "{}" }, 4, Damage::Unlinked),
        ("first deleted", Tamper::Delete { seq: 1 }, 1, Damage::Missing),
        ("middle deleted", Tamper::Delete { seq: 3 }, 3, Damage::Missing),
        ("last deleted", Tamper::Delete { seq: 5 }, 5, Damage::Missing),
        ("cut within a batch", Tamper::Cut { seq: 4 }, 2, Damage::Batch),
        ("batch", Tamper::Batch { seq: 2 }, 2, Damage::Batch),
        ("head", Tamper::Head { head: kept }, 5, Damage::Kept { kept }),
        ("epoch", Tamper::Epoch { epoch: seven }, 5, Damage::KeptEpoch { kept: seven, found: one }),
        ("kind of a lease", Tamper::Kind { seq: 1, kind: "noted" }, 1, Damage::Altered),
    ];
    for (name, tamper, seq, damage) in cases.clone() {
        five_records(&*journal, name)?;
        shelf.tamper(name, tamper);
        let finding = Finding { conversation: name.to_owned(), seq, damage };
        assert_eq!(journal.load(name, 5), Err(JournalError::Damaged(finding.clone())));
        let alone = journal.verify(Some(name), &Heads::new())?;
        assert_eq!(alone.findings, std::slice::from_ref(&finding), "by a look at it alone");
        let refused = journal.append(name, 5, one, &[event(6)?]);
        assert_eq!(refused, Err(JournalError::ReadOnly(finding.clone())));
        assert_eq!(journal.take_lease(name, "host-1", 9, 9), Err(JournalError::ReadOnly(finding)));
        let left = match tamper {
            Tamper::Cut { seq } => seq - 1,
            Tamper::Delete { .. } => 4,
            _ => 5,
        };
        assert_eq!(journal.salvage(name)?.len() as u64, left, "people can look");
    }
    let sound = five_records(&*journal, "sound")?;
    journal.append("sound", sound.seq, one, &[event(6)?])?;
    let verified = journal.verify(None, &Heads::new())?;
    let mut damaged: Vec<&str> = cases.iter().map(|(name, ..)| *name).collect();
    damaged.sort_unstable();
    let found: Vec<&str> = verified.findings.iter().map(|finding| &*finding.conversation).collect();
    assert_eq!((verified.conversations, found), (12, damaged));
    Ok(())
}

/// A tail that was cut so that the rest is sound is found by a head that was exported, and so is a history
/// that was written anew; a conversation that is gone altogether too.
pub fn exported_heads_find_what_the_store_cannot(shelf: &dyn Shelf) -> Kept {
    let journal = shelf.open(Faults::NONE);
    for name in ["cut", "gone", "sound"] {
        five_records(&*journal, name)?;
    }
    let exported = journal.heads()?;
    shelf.tamper("cut", Tamper::Cut { seq: 5 });
    shelf.tamper("gone", Tamper::Forget);
    assert!(journal.verify(None, &Heads::new())?.is_sound(), "by itself it is");

    let finding = |name: &str, seq, damage| Finding { conversation: name.to_owned(), seq, damage };
    let head = |name: &str| exported.get(name).copied().unwrap_or(Head::START);
    let cut = finding("cut", 5, Damage::Cut { exported: head("cut") });
    let gone = finding("gone", 1, Damage::Cut { exported: head("gone") });
    assert_eq!(journal.verify(None, &exported)?.findings, [cut.clone(), gone]);
    assert_eq!(journal.verify(Some("cut"), &exported)?.findings, std::slice::from_ref(&cut));
    // A cut that was found is neither read over, though the rest is sound, nor written over.
    assert_eq!(journal.load("cut", 1), Err(JournalError::Damaged(cut.clone())));
    assert_eq!(journal.verify(Some("cut"), &Heads::new())?.findings, std::slice::from_ref(&cut));
    let answer = journal.append("cut", 4, Epoch::new(1), &[event(9)?]);
    assert_eq!(answer, Err(JournalError::ReadOnly(cut)));

    // Somebody who does not look writes on, and it is found at the record that was exported.
    let unaware = shelf.open(Faults::NONE);
    unaware.append("cut", 4, Epoch::new(1), &[event(7)?, event(8)?])?;
    let replaced = finding("cut", 5, Damage::Replaced { exported: head("cut") });
    assert_eq!(unaware.verify(Some("cut"), &exported)?.findings, [replaced]);
    // What was sound then and has grown since is sound.
    unaware.append("sound", 5, Epoch::new(1), &[event(6)?])?;
    assert!(unaware.verify(Some("sound"), &exported)?.is_sound());
    Ok(())
}

/// Blind appends are stopped at a tail that is not there, without a look at the rest.
pub fn nothing_is_chained_to_a_record_that_is_gone(shelf: &dyn Shelf) -> Kept {
    let journal = shelf.open(Faults::NONE);
    five_records(&*journal, "a")?;
    shelf.tamper("a", Tamper::Delete { seq: 5 });
    let unaware = shelf.open(Faults::NONE);
    let finding = Finding { conversation: "a".to_owned(), seq: 5, damage: Damage::Missing };
    let answer = unaware.append("a", 5, Epoch::new(1), &[event(6)?]);
    assert_eq!(answer, Err(JournalError::ReadOnly(finding)));
    Ok(())
}

/// Writers at the same time, over two handles: for each number one of them wins, the others are told, and
/// nothing that was acknowledged is lost. Conversations do not mix.
pub fn writers_at_the_same_time_do_not_mix(shelf: &dyn Shelf) -> Kept {
    const WRITERS: u64 = 4;
    const EACH: u64 = 8;
    let handles = [shelf.open(Faults::NONE), shelf.open(Faults::NONE)];
    let write = |journal: &dyn Journal, writer: u64| -> Result<Vec<Head>, JournalError> {
        let mut heads = Vec::new();
        for n in 0..EACH {
            let own = format!("own-{writer}");
            journal.append(&own, n, Epoch::NONE, &[event(n)?])?;
            let mut expected = journal.head("shared")?.seq;
            let pair = [event(writer * 1000 + n)?, event(writer * 1000 + n)?];
            heads.push(loop {
                match journal.append("shared", expected, Epoch::NONE, &pair) {
                    Ok(appended) => break appended.head(),
                    Err(JournalError::Conflict(head)) => expected = head.seq,
                    Err(error) => return Err(error),
                }
            });
        }
        Ok(heads)
    };
    let mut heads = Vec::new();
    thread::scope(|threads| {
        let writers: Vec<_> = (0..WRITERS)
            .filter_map(|writer| Some((writer, handles.get(writer as usize % 2)?)))
            .map(|(writer, journal)| threads.spawn(move || write(&**journal, writer)))
            .collect();
        heads = writers.into_iter().filter_map(|writer| writer.join().ok()).collect();
    });
    let heads: Vec<Head> = heads.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    assert_eq!(heads.len() as u64, WRITERS * EACH);

    let journal = shelf.open(Faults::NONE);
    let records = journal.load("shared", 1)?;
    assert_eq!(records.len() as u64, 2 * WRITERS * EACH);
    assert!(heads.iter().all(|head| records.iter().any(|record| record.head() == *head)));
    // Nobody wrote into the middle of a batch, and each batch is there once.
    let pairs: Vec<&[Record]> = records.chunks(2).collect();
    assert!(pairs.iter().all(|pair| matches!(pair, [a, b] if a.event == b.event)));
    let once: BTreeSet<&str> = records.iter().map(|record| record.event.body()).collect();
    assert_eq!(once.len() as u64, WRITERS * EACH);
    for writer in 0..WRITERS {
        assert_eq!(journal.load(&format!("own-{writer}"), 1)?.len() as u64, EACH);
    }
    assert!(journal.verify(None, &Heads::new())?.is_sound());
    Ok(())
}

fn event(n: u64) -> Result<Event, Unfit> {
    noted(n, 0)
}

fn noted(n: u64, at: u64) -> Result<Event, Unfit> {
    Event::new("noted", 1, at, format!(r#"{{"n": {n}}}"#))
}

/// A lease, a batch of three, a batch of one.
fn five_records(journal: &dyn Journal, name: &str) -> Result<Head, JournalError> {
    let lease = journal.take_lease(name, "host-1", 0, 1000)?;
    journal.append(name, 1, lease.epoch, &[event(2)?, event(3)?, event(4)?])?;
    Ok(journal.append(name, 4, lease.epoch, &[event(5)?])?.head())
}

/// The number of each record, and the one that its body bears.
fn numbers(records: &[Record]) -> Vec<(u64, u64)> {
    let n = |record: &Record| {
        let body = record.event.body().trim_start_matches(r#"{"n": "#).trim_end_matches('}');
        body.parse().unwrap_or(u64::MAX)
    };
    records.iter().map(|record| (record.seq, n(record))).collect()
}
