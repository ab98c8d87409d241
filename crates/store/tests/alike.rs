//! Both stores answer alike, whatever they are asked.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Folder, event};
use sommelier_store::{Epoch, Event, Journal, MemoryStore, Undone};

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// What a journal is asked; its answer as a text.
type Question = Box<dyn Fn(&dyn Journal) -> String>;

/// A question near to what can be answered well: numbers about the head, epochs about the present one.
fn ask(dice: &mut Dice, now: u64) -> Question {
    let name = ["a", "b"][dice.below(2) as usize];
    let owner = ["host-1", "host-2"][dice.below(2) as usize];
    let (back, ahead, term) = (dice.below(4), dice.below(2), dice.below(30));
    let events: Vec<Event> = (0..dice.below(3)).map(|n| event(now / 8 + n)).collect();
    match dice.below(10) {
        0 => Box::new(move |journal| format!("{:?}", journal.take_lease(name, owner, now, term))),
        1 => Box::new(move |journal| {
            let epoch = Epoch::new((epoch(journal, name) + ahead).saturating_sub(back / 2));
            format!("{:?}", journal.renew_lease(name, epoch, now, term))
        }),
        2 => Box::new(move |journal| format!("{:?} {:?}", journal.load(name, back), journal.lease(name))),
        3 => Box::new(move |journal| {
            let epoch = Epoch::new(epoch(journal, name));
            let expected = (journal.head(name).unwrap().seq + ahead).saturating_sub(back / 3);
            let mut calls = 0;
            let answer = journal.append_with(name, expected, epoch, &mut |_| {
                calls += 1;
                if back == 2 { Err(Undone) } else { Ok(events.clone()) }
            });
            format!("{answer:?} {calls}")
        }),
        4 => Box::new(move |journal| {
            let noted = events.iter().map(|event| journal.note_late(name, Epoch::new(back), event));
            format!("{:?} {:?}", noted.collect::<Vec<_>>(), (journal.late(name), journal.newest()))
        }),
        _ => Box::new(move |journal| {
            let expected = (journal.head(name).unwrap().seq + ahead / 2).saturating_sub(back / 2);
            let epoch =
                Epoch::new((epoch(journal, name) + ahead).saturating_sub(u64::from(back > 0) * ahead));
            format!("{:?}", journal.append(name, expected, epoch, &events))
        }),
    }
}

fn epoch(journal: &dyn Journal, name: &str) -> u64 {
    journal.lease(name).unwrap().map_or(0, |lease| lease.epoch.get())
}

/// S1-34.
#[test]
fn both_stores_answer_alike() {
    let (mut well, mut asked) = (0, 0);
    for seed in 0..6 {
        let (folder, memory, mut dice) = (Folder::new(), MemoryStore::new(), Dice(seed));
        let sqlite = [folder.open(), folder.open()];
        for n in 0..120 {
            let question = ask(&mut dice, n);
            let (ours, theirs) = (question(&memory), question(&sqlite[dice.below(2) as usize]));
            assert_eq!(ours, theirs, "seed {seed}, question {n}");
            asked += 1;
            well += usize::from(ours.starts_with("Ok"));
        }
        let heads = memory.heads().unwrap();
        assert_eq!(sqlite[0].heads().unwrap(), heads);
        assert!(sqlite[1].verify(None, &heads).unwrap().is_sound());
        assert!(memory.verify(None, &heads).unwrap().is_sound());
    }
    assert!((asked / 4..asked * 9 / 10).contains(&well), "{well} of {asked} were answered well");
}
