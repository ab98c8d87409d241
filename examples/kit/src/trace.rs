//! Where the spans go.

use sommelier_metrics::{LinesLayer, Metrics, TreeLayer};
use std::io::{IsTerminal, stderr};
use std::str::FromStr;
use tracing_subscriber::layer::SubscriberExt;

use crate::Misuse;

/// What of the spans goes to stderr.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trace {
    /// Nothing.
    #[default]
    Off,
    /// A tree for each message of the user.
    Tree,
    /// A JSON object for each span.
    Json,
}

impl FromStr for Trace {
    type Err = Misuse;

    fn from_str(word: &str) -> Result<Self, Misuse> {
        match word {
            "off" => Ok(Self::Off),
            "tree" => Ok(Self::Tree),
            "json" => Ok(Self::Json),
            _ => Err(Misuse::new(format!("{word:?} is not known; there are tree, json, off"))),
        }
    }
}

/// Installs the subscriber for the whole process, and gives the counts.
pub fn install(trace: Trace) -> Metrics {
    let metrics = Metrics::new();
    let tree = (trace == Trace::Tree).then(|| TreeLayer::new(stderr()).with_ansi(stderr().is_terminal()));
    let lines = (trace == Trace::Json).then(|| LinesLayer::new(stderr()));
    let subscriber = tracing_subscriber::registry().with(metrics.layer()).with(tree).with(lines);
    // A second call in one process keeps the first subscriber; the examples make one call.
    let _ = tracing::subscriber::set_global_default(subscriber);
    metrics
}
