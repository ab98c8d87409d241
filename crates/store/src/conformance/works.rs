//! The rules of works.

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use sommelier_runner::journal::{
    Appended, Epoch, Event, Head, Heads, Journal, JournalError, Record, Undone, Unfit, Work,
};

use super::{Kept, Shelf, Tamper, event, noted, numbers};
use crate::faults::{Fault, Faults};

/// A work is done once, its events are appended as a batch like others, and they renew the lease.
pub fn a_work_is_appended_with_its_events(shelf: &dyn Shelf) -> Kept {
    let journal = shelf.open(Faults::NONE);
    let lease = journal.take_lease("a", "host-1", 1000, 100)?;
    let mut calls = 0;
    let told = [noted(2, 1050)?, noted(3, 1060)?];
    let head = appended(journal.append_with("a", 1, lease.epoch, &mut |_| {
        calls += 1;
        Ok(told.to_vec())
    })?);
    assert_eq!((calls, head.seq, journal.head("a")?), (1, 3, head));
    assert_eq!(journal.lease("a")?.map(|lease| lease.until), Some(1160));
    let next = journal.append("a", 3, lease.epoch, &[event(4)?])?.head();
    let records = shelf.open(Faults::NONE).load("a", 2)?;
    assert_eq!(numbers(&records), [(2, 2), (3, 3), (4, 4)]);
    assert!(records.iter().all(|record| record.epoch == lease.epoch));
    let exported = Heads::from([("a".to_owned(), next)]);
    assert!(journal.verify(None, &exported)?.is_sound());

    // A conversation may begin with one.
    let first = appended(journal.append_with("b", 0, Epoch::NONE, &mut |_| events(&[1]))?);
    assert_eq!((first.seq, journal.head("b")?), (1, first));
    Ok(())
}

/// Nothing of a work is begun for who is fenced, behind or ahead, nor where the conversation is damaged. Who
/// asks again for a work that was done is behind.
pub fn a_work_is_not_begun_where_it_may_not_be_appended(shelf: &dyn Shelf) -> Kept {
    let journal = shelf.open(Faults::NONE);
    let first = journal.take_lease("a", "host-1", 0, 10)?;
    let second = journal.take_lease("a", "host-2", 10, 10)?;
    let mut calls = 0;
    let mut work = |_: &dyn Any| {
        calls += 1;
        events(&[3])
    };
    let fenced = Err(JournalError::Fenced(second.epoch));
    assert_eq!(journal.append_with("a", 2, first.epoch, &mut work), fenced);
    assert_eq!(journal.append_with("a", 2, Epoch::NONE, &mut work), fenced);
    assert_eq!(journal.append_with("a", 2, Epoch::new(3), &mut work), fenced);
    for expected in [0, 1, 3, u64::MAX] {
        let answer = journal.append_with("a", expected, second.epoch, &mut work);
        assert_eq!(answer, Err(JournalError::Conflict(second.head)), "{expected}");
    }
    let unfit = journal.append_with("", 0, Epoch::NONE, &mut work);
    assert!(matches!(unfit, Err(JournalError::Unfit(Unfit::Name(_)))), "{unfit:?}");
    let head = appended(journal.append_with("a", 2, second.epoch, &mut work)?);
    let again = journal.append_with("a", 2, second.epoch, &mut work);
    assert_eq!(again, Err(JournalError::Conflict(head)), "nobody knows its events");

    // One that is known to be damaged, and one whose tail is not there, as nobody knows yet.
    journal.append("b", 0, Epoch::NONE, &[event(1)?, event(2)?])?;
    shelf.tamper("b", Tamper::Body { seq: 1, body: "{}" });
    assert!(!journal.verify(Some("b"), &Heads::new())?.is_sound());
    shelf.tamper("a", Tamper::Delete { seq: 3 });
    for (name, expected, epoch) in [("b", 2, Epoch::NONE), ("a", 3, second.epoch)] {
        let damaged = journal.append_with(name, expected, epoch, &mut work);
        assert!(matches!(damaged, Err(JournalError::ReadOnly(_))), "{name}: {damaged:?}");
    }
    assert_eq!(calls, 1);
    Ok(())
}

/// A work that undoes itself, panics or tells nothing leaves nothing behind, and everything goes on.
pub fn a_work_that_fails_leaves_nothing(shelf: &dyn Shelf) -> Kept {
    let (journal, other) = (shelf.open(Faults::NONE), shelf.open(Faults::NONE));
    let head = journal.append("a", 0, Epoch::NONE, &[event(1)?])?.head();
    let failed =
        |work: fn() -> Result<Vec<Event>, Undone>| journal.append_with("a", 1, Epoch::NONE, &mut |_| work());
    for _ in 0..2 {
        assert_eq!(failed(|| Err(Undone)), Err(JournalError::Undone));
        assert_eq!(
            failed(|| resume_unwind(Box::new("no ink".to_owned()))),
            Err(JournalError::Panicked("no ink".to_owned()))
        );
        assert_eq!(
            failed(|| resume_unwind(Box::new("no pen"))),
            Err(JournalError::Panicked("no pen".to_owned()))
        );
        assert_eq!(failed(|| Ok(Vec::new())), Err(JournalError::Unfit(Unfit::Empty)));
        assert_eq!((journal.head("a")?, other.head("a")?), (head, head));
    }
    let head = appended(journal.append_with("a", 1, Epoch::NONE, &mut |_| events(&[2]))?);
    let head = other.append("a", head.seq, Epoch::NONE, &[event(3)?])?.head();
    assert_eq!(journal.append("a", head.seq, Epoch::NONE, &[event(4)?])?.head().seq, 4);
    assert_eq!(numbers(&journal.load("a", 1)?), [(1, 1), (2, 2), (3, 3), (4, 4)]);
    assert!(journal.verify(None, &Heads::new())?.is_sound());
    Ok(())
}

/// A work reads what stood before it, and what it would wait for itself for is refused at once. Where a shelf opens its store
/// with more patience than a test has, one that waits does not come to its end.
pub fn a_work_does_not_wait_for_itself(shelf: &dyn Shelf) -> Kept {
    let journal = shelf.open(Faults::NONE);
    let head = journal.append("a", 0, Epoch::NONE, &[event(1)?])?.head();
    let mut seen = None;
    let mut refused = Vec::new();
    let work: &mut Work<'_> = &mut |_| {
        seen = Some((journal.head("a"), journal.load("a", 1).map(|records| records.len())));
        let told = events(&[2])?;
        refused = vec![
            journal.append("a", 1, Epoch::NONE, &told).map(drop),
            journal.append("b", 0, Epoch::NONE, &told).map(drop),
            journal.append_with("b", 0, Epoch::NONE, &mut |_| Err(Undone)).map(drop),
            journal.take_lease("b", "host-1", 0, 1).map(drop),
            told.iter().try_for_each(|event| journal.note_late("a", Epoch::NONE, event)),
        ];
        Ok(told)
    };
    let second = appended(journal.append_with("a", 1, Epoch::NONE, work)?);
    assert_eq!(seen, Some((Ok(head), Ok(1))));
    assert_eq!(refused, vec![Err(JournalError::Busy); 5]);
    assert_eq!((second.seq, journal.head("a")?, journal.conversations()?), (2, second, vec!["a".to_owned()]));
    Ok(())
}

/// Works and appends of many threads, over two handles, take each number once; no work is begun whose number
/// is taken.
pub fn works_and_appends_do_not_mix(shelf: &dyn Shelf) -> Kept {
    const EACH: usize = 6;
    let handles = [shelf.open(Faults::NONE), shelf.open(Faults::NONE)];
    let done = AtomicU64::new(0);
    let write = |journal: &dyn Journal, works: bool| -> Result<(), JournalError> {
        for _ in 0..EACH {
            let mut expected = journal.head("a")?.seq;
            loop {
                let answer = if works {
                    journal.append_with("a", expected, Epoch::NONE, &mut |_| {
                        done.fetch_add(1, Ordering::SeqCst);
                        events(&[expected + 1, expected + 2])
                    })
                } else {
                    journal.append("a", expected, Epoch::NONE, &[event(expected + 1)?, event(expected + 2)?])
                };
                match answer {
                    // A twin of its own batch has been written by another.
                    Ok(Appended::Duplicate(_)) => expected = journal.head("a")?.seq,
                    Ok(Appended::Head(_)) => break,
                    Err(JournalError::Conflict(head)) => expected = head.seq,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    };
    let mut ends = Vec::new();
    thread::scope(|threads| {
        let writers: Vec<_> = handles
            .iter()
            .cycle()
            .zip([true, true, false, false, true, false])
            .map(|(journal, works)| threads.spawn(move || write(&**journal, works)))
            .collect();
        ends = writers.into_iter().filter_map(|writer| writer.join().ok()).collect();
    });
    assert_eq!(ends, vec![Ok(()); 6]);
    let records = shelf.open(Faults::NONE).load("a", 1)?;
    assert_eq!((records.len(), done.into_inner()), (6 * EACH * 2, 3 * EACH as u64));
    assert!(numbers(&records).into_iter().all(|(seq, n)| seq == n));
    assert!(shelf.open(Faults::NONE).verify(None, &Heads::new())?.is_sound());
    Ok(())
}

/// Whichever call beneath fails, what a work told is there as a whole or not at all, and the answer fits.
pub fn a_fault_around_a_work_leaves_the_old_state_or_the_new(shelf: &dyn Shelf) -> Kept {
    let sound = shelf.open(Faults::NONE);
    for fault in [Fault::Full, Fault::Io] {
        let mut seen = BTreeSet::new();
        for n in 1.. {
            let name = format!("{fault:?}-{n}");
            let old = sound.append(&name, 0, Epoch::NONE, &[event(1)?])?.head();
            let faults = Faults::nth(n, fault);
            let faulty = shelf.open(faults.clone());
            let mut work = |_: &dyn Any| events(&[2, 3]);
            let answer = faulty.append_with(&name, 1, Epoch::NONE, &mut work);
            let records = shelf.open(Faults::NONE).load(&name, 1)?;
            let is_new = records.len() == 3;
            assert!(is_new || records.last().map(Record::head) == Some(old), "{name}: {records:?}");
            if !faults.is_spent() {
                assert_eq!((answer?.head().seq, is_new), (3, true));
                break;
            }
            seen.insert(is_new);
            if fault == Fault::Full {
                assert_eq!((answer, is_new), (Err(JournalError::Full), false), "{name}");
                assert_eq!(faulty.append_with(&name, 1, Epoch::NONE, &mut work)?.head().seq, 3);
            } else {
                assert!(matches!(answer, Err(JournalError::Broken(_))), "{name}: {answer:?}");
                let mut begun = false;
                let again = faulty.append_with(&name, 1, Epoch::NONE, &mut |_| {
                    begun = true;
                    Err(Undone)
                });
                assert_eq!((again, begun), (answer, false), "it stays broken");
            }
        }
        assert_eq!(seen.len(), if fault == Fault::Full { 1 } else { 2 }, "{fault:?}");
    }
    assert!(sound.verify(None, &Heads::new())?.is_sound());
    Ok(())
}

/// The head after a work, which is never a duplicate.
fn appended(answer: Appended) -> Head {
    assert_eq!(answer, Appended::Head(answer.head()));
    answer.head()
}

/// What a work tells.
fn events(numbers: &[u64]) -> Result<Vec<Event>, Undone> {
    numbers.iter().map(|n| event(*n).map_err(|_| Undone)).collect()
}
