//! A record in a line, for people.

use sommelier_handoff::{Announcement, Entry, InputKind};
use sommelier_protocol::ModelResponse;
use sommelier_protocol::sight::in_sight;
use sommelier_runner::journal::{Event, LEASE_TAKEN};

/// Values that are longer are cut, in characters. A package is shown whole.
const LONGEST: usize = 300;

/// What the record says. A kind that is not known here stands as it is.
pub(crate) fn line(event: &Event) -> String {
    if event.kind() == LEASE_TAKEN {
        return in_sight(event.body());
    }
    match Entry::read(event.kind(), event.version(), event.body()) {
        Ok(Entry::Input(input)) => of_input(&input.what),
        Ok(Entry::Announced(told)) => of_announcement(&told.what),
        Err(_) => cut(&in_sight(event.body())),
    }
}

/// The run that the record is of, by its place in the tree.
pub(crate) fn path(event: &Event) -> Option<String> {
    match Entry::read(event.kind(), event.version(), event.body()).ok()? {
        Entry::Input(input) => Some(input.run.into()),
        Entry::Announced(told) => Some(told.run.into()),
    }
}

fn of_input(what: &InputKind) -> String {
    match what {
        InputKind::Opened { definition, agent } => format!("at {agent}, definition {definition}"),
        InputKind::TurnReceived { key, text, .. } => match key {
            None => quoted(text),
            Some(key) => format!("{}, key {}", quoted(text), quoted(key)),
        },
        InputKind::ModelResponded { response } => reply(response),
        InputKind::ModelFailed { error } => error.to_string(),
        InputKind::ApprovalAsked { calls } => {
            format!("about {}", list(calls.iter().map(|call| format!("call {}", call.place))))
        }
        InputKind::ToolInDoubt { places } => {
            format!("nobody knows of {}", list(places.iter().map(|place| format!("call {place}"))))
        }
        InputKind::ToolCompleted { place, output } | InputKind::ToolFailed { place, output } => {
            format!("call {place}: {}", cut(&output.content))
        }
        InputKind::HandoffCommitted { hop } => {
            let package =
                hop.package.as_ref().map(|package| in_sight(&package.to_json())).unwrap_or_default();
            let (from, to, bytes, behind) = (&hop.from, &hop.to, hop.package_bytes, hop.history_bytes);
            format!("{from} → {to} with {bytes} bytes, {behind} stay behind: {package}")
        }
        InputKind::HumanAnswered { id, answer, by } => {
            let by = by.as_deref().map(|by| format!(", by {}", quoted(by))).unwrap_or_default();
            format!("{id}: {}{by}", json(answer))
        }
        InputKind::Cancelled { reason, .. } => quoted(reason),
        InputKind::Joined
        | InputKind::HandoffReconsidered
        | InputKind::Retried
        | InputKind::ToolsSkipped
        | InputKind::Deadline { .. } => String::new(),
        InputKind::ToolsSwitched { agent, tool, on } => {
            format!("{tool} of {agent} {}", if *on { "on" } else { "off" })
        }
        InputKind::ArtifactPut { name, value } => format!("{name} {}", cut(&in_sight(value.get()))),
        InputKind::MoreGiven { budget } => json(budget),
    }
}

fn of_announcement(what: &Announcement) -> String {
    match what {
        Announcement::ModelRequested { agent, call, attempt, left, activates, .. } => {
            let woken = activates.as_deref().map(|hop| format!(", woken by {hop}")).unwrap_or_default();
            format!("{agent} asks, call {call}, attempt {attempt}, {left} left{woken}")
        }
        Announcement::Planned { tools, branches, handoff } => {
            let tools = tools.iter().map(|call| call.tool.to_string());
            let branches = branches.iter().map(|branch| format!("branch {branch}"));
            let handoff = handoff.iter().map(|hop| format!("handoff {hop}"));
            list(tools.chain(branches).chain(handoff))
        }
        Announcement::ToolIntended { key, tool, place, effect, business_key, undoes, .. } => {
            let business =
                business_key.as_deref().map(|key| format!(", business key {key}")).unwrap_or_default();
            let undoes = undoes.as_deref().map(|key| format!(", undoes {key}")).unwrap_or_default();
            format!("call {place}: {tool}, {effect}, key {key}{business}{undoes}")
        }
        Announcement::HandoffRefused { hop, to, refusal } => format!("{hop} to {}: {refusal}", quoted(to)),
        Announcement::ReceiverAccepted { hop, constraints } => format!("{hop}, {constraints} constraints"),
        Announcement::ObligationClosed { hop, how, open } => {
            let open = if open.is_empty() { String::new() } else { format!(", open: {}", json(open)) };
            format!("{hop}: {}{open}", how.as_str())
        }
        Announcement::ObligationReopened { hop } => hop.to_string(),
        Announcement::Escalated { questions } => list(
            questions
                .iter()
                .map(|asked| format!("{} asks {}, digest {}", asked.id, asked.asks, asked.digest)),
        ),
        Announcement::Closed { answer_id, end, answer } => {
            let answer = answer.as_deref().map(|answer| format!(": {}", quoted(answer))).unwrap_or_default();
            format!("{answer_id} {end}{answer}")
        }
    }
}

fn reply(response: &ModelResponse) -> String {
    let words = response.content.iter().filter_map(|block| block.as_text()).map(quoted);
    let calls = response.content.iter().filter_map(|block| block.as_tool_use());
    let calls = calls.map(|call| format!("{} {}", call.name(), cut(&in_sight(call.input().get()))));
    list(words.chain(calls))
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "nothing".to_owned() } else { items.join("; ") }
}

/// Words in one line, as JSON writes them.
fn quoted(words: &str) -> String {
    cut(&json(words))
}

fn json(value: &(impl serde::Serialize + ?Sized)) -> String {
    in_sight(&serde_json::to_string(value).unwrap_or_default())
}

/// A value, as much of it as stands in a line.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{} … ({} bytes)", &text[..end], text.len()),
    }
}
