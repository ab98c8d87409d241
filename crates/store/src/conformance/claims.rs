//! The rules of the names that one conversation has at a time.

use std::thread;

use sommelier_runner::journal::{Claim, Epoch, Event, JournalError, Undone, Unfit};

use super::{Kept, Shelf, event};
use crate::faults::{Fault, Faults};

fn claiming(n: u64, claims: impl IntoIterator<Item = Claim>) -> Result<Event, Unfit> {
    Ok(event(n)?.claiming(claims))
}

fn take(name: &str) -> Claim {
    Claim::Take(name.to_owned())
}

fn give_back(name: &str) -> Claim {
    Claim::GiveBack(name.to_owned())
}

fn held(name: &str, by: &str) -> (String, String) {
    (name.to_owned(), by.to_owned())
}

/// A name has one conversation at a time, until that one gives it back or another takes it over; and a batch that wants a
/// name of another's is not written at all.
pub fn a_name_has_one_conversation(shelf: &dyn Shelf) -> Kept {
    let (journal, other) = (shelf.open(Faults::NONE), shelf.open(Faults::NONE));
    journal.append("a", 0, Epoch::NONE, &[claiming(1, [take("refund 17"), take("refund 18")])?])?;
    assert_eq!(other.claimed("refund 17")?.as_deref(), Some("a"));
    let batch = [event(1)?, claiming(2, [take("refund 19"), take("refund 18")])?];
    let refused = JournalError::Claimed { name: "refund 18".to_owned(), by: "a".to_owned() };
    assert_eq!(other.append("b", 0, Epoch::NONE, &batch), Err(refused));
    assert_eq!((other.load("b", 1)?, journal.claimed("refund 19")?), (Vec::new(), None));

    // The same conversation may take it again, and nobody gives back what is another's.
    journal.append("a", 1, Epoch::NONE, &[claiming(2, [take("refund 18")])?])?;
    other.append("b", 0, Epoch::NONE, &[claiming(1, [give_back("refund 17")])?])?;
    assert_eq!(journal.claims()?, [held("refund 17", "a"), held("refund 18", "a")]);
    let over = Claim::TakeOver("refund 17".to_owned());
    other.append("b", 1, Epoch::NONE, &[claiming(2, [over])?])?;
    journal.append("a", 2, Epoch::NONE, &[claiming(3, [give_back("refund 17"), give_back("refund 18")])?])?;
    assert_eq!(journal.claims()?, [held("refund 17", "b")]);

    // The same batch again does nothing again.
    journal.append("a", 3, Epoch::NONE, &[claiming(4, [take("refund 20")])?])?;
    journal.append("a", 4, Epoch::NONE, &[claiming(5, [give_back("refund 20")])?])?;
    other.append("b", 2, Epoch::NONE, &[claiming(3, [take("refund 20")])?])?;
    journal.append("a", 3, Epoch::NONE, &[claiming(4, [take("refund 20")])?])?;
    assert_eq!(journal.claims()?, [held("refund 17", "b"), held("refund 20", "b")]);
    Ok(())
}

/// What a work's events claim is claimed with them, and not at all where the work is undone or a name is another's.
pub fn a_work_claims_with_its_events(shelf: &dyn Shelf) -> Kept {
    let journal = shelf.open(Faults::NONE);
    journal.append("a", 0, Epoch::NONE, &[claiming(1, [take("seat 7")])?])?;
    let event = claiming(1, [take("seat 8")])?;
    let undone = journal.append_with("b", 0, Epoch::NONE, &mut |_| Err(Undone));
    assert_eq!((undone, journal.claimed("seat 8")?), (Err(JournalError::Undone), None));
    journal.append_with("b", 0, Epoch::NONE, &mut |_| Ok(vec![event.clone()]))?;
    assert_eq!(journal.claimed("seat 8")?.as_deref(), Some("b"));
    let event = claiming(2, [take("seat 7")])?;
    let refused = journal.append_with("b", 1, Epoch::NONE, &mut |_| Ok(vec![event.clone()]));
    assert_eq!(refused, Err(JournalError::Claimed { name: "seat 7".to_owned(), by: "a".to_owned() }));
    assert_eq!(journal.load("b", 1)?.len(), 1);
    Ok(())
}

/// Of many conversations that want a name at the same moment one gets it.
pub fn a_race_for_a_name_has_one_winner(shelf: &dyn Shelf) -> Kept {
    let event = claiming(1, [take("refund 17")])?;
    let handles = [shelf.open(Faults::NONE), shelf.open(Faults::NONE)];
    let answers: Vec<(String, Result<_, JournalError>)> = thread::scope(|threads| {
        let racers: Vec<_> = (0..8)
            .flat_map(|n| handles.get(n % 2).map(|journal| (format!("c-{n}"), journal)))
            .map(|(name, journal)| {
                let event = std::slice::from_ref(&event);
                threads.spawn(move || (journal.append(&name, 0, Epoch::NONE, event), name))
            })
            .collect();
        racers
            .into_iter()
            .filter_map(|racer| racer.join().ok())
            .map(|(answer, name)| (name, answer))
            .collect()
    });
    let (winners, losers): (Vec<_>, Vec<_>) = answers.into_iter().partition(|(_, answer)| answer.is_ok());
    let winners: Vec<String> = winners.into_iter().map(|(name, _)| name).collect();
    let journal = shelf.open(Faults::NONE);
    assert_eq!((journal.conversations()?, losers.len()), (winners.clone(), 7));
    assert_eq!(journal.claims()?, [("refund 17".to_owned(), winners.concat())]);
    let refused = Err(JournalError::Claimed { name: "refund 17".to_owned(), by: winners.concat() });
    assert!(losers.iter().all(|(_, answer)| *answer == refused), "{losers:?}");
    Ok(())
}

/// Under faults a name is taken with its record or not at all.
pub fn a_fault_leaves_a_name_with_its_record(shelf: &dyn Shelf) -> Kept {
    for fault in [Fault::Full, Fault::Io] {
        for n in 1.. {
            let name = format!("{fault:?}-{n}");
            let faults = Faults::nth(n, fault);
            let answer =
                shelf.open(faults.clone()).append(&name, 0, Epoch::NONE, &[claiming(1, [take(&name)])?]);
            let journal = shelf.open(Faults::NONE);
            let is_there = !journal.load(&name, 1)?.is_empty();
            assert_eq!(journal.claimed(&name)?.is_some(), is_there, "{name}: {answer:?}");
            if !faults.is_spent() {
                break;
            }
        }
    }
    Ok(())
}
