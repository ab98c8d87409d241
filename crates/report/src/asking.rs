//! What is asked of a person, in words.

/// In a word or two, on an arrow from the agent to the person.
pub(crate) fn asking(asks: &str) -> &'static str {
    match asks {
        "tool" => "may run",
        "handoff" => "may go to",
        "words" => "asks:",
        "escalation" => "escalates, refused by",
        "in_doubt" => "has it happened:",
        "repeat" => "once more:",
        _ => "asks about",
    }
}

/// As what the agent does, before what it is about.
pub(crate) fn asks_a_person(asks: &str) -> &'static str {
    match asks {
        "tool" => "asks a person whether it may run",
        "handoff" => "asks a person whether it may hand over to",
        "words" => "asks a person:",
        "escalation" => "turns to a person, refused by",
        "in_doubt" => "asks a person whether this has happened:",
        "repeat" => "asks a person whether to run once more",
        _ => "asks a person about",
    }
}
