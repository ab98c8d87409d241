//! The rules of what stands beside the chain: a look at the newest records, and what came late.

use sommelier_runner::journal::{Epoch, Heads, JournalError, LateResult, Unfit};

use super::{Kept, Shelf, Tamper, event, five_records};
use crate::faults::{Fault, Faults};

/// The last record of each conversation is told as it is there, unchecked, in the order of the names.
pub fn the_newest_records_are_told(shelf: &dyn Shelf) -> Kept {
    let journal = shelf.open(Faults::NONE);
    assert_eq!(journal.newest()?, []);
    let mut expected = Vec::new();
    for name in ["b", "B", "a b", "é"] {
        five_records(&*journal, name)?;
        expected.extend(journal.load(name, 5)?);
    }
    expected.sort_by(|a, b| a.conversation.cmp(&b.conversation));
    assert_eq!(journal.newest()?, expected);

    // What is damaged is told too, as far as it is there.
    shelf.tamper("b", Tamper::Delete { seq: 5 });
    shelf.tamper("é", Tamper::Body { seq: 5, body: "[]" });
    let newest = shelf.open(Faults::NONE).newest()?;
    let told: Vec<_> =
        newest.iter().map(|record| (&*record.conversation, record.seq, record.event.body())).collect();
    assert_eq!(
        told,
        [("B", 5, r#"{"n": 5}"#), ("a b", 5, r#"{"n": 5}"#), ("b", 4, r#"{"n": 4}"#), ("é", 5, "[]")]
    );
    Ok(())
}

/// What a fenced worker had to say is kept in order and apart from the records, of damaged conversations too.
pub fn late_results_are_kept_apart(shelf: &dyn Shelf) -> Kept {
    let (journal, other) = (shelf.open(Faults::NONE), shelf.open(Faults::NONE));
    let first = journal.take_lease("a", "host-1", 0, 10)?;
    let second = other.take_lease("a", "host-2", 10, 10)?;
    let late = |epoch, n| Ok::<_, Unfit>(LateResult { epoch, event: event(n)? });
    let fenced = journal.append("a", 1, first.epoch, &[event(2)?]);
    assert_eq!(fenced, Err(JournalError::Fenced(second.epoch)));
    journal.note_late("a", first.epoch, &event(2)?)?;
    other.note_late("a", first.epoch, &event(2)?)?;
    journal.note_late("a", Epoch::NONE, &event(1)?)?;
    let kept = [late(first.epoch, 2)?, late(first.epoch, 2)?, late(Epoch::NONE, 1)?];
    assert_eq!((journal.late("a")?, other.late("a")?), (kept.to_vec(), kept.to_vec()));
    assert_eq!((journal.late("b")?, journal.head("a")?), (Vec::new(), second.head));

    // Of one that has no record yet, and of one that is damaged.
    journal.note_late("b", Epoch::NONE, &event(1)?)?;
    assert_eq!((journal.late("b")?.len(), journal.conversations()?), (1, vec!["a".to_owned()]));
    shelf.tamper("a", Tamper::Delete { seq: 2 });
    assert!(!journal.verify(None, &Heads::new())?.is_sound());
    journal.note_late("a", second.epoch, &event(9)?)?;
    assert_eq!(other.late("a")?.last(), Some(&late(second.epoch, 9)?));
    let unfit = journal.note_late("", Epoch::NONE, &event(1)?);
    assert!(matches!(unfit, Err(JournalError::Unfit(Unfit::Name(_)))), "{unfit:?}");
    Ok(())
}

/// Under faults a late result is kept or not, and the answer fits.
pub fn a_fault_leaves_a_late_result_kept_or_not(shelf: &dyn Shelf) -> Kept {
    for fault in [Fault::Full, Fault::Io] {
        for n in 1.. {
            let name = format!("{fault:?}-{n}");
            let faults = Faults::nth(n, fault);
            let faulty = shelf.open(faults.clone());
            let answer = faulty.note_late(&name, Epoch::NONE, &event(1)?);
            let kept = shelf.open(Faults::NONE).late(&name)?.len();
            if !faults.is_spent() {
                assert_eq!((answer, kept), (Ok(()), 1));
                break;
            }
            if fault == Fault::Full {
                assert_eq!((answer, kept), (Err(JournalError::Full), 0), "{name}");
            } else {
                assert!(matches!(answer, Err(JournalError::Broken(_))), "{name}: {answer:?}");
            }
        }
    }
    Ok(())
}
