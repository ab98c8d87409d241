//! Counts as people say them.

use std::fmt::Display;

/// The number with what is counted, in the singular where there is one of it.
pub(crate) fn counted(number: impl Display, one: &str, more: &str) -> String {
    let number = number.to_string();
    let what = if number == "1" { one } else { more };
    format!("{number} {what}")
}
