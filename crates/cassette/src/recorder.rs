//! A model that writes down what another one is asked and says.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runtime::{Model, ModelError, Remote};

use crate::exchange::{Asked, outcome_of};
use crate::tape::{Tape, parted};
use crate::{Cassette, CassetteError, Redactor, Source};

/// A model that asks the one in it and records every exchange, failed ones included. It changes nothing: the run is the one
/// that it would be without.
///
/// Several threads may ask at once. The order in the cassette goes by the runs that ask, not by who came first, so the same
/// runs always give the same cassette; conversations stand in the order in which they asked first, and requests that do not say
/// which [run](ModelRequest::run) asks in the order in which they came.
///
/// ```
/// use sommelier_cassette::{Recorder, Redactor};
/// use sommelier_protocol::{Message, ModelRequest};
/// use sommelier_runtime::{Model, ScriptedModel, script};
///
/// let script = ScriptedModel::new().turn("clerk", |_| script::say("Good morning."));
/// let recorder = Recorder::new(script, Redactor::new());
/// let messages = [Message::user("hello")];
/// let mut request = ModelRequest::new("claude-sonnet-5", 1024, &messages);
/// request.caller = "clerk".into();
/// recorder.complete(request)?;
/// assert_eq!(recorder.cassette().exchanges().len(), 1);
/// # Ok::<(), sommelier_runtime::ModelError>(())
/// ```
#[derive(Debug)]
pub struct Recorder<M> {
    inner: M,
    redactor: Redactor,
    file: Option<PathBuf>,
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    tape: Tape,
    /// Whether what stands in the file is this recording.
    is_ours: bool,
    /// Why the file could not be written the last time.
    unwritten: Option<CassetteError>,
}

impl<M: Model> Recorder<M> {
    /// A recorder of `inner`, in front of which a redactor stands.
    pub fn new(inner: M, redactor: Redactor) -> Self {
        Self { inner, redactor, file: None, inside: Mutex::default() }
    }

    /// Writes the cassette to a file after each exchange, each time in the place of what was there: when the process is killed, it
    /// holds all exchanges but the last ones. A model's reply is worth more than its record, so a file that cannot be written does
    /// not end the run; [`finish`](Self::finish) tells. Before the first exchange the file is not touched, and what is there stays
    /// until a model has replied: a key that is refused costs no recording. Of several recorders of one file the last one that
    /// writes wins, so each has a file of its own.
    #[must_use]
    pub fn file(self, path: impl Into<PathBuf>) -> Self {
        Self { file: Some(path.into()), ..self }
    }

    /// What was recorded so far.
    pub fn cassette(&self) -> Cassette {
        self.inside().tape.cassette(Source::of(&self.inner))
    }

    /// What was recorded, written to the [file](Self::file) if there is one: also where it could not be written before. Where
    /// nothing was asked, no file is made.
    ///
    /// # Errors
    /// [`CassetteError`] when it cannot be written.
    pub fn finish(&self) -> Result<Cassette, CassetteError> {
        let mut inside = self.inside();
        let cassette = inside.tape.cassette(Source::of(&self.inner));
        if let Some(file) = &self.file
            && !cassette.exchanges().is_empty()
        {
            inside.keep(&cassette, file)?;
            inside.unwritten = None;
        }
        Ok(cassette)
    }

    /// Why the file could not be written after the last exchange, in words.
    pub fn unwritten(&self) -> Option<String> {
        self.inside().unwritten.as_ref().map(ToString::to_string)
    }

    /// The model that is recorded.
    pub fn inner(&self) -> &M {
        &self.inner
    }

    fn note(&self, number: usize, outcome: Result<Box<ModelResponse>, ModelError>) {
        let mut inside = self.inside();
        inside.tape.answered(number, outcome);
        if let Some(file) = &self.file {
            // Under the lock: of two files the one that has more is to stand.
            let cassette = inside.tape.cassette(Source::of(&self.inner));
            inside.unwritten = inside.keep(&cassette, file).err();
        }
    }

    /// Nothing in it is left half-way by a panic.
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    /// Writes it, unless it has no reply and would take the place of what stood there before.
    fn keep(&mut self, cassette: &Cassette, file: &Path) -> Result<(), CassetteError> {
        let has_reply = cassette.exchanges().iter().any(|exchange| exchange.outcome().is_ok());
        let is_free = fs::metadata(file).map_or(true, |there| there.len() == 0);
        if has_reply || is_free || self.is_ours {
            cassette.write(file)?;
            self.is_ours = true;
        }
        Ok(())
    }
}

impl<M: Model> Model for Recorder<M> {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let (asked, names) = Asked::of(&request, parted(&request.run).0, &self.redactor);
        let tools = asked.setting("tools").cloned();
        let number = self.inside().tape.asked(&request.run, &request.caller, request.replies, asked);
        let outcome = catch_unwind(AssertUnwindSafe(|| self.inner.complete(request)));
        let told = match &outcome {
            Ok(outcome) => outcome.as_ref(),
            Err(_) => Err(&ModelError::Panicked),
        };
        self.note(number, outcome_of(told, names, tools.as_ref(), &self.redactor));
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn provider(&self) -> &str {
        self.inner.provider()
    }

    fn name(&self) -> Option<&str> {
        self.inner.name()
    }

    fn label(&self) -> Option<&str> {
        self.inner.label()
    }

    fn remote(&self) -> Option<Remote<'_>> {
        self.inner.remote()
    }
}
