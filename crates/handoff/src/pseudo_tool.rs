//! The tool that no function stands behind.

use sommelier_protocol::{RawJson, ToolDefinition, ToolName, ToolUse};

use crate::artifact::{READ_ARTIFACT, Which};
use crate::completion::{COMPLETE_HANDOFF, Report};
use crate::field::list;
use crate::law::{self, Arguments};
use crate::question::{ASK_HUMAN, Wording};
use crate::{Field, Fields, HandoffPackage, Json, PackageError, PackagePolicy, Section};

/// The name of the pseudo-tool: the model calls it like any tool, and the relay takes the call as the wish
/// to hand over the turn.
pub const HANDOFF_TO_SPECIALIST: &str = "handoff_to_specialist";

/// The names of tools that are kept: no agent has a tool of its own, or a delegate, under one of them.
pub(crate) const KEPT: [&str; 4] = [HANDOFF_TO_SPECIALIST, ASK_HUMAN, COMPLETE_HANDOFF, READ_ARTIFACT];

/// A legal receiver, as the sender's model is told of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receiver<'a> {
    pub(crate) name: &'a str,
    pub(crate) purpose: &'a str,
    pub(crate) policy: &'a PackagePolicy,
    pub(crate) references: bool,
    pub(crate) returns: bool,
    pub(crate) with_user_words: bool,
}

impl Receiver<'_> {
    /// Name, what it is for, and what its package must fill besides the context.
    fn told(&self) -> String {
        let mut told = self.name.to_owned();
        if !self.purpose.is_empty() {
            told.push_str(": ");
            told.push_str(self.purpose);
        }
        let needs: Vec<&str> = self.policy.required.iter().map(|section| section.as_str()).collect();
        if !needs.is_empty() {
            told.push_str(&format!(" (must have {})", needs.join(", ")));
        }
        if self.references {
            told.push_str(" (takes references)");
        }
        if self.returns {
            told.push_str(" (the turn comes back)");
        }
        if self.with_user_words {
            told.push_str(" (code adds the user's last words, so leave them out)");
        }
        told.push_str(&in_context(self.policy));
        told
    }
}

/// What a policy wants to find in the context, for a description.
fn in_context(policy: &PackagePolicy) -> String {
    let fields: Vec<String> = policy.fields.iter().map(Field::told).collect();
    if fields.is_empty() { String::new() } else { format!(" (in `context`: {})", fields.join("; ")) }
}

/// The pseudo-tool of an agent with these legal receivers.
pub(crate) fn definition(name: ToolName, receivers: &[Receiver<'_>]) -> ToolDefinition {
    let who: Vec<String> = receivers.iter().map(Receiver::told).collect();
    let description = format!(
        "Hands the turn to a specialist, for a need that came up in your work and that none of your tools can meet. \
         {} It sees nothing of this conversation: \
         `task` is one specific question or order, `context` holds just the values it needs for it. \
         Never pass messages. Specialists: {}.",
        what_follows(receivers),
        who.join("; ")
    );
    let schema = RawJson::parse(&schema(receivers)).unwrap_or_else(|_| RawJson::empty_object());
    ToolDefinition::new(name, description, schema)
}

/// The schema of the arguments. What each receiver must be given, whichever it is, is required here too: the description
/// tells it to the model, and a service that holds a model to a schema then gets no package without it.
fn schema(receivers: &[Receiver<'_>]) -> String {
    let legal: Vec<&str> = receivers.iter().map(|receiver| receiver.name).collect();
    let is_required = |section| receivers.iter().all(|receiver| receiver.policy.required.contains(&section));
    let texts = |section: Section, about: &str| {
        let least = if is_required(section) { r#""minItems":1,"# } else { "" };
        let (name, about) = (section.as_str(), RawJson::string(about));
        format!(r#""{name}":{{"type":"array","items":{{"type":"string"}},{least}"description":{about}}}"#)
    };
    let values = |section: Section, members: &str, about: &str| {
        let least = if is_required(section) { r#""minProperties":1,"# } else { "" };
        let (name, about) = (section.as_str(), RawJson::string(about));
        format!(r#""{name}":{{"type":"object",{members}{least}"description":{about}}}"#)
    };
    let artifacts = match receivers.iter().any(|receiver| receiver.references) {
        true => REFERENCES,
        false => "Small results of the work so far, by name.",
    };
    let properties = [
        format!(
            r#""specialist":{{"type":"string","enum":{},"description":"Who takes over."}}"#,
            list(&legal)
        ),
        r#""task":{"type":"string","description":"One specific question or order, complete in itself."}"#
            .to_owned(),
        values(Section::Context, &fields(receivers), "The values needed for the task, by name."),
        texts(Section::Constraints, "What binds whoever works on the task."),
        texts(Section::CompletedSteps, "What is done and not to be done again."),
        texts(Section::OpenItems, "What is still to be done."),
        values(Section::Artifacts, "", artifacts),
    ];
    let sections =
        [Section::Constraints, Section::CompletedSteps, Section::OpenItems, Section::Artifacts].into_iter();
    let sections = sections.filter(|section| is_required(*section)).map(Section::as_str);
    let required: Vec<&str> = ["specialist", "task", "context"].into_iter().chain(sections).collect();
    format!(
        r#"{{"type":"object","properties":{{{}}},"required":{},"additionalProperties":false}}"#,
        properties.join(","),
        list(&required)
    )
}

/// The members of the context's schema: the values that receivers want there, and those that each of them must have. Where
/// two want different values under one name, the schema leaves it open.
fn fields(receivers: &[Receiver<'_>]) -> String {
    let mut known: Vec<(&str, String)> = Vec::new();
    for field in receivers.iter().flat_map(|receiver| &receiver.policy.fields) {
        let schema = field.schema();
        match known.iter_mut().find(|(name, _)| *name == field.name()) {
            Some((_, same)) if *same == schema => {}
            Some((_, other)) => *other = "{}".to_owned(),
            None => known.push((field.name(), schema)),
        }
    }
    if known.is_empty() {
        return String::new();
    }
    let demands = |receiver: &Receiver<'_>, name: &str| {
        receiver.policy.fields.iter().any(|field| field.name() == name && !field.is_optional())
    };
    let is_demanded = |name: &&str| receivers.iter().all(|receiver| demands(receiver, name));
    let required: Vec<&str> = known.iter().map(|(name, _)| *name).filter(is_demanded).collect();
    let properties: Vec<String> =
        known.iter().map(|(name, schema)| format!("{}:{schema}", RawJson::string(name))).collect();
    format!(r#""properties":{{{}}},"required":{},"#, properties.join(","), list(&required))
}

/// What becomes of the sender's turn.
fn what_follows(receivers: &[Receiver<'_>]) -> &'static str {
    let coming_back = receivers.iter().filter(|receiver| receiver.returns).count();
    if coming_back == 0 {
        "Your turn ends with this call; the specialist answers the user."
    } else if coming_back == receivers.len() {
        "The turn comes back to you with the specialist's answer as the result of this call; you answer the user."
    } else {
        "Your turn ends with this call, and the specialist answers the user. Where it says that the turn comes back, the \
         specialist's answer is the result of this call, and you answer the user."
    }
}

/// What artifacts are where a route takes references.
const REFERENCES: &str = "Results of the work so far, by name. Where references are taken, also \
                          {\"$result_of\":\"<tool or call id>\"} for a result you have, \
                          {\"$artifact\":\"<its name>\"} for an artifact you know of.";

/// The tool by which an agent reads artifacts that stand in its package by reference.
pub(crate) fn read_artifact(name: ToolName) -> ToolDefinition {
    let description = "Reads an artifact that stands in your package as {\"$artifact\":\"<name>\",...}. \
                       If there is a newer version by now, it says so: ask for that one then.";
    let schema = r#"{"type":"object","properties":{"name":{"type":"string","description":"The artifact's name."},"version":{"type":"integer","minimum":1,"description":"The version; that of your package when left out."}},"required":["name"],"additionalProperties":false}"#;
    let schema = RawJson::parse(schema).unwrap_or_else(|_| RawJson::empty_object());
    ToolDefinition::new(name, description, schema)
}

/// Reads which artifact is asked for.
pub(crate) fn read_which(call: &ToolUse, most: usize) -> Result<Which, Vec<PackageError>> {
    HandoffPackage::which(members(call, most)?)
}

/// What a call of the pseudo-tool asks for: the receiver as it was written, and the package or what is wrong
/// with it.
pub(crate) struct Wish {
    pub(crate) specialist: Result<String, PackageError>,
    pub(crate) package: Result<HandoffPackage, Vec<PackageError>>,
}

impl Wish {
    /// Reads a call. `most` are the bytes of arguments that a call of the sender may bring: a note of a larger
    /// input stands in the place of one.
    pub(crate) fn read(call: &ToolUse, most: usize) -> Self {
        match arguments(call, most) {
            Ok(Arguments { apart, others }) => {
                let missing = || Err(PackageError::Missing { field: "specialist".to_owned() });
                let package = others.map_err(|error| vec![error]).and_then(HandoffPackage::from_fields);
                let package = package.and_then(|package| package.within_law(call.input().get().len()));
                Self { specialist: apart.map_or_else(missing, |name| name.map(Into::into)), package }
            }
            Err(error) => Self { specialist: Err(error.clone()), package: Err(vec![error]) },
        }
    }
}

/// The tool by which a delegate is asked.
pub(crate) fn question(
    name: ToolName,
    purpose: &str,
    after: &[&str],
    policy: &PackagePolicy,
    has_contract: bool,
) -> ToolDefinition {
    let purpose = if purpose.is_empty() { "Asks a specialist." } else { purpose };
    let after = match after {
        [] => String::new(),
        after => format!(" Needs the finding of {}: ask it in a later reply than that.", after.join(", ")),
    };
    let checked = match has_contract {
        true => {
            " The finding is checked: a status, the ids it rests on as `evidence`, and what it recommends as `action_needed`; whether that is done is for you to decide."
        }
        false => "",
    };
    let description = format!(
        "{purpose} You keep the turn and get a finding.{checked} It sees nothing of this conversation: `question` must stand for \
         itself, ids included. Questions that do not need each other's findings may be asked in one reply.{after}{}",
        in_context(policy)
    );
    let schema = r#"{"type":"object","properties":{"question":{"type":"string","description":"One question, complete in itself, with any ids."},"context":{"type":"object","description":"Values needed for the question, by name."}},"required":["question"],"additionalProperties":false}"#;
    let schema = RawJson::parse(schema).unwrap_or_else(|_| RawJson::empty_object());
    ToolDefinition::new(name, description, schema)
}

/// Reads the question of a call. `most` are the bytes of arguments that a call of the asker may bring.
pub(crate) fn read_question(call: &ToolUse, most: usize) -> Result<HandoffPackage, Vec<PackageError>> {
    HandoffPackage::from_question(members(call, most)?)?.within_law(call.input().get().len())
}

/// The tool by which an agent asks a person.
pub(crate) fn ask_human(name: ToolName) -> ToolDefinition {
    let description = "Asks a person, for what no tool and no specialist can tell: a decision, a fact that only people know. \
                       The work waits for the answer. `choices` are the answers that make sense, if there are few.";
    let schema = r#"{"type":"object","properties":{"question":{"type":"string","description":"One question, complete in itself."},"choices":{"type":"array","items":{"type":"string"},"description":"The answers to choose from; leave it out for an answer in free words."}},"required":["question"],"additionalProperties":false}"#;
    let schema = RawJson::parse(schema).unwrap_or_else(|_| RawJson::empty_object());
    ToolDefinition::new(name, description, schema)
}

/// Reads a question to a person, and the answers to choose from.
pub(crate) fn read_words(call: &ToolUse, most: usize) -> Result<Wording, Vec<PackageError>> {
    HandoffPackage::wording(members(call, most)?)
}

/// The tool by which a receiver ends its work on open items. It is the same for each package, which has the items.
pub(crate) fn complete_handoff(name: ToolName) -> ToolDefinition {
    let description = "Ends your work on the package that you were handed, with your answer. Each of its `open_items` stands, to the \
                       letter, in `done` or in `open`, whichever is true. What you found to be done besides may stand in `open` too. \
                       An answer without this call leaves all of them open. Not beside a handoff.";
    let schema = r#"{"type":"object","properties":{"done":{"type":"array","items":{"type":"string"},"description":"The open items that are done."},"open":{"type":"array","items":{"type":"string"},"description":"Those that are not, and what was found to be open on the way."},"answer":{"type":"string","description":"Your answer, complete in itself."}},"required":["done","open","answer"],"additionalProperties":false}"#;
    let schema = RawJson::parse(schema).unwrap_or_else(|_| RawJson::empty_object());
    ToolDefinition::new(name, description, schema)
}

/// Reads what a receiver says of its open items. One of the two lists may be left out.
pub(crate) fn read_report(call: &ToolUse, most: usize) -> Result<Report, Vec<PackageError>> {
    HandoffPackage::report(members(call, most)?)
}

/// The members of a call's arguments, read under the law.
fn members(call: &ToolUse, most: usize) -> Result<Fields, Vec<PackageError>> {
    is_kept(call, most).map_err(|error| vec![error])?;
    match law::read(call.input().get()).map_err(|error| vec![error])? {
        Json::Object(fields) => Ok(fields),
        other => Err(vec![PackageError::WrongType {
            path: "arguments".to_owned(),
            expected: "an object".to_owned(),
            found: other.kind().to_owned(),
        }]),
    }
}

fn arguments(call: &ToolUse, most: usize) -> Result<Arguments, PackageError> {
    is_kept(call, most)?;
    law::read_arguments(call.input(), "specialist")
}

/// Whether the input of a call stands as the model wrote it: it was not too large, and it is JSON.
fn is_kept(call: &ToolUse, most: usize) -> Result<(), PackageError> {
    if let Some(bytes) = call.withheld_bytes().filter(|bytes| *bytes > most) {
        return Err(PackageError::InputTooLarge { bytes, most: most.min(law::INPUT_BYTES) });
    }
    if let Some(text) = call.broken_input() {
        let detail =
            format!("{}; it begins {:?}", sommelier_runtime::tool::broken(&text), law::shortened(&text));
        return Err(PackageError::NotJson { path: String::new(), detail });
    }
    Ok(())
}
