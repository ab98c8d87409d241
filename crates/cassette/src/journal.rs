//! A cassette from the records of a run.

use sommelier_handoff::{Input, InputKind, Relay, Replay, Step};
use sommelier_runner::durable::replay_seeing;
use sommelier_runner::journal::Record;
use sommelier_runtime::ModelError;

use crate::exchange::{Asked, outcome_of};
use crate::tape::{Tape, parted};
use crate::{Cassette, CassetteError, Redactor, Source};

impl Cassette {
    /// The cassette of a run that is on record: all that models were asked and said in it, as a [recorder](crate::Recorder) of
    /// the whole run would have kept it. The records hold no requests; the run is played again, and each request is the one that
    /// follows.
    ///
    /// What records do not have:
    /// - which model it was, so `source` says it;
    /// - a reply that was lost with the process that got it. It was asked for again, and only what was answered is here;
    /// - what a driver has taken out before it wrote: the values of secrets, and what its redactor hides. A placeholder stands there
    ///   as in a recording whose redactor knows the [secrets of the relay](Redactor::secrets_of). A secret that a model has
    ///   written out in a second call stands there by its handle.
    ///
    /// # Errors
    /// [`CassetteError::Run`] when the records are not those of a run of this relay.
    ///
    /// ```
    /// use sommelier_cassette::{Cassette, Redactor, Source};
    /// use sommelier_handoff::{Agent, Relay};
    /// use sommelier_runner::{DurableRunner, Runner, Turn, journal::Journal};
    /// use sommelier_runtime::{ScriptedModel, script};
    /// use sommelier_store::MemoryStore;
    ///
    /// let relay = Relay::builder().agent(Agent::new("clerk", "You greet.")).entry("clerk").build()?;
    /// let model = ScriptedModel::new().turn("clerk", |_| script::say("Good morning."));
    /// let journal = MemoryStore::new();
    /// let runner = Runner::new(&model);
    /// DurableRunner::new(&runner, &relay, &journal).submit("c", Turn::new("hello"))?;
    ///
    /// let records = journal.load("c", 1)?;
    /// let cassette = Cassette::of_run(&relay, "c", &records, Source::of(&model), &Redactor::new())?;
    /// assert_eq!(cassette.exchanges()[0].outcome().map(|reply| reply.words()), Ok("Good morning.".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_run(
        relay: &Relay,
        conversation: &str,
        records: &[Record],
        source: Source,
        redactor: &Redactor,
    ) -> Result<Self, CassetteError> {
        let mut tape = Tape::default();
        replay_seeing(relay, conversation, records, |replay, input| {
            note(&mut tape, relay, replay, input, redactor);
        })?;
        Ok(tape.cassette(source))
    }
}

/// Notes what a model was asked, where the input is what came of it.
fn note(tape: &mut Tape, relay: &Relay, replay: &Replay<'_>, input: &Input, redactor: &Redactor) {
    let outcome = match &input.what {
        InputKind::ModelResponded { response } => Ok(&**response),
        InputKind::ModelFailed { error } => Err(error),
        _ => return,
    };
    let at = replay.step().and_then(|step| step.at(relay, &input.run));
    let Some((relay, Step::CallModel(call))) = at else { return };
    let request = call.request(relay);
    let (asked, names) = Asked::of(&request, parted(&request.run).0, redactor);
    let tools = asked.setting("tools").cloned();
    let number = tape.asked(&request.run, &request.caller, request.replies, asked);
    let outcome: Result<_, &ModelError> = outcome;
    tape.answered(number, outcome_of(outcome, names, tools.as_ref(), redactor));
}
