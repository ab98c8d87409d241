//! What holds from one step of a run to the next.

use serde_json::Value;
use sommelier_protocol::{Message, Role};
use sommelier_runtime::{AgentName, ToolOutput};

use super::driver::Answer;
use super::ledger::guards_of;
use super::player::Player;
use super::scenario::{Block, HandOff, ROOT, Reply, Speech};
use super::team::{DESK, receivers};
use super::told::{Told, Words, assert_only_set_down, assert_told, bytes, heard, name, told_of};
use crate::{
    CallModel, Closing, Done, EntryPolicy, Guard, Hop, HopOutcome, OnRefusal, Refusal, Run, RunEnd, Step,
};

impl Player<'_> {
    /// `before` has become `after` by this answer. What delegates are asked and have found is not looked at here.
    pub(super) fn check_passage(&mut self, before: &Step, answer: &Answer, after: &Step) {
        match (before, answer) {
            (Step::CallModel(call), Answer::Reply(reply, _)) => self.check_reply(call, reply, after),
            (Step::CallTools(calls), Answer::Outputs(outputs)) => {
                self.check_outputs(calls.run(), outputs, after);
            }
            (Step::Delegate(delegation), Answer::Join) => {
                self.check_joined(delegation, after);
                let run = delegation.run();
                self.check_ruling(run, run.trail().hops(), after);
            }
            (Step::HandOff(handoff), Answer::Take) => {
                if self.ledger.is_ready(handoff.to().as_str()) {
                    self.check_taken(handoff, after);
                } else {
                    self.check_refused_late(handoff.run(), after);
                }
            }
            (Step::Done(done), Answer::Hear(speech)) => self.check_heard(done, *speech, after),
            (Step::Done(done), Answer::Retry) => self.check_retried(done, after),
            _ => unreachable!("the answer fits the step"),
        }
        if let (Step::Done(done), false) = (after, matches!(answer, Answer::Retry)) {
            self.ended(done.end());
        }
    }

    /// A reply is counted; its tools run first, then its delegates are asked, then its handoffs are ruled on.
    fn check_reply(&mut self, call: &CallModel, reply: &Reply, after: &Step) {
        match reply {
            Reply::Fails(error) => {
                let Step::Done(done) = after else { panic!("a run without a reply ends: {after:?}") };
                assert_eq!(done.end(), &RunEnd::Failed { error: error.clone() });
                return assert_only_set_down(call.run(), after);
            }
            Reply::Says { stop: Some(stop), .. } => self.coverage.stopped(stop),
            Reply::Says { stop: None, .. } => self.saw("reply without a stop reason"),
        }
        self.ledger.counts.model_calls += 1;
        self.ledger.spent += 1;
        if let Some(end) = reply.cut_short() {
            let Step::Done(done) = after else { panic!("a reply that was cut ends the run: {after:?}") };
            assert_eq!(done.end(), &end);
        }
        let request = call.request(self.relay);
        let goes_on = matches!(request.messages.last(), Some(last) if last.role == Role::Assistant);
        let kept = request.messages.len() - usize::from(goes_on);
        self.history_bytes = bytes(&request.messages[..kept]);
        let calls = if reply.cut_short().is_none() { reply.calls() } else { Vec::new() };
        self.look_at(&calls);
        let runs = calls.iter().take(self.scenario.limits.calls_per_reply);
        let runs = runs.filter(|call| self.ledger.runs(**call)).count();
        if self.path != ROOT && calls.iter().any(|call| self.ledger.is_off(*call)) {
            self.saw("tool switched off in a branch");
        }
        match after {
            Step::CallTools(calls) => {
                assert_eq!(calls.calls().count(), runs);
                assert_only_set_down(call.run(), after);
                assert_eq!(call.run().trail(), after.run().trail());
                assert_eq!(call.run().links(), after.run().links());
            }
            _ if runs > 0 => panic!("the reply's own tools run first: {after:?}"),
            _ => self.check_opening(call.run(), after),
        }
    }

    /// The calls of a reply that are not for tools of the agent's own. A question of an agent without delegates and a
    /// handoff of one without receivers are calls of tools that it does not have.
    fn look_at(&mut self, calls: &[Block]) {
        let from = self.ledger.counts.active.clone();
        (self.asks, self.handoffs, self.found) = (Vec::new(), Vec::new(), Vec::new());
        for (place, call) in calls.iter().take(self.scenario.limits.calls_per_reply).enumerate() {
            match call {
                Block::Ask(_, ask) if ask.deputy(&from).is_some() => self.asks.push((place, *ask)),
                Block::HandOff(_, handoff) if !receivers(&from).is_empty() => {
                    self.handoffs.push((place, *handoff));
                }
                _ => {}
            }
        }
    }

    fn check_outputs(&mut self, before: &Run, outputs: &[ToolOutput], after: &Step) {
        self.ledger.counts.tool_calls += u32::try_from(outputs.len()).unwrap();
        if !self.handoffs.is_empty() {
            self.saw("handoff beside own tools");
        }
        if !self.handoffs.is_empty() && !self.asks.is_empty() {
            self.saw("own tools, questions and handoffs in one reply");
        }
        self.check_opening(before, after);
    }

    /// The questions of a reply open branches; its handoffs wait for those.
    fn check_opening(&mut self, before: &Run, after: &Step) {
        let opens = self.check_asked(before, after);
        if opens {
            assert_only_set_down(before, after);
            assert_eq!(before.trail(), after.run().trail(), "a handoff is ruled on after the branches");
        } else {
            self.check_ruling(before, before.trail().hops(), after);
        }
    }

    /// The handoffs of a reply are ruled on as the ledger rules, whatever else the reply holds; the trail had
    /// these `earlier` hops.
    fn check_ruling(&mut self, before: &Run, earlier: &[Hop], after: &Step) {
        assert_only_set_down(before, after);
        let handoffs: Vec<HandOff> = self.handoffs.iter().map(|(_, handoff)| *handoff).collect();
        let verdicts = self.ledger.verdicts(self.relay.guards(), &handoffs);
        let refused: Vec<Guard> = verdicts.refused_by.iter().copied().flatten().collect();
        let (kept, hops) = after.run().trail().hops().split_at(earlier.len());
        assert_eq!(without_ends(kept), without_ends(earlier), "what was recorded stays");
        assert_eq!(guards_of(hops), refused, "each handoff is refused by the guard that comes first");
        for hop in hops {
            assert_eq!(hop.package_bytes, hop.package.as_ref().map_or(0, bytes));
            assert_eq!(hop.history_bytes, self.history_bytes);
            self.check_loop(hop);
        }
        for guard in &refused {
            self.refused(*guard);
        }
        let told = self.handoffs.iter().zip(&verdicts.refused_by);
        let told = told.map(|((place, _), guard)| {
            let words = Words::Holding(told_of(*guard).to_owned());
            Told { place: *place, call_id: None, words }
        });
        self.told = self.found.iter().cloned().chain(told).collect();
        match (verdicts.taken, after) {
            (Some((place, to)), Step::HandOff(handoff)) => {
                let from = self.ledger.counts.active.as_str();
                let package =
                    handoffs[place].parcel.package(from, to, self.ledger.speech, &self.ledger.words());
                assert_eq!((handoff.to().as_str(), handoff.package()), (to, &package));
                assert_eq!(handoff.hop().history_bytes, self.history_bytes);
            }
            (Some(_), after) => panic!("the first fit handoff is taken: {after:?}"),
            (None, after) => {
                self.check_after_refusals(&refused, after);
                if !self.told.is_empty() {
                    assert_told(&self.told, &self.messages(after, &self.ledger.counts.active));
                }
            }
        }
    }

    /// A refused loop tells its chain and its cap.
    fn check_loop(&self, hop: &Hop) {
        let HopOutcome::Refused { refusal } = &hop.outcome else { panic!("a hop before it is taken") };
        let found = match &**refusal {
            Refusal::HandoffLimitExceeded { max, chain } => (Some(*max), chain),
            Refusal::RepeatedPair { chain, .. } => (None, chain),
            _ => return,
        };
        let cap = self.ledger.cap(self.relay.guards());
        let chain: Vec<AgentName> = self.ledger.chain(&hop.to).iter().map(|agent| name(agent)).collect();
        assert_eq!(found, (cap, &chain));
    }

    /// The run ends with the first refusal that is loud, and with none that is not.
    fn check_after_refusals(&self, refused: &[Guard], after: &Step) {
        let is_loud = |guard: &&Guard| self.relay.guards().after(**guard) == OnRefusal::Stop;
        let end = match after {
            Step::Done(done) => done.end().clone(),
            _ => RunEnd::Answered,
        };
        let loud = match &end {
            RunEnd::HandoffRefused { refusal } => Some((refusal.guard(), false)),
            RunEnd::HopLimit { refusal } => Some((refusal.guard(), true)),
            _ => None,
        };
        assert_eq!(loud, refused.iter().find(is_loud).map(|guard| (*guard, *guard == Guard::Cap)));
    }

    fn check_taken(&mut self, handoff: &crate::HandOff, after: &Step) {
        let (from, to) = (handoff.from().to_string(), handoff.to().to_string());
        if self.path != ROOT {
            self.saw("handed over in a branch");
        }
        let closed = after.run().idle(&from).unwrap();
        assert_told(&self.told, closed.messages());
        let (_, kept) = handoff.messages().split_last().unwrap();
        assert!(closed.messages().starts_with(kept), "the sender keeps all that was said");
        let earlier = handoff.run().idle(&to);
        let prompt = handoff.package().to_prompt(handoff.from());
        assert_eq!(self.values(after, &to), heard(earlier, &prompt), "the package, and nothing else");
        let all: Vec<_> = self.ledger.counts.since_user.iter().rev().map(|(from, _)| from.as_str()).collect();
        match all.as_slice() {
            [first, ..] if *first == to => self.saw("handed back (A→B→A)"),
            [_, first, ..] if *first == to => self.saw("round a cycle of three"),
            _ => {}
        }
        if earlier.is_some() {
            self.saw("activated again");
        }
        let crossed = handoff.package().artifacts().get("user_words").and_then(|words| words.as_str());
        if crossed == Some(&*self.ledger.words()) {
            self.saw("words of the user crossed");
        }
        if handoff.package().artifacts().get("user_words_left_out").is_some() {
            self.saw("words of the user left out");
        }
        self.ledger.hopped(&to);
        let (hop, before) = after.run().trail().hops().split_last().unwrap();
        assert_eq!(without_ends(before), without_ends(handoff.run().trail().hops()));
        // The work that the sender got is handed on, if it was not ended before.
        let got =
            |hops: &[Hop]| hops.iter().rev().find(|hop| hop.outcome.is_taken() && *hop.to == *from).cloned();
        if let (Some(was), Some(is)) = (got(handoff.run().trail().hops()), got(before)) {
            let how = was.end.map_or(Closing::HandedOn, |end| end.how);
            assert_eq!(is.end.map(|end| end.how), Some(how), "what was handed over is handed on");
        }
        assert_eq!(
            Hop { at: handoff.hop().at, end: None, ..hop.clone() },
            *handoff.hop(),
            "the record is what was shown"
        );
    }

    /// The receiver has lost a tool since the handoff was ruled fit: all handoffs of the reply are ruled on
    /// again.
    fn check_refused_late(&mut self, before: &Run, after: &Step) {
        self.saw("refused at the last moment");
        let hops = before.trail().hops();
        let refused = guards_of(&hops[hops.len() + 1 - self.handoffs.len()..]);
        refused.iter().for_each(|guard| self.ledger.forget(*guard));
        self.check_ruling(before, &hops[..hops.len() - refused.len()], after);
    }

    fn check_heard(&mut self, done: &Done, speech: Speech, after: &Step) {
        self.ledger.user_spoke(speech);
        if self.scenario.entry_policy == EntryPolicy::Entry {
            self.ledger.counts.active = DESK.to_owned();
        }
        let active = self.ledger.counts.active.clone();
        let earlier = done.run().idle(&active);
        assert_eq!(
            self.values(after, &active),
            heard(earlier, &self.ledger.words()),
            "the agent hears the user's words"
        );
    }

    /// A run that failed can be tried again, with the request that failed; a run that answered cannot.
    fn check_retried(&mut self, done: &Done, after: &Step) {
        match after {
            Step::Done(back) => {
                let can_go_on = matches!(done.end(), RunEnd::Failed { .. } | RunEnd::Cancelled { .. });
                assert!(!can_go_on, "a run that failed or was called off can be tried again");
                assert_eq!(back, done, "the run is handed back");
                if matches!(done.end(), RunEnd::Answered) {
                    self.saw("answered run not retried");
                }
            }
            _ => {
                assert!(done.answer().is_none(), "a run that answered is not tried again");
                let active = self.ledger.counts.active.clone();
                assert_eq!(self.messages(after, &active), done.turn().unwrap().messages());
                self.ledger.begin();
                if matches!(done.end(), RunEnd::Failed { .. }) {
                    self.saw("failed run retried");
                }
                if matches!(done.end(), RunEnd::Cancelled { .. }) {
                    self.saw("called off and tried again");
                }
            }
        }
    }

    /// The conversation of an agent that has just got or kept the turn.
    pub(super) fn messages(&self, step: &Step, agent: &str) -> Vec<Message> {
        match step {
            Step::CallModel(call) => call.request(self.relay).messages.into_owned(),
            Step::HandOff(handoff) => handoff.messages().to_vec(),
            Step::CallTools(_) | Step::AskHuman(_) | Step::Delegate(_) => {
                panic!("no agent begins with calls: {step:?}")
            }
            Step::Done(done) => done.run().idle(agent).unwrap().messages().to_vec(),
        }
    }

    pub(super) fn values(&self, step: &Step, agent: &str) -> Value {
        serde_json::to_value(self.messages(step, agent)).unwrap()
    }
}

/// Hops as they were taken, whatever came of them later.
pub(super) fn without_ends(hops: &[Hop]) -> Vec<Hop> {
    hops.iter().map(|hop| Hop { end: None, ..hop.clone() }).collect()
}
