//! Reading artifacts that stand in a package by reference.

use serde::Serialize;
use sommelier_protocol::ToolUse;
use sommelier_runtime::turn::Reserved;
use sommelier_runtime::{Definition, ToolOutput};

use crate::artifact::Which;
use crate::reference::{Form, forms};
use crate::refusal::{self, first, list};
use crate::{
    Artifact, ArtifactValue, Json, Millis, PackageError, READ_ARTIFACT, Relay, Run, law, pseudo_tool,
};

/// Whether the agent at work is offered to read what it was handed. It does not change while the agent has the turn, so its
/// requests begin alike.
pub(super) fn is_offered(agent: &Definition, run: &Run) -> bool {
    // Most agents are never handed a reference, and then no hop is looked at.
    agent.unoffered().iter().any(|tool| tool.name.as_str() == READ_ARTIFACT) && !readable(run).is_empty()
}

/// The reply with its calls of [`READ_ARTIFACT`] answered.
pub(super) fn settle(relay: &Relay, run: &Run, mut inner: Reserved) -> Reserved {
    let Some(agent) = relay.agent(run.active.as_str()) else { return inner };
    let reads = inner.calls().filter(|(_, call)| call.name() == READ_ARTIFACT);
    let reads: Vec<_> = reads.map(|(place, call)| (place, settled(run, agent, call))).collect();
    for (place, output) in reads {
        inner.settle(place, output);
    }
    inner
}

/// What a call of [`READ_ARTIFACT`] is answered with.
pub(super) fn settled(run: &Run, agent: &Definition, call: &ToolUse) -> ToolOutput {
    match find(run, call, agent.limits().input_bytes) {
        Ok(artifact) => told(artifact).at_most(agent.limits().result_bytes),
        Err(refused) => refused.told(),
    }
}

fn told(artifact: &Artifact) -> ToolOutput {
    #[derive(Serialize)]
    struct Told<'a> {
        name: &'a str,
        version: u32,
        at: Millis,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<&'a Json>,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<&'a str>,
    }
    let Artifact { name, version, at, value, .. } = artifact;
    let (value, text) = match value {
        ArtifactValue::Json(json) => (Some(json), None),
        ArtifactValue::Text(text) => (None, Some(&**text)),
    };
    let told = Told { name, version: *version, at: *at, value, text };
    ToolOutput::ok(serde_json::to_string(&told).unwrap_or_default())
}

/// Names and versions of what stands by reference in the newest package that the active agent was handed.
fn readable(run: &Run) -> Vec<(&str, u32)> {
    let newest = run.trail.newest_to(&run.active);
    let Some(package) = newest.and_then(|hop| hop.package.as_ref()) else { return Vec::new() };
    let referred = forms(package).filter_map(|(name, form)| match form {
        Form::Reference(reference) => Some((name, reference.version())),
        _ => None,
    });
    referred.collect()
}

fn find<'a>(run: &'a Run, call: &ToolUse, most: usize) -> Result<&'a Artifact, NotRead> {
    let which = pseudo_tool::read_which(call, most);
    let Which { name, version } = which.map_err(|errors| NotRead::Invalid { errors })?;
    let readable = readable(run);
    let handed = readable.iter().find(|(readable, _)| **readable == *name);
    let (Some((_, handed)), Some(newest)) = (handed, run.artifact(&name)) else {
        let legal = readable.iter().map(|(name, _)| (*name).to_owned()).collect();
        return Err(NotRead::Unknown { name: law::shortened(&name), legal });
    };
    let version = version.unwrap_or(*handed);
    if version < newest.version {
        return Err(NotRead::Stale { name, version, newest: newest.version });
    }
    if version > newest.version {
        return Err(NotRead::NoVersion { name, version, newest: newest.version });
    }
    Ok(newest)
}

/// Whether a call was answered as it may have been when it was: what code keeps may have got newer since.
pub(super) fn is_settled(run: &Run, agent: &Definition, call: &ToolUse, output: &ToolOutput) -> bool {
    let which = pseudo_tool::read_which(call, agent.limits().input_bytes);
    let is_kept = |name: &str| run.artifact(name).is_some_and(Artifact::is_kept_by_code);
    which.is_ok_and(|which| is_kept(&which.name)) || settled(run, agent, call) == *output
}

/// Why an artifact is not read. The reader's model is told, and goes on.
#[derive(Debug, thiserror::Error)]
enum NotRead {
    #[error("the arguments are not valid: {}", first(errors))]
    Invalid { errors: Vec<PackageError> },
    #[error("your package has no {name:?} by reference; it has: {}", list(legal))]
    Unknown { name: String, legal: Vec<String> },
    #[error("version {version} of {name} is stale, the newest is {newest}")]
    Stale { name: Box<str>, version: u32, newest: u32 },
    #[error("there is no version {version} of {name}, the newest is {newest}")]
    NoVersion { name: Box<str>, version: u32, newest: u32 },
}

impl NotRead {
    fn told(&self) -> ToolOutput {
        let error = match self {
            Self::Invalid { .. } => "invalid_arguments",
            Self::Unknown { .. } => "unknown_artifact",
            Self::Stale { .. } => "stale_artifact",
            Self::NoVersion { .. } => "unknown_version",
        };
        refusal::told(error, self)
    }
}
