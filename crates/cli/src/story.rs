//! What happened in a conversation, call by call, as its records tell it.

use std::collections::BTreeMap;

use serde::Serialize;
use sommelier_handoff::{Announcement, Entry, InputKind};
use sommelier_protocol::RawJson;
use sommelier_protocol::sight::in_sight;
use sommelier_runner::journal::Record;

use crate::record_line::cut;
use crate::rows::HopRow;
use crate::words::{in_line, named};

/// What happened, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Story(Vec<Event>);

#[derive(Clone, Debug)]
enum Event {
    Called(CallRow),
    /// A handoff was taken.
    Taken(HopRow),
    /// No reply came to this agent.
    Unanswered {
        agent: String,
        why: String,
    },
}

/// A call that a model made: of a tool, or for a handoff.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CallRow {
    /// Who called.
    pub(crate) agent: String,
    pub(crate) tool: String,
    pub(crate) input: Option<RawJson>,
    /// What the tool gave; null where none has run.
    pub(crate) output: Option<String>,
    /// How often its tool was begun.
    pub(crate) runs: u32,
}

impl Story {
    /// What the records tell, of branches too.
    pub(crate) fn of(records: &[Record]) -> Self {
        let mut told = Telling::default();
        for record in records {
            match Entry::read(record.event.kind(), record.event.version(), record.event.body()) {
                Ok(Entry::Input(input)) => told.input(&input.run, input.what),
                Ok(Entry::Announced(announced)) => told.announced(&announced.run, announced.what),
                // Who has the lease is no part of it.
                Err(_) => {}
            }
        }
        told.story
    }

    /// A story of these calls.
    #[cfg(test)]
    pub(crate) fn with(calls: impl IntoIterator<Item = CallRow>) -> Self {
        Self(calls.into_iter().map(Event::Called).collect())
    }

    /// The calls, in the order in which they were made.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &CallRow> {
        self.0.iter().filter_map(|event| match event {
            Event::Called(call) => Some(call),
            _ => None,
        })
    }

    /// The story for a reader.
    pub(crate) fn text(&self) -> String {
        let width = self.calls().map(|call| named(&call.agent).chars().count()).max().unwrap_or_default();
        self.0.iter().map(|event| event.text(width)).collect::<Vec<_>>().join("\n")
    }
}

impl Event {
    fn text(&self, width: usize) -> String {
        match self {
            Self::Called(call) => {
                let input = call.input.as_ref().map(RawJson::get).unwrap_or_default();
                let mut text =
                    format!("{:width$}  calls {} {}", named(&call.agent), named(&call.tool), cut(input));
                if let Some(output) = &call.output {
                    text.push_str(&format!("\n{:width$}  {}", "", cut(&in_line(output))));
                }
                text
            }
            Self::Taken(hop) => {
                let package = hop.package.as_ref().map(|package| in_sight(&package.to_json()));
                format!("{:width$}  {}\n{:width$}  {}", "", hop.line(), "", package.unwrap_or_default())
            }
            Self::Unanswered { agent, why } => {
                format!("{:width$}  has no reply: {}", named(agent), in_line(why))
            }
        }
    }
}

/// A story that is being told.
#[derive(Default)]
struct Telling {
    story: Story,
    /// By run: who was asked last, and where the calls of its reply begin.
    runs: BTreeMap<String, (String, Vec<usize>)>,
}

impl Telling {
    fn input(&mut self, run: &str, what: InputKind) {
        match what {
            InputKind::ModelResponded { response } => {
                let (agent, places) = self.runs.entry(run.to_owned()).or_default();
                places.clear();
                for call in response.content.iter().filter_map(|block| block.as_tool_use()) {
                    places.push(self.story.0.len());
                    self.story.0.push(Event::Called(CallRow {
                        agent: agent.clone(),
                        tool: call.name().to_owned(),
                        input: RawJson::parse(&in_sight(call.input().get())).ok(),
                        output: None,
                        runs: 0,
                    }));
                }
            }
            InputKind::ModelFailed { error } => {
                let agent = self.runs.get(run).map(|(agent, _)| agent.clone()).unwrap_or_default();
                self.story.0.push(Event::Unanswered { agent, why: error.to_string() });
            }
            InputKind::ToolCompleted { place, output } | InputKind::ToolFailed { place, output } => {
                if let Some(call) = self.call(run, place) {
                    call.output = Some(output.content.into());
                }
            }
            InputKind::HandoffCommitted { hop } => self.story.0.push(Event::Taken(HopRow::of(&hop))),
            _ => {}
        }
    }

    fn announced(&mut self, run: &str, what: Announcement) {
        match what {
            Announcement::ModelRequested { agent, .. } => {
                self.runs.entry(run.to_owned()).or_default().0 = agent.to_string();
            }
            Announcement::ToolIntended { place, .. } => {
                if let Some(call) = self.call(run, place) {
                    call.runs += 1;
                }
            }
            _ => {}
        }
    }

    /// The call at this place of the newest reply.
    fn call(&mut self, run: &str, place: usize) -> Option<&mut CallRow> {
        let at = *self.runs.get(run)?.1.get(place)?;
        match self.story.0.get_mut(at)? {
            Event::Called(call) => Some(call),
            _ => None,
        }
    }
}
