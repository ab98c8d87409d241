//! Invitations as JSON and as text.

use std::collections::BTreeMap;

use serde::Serialize;
use sommelier_handoff::Millis;
use sommelier_store::{Invitation, RefusedTokens};

use crate::time::shown;
use crate::words::named;

/// An invitation to answer a question.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct InvitationRow {
    /// What its token begins with, by which it is withdrawn. It is no secret.
    pub(crate) id: String,
    pub(crate) run: String,
    pub(crate) question: String,
    /// What was asked when it was issued.
    pub(crate) digest: String,
    /// Who is invited; null where nobody said so.
    pub(crate) to: Option<String>,
    /// Since when, in milliseconds since 1970.
    pub(crate) issued: Millis,
    /// When it is over.
    pub(crate) until: Millis,
}

/// The tokens that were refused.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RefusedRow {
    total: u64,
    /// When the last one was; null where there is none.
    last: Option<Millis>,
    /// How many for each reason.
    reasons: BTreeMap<String, u64>,
}

impl InvitationRow {
    pub(crate) fn of(invitation: &Invitation) -> Self {
        let Invitation { id, conversation, question, digest, whom, issued, until, .. } = invitation;
        Self {
            id: id.clone(),
            run: conversation.clone(),
            question: question.clone(),
            digest: digest.clone(),
            to: whom.clone(),
            issued: *issued,
            until: *until,
        }
    }

    /// The invitation in a line, beneath its question.
    pub(crate) fn line(&self) -> String {
        let to = self.to.as_deref().map(|to| format!("{}, ", named(to))).unwrap_or_default();
        format!("  invited    {to}by invitation {}, until {}", named(&self.id), shown(self.until))
    }
}

impl RefusedRow {
    pub(crate) fn of(refused: RefusedTokens) -> Self {
        let RefusedTokens { total, last, reasons } = refused;
        Self { total, last, reasons }
    }

    /// The counts in a line, if there is anything to count.
    pub(crate) fn line(&self) -> Option<String> {
        let last = self.last?;
        let reasons: Vec<String> =
            self.reasons.iter().map(|(reason, count)| format!("{count} {}", named(reason))).collect();
        Some(format!("Tokens refused: {}, the last at {}: {}.", self.total, shown(last), reasons.join(", ")))
    }
}
