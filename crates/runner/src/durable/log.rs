//! The writing down of a run while it is driven: decide, record, act, record, answer.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sommelier_handoff::{
    AgentName, Announced, CallModel, CallTools, Chronicle, ENTRY_VERSION, Effect, HandOff, Input, InputKind,
    Millis, Relay, Step, Unfed,
};
use sommelier_runtime::ToolOutput;

use crate::journal::{Epoch, Event, Head, Journal, JournalError, Undone};
use crate::secrets::Secrets;

/// The records of one conversation, as they are written. What follows from an input is written with it, in one batch;
/// and a batch is on disk before anything is done outside.
pub(crate) struct Log<'j> {
    journal: &'j dyn Journal,
    conversation: Box<str>,
    /// How long a lease runs.
    term: Duration,
    /// The caller's name for the trace of a turn that is gone on with.
    resumed: Option<Box<str>>,
    /// The agent at which the conversation was opened, where nobody has spoken in it yet.
    opened_at: Option<AgentName>,
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
        let inside = Inside { seq, epoch, head, pending: Vec::new(), chronicle, renewed, stopped: None };
        let term = Duration::from_millis(term);
        let conversation = conversation.into();
        Self { journal, conversation, term, resumed: None, opened_at, secrets, inside: Mutex::new(inside) }
    }

    /// The agent at which the conversation was opened, where nobody has spoken in it yet.
    pub(crate) fn opened_at(&self) -> Option<&AgentName> {
        self.opened_at.as_ref()
    }

    /// Keeps an input that begins the run.
    pub(crate) fn note(&self, input: &Input) {
        self.lock().note(input);
    }

    /// A run is gone on with that was told in this trace.
    pub(crate) fn resuming(self, trace: Option<Box<str>>) -> Self {
        Self { resumed: trace, ..self }
    }

    /// The caller's name for the trace of a turn that is gone on with.
    pub(crate) fn resumed(&self) -> Option<&str> {
        self.resumed.as_deref()
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
        let (step, told) = fed(relay, step, input)?;
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
        let (step, told) = fed(relay, step, input)?;
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
        self.write(inside)
    }

    /// Writes down that tools are about to run, all of them in one batch.
    pub(crate) fn intend_calls(
        &self,
        relay: &Relay,
        calls: &CallTools,
        places: &[usize],
        at: Millis,
    ) -> Result<(), JournalError> {
        let mut inside = self.lock();
        for place in places {
            let Some(what) = calls.intent(relay, *place, &inside.chronicle) else { continue };
            inside
                .announce(&self.conversation, Announced { run: calls.run().conversation().into(), at, what });
        }
        self.write(inside)
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
        if others_work || inside.stopped.is_some() { self.write(inside) } else { Ok(()) }
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
        let inside = self.lock();
        let mut inside = self.written(inside)?;
        let mut said = None;
        let mut events = |transaction: &dyn std::any::Any| {
            let Worked { output, keeps } = work(transaction);
            let what = InputKind::tool_output(place, output.clone());
            let input = Input { run: run.into(), at, what };
            said = Some((output, input.clone(), keeps));
            if keeps { Ok(vec![event_of(&input).map_err(|_| Undone)?]) } else { Err(Undone) }
        };
        let appended = self.journal.append_with(&self.conversation, inside.seq, inside.epoch, &mut events);
        match (appended, said) {
            (Ok(appended), Some((output, input, _))) => {
                inside.wrote(appended.head());
                inside.chronicle.note_input(&input);
                Ok(output)
            }
            // Where the database has undone what was to stay, nothing is known but that it is not there.
            (Err(JournalError::Undone), Some((output, input, false))) => {
                // Nothing of it has happened, and that is on record.
                inside.note(&input);
                Ok(output)
            }
            (Err(why), _) => Err(inside.stop(why)),
            (Ok(_), None) => Err(inside.stop(JournalError::Broken("no work was done".to_owned()))),
        }
    }

    /// Writes what is kept. Before anything is done outside.
    pub(crate) fn flush(&self) -> Result<(), JournalError> {
        self.write(self.lock())
    }

    fn write(&self, inside: MutexGuard<'_, Inside>) -> Result<(), JournalError> {
        self.written(inside).map(drop)
    }

    fn written<'a>(
        &self,
        mut inside: MutexGuard<'a, Inside>,
    ) -> Result<MutexGuard<'a, Inside>, JournalError> {
        if let Some(why) = inside.stopped.clone() {
            // A lease that is renewed beside the work is where a worker may learn first that it has lost it.
            if let JournalError::Fenced(_) = why {
                self.keep_late(&mut inside);
            }
            return Err(why);
        }
        if inside.pending.is_empty() {
            return Ok(inside);
        }
        let before = Instant::now();
        match self.journal.append(&self.conversation, inside.seq, inside.epoch, &inside.pending) {
            Ok(appended) => {
                inside.pending.clear();
                inside.renewed = before;
                inside.wrote(appended.head());
                Ok(inside)
            }
            Err(why) => {
                if let JournalError::Fenced(_) = why {
                    self.keep_late(&mut inside);
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

impl Inside {
    fn note(&mut self, input: &Input) {
        self.chronicle.note_input(input);
        self.keep(input.what.name(), input.at, input.body());
    }

    fn announce(&mut self, conversation: &str, told: Announced) {
        self.chronicle.note_announced(conversation, &told);
        self.keep(told.what.name(), told.at, told.body());
    }

    fn announce_all(&mut self, conversation: &str, told: impl IntoIterator<Item = Announced>) {
        told.into_iter().for_each(|told| self.announce(conversation, told));
    }

    fn keep(&mut self, kind: &str, at: Millis, body: serde_json::Result<String>) {
        match event(kind, at, body) {
            Ok(event) => self.pending.push(event),
            // What cannot be written down must not be acted upon.
            Err(why) => {
                self.stop(JournalError::Broken(format!("{kind} cannot be written down: {why}")));
            }
        }
    }

    fn wrote(&mut self, head: Head) {
        self.seq = head.seq;
        self.head = Some(head);
    }

    fn stop(&mut self, why: JournalError) -> JournalError {
        self.stopped.get_or_insert(why).clone()
    }
}

/// The step after an input, and what follows from it.
fn fed(relay: &Relay, step: Step, input: &Input) -> Result<(Step, Vec<Announced>), Unfed> {
    let before = step.glimpse();
    let step = step.feed_or_keep(relay, input)?;
    let told = step.announced_since(&before, input);
    Ok((step, told))
}

fn event_of(input: &Input) -> Result<Event, String> {
    event(input.what.name(), input.at, input.body())
}

fn event(kind: &str, at: Millis, body: serde_json::Result<String>) -> Result<Event, String> {
    let body = body.map_err(|error| error.to_string())?;
    Event::new(kind, ENTRY_VERSION, at, body).map_err(|error| error.to_string())
}
