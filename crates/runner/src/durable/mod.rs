//! A run that is written down as it goes, and gone on with after a crash.
//!
//! ```text
//!   submit ─▶ lease ─▶ decide ─▶ record ─▶ act ─▶ record ─▶ ... ─▶ record ─▶ answer
//!                        ▲                  │
//!                        └── crash ─────────┘   resume: the records are played again, and what was begun
//!                                               is gone on with by what is known of its effect
//! ```
//!
//! **What this module knows:** in which order things are written down and done. It drives runs by the same loop as
//! [`Runner::drive`]. **What it does not know:** where records are kept, and what they mean to the run: that is
//! [`Journal`]'s and [`Replay`]'s.

mod calls;
mod claims;
mod error;
mod heart;
mod log;
mod played;
mod rooms;
mod settled;
mod sweep;

use std::collections::BTreeMap;
use std::fmt;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sommelier_handoff::{
    AgentName, Answer, Input, InputKind, Millis, Relay, Replay, RunEnd, Step, TurnOnRecord,
};
use sommelier_protocol::Words;

use crate::answered::Answered;
use crate::journal::{Epoch, Journal, JournalError, Lease};
use crate::mailbox::Signals;
use crate::runner::Around;
use crate::secrets::{Secrets, Vault};
use crate::{Mailbox, Outcome, RunError, Runner};

pub use claims::{ClaimFault, check_claims};
pub use error::DurableError;
use log::End;
pub(crate) use log::Log;
pub use played::{replay, replay_seeing};
pub(crate) use rooms::Works;
use rooms::{Entered, Rooms};
pub use settled::{Settled, Turn};
pub use sweep::{Orphan, Orphans, Sweep, Swept};

/// How long a lease runs unless set otherwise, in milliseconds.
const TERM: Millis = 30_000;

/// Conversations whose state is kept in memory between turns, so that the next one needs no replay.
const MOST_KEPT: usize = 256;

/// Drives conversations that are written down as they go. Several processes may have one on the same journal: a
/// conversation is driven by whoever has its lease.
///
/// What was answered is on record; what a tool has done is on record or is found out; and at every point at which the
/// process may end there is one way to go on.
///
/// ```
/// use sommelier_handoff::{Agent, Relay};
/// use sommelier_runner::{DurableRunner, Runner, Turn};
/// use sommelier_runtime::{ScriptedModel, script};
/// # use sommelier_runner::journal::Journal;
/// # fn example(journal: &dyn Journal) -> Result<(), Box<dyn std::error::Error>> {
/// let relay = Relay::builder().agent(Agent::new("clerk", "You greet.")).entry("clerk").build()?;
/// let runner = Runner::new(ScriptedModel::new().turn("clerk", |_| script::say("Good morning.")));
/// let durable = DurableRunner::new(&runner, &relay, journal);
/// let settled = durable.submit("guest-7", Turn::new("hello").key("message-1"))?;
/// // The answer was lost: the same turn again is not driven again.
/// let again = durable.submit("guest-7", Turn::new("hello").key("message-1"))?;
/// assert_eq!(again.answer_id(), settled.answer_id());
/// # Ok(())
/// # }
/// ```
pub struct DurableRunner<'a> {
    runner: &'a Runner<'a>,
    relay: &'a Relay,
    journal: &'a dyn Journal,
    owner: String,
    term: Millis,
    rooms: Rooms,
    kept: Mutex<BTreeMap<String, Kept>>,
}

/// A conversation as it stood when it was let go of, its lease still running.
struct Kept {
    step: Step,
    end: End,
}

/// What was read of a conversation: the number of its last record, and where it stands by them.
type Found<'a> = (u64, Replay<'a>);

/// A conversation that is being driven.
struct Held<'j> {
    step: Option<Step>,
    log: Log<'j>,
}

impl<'a> DurableRunner<'a> {
    /// How often the same call of a tool or, by sweepers, the same reply of a model is begun: 5 times. What has ended its
    /// process each time is then left for a person, or counts as failed where it can have had no effect.
    pub const MOST_ATTEMPTS: u32 = 5;

    /// A driver of conversations in `relay`, each written to `journal`.
    pub fn new(runner: &'a Runner<'a>, relay: &'a Relay, journal: &'a dyn Journal) -> Self {
        Self {
            runner,
            relay,
            journal,
            owner: owner(),
            term: TERM,
            rooms: Rooms::default(),
            kept: Mutex::default(),
        }
    }

    /// Sets the name under which leases are taken. It has to be another in each process: who takes a lease under the same
    /// name takes it over. Unless set it is made of the process's number and a number by chance.
    pub fn owner(mut self, name: impl Into<String>) -> Self {
        self.owner = name.into();
        self
    }

    /// Sets how long a lease runs, in milliseconds; 30 seconds unless set. So long others wait for a process that has died.
    /// A conversation that is being driven has its lease renewed, three times in each term and with each record, so a term
    /// need not be as long as a turn. One that is at rest keeps it for its next turn until it runs out, or until
    /// [`release`](Self::release).
    ///
    /// A shorter term has a dead process's work taken up sooner. It should be several times the longest that a living
    /// process may be stopped for, by a disk that hangs or a machine that is moved: one that was stopped for longer finds its
    /// lease gone, and what its tools then give is kept [beside the records](Journal::late) only.
    pub fn term(mut self, millis: Millis) -> Self {
        self.term = millis.max(1);
        self
    }

    /// Hears a turn of the user and drives the conversation until it has an answer, or waits for a person. A conversation
    /// that is not there is begun; one that was interrupted is gone on with, and hears the turn there.
    ///
    /// A turn with a [key](Turn::key) is driven once. Sent again, while it is under way here, it waits for the same
    /// answer; later it gets what is on record.
    ///
    /// # Errors
    /// [`DurableError::KeyReused`] when the key was used for other words; [`DurableError::Held`] when another process has the
    /// conversation: nothing of the turn is on record, and the same call is made again later, see there; [`DurableError::Run`]
    /// when it could not be written down or driven. What is on record is safe: the same call, or [`resume`](Self::resume),
    /// goes on from there. A turn without a key may then be heard twice, so give it one.
    pub fn submit(&self, conversation: &str, turn: Turn) -> Result<Settled, DurableError> {
        check_name(conversation)?;
        let words = Words::new(&*turn.text).map_err(RunError::from)?;
        let trace = turn.trace.clone().or_else(|| self.runner.trace_name().map(str::to_owned));
        let turn = Turn { trace, ..turn };
        let key = turn.key.as_deref();
        if key.is_some_and(|key| self.runner.vault(Secrets::default()).refuses_key(key)) {
            return Err(DurableError::secret_key(conversation));
        }
        let entered = self.rooms.enter(conversation)?;
        let held = self.hold(conversation, None)?;
        // What the conversation holds as secret is known from here on.
        let vault = self.runner.vault(held.log.secrets());
        match self.recorded(conversation, &held, (key, &words), &vault) {
            Ok(None) => {}
            Ok(Some(recorded)) => return self.go_on(&entered, held, recorded),
            Err(why) => {
                self.abandon(conversation, held);
                return Err(why);
            }
        }
        let turn = vault.clean_turn(Turn { text: vault.said(words).as_str().to_owned(), ..turn });
        let Held { step, log } = held;
        let log = log.telling(turn.trace.as_deref());
        match step {
            Some(step) if step.is_at_rest() => self.feed(&entered, step, log, turn.received()),
            Some(step) => self.feed(&entered, step, log.resuming(), turn.received()),
            None => match self.open(conversation, &log, &turn) {
                Ok(step) => self.drive(&entered, step, log),
                Err(why) => {
                    self.give_back(conversation, &log.into_end());
                    Err(why)
                }
            },
        }
    }

    /// Goes on with a conversation where its records end. One that has ended, or waits for a person, is told as it stands;
    /// one that ended since a model could not be asked is tried again from there.
    ///
    /// # Errors
    /// [`DurableError::Unknown`] when nobody has spoken in it; else as of [`submit`](Self::submit).
    pub fn resume(&self, conversation: &str) -> Result<Settled, DurableError> {
        let entered = self.rooms.enter(conversation)?;
        let found = self.read(conversation)?;
        let at_rest = found.1.step().filter(|step| step.is_at_rest() && !has_failed(step));
        if let (Some(step), false) = (at_rest, is_owed(&found)) {
            return Ok(Settled::of(step.clone()));
        }
        let (step, log) = self.hold_begun(conversation, Some(found))?;
        match has_failed(&step) {
            true => self.feed(&entered, step, log, InputKind::Retried),
            false => self.drive(&entered, step, log),
        }
    }

    /// Takes a person's answer to a question and goes on. `seen` is the [digest](sommelier_handoff::Question::digest) of the
    /// question that the person was shown, where it is known: an answer to another one is not taken. `by` is who answered.
    ///
    /// # Errors
    /// [`DurableError::Rejected`] when the answer cannot be taken: nothing of it is on record; else as of
    /// [`submit`](Self::submit).
    pub fn answer(
        &self,
        conversation: &str,
        id: &str,
        answer: Answer,
        seen: Option<&str>,
        by: Option<&str>,
    ) -> Result<Settled, DurableError> {
        let entered = self.rooms.enter(conversation)?;
        let what = InputKind::HumanAnswered { id: id.into(), answer, by: by.map(Into::into) };
        let what = self.clean(conversation, what)?;
        let found = self.would_take(conversation, &what)?;
        let (step, log) = self.hold_begun(conversation, found)?;
        let shown = step.questions().into_iter().find(|(_, question)| *question.id == *id);
        let digest = shown.map(|(_, question)| question.digest());
        if let (Some(seen), Some(digest)) = (seen, digest)
            && *seen != *digest
        {
            let (id, seen, found) = (id.to_owned(), seen.to_owned(), digest.into());
            self.let_go(conversation, step, log);
            return Err(DurableError::OtherQuestion { id, seen, found });
        }
        self.feed(&entered, step, log, what)
    }

    /// Calls a conversation off, where it stands. One that is driven here ends before its next step, and this waits for
    /// it; when it had its answer by then, that stands, and is what is told. One that has ended is told as it stands.
    ///
    /// # Errors
    /// As of [`resume`](Self::resume).
    pub fn cancel(&self, conversation: &str, reason: &str) -> Result<Settled, DurableError> {
        if self.rooms.is_inside(conversation) {
            return Err(DurableError::Inside { conversation: conversation.to_owned() });
        }
        self.rooms.tell(conversation, |mailbox| mailbox.cancel(reason));
        let entered = self.rooms.enter(conversation)?;
        let found = self.read(conversation)?;
        if let (Some(step @ Step::Done(_)), false) = (found.1.step(), is_owed(&found)) {
            return Ok(Settled::of(step.clone()));
        }
        let (step, log) = self.hold_begun(conversation, Some(found))?;
        if let Step::Done(_) = step {
            let settled = Settled::of(step.clone());
            return self.tell_settled(&entered, (step, log), settled);
        }
        let begun = log.chronicle(|told| told.begun().next().is_some());
        let reason = self.runner.vault(log.secrets()).words(reason);
        self.feed(&entered, step, log, InputKind::Cancelled { reason: reason.into(), begun })
    }

    /// Gives an input of another kind to a conversation and goes on: a tool that is switched off, an artifact, more of a
    /// budget, a retry.
    ///
    /// # Errors
    /// [`DurableError::Rejected`] when it does not fit where the run stands; else as of [`resume`](Self::resume).
    pub fn give(&self, conversation: &str, what: InputKind) -> Result<Settled, DurableError> {
        let entered = self.rooms.enter(conversation)?;
        let what = self.clean(conversation, what)?;
        let found = self.would_take(conversation, &what)?;
        let (step, log) = self.hold_begun(conversation, found)?;
        self.feed(&entered, step, log, what)
    }

    /// Speaks to a conversation that is being driven by another thread: what it says the agent reads at its next model
    /// call, and what calls it off ends it before its next step. Nothing happens where none is driven here; whether one
    /// was is told.
    pub fn tell(&self, conversation: &str, tell: impl FnOnce(&Mailbox)) -> bool {
        self.rooms.tell(conversation, tell)
    }

    /// Where a conversation stands, by its records alone. It needs no lease, and changes nothing.
    ///
    /// # Errors
    /// [`DurableError::Journal`] when the records cannot be read or are damaged; [`DurableError::Diverged`] when they are not
    /// those of this definition.
    pub fn look(&self, conversation: &str) -> Result<Replay<'a>, DurableError> {
        Ok(self.read(conversation)?.1)
    }

    /// An input from outside without what must not be kept: no secret of the conversation that is known here, and nothing that the
    /// redactor takes out.
    fn clean(&self, conversation: &str, what: InputKind) -> Result<InputKind, DurableError> {
        let kept = self.kept();
        let known = kept.get(conversation);
        let secrets = known.map(|kept| kept.end.secrets.clone()).unwrap_or_default();
        let active = known.map(|kept| kept.step.run().active().clone());
        drop(kept);
        let agent = match (active, &what) {
            // Which arguments of a reply are secret, the tools of its agent say.
            (None, InputKind::ModelResponded { .. }) => {
                self.read(conversation)?.1.step().map(|step| step.run().active().clone())
            }
            (active, _) => active,
        };
        let agent = agent.and_then(|agent| self.relay.agent(agent.as_str()));
        let cleaned = self.runner.vault(secrets).input(agent, what);
        cleaned.ok_or_else(|| DurableError::secret_key(conversation))
    }

    /// Finds out whether the conversation takes an input where its records end, and gives what was read for it. One that does
    /// not take it keeps no trace of it, not even of a lease; but what its records owe is written, whatever comes of the input.
    fn would_take(&self, conversation: &str, what: &InputKind) -> Result<Option<Found<'a>>, DurableError> {
        if self.kept().contains_key(conversation) {
            return Ok(None);
        }
        let found = self.read(conversation)?;
        let step = found.1.step().cloned().ok_or_else(|| DurableError::Unknown(conversation.to_owned()))?;
        if is_owed(&found) {
            return Ok(Some(found));
        }
        let input = self.input(&step, what.clone());
        step.feed(self.relay, &input).map_err(DurableError::refused)?;
        Ok(Some(found))
    }

    /// The turn that is on record under this key.
    ///
    /// # Errors
    /// [`DurableError::KeyReused`] when it has other words, [`DurableError::SecretKey`] when there is none and the key is not to
    /// be kept.
    fn recorded(
        &self,
        conversation: &str,
        held: &Held<'_>,
        (key, words): (Option<&str>, &Words),
        vault: &Vault<'_>,
    ) -> Result<Option<TurnOnRecord>, DurableError> {
        let Some(key) = key else { return Ok(None) };
        let recorded = held.log.chronicle(|told| told.turn(key).cloned());
        match recorded {
            Some(recorded) if !vault.is_on_record(&recorded.text, words) => {
                let found = vault.said(words.clone());
                Err(DurableError::key_reused(conversation, key, &recorded.text, found.as_str()))
            }
            None if vault.refuses_key(key) => Err(DurableError::secret_key(conversation)),
            recorded => Ok(recorded),
        }
    }

    /// The turn is on record: its answer is given again, or what it was interrupted in is gone on with.
    fn go_on(
        &self,
        entered: &Entered<'_>,
        held: Held<'_>,
        recorded: TurnOnRecord,
    ) -> Result<Settled, DurableError> {
        let Held { step, log } = held;
        let Some(step) = step else { return Err(DurableError::Unknown(entered.name().to_owned())) };
        let settled = match recorded.closed {
            Some(closed) => Settled::Recorded(closed),
            None if step.is_at_rest() => Settled::of(step.clone()),
            None => return self.drive(entered, step, log.resuming()),
        };
        self.tell_settled(entered, (step, log), settled)
    }

    /// Tells what is settled. What closes the turn is on record before anybody is told.
    fn tell_settled(
        &self,
        entered: &Entered<'_>,
        (step, log): (Step, Log<'_>),
        settled: Settled,
    ) -> Result<Settled, DurableError> {
        if let Err(why) = log.flush() {
            self.give_back(entered.name(), &log.into_end());
            return Err(RunError::Unkept(why).into());
        }
        self.let_go(entered.name(), step, log);
        Ok(settled)
    }

    /// Begins a conversation. What opens it and the user's first words are one batch.
    fn open(&self, conversation: &str, log: &Log<'_>, turn: &Turn) -> Result<Step, DurableError> {
        let at = self.runner.now();
        let agent = log.opened_at().map(AgentName::as_str).or(turn.at.as_deref());
        let agent = agent.unwrap_or(self.relay.entry().as_str());
        let step = self.relay.start_at(agent, conversation, turn.text.as_str()).map_err(RunError::from)?;
        if log.opened_at().is_none() {
            let definition = self.relay.definition_id().into();
            let what = InputKind::Opened { definition, agent: step.run().active().clone() };
            log.note(&Input { run: conversation.into(), at, what });
        }
        log.note(&Input { run: conversation.into(), at, what: turn.received() });
        Ok(step)
    }

    /// Takes the lease of a conversation in which somebody has spoken.
    fn hold_begun(
        &self,
        conversation: &str,
        found: Option<Found<'a>>,
    ) -> Result<(Step, Log<'a>), DurableError> {
        match self.hold(conversation, found)? {
            Held { step: Some(step), log } => Ok((step, log.resuming())),
            held => {
                self.abandon(conversation, held);
                Err(DurableError::Unknown(conversation.to_owned()))
            }
        }
    }

    /// Takes the lease of a conversation and reads where it stands, where that is not known here and was not `found` just
    /// now.
    fn hold(&self, conversation: &str, found: Option<Found<'a>>) -> Result<Held<'a>, DurableError> {
        let mut kept = self.kept().remove(conversation);
        let is_ours =
            |kept: &mut Kept| kept.end.renewed.elapsed().as_millis() * 10 < u128::from(self.term) * 7;
        if let Some(Kept { step, end }) = kept.take_if(is_ours) {
            return Ok(Held { step: Some(step), log: self.log(conversation, end, None) });
        }
        // What is damaged or does not follow is found before anything is written to it.
        let read = match found {
            None if kept.is_none() => Some(self.read(conversation)?),
            found => found,
        };
        let renewed = Instant::now();
        let lease = match self.journal.take_lease(conversation, &self.owner, self.runner.now(), self.term) {
            Err(JournalError::Held { owner, until }) => {
                return Err(DurableError::Held { conversation: conversation.to_owned(), owner, until });
            }
            lease => lease?,
        };
        // Whoever has driven it meanwhile, what is secret in it is so.
        let secrets = kept.as_ref().map(|kept| kept.end.secrets.clone()).unwrap_or_default();
        if let Some(Kept { step, end }) = kept.filter(|kept| follows(&lease, &kept.end)) {
            let (seq, epoch, head) = (lease.head.seq, lease.epoch, Some(lease.head));
            return Ok(Held {
                step: Some(step),
                log: self.log(conversation, End { seq, epoch, head, renewed, ..end }, None),
            });
        }
        // Somebody may have written until the lease was taken.
        let replay = match read.filter(|(last, _)| last.saturating_add(1) == lease.head.seq) {
            Some((_, replay)) => replay,
            None => match self.read_again(conversation, &lease) {
                Ok(replay) => replay,
                Err(why) => {
                    self.end_lease(conversation, lease.epoch);
                    return Err(why);
                }
            },
        };
        let (opened_at, owed) = (replay.opened_at().cloned(), replay.owed().collect::<Vec<_>>());
        let (seq, epoch, head) = (lease.head.seq, lease.epoch, Some(lease.head));
        let (step, chronicle) = replay.into_parts();
        let log = self.log(conversation, End { seq, epoch, chronicle, renewed, head, secrets }, opened_at);
        log.owe(owed);
        Ok(Held { step, log })
    }

    /// The number of the last record, and where the conversation stands by it.
    fn read(&self, conversation: &str) -> Result<Found<'a>, DurableError> {
        let records = self.journal.load(conversation, 1)?;
        let last = records.last().map_or(0, |record| record.seq);
        Ok((last, replay(self.relay, conversation, &records)?))
    }

    /// Where the conversation stands, after its lease was taken. There is the record of the lease at least.
    fn read_again(&self, conversation: &str, lease: &Lease) -> Result<Replay<'a>, DurableError> {
        let (last, replay) = self.read(conversation)?;
        if last < lease.head.seq {
            let end =
                format!("{conversation:?} ends at {last}, and its lease is in record {}", lease.head.seq);
            return Err(JournalError::Broken(end).into());
        }
        Ok(replay)
    }

    /// Lets go of a conversation in which nothing was done.
    fn abandon(&self, conversation: &str, held: Held<'_>) {
        match held.step {
            Some(step) => self.let_go(conversation, step, held.log),
            None => self.give_back(conversation, &held.log.into_end()),
        }
    }

    fn log(&self, conversation: &str, end: End, opened_at: Option<AgentName>) -> Log<'a> {
        Log::new(self.journal, conversation, self.term, end, opened_at)
    }

    /// Gives the run an input and drives it on. One that it does not take is not on record.
    fn feed(
        &self,
        entered: &Entered<'_>,
        step: Step,
        log: Log<'_>,
        what: InputKind,
    ) -> Result<Settled, DurableError> {
        let input = self.input(&step, what);
        let answered = match &input.what {
            InputKind::HumanAnswered { id, answer, .. } => Answered::of(&step, id, answer),
            _ => None,
        };
        let waiting_words = match &input.what {
            InputKind::TurnReceived { text, .. } if !step.questions().is_empty() => Some(text.clone()),
            _ => None,
        };
        match log.feed(self.relay, step, &input) {
            Ok(step) => self.drive(entered, step, log.answering(answered).hearing(waiting_words)),
            Err((step, misfit)) => {
                self.let_go(entered.name(), *step, log);
                Err(DurableError::refused(misfit))
            }
        }
    }

    /// What came now: an answer for the run that has asked, which may be a branch, and all else for the run at the root.
    fn input(&self, step: &Step, what: InputKind) -> Input {
        let asked_in = match &what {
            InputKind::HumanAnswered { id, .. } => {
                step.questions().into_iter().find(|(_, question)| question.id == *id)
            }
            _ => None,
        };
        let run = asked_in.map_or(step.run(), |(run, _)| run).conversation().into();
        Input { run, at: self.runner.now(), what }
    }

    /// Drives a step with a record of all that happens, and lets go of the conversation.
    fn drive(&self, entered: &Entered<'_>, step: Step, log: Log<'_>) -> Result<Settled, DurableError> {
        let mailbox = entered.mailbox();
        let outcome = heart::beating(
            &log,
            self.term,
            || self.runner.now(),
            || {
                let vault = self.runner.vault(log.secrets());
                let (signals, answered) = (Signals::of(mailbox), log.answered());
                let around = Around { signals, log: Some(&log), vault: &vault, answered };
                self.runner.drive_around(self.relay, step, &around)
            },
        );
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(why) => {
                // Nothing more is written here, so nobody need wait.
                self.give_back(entered.name(), &log.into_end());
                return Err(why.into());
            }
        };
        let step = match &outcome {
            Outcome::Ended(report) => Step::Done(report.done().clone()),
            Outcome::Waiting(parked) => parked.step().clone(),
        };
        self.let_go(entered.name(), step, log);
        Ok(Settled::from(outcome))
    }

    /// Keeps what is known of a conversation for its next turn. Its lease runs out by itself, or is
    /// [given back](Self::release).
    fn let_go(&self, conversation: &str, step: Step, log: Log<'_>) {
        // What follows from the records and is not among them yet; where it cannot be written, all is read again.
        if log.flush().is_err() {
            self.give_back(conversation, &log.into_end());
            return;
        }
        let end = log.into_end();
        let mut kept = self.kept();
        while kept.len() >= MOST_KEPT {
            let oldest = kept.iter().min_by_key(|(_, kept)| kept.end.renewed).map(|(name, _)| name.clone());
            let Some(oldest) = oldest else { break };
            if let Some(Kept { end, .. }) = kept.remove(&oldest) {
                self.give_back(&oldest, &end);
            }
        }
        kept.insert(conversation.to_owned(), Kept { step, end });
    }

    /// Gives the lease of a conversation back, so that another process need not wait for it to run out. Where the next turn
    /// may come to another process, this is for the end of each; where it comes to the same one, the lease and the state in
    /// memory save it a commit and a replay. Nothing happens to a conversation that is just being driven. Dropping the driver
    /// gives all leases back.
    pub fn release(&self, conversation: &str) {
        let kept = self.kept().remove(conversation);
        if let Some(Kept { end, .. }) = kept {
            self.give_back(conversation, &end);
        }
    }

    /// Ends the lease that another process has of a conversation, and tells which it was; `None` where none has one. It is
    /// for a person who will not wait: the process is known to be dead, its clock was ahead so that its lease runs for years,
    /// or it is to be stopped. Whoever takes the lease next is the owner, and what the other one still writes is refused: two
    /// never write, and what it was about to do is in doubt as after a crash. A process that lives and writes has its lease
    /// back with its next record, so what is wanted of the conversation is to follow at once.
    ///
    /// # Errors
    /// [`DurableError::Journal`] when the journal cannot be read or written.
    pub fn evict(&self, conversation: &str) -> Result<Option<Lease>, DurableError> {
        let now = self.runner.now();
        let lease = self.journal.lease(conversation)?;
        let Some(lease) = lease.filter(|lease| lease.owner != self.owner && now < lease.until) else {
            return Ok(None);
        };
        self.journal.renew_lease(conversation, lease.epoch, now, 0)?;
        Ok(Some(lease))
    }

    fn give_back(&self, conversation: &str, end: &End) {
        self.end_lease(conversation, end.epoch);
    }

    fn end_lease(&self, conversation: &str, epoch: Epoch) {
        // Where it fails, the lease runs out.
        let _ = self.journal.renew_lease(conversation, epoch, self.runner.now(), 0);
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<String, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives all leases back.
impl Drop for DurableRunner<'_> {
    fn drop(&mut self) {
        let kept = std::mem::take(&mut *self.kept());
        for (conversation, Kept { end, .. }) in kept {
            self.give_back(&conversation, &end);
        }
    }
}

impl fmt::Debug for DurableRunner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DurableRunner")
            .field("owner", &self.owner)
            .field("term", &self.term)
            .finish_non_exhaustive()
    }
}

/// A name that ends like the path of a branch would share keys and ids with a branch of another conversation.
fn check_name(conversation: &str) -> Result<(), DurableError> {
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = conversation.rsplit('/').take_while(is_number).count();
    if numbers < 3 { Ok(()) } else { Err(DurableError::Name(conversation.to_owned())) }
}

/// Whether nobody has written between these records and the lease.
fn follows(lease: &Lease, end: &End) -> bool {
    lease.head.seq == end.seq.saturating_add(1) && lease.epoch == end.epoch.next()
}

/// Whether something follows from the records that is not among them, as where a process has ended in between.
fn is_owed((_, replay): &Found<'_>) -> bool {
    replay.owed().next().is_some()
}

/// Whether the run ended since a model could not be asked.
fn has_failed(step: &Step) -> bool {
    matches!(step, Step::Done(done) if matches!(done.end(), RunEnd::Failed { .. }))
}

/// A name that no other process has.
fn owner() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let chance = crate::runner::by_chance();
    format!("process-{}-{}-{chance:016x}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}
