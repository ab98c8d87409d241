//! What the answer of a delegate must be like, and how it is read.
//!
//! An answer is written by a model, and whoever asked will act on it. Under a contract it is one JSON object, read under
//! the [law](crate::law), or it is none: words that only look like an answer do not come back to the asker.

use serde::{Deserialize, Serialize};
use sommelier_protocol::Message;
use sommelier_runtime::Turn;

use crate::evidence::Grounds;
use crate::refusal::list;
use crate::{DelegateStatus, Fields, Json, PackageError, Run, law};

/// Bytes of one id of the evidence.
const ID_BYTES: usize = 128;
/// Ids of the evidence.
const IDS: usize = 32;
/// Errors of one answer that are told and kept.
const TOLD: usize = 8;

/// The members of an answer, in the order in which they are told.
const MEMBERS: [&str; 5] = ["status", "finding", "action_needed", "evidence", "reason"];
/// The values of `status`.
const STATUSES: [DelegateStatus; 3] = [DelegateStatus::Done, DelegateStatus::Partial, DelegateStatus::Failed];

/// What a model is told of its answer's form.
const FORM: &str = "Answer with one JSON object and nothing else: no words around it, no code fence. It has five members. \
                    `status` is \"done\", \"partial\" or \"failed\". `finding` is what you found, in one or two sentences; null only when failed. \
                    `action_needed` is what you recommend to do next, for others to decide, or null. \
                    `evidence` is a list of the ids that bear the finding out, each as it stands in a tool's result, in a finding or in the question. \
                    `reason` is why it is not done; null when it is.";
/// What it is told besides where evidence is wanted.
const WITH_EVIDENCE: &str = " \"done\" needs at least one id that a tool's result or a finding has brought.";
/// What the message begins with that asks for the answer once more.
const BROKEN: &str = "Your answer breaks the contract: ";

/// What an answer of a [delegate](crate::Delegate) must be like: one JSON object of five members.
///
/// | member | what it is |
/// | --- | --- |
/// | `status` | `done`, `partial` or `failed` |
/// | `finding` | what was found, not blank; may be null when `failed` |
/// | `action_needed` | what is recommended to be done next, not blank, or null. The delegate recommends; whoever asked, or a tool that needs approval, decides. |
/// | `evidence` | a list of at most 32 ids of at most 128 bytes each. Each must have a letter or a digit, and stand as a whole in a value of the result of a tool that did not fail, in a finding that the branch got, or in the question. A name of a member is no value. |
/// | `reason` | why it is not done, not blank; null or left out when it is |
///
/// The object stands by itself: no words around it, and no code fence, since whoever reads through wrappings decides what
/// a wrapping is. It is read under the [law](crate::law). The models of the branch are told of the contract with the
/// question, and with each handoff inside the branch whose receiver is to answer it. An answer that breaks it is refused
/// with what is wrong, and the model is asked once more, as often as there are [`repairs`](Self::repairs); each is a model
/// call like any other. Then the branch ends as [`RunEnd::ContractBroken`](crate::RunEnd::ContractBroken), and the asker is
/// told that it failed, by code and place, with no word of the answer.
///
/// ```
/// use sommelier_handoff::{Agent, Contract, Delegate, Relay};
///
/// let billing = Agent::new("billing", "You know the invoices.");
/// let relay = Relay::builder()
///     .agent(Agent::new("supervisor", "You ask the desks and decide."))
///     .delegate("supervisor", Delegate::new("ask_billing", billing).contract(Contract::default().evidence()))
///     .entry("supervisor")
///     .build()?;
/// let told = relay.agent("supervisor").unwrap().definitions()[0].description.as_deref();
/// assert!(told.is_some_and(|told| told.contains("what it recommends as `action_needed`")));
/// # Ok::<(), sommelier_handoff::BuildErrors>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    wants_evidence: bool,
    repairs: u32,
}

impl Default for Contract {
    fn default() -> Self {
        Self { wants_evidence: false, repairs: 1 }
    }
}

impl Contract {
    /// Demands evidence for `done`: at least one id that a tool's result or a finding has brought. One that stands in the
    /// question alone is no sign that anything was done.
    pub fn evidence(self) -> Self {
        Self { wants_evidence: true, ..self }
    }

    /// How often a broken answer is sent back before the branch fails; once when not set.
    pub fn repairs(self, most: u32) -> Self {
        Self { repairs: most, ..self }
    }

    /// What a model is told that is to answer under this contract: a line of its own.
    pub(crate) fn terms(self) -> String {
        [FORM, if self.wants_evidence { WITH_EVIDENCE } else { "" }, "\n"].concat()
    }

    /// The terms that a text begins with, none where it begins with something else, and the rest.
    pub(crate) fn split_terms(text: &str) -> (&str, &str) {
        let terms = [Self::default().evidence(), Self::default()].map(Self::terms);
        let length = terms.iter().find(|terms| text.starts_with(terms.as_str())).map_or(0, String::len);
        text.split_at(length)
    }

    /// Whether a text on the user's side is the one that sends a broken answer back. For a model that is code: it begins
    /// nothing anew.
    ///
    /// ```
    /// assert!(!sommelier_handoff::Contract::is_sent_back("Was INV-311 paid?"));
    /// ```
    pub fn is_sent_back(text: &str) -> bool {
        let terms = [Self::default(), Self::default().evidence()].map(Self::terms);
        text.starts_with(BROKEN) && terms.iter().any(|terms| text.ends_with(terms.trim_end()))
    }

    /// The message that asks for the answer once more.
    fn asks_again(self, errors: &[ContractError]) -> String {
        [BROKEN, &list(errors), ". Give the whole answer again. ", self.terms().trim_end()].concat()
    }

    /// What an answer states, which `turn` gave in `run`.
    fn read(self, answer: &str, run: &Run, turn: &Turn) -> Result<Stated, Vec<ContractError>> {
        let read = fields(answer).map_err(|error| vec![error]).and_then(Stated::from_fields);
        let read = read.and_then(|stated| {
            let errors = self.unfounded(&stated, run, turn);
            if errors.is_empty() { Ok(stated) } else { Err(errors) }
        });
        read.map_err(|mut errors| {
            errors.truncate(TOLD);
            errors
        })
    }

    /// The ids that nothing bears out, and whether there is none where one must be.
    fn unfounded(self, stated: &Stated, run: &Run, turn: &Turn) -> Vec<ContractError> {
        let wants_one = self.wants_evidence && stated.status == DelegateStatus::Done;
        if stated.evidence.is_empty() {
            return if wants_one { vec![ContractError::NoEvidence] } else { Vec::new() };
        }
        let grounds = Grounds::of(run, turn);
        let unfounded = stated.evidence.iter().enumerate().filter(|(_, id)| !grounds.bear_out(id));
        let mut errors: Vec<_> =
            unfounded.map(|(place, id)| ContractError::Unfounded { place, id: law::shortened(id) }).collect();
        if wants_one && errors.is_empty() && !stated.evidence.iter().any(|id| grounds.were_found(id)) {
            errors.push(ContractError::NoEvidence);
        }
        errors
    }
}

/// A contract that the answer of a branch has to keep, and how often a broken one may still be sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Owed {
    pub(crate) contract: Contract,
    repairs_left: u32,
}

impl Owed {
    pub(crate) fn of(contract: Contract) -> Self {
        Self { contract, repairs_left: contract.repairs }
    }

    pub(crate) fn may_ask_again(self) -> bool {
        self.repairs_left > 0
    }

    /// The message that asks for the answer once more, which is one time less from then on.
    pub(crate) fn ask_again(&mut self, errors: &[ContractError]) -> String {
        self.repairs_left = self.repairs_left.saturating_sub(1);
        self.contract.asks_again(errors)
    }

    /// Whether so many broken answers were sent back as these messages show. Only code writes in the user's name here, so
    /// no model can have written one.
    pub(crate) fn adds_up<'a>(self, messages: impl Iterator<Item = &'a Message>) -> bool {
        let is_by_code = |message: &&Message| message.role == sommelier_protocol::Role::User;
        let sent_back = messages.filter(is_by_code).flat_map(Message::texts);
        let sent_back = sent_back.filter(|text| Contract::is_sent_back(text)).count();
        self.contract.repairs.checked_sub(self.repairs_left).map(usize::try_from) == Some(Ok(sent_back))
    }
}

/// What an answer under a contract states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stated {
    pub(crate) status: DelegateStatus,
    pub(crate) finding: Option<Box<str>>,
    pub(crate) action_needed: Option<Box<str>>,
    pub(crate) evidence: Vec<Box<str>>,
    pub(crate) reason: Option<Box<str>>,
}

impl Run {
    /// The contract that the answer of the agent with the turn has to keep. An answer that another agent of the run waits
    /// for is that one's affair.
    pub(crate) fn contract(&self) -> Option<Contract> {
        self.extra().owed.filter(|_| !self.is_awaited()).map(|owed| owed.contract)
    }

    /// What the words of a turn state, or why they break the contract; `None` where there is none.
    pub(crate) fn stated(&self, words: &str, turn: &Turn) -> Option<Result<Stated, Vec<ContractError>>> {
        self.contract().map(|contract| contract.read(words, self, turn))
    }
}

/// The object that an answer is, read under the law.
fn fields(answer: &str) -> Result<Fields, ContractError> {
    let answer = answer.trim();
    if answer.starts_with("```") {
        return Err(ContractError::CodeFence);
    }
    if !answer.starts_with('{') {
        return Err(ContractError::FreeText { begins: law::shown(&law::shortened(answer)) });
    }
    match law::read(answer).map_err(ContractError::from)? {
        Json::Object(fields) => Ok(fields),
        other => Err(wrong_type("answer", "an object", &other)),
    }
}

impl Stated {
    fn from_fields(mut fields: Fields) -> Result<Self, Vec<ContractError>> {
        let mut errors = Vec::new();
        let mut keep = |error: ContractError| errors.push(error);
        let status = status(&mut fields).map_err(&mut keep).ok();
        let finding = text(&mut fields, "finding").map_err(&mut keep).ok();
        let action_needed = text(&mut fields, "action_needed").map_err(&mut keep).ok();
        let (evidence, unfit) = evidence(&mut fields);
        errors.extend(unfit);
        let reason = match fields.get("reason") {
            None => Some(None),
            Some(_) => text(&mut fields, "reason").map_err(|error| errors.push(error)).ok(),
        };
        errors.extend(
            fields.iter().map(|(member, _)| ContractError::UnknownMember { found: law::shortened(member) }),
        );
        let is_done = status == Some(DelegateStatus::Done);
        if finding == Some(None) && status.is_some_and(|status| status != DelegateStatus::Failed) {
            errors.push(wrong_type("finding", "a string, unless it is failed", &Json::Null));
        }
        match (&reason, status) {
            (Some(Some(_)), _) if is_done => errors.push(ContractError::ReasonOfDone),
            (Some(None), Some(_)) if !is_done => {
                errors.push(wrong_type("reason", "a string, unless it is done", &Json::Null));
            }
            _ => {}
        }
        match (status, finding, action_needed, reason) {
            (Some(status), Some(finding), Some(action_needed), Some(reason)) if errors.is_empty() => {
                Ok(Self { status, finding, action_needed, evidence, reason })
            }
            _ => Err(errors),
        }
    }
}

fn status(fields: &mut Fields) -> Result<DelegateStatus, ContractError> {
    let Some(found) = fields.take("status") else { return Err(missing("status")) };
    let Json::String(word) = found else { return Err(wrong_type("status", "a string", &found)) };
    let status = STATUSES.into_iter().find(|status| status.as_str() == &*word);
    status.ok_or_else(|| {
        let (path, found) = ("status".to_owned(), law::shortened(&word));
        let legal = STATUSES.map(DelegateStatus::as_str).join(", ");
        PackageError::NotOneOf { path, found, legal }.into()
    })
}

/// A member that is a text that can be seen, or null.
fn text(fields: &mut Fields, name: &str) -> Result<Option<Box<str>>, ContractError> {
    match fields.take(name) {
        None => Err(missing(name)),
        Some(Json::Null) => Ok(None),
        Some(Json::String(text)) if law::is_blank(&text) => Err(blank(name.to_owned())),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong_type(name, "a string or null", &other)),
    }
}

fn evidence(fields: &mut Fields) -> (Vec<Box<str>>, Vec<ContractError>) {
    let items = match fields.take("evidence") {
        None => return (Vec::new(), vec![missing("evidence")]),
        Some(Json::Array(items)) => items,
        Some(other) => return (Vec::new(), vec![wrong_type("evidence", "a list of strings", &other)]),
    };
    if items.len() > IDS {
        let (found, cap) = (items.len(), "ids of the evidence".to_owned());
        return (Vec::new(), vec![PackageError::OverCap { cap, found, most: IDS }.into()]);
    }
    let (mut ids, mut errors) = (Vec::with_capacity(items.len()), Vec::new());
    for (place, item) in items.into_iter().enumerate() {
        let path = format!("evidence.{place}");
        match item {
            Json::String(id) if law::is_blank(&id) => errors.push(blank(path)),
            Json::String(id) if id.len() > ID_BYTES => {
                let (bytes, most) = (id.len(), ID_BYTES);
                errors.push(PackageError::StringTooLong { path, bytes, most }.into());
            }
            Json::String(id) => ids.push(id),
            other => errors.push(wrong_type(&path, "a string", &other)),
        }
    }
    (ids, errors)
}

fn missing(field: &str) -> ContractError {
    PackageError::Missing { field: field.to_owned() }.into()
}

fn blank(field: String) -> ContractError {
    PackageError::Blank { field }.into()
}

fn wrong_type(path: &str, expected: &str, found: &Json) -> ContractError {
    let (path, expected, found) = (path.to_owned(), expected.to_owned(), found.kind().to_owned());
    PackageError::WrongType { path, expected, found }.into()
}

/// In what an answer breaks its contract. What it quotes is short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ContractError {
    /// The answer is words, or begins with some.
    #[error("it must be one JSON object by itself; it begins {begins:?}")]
    FreeText {
        /// How it begins.
        begins: String,
    },
    /// The answer stands in a code fence.
    #[error("the object must stand by itself, without a code fence")]
    CodeFence,
    /// The answer breaks the [law](crate::law), or a member is missing, blank, too long or of another type.
    #[error(transparent)]
    Form(#[from] PackageError),
    /// A member that no answer has.
    #[error("`{found}` is no member of an answer; legal: {}", MEMBERS.join(", "))]
    UnknownMember {
        /// The member.
        found: String,
    },
    /// There is a reason why it is not done, and it is.
    #[error("`reason` is why it is not done; for \"done\" it must be null")]
    ReasonOfDone,
    /// It is `done` and nothing shows that anything was done.
    #[error(
        "`evidence` must hold at least one id that a tool's result or a finding has brought, or it is not \"done\""
    )]
    NoEvidence,
    /// An id that nothing bears out.
    #[error(
        "`evidence.{place}` is {id:?}, which stands in no tool's result, no finding and not in the question"
    )]
    Unfounded {
        /// Its place in the evidence.
        place: usize,
        /// The id.
        id: String,
    },
}

impl ContractError {
    /// The error in a word.
    pub fn code(&self) -> &'static str {
        match self {
            Self::FreeText { .. } => "free_text",
            Self::CodeFence => "code_fence",
            Self::Form(error) => match error {
                PackageError::NotJson { .. } => "not_json",
                PackageError::Missing { .. } => "missing",
                PackageError::Blank { .. } => "blank",
                PackageError::WrongType { .. } => "wrong_type",
                PackageError::NotOneOf { .. } => "not_one_of",
                PackageError::DuplicateKey { .. } => "duplicate_key",
                PackageError::InputTooLarge { .. }
                | PackageError::StringTooLong { .. }
                | PackageError::OverCap { .. } => "too_large",
                _ => "unlawful",
            },
            Self::UnknownMember { .. } => "unknown_member",
            Self::ReasonOfDone => "reason_of_done",
            Self::NoEvidence => "no_evidence",
            Self::Unfounded { .. } => "unfounded",
        }
    }

    /// The member that it is about, `answer` where it is none of the five: no word that a model wrote.
    pub fn place(&self) -> &'static str {
        let path = match self {
            Self::Form(error) => error.path(),
            Self::ReasonOfDone => "reason",
            Self::NoEvidence | Self::Unfounded { .. } => "evidence",
            Self::FreeText { .. } | Self::CodeFence | Self::UnknownMember { .. } => "",
        };
        let member = path.split('.').next().unwrap_or_default();
        MEMBERS.into_iter().find(|name| *name == member).unwrap_or("answer")
    }

    /// The error as those are told who must not look inside.
    pub(crate) fn told(&self) -> String {
        format!("{} at {}", self.code(), self.place())
    }
}
