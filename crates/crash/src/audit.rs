//! What is left of a run when all is quiet.

use std::collections::{BTreeMap, BTreeSet};

use sommelier_handoff::{Relay, Replay, Step};
use sommelier_runner::DurableRunner;
use sommelier_runner::journal::{Heads, Journal, LEASE_TAKEN, Record};

use crate::case::Case;
use crate::ledger::Row;
use crate::scenario::{CONVERSATION, Scenario};
use crate::scene::{Desk, Scene};

/// What is left of a run, without what may be another each time: times, leases, and intents, which are repeated when what
/// they announce is done again. Two runs of a scenario are to leave the same, whatever was done to their processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// The kinds of the records, in order.
    pub kinds: Vec<String>,
    /// Their bodies; in order of the texts, as tools that run at the same time end in any.
    pub bodies: Vec<String>,
    /// The packages that were handed over, byte by byte.
    pub packages: Vec<String>,
    /// The run as it stands at its end: the answer, the trail, the costs, what is left of its budget.
    pub step: String,
    /// How often each remote effect was had, by key.
    pub applied: BTreeMap<String, usize>,
    /// The ledger in the journal's file.
    pub ledger: Vec<Row>,
    /// The keys of all effects on record, in order of the keys.
    pub effects: Vec<String>,
}

impl Scene {
    /// Looks at all that is there, and checks what has to be true of every run that has ended: the chain is whole, no work is
    /// open, nothing is begun, what the journal says of effects is what has happened, no model was
    /// asked without a record of it, and nobody has a lease after `quiet`.
    pub fn audit(&self, scenario: Scenario, quiet: u64) -> Audit {
        let store = self.store();
        assert!(store.verify(None, &Heads::new()).unwrap().is_sound());
        let lease = store.lease(CONVERSATION).unwrap().unwrap();
        assert!(lease.until < quiet, "{lease:?}, {quiet}");

        let desk = Desk::default();
        let relay = desk.relay(self.path());
        let records = store.load(CONVERSATION, 1).unwrap();
        let runner = desk.runner(self.path(), scenario, move || quiet);
        let swept = DurableRunner::new(&runner, &relay, &store).sweep(0).unwrap();
        assert!(swept.swept.is_empty() && swept.unread.is_empty(), "{swept:?}");
        assert_eq!(store.head(CONVERSATION).unwrap(), records.last().unwrap().head());

        let replay = played(&relay, &records).unwrap();
        assert_eq!(replay.owed().count(), 0);
        let (step, chronicle) = replay.into_parts();
        let step = step.unwrap();
        assert!(matches!(step, Step::Done(_)), "{step:?}");
        assert_eq!(step.run().trail().open().count(), 0);
        assert_eq!(chronicle.begun().count(), 0);

        let names: Vec<String> = store.claims().unwrap().into_iter().map(|(name, _)| name).collect();
        assert!(chronicle.claims().iter().eq(&names), "{names:?}");

        let applied: BTreeMap<String, usize> =
            self.remote().traffic().into_iter().map(|(key, of)| (key, of.applied)).collect();
        let ledger = self.ledger();
        let mut effects: Vec<String> = chronicle.effects().iter().map(|of| of.key.to_string()).collect();
        effects.sort();
        let mut happened: Vec<String> = applied.keys().cloned().collect();
        happened.extend(ledger.iter().map(|row| row.key.clone()));
        happened.sort();
        assert_eq!(effects, happened);
        self.check_requests(&records);
        Audit {
            kinds: kinds_once(&records),
            bodies: bodies(&records),
            packages: step
                .run()
                .trail()
                .taken()
                .map(|hop| serde_json::to_string(&hop.package).unwrap())
                .collect(),
            step: without_times(&step.save().unwrap()),
            applied,
            ledger,
            effects,
        }
    }

    /// Whoever asks a model has written that down before, each time.
    fn check_requests(&self, records: &[Record]) {
        let intended = records.iter().filter(|record| record.event.kind() == "model_requested").count();
        let asked = self.asked();
        assert!(asked.len() <= intended, "{intended} intended, {asked:?}");
        let replied = records.iter().filter(|record| record.event.kind() == "model_responded").count();
        assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), replied, "{asked:?}");
    }
}

impl Case<'_> {
    /// What is left of the run, which has ended. Whatever answer anybody was told is the one that is on record, and each
    /// question was asked under one id.
    pub fn audit(&self, scenario: Scenario) -> Audit {
        assert!(self.is_over());
        assert_eq!(self.scene.store().late(CONVERSATION).unwrap(), []);
        let audit = self.scene.audit(scenario, self.clock + 20_000);
        let told: BTreeSet<_> = self.answers.iter().collect();
        assert_eq!(told.len(), 1, "{told:?}");
        let (id, answer) = &self.answers[0];
        let closed = audit.bodies.iter().filter(|body| body.contains(r#""closed""#));
        let is_it =
            |body: &&String| body.contains(&format!("{id:?}")) && body.contains(&format!("{answer:?}"));
        assert_eq!(closed.filter(is_it).count(), 1, "{id}: {answer}");
        audit
    }
}

/// Plays the records of the conversation.
///
/// # Errors
/// Which record does not follow, and why.
pub(crate) fn played<'r>(relay: &'r Relay, records: &[Record]) -> Result<Replay<'r>, String> {
    let mut replay = Replay::new(relay, CONVERSATION);
    for record in records.iter().filter(|record| record.event.kind() != LEASE_TAKEN) {
        let event = &record.event;
        let read = replay.read(event.kind(), event.version(), event.body());
        read.map_err(|why| format!("record {}: {why}", record.seq))?;
    }
    Ok(replay)
}

fn is_same_each_time(record: &&Record) -> bool {
    !["model_requested", "tool_intended", LEASE_TAKEN].contains(&record.event.kind())
}

/// The kinds of records, without leases and what is repeated.
pub fn kinds_once(records: &[Record]) -> Vec<String> {
    records.iter().filter(is_same_each_time).map(|record| record.event.kind().to_owned()).collect()
}

fn bodies(records: &[Record]) -> Vec<String> {
    let body = |record: &Record| match record.event.kind() {
        // The fingerprint of a question is one of its time too.
        "escalated" => without(r#""digest":""#, &without_times(record.event.body())),
        _ => without_times(record.event.body()),
    };
    let mut bodies: Vec<String> = records.iter().filter(is_same_each_time).map(body).collect();
    bodies.sort();
    bodies
}

/// JSON with no time in it.
pub fn without_times(json: &str) -> String {
    without(r#""at":"#, json)
}

/// JSON without the letters and digits behind each `mark`.
fn without(mark: &str, json: &str) -> String {
    let mut parts = json.split(mark);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(mark);
        text.push_str(part.trim_start_matches(|c: char| c.is_ascii_alphanumeric()));
    }
    text
}
