//! Whether a file is still found under the name by which it was opened.
//!
//! A file that is removed or replaced while it is open can be written to all the same, and nobody finds there what was
//! written. SQLite does not mind. So it is looked at after each commit, before anybody is told of it: two calls of the
//! system beside a sync of the disk.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The file and its log, as they were when they were met first.
pub(super) struct FilePlace {
    /// As it was given: a link that leads elsewhere by now is a file that was replaced.
    path: PathBuf,
    /// Beside the file itself, where SQLite keeps it, and not beside a link that leads there.
    log: PathBuf,
    file: Option<Identity>,
    /// SQLite makes it with the first write, and removes it when nobody has the file open any more.
    log_file: OnceLock<Identity>,
}

/// What tells a file from every other one on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    number: u64,
}

impl FilePlace {
    /// Of a file that is open.
    pub(super) fn of(path: &Path) -> Self {
        let file = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut log = file.into_os_string();
        log.push("-wal");
        let (log, log_file) = (PathBuf::from(log), OnceLock::new());
        Self { file: identity(path), path: path.to_owned(), log, log_file }
    }

    /// Says so where the file was removed or replaced.
    pub(super) fn check(&self) -> Result<(), String> {
        // Where the system does not tell files apart they cannot be removed while they are open.
        if identity(&self.path) == self.file { Ok(()) } else { Err(gone(&self.path)) }
    }

    /// As [`check`](Self::check), for the log as well, which is there once something was written.
    pub(super) fn check_written(&self) -> Result<(), String> {
        self.check()?;
        match identity(&self.log) {
            Some(found) if *self.log_file.get_or_init(|| found) == found => Ok(()),
            None if self.file.is_none() => Ok(()),
            _ => Err(gone(&self.log)),
        }
    }
}

fn gone(path: &Path) -> String {
    format!("{} was removed or replaced while it was open", path.display())
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    let found = std::fs::metadata(path).ok()?;
    Some(Identity { device: found.dev(), number: found.ino() })
}

#[cfg(not(unix))]
fn identity(_: &Path) -> Option<Identity> {
    None
}
