//! A run that is brought to its end, whatever happens to its processes.

use std::time::Duration;

use sommelier_runner::journal::{Head, Heads, Journal};

use crate::process::{Ended, Told, Victim};
use crate::scenario::{CONVERSATION, Scenario};
use crate::scene::Scene;

/// How a run is taken up whose process has died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Its caller sends the turn again, under its key.
    Submit,
    /// Somebody resumes it.
    Resume,
    /// A sweeper finds it.
    Sweep,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Submit, Self::Resume, Self::Sweep];
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The turn is to be sent.
    Submit,
    /// Its process has died.
    TakeUp,
    /// The sweeper has found nothing: it waits, or its answer is on record.
    Resume,
    /// A person has to answer.
    Answer {
        /// The question.
        id: String,
        /// What was shown.
        digest: String,
    },
    /// Nothing.
    End,
}

/// A run, by what was acknowledged of it.
#[derive(Debug)]
pub struct Case<'a> {
    program: &'a str,
    /// Its folder.
    pub scene: &'a Scene,
    scenario: Scenario,
    way: Way,
    /// The time at which its newest process began.
    pub clock: u64,
    /// What is to be done next.
    pub next: Next,
    /// The newest head that anybody was told.
    pub head: Option<Head>,
    /// Whether the caller was told that the turn is accepted.
    pub is_accepted: bool,
    /// The answers that anybody was told, each with its id.
    pub answers: Vec<(String, String)>,
    /// The ids of the questions that persons were shown, in the order in which they were.
    pub shown: Vec<String>,
    /// How many of its processes were killed.
    pub kills: usize,
    /// For each of them that had written something and had no answer or question told yet, so was amid its run: the kind of
    /// the newest record.
    pub amid: Vec<String>,
}

/// Every process begins so much later than the one before, in milliseconds: whatever lease that one had is over.
const LATER: u64 = 100_000;

impl<'a> Case<'a> {
    /// A run that nobody has begun.
    pub fn new(program: &'a str, scene: &'a Scene, scenario: Scenario, way: Way) -> Self {
        Self {
            program,
            scene,
            scenario,
            way,
            clock: 1_800_000_000_000,
            next: Next::Submit,
            head: None,
            is_accepted: false,
            answers: Vec::new(),
            shown: Vec::new(),
            kills: 0,
            amid: Vec::new(),
        }
    }

    /// Whether it has its answer.
    pub fn is_over(&self) -> bool {
        self.next == Next::End
    }

    /// Does what is to be done next, in a process as `set` has it.
    pub fn step(&mut self, set: impl FnOnce(Victim) -> Victim) -> Ended {
        self.step_with(set, |victim, command| victim.run(command))
    }

    /// As [`step`](Self::step), and the process is killed from outside so long after it is ready, if it lives.
    pub fn step_killed(&mut self, set: impl FnOnce(Victim) -> Victim, after: Duration) -> Ended {
        self.step_with(set, |victim, command| victim.start(command).kill_after(after))
    }

    fn step_with(
        &mut self,
        set: impl FnOnce(Victim) -> Victim,
        run: impl FnOnce(&Victim, &str) -> (Ended, Told),
    ) -> Ended {
        self.clock += LATER;
        let victim = Victim::new(self.program, self.scene.path(), self.scenario).clock(self.clock);
        let command = self.command();
        let (ended, told) = run(&set(victim), &command);
        self.hear(ended, told);
        ended
    }

    fn command(&self) -> String {
        match (&self.next, self.way) {
            (Next::Submit, _) | (Next::TakeUp, Way::Submit) => "submit".to_owned(),
            (Next::TakeUp, Way::Sweep) => "sweep".to_owned(),
            (Next::TakeUp, Way::Resume) | (Next::Resume, _) => "resume".to_owned(),
            (Next::Answer { id, digest }, _) => format!("answer {id} {digest}"),
            (Next::End, _) => panic!("it is over"),
        }
    }

    fn hear(&mut self, ended: Ended, told: Told) {
        assert_eq!(told.refused, None, "{:?}", told.lines);
        if let Some(head) = told.head {
            assert!(self.head.is_none_or(|before| before.seq < head.seq), "{:?} then {head:?}", self.head);
            self.head = Some(head);
        }
        self.is_accepted |= told.is_accepted;
        self.shown.extend(told.questions.iter().map(|(id, _)| id.clone()));
        self.answers.extend(told.answer.clone());
        self.kills += usize::from(ended == Ended::Killed);
        if ended == Ended::Killed && told.head.is_some() && told.answer.is_none() && told.questions.is_empty()
        {
            let newest = self.scene.store().newest().unwrap();
            self.amid.extend(newest.last().map(|record| record.event.kind().to_owned()));
        }
        self.next = match (ended, told.answer, told.questions.into_iter().next()) {
            (Ended::Killed, ..) if self.is_accepted => Next::TakeUp,
            (Ended::Killed, ..) => Next::Submit,
            (Ended::Exited, Some(_), _) => Next::End,
            (Ended::Exited, None, Some((id, digest))) => Next::Answer { id, digest },
            (Ended::Exited, None, None) if self.way == Way::Sweep && self.next == Next::TakeUp => {
                Next::Resume
            }
            (Ended::Exited, None, None) => panic!("nothing came of it: {:?}", told.lines),
        };
        self.verify();
    }

    /// What was acknowledged is there, and the chain is whole.
    fn verify(&self) {
        let store = self.scene.store();
        let exported: Heads = self.head.iter().map(|head| (CONVERSATION.to_owned(), *head)).collect();
        let verified = store.verify(None, &exported).unwrap();
        assert!(verified.is_sound(), "{verified}");
    }

    /// Brings it to its end, with no more harm done to it.
    pub fn finish(&mut self, mut set: impl FnMut(Victim) -> Victim) {
        while !self.is_over() {
            assert_eq!(self.step(&mut set), Ended::Exited);
        }
    }
}
