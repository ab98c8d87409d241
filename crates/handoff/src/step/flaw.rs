//! What cannot be in a step that was made here: what is loaded may be anything.
//!
//! Who has the turn, who is at rest, and the counts follow from the hops, and are held against them. What was said
//! and what crossed cannot be proven without a key: somebody who can write the saved text can write another
//! conversation, as long as all of it agrees.

use sommelier_protocol::{Message, ToolName, ToolUse};
use sommelier_runtime::turn::{MOST_COUNTED, Reserved, ToolCalls, Used};
use sommelier_runtime::{AgentName, Definition};
use std::collections::BTreeSet;

use super::completing;
use super::delegation::Branch;
use super::human::{self, Held};
use super::{AskHuman, Delegation, Done, Step, end_of, may_be_mended, reading};
use crate::arbiter;
use crate::budget::{Clock, Purse, Shared};
use crate::completion;
use crate::delegate::Deputy;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::run::Awaiting;
use crate::{
    ASK_HUMAN, Asks, COMPLETE_HANDOFF, Closing, Completion, Compliance, Cost, Decision, DelegateResult,
    EntryPolicy, Guard, HandoffPackage, Hop, HopOutcome, Link, LinkOutcome, Measure, Question, READ_ARTIFACT,
    Refusal, Relay, Run, RunEnd, work,
};

mod holders;

use holders::Holders;

/// What is wrong where a person's answer has no question of its own.
const UNASKED: &str = "an answer is on record that nobody was asked for";

/// What is wrong where broken answers were not sent back as often as is on record.
const SENT_BACK: &str = "the answers that were sent back do not add up";

/// Where in the tree a run stands.
#[derive(Clone, Copy)]
enum Place<'a> {
    Root,
    Branch {
        /// Whom it is a branch of.
        deputy: &'a Deputy,
        /// What it is asked.
        question: &'a HandoffPackage,
        /// The run whose agent asks.
        asker: &'a Run,
    },
}

impl Step {
    /// What cannot be in a step that was made here.
    pub(crate) fn flaw(&self, relay: &Relay) -> Option<String> {
        self.flaw_at(relay, Place::Root)
    }

    fn flaw_at(&self, relay: &Relay, place: Place<'_>) -> Option<String> {
        if let Self::Done(done) = self {
            return done.flaw_at(relay, place);
        }
        let run = self.run();
        if let Some(flaw) = run.flaw(relay, place) {
            return Some(flaw);
        }
        if run.idle(run.active.as_str()).is_some() {
            return Some("the agent that has the turn is at rest".into());
        }
        if !run.sent_back_as_often_as_it_says(self.messages()) {
            return Some(SENT_BACK.to_owned());
        }
        if let Some(flaw) = self.flaw_of_turns(relay) {
            return Some(flaw.to_owned());
        }
        let inner = match self {
            Self::AskHuman(AskHuman { held: Held::Reserved(inner), .. }) => Some(inner),
            Self::Delegate(step) => Some(&step.inner),
            Self::HandOff(step) => Some(&step.inner),
            _ => None,
        };
        if inner.is_some_and(|inner| !is_settled(relay, run, inner)) {
            return Some("a plan does not fit its call".to_owned());
        }
        let calls = match self {
            Self::CallTools(step) => Some(&step.inner),
            Self::AskHuman(AskHuman { held: Held::Tools(inner), .. }) => Some(inner),
            _ => None,
        };
        if calls.is_some_and(|calls| !are_decided(run, calls)) {
            return Some(UNASKED.to_owned());
        }
        match self {
            Self::AskHuman(step) if !step.asks_what_it_would(relay) => {
                Some("the questions are not those that the reply asks".to_owned())
            }
            Self::Delegate(step) => step.flaw(relay),
            Self::HandOff(step) if human::needs_approval(relay, run, &step.taken) => {
                Some("nobody has approved the handoff".to_owned())
            }
            Self::HandOff(step) if asks_delegates(relay, run, &step.inner) => {
                Some("a delegate was not asked before the handoff".to_owned())
            }
            Self::HandOff(step)
                if !arbiter::is_asked_for(relay, run, &step.inner, &step.outputs, &step.taken) =>
            {
                Some("the handoff is not the one that its call asks for".to_owned())
            }
            _ => None,
        }
    }

    /// The messages of the turn that is out.
    fn messages(&self) -> &[Message] {
        match self {
            Self::CallModel(step) => step.inner.messages(),
            Self::CallTools(step) => step.inner.messages(),
            Self::AskHuman(step) => match &step.held {
                Held::Tools(inner) => inner.messages(),
                Held::Reserved(inner) => inner.messages(),
            },
            Self::Delegate(step) => step.inner.messages(),
            Self::HandOff(step) => step.inner.messages(),
            Self::Done(_) => &[],
        }
    }

    /// What is wrong with the turn that is out, with one at rest, or with the replies that they count.
    fn flaw_of_turns(&self, relay: &Relay) -> Option<&'static str> {
        let run = self.run();
        let active = relay.agent(run.active.as_str())?;
        let (flaw, out) = match self {
            Self::CallModel(step) => (step.inner.flaw(active), step.inner.used()),
            Self::CallTools(step) => (step.inner.flaw(active), step.inner.used()),
            Self::AskHuman(step) => match &step.held {
                Held::Tools(inner) => (inner.flaw(active), inner.used()),
                Held::Reserved(inner) => (inner.flaw(active), inner.used()),
            },
            Self::Delegate(step) => (step.inner.flaw(active), step.inner.used()),
            Self::HandOff(step) => (step.inner.flaw(active), step.inner.used()),
            Self::Done(_) => (None, Used::default()),
        };
        let is_asking = matches!(self, Self::CallModel(_));
        let is_over = is_asking && run.spent().is_some();
        // The first answer begins the clock.
        let has_no_time = !is_asking && run.is_timed() && run.deadline().is_none();
        let branches = match self {
            Self::Delegate(step) => step.branches.as_slice(),
            _ => &[],
        };
        flaw.or_else(|| run.flaw_of_rest(relay, out, branches))
            .or((is_over || has_no_time).then_some("the counts do not add up"))
    }
}

/// Whether each call that was answered beforehand has the answer that is on record: a delegate's, or a person's.
fn is_settled(relay: &Relay, run: &Run, inner: &Reserved) -> bool {
    let Some(agent) = relay.agent(run.active.as_str()) else { return false };
    inner.settled(agent).all(|(place, call, output)| {
        if call.name() == COMPLETE_HANDOFF {
            return completing::settled(inner).as_ref() == Some(output);
        }
        if call.name() == ASK_HUMAN {
            return human::settled(run, place, call, agent.limits().input_bytes).as_ref() == Some(output);
        }
        if call.name() == READ_ARTIFACT {
            return reading::is_settled(run, agent, call, output);
        }
        let id = run.call_id(place);
        let link = run.links().iter().find(|link| *link.id == *id);
        link.is_some_and(|link| {
            link.tool.as_str() == call.name() && *link.call_id == *call.id() && *output == link.told()
        })
    })
}

/// Whether what was answered about these calls was asked about just these.
fn are_decided(run: &Run, calls: &ToolCalls) -> bool {
    calls.calls().all(|(place, call)| {
        let id = run.call_id(place);
        let mut decisions = run.decisions().iter().filter(|decision| *decision.question.id == *id);
        decisions.all(|decision| is_about(&decision.question.asks, call))
    })
}

/// Whether it is asked if this call may run.
fn is_about(asks: &Asks, call: &ToolUse) -> bool {
    match asks {
        Asks::Tool { call_id, tool, input } => {
            (&**call_id, tool.as_str(), input) == (call.id(), call.name(), call.input())
        }
        _ => false,
    }
}

/// Whether a call of a delegate waits for an answer.
fn asks_delegates(relay: &Relay, run: &Run, inner: &Reserved) -> bool {
    let is_of_deputy = |name: &str| relay.delegate(run.active.as_str(), name).is_some();
    inner.calls().any(|(_, call)| is_of_deputy(call.name()))
}

impl AskHuman {
    /// Whether the questions are some of those that the turn leads to.
    fn asks_what_it_would(&self, relay: &Relay) -> bool {
        let ids: BTreeSet<&str> = self.questions.iter().map(|question| &*question.id).collect();
        let is_open = |question: &Question| self.run.decision(&question.id).is_none();
        if self.questions.is_empty()
            || ids.len() < self.questions.len()
            || !self.questions.iter().all(is_open)
        {
            return false;
        }
        match &self.held {
            Held::Tools(inner) => {
                let Some(agent) = relay.agent(self.run.active.as_str()) else { return false };
                let calls = inner.calls().filter(|(_, call)| agent.table().needs_approval(call.name()));
                let calls: Vec<_> = calls.collect();
                self.questions.iter().all(|question| {
                    let asked = calls.iter().find(|(place, _)| *self.run.call_id(*place) == *question.id);
                    question.from == self.run.active
                        && asked.is_some_and(|(_, call)| is_about(&question.asks, call))
                })
            }
            Held::Reserved(inner) => {
                if let [question] = &self.questions[..]
                    && self.may_be_overtaken(relay, inner, question)
                {
                    return true;
                }
                let since = self.questions.first().map_or(0, |question| question.at);
                let mut then = self.run.clone();
                let off = self.run.off_when_ruled();
                #[cfg(test)]
                let off =
                    planted::instead(Bug::QuestionJudgedByNow, off, || then.extra().switched_off.clone());
                then.extra_mut().switched_off = off;
                let again = super::reserved(relay, then, inner.clone(), since);
                let Step::AskHuman(again) = again else { return false };
                let is_asked = |question: &Question| {
                    again
                        .questions
                        .iter()
                        .any(|other| Question { at: question.at, ..other.clone() } == *question)
                };
                self.questions.len() == again.questions.len() && self.questions.iter().all(is_asked)
            }
        }
    }
}

impl AskHuman {
    /// Whether it is asked about a handoff with artifacts that code may have put newer versions of into the run since. Then
    /// a yes to it does not count, whatever was shown: see [`arbiter::rule`].
    fn may_be_overtaken(&self, relay: &Relay, inner: &Reserved, question: &Question) -> bool {
        let Asks::Handoff { call_id, to, package } = &question.asks else { return false };
        let is_asked = |(place, call): (usize, &ToolUse)| {
            *self.run.call_id(place) == *question.id && call.id() == &**call_id
        };
        let way = relay.way(&self.run.active, to);
        arbiter::may_be_overtaken(&self.run, package)
            && question.from == self.run.active
            && inner.calls().any(is_asked)
            && way.is_some_and(|way| way.route.needs_approval)
    }
}

impl Delegation {
    fn flaw(&self, relay: &Relay) -> Option<String> {
        let asked = self.inner.calls().filter_map(|(place, call)| {
            let tool = relay.delegate(self.run.active.as_str(), call.name()).is_some();
            tool.then_some(place)
        });
        let most =
            relay.max_branches().map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        if !(1..=most).contains(&self.branches.len())
            || !asked.eq(self.branches.iter().map(|branch| branch.asked.place))
        {
            return Some("the branches are not those that the calls open".to_owned());
        }
        let is_open = |link: &Link| self.branches.iter().any(|branch| branch.asked.id == link.id);
        if self.run.links().iter().any(is_open) {
            return Some("a delegation that is open is on record as ended".to_owned());
        }
        let agent = relay.agent(self.run.active.as_str())?;
        self.branches.iter().find_map(|branch| self.flaw_of_branch(relay, agent, branch))
    }

    fn flaw_of_branch(&self, relay: &Relay, agent: &Definition, branch: &Branch) -> Option<String> {
        let asked = &branch.asked;
        let deputy = relay.deputies(&self.run.active).iter().find(|deputy| deputy.tool == asked.tool);
        let call = self.inner.calls().find(|(place, _)| *place == asked.place).map(|(_, call)| call);
        let (Some(deputy), Some(call)) = (deputy, call) else {
            return Some("a branch has no call that opened it".to_owned());
        };
        let is_asked = asked.from == self.run.active
            && call.name() == asked.tool.as_str()
            && call.id() == &*asked.call_id
            && *asked.id == *self.run.call_id(asked.place)
            && deputy.question(relay, &self.run, call, agent.limits().input_bytes).as_ref()
                == Ok(&asked.package)
            && deputy.judge(&asked.package, &self.run.trail).is_ok();
        if !is_asked {
            return Some("a branch is not the one that its call asks for".to_owned());
        }
        let run = branch.step.run();
        if run.deadline() > self.run.deadline() && self.run.is_timed() {
            return Some("a branch has more time than the one that asked".to_owned());
        }
        let place = Place::Branch { deputy, question: &asked.package, asker: &self.run };
        flaw_of_branch_run(deputy, &asked.id, run).or_else(|| branch.step.flaw_at(&deputy.relay, place))
    }
}

fn flaw_of_branch_run(deputy: &Deputy, id: &str, run: &Run) -> Option<String> {
    let fits = run.conversation() == id && run.definition == deputy.relay.fingerprint();
    (!fits).then(|| "a branch holds another run than its own".to_owned())
}

impl Link {
    fn flaw(&self, relay: &Relay, asker: &Run) -> Option<String> {
        let deputy = relay.deputies(&self.from).iter().find(|deputy| deputy.tool == self.tool);
        let Some(deputy) = deputy else { return Some("somebody was asked who is no delegate".to_owned()) };
        if self.package_bytes != self.package.as_ref().map_or(0, HandoffPackage::bytes) {
            return Some("the counts do not add up".to_owned());
        }
        let LinkOutcome::Returned { result, run: done, .. } = &self.outcome else { return None };
        let most = relay.agent(self.from.as_str()).map_or(usize::MAX, |agent| agent.limits().result_bytes);
        let question =
            self.package.as_ref().filter(|_| *result == DelegateResult::of(done, &deputy.relay, most));
        let Some(question) = question else { return Some("a finding is not that of its branch".to_owned()) };
        flaw_of_branch_run(deputy, &self.id, done.run())
            .or_else(|| done.flaw_at(&deputy.relay, Place::Branch { deputy, question, asker }))
    }
}

impl Done {
    fn flaw_at(&self, relay: &Relay, place: Place<'_>) -> Option<String> {
        if let Some(flaw) = self.run.flaw(relay, place) {
            return Some(flaw);
        }
        if self.turn().is_none() {
            return Some("the run is done and its agent is not at rest".into());
        }
        if let Some(flaw) = self.run.flaw_of_rest(relay, Used::default(), &[]) {
            return Some(flaw.to_owned());
        }
        if !self.run.sent_back_as_often_as_it_says(&[]) {
            return Some(SENT_BACK.to_owned());
        }
        (!self.has_its_end(relay)).then(|| "the run's end is not that of the turn".to_owned())
    }

    /// Whether the end is one that follows from how the turn came to rest.
    fn has_its_end(&self, relay: &Relay) -> bool {
        use sommelier_runtime::TurnEnd;

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
            (TurnEnd::Closed, RunEnd::Cancelled { .. } | RunEnd::TakenOver { .. }) => true,
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

impl Awaiting {
    fn flaw(&self, relay: &Relay) -> Option<&'static str> {
        let agent = relay.agent(self.agent.as_str())?;
        let calls = self.inner.calls().count();
        let fits = self.outputs.len() == calls && self.place < calls;
        self.inner.flaw(agent).or((!fits).then_some("a handoff that is to come back has no call"))
    }
}

impl Hop {
    /// What is wrong with what a hop says of its work.
    fn flaw(&self, relay: &Relay) -> Option<&'static str> {
        let how = self.end.map(|end| end.how);
        let items = self.package.as_ref().map(completion::items).unwrap_or_default();
        let is_completed = match self.completion() {
            // It accounts for each item, and ends the work in the moment in which it is written down.
            Some(said) => {
                let is_sound = Completion::of(&items, &said.done, &said.open).as_ref() == Ok(said);
                let ended = if said.open.is_empty() { Closing::Done } else { Closing::Partial };
                is_sound && !items.is_empty() && self.outcome.is_taken() && how == Some(ended)
            }
            None => how != Some(Closing::Done) || items.is_empty(),
        };
        if !is_completed {
            return Some("how a hop ended is not what was said of its open items");
        }
        (!self.is_checked(relay)).then_some("the checks of a hop are not those of its constraints")
    }

    /// Whether there is a word for each constraint that has a check, once the work has ended, and for no other.
    fn is_checked(&self, relay: &Relay) -> bool {
        let checks = relay.constraint_checks();
        let written = self.account.as_ref().map_or(&[][..], |account| &account.compliance);
        let is_due = self.package.as_ref().is_some_and(|package| work::are_for(checks, package));
        if !is_due || self.end.is_none() {
            return written.is_empty();
        }
        let constraints = self.package.as_ref().map_or(0, |package| package.constraints().len());
        constraints == written.len()
            && self.compliance().all(|(constraint, found)| {
                work::has_check(checks, constraint) == (*found != Compliance::Unchecked)
            })
    }
}

impl Run {
    /// The tools that were off when the handoffs of the newest reply were ruled on, as its refusals tell: while a person is
    /// asked, tools may go off and on.
    fn off_when_ruled(&self) -> BTreeSet<(AgentName, ToolName)> {
        let reply = format!("{}/", self.reply_id());
        let refusals = self.trail.hops().iter().rev().take_while(|hop| hop.id.starts_with(&reply));
        let off = refusals.filter_map(|hop| match &hop.outcome {
            HopOutcome::Refused { refusal } => match &**refusal {
                Refusal::TargetNotReady { to, missing_tools } => Some((to, missing_tools)),
                _ => None,
            },
            HopOutcome::Taken { .. } => None,
        });
        off.flat_map(|(to, tools)| tools.iter().map(|tool| (to.clone(), tool.clone()))).collect()
    }

    /// What cannot be in a run that steps made.
    fn flaw(&self, relay: &Relay, place: Place<'_>) -> Option<String> {
        if let Some(unknown) = self.unknown_agent(relay) {
            return Some(format!("the relay has no agent {unknown}"));
        }
        let waiting = self.extra().awaiting.iter().map(|waits| &waits.agent);
        let names: BTreeSet<&AgentName> = self.idle.iter().map(|(name, _)| name).chain(waiting).collect();
        if names.len() < self.idle.len() + self.extra().awaiting.len() || self.awaits(&self.active) {
            return Some("an agent is at rest twice".to_owned());
        }
        let counted = [self.messages, self.model_calls, self.tool_calls];
        let is_of_its_place = match place {
            Place::Root => {
                self.extra().owed.is_none() && self.user_words().is_some() == relay.wants_user_words()
            }
            Place::Branch { deputy, .. } => {
                self.extra().owed.map(|owed| owed.contract) == deputy.contract
                    && self.user_words().is_none()
                    && self.messages == 1
                    && self.trail.hops().first().is_none_or(|hop| hop.from == deputy.entry)
            }
        };
        let adds_up = counted.iter().all(|count| *count <= MOST_COUNTED)
            && self.messages > 0
            && self.left <= self.allowance
            && self.has_its_budget(relay, place)
            && is_of_its_place;
        if !adds_up || !self.trail.adds_up() {
            return Some("the counts do not add up".to_owned());
        }
        let mut bound: Vec<&str> = Vec::new();
        let question = match place {
            Place::Root => None,
            Place::Branch { question, .. } => Some(question),
        };
        let packages = question.into_iter().chain(self.trail.taken().filter_map(|hop| hop.package.as_ref()));
        for constraint in packages.flat_map(HandoffPackage::constraints) {
            if !bound.contains(&&**constraint) {
                bound.push(constraint);
            }
        }
        if !self.constraints().iter().map(|constraint| &**constraint).eq(bound) {
            return Some("the constraints are not those that were handed over".to_owned());
        }
        let flaw = self.trail.hops().iter().find_map(|hop| hop.flaw(relay));
        flaw.or_else(|| self.flaw_of_artifacts())
            .or_else(|| self.flaw_of_chain(relay, &names))
            .or_else(|| self.flaw_of_decisions(relay))
            .map(str::to_owned)
            .or_else(|| self.flaw_of_links(relay))
    }

    /// Whether the answers that broke a contract were sent back as often as is on record. `out` are the messages of the
    /// turn that is out.
    fn sent_back_as_often_as_it_says(&self, out: &[Message]) -> bool {
        let Some(owed) = &self.extra().owed else { return true };
        let at_rest = self.idle.iter().flat_map(|(_, turn)| turn.messages());
        let waiting = self.extra().awaiting.iter().flat_map(|waits| waits.inner.messages());
        owed.adds_up(out.iter().chain(at_rest).chain(waiting))
    }

    /// Whether what the run was given is what its place has to give.
    fn has_its_budget(&self, relay: &Relay, place: Place<'_>) -> bool {
        let empty = Purse::default();
        let purse = self.purse().unwrap_or(&empty);
        let more = purse.more_model_calls.unwrap_or_default();
        let given = |shared| purse.share(shared).map(|share| (share.most, share.more));
        let is_within = |shared: Shared| {
            let overspent = purse.share(shared).is_some_and(|share| share.used > share.given());
            // Only of tokens nobody knows how many come.
            shared == Shared::Tokens || !overspent
        };
        let fits = match place {
            Place::Root => {
                let most = |shared| given(shared).map(|(most, _)| most);
                self.allowance == relay.max_model_calls().saturating_add(more)
                    && Shared::ALL.iter().all(|shared| most(*shared) == relay.budget().of(*shared))
                    && purse.time.map(|clock| clock.most) == relay.budget().millis
            }
            Place::Branch { deputy, asker, .. } => {
                let is_shared = |shared: Shared| match (given(shared), deputy.budget.of(shared)) {
                    (Some((most, more)), cap) => more == 0 && cap.is_none_or(|cap| most <= cap),
                    (None, cap) => cap.is_none() && asker.given(shared.measure()).is_none(),
                };
                let is_in_time = match (purse.time, deputy.budget.millis) {
                    (Some(Clock { most, again: None, until: Some(_) }), cap) => {
                        cap.is_none_or(|cap| most <= cap)
                    }
                    (time, cap) => time.is_none() && cap.is_none() && !asker.is_timed(),
                };
                (1..=deputy.budget.model_calls).contains(&self.allowance)
                    && more == 0
                    && is_in_time
                    && Shared::ALL.into_iter().all(is_shared)
            }
        };
        fits && Shared::ALL.into_iter().all(is_within)
    }

    /// How much of it was used in the whole conversation, over this run and all its branches that have ended.
    fn used_over_tree(&self, shared: Shared) -> u64 {
        match shared {
            Shared::ToolCalls => self.cost().tool_calls.into(),
            Shared::Tokens => {
                let Cost { input_tokens, output_tokens, .. } = self.cost();
                input_tokens.saturating_add(output_tokens)
            }
            Shared::Hops => {
                let branches = self.links().iter().filter_map(Link::run);
                let branches = branches.map(|done| done.run().used_over_tree(shared));
                branches.fold(self.trail.count().into(), u64::saturating_add)
            }
        }
    }

    /// Whether each answer is one to a question of this run, that came before it.
    fn flaw_of_decisions(&self, relay: &Relay) -> Option<&'static str> {
        let mut ids = BTreeSet::new();
        let is_answer = |Decision { question, answer, .. }: &Decision| {
            let id = match &question.asks {
                Asks::Escalation { .. } => question.id.strip_suffix("/escalation"),
                _ => Some(&*question.id),
            };
            let is_of_run = id.and_then(|id| self.place_of(id)).is_some_and(|(message, reply)| {
                message <= self.messages && (1..=self.model_calls).contains(&reply)
            });
            is_of_run
                && relay.agent(question.from.as_str()).is_some()
                && question.asks.choices().contains(&answer.as_str())
        };
        let is_sound =
            self.decisions().iter().all(|decision| is_answer(decision) && ids.insert(&*decision.question.id));
        (!is_sound).then_some(UNASKED)
    }

    fn flaw_of_links(&self, relay: &Relay) -> Option<String> {
        let mut ids: BTreeSet<&str> = self.trail.hops().iter().map(|hop| &*hop.id).collect();
        for link in self.links() {
            let is_of_run = self.place_of(&link.id).is_some_and(|(message, reply)| {
                message <= self.messages && (1..=self.model_calls).contains(&reply)
            });
            if !is_of_run || !ids.insert(&link.id) {
                return Some("a delegation has an id that is not its own".to_owned());
            }
        }
        self.links().iter().find_map(|link| link.flaw(relay, self))
    }

    /// What is wrong with an agent at rest, or with what all of them count. The turn that is out has used `out`, and
    /// `branches` are open.
    fn flaw_of_rest(&self, relay: &Relay, out: Used, branches: &[Branch]) -> Option<&'static str> {
        let mut idle = self.idle.iter().filter_map(|(name, turn)| Some((relay.agent(name.as_str())?, turn)));
        let flaw = idle.find_map(|(agent, turn)| turn.flaw(agent));
        let awaiting = &self.extra().awaiting;
        let flaw = flaw.or_else(|| awaiting.iter().find_map(|waits| waits.flaw(relay)));
        let turns = self.used().map(|(_, used)| used).chain([out]);
        let (replies, tool_calls) = turns.fold((0, 0), |(replies, tool_calls), used| {
            (replies + u64::from(used.replies), tool_calls + u64::from(used.tool_calls))
        });
        let given = branches.iter().map(|branch| branch.step.run().allowance).fold(0, u32::saturating_add);
        let taken = self.allowance.saturating_sub(self.left);
        let adds_up = replies == u64::from(self.model_calls)
            && tool_calls == u64::from(self.tool_calls)
            && taken <= self.cost().model_calls.saturating_add(given)
            && Shared::ALL.into_iter().all(|shared| self.has_used(shared, out, branches));
        flaw.or((!adds_up).then_some("the counts do not add up"))
    }

    /// Whether what is used of it is no more than was used ever, and no less than open branches were given.
    fn has_used(&self, shared: Shared, out: Used, branches: &[Branch]) -> bool {
        let Some(share) = self.purse().and_then(|purse| purse.share(shared)) else { return true };
        let given = branches.iter().filter_map(|branch| branch.step.run().given(shared.measure()));
        let given = given.fold(0, u64::saturating_add);
        let out = match shared {
            Shared::Tokens => out.input_tokens.saturating_add(out.output_tokens),
            Shared::ToolCalls | Shared::Hops => 0,
        };
        let most = self.used_over_tree(shared).saturating_add(out).saturating_add(given);
        (given..=most).contains(&share.used)
    }

    fn unknown_agent(&self, relay: &Relay) -> Option<&AgentName> {
        let waiting = self.extra().awaiting.iter().map(|waits| &waits.agent);
        let names = std::iter::once(&self.active).chain(self.idle.iter().map(|(name, _)| name));
        let mut names = names.chain(waiting);
        names.find(|name| relay.agent(name.as_str()).is_none())
    }

    /// Goes through the hops as they were made: who has the turn and who is at rest follow from them. Where the run
    /// began is known when it has had a hop or the entry hears every message; else it is taken from what is there.
    fn flaw_of_chain(&self, relay: &Relay, idle: &BTreeSet<&AgentName>) -> Option<&'static str> {
        let returns = relay.entry_policy() == EntryPolicy::Entry;
        let mut ids = BTreeSet::new();
        let mut held: BTreeSet<&AgentName> = BTreeSet::new();
        let mut holders = Holders::default();
        let (mut message, mut reply) = (1, 0);
        for (place, hop) in self.trail.hops().iter().enumerate() {
            let Some((of_message, of_reply)) = self.place_of(&hop.id) else {
                return Some("a hop has an id that is not its own");
            };
            let is_since = place >= self.trail.before();
            let is_in_order = (message, reply) <= (of_message, of_reply) && of_reply <= self.model_calls;
            if !ids.insert(&hop.id) || !is_in_order || is_since != (of_message == self.messages) {
                return Some("the hops are not in the order in which they were made");
            }
            if returns && of_message > message {
                holders.or_entry(relay.entry());
            }
            (message, reply) = (of_message, of_reply);
            if !holders.has(&hop.from) {
                return Some("a hop begins at an agent that did not have the turn");
            }
            held.insert(&hop.from);
            if let HopOutcome::Taken { .. } = hop.outcome {
                let to = relay.agent(&hop.to).map(|agent| agent.name());
                let Some((to, way)) = to.and_then(|to| Some((to, relay.way(&hop.from, to)?))) else {
                    return Some("a hop was taken where there is no route");
                };
                held.insert(to);
                holders.take(to, way.route.returns);
            }
        }
        if returns && self.messages > message {
            holders.or_entry(relay.entry());
        }
        if !holders.has(&self.active) {
            return Some("the agent that has the turn is not the one that got it");
        }
        let awaiting = &self.extra().awaiting;
        if !awaiting.is_empty() && !holders.wait(awaiting.iter().map(|waits| &waits.agent)) {
            return Some("the agents that wait are not those whose handoff is to come back");
        }
        held.insert(&self.active);
        // The first message may have been heard by any agent. It is the first hop's sender, if there is one in that
        // message, and the entry's turn came after it if the entry hears every message.
        let first = self.trail.hops().first().and_then(|hop| self.place_of(&hop.id));
        let is_known = !returns || self.messages == 1 || first.is_some_and(|(message, _)| message == 1);
        let strangers = idle.difference(&held).count();
        let missing = held.iter().filter(|name| ***name != self.active && !idle.contains(**name)).count();
        let fits = missing == 0 && strangers <= usize::from(!is_known);
        (!fits).then_some("the agents at rest are not those that gave the turn away")
    }

    /// The message and the model call in which a hop or a delegation was asked for, as its id says.
    pub(crate) fn place_of(&self, id: &str) -> Option<(u32, u32)> {
        let rest = id.strip_prefix(&*self.conversation)?.strip_prefix('/')?;
        let mut parts = rest.split('/');
        let mut number = || parts.next()?.parse::<u32>().ok();
        let place = (number()?, number()?);
        number()?;
        (place.0 >= 1 && parts.next().is_none()).then_some(place)
    }
}
