//! Who decides: the model that a command asks.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use clap::Args;
use reservo::OfflineRules;
use reservo::case::Script;
use sommelier_cassette::Redactor;
use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_providers::{
    Clock, Heard, Live, ModelName, ModelNameError, Observer, ReplyLimits, SetupError, SystemClock,
};
use sommelier_runtime::{Model, ModelError, Remote};

use crate::fault::Fault;
use crate::file::{is_same, quoted};
use crate::tape::{Scrub, Tape};
use crate::words::named;

/// The flags of every command that asks a model.
#[derive(Clone, Debug, Args)]
pub(crate) struct Asking {
    /// Who decides: `offline`, the rules of the house; `script`, the decisions of the running case; a live model,
    /// `anthropic:NAME` or `openai:NAME`; or `cassette:FILE`, a recording, which answers what was recorded and nothing else.
    /// Unless given it is `offline`, and for a lesson `script`.
    #[arg(long, value_name = "MODEL", help_heading = HEADING)]
    model: Option<Choice>,
    /// Where the live model's server is, such as http://127.0.0.1:8080; the provider's own service unless given.
    #[arg(long, value_name = "URL", help_heading = HEADING)]
    base_url: Option<String>,
    /// Sends no key to the live model's server, whatever the environment holds.
    #[arg(long, help_heading = HEADING)]
    no_key: bool,
    /// Asks the live model for its replies in pieces: a long reply then keeps no proxy waiting.
    #[arg(long, help_heading = HEADING)]
    stream: bool,
    /// The most that one call of the live model may take, further attempts included; 600000 unless given.
    #[arg(long, value_name = "MILLIS", value_parser = clap::value_parser!(u64).range(1..), help_heading = HEADING)]
    deadline: Option<u64>,
    /// Records what the model is asked and says in this file, in place of a cassette that is there. It is for
    /// `--model cassette:FILE`; keys and what tools declare secret are not in it. Of several commands at a time that record in
    /// one file, the last one that is told something wins.
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    record: Option<PathBuf>,
    /// The most that is waited before a call is made again, in milliseconds, for tests.
    #[arg(long, value_name = "MILLIS", hide = true)]
    longest_pause: Option<u64>,
    /// The most bytes of a reply, for tests.
    #[arg(long, value_name = "BYTES", hide = true)]
    reply_bytes: Option<usize>,
}

const HEADING: &str = "Model";

/// Which model is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The rules of the house.
    Offline,
    /// The decisions of the running case.
    Script,
    Live(ModelName),
    /// A recording.
    Cassette(PathBuf),
}

impl FromStr for Choice {
    type Err = UnknownModel;

    fn from_str(text: &str) -> Result<Self, UnknownModel> {
        match text {
            "offline" => Ok(Self::Offline),
            "script" => Ok(Self::Script),
            text => match text.strip_prefix("cassette:") {
                Some(file) if !file.is_empty() => Ok(Self::Cassette(file.into())),
                _ => text.parse().map(Self::Live).map_err(UnknownModel),
            },
        }
    }
}

/// Why a text names no model.
#[derive(Debug, thiserror::Error)]
#[error("{0}; without a network there are `offline`, `script` and `cassette:FILE`")]
pub(crate) struct UnknownModel(ModelNameError);

impl Asking {
    /// The model that is meant. Nothing is sent yet.
    pub(crate) fn decider(&self, unless_said: Choice) -> Result<Decider, Fault> {
        let decider = Decider { is_named: self.model.is_some(), ..self.unrecorded(unless_said)? };
        match (&self.record, &self.model) {
            (Some(file), Some(Choice::Cassette(played))) if is_same(file, played) => {
                let why = format!(
                    "--record {0} would replace the cassette that answers; give another file",
                    file.display()
                );
                Err(Fault::caller("usage", why))
            }
            (Some(file), _) => decider.recorded(file),
            (None, _) => Ok(decider),
        }
    }

    /// The cassettes that it plays and records.
    pub(crate) fn cassettes(&self) -> impl Iterator<Item = &Path> {
        let played = match &self.model {
            Some(Choice::Cassette(file)) => Some(&**file),
            _ => None,
        };
        played.into_iter().chain(self.record.as_deref())
    }

    fn unrecorded(&self, unless_said: Choice) -> Result<Decider, Fault> {
        match self.model.as_ref().unwrap_or(&unless_said) {
            Choice::Offline => self.unconnected(Decider::offline()),
            Choice::Script => self
                .unconnected(Decider { flags: "--model script ".into(), ..Decider::of(Script::default()) }),
            Choice::Cassette(file) => {
                let (model, tape) = Tape::played(file)?;
                let flags = format!("--model {} ", quoted(&format!("cassette:{}", file.display())));
                self.unconnected(Decider { flags: flags.into(), tape, ..Decider::sharing(model) })
            }
            Choice::Live(name) => {
                let live = self.live(name).map_err(|error| misuse(&error))?;
                Ok(Decider {
                    name: name.to_string().into(),
                    flags: self.flags(name).into(),
                    scrub: Some(Arc::new(live.scrubber())),
                    ..Decider::of(live)
                })
            }
        }
    }

    /// The flags by which another command asks the same live model, each with a space behind it.
    fn flags(&self, name: &ModelName) -> String {
        let mut flags = format!("--model {} ", quoted(&name.to_string()));
        if let Some(url) = &self.base_url {
            flags.push_str(&format!("--base-url {} ", quoted(url)));
        }
        if self.no_key {
            flags.push_str("--no-key ");
        }
        if self.stream {
            flags.push_str("--stream ");
        }
        if let Some(millis) = self.deadline {
            flags.push_str(&format!("--deadline {millis} "));
        }
        flags
    }

    fn live(&self, name: &ModelName) -> Result<Live, SetupError> {
        let mut live = name.live(self.base_url.as_deref());
        if self.no_key {
            live = live.without_key();
        }
        if self.stream {
            live = live.stream_to(Nobody);
        }
        if let Some(millis) = self.deadline {
            live = live.deadline(Duration::from_millis(millis));
        }
        if let Some(millis) = self.longest_pause {
            live = live.clock(Hurried(SystemClock::default(), Duration::from_millis(millis)));
        }
        if let Some(total_bytes) = self.reply_bytes {
            live = live.limits(ReplyLimits { total_bytes, ..ReplyLimits::default() });
        }
        live.build()
    }

    /// A model that is asked without a network, where no flag is given that is for live ones.
    fn unconnected(&self, decider: Decider) -> Result<Decider, Fault> {
        let flags = [
            ("--base-url", self.base_url.is_some()),
            ("--no-key", self.no_key),
            ("--stream", self.stream),
            ("--deadline", self.deadline.is_some()),
        ];
        match flags.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(decider),
            Some((flag, _)) => {
                let why = format!(
                    "{flag} is for a live model, and none is asked; name one with --model anthropic:NAME or --model openai:NAME"
                );
                Err(Fault::caller("usage", why))
            }
        }
    }
}

/// What is wrong with how a live model was set up, with the flag that mends it.
fn misuse(error: &SetupError) -> Fault {
    let (code, advice) = match error {
        SetupError::NoKey { .. } => ("no_key", "; a server of your own, named by --base-url, needs none"),
        SetupError::BadKey { .. } => ("bad_key", ""),
        SetupError::KeyInTheClear { .. } => ("bad_url", " with --no-key"),
        SetupError::BadUrl { .. } => ("bad_url", "; one is written like http://127.0.0.1:8080"),
        _ => ("usage", ""),
    };
    Fault::caller(code, format!("{error}{advice}"))
}

/// The model that a command asks. It takes its time where that was asked for.
#[derive(Clone)]
pub(crate) struct Decider {
    model: Arc<dyn Model>,
    name: Arc<str>,
    flags: Arc<str>,
    /// Whether the command has named it.
    is_named: bool,
    pause: Duration,
    tape: Tape,
    /// Takes out the key that is sent to the model, where one is.
    scrub: Option<Scrub>,
}

impl Decider {
    /// The rules of the house.
    pub(crate) fn offline() -> Self {
        Self::of(OfflineRules)
    }

    fn of(model: impl Model + 'static) -> Self {
        Self::sharing(Arc::new(model))
    }

    fn sharing(model: Arc<dyn Model>) -> Self {
        let name = model.label().unwrap_or_default().into();
        let model = Arc::new(Labelled(model));
        let (tape, pause) = (Tape::Absent, Duration::ZERO);
        Self { name, model, flags: "".into(), is_named: false, pause, tape, scrub: None }
    }

    /// The same, which is recorded in a file.
    fn recorded(self, file: &Path) -> Result<Self, Fault> {
        let (model, tape) = Tape::recorded(Arc::clone(&self.model), file, self.redactor())?;
        Ok(Self { model, tape, ..self })
    }

    /// What takes out of all words whatever looks like a key of a service, and the key that is sent to this model.
    pub(crate) fn redactor(&self) -> Redactor {
        match self.scrub.clone() {
            None => Redactor::new(),
            Some(scrub) => Redactor::new().key(move |text| scrub(text)),
        }
    }

    /// Its cassette.
    pub(crate) fn tape(&self) -> &Tape {
        &self.tape
    }

    /// The same, each of whose replies takes so long at least.
    pub(crate) fn unhurried(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }

    /// Who decides, as a person calls it: a live model's name, or the label of what stands in one's place.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether somebody has named it, and it is not just who decides where nobody is named.
    pub(crate) fn is_named(&self) -> bool {
        self.is_named
    }

    /// What is to be said of a conversation in which this model has replied last: that it goes on with another one, since
    /// none is named. Whoever names a model has decided.
    pub(crate) fn remark(&self, last: Option<&str>) -> Option<String> {
        let last = self.other(last)?;
        Some(format!("decided until now by {last}; without --model it goes on with {}", self.name()))
    }

    /// The same for who cannot type a flag.
    pub(crate) fn remark_in_page(&self, last: Option<&str>) -> Option<String> {
        let last = self.other(last)?;
        Some(format!(
            "decided until now by {last}; it goes on with the model of this server, {}",
            self.name()
        ))
    }

    /// The model that has replied last, where it is another one and nobody has named this.
    fn other(&self, last: Option<&str>) -> Option<String> {
        last.filter(|last| !self.is_named && *last != self.name()).map(named)
    }

    /// The flags by which another command asks the same model, each with a space behind it. The model stands in no record as
    /// one to be asked again, so a command that is shown says it.
    pub(crate) fn flags(&self) -> &str {
        &self.flags
    }
}

impl fmt::Debug for Decider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decider").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Model for Decider {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        thread::sleep(self.pause);
        self.model.complete(request)
    }

    fn provider(&self) -> &str {
        self.model.provider()
    }

    fn name(&self) -> Option<&str> {
        self.model.name()
    }

    fn label(&self) -> Option<&str> {
        self.model.label()
    }

    fn remote(&self) -> Option<Remote<'_>> {
        self.model.remote()
    }
}

/// A model whose replies say who made them, where no live model did: the records have the reply and nothing beside it.
struct Labelled(Arc<dyn Model>);

impl Model for Labelled {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let mut response = self.0.complete(request)?;
        if let Some(label) = self.0.label() {
            response.model = label.into();
        }
        Ok(response)
    }

    fn provider(&self) -> &str {
        self.0.provider()
    }

    fn name(&self) -> Option<&str> {
        self.0.name()
    }

    fn label(&self) -> Option<&str> {
        self.0.label()
    }

    fn remote(&self) -> Option<Remote<'_>> {
        self.0.remote()
    }
}

/// Hears a stream and tells nobody: what a model says is told once, when it is whole and what must not be kept is out of it.
struct Nobody;

impl Observer for Nobody {
    fn hear(&self, _caller: &str, _heard: Heard<'_>) {}
}

/// The clock of this machine, which does not wait longer than this.
struct Hurried(SystemClock, Duration);

impl Clock for Hurried {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn now(&self) -> SystemTime {
        self.0.now()
    }

    fn sleep(&self, pause: Duration) {
        self.0.sleep(pause.min(self.1));
    }
}
