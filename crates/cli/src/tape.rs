//! Cassettes: what a command's model is asked and says, kept in a file or had from one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sommelier_cassette::{Cassette, CassetteError, Player, Recorder, Redactor, can_be_replaced};
use sommelier_runtime::Model;

use crate::fault::{Fault, Whose};
use crate::house::{mock_house, relay};

/// Takes a key out of a text.
pub(crate) type Scrub = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// The cassette of the model that a command asks, where there is one.
#[derive(Clone)]
pub(crate) enum Tape {
    /// There is none.
    Absent,
    /// It is made in this file.
    Recorded(Arc<Recorder<Arc<dyn Model>>>, PathBuf),
    /// It answers.
    Played(Arc<Player>),
}

impl Tape {
    /// A model that is recorded in a file, and the tape on which it is, without what the redactor takes out.
    pub(crate) fn recorded(
        model: Arc<dyn Model>,
        file: &Path,
        redactor: Redactor,
    ) -> Result<(Arc<dyn Model>, Self), Fault> {
        let recorder = Arc::new(Recorder::new(model, of_house(redactor)?).file(file));
        Ok((Arc::clone(&recorder) as Arc<dyn Model>, Self::Recorded(recorder, file.to_owned())))
    }

    /// The model that a file answers for, and its tape.
    pub(crate) fn played(file: &Path) -> Result<(Arc<dyn Model>, Self), Fault> {
        let cassette = Cassette::read(file).map_err(|error| unreadable(file, &error))?;
        let player = Arc::new(Player::new(cassette, redactor()?));
        Ok((Arc::clone(&player) as Arc<dyn Model>, Self::Played(player)))
    }

    /// Looks whether the file can be written before anything is asked: where it cannot, no call is paid for. What is there stays
    /// until there is an exchange to stand in its place.
    pub(crate) fn begin(&self) -> Result<(), Fault> {
        let Self::Recorded(_, file) = self else { return Ok(()) };
        // It is written anew after each exchange, which is nothing for a device or a pipe.
        if fs::metadata(file).is_ok_and(|there| !there.is_file()) {
            let why = format!("{} is no file in which a recording can be kept; give another", file.display());
            return Err(Fault::caller("no_cassette", why));
        }
        must_be_replaceable(file)?;
        can_be_replaced(file).map_err(|error| {
            let why = format!("the cassette {} could not be written: {error}", file.display());
            Fault::caller("unwritable", why)
        })
    }

    /// What there is to be said of it in the end: that it could not be written, or what was not asked for. And whether that is a
    /// fault.
    pub(crate) fn end(&self) -> Option<(String, bool)> {
        match self {
            Self::Absent => None,
            Self::Recorded(recorder, _) => {
                let error = recorder.finish().err()?;
                Some((
                    format!(
                        "{error}; what was asked is on record, and `sommelier cassette RUN` makes a cassette of it"
                    ),
                    true,
                ))
            }
            Self::Played(player) => {
                let left = player.unused();
                let (first, all) = (left.first()?, player.cassette().exchanges().len());
                let (caller, turn, run) = (first.caller(), first.turn(), first.run());
                let told = format!(
                    "{} of the cassette's {all} exchange(s) were not asked for, the first is turn {turn} of {caller} in run {run}",
                    left.len()
                );
                Some((told, false))
            }
        }
    }
}

/// What is taken out of cassettes here: keys, and what the tools of the house declare secret.
pub(crate) fn redactor() -> Result<Redactor, Fault> {
    of_house(Redactor::new())
}

/// The same, which also takes out what the house's tools declare secret.
fn of_house(redactor: Redactor) -> Result<Redactor, Fault> {
    Ok(redactor.secrets_of(&relay(&mock_house())?))
}

/// Writes a cassette where there is none of another kind.
pub(crate) fn write(cassette: &Cassette, file: &Path) -> Result<(), Fault> {
    must_be_replaceable(file)?;
    cassette.write(file).map_err(|error| unwritten(&error))
}

/// Refuses a file that is there and is no cassette: a journal, say, by a slip of the hand.
fn must_be_replaceable(file: &Path) -> Result<(), Fault> {
    if !fs::metadata(file).is_ok_and(|there| there.is_file() && there.len() > 0) {
        return Ok(());
    }
    match Cassette::read(file) {
        Ok(_) => Ok(()),
        Err(error) => {
            let why = format!(
                "{} is there and is no cassette that is replaced: {error}; give another file",
                file.display()
            );
            Err(Fault::caller("no_cassette", why))
        }
    }
}

fn unreadable(file: &Path, error: &CassetteError) -> Fault {
    match error {
        CassetteError::File { .. } => Fault::caller("no_cassette", error),
        _ => Fault::caller("no_cassette", format!("{}: {error}", file.display())),
    }
}

fn unwritten(error: &CassetteError) -> Fault {
    match error {
        CassetteError::File { .. } => Fault::caller("unwritable", error),
        _ => Fault::new("unwritable", Whose::Program, error),
    }
}
