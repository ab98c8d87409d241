//! Why a handoff is not taken.

use serde::{Deserialize, Serialize};
use sommelier_protocol::ToolName;
use sommelier_runtime::{AgentName, ToolOutput};
use std::fmt::Display;

/// A guard, in the order in which they are asked. The first that refuses is the one that is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    /// Is there such a receiver?
    Known,
    /// Is it another agent?
    #[serde(rename = "self")]
    Myself,
    /// Is there a route?
    Route,
    /// Does the package keep the law and the route's policy?
    Package,
    /// Has the receiver the tools that the route requires, right now?
    Ready,
    /// Are there hops left?
    Cap,
    /// Is it a new pair of sender and receiver since the user last spoke?
    Pair,
    /// Does the user's own code allow it: the guards on this route, those of the receiver, and the transforms?
    Own,
    /// Has a person allowed it, where the route wants that?
    Approval,
    /// Is it the first handoff of the turn?
    OnePerTurn,
    /// Is it another handoff than the one taken in this turn?
    Duplicate,
}

impl Guard {
    /// All guards, in order.
    pub const ALL: [Self; 11] = [
        Self::Known,
        Self::Myself,
        Self::Route,
        Self::Package,
        Self::Ready,
        Self::Cap,
        Self::Pair,
        Self::Own,
        Self::Approval,
        Self::OnePerTurn,
        Self::Duplicate,
    ];

    /// The guard in a word, for spans and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Known => "known",
            Self::Myself => "self",
            Self::Route => "route",
            Self::Package => "package",
            Self::Ready => "ready",
            Self::Cap => "cap",
            Self::Pair => "pair",
            Self::Own => "own",
            Self::Approval => "approval",
            Self::OnePerTurn => "one_per_turn",
            Self::Duplicate => "duplicate",
        }
    }
}

/// Why a handoff is not taken. The state is what it was; what happens next is the policy's to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    /// No agent has this name.
    #[error("there is no specialist {name:?}; legal: {}{}", list(known), nearest(nearest_name))]
    UnknownSpecialist {
        /// The name as the model wrote it, in its normal form.
        name: String,
        /// The receivers that are legal for the sender.
        known: Vec<AgentName>,
        /// The legal receiver whose name is nearest. It is told, never chosen.
        nearest_name: Option<AgentName>,
    },
    /// An agent may not hand the turn to itself.
    #[error("{agent} cannot hand the turn to itself")]
    SelfHandoff {
        /// The sender.
        agent: AgentName,
    },
    /// The sender has no route to this receiver.
    #[error("{from} has no route to {to}; legal: {}", list(legal))]
    NoRoute {
        /// The sender.
        from: AgentName,
        /// The receiver asked for.
        to: AgentName,
        /// The receivers that are legal for the sender.
        legal: Vec<AgentName>,
    },
    /// The package breaks the law or the route's policy.
    #[error("the package is not valid: {}", first(errors))]
    InvalidPackage {
        /// What is wrong with it: never empty.
        errors: Vec<PackageError>,
    },
    /// The receiver lacks tools that the route requires.
    #[error("{to} is not ready: it lacks {}", list(missing_tools))]
    TargetNotReady {
        /// The receiver.
        to: AgentName,
        /// The tools it lacks or that are switched off.
        missing_tools: Vec<ToolName>,
    },
    /// All hops are used up.
    #[error("{max} handoff(s) are the most, a further one is not taken: {}", path(chain))]
    HandoffLimitExceeded {
        /// The cap.
        max: u32,
        /// The agents in turn, ending with the receiver that was refused.
        chain: Vec<AgentName>,
    },
    /// The same sender and receiver once more since the user last spoke: ping-pong, or a longer cycle.
    #[error("{from} has already handed the turn to {to}, a second time is a loop: {}", path(chain))]
    RepeatedPair {
        /// The sender.
        from: AgentName,
        /// The receiver.
        to: AgentName,
        /// The agents in turn, ending with the receiver that was refused.
        chain: Vec<AgentName>,
    },
    /// A guard of the user's own, on this route or of the receiver, refused.
    #[error("{guard} refuses the handoff to {to}: {reason}")]
    GuardRefused {
        /// The guard's name.
        guard: String,
        /// The receiver.
        to: AgentName,
        /// Why.
        reason: String,
    },
    /// A guard of the user's own, on this route or of the receiver, failed: its author's fault, and no fault of the package.
    #[error("{guard} could not judge the handoff to {to}: {}", causes.join(": "))]
    GuardFailed {
        /// The guard's name.
        guard: String,
        /// The receiver.
        to: AgentName,
        /// What its error says, and each error behind it.
        causes: Vec<String>,
    },
    /// A transform gave no package that may cross: its author's fault, and no fault of the package.
    #[error("{transform} could not change the package: {}", causes.join(": "))]
    TransformFailed {
        /// The transform's name.
        transform: String,
        /// What its error says, and each error behind it; or in what its package breaks the law.
        causes: Vec<String>,
    },
    /// A person did not allow it.
    #[error("a person did not allow the handoff to {to}: {reason}")]
    NotApproved {
        /// The receiver.
        to: AgentName,
        /// Why, in that person's words.
        reason: String,
    },
    /// A person allowed it with another package than the one that would cross now: an artifact has changed since it was
    /// shown.
    #[error(
        "a person allowed the handoff to {to} with another package: an artifact has changed since it was shown; hand over \
         again, so that it can be asked anew"
    )]
    Overtaken {
        /// The receiver.
        to: AgentName,
    },
    /// Another handoff of the same turn was taken.
    #[error("one handoff a turn: {to} has the turn by call {taken}; not taken, differs in {}", list(differs))]
    OnePerTurn {
        /// The call that was taken.
        taken: String,
        /// The receiver that has the turn.
        to: AgentName,
        /// The members in which the two differ.
        differs: Vec<String>,
    },
    /// The same handoff as the one taken in this turn.
    #[error("duplicate of {of}, which was taken")]
    Duplicate {
        /// The call that was taken.
        of: String,
    },
}

impl Refusal {
    /// The guard that refused.
    pub fn guard(&self) -> Guard {
        match self {
            Self::UnknownSpecialist { .. } => Guard::Known,
            Self::SelfHandoff { .. } => Guard::Myself,
            Self::NoRoute { .. } => Guard::Route,
            Self::InvalidPackage { .. } => Guard::Package,
            Self::TargetNotReady { .. } => Guard::Ready,
            Self::HandoffLimitExceeded { .. } => Guard::Cap,
            Self::RepeatedPair { .. } => Guard::Pair,
            Self::GuardRefused { .. } | Self::GuardFailed { .. } | Self::TransformFailed { .. } => Guard::Own,
            Self::NotApproved { .. } | Self::Overtaken { .. } => Guard::Approval,
            Self::OnePerTurn { .. } => Guard::OnePerTurn,
            Self::Duplicate { .. } => Guard::Duplicate,
        }
    }

    /// The refusal in a word, for models and spans.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownSpecialist { .. } => "unknown_specialist",
            Self::SelfHandoff { .. } => "self_handoff",
            Self::NoRoute { .. } => "no_route",
            Self::InvalidPackage { .. } => "invalid_package",
            Self::TargetNotReady { .. } => "target_not_ready",
            Self::HandoffLimitExceeded { .. } => "handoff_limit_exceeded",
            Self::RepeatedPair { .. } => "repeated_pair",
            Self::GuardRefused { .. } => "guard_refused",
            Self::GuardFailed { .. } => "guard_failed",
            Self::TransformFailed { .. } => "transform_failed",
            Self::NotApproved { .. } => "not_approved",
            Self::Overtaken { .. } => "overtaken",
            Self::OnePerTurn { .. } => "one_handoff_per_turn",
            Self::Duplicate { .. } => "duplicate_handoff",
        }
    }

    /// What the sender's model is told: also who is legal, where it may want another receiver.
    pub(crate) fn told<'a>(&self, legal: impl Iterator<Item = &'a AgentName>) -> ToolOutput {
        self.told_with(legal, None)
    }

    /// What is said of it to a model. What code of one's own says of its failure may hold what no model is to read: it stands
    /// in the refusal, for whoever runs the relay.
    fn detail(&self) -> String {
        match self {
            Self::GuardFailed { guard, to, .. } => format!("{guard} could not judge the handoff to {to}"),
            Self::TransformFailed { transform, .. } => format!("{transform} could not change the package"),
            _ => self.to_string(),
        }
    }

    /// As [`told`](Self::told), with what a person has said to the refusal.
    pub(crate) fn told_with<'a>(
        &self,
        legal: impl Iterator<Item = &'a AgentName>,
        decision: Option<&str>,
    ) -> ToolOutput {
        #[derive(Serialize)]
        struct Told<'a> {
            error: &'static str,
            detail: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            legal: Option<Vec<&'a AgentName>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            decision: Option<&'a str>,
        }
        let wants_another =
            matches!(self.guard(), Guard::Known | Guard::Myself | Guard::Route | Guard::Ready);
        let legal = wants_another.then(|| legal.collect());
        let told = Told { error: self.code(), detail: self.detail(), legal, decision };
        ToolOutput::error(self.code(), serde_json::to_string(&told).unwrap_or_default())
    }
}

/// What is wrong with a package: which rule, where, what was found, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum PackageError {
    /// The text is no JSON.
    #[error("{}no JSON: {detail}", at(path))]
    NotJson {
        /// The member, empty for the whole.
        path: String,
        /// What the reader says, with line and column.
        detail: String,
    },
    /// The input is so large that it is not read.
    #[error("{bytes} bytes of input, at most {most} are read")]
    InputTooLarge {
        /// Bytes found.
        bytes: usize,
        /// The law.
        most: usize,
    },
    /// A member must be there.
    #[error("`{field}` is missing")]
    Missing {
        /// The member.
        field: String,
    },
    /// A member must have content.
    #[error("`{field}` is blank")]
    Blank {
        /// The member.
        field: String,
    },
    /// A value is of another type.
    #[error("`{path}` is {found}, must be {expected}")]
    WrongType {
        /// The member.
        path: String,
        /// The type that would be right.
        expected: String,
        /// The type found.
        found: String,
    },
    /// A member that no package has.
    #[error("`{field}` is no member of a package; legal: {legal}")]
    UnknownField {
        /// The member.
        field: String,
        /// The members that are legal.
        legal: String,
    },
    /// An argument that the tool does not have, in a call whose arguments are no package.
    #[error("`{field}` is no argument; legal: {legal}")]
    UnknownArgument {
        /// The argument.
        field: String,
        /// The arguments that are legal.
        legal: String,
    },
    /// A version of the package's form that is not known here.
    #[error("version {found} of the package is not known here; this is version 1")]
    UnknownVersion {
        /// The version found.
        found: String,
    },
    /// A key stands twice in one object.
    #[error("`{path}` stands twice")]
    DuplicateKey {
        /// The member.
        path: String,
    },
    /// Lists and objects are nested too deep.
    #[error("`{path}` is nested deeper than {most}")]
    TooDeep {
        /// Where.
        path: String,
        /// The law.
        most: usize,
    },
    /// An object has too many members.
    #[error("{}{found} members, at most {most}", at(path))]
    TooManyKeys {
        /// The object, empty for the whole.
        path: String,
        /// Members found.
        found: usize,
        /// The law.
        most: usize,
    },
    /// There are too many values in all.
    #[error("more than {most} values")]
    TooManyValues {
        /// The law.
        most: usize,
    },
    /// A string is too long.
    #[error("`{path}` has {bytes} bytes, at most {most}")]
    StringTooLong {
        /// The member.
        path: String,
        /// Bytes found.
        bytes: usize,
        /// The law.
        most: usize,
    },
    /// A key is no identifier.
    #[error("{}the key {found:?} is no ASCII identifier of 1 to 128 bytes", at(path))]
    IllegalKey {
        /// The object, empty for the whole.
        path: String,
        /// The key.
        found: String,
    },
    /// A number that readers would not agree on.
    #[error("`{path}`: the number {found} would be changed by a reader; write it as a string")]
    InexactNumber {
        /// The member.
        path: String,
        /// The number's text.
        found: String,
    },
    /// A character that no text of a package may have.
    #[error("`{path}` holds the character {found}, which is not allowed")]
    ForbiddenCharacter {
        /// The member.
        path: String,
        /// The character's code.
        found: String,
    },
    /// The package is larger than a cap of the route's policy.
    #[error("{cap}: {found}, at most {most}")]
    OverCap {
        /// Which cap.
        cap: String,
        /// The size found.
        found: usize,
        /// The cap's value.
        most: usize,
    },
    /// A text that is none of the legal ones.
    #[error("`{path}` is {found:?}; legal: {legal}")]
    NotOneOf {
        /// The member.
        path: String,
        /// The text found.
        found: String,
        /// The texts that are legal.
        legal: String,
    },
    /// An artifact that is a reference, on a route that takes values alone.
    #[error("`{path}` is a reference; this route takes values alone")]
    NoReferences {
        /// The member.
        path: String,
    },
    /// A reference of no form that there is.
    #[error(
        "`{path}` is no reference: it is {{\"$result_of\": \"<tool or call id>\"}}, or {{\"$artifact\": \"<name>\"}} with a `version` beside it or none"
    )]
    BrokenReference {
        /// The member.
        path: String,
    },
    /// A reference under another name than its artifact has.
    #[error("`{path}` refers to {found:?}: an artifact keeps its name")]
    RenamedArtifact {
        /// The member.
        path: String,
        /// The name in the reference.
        found: String,
    },
    /// A reference to what is not there.
    #[error("`{path}` refers to {found:?}, which is not there; there is: {there}")]
    DanglingReference {
        /// The member.
        path: String,
        /// What it refers to.
        found: String,
        /// What could have been meant.
        there: String,
    },
    /// A reference to the result of a call that failed.
    #[error("`{path}` refers to {found:?}, whose newest result is an error")]
    FailedResult {
        /// The member.
        path: String,
        /// The tool, or the call.
        found: String,
    },
    /// A reference to a version that is not the newest.
    #[error("`{path}` is stale: it is version {version}, the newest is {newest}")]
    StaleArtifact {
        /// The member.
        path: String,
        /// The version asked for.
        version: u32,
        /// The newest version.
        newest: u32,
    },
    /// An artifact that would cross by reference where code changes what crosses, and so has to see it.
    #[error("`{path}` has {bytes} bytes and would cross by reference; values alone cross on this route")]
    ValuesAlone {
        /// The member.
        path: String,
        /// Bytes of the value as compact JSON.
        bytes: usize,
    },
    /// Another value for an artifact that code keeps.
    #[error("`{path}` is kept by code, now at version {version}; no package gives it another value")]
    KeptByCode {
        /// The member.
        path: String,
        /// The newest version.
        version: u32,
    },
    /// A member that code writes on this route, and no model.
    #[error("`{path}` is written by code on this route; leave it out")]
    WrittenByCode {
        /// The member.
        path: String,
    },
    /// A message, or a list of them, where a task and its data belong.
    #[error(
        "`{path}` holds a message (`role` and `content`); a package carries a task and its data, never a history"
    )]
    HistoryInPackage {
        /// Where.
        path: String,
    },
}

impl PackageError {
    /// The member that it is about; empty for the whole.
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::NotJson { path, .. }
            | Self::WrongType { path, .. }
            | Self::DuplicateKey { path }
            | Self::TooDeep { path, .. }
            | Self::TooManyKeys { path, .. }
            | Self::StringTooLong { path, .. }
            | Self::IllegalKey { path, .. }
            | Self::InexactNumber { path, .. }
            | Self::ForbiddenCharacter { path, .. }
            | Self::NotOneOf { path, .. }
            | Self::NoReferences { path }
            | Self::BrokenReference { path }
            | Self::RenamedArtifact { path, .. }
            | Self::DanglingReference { path, .. }
            | Self::FailedResult { path, .. }
            | Self::StaleArtifact { path, .. }
            | Self::ValuesAlone { path, .. }
            | Self::KeptByCode { path, .. }
            | Self::WrittenByCode { path }
            | Self::HistoryInPackage { path } => path,
            Self::Missing { field }
            | Self::Blank { field }
            | Self::UnknownField { field, .. }
            | Self::UnknownArgument { field, .. } => field,
            Self::OverCap { .. }
            | Self::InputTooLarge { .. }
            | Self::UnknownVersion { .. }
            | Self::TooManyValues { .. } => "",
        }
    }

    /// The error in the words of a delegate's call, in which the task is the `question`.
    pub(crate) fn of_question(self) -> Self {
        let renamed = |name: String| if name == "task" { "question".to_owned() } else { name };
        match self {
            Self::Blank { field } => Self::Blank { field: renamed(field) },
            Self::HistoryInPackage { path } => Self::HistoryInPackage { path: renamed(path) },
            Self::OverCap { cap, found, most } => {
                Self::OverCap { cap: cap.replace("of the task", "of the question"), found, most }
            }
            other => other,
        }
    }
}

/// The first few of what may be a thousand, and how many more there are.
pub(crate) fn first(errors: &[PackageError]) -> String {
    const TOLD: usize = 8;
    match errors.len().checked_sub(TOLD) {
        Some(more @ 1..) => format!("{}, and {more} more", list(&errors[..TOLD])),
        _ => list(errors),
    }
}

pub(crate) fn list(items: &[impl Display]) -> String {
    if items.is_empty() {
        return "none".to_owned();
    }
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Texts of a model, each in quotes: the first few, and how many there are besides.
pub(crate) fn quoted(texts: &[impl AsRef<str>]) -> String {
    const TOLD: usize = 16;
    let told: Vec<String> = texts.iter().take(TOLD).map(|text| format!("{:?}", text.as_ref())).collect();
    match texts.len().checked_sub(TOLD) {
        Some(more @ 1..) => format!("{}, and {more} more", list(&told)),
        _ => list(&told),
    }
}

fn path(chain: &[AgentName]) -> String {
    chain.iter().map(AgentName::as_str).collect::<Vec<_>>().join(" → ")
}

fn nearest(name: &Option<AgentName>) -> String {
    name.as_ref().map(|name| format!("; the nearest is {name}")).unwrap_or_default()
}

fn at(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("`{path}`: ") }
}

/// A mistake as a model is told of it: in a word, and in a sentence with what would be right.
pub(crate) fn told(code: &'static str, mistake: &impl Display) -> ToolOutput {
    #[derive(Serialize)]
    struct Told {
        error: &'static str,
        detail: String,
    }
    let told = Told { error: code, detail: mistake.to_string() };
    ToolOutput::error(code, serde_json::to_string(&told).unwrap_or_default())
}
