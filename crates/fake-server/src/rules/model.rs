//! Which models there are and what they are like.

use serde_json::Value;

use super::word;
use crate::breach::{ApiError, Breach};
use crate::{Rule, Settings};

pub(super) fn check(body: &Value, settings: &Settings) -> Result<(), Breach> {
    let model = word(body, "model");
    if settings.models.is_empty() || settings.models.iter().any(|known| known == model) {
        return Ok(());
    }
    Err(Breach::new(Rule::Model, ApiError::new(404, format!("model: {model}"))))
}

/// What an older model takes and a current one refuses, told by its name.
///
/// Names that are not known here are taken for current models.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traits {
    /// The conversation may end with the model's own words, which it goes on from.
    pub(super) takes_prefill: bool,
    /// `thinking` may be `enabled` with a budget of tokens.
    pub(super) takes_budget: bool,
    /// Messages may have the role `system`.
    pub(super) takes_system_role: bool,
}

impl Traits {
    pub(super) fn of(model: &str) -> Self {
        let begins = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
        let is_old = begins(&["claude-instant", "claude-2", "claude-3"])
            || begins(&["claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-2", "claude-opus-4-5"])
            || begins(&["claude-sonnet-4-0", "claude-sonnet-4-2", "claude-sonnet-4-5", "claude-haiku-4-5"]);
        Self {
            takes_prefill: is_old,
            takes_budget: is_old,
            takes_system_role: !is_old && !begins(&["claude-sonnet-5"]),
        }
    }
}
