//! How a file is opened.

use std::time::Duration;

use crate::faults::Faults;

/// How a [`SqliteStore`](super::SqliteStore) is opened.
///
/// ```
/// use sommelier_store::Options;
/// use std::time::Duration;
///
/// let options = Options::new().busy_timeout(Duration::from_millis(200)).max_bytes(64 << 20);
/// # let _ = options;
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    pub(super) busy: Duration,
    pub(super) max_bytes: Option<u64>,
    pub(super) network: bool,
    pub(super) makes: bool,
    pub(super) faults: Faults,
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// Waits five seconds for others, has no cap, refuses file systems over a network, makes what is not there.
    pub const fn new() -> Self {
        Self {
            busy: Duration::from_secs(5),
            max_bytes: None,
            network: false,
            makes: true,
            faults: Faults::NONE,
        }
    }

    /// For how long to wait while another process writes or a work is done, before [`Busy`](crate::JournalError::Busy).
    #[must_use]
    pub fn busy_timeout(self, busy: Duration) -> Self {
        Self { busy, ..self }
    }

    /// How large the file may grow, in bytes, before [`Full`](crate::JournalError::Full).
    ///
    /// It is rounded down to whole pages, and a cap below what the file has already stops it where it is. The
    /// log beside the file is not counted; it is kept to some megabytes.
    #[must_use]
    pub fn max_bytes(self, bytes: u64) -> Self {
        Self { max_bytes: Some(bytes), ..self }
    }

    /// Opens the file also on a file system that is reached over a network, where locks may not hold and
    /// processes of other machines cannot take part.
    #[must_use]
    pub fn allow_network_file_system(self) -> Self {
        Self { network: true, ..self }
    }

    /// Opens a journal that is there, and makes none where there is no file or an empty one.
    ///
    /// ```
    /// use sommelier_store::{OpenError, Options, SqliteStore};
    ///
    /// # let path = std::env::temp_dir().join(format!("sommelier-store-none-{}", std::process::id()));
    /// let opened = SqliteStore::open_with(&path, &Options::new().existing());
    /// assert!(matches!(opened, Err(OpenError::Absent { .. })) && !path.exists());
    /// ```
    #[must_use]
    pub fn existing(self) -> Self {
        Self { makes: false, ..self }
    }

    /// Lets calls fail by a plan.
    #[cfg(feature = "conformance")]
    #[must_use]
    pub fn faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }
}
