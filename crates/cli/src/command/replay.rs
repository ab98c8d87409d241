//! `replay`: one handoff again, from the package on record.

use serde::Serialize;
use sommelier_handoff::{Entry, HANDOFF_TO_SPECIALIST, Hop, Input, InputKind, Relay, Step};
use sommelier_protocol::{ContentBlock, ModelResponse, RawJson};
use sommelier_runner::durable::replay;
use sommelier_runner::journal::{LEASE_TAKEN, Record};
use sommelier_runner::{Gate, Outcome, Runner};
use std::collections::BTreeMap;

use crate::desk::Desk;
use crate::fault::{Fault, Whose};
use crate::house::{mock_house, relay};
use crate::rows::SettledRow;
use crate::teller::Teller;
use crate::words::named;

/// Why a tool did not run, as the agent is told.
const DENIED: &str = "this is a replay, in which nothing has an effect";

/// What came of it. Nothing of this is on record.
#[derive(Serialize)]
struct Replayed {
    /// The handoff that was taken again, as it is on record.
    hop: String,
    from: String,
    to: String,
    /// Who got the package this time.
    receiver: String,
    package_bytes: usize,
    /// `taken`, or `refused` where the guards refuse that receiver.
    ruling: &'static str,
    outcome: SettledRow,
}

pub(super) fn run(
    desk: &Desk,
    teller: &mut Teller<'_>,
    given: &str,
    from: Option<&str>,
    to: Option<&str>,
) -> Result<u8, Fault> {
    let name = desk.find(given)?;
    let records = desk.records(&name)?;
    // A house of its own: what the receivers do here no guest of the real one sees.
    let relay = relay(&mock_house())?;
    let hop = hop(&relay, &name, &records, from)?;
    let step = match to {
        None => before(&relay, &name, &records, &hop)?.step,
        Some(to) => instead(&relay, &name, &records, &hop, to)?,
    };
    let runner = Runner::new(&desk.decider).gate(Gate::deny_all(DENIED));
    let driven = runner.drive(&relay, step).map_err(|error| Fault::new("driver", Whose::Program, error))?;
    let step = match driven {
        Outcome::Ended(report) => Step::Done(report.into_done()),
        Outcome::Waiting(parked) => parked.into_step(),
        _ => {
            return Err(Fault::new(
                "driver",
                Whose::Program,
                "the run came to something that is not known here",
            ));
        }
    };
    let model = Some(desk.decider.name().to_owned());
    let outcome = SettledRow::of_step(desk, &name, &step, &[]);
    let outcome = SettledRow { waiting: Vec::new(), model, again: None, ..outcome };
    let is_taken = outcome.hops.iter().any(|taken| taken.id == *hop.id);
    let replayed = Replayed {
        hop: hop.id.to_string(),
        from: hop.from.to_string(),
        to: hop.to.to_string(),
        receiver: to.unwrap_or(&hop.to).to_owned(),
        package_bytes: hop.package_bytes,
        ruling: if is_taken { "taken" } else { "refused" },
        outcome,
    };
    teller.tell(|| text(&replayed), &replayed)?;
    Ok(if is_taken { replayed.outcome.exit_code() } else { 1 })
}

fn text(replayed: &Replayed) -> String {
    let Replayed { hop, from, receiver, package_bytes, outcome, .. } = replayed;
    let mut text = match &*outcome.answer {
        "" => outcome.no_answer(),
        answer => answer.to_owned(),
    };
    text.push_str(&format!(
        "\n\n{} answered{}\n{}: {} → {} with {package_bytes} bytes, in a replay: nothing is on record",
        named(&outcome.last_agent),
        outcome.decided(),
        named(hop),
        named(from),
        named(receiver)
    ));
    // What came before is as it was.
    let since = outcome.hops.iter().skip_while(|taken| taken.id != *hop).skip(1);
    let refused = outcome.refusals.iter().filter(|refused| refused.id == *hop);
    for hop in refused.chain(since) {
        text.push_str(&format!("\n{}", hop.line()));
    }
    text
}

/// The handoff that is meant: by its number, by its id, or the last one that was taken.
fn hop(relay: &Relay, name: &str, records: &[Record], from: Option<&str>) -> Result<Hop, Fault> {
    let replay = replay(relay, name, records)?;
    let hops = replay.step().map(|step| step.run().trail().hops()).unwrap_or_default();
    let mut taken = hops.iter().filter(|hop| hop.outcome.is_taken());
    let found = match from {
        None => taken.next_back(),
        Some(given) => match given.parse::<usize>().ok().and_then(|number| number.checked_sub(1)) {
            Some(place) => taken.nth(place),
            None => taken.find(|hop| *hop.id == *given),
        },
    };
    found.cloned().ok_or_else(|| {
        let known: Vec<&str> = hops.iter().filter(|hop| hop.outcome.is_taken()).map(|hop| &*hop.id).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let which = from.map(|given| format!(" {given:?}")).unwrap_or_default();
        Fault::caller(
            "unknown_hop",
            format!("{name:?} has no handoff{which} that was taken; there are: {known}"),
        )
    })
}

/// A run just before a handoff was taken.
struct Before {
    /// The step that takes it.
    step: Step,
    /// The step that the reply came to in which it was asked for, and what came since, that reply first.
    asked: Step,
    since: Vec<Input>,
}

/// Plays the records up to where the handoff was taken.
fn before(relay: &Relay, name: &str, records: &[Record], hop: &Hop) -> Result<Before, Fault> {
    let lost = || {
        Fault::new(
            "unknown_hop",
            Whose::Program,
            format!("{} is on no record that can be played again", hop.id),
        )
    };
    let (mut asked, mut since) = (None, Vec::new());
    for (place, record) in records.iter().enumerate().filter(|(_, record)| record.event.kind() != LEASE_TAKEN)
    {
        let event = &record.event;
        let Ok(Entry::Input(input)) = Entry::read(event.kind(), event.version(), event.body()) else {
            continue;
        };
        match &input.what {
            InputKind::HandoffCommitted { hop: taken } if taken.id == hop.id => {
                let step = played(relay, name, records, place)?.ok_or_else(lost)?;
                let asked = asked.and_then(|place| played(relay, name, records, place).transpose());
                return Ok(Before { step, asked: asked.transpose()?.ok_or_else(lost)?, since });
            }
            InputKind::ModelResponded { .. } => {
                asked = Some(place);
                since = vec![*input];
            }
            _ => since.push(*input),
        }
    }
    Err(lost())
}

/// Where the run stood before the record at `place`.
fn played(relay: &Relay, name: &str, records: &[Record], place: usize) -> Result<Option<Step>, Fault> {
    Ok(replay(relay, name, records.get(..place).unwrap_or_default())?.into_parts().0)
}

/// The step that hands the package to somebody else: the reply is read again with another name in it, and the guards rule
/// on that. What was done between the reply and the handoff is not done again.
fn instead(relay: &Relay, name: &str, records: &[Record], hop: &Hop, to: &str) -> Result<Step, Fault> {
    if relay.agent(to).is_none() {
        let known: Vec<&str> = relay.agents().map(|agent| agent.name().as_str()).collect();
        return Err(Fault::caller(
            "unknown_agent",
            format!("no agent is named {to:?}; there are {}", known.join(", ")),
        ));
    }
    let Before { asked, since, .. } = before(relay, name, records, hop)?;
    let mut step = asked;
    for mut input in since {
        if let InputKind::ModelResponded { response } = &mut input.what {
            readdress(response, hop, to);
        }
        step = match step.feed_or_keep(relay, &input) {
            Ok(step) => step,
            // The guards have ruled otherwise than then, so what came then has no place any more.
            Err((step, _)) => return Ok(*step),
        };
    }
    Ok(step)
}

/// Puts another receiver into the call that asked for the handoff.
fn readdress(response: &mut ModelResponse, hop: &Hop, to: &str) {
    for block in &mut response.content {
        let Some(call) = block.as_tool_use().filter(|call| call.id() == &*hop.call_id) else { continue };
        let Ok(mut members) = call.input().read::<BTreeMap<String, RawJson>>() else { continue };
        members.insert("specialist".to_owned(), RawJson::string(to));
        if let Ok(input) = serde_json::to_string(&members) {
            *block = ContentBlock::from(sommelier_protocol::ToolUse::scripted(
                call.id(),
                HANDOFF_TO_SPECIALIST,
                &input,
            ));
        }
    }
}
