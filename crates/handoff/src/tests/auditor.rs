//! Reads the records of a run as an auditor does, who has nothing else, and holds them against the run: whose work is open,
//! what was refused, who was asked what, what is to be done, and how it ended. Nothing is told twice.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Announced, Announcement, Input, InputKind, Refusal, Relay, Run, Step};

/// One book for each run, by its path.
#[derive(Default)]
pub(super) struct Auditor(BTreeMap<String, Book>);

/// What is known of a run.
#[derive(Default)]
struct Book {
    /// Each handoff that was taken, and whether the work is open.
    handed: BTreeMap<String, bool>,
    /// The newest word on each handoff that was refused.
    refused: BTreeMap<String, Refusal>,
    /// The questions that are open, with their fingerprints.
    asked: BTreeMap<String, String>,
    /// The newest plan for the newest reply.
    plan: Option<Announcement>,
    /// The tools that were switched on since, each with its agent: their calls run though the plan did not have them.
    switched_on: BTreeSet<(String, String)>,
    /// The newest handoff, while nobody has replied since.
    unaccepted: Option<String>,
    /// The one whose receiver has, and that is to be told next.
    accepts: Option<String>,
    /// How it ended.
    closed: Option<Announcement>,
}

impl Auditor {
    fn book(&mut self, run: &str) -> &mut Book {
        self.0.entry(run.to_owned()).or_default()
    }

    pub(super) fn reads(&mut self, input: &Input) {
        if let InputKind::ToolsSwitched { agent, tool, on: true } = &input.what {
            let on = (agent.to_string(), tool.to_string());
            self.0.values_mut().for_each(|book| _ = book.switched_on.insert(on.clone()));
        }
        let book = self.book(&input.run);
        match &input.what {
            InputKind::HandoffCommitted { hop } => {
                assert_eq!(planned_handoff(book.plan.as_ref()), Some(&*hop.id), "what is taken was planned");
                let is_new = book.handed.insert(hop.id.to_string(), true).is_none();
                assert!(is_new, "no handoff is taken twice");
                book.unaccepted = Some(hop.id.to_string());
            }
            InputKind::ModelResponded { .. } => {
                book.plan = None;
                book.switched_on.clear();
                // Work that has ended meanwhile is taken up by nobody.
                book.accepts = book.unaccepted.take().filter(|hop| book.handed[hop]);
            }
            InputKind::HumanAnswered { id, .. } => {
                assert!(book.asked.remove(&**id).is_some(), "{id} was asked");
            }
            InputKind::TurnReceived { .. } | InputKind::Retried => book.closed = None,
            _ => {}
        }
    }

    pub(super) fn is_told(&mut self, told: &Announced) {
        let book = self.book(&told.run);
        match &told.what {
            Announcement::ModelRequested { .. } | Announcement::ToolIntended { .. } => {}
            Announcement::ReceiverAccepted { hop, .. } => {
                assert_eq!(
                    book.accepts.take().as_deref(),
                    Some(&**hop),
                    "who has the turn takes the work up"
                );
            }
            Announcement::Planned { handoff, .. } => {
                let plan = book.plan.replace(told.what.clone());
                assert_ne!(plan.as_ref(), Some(&told.what), "a plan is told once");
                if let Some(hop) = handoff {
                    book.refused.remove(&**hop);
                }
            }
            Announcement::HandoffRefused { hop, refusal, .. } => {
                let known = book.refused.insert(hop.to_string(), (**refusal).clone());
                assert_ne!(known.as_ref(), Some(&**refusal), "a refusal is told once");
                book.is_off(hop);
            }
            Announcement::ObligationClosed { hop, .. } => {
                let was_open = book.handed.insert(hop.to_string(), false);
                assert_eq!(was_open, Some(true), "what is closed was open");
            }
            Announcement::ObligationReopened { hop } => {
                let was_open = book.handed.insert(hop.to_string(), true);
                assert_eq!(was_open, Some(false), "what is opened again was closed");
            }
            Announcement::Escalated { questions } => {
                for question in questions {
                    book.refused.remove(&*question.id);
                    book.is_off(&question.id);
                    let known = book.asked.insert(question.id.to_string(), question.digest.to_string());
                    assert_ne!(known.as_deref(), Some(&*question.digest), "a question is told once");
                }
            }
            Announcement::Closed { .. } => {
                book.asked.clear();
                let was_closed = book.closed.replace(told.what.clone());
                assert_eq!(was_closed, None, "an end is told once");
            }
        }
    }

    /// Holds the books of the runs that are open against the tree.
    pub(super) fn sees(&self, relay: &Relay, tree: &Step) {
        let run = tree.run();
        let nothing = Book::default();
        let book = self.0.get(run.conversation()).unwrap_or(&nothing);
        book.is_of(run);
        assert_eq!(book.accepts, None, "whose first reply it is, that agent has accepted");
        let asked: BTreeMap<String, String> = match tree {
            Step::AskHuman(asking) => {
                let questions = asking.questions().iter();
                questions.map(|question| (question.id.to_string(), question.digest().to_string())).collect()
            }
            _ => BTreeMap::new(),
        };
        assert_eq!(book.asked, asked, "who is asked was told");
        let is_planned = |what: &str| format!("{what} was planned: {:?}", book.plan);
        match (tree, &book.plan) {
            (Step::HandOff(handoff), plan) => {
                let planned = planned_handoff(plan.as_ref());
                assert_eq!(planned, Some(&*handoff.hop().id), "{}", is_planned("the handoff"));
            }
            (Step::Delegate(delegation), Some(Announcement::Planned { branches, .. })) => {
                assert!(
                    branches
                        .iter()
                        .map(|path| &**path)
                        .eq(delegation.branches().iter().map(crate::Branch::path))
                );
                for branch in delegation.branches() {
                    self.sees(branch.relay(relay).unwrap(), branch.step());
                }
            }
            (Step::CallTools(calls), Some(Announcement::Planned { tools, .. })) => {
                let planned: BTreeSet<usize> = tools.iter().map(|call| call.place).collect();
                let agent = run.active().as_str();
                let is_on = |tool: &str| book.switched_on.contains(&(agent.to_owned(), tool.to_owned()));
                assert!(
                    calls.calls().all(|(place, call)| planned.contains(&place) || is_on(call.name())),
                    "{}",
                    is_planned("each call")
                );
            }
            (Step::Delegate(_) | Step::CallTools(_), _) => panic!("{}", is_planned("it")),
            _ => {}
        }
        match (tree, &book.closed) {
            (Step::Done(done), Some(Announcement::Closed { answer_id, end, answer })) => {
                let ended = (done.answer_id(), done.end().as_str(), done.answer());
                assert_eq!(ended, (answer_id.to_string(), &**end, answer.as_ref().map(ToString::to_string)));
            }
            (Step::Done(_), _) => panic!("an end is told"),
            (_, closed) => assert_eq!(*closed, None, "a run that goes on has not ended"),
        }
    }

    /// As [`sees`](Self::sees), with the branches that have ended.
    pub(super) fn sees_all(&self, relay: &Relay, tree: &Step) {
        self.sees(relay, tree);
        self.sees_ended(tree.run());
    }

    fn sees_ended(&self, run: &Run) {
        for done in run.links().iter().filter_map(crate::Link::run) {
            let book = &self.0[done.run().conversation()];
            book.is_of(done.run());
            assert!(book.closed.is_some(), "the end of a branch is told");
            self.sees_ended(done.run());
        }
    }
}

impl Book {
    /// This handoff is not planned any more. The reply that asks for it may be ruled on again and again, as receivers come and
    /// go: then the same plan, or the same refusal, is told once more, and is the newest word again.
    fn is_off(&mut self, hop: &str) {
        self.plan.take_if(|plan| planned_handoff(Some(plan)) == Some(hop));
    }

    fn is_of(&self, run: &Run) {
        let open: Vec<&str> = run.trail().open().map(|hop| &*hop.id).collect();
        let known: Vec<&str> =
            self.handed.iter().filter(|(_, is_open)| **is_open).map(|(hop, _)| hop.as_str()).collect();
        assert_eq!(sorted(known), sorted(open), "whose work is open was told");
        let taken = run.trail().taken().map(|hop| &*hop.id).collect();
        assert_eq!(sorted(self.handed.keys().map(String::as_str).collect()), sorted(taken));
        for hop in run.trail().hops() {
            if let crate::HopOutcome::Refused { refusal } = &hop.outcome {
                assert_eq!(self.refused.get(&*hop.id), Some(&**refusal), "a refusal was told");
            }
        }
    }
}

fn sorted(mut ids: Vec<&str>) -> Vec<&str> {
    ids.sort_unstable();
    ids
}

fn planned_handoff(plan: Option<&Announcement>) -> Option<&str> {
    match plan {
        Some(Announcement::Planned { handoff, .. }) => handoff.as_deref(),
        _ => None,
    }
}
