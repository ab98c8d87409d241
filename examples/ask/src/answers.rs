//! Who decides on what needs approval, and what a person says to the questions of a run, by the flags.

use examples_kit::{Flags, Misuse};
use sommelier_handoff::{Answer, Rejected, Relay};
use sommelier_runner::{Gate, Outcome, Parked, RunError, Runner};
use std::error::Error;
use std::fmt;

/// Who decides on tools that need approval: a person, unless a flag does.
pub(crate) fn gate(flags: &Flags) -> Result<Gate, Misuse> {
    let by_flag = if flags.approve { "--approve" } else { "--deny" };
    if (flags.approve || flags.deny) && !flags.answers.is_empty() {
        let why = format!("{by_flag} and --answer were both given; {by_flag} answers all that is asked");
        return Err(Misuse::new(why));
    }
    match (flags.approve, flags.deny) {
        (true, true) => Err(Misuse::new("--approve and --deny were both given; one is possible")),
        (true, false) => Ok(Gate::approve_all()),
        (false, true) => Ok(Gate::deny_all("--deny denies it, --approve would not")),
        (false, false) => Ok(Gate::ask_all()),
    }
}

/// The conversation's name. Ids are made of it, and people type them.
pub(crate) fn conversation(flags: &Flags) -> Result<&str, Misuse> {
    let name = flags.conversation.as_deref().unwrap_or("ask");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        let wanted = "1 to 64 letters of ASCII, digits, `-`, `_` and `.` are possible";
        return Err(Misuse::new(format!("--conversation {name:?} is no name here; {wanted}")));
    }
    Ok(name)
}

/// Answers the questions of a run, one answer after another, until none is left. An answer is kept until its question is
/// asked, which may be after another was answered. Ids are derived from the conversation, so they are the same where the
/// text and the clock are: an answer belongs to the text that it was seen with.
///
/// A wrong answer may come to light after a right one was taken. What that did is in the house of this process, and is
/// gone with it; the error says so.
///
/// # Errors
/// [`Wrong`] when an answer cannot be taken.
pub(crate) fn settle(
    runner: &Runner<'_>,
    relay: &Relay,
    mut outcome: Outcome,
    written: &[String],
) -> Result<Outcome, Box<dyn Error>> {
    let mut left = read_all(written, &Open::of(&outcome))?;
    let all = left.len();
    while !left.is_empty() {
        let taken = Taken(all - left.len());
        let Outcome::Waiting(parked) = outcome else {
            return Err(Wrong::NotAsked { id: left.swap_remove(0).id, taken }.into());
        };
        let questions = parked.questions();
        let is_open = |given: &Given| questions.iter().any(|(_, question)| *question.id == *given.id);
        let given = left.remove(left.iter().position(is_open).unwrap_or_default());
        outcome =
            runner.answer(relay, parked, &given.id, given.answer).map_err(|error| wrong(error, taken))?;
    }
    Ok(outcome)
}

fn wrong(error: RunError, taken: Taken) -> Box<dyn Error> {
    match error {
        RunError::Rejected { why, parked } => {
            Wrong::Rejected { why, open: Open::in_run(&parked), taken }.into()
        }
        other => other.into(),
    }
}

/// How many answers were taken before one that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken(usize);

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            1 => f.write_str("; the answer before it was taken, and what it did is gone with this call"),
            many => {
                write!(f, "; {many} answers before it were taken, and what they did is gone with this call")
            }
        }
    }
}

/// One answer, and to which question.
#[derive(Debug, PartialEq, Eq)]
struct Given {
    id: String,
    answer: Answer,
}

/// All answers, before the first is taken.
fn read_all(written: &[String], open: &Open) -> Result<Vec<Given>, Wrong> {
    let mut read: Vec<Given> = Vec::new();
    for written in written {
        let Some(given) = Given::read(written) else {
            return Err(Wrong::Unreadable { written: written.clone(), open: open.clone() });
        };
        if read.iter().any(|earlier| earlier.id == given.id) {
            return Err(Wrong::Twice { id: given.id, open: open.clone() });
        }
        read.push(given);
    }
    Ok(read)
}

impl Given {
    /// Reads `ID=approve`, `ID=reject` or `ID=reject:WHY`, `ID=take_over` or `ID=take_over:WHO`, and of what is in doubt
    /// `ID=happened:RESULT`, `ID=did_not_happen` or `ID=undone`. No id has a `=`, since no name of a conversation has one
    /// here.
    fn read(written: &str) -> Option<Self> {
        let (id, said) = written.split_once('=')?;
        let (word, why) = said.split_once(':').map_or((said, None), |(word, why)| (word, Some(why.trim())));
        let answer = match (word, why) {
            ("approve", None) => Answer::Approve,
            ("reject", None) => Answer::Reject { reason: "a person said no".into() },
            ("reject", Some(why)) if !why.is_empty() => Answer::Reject { reason: why.into() },
            ("take_over", None) => Answer::TakeOver { note: "a person".into() },
            ("take_over", Some(who)) if !who.is_empty() => Answer::TakeOver { note: who.into() },
            ("happened", Some(result)) if !result.is_empty() => Answer::Happened { result: result.into() },
            ("did_not_happen", None) => Answer::DidNotHappen,
            ("undone", None) => Answer::Undone,
            _ => return None,
        };
        Some(Self { id: id.to_owned(), answer })
    }
}

/// The questions that are open, each with the answers that it can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Open(Vec<(String, &'static [&'static str])>);

impl Open {
    fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Waiting(parked) => Self::in_run(parked),
            _ => Self(Vec::new()),
        }
    }

    fn in_run(parked: &Parked) -> Self {
        let open = parked.questions().into_iter();
        Self(open.map(|(_, question)| (question.id.to_string(), question.asks.choices())).collect())
    }
}

impl fmt::Display for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no question is open");
        }
        let open: Vec<String> =
            self.0.iter().map(|(id, choices)| format!("{id} ({})", choices.join(", "))).collect();
        write!(f, "open: {}", open.join(", "))
    }
}

/// An answer that cannot be taken: the fault of whoever gave it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Wrong {
    #[error(
        "--answer {written:?} is no answer: one is written ID=approve, ID=reject or ID=reject:WHY; {open}"
    )]
    Unreadable { written: String, open: Open },
    #[error("{id:?} is answered twice, and one answer is possible; {open}")]
    Twice { id: String, open: Open },
    #[error("{}; {open}{taken}", without_list(why))]
    Rejected { why: Rejected, open: Open, taken: Taken },
    #[error("{id:?} was not asked, and the run has ended: leave its --answer out{taken}")]
    NotAsked { id: String, taken: Taken },
}

/// Why, without the list of open questions, which stands behind it with what each can be answered.
fn without_list(why: &Rejected) -> String {
    match why {
        Rejected::Unknown { id, .. } => format!("no question {id:?} is open"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reservo::{demo, specialists};
    use sommelier_handoff::{Agent, Delegate};
    use sommelier_runner::runtime::{ScriptedModel, script};
    use std::sync::Arc;

    const CANCEL_1: &str = r#"{"booking_id":"RSV-0001"}"#;
    const CANCEL_2: &str = r#"{"booking_id":"RSV-0002"}"#;

    /// A supervisor that asks the booking agent, which cancels two bookings in one reply.
    fn team() -> (Relay, Runner<'static>) {
        let booking = specialists::specialist("booking_agent").unwrap();
        let relay = Relay::builder()
            .agent(Agent::new("supervisor", ""))
            .delegate("supervisor", Delegate::new("ask_booking", booking.agent(&Arc::new(demo()))))
            .entry("supervisor");
        let model = ScriptedModel::new()
            .turn("supervisor", |_| script::call("tu_1", "ask_booking", r#"{"question":"Cancel both?"}"#))
            .turn("booking_agent", |_| {
                script::calls([("tu_1", "cancel", CANCEL_1), ("tu_2", "cancel", CANCEL_2)])
            })
            .turn("booking_agent", |_| script::say("Cancelled."))
            .turn("supervisor", |_| script::say("Done."));
        (relay.build().unwrap(), Runner::new(model).gate(Gate::ask_all()).conversation("c"))
    }

    fn open_after(written: &[&str]) -> Result<Outcome, String> {
        let (relay, runner) = team();
        let written: Vec<String> = written.iter().map(ToString::to_string).collect();
        let outcome = runner.run(&relay, "Cancel both.").unwrap();
        settle(&runner, &relay, outcome, &written).map_err(|error| error.to_string())
    }

    fn waiting(outcome: Outcome) -> Parked {
        match outcome {
            Outcome::Waiting(parked) => parked,
            other => panic!("it does not wait: {other:?}"),
        }
    }

    #[test]
    fn questions_of_one_reply_in_a_branch_are_told_with_its_path_and_answered_in_any_order() {
        let both = waiting(open_after(&[]).unwrap());
        let told = crate::waiting::told(&both);
        let place = "  asked by   booking_agent, in c/1/1/0\n  may run    cancel";
        for expected in [
            "The run waits for 2 answers. Nothing that is asked has been done.".to_owned(),
            format!("\n\nc/1/1/0/1/1/0\n{place} {CANCEL_1}\n  handoffs   none"),
            format!("\n\nc/1/1/0/1/1/1\n{place} {CANCEL_2}\n  handoffs   none"),
        ] {
            assert!(told.contains(&expected), "{told}");
        }

        let one = waiting(open_after(&["c/1/1/0/1/1/1=approve"]).unwrap());
        assert_eq!(
            one.questions().iter().map(|(_, question)| &*question.id).collect::<Vec<_>>(),
            ["c/1/1/0/1/1/0"]
        );

        let ended = open_after(&["c/1/1/0/1/1/1=approve", "c/1/1/0/1/1/0=approve"]).unwrap();
        let Outcome::Ended(report) = ended else { panic!("it waits: {ended:?}") };
        assert_eq!((report.answer(), report.tool_calls()), ("Done.", 2));
    }

    #[test]
    fn an_unknown_id_is_told_with_all_that_is_open_then() {
        let told = open_after(&["c/1/1/0=approve"]).unwrap_err();
        let (first, second) = ("c/1/1/0/1/1/0 (approve, reject)", "c/1/1/0/1/1/1 (approve, reject)");
        assert_eq!(told, format!("no question \"c/1/1/0\" is open; open: {first}, {second}"));
        let told = open_after(&["c/1/1/0/1/1/0=approve", "c=approve"]).unwrap_err();
        let gone = "the answer before it was taken, and what it did is gone with this call";
        assert_eq!(told, format!("no question \"c\" is open; open: {second}; {gone}"));
    }

    #[test]
    fn an_answer_is_an_id_and_a_word_and_some_have_words_of_their_own() {
        let read = |written| Given::read(written).map(|given| (given.id, given.answer));
        let rejected = |reason: &str| Answer::Reject { reason: reason.into() };
        assert_eq!(read("ask/1/1/0=approve"), Some(("ask/1/1/0".to_owned(), Answer::Approve)));
        assert_eq!(read("a=reject"), Some(("a".to_owned(), rejected("a person said no"))));
        assert_eq!(read("a=reject: 2 = 1: too small"), Some(("a".to_owned(), rejected("2 = 1: too small"))));
        let taken = |note: &str| Answer::TakeOver { note: note.into() };
        assert_eq!(read("a=take_over"), Some(("a".to_owned(), taken("a person"))));
        assert_eq!(read("a=take_over:Ada"), Some(("a".to_owned(), taken("Ada"))));
        let sent = Answer::Happened { result: r#"{"id":7}"#.into() };
        assert_eq!(read(r#"a/in_doubt=happened:{"id":7}"#), Some(("a/in_doubt".to_owned(), sent)));
        assert_eq!(read("a/in_doubt=did_not_happen"), Some(("a/in_doubt".to_owned(), Answer::DidNotHappen)));
        assert_eq!(read("a/in_doubt=undone"), Some(("a/in_doubt".to_owned(), Answer::Undone)));
        for written in [
            "",
            "a",
            "approve",
            "a=",
            "a=yes",
            "a=APPROVE",
            "a=approve:yes",
            "a=reject:",
            "a=reject: ",
            "a=happened",
            "a=happened: ",
            "a=undone:yes",
            "a=did_not_happen:why",
            "a=take_over:",
        ] {
            assert_eq!(read(written), None, "{written:?}");
        }
    }
}
