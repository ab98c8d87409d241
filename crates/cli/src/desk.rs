//! What the commands work with: the journal, the house, and the driver between them.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use reservo::Reservo;
use reservo_ledger::SqliteBookings;
use sommelier_handoff::{Millis, Relay, Replay};
use sommelier_runner::durable::replay;
use sommelier_runner::journal::Record;
use sommelier_runner::{DurableError, DurableRunner, Gate, Runner, Settled, Turn};
use sommelier_store::{Journal, Options, SqliteStore};

use crate::arguments::{Arguments, Lease};
use crate::done::last_model;
use crate::fault::{Fault, unknown_run};
use crate::file::JournalFile;
use crate::house::{house, mock_house, relay};
use crate::model::Decider;
use crate::teller::Teller;
use crate::watched::Watching;

/// How long a lease runs, in milliseconds: so long a run of a process that has died waits for another.
const TERM: Millis = 3_000;

/// How long another process waits for a run at most: somewhat longer than a lease runs.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_millis(TERM + 250);

/// How often it looks meanwhile.
pub(crate) const MOMENT: Duration = Duration::from_millis(50);

/// What a journal is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// To look at what is there. No run is driven.
    Look,
    /// To drive runs.
    Drive,
}

/// A journal that is open, with the house whose conversations are in it.
pub(crate) struct Desk {
    pub(crate) file: JournalFile,
    pub(crate) relay: Relay,
    /// Who decides.
    pub(crate) decider: Decider,
    runner: Runner<'static>,
    now: Option<Millis>,
    watching: Watching,
    // The last one to close the file leaves it whole, without a log beside it, and only the store knows when not to.
    pub(crate) store: SqliteStore,
}

impl Desk {
    /// Opens the journal, and makes it where it is not there.
    pub(crate) fn open_or_make(arguments: &Arguments) -> Result<Self, Fault> {
        // A model that cannot be asked leaves no journal behind.
        let decider = decider(arguments)?;
        let file = JournalFile::of(arguments.store.clone())?;
        file.make()?;
        let store = SqliteStore::open(file.path()).inspect_err(|_| file.unmake())?;
        let ledger = SqliteBookings::beside(&store)?;
        Self::with(file, store, house(Arc::new(ledger))?, decider, arguments)
    }

    /// Opens the journal that is there.
    pub(crate) fn open(arguments: &Arguments, to: Use) -> Result<Self, Fault> {
        let decider = decider(arguments)?;
        let file = JournalFile::of(arguments.store.clone())?;
        file.must_be_there()?;
        let store = SqliteStore::open_with(file.path(), &Options::new().existing())?;
        // A house whose tools are not run needs no ledger, and is the same by definition.
        let ledger = match to {
            Use::Look => None,
            // Where nothing was begun there is nothing to drive, and no ledger is made for it.
            Use::Drive if store.conversations()?.is_empty() => None,
            Use::Drive => Some(Arc::new(SqliteBookings::beside(&store)?)),
        };
        let house = ledger.map_or_else(|| Ok(mock_house()), house)?;
        Self::with(file, store, house, decider, arguments)
    }

    fn with(
        file: JournalFile,
        store: SqliteStore,
        house: Arc<Reservo>,
        decider: Decider,
        arguments: &Arguments,
    ) -> Result<Self, Fault> {
        let relay = relay(&house)?;
        decider.tape().begin()?;
        let now = arguments.now.map(crate::time::millis);
        let runner = Runner::new(decider.clone());
        let redactor = decider.redactor();
        let runner = runner.redact(move |text| redactor.redact(text));
        let mut runner = runner.gate(Gate::ask_all()).clock(move || now.unwrap_or_else(by_system));
        let watching = arguments.watching.clone();
        if let Some(trace) = watching.trace() {
            runner = runner.trace(trace.to_string());
        }
        if watching.has_contents() {
            runner = runner.show_contents();
        }
        Ok(Self { file, relay, decider, runner, now, store, watching })
    }

    /// What somebody says, for the agents to hear: at which of them a conversation begins that begins with it, it says itself.
    /// Each turn is told in a trace of its own.
    pub(crate) fn turn(&self, text: &str) -> Turn {
        let turn = Turn::new(text).at(reservo::entry(text).name());
        self.watching.trace().iter().fold(turn, |turn, trace| turn.trace(trace.to_string()))
    }

    /// Milliseconds since 1970.
    pub(crate) fn now(&self) -> Millis {
        self.now.unwrap_or_else(by_system)
    }

    /// The driver. Its leases are given back when it is dropped.
    pub(crate) fn driver(&self) -> DurableRunner<'_> {
        DurableRunner::new(&self.runner, &self.relay, &self.store).term(TERM)
    }

    /// Has a driver do something with a run. While another process has the run it waits, as long as a lease runs: a process
    /// that has died keeps it no longer. Where the other one is to be evicted, it does not wait.
    pub(crate) fn drive(
        &self,
        teller: &mut Teller<'_>,
        run: &str,
        lease: Lease,
        work: impl Fn(&DurableRunner<'_>) -> Result<Settled, DurableError>,
    ) -> Result<Settled, Fault> {
        Ok(self.try_drive(teller, run, lease, work)?)
    }

    /// Says of a run that goes on now which other model has decided in it until now, where none is named.
    pub(crate) fn tell_last_model(&self, teller: &mut Teller<'_>, run: &str) {
        if let Some(remark) = self.remark(run) {
            teller.note(&remark);
        }
    }

    /// What is to be said of who has decided in a run until now. What is wrong with its records the driver says.
    pub(crate) fn remark(&self, run: &str) -> Option<String> {
        if self.decider.is_named() {
            return None;
        }
        self.decider.remark(last_model(&self.records(run).ok()?).as_deref())
    }

    /// As [`drive`](Self::drive), for who wants to know what was in the way.
    pub(crate) fn try_drive(
        &self,
        teller: &mut Teller<'_>,
        run: &str,
        lease: Lease,
        work: impl Fn(&DurableRunner<'_>) -> Result<Settled, DurableError>,
    ) -> Result<Settled, DurableError> {
        wait_and_drive(&self.driver(), teller, run, lease, work)
    }

    /// The run of this id, or the only one whose id begins like this.
    pub(crate) fn find(&self, given: &str) -> Result<String, Fault> {
        let runs = self.store.conversations()?;
        if runs.iter().any(|run| run == given) {
            return Ok(given.to_owned());
        }
        let alike: Vec<&String> = runs.iter().filter(|run| run.starts_with(given)).collect();
        match alike.as_slice() {
            [] => Err(unknown_run(given)),
            [run] => Ok((*run).clone()),
            [first, second, ..] => {
                let why = format!(
                    "{} runs begin with {given:?}, {first:?} and {second:?} among them; say more of it",
                    alike.len()
                );
                Err(Fault::caller("ambiguous_run", why))
            }
        }
    }

    /// The records of a run, in order and sound.
    pub(crate) fn records(&self, run: &str) -> Result<Vec<Record>, Fault> {
        Ok(self.store.load(run, 1)?)
    }

    /// A run as its records tell it.
    pub(crate) fn replay(&self, run: &str, records: &[Record]) -> Result<Replay<'_>, Fault> {
        Ok(replay(&self.relay, run, records)?)
    }

    /// A name that no run has and that begins like this.
    pub(crate) fn fresh_name(&self, begin: &str) -> Result<String, Fault> {
        loop {
            let name = format!("{begin}-{:012x}", by_chance() >> 16);
            if self.store.head(&name)?.seq == 0 {
                return Ok(name);
            }
        }
    }
}

/// Has this driver do something with a run, as [`Desk::drive`] does.
pub(crate) fn wait_and_drive(
    driver: &DurableRunner<'_>,
    teller: &mut Teller<'_>,
    run: &str,
    lease: Lease,
    work: impl Fn(&DurableRunner<'_>) -> Result<Settled, DurableError>,
) -> Result<Settled, DurableError> {
    let start = Instant::now();
    let mut is_told = false;
    loop {
        // A process that lives may have its lease back before the work has begun, and loses it again.
        if lease.evict
            && let Some(other) = driver.evict(run)?
        {
            teller.note(&format!("`{}` has lost {run:?}: its lease is ended", other.owner));
        }
        let owner = match work(driver) {
            Err(DurableError::Held { owner, .. }) if start.elapsed() < LONGEST_WAIT => owner,
            settled => return settled,
        };
        if lease.evict {
            continue;
        }
        if !is_told {
            let seconds = TERM / 1000;
            teller.note(&format!("`{owner}` drives {run:?}; waiting for it, {seconds} seconds at most"));
            is_told = true;
        }
        thread::sleep(MOMENT);
    }
}

/// Who decides; where no model is asked it does not matter.
fn decider(arguments: &Arguments) -> Result<Decider, Fault> {
    let decider = match arguments.command.asking() {
        Some((asking, unless_said)) => asking.decider(unless_said)?,
        None => Decider::offline(),
    };
    Ok(decider.unhurried(Duration::from_millis(arguments.slow)))
}

fn by_system() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}

/// A number by chance: the standard library seeds each of its hashers with one.
fn by_chance() -> u64 {
    RandomState::new().build_hasher().finish()
}
