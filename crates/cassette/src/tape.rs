//! Exchanges as they come, from several threads at once, and the one order in which a cassette has them.

use std::collections::BTreeMap;

use sommelier_protocol::ModelResponse;
use sommelier_runtime::ModelError;

use crate::exchange::{Asked, Exchange};
use crate::{Cassette, Source};

/// Exchanges in the order in which they were asked for.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    slots: Vec<Slot>,
}

#[derive(Debug)]
struct Slot {
    run: String,
    caller: String,
    turn: u32,
    asked: Asked,
    /// Nothing while the model is being asked.
    outcome: Option<Result<Box<ModelResponse>, ModelError>>,
}

impl Tape {
    /// Notes that a model is asked; the number is for its [answer](Self::answered).
    pub(crate) fn asked(&mut self, run: &str, caller: &str, replies: u32, mut asked: Asked) -> usize {
        let is_same = |slot: &&Slot| slot.run == run && slot.caller == caller;
        if let Some(before) = self.slots.iter().rev().find(is_same) {
            asked.share(&before.asked);
        }
        let turn = replies.saturating_add(1);
        self.slots.push(Slot { run: run.to_owned(), caller: caller.to_owned(), turn, asked, outcome: None });
        self.slots.len() - 1
    }

    pub(crate) fn answered(&mut self, number: usize, outcome: Result<Box<ModelResponse>, ModelError>) {
        if let Some(slot) = self.slots.get_mut(number) {
            slot.outcome = Some(outcome);
        }
    }

    /// What has been answered so far. Within a run the order is that of its questions, which is always the same; a branch
    /// stands where it was opened, and branches that go on at the same time one after the other by their paths.
    pub(crate) fn cassette(&self, source: Source) -> Cassette {
        let mut order = Order::default();
        let mut exchanges: Vec<(Vec<Place>, Exchange)> = Vec::new();
        for slot in &self.slots {
            let (place, run) = order.next(&slot.run);
            let Some(outcome) = slot.outcome.clone() else { continue };
            let (caller, asked) = (slot.caller.as_str().into(), slot.asked.clone());
            exchanges.push((place, Exchange { run, caller, turn: slot.turn, asked, outcome }));
        }
        exchanges.sort_by(|(a, _), (b, _)| a.cmp(b));
        Cassette { source, exchanges: exchanges.into_iter().map(|(_, exchange)| exchange).collect() }
    }
}

/// Where something stands in its run: behind so many requests, and of the branches there at this path. A request stands before
/// the branches that are behind it.
type Place = (usize, Option<[u32; 3]>);

/// Gives each request its place.
#[derive(Default)]
struct Order<'a> {
    /// The conversations in the order in which they asked first.
    roots: Vec<&'a str>,
    /// How many requests of each run there were.
    counts: BTreeMap<String, usize>,
    /// Where each branch was opened.
    opened: BTreeMap<String, Place>,
}

impl<'a> Order<'a> {
    /// The place of the next request of this run, and the run's name in the cassette.
    fn next(&mut self, run: &'a str) -> (Vec<Place>, Box<str>) {
        let (root, path) = parted(run);
        let number = self.roots.iter().position(|known| *known == root).unwrap_or_else(|| {
            self.roots.push(root);
            self.roots.len() - 1
        });
        let mut name = (number + 1).to_string();
        let mut place = vec![(number, None)];
        for branch in path {
            let count = self.counts.get(&name).copied().unwrap_or_default();
            let [message, call, of] = branch;
            name.push_str(&format!("/{message}/{call}/{of}"));
            place.push(*self.opened.entry(name.clone()).or_insert((count, Some(branch))));
        }
        let count = self.counts.entry(name.clone()).or_default();
        *count += 1;
        place.push((*count, None));
        (place, name.into())
    }
}

/// The name of a conversation, and the path of a branch in it: three numbers for each branch.
pub(crate) fn parted(run: &str) -> (&str, Vec<[u32; 3]>) {
    let mut path = Vec::new();
    let mut rest = run;
    loop {
        let mut parts = rest.rsplitn(4, '/');
        let numbers = [parts.next(), parts.next(), parts.next()].map(|part| part.and_then(number));
        match (numbers, parts.next()) {
            ([Some(of), Some(call), Some(message)], Some(above)) => {
                path.push([message, call, of]);
                rest = above;
            }
            _ => break,
        }
    }
    path.reverse();
    (rest, path)
}

/// A number as it is written in a path.
pub(crate) fn number(part: &str) -> Option<u32> {
    let is_plain = part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
    if is_plain { part.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_told_from_its_conversation() {
        assert_eq!(parted("chat"), ("chat", vec![]));
        assert_eq!(parted("demo/1"), ("demo/1", vec![]));
        assert_eq!(parted("demo/1/1/3/0"), ("demo/1", vec![[1, 3, 0]]));
        assert_eq!(parted("c/1/3/0/2/10/1"), ("c", vec![[1, 3, 0], [2, 10, 1]]));
        assert_eq!(parted("c/01/3/0"), ("c/01/3/0", vec![]));
        assert_eq!(parted(""), ("", vec![]));
    }

    #[test]
    fn branches_stand_where_they_were_opened_whichever_asks_first() {
        let runs = |asked: &[&str]| {
            let mut tape = Tape::default();
            for run in asked {
                let number = tape.asked(run, "a", 0, Asked::default());
                tape.answered(number, Err(ModelError::Panicked));
            }
            let cassette = tape.cassette(Source::default());
            cassette.exchanges.iter().map(|exchange| exchange.run.to_string()).collect::<Vec<_>>()
        };
        let expected = ["1", "1/1/1/0", "1/1/1/0/1/1/0", "1/1/1/2", "1/1/1/10", "1", "2"];
        assert_eq!(runs(&["c", "c/1/1/10", "c/1/1/0", "d", "c/1/1/2", "c/1/1/0/1/1/0", "c"]), expected);
        assert_eq!(runs(&["c", "c/1/1/2", "c/1/1/0", "c/1/1/0/1/1/0", "c/1/1/10", "c", "d"]), expected);
    }
}
