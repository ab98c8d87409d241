//! A sink of the journal's records that is slow, dead, or knows better.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::cell::RefCell;
use std::sync::Barrier;
use std::thread;

use harness::{Folder, Memory, fill};
use sommelier_store::conformance::{Shelf, Tamper};
use sommelier_store::{
    Audit, Damage, Faults, Finding, Heads, Journal, JournalError, Lag, MemoryStore, Record, Trouble,
};

/// Tries it with both stores.
fn check(test: fn(&dyn Shelf, &dyn Journal)) {
    for shelf in [&Memory(MemoryStore::new()) as &dyn Shelf, &Folder::new()] {
        test(shelf, &*shelf.open(Faults::NONE));
    }
}

/// A sink that keeps what it takes.
#[derive(Default)]
struct Kept(RefCell<Vec<Record>>);

impl Kept {
    fn take(&self, records: &[Record]) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        self.0.borrow_mut().extend_from_slice(records);
        Ok(())
    }

    fn of(&self, conversation: &str) -> Vec<Record> {
        self.0.borrow().iter().filter(|record| record.conversation == conversation).cloned().collect()
    }
}

fn lag(records: u64, conversations: &[&str], trouble: Option<Trouble>) -> Lag {
    Lag { records, conversations: conversations.iter().map(|name| (*name).to_owned()).collect(), trouble }
}

/// T31: while a sink is stuck, appends go on as ever, and how far it is behind is told.
#[test]
fn a_slow_sink_holds_up_nobody() {
    check(|_, journal| {
        fill(journal, "a", 3);
        let (audit, stuck) = (Audit::default(), Barrier::new(2));
        thread::scope(|threads| {
            let following = threads.spawn(|| {
                audit.follow(journal, |_| {
                    stuck.wait();
                    stuck.wait();
                    Ok(())
                })
            });
            stuck.wait();
            // The sink stays stuck until all of this is done.
            fill(journal, "a", 5);
            fill(journal, "b", 2);
            assert_eq!(audit.lag(journal), Ok(lag(10, &["a", "b"], None)));
            let meanwhile = audit.follow(journal, |_| panic!("one follows at a time"));
            assert_eq!(meanwhile, Ok(lag(10, &["a", "b"], None)));
            stuck.wait();
            assert_eq!(following.join().unwrap(), Ok(lag(7, &["a", "b"], None)));
        });
    });
}

/// T31: a sink that is dead is told beside how far it is behind, and when it lives again it is handed all that it did
/// not take, once and in order.
#[test]
fn a_dead_sink_is_told_and_loses_nothing() {
    check(|_, journal| {
        let (audit, kept) = (Audit::default(), Kept::default());
        fill(journal, "a", 600);
        fill(journal, "b", 3);
        let mut calls = 0;
        let died = audit.follow(journal, |records| {
            calls += 1;
            if calls == 2 { Err("no route to host".into()) } else { kept.take(records) }
        });
        let trouble = Some(Trouble::Sink("no route to host".to_owned()));
        assert_eq!((died, calls), (Ok(lag(347, &["a", "b"], trouble.clone())), 2));
        fill(journal, "a", 1);
        assert_eq!(audit.lag(journal), Ok(lag(348, &["a", "b"], trouble)));
        assert_eq!(audit.follow(journal, |records| kept.take(records)), Ok(lag(0, &[], None)));
        assert_eq!(
            (kept.of("a"), kept.of("b")),
            (journal.load("a", 1).unwrap(), journal.load("b", 1).unwrap())
        );

        // Another process goes on behind what the sink has taken.
        fill(journal, "a", 1);
        let later = Audit::behind(audit.taken());
        assert_eq!(later.follow(journal, |records| kept.take(records)), Ok(lag(0, &[], None)));
        assert_eq!(kept.of("a"), journal.load("a", 1).unwrap());
    });
}

/// T17, T18: a history that is not the one that the sink has taken is noticed, is not handed over, and keeps nobody from
/// the others.
#[test]
fn a_history_that_was_changed_since_is_noticed() {
    check(|shelf, journal| {
        for name in ["cut", "gone", "replaced", "sound"] {
            fill(journal, name, 4);
        }
        let (audit, kept) = (Audit::default(), Kept::default());
        audit.follow(journal, |records| kept.take(records)).unwrap();
        let taken = audit.taken();
        let trouble = |name: &str, damage| {
            let finding = Finding { conversation: name.to_owned(), seq: 4, damage };
            Some(Trouble::Journal(JournalError::Damaged(finding)))
        };
        shelf.tamper("cut", Tamper::Cut { seq: 4 });
        fill(journal, "sound", 2);
        let cut = audit.follow(journal, |records| kept.take(records)).unwrap();
        assert_eq!(cut, lag(0, &["cut"], trouble("cut", Damage::Cut { exported: taken["cut"] })));
        assert_eq!(kept.of("sound").len(), 6);

        let audit = Audit::behind(
            taken
                .iter()
                .filter(|(name, _)| *name != "cut")
                .map(|(name, head)| (name.clone(), *head))
                .collect(),
        );
        shelf.tamper("replaced", Tamper::Cut { seq: 3 });
        let other = sommelier_store::Event::new("noted", 1, 77, "{}").unwrap();
        let replaced = journal.append("replaced", 2, sommelier_store::Epoch::NONE, &vec![other; 3]);
        assert!(replaced.is_ok());
        let told = audit.follow(journal, |_| Ok(())).unwrap();
        assert_eq!(
            told,
            lag(1, &["replaced"], trouble("replaced", Damage::Replaced { exported: taken["replaced"] }))
        );

        let audit = Audit::behind(Heads::from([("gone".to_owned(), taken["gone"])]));
        shelf.tamper("gone", Tamper::Forget);
        let told = audit.follow(journal, |_| Ok(())).unwrap();
        assert_eq!(told, lag(0, &["gone"], trouble("gone", Damage::Cut { exported: taken["gone"] })));
    });
}
