//! What a person is asked, and what a person says.

use sommelier_protocol::RawJson;

use crate::{Answer, Asks};

/// A question to a person, as the model writes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Inquiry {
    Free(u8),
    Choices,
    Blank,
    OddMember,
    BrokenJson,
}

/// What a person says, as far as the question lets them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Saying {
    Yes,
    No,
    TakeOver,
}

/// What becomes of calls that need approval and have none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Gate {
    /// They run all the same: somebody at the driver has approved them.
    Run,
    Deny,
    /// A person is asked about each.
    Ask,
    /// A person is asked about the first of them.
    AskOne,
}

impl Inquiry {
    pub(super) fn written(self, secret: &str) -> String {
        match self {
            Self::Free(n) => format!(r#"{{"question":"may I {n}?"}}"#),
            Self::Choices => r#"{"question":"which?","choices":["ada","bob"]}"#.to_owned(),
            Self::Blank => r#"{"question":" "}"#.to_owned(),
            Self::OddMember => format!(r#"{{"question":"may I?","history":{}}}"#, RawJson::string(secret)),
            Self::BrokenJson => format!(r#"{{"question":"{secret}"#),
        }
    }

    /// The question and the answers to choose from, when it is one.
    pub(super) fn asked(self) -> Option<(String, &'static [&'static str])> {
        match self {
            Self::Free(n) => Some((format!("may I {n}?"), &[])),
            Self::Choices => Some(("which?".to_owned(), &["ada", "bob"])),
            Self::Blank | Self::OddMember | Self::BrokenJson => None,
        }
    }
}

impl Saying {
    /// The answer to what is asked under this id.
    pub(super) fn answer(self, asks: &Asks, id: &str) -> Answer {
        let reason = format!("no to {id}").into();
        match (asks, self) {
            (Asks::Tool { .. } | Asks::Handoff { .. } | Asks::Repeat { .. }, Self::No) => {
                Answer::Reject { reason }
            }
            (Asks::Tool { .. } | Asks::Handoff { .. } | Asks::Repeat { .. }, _) => Answer::Approve,
            (Asks::InDoubt { .. }, Self::No) => Answer::DidNotHappen,
            (Asks::InDoubt { .. }, _) => Answer::Happened { result: format!("as to {id}").into() },
            (Asks::Escalation { .. }, Self::TakeOver) => {
                Answer::TakeOver { note: format!("{id} is mine").into() }
            }
            (Asks::Escalation { .. }, _) => Answer::Reject { reason },
            (Asks::Words { choices, .. }, Self::No) if !choices.is_empty() => {
                Answer::Say { text: choices[choices.len() - 1].clone() }
            }
            (Asks::Words { choices, .. }, _) => {
                let text = choices.first().cloned();
                Answer::Say { text: text.unwrap_or_else(|| format!("as to {id}").into()) }
            }
        }
    }

    /// An answer that the question does not have.
    pub(super) fn odd(asks: &Asks, n: usize) -> Answer {
        let says = |text: &str| Answer::Say { text: text.into() };
        match (asks, n % 2) {
            (Asks::InDoubt { .. } | Asks::Repeat { .. }, _)
            | (Asks::Tool { .. } | Asks::Handoff { .. }, 0) => says("yes"),
            (Asks::Tool { .. } | Asks::Handoff { .. }, _) => Answer::TakeOver { note: "mine".into() },
            (Asks::Escalation { .. }, _) | (Asks::Words { .. }, 0) => Answer::Approve,
            (Asks::Words { choices, .. }, _) if !choices.is_empty() => says("eve"),
            (Asks::Words { .. }, _) => says(" \n"),
        }
    }
}

/// A number that is the same for the same text, whatever else goes on.
pub(super) fn drawn(text: &str) -> usize {
    text.bytes().fold(7, |sum: usize, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte))) >> 3
}

/// One of `all`, always the same for the same text.
pub(super) fn one_of<T: Copy>(all: &[T], text: &str) -> Option<T> {
    all.get(drawn(text) % all.len().max(1)).copied()
}
