//! Where the journal is.

use std::env;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::fault::{Fault, Whose};
use crate::words::is_seen;

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

    /// Refuses a file that is not there or empty: nothing can be read from it, and a mistyped name is no empty journal.
    pub(crate) fn must_be_there(&self) -> Result<(), Fault> {
        self.must_be_no_folder()?;
        match fs::metadata(&self.path) {
            Ok(file) if file.len() > 0 => Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.unreadable(&error)),
            _ => Err(no_journal_yet(&self.path)),
        }
    }

    /// Makes the file where it is not there, for nobody else to read. Its folder is made where it is the one in the data
    /// directory; one that was mistyped is not.
    pub(crate) fn make(&self) -> Result<(), Fault> {
        self.must_be_no_folder()?;
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            self.make_folder(folder)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&self.path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(self.unreadable(&error)),
            _ => Ok(()),
        }
    }

    /// Takes a file away in which there is nothing.
    pub(crate) fn unmake(&self) {
        if fs::metadata(&self.path).is_ok_and(|file| file.is_file() && file.len() == 0) {
            // Where it stays, it is no journal.
            let _ = fs::remove_file(&self.path);
        }
    }

    fn make_folder(&self, folder: &Path) -> Result<(), Fault> {
        let told = |why: String| Fault::caller("no_folder", format!("{why}; give a file with --store"));
        if folder.is_dir() {
            return Ok(());
        }
        if self.is_given {
            return Err(told(format!("there is no folder {}, and it is not made for you", folder.display())));
        }
        let mut make = DirBuilder::new();
        make.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700);
        make.create(folder)
            .map_err(|error| told(format!("the folder {} cannot be made: {error}", folder.display())))
    }

    fn must_be_no_folder(&self) -> Result<(), Fault> {
        if !self.path.is_dir() {
            return Ok(());
        }
        let why = format!("{} is a folder; give a file with --store", self.path.display());
        Err(Fault::caller("no_journal", why))
    }

    fn unreadable(&self, error: &io::Error) -> Fault {
        Fault::new("unreadable", Whose::Journal, format!("{}: {error}", self.path.display()))
    }
}

/// Whether two paths lead to one file that is there, by links of either kind too.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    let there = |path| fs::canonicalize(path).ok();
    #[cfg(unix)]
    if let (Ok(one), Ok(other)) = (fs::metadata(one), fs::metadata(other)) {
        use std::os::unix::fs::MetadataExt;
        return (one.dev(), one.ino()) == (other.dev(), other.ino());
    }
    there(one).is_some_and(|one| Some(one) == there(other))
}

/// That nobody has begun a journal in this file.
pub(crate) fn no_journal_yet(path: &Path) -> Fault {
    let why = format!(
        "there is no journal yet at {}; `sommelier ask` and `sommelier chat` begin one",
        path.display()
    );
    Fault::caller("no_journal", why)
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

/// A word as a shell of Unix reads it, in one line in which all can be seen. What cannot be is written by its bytes, which
/// loses line ends at the end of a word.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if word.chars().all(|c| c == ' ' || is_seen(c)) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let written = |c: char| match c {
        c if (c == ' ' || is_seen(c)) && !matches!(c, '\'' | '\\') => c.to_string(),
        c => c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\0{byte:03o}")).collect(),
    };
    format!("\"$(printf %b '{}')\"", word.chars().map(written).collect::<String>())
}
