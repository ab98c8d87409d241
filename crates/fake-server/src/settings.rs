//! What a server is like.

use std::time::Duration;

use crate::{Faults, Script};

/// What a server is like. Any values go together.
///
/// ```
/// use sommelier_fake_server::Settings;
///
/// let settings = Settings { models: vec!["claude-sonnet-5".to_owned()], ..Settings::default() };
/// assert!(!settings.strict);
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    /// What is said.
    pub script: Script,
    /// What goes wrong.
    pub faults: Faults,
    /// The models that there are; every name is one when this is empty.
    pub models: Vec<String>,
    /// The keys that are taken; every key is when this is empty.
    pub keys: Vec<String>,
    /// Bytes of the largest body that is taken; the service's 32 MiB by default.
    pub max_body: usize,
    /// How long a request may take to arrive, and an answer to be taken.
    pub patience: Duration,
    /// Whether to refuse as well what the service lets pass and this project does not, such as two messages of one
    /// role side by side.
    pub strict: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            script: Script::default(),
            faults: Faults::default(),
            models: Vec::new(),
            keys: Vec::new(),
            max_body: 32 * 1024 * 1024,
            patience: Duration::from_secs(10),
            strict: false,
        }
    }
}
