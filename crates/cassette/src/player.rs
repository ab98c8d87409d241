//! A model that answers from a cassette.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runtime::{Model, ModelError};

use crate::difference::{Difference, shown};
use crate::exchange::{Asked, Exchange, restored};
use crate::tape::parted;
use crate::{Cassette, Redactor};

/// A model that answers from a cassette, strictly: each request must be the recorded one. Any other ends the run with a
/// [`ModelError::OffRecord`] that names the first difference.
///
/// A request is compared as it was recorded: redacted by this player's redactor, which should be equal to the recorder's, and
/// with names by chance in the order in which they come up. The order of an object's members, white space, the time that is left, and
/// at which line and column of its arguments a call had a fault are not compared. Conversations may have other names than they had when they were recorded, unless their tools make something
/// of the name.
///
/// Each exchange answers once. A run that was saved or killed may go on with a new player: what its requests are is what they
/// hold, and the exchanges before them are left over then.
///
/// ```
/// use sommelier_cassette::{Player, Recorder, Redactor};
/// use sommelier_protocol::{Message, ModelRequest};
/// use sommelier_runtime::{Model, ScriptedModel, script};
///
/// let script = ScriptedModel::new().turn("clerk", |_| script::say("Good morning."));
/// let recorder = Recorder::new(script, Redactor::new());
/// let says = |model: &dyn Model, words: &str| {
///     let messages = [Message::user(words)];
///     let request = ModelRequest { caller: "clerk".into(), ..ModelRequest::new("claude-sonnet-5", 1024, &messages) };
///     model.complete(request).map(|reply| reply.words())
/// };
/// says(&recorder, "hello")?;
///
/// let player = Player::new(recorder.cassette(), Redactor::new());
/// assert_eq!(
///     says(&player, "hullo").unwrap_err().to_string(),
///     "nothing on record answers this request: exchange 1 (clerk, turn 1 of run 1) differs: \
///      at `messages[0].content` \"hello\" was recorded, and \"hullo\" came",
/// );
/// assert_eq!(says(&player, "hello")?, "Good morning.");
/// assert_eq!(player.finish(), Ok(()));
/// # Ok::<(), sommelier_runtime::ModelError>(())
/// ```
#[derive(Debug)]
pub struct Player {
    cassette: Cassette,
    redactor: Redactor,
    label: String,
    /// The exchanges of each run and caller, by their places.
    lanes: BTreeMap<Box<str>, BTreeMap<Box<str>, Vec<usize>>>,
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    /// The exchanges that have answered.
    used: Vec<bool>,
    /// The conversations that ask, each with its name in the cassette.
    roots: BTreeMap<String, String>,
}

impl Player {
    /// A player of a cassette, in front of which a redactor stands.
    pub fn new(cassette: Cassette, redactor: Redactor) -> Self {
        let label = cassette.source.label_of_replay();
        let inside = Inside { used: vec![false; cassette.exchanges.len()], ..Inside::default() };
        let mut lanes = BTreeMap::<_, BTreeMap<_, Vec<usize>>>::new();
        for (place, Exchange { run, caller, .. }) in cassette.exchanges.iter().enumerate() {
            lanes.entry(run.clone()).or_default().entry(caller.clone()).or_default().push(place);
        }
        Self { cassette, redactor, label, lanes, inside: Mutex::new(inside) }
    }

    /// The exchanges that have not answered.
    pub fn unused(&self) -> Vec<&Exchange> {
        let inside = self.inside();
        self.left(&inside).into_iter().map(|(_, exchange)| exchange).collect()
    }

    /// Whether the run was the whole one that was recorded.
    ///
    /// # Errors
    /// [`ModelError::OffRecord`] when exchanges are left over: how many, and the first of them.
    pub fn finish(&self) -> Result<(), ModelError> {
        let inside = self.inside();
        let left = self.left(&inside);
        let Some((number, first)) = left.first() else { return Ok(()) };
        Err(off_record(format!(
            "{} of {} exchange(s) were not asked for, the first is {}",
            left.len(),
            inside.used.len(),
            place(*number, first)
        )))
    }

    /// What is played.
    pub fn cassette(&self) -> &Cassette {
        &self.cassette
    }

    /// The exchanges that have not answered, each with its place.
    fn left<'a>(&'a self, inside: &Inside) -> Vec<(usize, &'a Exchange)> {
        let exchanges = self.cassette.exchanges.iter().enumerate().zip(&inside.used);
        exchanges.filter(|(_, used)| !**used).map(|(left, _)| left).collect()
    }

    /// The exchange that answers a request.
    fn find(&self, inside: &Inside, lane: &Lane<'_>, asked: &Asked) -> Option<(usize, &Exchange)> {
        let places = self.lanes.get(&*lane.run).and_then(|callers| callers.get(lane.caller));
        let left = places.into_iter().flatten().filter(|place| inside.used.get(**place) == Some(&false));
        let mut left = left.filter_map(|place| Some((*place, self.cassette.exchanges.get(*place)?)));
        left.find(|(_, exchange)| Difference::between(&exchange.asked, asked).is_none())
    }

    /// The conversations of the cassette that nobody is, in their order.
    fn free<'a>(&'a self, inside: &Inside) -> Vec<&'a str> {
        let mut seen: BTreeSet<&str> = inside.roots.values().map(|taken| &**taken).collect();
        let roots = self.cassette.exchanges.iter().map(|exchange| parted(&exchange.run).0);
        roots.filter(|root| seen.insert(root)).collect()
    }

    /// Why nothing answers.
    fn why(&self, inside: &Inside, lane: &Lane<'_>, asked: &Asked) -> String {
        let mut left = self.left(inside);
        left.retain(|(_, exchange)| lane.has(exchange));
        let meant = left.iter().find(|(_, exchange)| exchange.turn == lane.turn).or(left.first());
        if let Some((number, exchange)) = meant {
            let what = Difference::between(&exchange.asked, asked);
            let what = what.map_or_else(String::new, |what| format!(": {what}"));
            return format!("{} differs{what}", place(*number, exchange));
        }
        let Lane { run, caller, turn } = lane;
        let (run, caller) = (shown(run, 0), shown(caller, 0));
        match self.cassette.exchanges.iter().filter(|exchange| lane.has(exchange)).count() {
            0 => {
                let mut known: Vec<&str> = Vec::new();
                let in_run = self.cassette.exchanges.iter().filter(|exchange| *exchange.run == *lane.run);
                in_run.for_each(|of| {
                    if !known.contains(&&*of.caller) {
                        known.push(&of.caller);
                    }
                });
                let mut why = format!("{caller} asks in run {run}, where nothing of it is recorded");
                if !known.is_empty() {
                    let _ = write!(why, "; recorded there: {}", shown(&known.join(", "), 0));
                }
                why
            }
            all => format!(
                "{caller} asks for turn {turn} of run {run}, and all {all} exchange(s) of it there are used up"
            ),
        }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who asks: the exchanges of one agent in one run.
struct Lane<'a> {
    run: String,
    caller: &'a str,
    turn: u32,
}

impl<'a> Lane<'a> {
    fn of(root: &str, path: &[[u32; 3]], request: &'a ModelRequest<'_>) -> Self {
        let mut run = root.to_owned();
        for [message, call, of] in path {
            let _ = write!(run, "/{message}/{call}/{of}");
        }
        Self { run, caller: &request.caller, turn: request.replies.saturating_add(1) }
    }

    fn has(&self, exchange: &Exchange) -> bool {
        *exchange.run == *self.run && *exchange.caller == *self.caller
    }
}

/// An exchange as people find it; `number` is counted from 0.
fn place(number: usize, exchange: &Exchange) -> String {
    let Exchange { run, caller, turn, .. } = exchange;
    format!("exchange {} ({}, turn {turn} of run {})", number + 1, shown(caller, 0), shown(run, 0))
}

fn off_record(detail: String) -> ModelError {
    ModelError::OffRecord { detail }
}

impl Model for Player {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let (root, path) = parted(&request.run);
        let (asked, names) = Asked::of(&request, root, &self.redactor);
        let mut inside = self.inside();
        let roots = match inside.roots.get(root) {
            Some(known) => vec![known.clone()],
            None => self.free(&inside).into_iter().map(str::to_owned).collect(),
        };
        let lanes: Vec<Lane<'_>> = roots.iter().map(|root| Lane::of(root, &path, &request)).collect();
        let found = lanes
            .iter()
            .zip(&roots)
            .find_map(|(lane, number)| Some((self.find(&inside, lane, &asked)?, number)));
        if let Some(((number, exchange), name)) = found {
            inside.roots.insert(root.to_owned(), name.clone());
            if let Some(used) = inside.used.get_mut(number) {
                *used = true;
            }
            return exchange.outcome.clone().map(|reply| restored(&reply, &names));
        }
        match lanes.first() {
            Some(lane) => Err(off_record(self.why(&inside, lane, &asked))),
            None => {
                let count = inside.roots.len();
                let caller = shown(&request.caller, 0);
                Err(off_record(format!(
                    "{caller} asks in another conversation than the {count} that are recorded"
                )))
            }
        }
    }

    fn provider(&self) -> &str {
        &self.cassette.source.provider
    }

    fn name(&self) -> Option<&str> {
        self.cassette.source.name.as_deref()
    }

    /// `recorded from` and the label of the model that was recorded, its name or who runs it.
    fn label(&self) -> Option<&str> {
        Some(&self.label)
    }
}
