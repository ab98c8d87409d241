//! What is measured of a run, and how it is told.

use examples_kit::{Claim, Measured, Shown, narrate_agent};
use reservo::{DEMO_NOW, case, grounding};
use serde::Serialize;
use sommelier_protocol::Message;
use sommelier_runner::handoff::RunEnd;
use sommelier_runtime::{Model, ScriptedModel};
use std::collections::BTreeSet;

/// What a no-show costs.
#[derive(Serialize)]
pub(crate) struct Truth {
    pub(crate) charge_cents: i64,
    /// The text that says so.
    pub(crate) document: String,
}

/// One way of dealing with the question, as it was measured.
#[derive(Serialize)]
pub(crate) struct Tried {
    what: &'static str,
    answer: Option<String>,
    end: &'static str,
    model_calls: usize,
    /// Calls that got an error.
    calls_in_vain: usize,
    /// Bytes of the messages of all requests to the model.
    bytes_read: usize,
    /// What the answer says that a no-show costs.
    no_show_cents: Option<i64>,
    /// The answer's numbers that have no ground.
    ungrounded: Vec<String>,
    /// The errors that differ.
    errors: BTreeSet<String>,
    /// The tools that the agent is told it has, when it called another.
    available: Vec<String>,
    /// Scripted turns that nobody asked for.
    unasked: Vec<String>,
    #[serde(skip)]
    label: String,
    /// Whether no two of the calls in vain say the same.
    #[serde(skip)]
    never_the_same: bool,
    /// What happened, in one text for each thing: it may be several lines.
    #[serde(skip)]
    told: Vec<String>,
}

#[derive(Serialize)]
pub(crate) struct Json {
    model: String,
    truth: Truth,
    runs: [Tried; 4],
}

impl Tried {
    pub(crate) fn new(
        what: &'static str,
        model: &Measured<ScriptedModel>,
        answer: Option<String>,
        end: &RunEnd,
        conversations: &[(&str, &[Message])],
    ) -> Self {
        let messages = conversations.iter().map(|(_, messages)| *messages);
        let results = messages.clone().flatten().flat_map(Message::tool_results);
        let errors: Vec<String> =
            results.filter(|result| result.is_error()).map(|result| result.words()).collect();
        let in_vain: BTreeSet<String> = messages.clone().flat_map(calls_in_vain).collect();
        let never_the_same = in_vain.len() == errors.len();
        let available =
            errors.first().and_then(|error| serde_json::from_str::<serde_json::Value>(error).ok());
        let available = available.and_then(|error| serde_json::from_value(error["available"].clone()).ok());
        let unasked = model.model().unused().into_iter();
        let said = answer.as_deref().unwrap_or_default();
        Self {
            what,
            end: end.as_str(),
            model_calls: model.asked().len(),
            calls_in_vain: errors.len(),
            bytes_read: model.bytes_read(),
            no_show_cents: no_show_cents(said),
            ungrounded: grounding::ungrounded(said, case::REQUEST, DEMO_NOW, messages),
            available: available.unwrap_or_default(),
            errors: errors.into_iter().collect(),
            unasked: unasked.map(|(agent, turn)| format!("{agent} {turn}")).collect(),
            label: model.label().unwrap_or_default().to_owned(),
            never_the_same,
            told: conversations
                .iter()
                .flat_map(|(agent, messages)| entries(&narrate_agent(agent, messages)))
                .collect(),
            answer,
        }
    }

    /// What happened, from one place to before another.
    fn lines(&self, range: std::ops::Range<usize>) -> String {
        self.told.get(range).unwrap_or_default().concat()
    }

    /// The row of the table.
    fn row(&self, truth: &Truth) -> String {
        let no_show = match (&self.answer, self.no_show_cents) {
            (None, _) => "no answer at all".to_owned(),
            (Some(_), None) => "left open".to_owned(),
            (Some(_), Some(cents)) if cents == truth.charge_cents => format!("{cents}, as the document says"),
            (Some(_), Some(cents)) => format!("{cents}, wrong"),
        };
        let Self { what, model_calls, calls_in_vain, bytes_read, .. } = self;
        format!("{what:<13}  {model_calls:>11} {calls_in_vain:>14} {bytes_read:>12}   {no_show}\n")
    }
}

/// What the words after "show up" say that it costs: the last amount in cents.
fn no_show_cents(answer: &str) -> Option<i64> {
    let (_, charged) = answer.split_once("show up")?;
    let (before, _) = charged.rsplit_once(" cents")?;
    before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The calls that got an error, each with its arguments.
fn calls_in_vain(messages: &[Message]) -> impl Iterator<Item = String> {
    let results = messages.iter().flat_map(Message::tool_results);
    let failed: Vec<&str> =
        results.filter(|result| result.is_error()).map(|result| result.tool_use_id()).collect();
    let calls = messages.iter().flat_map(Message::tool_uses);
    calls
        .filter(move |call| failed.contains(&call.id()))
        .map(|call| format!("{} {}", call.name(), call.input()))
}

/// A narration's lines, those that only go on with the one before together with it.
fn entries(narration: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in narration.lines() {
        match entries.last_mut().filter(|_| line.starts_with(' ')) {
            Some(entry) => entry.push_str(&format!("{line}\n")),
            None => entries.push(format!("{line}\n")),
        }
    }
    entries
}

pub(crate) fn shown(runs: [Tried; 4], truth: Truth) -> Shown<Json> {
    let [guess, reach, stop, handoff] = &runs;
    let off = truth.charge_cents - guess.no_show_cents.unwrap_or_default();
    let charge = truth.document.rsplit(". ").next().unwrap_or_default();
    let again = reach.calls_in_vain.saturating_sub(1);
    let in_other_words = if reach.never_the_same { ", in other words" } else { "" };
    let last = handoff.lines(handoff.told.len().saturating_sub(1)..handoff.told.len());
    let mut text = format!(
        "Decisions: {}. Everything else is executed.\nIn a, b and c booking_agent is alone.\n\n{}",
        guess.label,
        guess.lines(0..3),
    );
    text.push_str(&format!(
        "\na. It guesses\n{}{PAD}numbers without a ground: {}\n{PAD}POL-NOSHOW says: {charge}\n\
         {PAD}So it is {} cents. The answer is off by {off}.\n",
        guess.lines(3..4),
        list(&guess.ungrounded),
        truth.charge_cents,
    ));
    text.push_str(&format!(
        "\nb. It reaches for a tool that is not its own\n{}\
         {PAD}and {again} times more{in_other_words}, with the same error\n{PAD}ends as {}, without an answer\n",
        reach.lines(3..5),
        reach.end,
    ));
    text.push_str(&format!(
        "\nc. It says whose question it is, and stops\n{}\
         {PAD}ends as {}; scripted, and asked for by nobody: {}\n",
        stop.lines(3..6),
        stop.end,
        list(&stop.unasked),
    ));
    text.push_str(&format!(
        "\nWith somebody to hand over to, as in lesson 05\n{last}{PAD}numbers without a ground: {}\n",
        list(&handoff.ungrounded),
    ));
    text.push_str(&format!("\n{PAD}model calls  calls in vain   bytes read   what a no-show costs\n"));
    for run in &runs {
        text.push_str(&run.row(&truth));
    }
    Shown { text, claims: claims(&runs, &truth), json: Json { model: guess.label.clone(), truth, runs } }
}

fn list(items: &[String]) -> String {
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

const PAD: &str = "               ";

fn claims([guess, reach, stop, handoff]: &[Tried; 4], truth: &Truth) -> Vec<Claim> {
    let told = |tried: &Tried| tried.no_show_cents.map(|cents| cents - truth.charge_cents);
    let own = ["book", "cancel", "get_quote"].map(str::to_owned);
    vec![
        Claim::that(
            "a: the charge is wrong, and the check names it",
            told(guess).is_some_and(|off| off != 0)
                && guess.no_show_cents.is_some_and(|cents| guess.ungrounded.contains(&cents.to_string())),
        ),
        Claim::equal(
            "b: the step limit ends it without an answer",
            (reach.end, reach.answer.is_none()),
            ("turn_limit", true),
        ),
        Claim::equal(
            "b: every call after the quote was in vain, and told the agent its own three tools",
            (reach.calls_in_vain, reach.errors.len(), &reach.available),
            (reach.model_calls - 1, 1, &own.to_vec()),
        ),
        Claim::equal(
            "c: handing over is no tool of an agent alone",
            (stop.calls_in_vain, &stop.available),
            (1, &own.to_vec()),
        ),
        Claim::equal(
            "c: it counts as answered, the question is open, and nobody is asked after it",
            (stop.end, told(stop), stop.unasked.join(", ")),
            ("answered", None, "policy_agent 1, policy_agent 2".to_owned()),
        ),
        Claim::equal(
            "with a handoff the charge is right and every number has a ground",
            (told(handoff), handoff.ungrounded.is_empty()),
            (Some(0), true),
        ),
    ]
}
