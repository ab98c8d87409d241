//! Connections for reading, each used by one thread at a time.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rusqlite::Connection;

use super::open;
use super::options::Options;
use super::rows::told;
use crate::health::locked;
use sommelier_runner::journal::JournalError;

/// How many connections are kept for later.
const KEPT: usize = 8;

pub(super) struct Readers {
    path: PathBuf,
    options: Options,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(path: &Path, options: &Options) -> Self {
        Self { path: path.to_owned(), options: options.clone(), idle: Mutex::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads in one transaction, so that all that is read is of one moment.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let idle = locked(&self.idle).pop();
        let mut connection =
            idle.map_or_else(|| open::readable(&self.path, &self.options), Ok).map_err(told)?;
        let transaction = connection.transaction().map_err(told)?;
        let result = read(&transaction)?;
        transaction.finish().map_err(told)?;
        let mut idle = locked(&self.idle);
        if idle.len() < KEPT {
            idle.push(connection);
        }
        Ok(result)
    }
}
