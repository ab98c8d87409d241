//! What holds of a run whatever its models have written, looked at in one that was driven.

use std::collections::BTreeMap;

use serde::Serialize;
use sommelier_handoff::{Hop, Relay, Run};
use sommelier_protocol::sequence::check_messages;
use sommelier_protocol::{Message, Role};

use crate::story::Story;
use crate::words::{counted, in_line};

/// Something that holds whatever a model writes, and whether it was found to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Invariant {
    pub(crate) invariant: &'static str,
    pub(crate) holds: bool,
    /// What was looked at; of one that is broken, what is wrong.
    pub(crate) found: String,
}

impl Invariant {
    /// Each of them, looked at in a run of this relay with this story.
    pub(crate) fn all(relay: &Relay, run: &Run, story: &Story) -> Vec<Self> {
        vec![
            transcripts_are_legal(run),
            nothing_runs_twice(story),
            packages_are_valid(relay, run),
            receivers_read_packages_alone(run),
            within(
                "the model was asked as often as the budget allows",
                run.cost().model_calls,
                relay.max_model_calls(),
            ),
            within(
                "as many handoffs were taken as the cap allows",
                run.trail().count(),
                relay.guards().max_handoffs,
            ),
        ]
    }

    /// What was looked at, or else all that is `wrong`.
    fn new(invariant: &'static str, wrong: Vec<String>, looked_at: String) -> Self {
        let holds = wrong.is_empty();
        Self { invariant, holds, found: if holds { looked_at } else { wrong.join("; ") } }
    }

    /// The invariant in a line.
    pub(crate) fn line(&self) -> String {
        let Self { invariant, holds, found } = self;
        format!("  {} {invariant}: {}", if *holds { "yes" } else { "NO " }, in_line(found))
    }
}

/// Each conversation as the service gets it when it goes on: with the user's next words, if they are to come.
fn transcripts_are_legal(run: &Run) -> Invariant {
    let broken = run.at_rest().flat_map(|(agent, turn)| {
        let mut messages = turn.messages().to_vec();
        if messages.last().is_some_and(|last| last.role == Role::Assistant) {
            messages.push(Message::user("Go on."));
        }
        check_messages(&messages).into_iter().map(move |broken| format!("{agent} {broken}"))
    });
    let count = run.at_rest().count();
    let messages: usize = run.at_rest().map(|(_, turn)| turn.messages().len()).sum();
    let looked_at =
        format!("{} of {}", counted(messages, "message", "messages"), counted(count, "agent", "agents"));
    Invariant::new(
        "each agent's conversation keeps the rules of the sequence, S1 to S13",
        broken.collect(),
        looked_at,
    )
}

fn nothing_runs_twice(story: &Story) -> Invariant {
    let twice = story.calls().filter(|call| call.runs > 1);
    let twice = twice.map(|call| format!("{} of {} was begun {} times", call.tool, call.agent, call.runs));
    let (calls, runs) = (story.calls().count(), story.calls().map(|call| call.runs).sum::<u32>());
    let looked_at =
        format!("{}, {}", counted(calls, "call", "calls"), counted(runs, "run of a tool", "runs of tools"));
    Invariant::new("by the records each call of a tool was run once at most", twice.collect(), looked_at)
}

fn packages_are_valid(relay: &Relay, run: &Run) -> Invariant {
    let errors = |hop: &Hop| -> Vec<String> {
        let route = relay.routes().find(|route| route.from() == hop.from.as_str() && *route.to() == *hop.to);
        match (route, &hop.package) {
            (Some(route), Some(package)) => {
                package.validate(route.package_policy()).iter().map(ToString::to_string).collect()
            }
            _ => vec![format!("there is no route from {} to {}, or no package", hop.from, hop.to)],
        }
    };
    let wrong = run.trail().taken().flat_map(errors).collect();
    let bytes: usize = run.trail().taken().map(|hop| hop.package_bytes).sum();
    let behind: usize = run.trail().taken().map(|hop| hop.history_bytes).sum();
    let looked_at = match run.trail().taken().count() {
        0 => "nothing crossed".to_owned(),
        count => {
            let packages = counted(count, "package", "packages");
            format!("{packages} with {bytes} bytes, {behind} bytes stayed behind")
        }
    };
    Invariant::new("what crossed is valid by its route", wrong, looked_at)
}

/// A receiver's conversation begins with its package, word for word, so nothing else of the sender is in it.
fn receivers_read_packages_alone(run: &Run) -> Invariant {
    let mut firsts: BTreeMap<&str, &Hop> = BTreeMap::new();
    for hop in run.trail().taken() {
        firsts.entry(&*hop.to).or_insert(hop);
    }
    // Whom the user spoke to first was handed nothing before.
    let opened = run.trail().taken().next().map_or(run.active(), |hop| &hop.from);
    let receivers = firsts.into_iter().filter(|(receiver, _)| *receiver != opened.as_str());
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (receiver, hop) in receivers {
        let Some(turn) = run.idle(receiver) else { continue };
        count += 1;
        let package = hop.package.as_ref().map(|package| package.to_prompt(&hop.from));
        let first = turn.messages().first().map(|message| message.texts().collect::<Vec<_>>().join("\n"));
        if first != package {
            wrong.push(format!("{receiver} read something else first"));
        }
    }
    let looked_at = counted(count, "receiver", "receivers");
    Invariant::new("a receiver's conversation begins with its package and nothing else", wrong, looked_at)
}

fn within(invariant: &'static str, found: u32, most: u32) -> Invariant {
    let told = format!("{found} of {most}");
    Invariant::new(invariant, (found > most).then(|| told.clone()).into_iter().collect(), told)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use reservo::case::{REQUEST, decisions};
    use reservo::{Entry, demo, specialists};
    use sommelier_handoff::{Agent, Done};
    use sommelier_runner::{Outcome, Runner};

    use super::*;
    use crate::story::CallRow;

    /// The running case as it was driven.
    fn case() -> (Relay, Done) {
        let relay = specialists::relay(&Arc::new(demo()), Entry::Booking).build().unwrap();
        let Outcome::Ended(report) = Runner::new(decisions()).run(&relay, REQUEST).unwrap() else {
            panic!("it has ended")
        };
        (relay, report.into_done())
    }

    fn called(runs: u32) -> CallRow {
        CallRow { agent: "clerk".into(), tool: "book".into(), input: None, output: None, runs }
    }

    #[test]
    fn a_run_that_is_sound_has_them_all() {
        let (relay, done) = case();
        let found = Invariant::all(&relay, done.run(), &Story::with([called(1), called(0)]));
        assert_eq!(
            found.iter().filter(|invariant| !invariant.holds).collect::<Vec<_>>(),
            Vec::<&Invariant>::new()
        );
    }

    /// What is broken is named, and nothing else is said of it.
    #[test]
    fn what_is_broken_is_told() {
        let (_, done) = case();
        let clerk = |name: &str| Agent::new(name, "");
        let other = Relay::builder().agent(clerk("booking_agent")).entry("booking_agent");
        let mut other = other.max_model_calls(3).build().unwrap();
        let broken = |relay: &Relay, run: &Run, story: &Story| -> Vec<String> {
            let found = Invariant::all(relay, run, story);
            found
                .iter()
                .filter(|invariant| !invariant.holds)
                .map(|invariant| invariant.found.clone())
                .collect()
        };
        let told = [
            "book of clerk was begun 2 times",
            "there is no route from booking_agent to policy_agent, or no package",
            "4 of 3",
        ];
        assert_eq!(broken(&other, done.run(), &Story::with([called(1), called(2)])), told);
        other = Relay::builder().agent(clerk("booking_agent")).entry("booking_agent").build().unwrap();
        assert_eq!(broken(&other, done.run(), &Story::with([])), told[1..2]);
    }
}
