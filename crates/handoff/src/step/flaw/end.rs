//! What cannot be in the end of a run.

use sommelier_runtime::TurnEnd;

use super::budget::Out;
use super::inquiry::Conversation;
use super::{Place, SENT_BACK, UNASKED, UNSAID};
use crate::step::{Done, end_of, may_be_mended};
use crate::{Guard, Measure, Relay, RunEnd};

impl Done {
    pub(super) fn flaw_at(&self, relay: &Relay, place: Place<'_>) -> Option<String> {
        if let Some(flaw) = self.run.flaw(relay, place) {
            return Some(flaw);
        }
        if self.turn().is_none() {
            return Some("the run is done and its agent is not at rest".into());
        }
        if let Some(flaw) = self.run.flaw_of_rest(relay, place, &Out::default()) {
            return Some(flaw.to_owned());
        }
        if !self.run.sent_back_as_often_as_it_says(&[]) {
            return Some(SENT_BACK.to_owned());
        }
        if !self.run.completions_were_said(relay, &[]) {
            return Some(UNSAID.to_owned());
        }
        if !self.run.answers_fit_calls(Conversation::at_rest(&[])) {
            return Some(UNASKED.to_owned());
        }
        if !self.ends_its_work() {
            return Some("how a hop ended is not what the answer states".to_owned());
        }
        (!self.has_its_end(relay)).then(|| "the run's end is not that of the turn".to_owned())
    }

    /// Whether work that an answer under a contract has completed ended as that states. No such run goes on.
    fn ends_its_work(&self) -> bool {
        if self.end != RunEnd::Answered || self.run.contract().is_none() {
            return true;
        }
        let completed = self.run.trail.newest_to(&self.run.active).filter(|hop| hop.completion().is_some());
        completed.is_none_or(|hop| {
            hop.end.as_ref().map(|end| end.how) == Some(hop.closing(self.status().closing()))
        })
    }

    /// Whether the end is one that follows from how the turn came to rest.
    fn has_its_end(&self, relay: &Relay) -> bool {
        let Some(turn) = self.turn() else { return false };
        match (turn.end(), &self.end) {
            (TurnEnd::Closed, RunEnd::HandoffRefused { refusal }) => refusal.guard() != Guard::Cap,
            (TurnEnd::Closed, RunEnd::HopLimit { refusal }) => refusal.guard() == Guard::Cap,
            (TurnEnd::Closed, RunEnd::BudgetSpent { measure, most }) => {
                let is_spent = match measure {
                    Measure::ModelCalls | Measure::Tokens => self.run.left(*measure) == Some(0),
                    Measure::Millis => self.run.deadline().is_some(),
                    Measure::ToolCalls | Measure::Hops => false,
                };
                is_spent && self.run.given(*measure) == Some(*most)
            }
            (TurnEnd::Closed, RunEnd::TakenOver { by }) => self.run.newest_taking_over() == Some(&**by),
            (TurnEnd::Closed, RunEnd::Cancelled { .. }) => true,
            (TurnEnd::Closed, end) => matches!(end, RunEnd::Failed { .. }),
            (_, end) => {
                let is_broken = matches!(end, RunEnd::ContractBroken { .. });
                let is_over = relay
                    .agent(self.run.active.as_str())
                    .is_some_and(|agent| !(is_broken && may_be_mended(&self.run, agent, turn)));
                is_over && *end == end_of(relay, &self.run, turn)
            }
        }
    }
}
