//! Records of runs that every later release has to replay to the same end.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use sommelier_handoff::{Relay, Step};
use sommelier_runner::journal::{Epoch, Event, Hash, Journal, Record};
use sommelier_runner::{DurableRunner, Settled, Turn};

use crate::audit::played;
use crate::ledger;
use crate::scenario::{CONVERSATION, KEY, Scenario, answer_to};
use crate::scene::{Desk, Scene};

/// The folder with a folder for each version.
pub fn golden_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden")
}

/// A run that was kept: its records, and what they came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Golden {
    /// The records.
    pub records: Vec<Record>,
    /// What they came to.
    pub end: End,
}

/// What the records of a run come to, as anybody sees it from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// How it ended, in a word, or `waiting`.
    pub end: String,
    /// The answer.
    pub answer: Option<String>,
    /// The answer's id.
    pub answer_id: Option<String>,
    /// Who has the turn.
    pub active: String,
    /// The ids of the hops that were taken.
    pub hops: Vec<String>,
    /// The questions that wait.
    pub questions: Vec<String>,
    /// The keys of the effects, in order of the texts, as tools that run at the same time end in any.
    pub effects: Vec<String>,
    /// Model calls, over the whole tree.
    pub model_calls: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    seq: u64,
    epoch: Epoch,
    kind: String,
    version: u32,
    at: u64,
    prev_hash: Hash,
    hash: Hash,
    body: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Last {
    end: End,
}

/// A clock that goes on by a millisecond at each look, so that records are the same whenever they are made.
fn ticking() -> impl Fn() -> u64 + Send + Sync + 'static {
    let time = AtomicU64::new(1_800_000_000_000);
    move || time.fetch_add(1, Ordering::Relaxed)
}

impl Golden {
    /// Runs a scenario to its end, with a person who says yes to all that is asked, and keeps it.
    pub fn of(scenario: Scenario, folder: &Path) -> Self {
        let scene = Scene::new(folder);
        let desk = Desk { panics: Some("send".to_owned()), ..Desk::default() };
        let (store, relay) = (scene.store(), desk.relay(scene.path()));
        ledger::prepare(&store.connection().unwrap());
        let runner = desk.runner(scene.path(), scenario, ticking());
        let durable = DurableRunner::new(&runner, &relay, &store).owner("golden");
        let turn = Turn::new(scenario.words()).key(KEY);
        let mut settled = durable.submit(CONVERSATION, turn).unwrap();
        while let Settled::Waiting(parked) = &settled {
            settled = match scenario {
                Scenario::Cancel => durable.cancel(CONVERSATION, "the guest has left").unwrap(),
                _ => {
                    let question = parked.questions()[0].1.clone();
                    let yes = answer_to(&question.id);
                    durable.answer(CONVERSATION, &question.id, yes, None, Some("ada")).unwrap()
                }
            };
        }
        let records = store.load(CONVERSATION, 1).unwrap();
        let end = Self::play(&relay, &records).unwrap();
        Self { records, end }
    }

    /// Plays records of the conversation.
    ///
    /// # Errors
    /// Why they do not follow.
    pub fn play(relay: &Relay, records: &[Record]) -> Result<End, String> {
        let (step, chronicle) = played(relay, records)?.into_parts();
        let step = step.ok_or("nobody has spoken")?;
        let done = match &step {
            Step::Done(done) => Some(done),
            _ => None,
        };
        let mut effects: Vec<String> = chronicle.effects().iter().map(|of| of.key.to_string()).collect();
        effects.sort();
        Ok(End {
            end: done.map_or("waiting", |done| done.end().as_str()).to_owned(),
            answer: done.and_then(|done| done.answer()),
            answer_id: done.map(|done| done.answer_id()),
            active: step.run().active().to_string(),
            hops: step.run().trail().taken().map(|hop| hop.id.to_string()).collect(),
            questions: step.questions().into_iter().map(|(_, question)| question.id.to_string()).collect(),
            effects,
            model_calls: step.run().cost().model_calls,
        })
    }

    /// Writes it to a file that is not there yet: a line for each record, and one for the end.
    ///
    /// # Errors
    /// There is one, which is never overwritten; or the system refuses.
    pub fn write(&self, file: &Path) -> std::io::Result<()> {
        let line = |record: &Record| {
            let event = &record.event;
            serde_json::to_string(&Line {
                seq: record.seq,
                epoch: record.epoch,
                kind: event.kind().to_owned(),
                version: event.version(),
                at: event.at(),
                prev_hash: record.prev_hash,
                hash: record.hash,
                body: event.body().to_owned(),
            })
        };
        let mut lines = self.records.iter().map(line).collect::<Result<Vec<_>, _>>()?;
        lines.push(serde_json::to_string(&Last { end: self.end.clone() })?);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(file)?;
        std::io::Write::write_all(&mut file, (lines.join("\n") + "\n").as_bytes())
    }

    /// Reads it.
    pub fn read(file: &Path) -> Self {
        let text = fs::read_to_string(file).unwrap();
        let (records, end) = text.trim_end().rsplit_once('\n').unwrap();
        let record = |line: &str| {
            let Line { seq, epoch, kind, version, at, prev_hash, hash, body } =
                serde_json::from_str(line).unwrap();
            let event = Event::unchecked(kind, version, at, body);
            Record { conversation: CONVERSATION.to_owned(), seq, epoch, event, prev_hash, hash }
        };
        let Last { end } = serde_json::from_str(end).unwrap();
        Self { records: records.lines().map(record).collect(), end }
    }
}
