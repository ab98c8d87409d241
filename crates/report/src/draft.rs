//! A story while it is written: what both sources do alike.

use std::collections::BTreeMap;

use sommelier_protocol::RawJson;

use crate::story::{Event, Hop, Kind, Matrix, Part, Passage, Passes, Question, Story, Way, What};

/// A story that grows.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) story: Story,
    /// The tools by which each run of the tree was asked, from the outside in.
    places: BTreeMap<String, String>,
}

impl Draft {
    /// The place of somebody who takes part; whoever is new takes part from now on.
    pub(crate) fn part(&mut self, kind: Kind, name: &str) -> usize {
        let parts = &mut self.story.parts;
        if let Some(place) = parts.iter().position(|part| part.kind == kind && part.name == name) {
            return place;
        }
        parts.push(Part {
            kind,
            name: name.to_owned(),
            model_calls: 0,
            tool_calls: 0,
            input_tokens: 0,
            output_tokens: 0,
        });
        parts.len() - 1
    }

    pub(crate) fn user(&mut self) -> usize {
        self.part(Kind::User, "user")
    }

    /// An agent, where it works: one of a branch is told apart from one that has the turn.
    pub(crate) fn agent(&mut self, run: &str, name: &str) -> usize {
        let kind = if self.is_branch(run) { Kind::Delegate } else { Kind::Agent };
        self.part(kind, name)
    }

    /// An agent that is known to take part.
    pub(crate) fn known(&self, run: &str, name: &str) -> Option<usize> {
        let kind = if self.is_branch(run) { Kind::Delegate } else { Kind::Agent };
        self.story.parts.iter().position(|part| part.kind == kind && part.name == name)
    }

    /// From now on this run is a branch that is asked by a tool of another.
    pub(crate) fn branch(&mut self, run: &str, asker: &str, tool: &str) {
        let place = match self.place(asker) {
            "" => tool.to_owned(),
            outer => format!("{outer}/{tool}"),
        };
        self.places.insert(run.to_owned(), place);
    }

    pub(crate) fn is_branch(&self, run: &str) -> bool {
        self.places.contains_key(run)
    }

    /// Whether a run was asked at this place.
    pub(crate) fn has_place(&self, place: &str) -> bool {
        self.places.values().any(|of| of == place)
    }

    fn place(&self, run: &str) -> &str {
        self.places.get(run).map_or("", |place| place)
    }

    pub(crate) fn event(&mut self, at_us: u64, run: &str, what: What) {
        self.timed(at_us, None, run, what);
    }

    /// Something that took time. What it cost its agent is counted.
    pub(crate) fn timed(&mut self, at_us: u64, took_us: Option<u64>, run: &str, what: What) {
        match &what {
            What::Replied { agent, input_tokens, output_tokens, error: None, .. } => {
                if let Some(part) = self.story.parts.get_mut(*agent) {
                    part.model_calls += 1;
                    part.input_tokens = part.input_tokens.saturating_add(input_tokens.unwrap_or_default());
                    part.output_tokens = part.output_tokens.saturating_add(output_tokens.unwrap_or_default());
                }
            }
            What::Ran { agent, .. } => {
                if let Some(part) = self.story.parts.get_mut(*agent) {
                    part.tool_calls += 1;
                }
            }
            _ => {}
        }
        self.story.events.push(Event { at_us, took_us, run: run.to_owned(), what });
    }

    pub(crate) fn note(
        &mut self,
        at_us: u64,
        run: &str,
        agent: Option<usize>,
        note: &str,
        detail: Option<String>,
    ) {
        self.event(at_us, run, What::Noted { agent, note: note.to_owned(), detail });
    }

    pub(crate) fn hop(&mut self, hop: Hop) {
        let (at_us, run) = (hop.at_us, hop.run.clone());
        self.story.hops.push(hop);
        self.event(at_us, &run, What::HandedOver { hop: self.story.hops.len() - 1 });
    }

    pub(crate) fn question(&mut self, run: &str, question: Question) {
        let at_us = question.at_us;
        self.story.questions.push(question);
        self.event(at_us, run, What::Asked { question: self.story.questions.len() - 1 });
    }

    /// The story, with each way counted that was gone. The matrices say which there are.
    pub(crate) fn finish(mut self, relays: Vec<Matrix>) -> Story {
        self.story.relays = relays;
        self.count_ways();
        let story = &mut self.story;
        story.began_us = story.events.iter().map(begin).min().unwrap_or_default();
        story.ended_us = story.events.iter().map(|event| event.at_us).max().unwrap_or_default();
        self.story
    }

    fn count_ways(&mut self) {
        let gone = self.story.hops.iter().map(|hop| {
            let from = self.story.part(hop.from).to_owned();
            let came = match hop.outcome {
                Passage::Taken | Passage::TakenOut => Came::Taken,
                Passage::Refused { .. } => Came::Refused,
                Passage::NotTaken { .. } => Came::Neither,
            };
            (self.place(&hop.run).to_owned(), from, hop.to_name.clone(), Passes::Turn, came)
        });
        let asked = self.story.questions.iter().map(|question| {
            let asker = question.id.rsplitn(4, '/').last().unwrap_or_default();
            let from = self.story.part(question.from).to_owned();
            let came = if question.to.is_some() { Came::Taken } else { Came::Refused };
            (self.place(asker).to_owned(), from, question.tool.clone(), Passes::Question, came)
        });
        let gone: Vec<_> = gone.chain(asked).collect();
        for (place, from, to, passes, came) in gone {
            let relays = &mut self.story.relays;
            if !relays.iter().any(|relay| relay.place == place) {
                relays.push(Matrix {
                    place: place.clone(),
                    agents: Vec::new(),
                    is_whole: false,
                    ways: Vec::new(),
                });
            }
            if let Some(relay) = relays.iter_mut().find(|relay| relay.place == place) {
                relay.count(&from, &to, passes, came);
            }
        }
    }
}

/// What came of going a way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    Taken,
    Refused,
    Neither,
}

impl Matrix {
    /// Counts a way that was gone, and notes it where nobody has described it.
    fn count(&mut self, from: &str, to: &str, passes: Passes, came: Came) {
        if !self.is_whole {
            let names = [Some(from), Some(to).filter(|_| passes == Passes::Turn)];
            for name in names.into_iter().flatten() {
                if !self.agents.iter().any(|agent| agent == name) {
                    self.agents.push(name.to_owned());
                }
            }
        }
        let is_it = |way: &Way| way.from == from && way.to == to && way.passes == passes;
        if !self.ways.iter().any(is_it) {
            let (is_route, notes) = (self.is_whole.then_some(false), Vec::new());
            let (from, to) = (from.to_owned(), to.to_owned());
            self.ways.push(Way { from, to, passes, is_route, notes, taken: 0, refused: 0 });
        }
        if let Some(way) = self.ways.iter_mut().find(|way| is_it(way)) {
            way.taken += u64::from(came == Came::Taken);
            way.refused += u64::from(came == Came::Refused);
        }
    }
}

/// When something began.
fn begin(event: &Event) -> u64 {
    event.at_us.saturating_sub(event.took_us.unwrap_or_default())
}

/// JSON as it is, or a text that is none as a string.
pub(crate) fn json(text: &str) -> RawJson {
    RawJson::parse(text).unwrap_or_else(|_| RawJson::string(text))
}
