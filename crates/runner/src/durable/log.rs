//! The writing down of a run while it is driven: decide, record, act, record, answer.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sommelier_handoff::{
    AgentName, Announced, Announcement, CallModel, CallTools, Chronicle, ENTRY_VERSION, Effect, HandOff,
    Input, InputKind, Millis, Relay, Step, Unfed,
};
use sommelier_runtime::ToolOutput;

use crate::answered::Answered;
use crate::journal::{Claim, Epoch, Event, Head, Journal, JournalError, Undone};
use crate::secrets::Secrets;
use crate::spans::Told;

/// The records of one conversation, as they are written. What follows from an input is written with it, in one batch;
/// and a batch is on disk before anything is done outside.
pub(crate) struct Log<'j> {
    journal: &'j dyn Journal,
    conversation: Box<str>,
    /// How long a lease runs.
    term: Duration,
    /// The caller's name for the trace in which the run is told from here on, where a turn has one of its own.
    trace: Option<Box<str>>,
    /// That of a turn that is gone on with.
    resumed: Option<Box<str>>,
    /// The agent at which the conversation was opened, where nobody has spoken in it yet.
    opened_at: Option<AgentName>,
    /// What a person has just answered.
    answered: Option<Answered>,
    /// What the user has just said while a question was open.
    waiting_words: Option<Box<str>>,
    /// What is not written down.
    secrets: Secrets,
    inside: Mutex<Inside>,
}

struct Inside {
    seq: u64,
    epoch: Epoch,
    head: Option<Head>,
    pending: Vec<Event>,
    chronicle: Chronicle,
    /// What the conversation has claimed, with what is pending.
    claims: BTreeSet<String>,
    /// When the lease was renewed last, by a clock that nobody sets.
    renewed: Instant,
    /// Why nothing is written any more.
    stopped: Option<JournalError>,
}

/// Where a conversation's records end, and what they say.
pub(crate) struct End {
    pub(crate) seq: u64,
    pub(crate) epoch: Epoch,
    pub(crate) chronicle: Chronicle,
    pub(crate) renewed: Instant,
    pub(crate) head: Option<Head>,
    /// What of it is in no record.
    pub(crate) secrets: Secrets,
}

impl<'j> Log<'j> {
    pub(crate) fn new(
        journal: &'j dyn Journal,
        conversation: &str,
        term: Millis,
        end: End,
        opened_at: Option<AgentName>,
    ) -> Self {
        let End { seq, epoch, chronicle, renewed, head, secrets } = end;
        let claims = chronicle.claims();
        let pending = Vec::new();
        let inside = Inside { seq, epoch, head, pending, chronicle, claims, renewed, stopped: None };
        let term = Duration::from_millis(term);
        let conversation = conversation.into();
        Self {
            journal,
            conversation,
            term,
            trace: None,
            resumed: None,
            opened_at,
            answered: None,
            waiting_words: None,
            secrets,
            inside: Mutex::new(inside),
        }
    }

    /// The agent at which the conversation was opened, where nobody has spoken in it yet.
    pub(crate) fn opened_at(&self) -> Option<&AgentName> {
        self.opened_at.as_ref()
    }

    /// Keeps an input that begins the run.
    pub(crate) fn note(&self, input: &Input) {
        self.lock().note(input);
    }

    /// A turn is told that the caller has such a trace for.
    pub(crate) fn telling(self, trace: Option<&str>) -> Self {
        Self { trace: trace.map(Into::into), ..self }
    }

    /// A turn is gone on with: its trace is the one that the records name.
    pub(crate) fn resuming(self) -> Self {
        let resumed = self.chronicle(|told| told.turns().last().and_then(|turn| turn.trace.clone()));
        Self { resumed, ..self }
    }

    /// A run goes on with what a person has answered.
    pub(crate) fn answering(self, answered: Option<Answered>) -> Self {
        Self { answered, ..self }
    }

    /// What a person has answered that is gone on with.
    pub(crate) fn answered(&self) -> Option<&Answered> {
        self.answered.as_ref()
    }

    /// The user has said something while a question was open: no answer to it, and read when there is one.
    pub(crate) fn hearing(self, waiting_words: Option<Box<str>>) -> Self {
        Self { waiting_words, ..self }
    }

    /// What the user has just said while a question was open.
    pub(crate) fn waiting_words(&self) -> Option<&str> {
        self.waiting_words.as_deref()
    }

    /// The caller's names for the traces of what is driven now.
    pub(crate) fn told(&self) -> Told<'_> {
        Told { trace: self.trace.as_deref(), resumed: self.resumed.as_deref() }
    }

    pub(crate) fn into_end(self) -> End {
        let inside = self.inside.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Inside { seq, epoch, head, chronicle, renewed, .. } = inside;
        End { seq, epoch, chronicle, renewed, head, secrets: self.secrets }
    }

    /// What is in no record.
    pub(crate) fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }

    /// Nothing runs under the lock that could panic and leave it half-way, but a tool in a transaction; and after that
    /// nothing of it is there.
    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks what the records say.
    pub(crate) fn chronicle<T>(&self, ask: impl FnOnce(&Chronicle) -> T) -> T {
        ask(&self.lock().chronicle)
    }

    /// Has the step take an input, and keeps both the input and what follows from it. An input that the step does not take
    /// is not kept.
    pub(crate) fn feed(&self, relay: &Relay, step: Step, input: &Input) -> Result<Step, Unfed> {
        let (step, told) = step.feed_and_tell(relay, input)?;
        let mut inside = self.lock();
        inside.note(input);
        inside.announce_all(&self.conversation, told);
        Ok(step)
    }

    /// As [`feed`](Self::feed), at the run at the root of the step.
    pub(crate) fn feed_at(
        &self,
        relay: &Relay,
        step: Step,
        what: InputKind,
        at: Millis,
    ) -> Result<Step, Unfed> {
        let run = step.run().conversation().into();
        self.feed(relay, step, &Input { run, at, what })
    }

    /// As [`feed`](Self::feed), for an input that is kept already: what follows from it is kept.
    pub(crate) fn follow(&self, relay: &Relay, step: Step, input: &Input) -> Result<Step, Unfed> {
        let (step, told) = step.feed_and_tell(relay, input)?;
        self.lock().announce_all(&self.conversation, told);
        Ok(step)
    }

    /// Takes a handoff. Its record, with the package, is the transfer of control, and is on disk before the receiver is
    /// asked anything.
    pub(crate) fn take(&self, relay: &Relay, handoff: HandOff, at: Millis) -> Result<Step, Unfed> {
        let what = match handoff.stands(relay, at) {
            true => InputKind::HandoffCommitted { hop: Box::new(handoff.hop_at(at)) },
            false => InputKind::HandoffReconsidered,
        };
        self.feed_at(relay, Step::HandOff(handoff), what, at)
    }

    /// Keeps what follows from records that were read and is not among them.
    pub(crate) fn owe(&self, told: impl IntoIterator<Item = Announced>) {
        self.lock().announce_all(&self.conversation, told);
    }

    /// Writes down that a model is about to be asked.
    pub(crate) fn intend_request(
        &self,
        relay: &Relay,
        call: &CallModel,
        at: Millis,
    ) -> Result<(), JournalError> {
        let mut inside = self.lock();
        let run = call.run().conversation();
        let attempt = inside.chronicle.attempts(run, call.number()).saturating_add(1);
        let what = call.intent(relay, attempt);
        inside.announce(&self.conversation, Announced { run: run.into(), at, what });
        self.write(&mut inside)
    }

    /// Writes down that tools are about to run, all of them in one batch. Where another conversation has begun one of these
    /// effects meanwhile ([`JournalError::Claimed`]) none of them is begun, and all is as it was.
    pub(crate) fn intend_calls(
        &self,
        relay: &Relay,
        calls: &CallTools,
        places: &[usize],
        at: Millis,
    ) -> Result<(), JournalError> {
        let mut inside = self.lock();
        let run = calls.run().conversation();
        let intents: Vec<(Announced, bool)> = places
            .iter()
            .filter_map(|place| {
                let what = calls.intent(relay, *place, &inside.chronicle)?;
                Some((Announced { run: run.into(), at, what }, calls.may_repeat(*place)))
            })
            .collect();
        // Without a name to be taken there is nothing to go back to.
        let before = intents.iter().any(|(told, _)| may_claim(&told.what)).then(|| inside.mark());
        for (told, takes_over) in intents {
            inside.intend(&self.conversation, told, takes_over);
        }
        let written = self.write(&mut inside);
        if let (Err(JournalError::Claimed { .. }), Some(before)) = (&written, before) {
            inside.back_to(before);
        }
        written
    }

    /// The conversation that has this name, where it is another one.
    pub(crate) fn claimed_elsewhere(&self, name: &str) -> Result<Option<String>, JournalError> {
        Ok(self.journal.claimed(name)?.filter(|by| **by != *self.conversation))
    }

    /// The call that was begun at this place and has no outcome on record.
    pub(crate) fn begun(&self, run: &str, place: usize) -> Option<Effect> {
        self.lock().chronicle.begun_at(run, place).cloned()
    }

    /// Whether any call of the run may be at work.
    pub(crate) fn is_any_begun(&self, run: &str) -> bool {
        self.lock().chronicle.is_any_begun(run)
    }

    /// Keeps what a tool has said, at once where others of its reply are still at work: what is done is not to be lost while
    /// they go on. The last one is written with what follows from it.
    pub(crate) fn completed(&self, input: &Input, others_work: bool) -> Result<(), JournalError> {
        let mut inside = self.lock();
        inside.note(input);
        if others_work || inside.stopped.is_some() { self.write(&mut inside) } else { Ok(()) }
    }

    /// Runs a tool and writes down what it said in one transaction: what it has written and the record are both there, or
    /// both absent.
    pub(crate) fn transact(
        &self,
        run: &str,
        place: usize,
        at: Millis,
        work: &mut dyn FnMut(&dyn std::any::Any) -> Worked,
    ) -> Result<ToolOutput, JournalError> {
        let mut inside = self.lock();
        self.write(&mut inside)?;
        let mut said = None;
        let mut events = |transaction: &dyn std::any::Any| {
            let Worked { output, keeps } = work(transaction);
            let what = InputKind::tool_output(place, output.clone());
            let input = Input { run: run.into(), at, what };
            let event = event_of(&input).map(|event| event.claiming(inside.claims_after(&input)));
            said = Some((output, input, keeps));
            if keeps { Ok(vec![event.map_err(|_| Undone)?]) } else { Err(Undone) }
        };
        let appended = self.journal.append_with(&self.conversation, inside.seq, inside.epoch, &mut events);
        match (appended, said) {
            (Ok(appended), Some((output, input, _))) => {
                inside.wrote(appended.head(), 1)?;
                inside.chronicle.note_input(&input);
                inside.claims = inside.chronicle.claims();
                Ok(output)
            }
            // Where the database has undone what was to stay, nothing is known but that it is not there.
            (Err(JournalError::Undone), Some((output, input, false))) => {
                // Nothing of it has happened, and that is on record.
                inside.note(&input);
                Ok(output)
            }
            (Err(why @ JournalError::Refused(_)), _) => Err(why),
            (Err(why), _) => Err(inside.stop(why)),
            (Ok(_), None) => Err(inside.stop(JournalError::Broken("no work was done".to_owned()))),
        }
    }

    /// Writes what is kept. Before anything is done outside.
    pub(crate) fn flush(&self) -> Result<(), JournalError> {
        self.write(&mut self.lock())
    }

    fn write(&self, inside: &mut Inside) -> Result<(), JournalError> {
        if let Some(why) = inside.stopped.clone() {
            // A lease that is renewed beside the work is where a worker may learn first that it has lost it.
            if let JournalError::Fenced(_) = why {
                self.keep_late(inside);
            }
            return Err(why);
        }
        if inside.pending.is_empty() {
            return Ok(());
        }
        let before = Instant::now();
        match self.journal.append(&self.conversation, inside.seq, inside.epoch, &inside.pending) {
            Ok(appended) => {
                inside.wrote(appended.head(), inside.pending.len())?;
                inside.pending.clear();
                inside.renewed = before;
                Ok(())
            }
            // Nothing was written, and whoever wanted to begin the effect decides anew.
            Err(why @ JournalError::Claimed { .. }) => Err(why),
            Err(why) => {
                if let JournalError::Fenced(_) = why {
                    self.keep_late(inside);
                }
                Err(inside.stop(why))
            }
        }
    }

    /// The results of a worker that has lost its lease change nothing any more. They are kept beside the records, for
    /// people who look; where that cannot be done they look at the remote.
    fn keep_late(&self, inside: &mut Inside) {
        for event in inside.pending.drain(..) {
            if matches!(event.kind(), "tool_completed" | "tool_failed") {
                let _ = self.journal.note_late(&self.conversation, inside.epoch, &event);
            }
        }
    }

    /// Whether the lease has so much time left that an effect may be begun. It is over at the store when somebody else has
    /// taken it, whatever is thought here; this only keeps a worker that was stopped for a while from beginning anything.
    pub(crate) fn assure(&self, now: Millis) -> Result<(), JournalError> {
        let is_fresh = self.lock().renewed.elapsed() * 10 < self.term * 7;
        if is_fresh { Ok(()) } else { self.renew(now) }
    }

    /// Lets the lease run on.
    pub(crate) fn renew(&self, now: Millis) -> Result<(), JournalError> {
        let (epoch, stopped) = {
            let inside = self.lock();
            (inside.epoch, inside.stopped.clone())
        };
        if let Some(why) = stopped {
            return Err(why);
        }
        let before = Instant::now();
        let term = u64::try_from(self.term.as_millis()).unwrap_or(u64::MAX);
        let renewed = self.journal.renew_lease(&self.conversation, epoch, now, term);
        let mut inside = self.lock();
        match renewed {
            Ok(()) => {
                inside.renewed = inside.renewed.max(before);
                Ok(())
            }
            Err(why) => Err(inside.stop(why)),
        }
    }

    /// The epoch that the records are written in: a token for whoever can tell an old worker from a new one.
    pub(crate) fn epoch(&self) -> Epoch {
        self.lock().epoch
    }

    /// Where the records end on disk.
    pub(crate) fn head(&self) -> Option<Head> {
        self.lock().head
    }
}

/// What a tool did inside a transaction.
pub(crate) struct Worked {
    pub(crate) output: ToolOutput,
    /// Whether what it has written is to stay.
    pub(crate) keeps: bool,
}

/// Where what is kept stood once.
struct Mark {
    pending: usize,
    chronicle: Chronicle,
    claims: BTreeSet<String>,
}

/// Whether a name may have to be taken when this is on record.
fn may_claim(what: &Announcement) -> bool {
    matches!(what, Announcement::ToolIntended { business_key: Some(_), per_conversation: false, .. })
}

/// Whether a name may have to be given back when this is on record.
fn may_end_claims(what: &InputKind) -> bool {
    matches!(
        what,
        InputKind::ToolCompleted { .. } | InputKind::ToolFailed { .. } | InputKind::HumanAnswered { .. }
    )
}

/// From the names that are had to those that are to be had.
fn changes(had: &BTreeSet<String>, now: &BTreeSet<String>) -> Vec<Claim> {
    let given = had.difference(now).cloned().map(Claim::GiveBack);
    given.chain(now.difference(had).cloned().map(Claim::Take)).collect()
}

impl Inside {
    fn note(&mut self, input: &Input) {
        self.chronicle.note_input(input);
        let claims = if may_end_claims(&input.what) { self.claim() } else { Vec::new() };
        self.keep(input.what.name(), input.at, input.body(), claims);
    }

    fn announce(&mut self, conversation: &str, told: Announced) {
        self.chronicle.note_announced(conversation, &told);
        self.keep(told.what.name(), told.at, told.body(), Vec::new());
    }

    /// Keeps that a call is to run. It takes the name of its effect over where a person has said that it may be repeated.
    fn intend(&mut self, conversation: &str, told: Announced, takes_over: bool) {
        self.chronicle.note_announced(conversation, &told);
        let over = |claim| match claim {
            Claim::Take(name) if takes_over => Claim::TakeOver(name),
            claim => claim,
        };
        let claims = self.claim().into_iter().map(over).collect();
        self.keep(told.what.name(), told.at, told.body(), claims);
    }

    /// How the names that the conversation has are to change, by what its records say now.
    fn claim(&mut self) -> Vec<Claim> {
        let claims = self.chronicle.claims();
        let changes = changes(&self.claims, &claims);
        self.claims = claims;
        changes
    }

    /// How they are to change when this input is on record.
    fn claims_after(&self, input: &Input) -> Vec<Claim> {
        if self.claims.is_empty() {
            return Vec::new();
        }
        let mut chronicle = self.chronicle.clone();
        chronicle.note_input(input);
        changes(&self.claims, &chronicle.claims())
    }

    fn mark(&self) -> Mark {
        Mark { pending: self.pending.len(), chronicle: self.chronicle.clone(), claims: self.claims.clone() }
    }

    /// As if nothing had been kept since.
    fn back_to(&mut self, mark: Mark) {
        self.pending.truncate(mark.pending);
        self.chronicle = mark.chronicle;
        self.claims = mark.claims;
    }

    fn announce_all(&mut self, conversation: &str, told: impl IntoIterator<Item = Announced>) {
        told.into_iter().for_each(|told| self.announce(conversation, told));
    }

    fn keep(&mut self, kind: &str, at: Millis, body: serde_json::Result<String>, claims: Vec<Claim>) {
        match event(kind, at, body) {
            Ok(event) => self.pending.push(event.claiming(claims)),
            // What cannot be written down must not be acted upon.
            Err(why) => {
                self.stop(JournalError::Broken(format!("{kind} cannot be written down: {why}")));
            }
        }
    }

    /// So many events were written, and the journal says that it ends here. One that ends elsewhere has not written them, or
    /// others besides, and is not believed.
    fn wrote(&mut self, head: Head, events: usize) -> Result<(), JournalError> {
        let end = u64::try_from(events).ok().and_then(|events| self.seq.checked_add(events));
        if end != Some(head.seq) {
            let why = format!(
                "{events} events were written behind {}, and the journal ends at {}",
                self.seq, head.seq
            );
            return Err(self.stop(JournalError::Broken(why)));
        }
        self.seq = head.seq;
        self.head = Some(head);
        Ok(())
    }

    fn stop(&mut self, why: JournalError) -> JournalError {
        self.stopped.get_or_insert(why).clone()
    }
}

fn event_of(input: &Input) -> Result<Event, String> {
    event(input.what.name(), input.at, input.body())
}

fn event(kind: &str, at: Millis, body: serde_json::Result<String>) -> Result<Event, String> {
    let body = body.map_err(|error| error.to_string())?;
    Event::new(kind, ENTRY_VERSION, at, body).map_err(|error| error.to_string())
}
