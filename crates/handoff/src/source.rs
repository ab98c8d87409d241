//! From the references that a model writes to what crosses in their place.

use sommelier_protocol::{Message, ToolResult, ToolUse};
use sommelier_runtime::turn::Reserved;

use crate::artifact::{next_version, over_bounds};
use crate::reference::{Form, Reference, forms, path};
use crate::refusal::list;
use crate::{Artifact, ArtifactValue, HandoffPackage, Hop, Millis, PackageError, Relay, Route, Run, law};

/// Where a package is handed over from: the run, and the reply that asks for it, whose own tools have run.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) run: &'a Run,
    pub(crate) reserved: &'a Reserved,
    /// Since when what is new has its value.
    pub(crate) at: Millis,
}

impl Source<'_> {
    /// The package with its references resolved, `None` when there are none, or what is wrong with its artifacts. Where code
    /// changes what crosses, none stays a reference: the change is not made to what the receiver would read later.
    pub(crate) fn resolve(
        &self,
        relay: &Relay,
        route: &Route,
        package: &HandoffPackage,
    ) -> Result<Option<HandoffPackage>, Vec<PackageError>> {
        let mut errors = Vec::new();
        let mut found = Vec::new();
        for (name, form) in forms(package) {
            match self.look_up(route, name, form) {
                Ok(None) => {}
                Ok(Some(artifact)) => found.push(artifact),
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        if found.is_empty() {
            return Ok(None);
        }
        let mut resolved = package.clone();
        for artifact in &found {
            resolved.set_artifact(&artifact.name, artifact.reference());
        }
        let is_changed = !(route.transforms.is_empty() && relay.transforms().is_empty());
        for artifact in found {
            let (path, bytes) = (path(&artifact.name), artifact.value.bytes());
            match inline(route, &resolved, artifact) {
                Some(inline) => resolved = inline,
                None if is_changed => errors.push(PackageError::ValuesAlone { path, bytes }),
                None => {}
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        // Each of the values is lawful, and all of them together may be too many.
        HandoffPackage::read(&resolved.to_json()).map(Some)
    }

    /// What a reference stands for; `None` for a value.
    fn look_up(&self, route: &Route, name: &str, form: Form<'_>) -> Result<Option<Artifact>, PackageError> {
        if let Form::Value(value) = form {
            return self.may_be(name, |kept| kept.is(value)).map(|()| None);
        }
        if !route.references {
            return Err(PackageError::NoReferences { path: path(name) });
        }
        match form {
            Form::Value(_) => Ok(None),
            Form::ResultOf(of) => self.result_of(name, of).map(Some),
            Form::Reference(reference) => self.entry(name, reference).map(|artifact| Some(artifact.clone())),
        }
    }

    /// Whether a package may give the artifact a value that code would keep it from being.
    fn may_be(&self, name: &str, is_same: impl FnOnce(&ArtifactValue) -> bool) -> Result<(), PackageError> {
        match self.run.artifact(name).filter(|kept| kept.is_kept_by_code()) {
            Some(kept) if !is_same(&kept.value) => {
                Err(PackageError::KeptByCode { path: path(name), version: kept.version })
            }
            _ => Ok(()),
        }
    }

    /// The artifact that the newest result of a tool, or of a call, makes.
    fn result_of(&self, name: &str, of: &str) -> Result<Artifact, PackageError> {
        let found = || law::shortened(of);
        let Some((is_error, text)) = self.newest_result(of) else {
            let there = self.with_results();
            return Err(PackageError::DanglingReference { path: path(name), found: found(), there });
        };
        if is_error {
            return Err(PackageError::FailedResult { path: path(name), found: found() });
        }
        let value = ArtifactValue::of_text(&text);
        self.may_be(name, |kept| *kept == value)?;
        match value.history(&path(name)) {
            Some(error) => Err(error),
            None => Ok(self.with_value(name, value)),
        }
    }

    /// The artifact of this name with this value: the newest version, if that has it, else the next one.
    fn with_value(&self, name: &str, value: ArtifactValue) -> Artifact {
        match self.run.artifact(name) {
            Some(newest) if newest.value == value => newest.clone(),
            newest => Artifact {
                name: name.into(),
                version: next_version(newest),
                at: self.at,
                by: Some(self.run.active.clone()),
                value,
            },
        }
    }

    /// The entry of the table that a reference of the agent that hands over names.
    fn entry(&self, name: &str, reference: Reference<'_>) -> Result<&Artifact, PackageError> {
        let path = || path(name);
        if reference.name != name {
            return Err(PackageError::RenamedArtifact {
                path: path(),
                found: law::shortened(reference.name),
            });
        }
        let Some(newest) = self.run.artifact(name).filter(|artifact| self.run.may_name(artifact)) else {
            let known = self.run.artifacts().iter().filter(|artifact| self.run.may_name(artifact));
            let there = list(&known.map(|artifact| &artifact.name).collect::<Vec<_>>());
            return Err(PackageError::DanglingReference { path: path(), found: name.to_owned(), there });
        };
        match reference.version {
            Some(version) if version < newest.version => {
                Err(PackageError::StaleArtifact { path: path(), version, newest: newest.version })
            }
            Some(version) if version > newest.version => Err(PackageError::DanglingReference {
                path: path(),
                found: format!("{name}, version {version}"),
                there: format!("version {}", newest.version),
            }),
            _ => Ok(newest),
        }
    }

    /// The newest result of the tool or the call in the sender's conversation, and whether it is an error.
    fn newest_result(&self, of: &str) -> Option<(bool, String)> {
        let is_it = |call: &ToolUse| call.id() == of || call.name() == of;
        let mut newest = self.reserved.answered().rev().filter(|(call, _)| is_it(call));
        if let Some((_, output)) = newest.next() {
            return Some((output.error.is_some(), output.content.to_string()));
        }
        let call = earlier_calls(self.reserved.messages()).find(|(call, _)| is_it(call));
        call.map(|(_, result)| (result.is_error(), result.words()))
    }

    /// The tools that have brought something, the newest first.
    fn with_results(&self) -> String {
        let newest = self.reserved.answered().rev().filter(|(_, output)| output.error.is_none());
        let newest = newest.map(|(call, _)| call.name());
        let earlier = earlier_calls(self.reserved.messages()).filter(|(_, result)| !result.is_error());
        let mut tools: Vec<&str> = Vec::new();
        for tool in newest.chain(earlier.map(|(call, _)| call.name())) {
            if !tools.contains(&tool) {
                tools.push(tool);
            }
        }
        list(&tools)
    }

    /// What the table holds anew when `crossing` is handed over at `at`, which is how the call's package crosses. A value
    /// is what it is since then; of a reference the package says since when.
    pub(crate) fn added(
        &self,
        written: &HandoffPackage,
        crossing: &HandoffPackage,
        at: Millis,
    ) -> Vec<Artifact> {
        let add = |name: &str, form: Form<'_>| match form {
            Form::Value(value) => {
                Some(Self { at, ..*self }.with_value(name, ArtifactValue::Json(value.clone())))
            }
            Form::ResultOf(_) => None,
            Form::Reference(_) => match Form::of(written.artifacts().get(name)?)? {
                Form::ResultOf(of) => {
                    Some(self.with_value(name, ArtifactValue::of_text(&self.newest_result(of)?.1)))
                }
                Form::Value(_) | Form::Reference(_) => None,
            },
        };
        // What code keeps stays what it is, whatever other code has made of it on the way.
        let kept = |name: &str| self.run.artifact(name).is_some_and(Artifact::is_kept_by_code);
        let added =
            forms(crossing).filter(|(name, _)| !kept(name)).filter_map(|(name, form)| add(name, form));
        added.filter(|artifact| self.run.artifact(&artifact.name) != Some(artifact)).collect()
    }

    /// Whether the table has room for what a handoff adds to it.
    pub(crate) fn check_room(
        &self,
        written: &HandoffPackage,
        crossing: &HandoffPackage,
    ) -> Option<PackageError> {
        if crossing.artifacts().is_empty() {
            return None;
        }
        over_bounds(self.run.artifacts(), &self.added(written, crossing, self.at))
    }
}

/// The calls before the newest reply that have a result, the newest first.
fn earlier_calls(messages: &[Message]) -> impl Iterator<Item = (&ToolUse, &ToolResult)> {
    messages.windows(2).rev().flat_map(|pair| {
        let [reply, answer] = pair else { return Vec::new() };
        let mut calls: Vec<_> = reply
            .tool_uses()
            .filter_map(|call| {
                Some((call, answer.tool_results().find(|result| result.tool_use_id() == call.id())?))
            })
            .collect();
        calls.reverse();
        calls
    })
}

/// The package with the value in the place of the reference, when it is small enough to stand there.
fn inline(route: &Route, package: &HandoffPackage, artifact: Artifact) -> Option<HandoffPackage> {
    let policy = &route.policy;
    let Artifact { name, value: ArtifactValue::Json(value), .. } = artifact else { return None };
    if value.wire_len() > policy.inline_bytes {
        return None;
    }
    let mut with = package.clone();
    with.set_artifact(&name, value);
    (with.bytes() <= policy.package_bytes && with.depth() <= policy.depth).then_some(with)
}

impl Run {
    /// Whether the agent that has the turn may name an artifact: it was handed it, it has handed it over, or code has put it
    /// there.
    fn may_name(&self, artifact: &Artifact) -> bool {
        let is_of_active = |hop: &&Hop| hop.from == self.active || *hop.to == *self.active.as_str();
        artifact.is_kept_by_code()
            || self.trail.taken().filter(is_of_active).any(|hop| {
                hop.package.as_ref().is_some_and(|package| package.artifacts().get(&artifact.name).is_some())
            })
    }
}
