//! What happens in the runs that are killed, and in those that are kept to be replayed.

use sommelier_handoff::Answer;
use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runtime::script;

/// The conversation of all runs.
pub const CONVERSATION: &str = "guest-7";

/// The caller's key of its turn.
pub const KEY: &str = "message-1";

/// A run. All are in one definition: which of them it is the models alone know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// One agent answers.
    Plain,
    /// A hop.
    Handoff,
    /// A booking that a person approves.
    Approval,
    /// A delegate is asked.
    Delegate,
    /// A run that is called off while it waits for a person.
    Cancel,
    /// A tool without a key, whose process dies in it.
    Doubt,
    /// Tools whose effects are elsewhere, and nothing else that could wait.
    Remote,
    /// All of it: a delegate, two hops, an approval, a booking and its cancelling in the journal's file, and two remote
    /// effects at the same time.
    Whole,
}

/// What a person says to a question: yes.
pub fn answer_to(question: &str) -> Answer {
    match question.ends_with("/in_doubt") {
        true => Answer::Happened { result: "it was sent".into() },
        false => Answer::Approve,
    }
}

impl Scenario {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Plain,
        Self::Handoff,
        Self::Approval,
        Self::Delegate,
        Self::Cancel,
        Self::Doubt,
        Self::Remote,
        Self::Whole,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Handoff => "handoff",
            Self::Approval => "approval",
            Self::Delegate => "delegate",
            Self::Cancel => "cancel",
            Self::Doubt => "doubt",
            Self::Remote => "remote",
            Self::Whole => "whole",
        }
    }

    /// What the user says.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Plain => "Good morning.",
            Self::Handoff => "I want to pay.",
            Self::Approval | Self::Cancel => "Book seat 7.",
            Self::Delegate => "What is seat 7?",
            Self::Doubt => "Send my ticket.",
            Self::Remote => "Reserve seat 7, and tell the house.",
            Self::Whole => "Seat 7, and if it is dear, cancel it again.",
        }
    }

    /// The script: what the agent says that asks, by how many replies it has had.
    pub(crate) fn reply(self, request: &ModelRequest<'_>) -> ModelResponse {
        let turn = (&*request.caller, request.replies);
        match self {
            Self::Plain => script::say("Good morning to you."),
            Self::Handoff => handoff(turn),
            Self::Approval | Self::Cancel => booking(turn),
            Self::Delegate => asking(turn),
            Self::Doubt => sending(turn),
            Self::Remote => reserving(turn),
            Self::Whole => whole(turn),
        }
    }
}

const SEAT: &str = r#"{"seat":7}"#;
const TO_CLERK: &str = r#"{"specialist":"clerk","task":"Book seat 7.","context":{"seat":7,"cents":1200}}"#;
const TO_TILL: &str =
    r#"{"specialist":"till","task":"Tell what is owed.","context":{"cents":0,"why":"cancelled"}}"#;

fn handoff(turn: (&str, u32)) -> ModelResponse {
    match turn {
        ("till", _) => script::say("Nothing is owed."),
        ("clerk", _) => script::call("c1", "handoff_to_specialist", TO_TILL),
        _ => script::call("d1", "handoff_to_specialist", TO_CLERK),
    }
}

fn booking(turn: (&str, u32)) -> ModelResponse {
    match turn {
        ("desk", _) => script::call("d1", "handoff_to_specialist", TO_CLERK),
        (_, 0) => script::call("c1", "book", SEAT),
        _ => script::say("Seat 7 is yours."),
    }
}

fn asking(turn: (&str, u32)) -> ModelResponse {
    match turn {
        ("desk", 0) => script::call("d1", "ask_prices", r#"{"question":"What is seat 7?"}"#),
        ("prices", 0) => script::call("p1", "look_up", SEAT),
        ("prices", _) => script::say("Seat 7 is 12.00."),
        _ => script::say("It is 12.00."),
    }
}

fn sending(turn: (&str, u32)) -> ModelResponse {
    match turn {
        ("desk", _) => script::call("d1", "handoff_to_specialist", TO_CLERK),
        (_, 0) => script::call("c1", "send", SEAT),
        _ => script::say("The ticket is on its way."),
    }
}

fn both() -> ModelResponse {
    script::calls([("c2", "notify", SEAT), ("c3", "reserve", SEAT)])
}

fn reserving(turn: (&str, u32)) -> ModelResponse {
    match turn {
        ("desk", _) => script::call("d1", "handoff_to_specialist", TO_CLERK),
        (_, 0) => both(),
        _ => script::say("Seat 7 is reserved, and the house knows."),
    }
}

fn whole(turn: (&str, u32)) -> ModelResponse {
    match turn {
        ("desk", 1) => script::call("d2", "handoff_to_specialist", TO_CLERK),
        ("desk" | "prices", _) => asking(turn),
        ("clerk", 0) => script::call("c1", "book", SEAT),
        ("clerk", 1) => both(),
        ("clerk", 2) => script::call("c4", "cancel", r#"{"booking":"B-7"}"#),
        ("clerk", _) => script::call("c5", "handoff_to_specialist", TO_TILL),
        _ => script::say("It was dear, so it is cancelled. Nothing is owed."),
    }
}
