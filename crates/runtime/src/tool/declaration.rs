//! What a tool's author declares of it beyond its name and its arguments.

use serde::Serialize;
use serde_json::Value;
use sommelier_protocol::{RawJson, ToolUse};
use std::fmt;
use std::sync::Arc;

use super::{CallContext, Effect, Found, Members, canonical};

pub(super) type Query = dyn Fn(&CallContext<'_>) -> Found + Send + Sync;

/// What a tool declares of itself: of its effect, of what makes two calls the same, and of what must not be kept. As JSON
/// it is part of the fingerprint of a definition.
#[derive(Clone, Default, Serialize)]
pub struct Declaration {
    pub(super) effect: Effect,
    #[serde(skip)]
    pub(super) query: Option<Arc<Query>>,
    pub(super) business_key: Vec<Box<str>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) per_conversation: bool,
    pub(super) undoes: Option<Undoes>,
    pub(super) secrets: Vec<Box<str>>,
    pub(super) secret_results: Vec<Box<str>>,
    pub(super) key_argument: Option<Box<str>>,
}

impl Declaration {
    /// What the tool's effect is like.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// The members of the arguments that say which effect a call is for.
    pub fn business_key(&self) -> &[Box<str>] {
        &self.business_key
    }

    /// Whether two conversations may each have an effect of the same business key.
    pub fn is_per_conversation(&self) -> bool {
        self.per_conversation
    }

    /// Whose effect the tool undoes.
    pub fn undoes(&self) -> Option<&Undoes> {
        self.undoes.as_ref()
    }

    /// The members of the arguments that must not be kept, by their paths.
    pub fn secrets(&self) -> &[Box<str>] {
        &self.secrets
    }

    /// The members of the result that must not be kept, by their paths.
    pub fn secret_results(&self) -> &[Box<str>] {
        &self.secret_results
    }

    /// The member of the arguments in which the function gets the call's idempotency key.
    pub fn key_argument(&self) -> Option<&str> {
        self.key_argument.as_deref()
    }

    /// What `call` would do, as a text that is the same for equal values: see
    /// [`ToolTable::business_key`](super::ToolTable::business_key).
    pub(super) fn key_of(&self, call: &ToolUse) -> Option<String> {
        if self.business_key.is_empty() || call.broken_input().is_some() {
            return None;
        }
        let members: Members = call.input().read().ok()?;
        Some(canonical::object(self.business_key.iter().map(|name| (&**name, members.get(name)))))
    }

    /// The arguments with `key` where the function looks for it; `None` where it looks for none.
    pub(super) fn filled(&self, input: &RawJson, key: &str) -> Option<RawJson> {
        let name = self.key_argument.as_deref()?;
        let mut members: Members = input.read().ok()?;
        // At the end, so that what is wrong with the model's own arguments is told with their places.
        members.remove(name);
        members.set(name, RawJson::string(key));
        RawJson::of(&members).ok()
    }

    /// Whether a model has written the member that is filled for it.
    pub(super) fn ignores_key_of(&self, call: &ToolUse) -> bool {
        let written = |name| call.input().read::<Members>().is_ok_and(|members| members.get(name).is_some());
        self.key_argument.as_deref().is_some_and(written)
    }

    /// What does not fit the schema of all arguments, or itself.
    pub(super) fn fault(&self, schema: &RawJson) -> Option<ToolFault> {
        let schema: Value = schema.read().unwrap_or_default();
        let of = |names: &[Box<str>], mark| names.iter().map(|name| (name.clone(), mark)).collect::<Vec<_>>();
        let undoes = self.undoes.iter().map(|undoes| (undoes.member.clone(), Mark::Undoes));
        let key = self.key_argument.iter().map(|name| (name.clone(), Mark::KeyArgument));
        let mut named = of(&self.business_key, Mark::BusinessKey);
        named.extend(undoes.chain(key));
        let plain = named.iter().find(|(name, _)| declared(&schema, &[name]).is_none());
        let secrets = of(&self.secrets, Mark::Secret);
        let nested = secrets
            .iter()
            .find(|(path, _)| declared(&schema, &path.split('.').collect::<Vec<_>>()).is_none());
        if let Some((member, mark)) = plain.or(nested) {
            return Some(ToolFault::NoMember { member: member.clone(), mark: *mark });
        }
        let key = self.key_argument.as_ref();
        if let Some(member) =
            key.filter(|name| declared(&schema, &[name]).is_none_or(|of| of["type"] != "string"))
        {
            return Some(ToolFault::NoText { member: member.clone() });
        }
        let kept = named.into_iter().find(|(name, mark)| match mark {
            Mark::BusinessKey | Mark::Undoes => key == Some(name) || self.hides(name),
            Mark::KeyArgument | Mark::Secret => self.hides(name),
        });
        kept.map(|(member, mark)| ToolFault::NotItself { member, mark })
    }

    /// Whether all or a part of a member of the arguments is a secret.
    fn hides(&self, member: &str) -> bool {
        self.secrets.iter().any(|path| path.split('.').next() == Some(member))
    }
}

impl fmt::Debug for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Declaration")
            .field("effect", &self.effect)
            .field("business_key", &self.business_key)
            .field("per_conversation", &self.per_conversation)
            .field("undoes", &self.undoes)
            .field("secrets", &self.secrets)
            .field("secret_results", &self.secret_results)
            .field("key_argument", &self.key_argument)
            .finish_non_exhaustive()
    }
}

/// The schema at `path`, whose items are looked at where it is a list. A schema on the way that names no members may have
/// any, and is given as it is.
fn declared<'a>(schema: &'a Value, path: &[&str]) -> Option<&'a Value> {
    let Some((member, rest)) = path.split_first() else { return Some(schema) };
    let mut schema = schema;
    while let Some(items) = schema.get("items") {
        schema = items;
    }
    match schema.get("properties") {
        Some(properties) => declared(properties.get(member)?, rest),
        None => Some(schema),
    }
}

/// Whose effect a tool undoes: that of a call of `tool` in whose result stands, at `member`, what this tool's call has
/// there in its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Undoes {
    pub(super) tool: Box<str>,
    pub(super) member: Box<str>,
}

impl Undoes {
    /// The tool whose effect is undone.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The member of that tool's result, and of this one's arguments.
    pub fn member(&self) -> &str {
        &self.member
    }

    /// The value by which `call` names what it undoes, as a text that is the same for equal values. `None` where it names
    /// nothing.
    pub fn named_by(&self, call: &ToolUse) -> Option<String> {
        self.value(call.input())
    }

    /// The value by which the effect of a call with this `result` is named, in the same form. `None` where the result has
    /// none.
    pub fn named_in(&self, result: &str) -> Option<String> {
        self.value(&RawJson::parse(result).ok()?)
    }

    fn value(&self, object: &RawJson) -> Option<String> {
        let members: Members = object.read().ok()?;
        let value = members.get(&self.member).filter(|value| value.get() != "null")?;
        let mut text = String::new();
        canonical::write(value, &mut text);
        Some(text)
    }
}

/// What a member of a tool's arguments is declared to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A part of the business key.
    BusinessKey,
    /// What names the effect that is undone.
    Undoes,
    /// A secret.
    Secret,
    /// Where the idempotency key is filled in.
    KeyArgument,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BusinessKey => "a part of its business key",
            Self::Undoes => "what names the effect that it undoes",
            Self::Secret => "a secret",
            Self::KeyArgument => "where its key is filled in",
        })
    }
}

/// What a tool declares of itself and cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolFault {
    /// A member is named that the arguments do not have.
    #[error("names {member:?} as {mark}, and has no such argument")]
    NoMember {
        /// The member, or the path to it.
        member: Box<str>,
        /// What it is declared to be.
        mark: Mark,
    },
    /// The key would be filled in where no text can stand.
    #[error("names {member:?} as {}, which must be a text", Mark::KeyArgument)]
    NoText {
        /// The member.
        member: Box<str>,
    },
    /// A member says which effect a call is for, and so is kept and compared, and at the same time is hidden or filled in.
    #[error("names {member:?} as {mark}, which is kept and compared, and also as a secret or as its key")]
    NotItself {
        /// The member.
        member: Box<str>,
        /// What it is declared to be besides.
        mark: Mark,
    },
    /// The tool whose effect it undoes is none of the agent's.
    #[error("undoes {tool:?}, which the agent does not have")]
    UndoesNothing {
        /// The tool that is not there.
        tool: Box<str>,
    },
}
