//! Where the journal is.

use std::env;
use std::path::{Path, PathBuf};

use crate::fault::Fault;

/// The journal's file.
#[derive(Clone, Debug)]
pub(crate) struct JournalFile {
    path: PathBuf,
    /// Whether it was given by a flag, which then belongs in commands that are shown.
    is_given: bool,
}

impl JournalFile {
    /// The file that was given, or `sommelier/journal.db` in the user's data directory.
    pub(crate) fn of(given: Option<PathBuf>) -> Result<Self, Fault> {
        let is_given = given.is_some();
        let path = match given {
            Some(path) => path,
            None => data_directory().map(|folder| folder.join("sommelier").join("journal.db")).ok_or_else(
                || {
                    Fault::caller(
                        "no_home",
                        "no data directory is known: HOME is not set; give a file with --store",
                    )
                },
            )?,
        };
        Ok(Self { path, is_given })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file as a flag, where it has to be given.
    pub(crate) fn flag(&self) -> Option<String> {
        self.is_given.then(|| format!("--store {}", quoted(&self.path.to_string_lossy())))
    }

    /// Refuses a file that is not there: nothing can be read from it, and a mistyped name is no empty journal.
    pub(crate) fn must_exist(&self) -> Result<(), Fault> {
        if self.path.exists() {
            return Ok(());
        }
        let why = format!(
            "there is no journal {}; `sommelier ask` and `sommelier chat` begin one",
            self.path.display()
        );
        Err(Fault::caller("no_journal", why))
    }

    /// Makes the folder that the file is to be in.
    pub(crate) fn make_folder(&self) -> Result<(), Fault> {
        let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
            return Ok(());
        };
        std::fs::create_dir_all(folder).map_err(|error| {
            let why =
                format!("the folder {} cannot be made: {error}; give a file with --store", folder.display());
            Fault::caller("no_folder", why)
        })
    }
}

/// Where programs keep what belongs to the user: by the customs of the system.
fn data_directory() -> Option<PathBuf> {
    let set = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if cfg!(windows) {
        return set("LOCALAPPDATA");
    }
    if cfg!(target_os = "macos") {
        return Some(set("HOME")?.join("Library").join("Application Support"));
    }
    set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local").join("share")))
}

/// A word as a shell of Unix reads it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
