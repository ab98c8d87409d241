//! A story of several conversations, taken apart.

use std::collections::BTreeMap;

use crate::story::{Event, Part, Story, What};
use crate::telling::Used;

/// The status of a story of several conversations, each of which has its own.
pub(crate) const SEVERAL: &str = "several";

/// So many ends are counted where all conversations are told of in a line; more of them say nothing.
pub(crate) const MOST_ENDS: usize = 24;

/// What a conversation is called whose spans do not say which it is.
pub(crate) const UNNAMED: &str = "(no name)";

impl Story {
    /// How many conversations it tells of.
    pub fn conversation_count(&self) -> usize {
        self.runs.iter().filter(|run| run.within.is_none()).count()
    }

    /// The place of the conversation that each run works for.
    pub(crate) fn conversation_of_runs(&self) -> Vec<usize> {
        let mut of: Vec<usize> = Vec::with_capacity(self.runs.len());
        for (place, run) in self.runs.iter().enumerate() {
            // Who asked stands before.
            of.push(run.within.and_then(|asker| of.get(asker).copied()).unwrap_or(place));
        }
        of
    }

    /// How many conversations came to which end, in the order in which an end was first come to.
    pub fn outcomes(&self) -> Vec<(&str, usize)> {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        // A file may say a word of its own of each.
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for outcome in self.runs.iter().filter_map(|run| run.outcome.as_ref()) {
            let place = *places.entry(&outcome.status).or_insert(counts.len());
            match counts.get_mut(place) {
                Some((_, count)) => *count += 1,
                None => counts.push((&outcome.status, 1)),
            }
        }
        counts
    }

    /// The story of each conversation by itself, in the order in which they began; of one conversation the story as it is.
    /// What the source does not tell, and the ways that were gone, are told of all of them together.
    pub fn conversations(&self) -> Vec<Self> {
        if self.conversation_count() < 2 {
            return vec![self.clone()];
        }
        let of = self.conversation_of_runs();
        let mut own: BTreeMap<usize, Own> = BTreeMap::new();
        for (place, root) in of.iter().enumerate() {
            own.entry(*root).or_default().runs.put(place);
        }
        for event in &self.events {
            let root = of.get(event.run).copied().unwrap_or(event.run);
            own.entry(root).or_default().add(event);
        }
        let mut all: Vec<Self> = own.into_values().map(|own| own.told(self)).collect();
        all.sort_by_key(|story| story.began_us);
        all
    }
}

/// Places of a list, each with that in a shorter one.
#[derive(Default)]
struct Kept(BTreeMap<usize, usize>);

impl Kept {
    /// Keeps it, and gives its place in the shorter list.
    fn put(&mut self, place: usize) -> usize {
        let next = self.0.len();
        *self.0.entry(place).or_insert(next)
    }

    fn of<T: Clone>(&self, list: &[T]) -> Vec<T> {
        let mut kept: Vec<(usize, &T)> =
            self.0.iter().filter_map(|(old, new)| Some((*new, list.get(*old)?))).collect();
        kept.sort_by_key(|(new, _)| *new);
        kept.into_iter().map(|(_, it)| it.clone()).collect()
    }
}

/// What of a story is one conversation's own.
#[derive(Default)]
struct Own {
    runs: Kept,
    parts: Kept,
    hops: Kept,
    questions: Kept,
    asks: Kept,
    events: Vec<Event>,
}

impl Own {
    fn add(&mut self, event: &Event) {
        let mut event = event.clone();
        event.run = self.runs.put(event.run);
        match &mut event.what {
            What::Said { from, to, .. } | What::CameBack { from, to } => {
                [from, to].into_iter().for_each(|part| *part = self.parts.put(*part));
            }
            What::Replied { agent, .. } | What::Ran { agent, .. } => *agent = self.parts.put(*agent),
            What::HandedOver { hop } => *hop = self.hops.put(*hop),
            What::Asked { question } => *question = self.questions.put(*question),
            What::Returned { question, by } => {
                (*question, *by) = (self.questions.put(*question), self.parts.put(*by));
            }
            What::Waited { ask } | What::Decided { ask } => *ask = self.asks.put(*ask),
            What::Noted { agent, .. } | What::Ended { agent, .. } => {
                *agent = agent.map(|agent| self.parts.put(agent));
            }
        }
        self.events.push(event);
    }

    fn told(mut self, of: &Story) -> Story {
        let (mut hops, mut questions) = (self.hops.of(&of.hops), self.questions.of(&of.questions));
        for hop in &mut hops {
            (hop.run, hop.from) = (self.runs.put(hop.run), self.parts.put(hop.from));
            hop.to = hop.to.map(|to| self.parts.put(to));
        }
        for question in &mut questions {
            (question.run, question.from) = (self.runs.put(question.run), self.parts.put(question.from));
            question.branch = question.branch.map(|branch| self.runs.put(branch));
            question.to = question.to.map(|to| self.parts.put(to));
        }
        let mut asks = self.asks.of(&of.asks);
        for ask in &mut asks {
            (ask.from, ask.person) = (self.parts.put(ask.from), self.parts.put(ask.person));
        }
        let (mut runs, mut parts) = (self.runs.of(&of.runs), self.parts.of(&of.parts));
        for run in &mut runs {
            run.within = run.within.map(|asker| self.runs.put(asker));
        }
        parts.iter_mut().for_each(Part::forget);
        let root = runs.first_mut();
        let (title, outcome) = root.map(|run| (run.path.clone(), run.outcome.take())).unwrap_or_default();
        let mut story = Story {
            title: if title.is_empty() { UNNAMED.to_owned() } else { title },
            source: of.source,
            outcome: outcome.unwrap_or_default(),
            parts,
            runs,
            hops,
            questions,
            asks,
            ..Story::default()
        };
        for event in self.events {
            story.happened(event);
        }
        story.budget = Used::of_conversations(&Used::of_runs(&story), &story);
        story.date();
        story
    }
}
