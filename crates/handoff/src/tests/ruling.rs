//! The rules for the handoffs and the questions of one reply, said once more and plainly.

use std::collections::BTreeSet;

use super::ledger::{Asked, Row};
use super::reference::{Opened, Passed, Reference};
use super::scenario::{Block, HandOff};
use super::team::{Ask, Deputy, HOUSE, POLICY, REQUIRED, house_rule};
use super::told::{Words, name, told_of};
use crate::{Answer, Guard, HandoffPackage};

/// What becomes of the handoffs of one reply.
pub(super) struct Ruling {
    pub(super) passed: Option<Passed>,
    /// Each that is refused, by its place, and the guard that refuses it.
    pub(super) refused: Vec<(usize, Guard)>,
    /// What each is told.
    pub(super) told: Vec<(usize, Words)>,
}

impl Reference<'_> {
    /// The first handoff that no guard refuses is taken; one equal to it is its duplicate, another is one too many.
    pub(super) fn rule(&self) -> Ruling {
        let handoffs: Vec<(usize, HandOff)> = self
            .open_calls()
            .into_iter()
            .filter_map(|(place, block)| match block {
                Block::HandOff(_, handoff) => Some((place, handoff)),
                _ => None,
            })
            .collect();
        let judged = |(place, handoff): &(usize, HandOff)| {
            let to = self.judge(*place, *handoff)?;
            Ok((to, self.package(*handoff, to)))
        };
        let alone: Vec<Result<_, Guard>> = handoffs.iter().map(judged).collect();
        let first = alone.iter().position(Result::is_ok);
        let (mut refused, mut told) = (Vec::new(), Vec::new());
        for (at, ((place, handoff), verdict)) in handoffs.iter().zip(&alone).enumerate() {
            let refused_by = match (verdict, first) {
                (Err(guard), _) => Some(*guard),
                (Ok(_), Some(first)) if first == at => None,
                (Ok(_), Some(first)) if alone[first] == *verdict => Some(Guard::Duplicate),
                (Ok(_), _) => Some(Guard::OnePerTurn),
            };
            refused.extend(refused_by.map(|guard| (*place, guard)));
            told.push((*place, told_of(refused_by, handoff.parcel.n())));
        }
        let passed = first.map(|first| {
            let (to, package) = alone[first].clone().unwrap();
            Passed { place: handoffs[first].0, to, package, told: told.clone() }
        });
        Ruling { passed, refused, told }
    }

    /// What crosses, with what code carries on.
    fn package(&self, handoff: HandOff, to: &str) -> HandoffPackage {
        let user = (self.speech, self.words());
        let carried = (self.carried(handoff), self.carried_on(handoff, to));
        handoff.parcel.package((&self.counts.active, to), carried, user)
    }

    /// The guards, in their order; the first that refuses is told.
    fn judge(&self, place: usize, handoff: HandOff) -> Result<&'static str, Guard> {
        let from = self.counts.active.as_str();
        // Known, self, route and package do not depend on what was done before, but for what binds.
        let to = handoff.receiver(from)?;
        let is_carried = !self.carried_on(handoff, to).is_empty();
        let is_longer = is_carried || !self.carried(handoff).is_empty();
        if !handoff.parcel.fits((from, to), is_longer, is_carried) {
            return Err(Guard::Package);
        }
        let was_refused = self.newest_before().is_some_and(Row::is_refused);
        let way = self.scenario.way(from, to);
        if !self.is_ready(to) {
            Err(Guard::Ready)
        } else if self.cap().is_some() {
            Err(Guard::Cap)
        } else if self.scenario.guards.refuse_repeated_pairs
            && self.counts.since_user().any(|pair| pair == (from, to))
        {
            Err(Guard::Pair)
        } else if way.is_guarded && house_rule(handoff.parcel.n(), was_refused) != Ok(true) {
            Err(Guard::Own)
        } else if matches!(self.decided.get(&self.call_id(place)), Some(Answer::Reject { .. })) {
            Err(Guard::Approval)
        } else {
            Ok(to)
        }
    }

    /// The newest handoff of an earlier reply.
    fn newest_before(&self) -> Option<&Row> {
        let of_reply = format!("{}/", self.reply_id());
        self.counts.rows.iter().rfind(|row| !row.id.starts_with(&of_reply))
    }

    /// What binds and is not in the package: the house's constraint, and those that were handed over before.
    fn carried(&self, handoff: HandOff) -> Vec<String> {
        let mut carried = self.binding();
        carried.retain(|text| handoff.parcel.constraint().as_ref() != Some(text));
        carried
    }

    /// What binds here, each once.
    fn binding(&self) -> Vec<String> {
        let mut binding: Vec<String> = self.scenario.binds.then(|| HOUSE.to_owned()).into_iter().collect();
        binding.extend(self.counts.constraints.iter().filter(|text| *text != HOUSE).cloned());
        binding
    }

    /// The items of all whose work ends with this handoff: they are not lost.
    fn carried_on(&self, handoff: HandOff, to: &str) -> Vec<String> {
        let waits = self.counts.waiting.iter().position(|agent| agent == to);
        let waiting = waits.map_or(&[][..], |place| &self.counts.waiting[place..]);
        let keeps = waits.is_none() && self.scenario.way(&self.counts.active, to).returns;
        if handoff.parcel.has_item() || keeps {
            return Vec::new();
        }
        let left: BTreeSet<String> = waiting
            .iter()
            .chain([&self.counts.active])
            .flat_map(|agent| self.counts.left_to(agent).to_vec())
            .collect();
        left.into_iter().collect()
    }

    pub(super) fn is_ready(&self, to: &str) -> bool {
        to != POLICY || !self.counts.off.contains(&(POLICY.to_owned(), REQUIRED.to_owned()))
    }

    /// The cap that is reached, if one is.
    pub(super) fn cap(&self) -> Option<u32> {
        let guards = &self.scenario.guards;
        let here =
            (self.counts.since_user().count() >= guards.max_handoffs as usize).then_some(guards.max_handoffs);
        here.or(guards
            .max_handoffs_per_conversation
            .filter(|max| self.counts.taken().count() >= *max as usize))
    }

    /// The agents in turn since the user spoke, ending with `to`.
    pub(super) fn chain<'c>(&'c self, from: &'c str, to: &'c str) -> Vec<&'c str> {
        self.counts.since_user().map(|(sender, _)| sender).chain([from, to]).collect()
    }

    /// The questions of a reply: each gets a branch, or is told why not.
    pub(super) fn opens_branches(&mut self) {
        let asks: Vec<(usize, Ask)> = self
            .open_calls()
            .into_iter()
            .filter_map(
                |(place, block)| if let Block::Ask(_, ask) = block { Some((place, ask)) } else { None },
            )
            .collect();
        let from = self.counts.active.clone();
        let verdicts = self.share(&asks);
        for ((place, ask), verdict) in asks.into_iter().zip(verdicts) {
            let deputy = ask.deputy(&from).unwrap();
            let path = self.call_id(place);
            match verdict {
                Ok(allowance) => {
                    let carried = self.binding().into_iter();
                    let question = ask.question.package().unwrap();
                    let question = carried.fold(question, HandoffPackage::constraint);
                    let prompt = question.to_question(&name(&from));
                    let binding = question.constraints().iter().map(ToString::to_string).collect();
                    self.counts.left -= allowance;
                    self.open.push(Opened { path, place, deputy, allowance, prompt, binding });
                }
                Err(code) => {
                    let (from, tool) = (from.clone(), deputy.tool.to_owned());
                    self.counts.links.push(Asked { id: path, from, tool, outcome: code, has_run: false });
                    self.seat().calls[place].words = Some(Words::error(code));
                }
            }
        }
    }

    /// The model calls of each question's branch, or why there is none. One is kept for the agent that asks, and the
    /// others are shared out evenly.
    fn share(&self, asks: &[(usize, Ask)]) -> Vec<Result<u32, &'static str>> {
        let asker = self.counts.active.as_str();
        let deputies: Vec<Deputy> = asks.iter().filter_map(|(_, ask)| ask.deputy(asker)).collect();
        let waits = |deputy: &Deputy| deputies.iter().any(|other| deputy.after == Some(other.tool));
        let alone = asks.iter().zip(&deputies).map(|((_, ask), deputy)| {
            if ask.question.package().is_none() {
                Err("invalid_question")
            } else if self.is_off(deputy.tool) {
                Err("tool_switched_off")
            } else if waits(deputy) {
                Err("not_yet")
            } else {
                Ok(deputy.max_model_calls)
            }
        });
        let alone: Vec<_> = alone.collect();
        let fit = alone.iter().filter(|verdict| verdict.is_ok()).count().max(1);
        let mut rest = self.counts.left.saturating_sub(1);
        let share = (rest / u32::try_from(fit).unwrap()).max(1);
        let granted = alone.into_iter().map(|verdict| {
            let given = verdict?.min(share).min(rest);
            rest -= given;
            if given == 0 { Err("budget_spent") } else { Ok(given) }
        });
        granted.collect()
    }
}
