//! Putting structured findings together.

use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What becomes of a key to which several parts gave different values. Either way the conflict is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// The value of the part that stands first.
    KeepFirst,
    /// The value of the part that stands last.
    KeepLast,
    /// No value.
    LeaveOut,
}

/// Parts put together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Merged {
    /// The values by key.
    pub values: BTreeMap<String, Value>,
    /// The keys to which several parts gave different values.
    pub conflicts: Vec<Conflict>,
}

/// A key to which several parts gave different values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Conflict {
    /// The key.
    pub key: String,
    /// Each value with the part that gave it, in the order of the parts.
    pub given: Vec<(String, Value)>,
}

/// Puts the objects of several parts together. The order of the parts decides, and never which of them came first: the
/// same parts give the same whole.
///
/// ```
/// use serde_json::json;
/// use sommelier_patterns::{OnConflict, merge};
///
/// let part = |value: serde_json::Value| value.as_object().cloned().unwrap_or_default();
/// let merged = merge(
///     [("pricing", part(json!({"cents": 8000, "room": "Studio"}))), ("policy", part(json!({"cents": 9000})))],
///     OnConflict::LeaveOut,
/// );
/// assert_eq!(merged.values, [("room".to_owned(), json!("Studio"))].into());
/// assert_eq!(merged.conflicts[0].key, "cents");
/// ```
pub fn merge<'a>(parts: impl IntoIterator<Item = (&'a str, Map<String, Value>)>, rule: OnConflict) -> Merged {
    let mut given: BTreeMap<String, Vec<(String, Value)>> = BTreeMap::new();
    for (part, values) in parts {
        for (key, value) in values {
            given.entry(key).or_default().push((part.to_owned(), value));
        }
    }
    let mut merged = Merged::default();
    for (key, given) in given {
        let kept = match rule {
            OnConflict::KeepFirst => given.first(),
            OnConflict::KeepLast => given.last(),
            OnConflict::LeaveOut => None,
        };
        let is_conflict = given.windows(2).any(|pair| pair[0].1 != pair[1].1);
        let kept = if is_conflict { kept } else { given.first() };
        if let Some((_, value)) = kept {
            merged.values.insert(key.clone(), value.clone());
        }
        if is_conflict {
            merged.conflicts.push(Conflict { key, given });
        }
    }
    merged
}
