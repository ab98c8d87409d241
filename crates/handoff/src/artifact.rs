//! Artifacts: results of the work that have a name, a version and a time.
//!
//! ```text
//!   a model writes                 crosses                                   the run's table
//!   ── "order": {...} ───────────▶ its value ───────────────────── take ──▶ order, version n + 1 if it differs
//!   ── {"$result_of": "look"} ─┬─▶ its value, when it is small ─── take ──▶ the same
//!                              └─▶ {"$artifact", version, at} ──── take ──▶ the same, the value beside the package
//!   ── {"$artifact": "order"} ─┬─▶ its value, when it is small
//!                              └─▶ {"$artifact", version, at} ──▶ read_artifact(order)
//! ```
//!
//! The table holds the newest version of each artifact, since an older one is refused wherever it is asked for. It is
//! written when a handoff is taken, and by code at any moment. Nothing of it crosses but what a package names.

use serde::{Deserialize, Serialize};
use sommelier_protocol::json_string_len;
use sommelier_runtime::AgentName;
use sommelier_runtime::turn::MOST_COUNTED;
use std::collections::BTreeSet;

use crate::arbiter::{USER_WORDS, USER_WORDS_LEFT_OUT};
use crate::law::ARTIFACT;
use crate::reference::{Form, forms, path};
use crate::{Fields, Hop, Json, Millis, PackageError, Run, Step, history, law};

/// The reserved tool by which an agent reads an artifact that stands in its package by reference; see
/// [`Route::references`](crate::Route::references). It is offered while there is one.
pub const READ_ARTIFACT: &str = "read_artifact";

/// A call of [`READ_ARTIFACT`] as it was read. Without a version, that of the package is meant.
#[derive(Clone, Debug)]
pub(crate) struct Which {
    pub(crate) name: Box<str>,
    pub(crate) version: Option<u32>,
}

/// The most artifacts of one run.
pub const ARTIFACTS: usize = 256;

/// The most bytes of all artifacts of one run, as compact JSON.
pub const TABLE_BYTES: usize = 1024 * 1024;

/// The newest version of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// The name: an ASCII identifier, unique in the run.
    pub name: Box<str>,
    /// The version, from 1. It counts each time that the value changes.
    pub version: u32,
    /// Since when the value has been this.
    pub at: Millis,
    /// The agent that handed this version over; `None` when code has put it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentName>,
    /// The value.
    pub value: ArtifactValue,
}

/// The value of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArtifactValue {
    /// JSON under the [law](crate::law): it may stand in a package.
    Json(Json),
    /// Anything else, as its text, in which characters that no package may hold stand as their codes. It never stands in
    /// a package.
    Text(Box<str>),
}

impl ArtifactValue {
    /// A value from its text: JSON where it is that, else words.
    pub(crate) fn of_text(text: &str) -> Self {
        let json = law::read(text).or_else(|error| match error {
            PackageError::NotJson { path, .. } if path.is_empty() => Json::of(text),
            error => Err(error),
        });
        json.map_or_else(|_| Self::Text(law::shown(text).into()), Self::Json)
    }

    /// Bytes of the value as compact JSON; a text counts as a string of it.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Json(json) => json.wire_len(),
            Self::Text(text) => json_string_len(text),
        }
    }

    pub(crate) fn is(&self, other: &Json) -> bool {
        matches!(self, Self::Json(json) if json == other)
    }

    /// What is wrong with it at `path`, when messages are in it.
    pub(crate) fn history(&self, path: &str) -> Option<PackageError> {
        let path = match self {
            Self::Json(json) => history::in_json(json, path),
            Self::Text(text) => history::in_text(text, path),
        };
        path.map(|path| PackageError::HistoryInPackage { path })
    }
}

impl Artifact {
    /// Whether this is what stands in a package for it: its value, or a reference to the version.
    fn is_in(&self, form: &Form<'_>) -> bool {
        match form {
            Form::Value(value) => self.value.is(value),
            Form::ResultOf(_) => false,
            Form::Reference(reference) => reference.is_to(self),
        }
    }

    /// Whether code keeps it, so that no package gives it another value.
    pub(crate) fn is_kept_by_code(&self) -> bool {
        self.by.is_none()
    }

    /// What stands in a package in its place.
    pub(crate) fn reference(&self) -> Json {
        let number = |number: String| Json::Number(number.into());
        let mut fields = Fields::default();
        fields.push(ARTIFACT.to_owned(), Json::String(self.name.clone()));
        fields.push("version".to_owned(), number(self.version.to_string()));
        fields.push("at".to_owned(), number(self.at.to_string()));
        fields.push("bytes".to_owned(), number(self.value.bytes().to_string()));
        Json::Object(fields)
    }
}

pub(crate) fn next_version(newest: Option<&Artifact>) -> u32 {
    newest.map_or(1, |newest| newest.version.saturating_add(1))
}

/// Which bound of the table `added` would pass.
pub(crate) fn over_bounds(table: &[Artifact], added: &[Artifact]) -> Option<PackageError> {
    let kept = table.iter().filter(|artifact| added.iter().all(|other| other.name != artifact.name));
    let (count, bytes) = kept
        .chain(added)
        .fold((0, 0_usize), |(count, bytes), artifact| (count + 1, bytes + artifact.value.bytes()));
    let over = |cap: &str, found, most| PackageError::OverCap { cap: cap.to_owned(), found, most };
    if count > ARTIFACTS {
        Some(over("artifacts of the run", count, ARTIFACTS))
    } else {
        (bytes > TABLE_BYTES).then(|| over("bytes of the run's artifacts", bytes, TABLE_BYTES))
    }
}

impl Run {
    /// Puts artifacts into the table, each in the place of its older version.
    pub(crate) fn add_artifacts(&mut self, added: Vec<Artifact>) {
        for artifact in added {
            let table = &mut self.extra_mut().artifacts;
            match table.iter_mut().find(|older| older.name == artifact.name) {
                Some(older) => *older = artifact,
                None => table.push(artifact),
            }
        }
    }

    /// What cannot be in a table that handoffs and code have written.
    pub(crate) fn flaw_of_artifacts(&self) -> Option<&'static str> {
        let table = self.artifacts();
        let names: BTreeSet<&str> = table.iter().map(|artifact| &*artifact.name).collect();
        let is_sound = names.len() == table.len()
            && table.iter().all(|artifact| {
                law::is_key(&artifact.name) && (1..=MOST_COUNTED).contains(&artifact.version)
            })
            && over_bounds(table, &[]).is_none();
        let are_there = self.mentions().all(|(_, name, _)| names.contains(name));
        if !is_sound || !are_there || !table.iter().all(|artifact| self.bears_out(artifact)) {
            return Some("the artifacts are not those that were handed over");
        }
        None
    }

    /// Every artifact of every package that was handed over, in order.
    fn mentions(&self) -> impl Iterator<Item = (&Hop, &str, Form<'_>)> {
        let packages = self.trail.taken().filter_map(|hop| Some((hop, hop.package.as_ref()?)));
        packages.flat_map(|(hop, package)| forms(package).map(move |(name, form)| (hop, name, form)))
    }

    /// Whether the hops tell of an artifact what the table does. What code keeps it may have put there at any moment; the
    /// newest version of any other is the one that was handed over last.
    fn bears_out(&self, artifact: &Artifact) -> bool {
        let mentions = self.mentions().filter(|(_, name, _)| *name == &*artifact.name);
        let mentions: Vec<_> = mentions.map(|(hop, _, form)| (hop, form)).collect();
        let mut newest = 0;
        for (_, form) in &mentions {
            let version = match form {
                Form::Value(_) => newest,
                Form::Reference(reference) if reference.version() > 0 => reference.version(),
                Form::ResultOf(_) | Form::Reference(_) => return false,
            };
            let is_it = version != artifact.version || matches!(form, Form::Value(_)) || artifact.is_in(form);
            if version < newest || version > artifact.version || !is_it {
                return false;
            }
            newest = version;
        }
        if artifact.is_kept_by_code() {
            return true;
        }
        let since = mentions.iter().rposition(|(_, form)| !artifact.is_in(form)).map_or(0, |place| place + 1);
        let origin = mentions.get(since);
        usize::try_from(artifact.version).is_ok_and(|version| version <= mentions.len())
            && origin.is_some_and(|(hop, form)| {
                let is_since = matches!(form, Form::Reference(_)) || hop.at == artifact.at;
                Some(&hop.from) == artifact.by.as_ref() && is_since
            })
    }
}

impl Step {
    /// Puts an artifact into the run, or a newer version of it, at any moment, and gives its version back: data of the
    /// house, or what came in while the run was under way. From then on code keeps it: no package gives it another value. It
    /// crosses where a package names it. A handoff that waits with an older version is ruled on again when it is taken, so
    /// whoever puts another value there before each taking keeps it waiting.
    /// Branches do not see it.
    ///
    /// ```
    /// use sommelier_handoff::{Agent, Relay};
    ///
    /// let relay = Relay::builder().agent(Agent::new("clerk", "")).entry("clerk").build()?;
    /// let mut step = relay.start("conversation-1", "What does Focus cost?")?;
    /// assert_eq!(step.put_artifact("prices", &[6000], 1), Ok(1));
    /// assert_eq!(step.put_artifact("prices", &[6000], 2), Ok(1));
    /// assert_eq!(step.put_artifact("prices", &[6500], 3), Ok(2));
    /// let prices = step.run().artifact("prices").unwrap();
    /// assert_eq!((prices.version, prices.at), (2, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`PackageError`], and the run is as it was: a name that is no ASCII identifier, or that code uses otherwise; a value
    /// that has no JSON or in which messages are; more than [`ARTIFACTS`] artifacts, or [`TABLE_BYTES`] of them.
    pub fn put_artifact(
        &mut self,
        name: &str,
        value: &(impl Serialize + ?Sized),
        at: Millis,
    ) -> Result<u32, PackageError> {
        if !law::is_key(name) {
            return Err(PackageError::IllegalKey {
                path: "artifacts".to_owned(),
                found: law::shortened(name),
            });
        }
        if [USER_WORDS, USER_WORDS_LEFT_OUT].contains(&name) {
            return Err(PackageError::WrittenByCode { path: path(name) });
        }
        let json = serde_json::to_string(value);
        let json =
            json.map_err(|error| PackageError::NotJson { path: path(name), detail: error.to_string() })?;
        let value = ArtifactValue::of_text(&json);
        if let Some(error) = value.history(&path(name)) {
            return Err(error);
        }
        let run = self.run_mut();
        let newest = run.artifact(name);
        let (version, at) = match newest {
            Some(newest) if newest.value == value => (newest.version, newest.at),
            newest => (next_version(newest), at),
        };
        let artifact = Artifact { name: name.into(), version, at, by: None, value };
        match over_bounds(run.artifacts(), std::slice::from_ref(&artifact)) {
            Some(error) => Err(error),
            None => {
                run.add_artifacts(vec![artifact]);
                Ok(version)
            }
        }
    }
}
