//! A story while it is written: what both sources do alike.

use std::collections::{BTreeMap, BTreeSet};

use sommelier_protocol::RawJson;

use crate::places::Places;
use crate::story::{Event, Hop, Kind, Matrix, Part, Passage, Passes, Question, Run, Story, Way, What};

/// A story that grows. What is looked for while it does is found by an index, since a run may have thousands of each.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) story: Story,
    parts: BTreeMap<Kind, BTreeMap<String, usize>>,
    runs: BTreeMap<String, usize>,
    questions: BTreeMap<String, usize>,
    pub(crate) places: Places,
    /// The place of each run.
    place_of: Vec<usize>,
}

impl Draft {
    /// The place of somebody who takes part; whoever is new takes part from now on.
    pub(crate) fn part(&mut self, kind: Kind, name: &str) -> usize {
        let known = self.parts.entry(kind).or_default();
        if let Some(place) = known.get(name) {
            return *place;
        }
        known.insert(name.to_owned(), self.story.parts.len());
        self.story.parts.push(Part::new(kind, name));
        self.story.parts.len() - 1
    }

    pub(crate) fn user(&mut self) -> usize {
        self.part(Kind::User, "user")
    }

    /// An agent, where it works: one of a branch is told apart from one that has the turn.
    pub(crate) fn agent(&mut self, run: usize, name: &str) -> usize {
        self.part(self.kind(run), name)
    }

    /// An agent that is known to take part.
    pub(crate) fn known(&self, run: usize, name: &str) -> Option<usize> {
        self.parts.get(&self.kind(run))?.get(name).copied()
    }

    fn kind(&self, run: usize) -> Kind {
        let is_branch = self.story.runs.get(run).is_some_and(|run| run.within.is_some());
        if is_branch { Kind::Delegate } else { Kind::Agent }
    }

    /// The run of this path; one that is new is a conversation.
    pub(crate) fn run(&mut self, path: &str) -> usize {
        match self.runs.get(path) {
            Some(run) => *run,
            None => self.grow(path, None, Places::OUTERMOST),
        }
    }

    /// The branch of this path, which a tool of another run asks. Of runs that ask each other the first is nobody's branch.
    /// Where the source does not tell the path, each question has a branch of its own.
    pub(crate) fn branch(&mut self, path: &str, asker: usize, tool: &str) -> usize {
        let known = self.runs.get(path).copied().filter(|_| !path.is_empty());
        if let Some(run) = known.filter(|run| *run <= asker || self.kind(*run) == Kind::Delegate) {
            return run;
        }
        let outer = self.place_of.get(asker).copied().unwrap_or(Places::OUTERMOST);
        let place = self.places.within(outer, tool);
        let Some(run) = known else { return self.grow(path, Some(asker), place) };
        if let (Some(it), Some(at)) = (self.story.runs.get_mut(run), self.place_of.get_mut(run)) {
            (it.within, *at) = (Some(asker), place);
        }
        run
    }

    /// The run of this path, found within another one: a new one is its branch, by a tool that the source does not tell.
    pub(crate) fn run_within(&mut self, path: &str, around: usize) -> usize {
        self.runs.get(path).copied().unwrap_or_else(|| self.branch(path, around, ""))
    }

    /// A conversation of which nobody knows the name, so that none of the others is it.
    pub(crate) fn nameless_run(&mut self) -> usize {
        self.push("", None, Places::OUTERMOST)
    }

    fn grow(&mut self, path: &str, within: Option<usize>, place: usize) -> usize {
        let run = self.push(path, within, place);
        if within.is_none() || !path.is_empty() {
            self.runs.entry(path.to_owned()).or_insert(run);
        }
        run
    }

    fn push(&mut self, path: &str, within: Option<usize>, place: usize) -> usize {
        let run = self.story.runs.len();
        self.story.runs.push(Run { path: path.to_owned(), within, ..Run::default() });
        self.place_of.push(place);
        run
    }

    pub(crate) fn event(&mut self, at_us: u64, run: usize, what: What) {
        self.timed(at_us, None, run, what);
    }

    /// Something that took time.
    pub(crate) fn timed(&mut self, at_us: u64, took_us: Option<u64>, run: usize, what: What) {
        self.story.happened(Event { at_us, took_us, run, what });
    }

    pub(crate) fn note(
        &mut self,
        at_us: u64,
        run: usize,
        agent: Option<usize>,
        note: &str,
        detail: Option<String>,
    ) {
        self.event(at_us, run, What::Noted { agent, note: note.to_owned(), detail });
    }

    pub(crate) fn hop(&mut self, hop: Hop) {
        let (at_us, run) = (hop.at_us, hop.run);
        self.story.hops.push(hop);
        self.event(at_us, run, What::HandedOver { hop: self.story.hops.len() - 1 });
    }

    pub(crate) fn question(&mut self, question: Question) -> usize {
        let (at_us, run, place) = (question.at_us, question.run, self.story.questions.len());
        self.questions.entry(question.id.clone()).or_insert(place);
        self.story.questions.push(question);
        self.event(at_us, run, What::Asked { question: place });
        place
    }

    /// The question of this id.
    pub(crate) fn asked(&self, id: &str) -> Option<usize> {
        self.questions.get(id).copied()
    }

    /// The story, with each way counted that was gone. The matrices say which there are, each with its place.
    pub(crate) fn finish(mut self, relays: Vec<(usize, Matrix)>) -> Story {
        self.story.relays = self.count_ways(relays);
        self.story.date();
        self.story
    }

    fn count_ways(&self, relays: Vec<(usize, Matrix)>) -> Vec<Matrix> {
        let place = |run: usize| self.place_of.get(run).copied().unwrap_or(Places::OUTERMOST);
        let mut tally = Tally::of(relays);
        for hop in &self.story.hops {
            let came = match hop.outcome {
                Passage::Taken | Passage::TakenOut => Came::Taken,
                Passage::Refused { .. } => Came::Refused,
                Passage::NotTaken { .. } => Came::Neither,
            };
            let way = (self.story.part(hop.from), &*hop.to_name, Passes::Turn);
            tally.count(place(hop.run), &self.places, way, came);
        }
        for question in &self.story.questions {
            let came = if question.to.is_some() { Came::Taken } else { Came::Refused };
            let way = (self.story.part(question.from), &*question.tool, Passes::Question);
            tally.count(place(question.run), &self.places, way, came);
        }
        tally.matrices
    }
}

/// What came of going a way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    Taken,
    Refused,
    Neither,
}

/// Matrices in which ways are counted.
struct Tally {
    matrices: Vec<Matrix>,
    /// The matrix of each place, and in it where an agent and a way stand.
    at: BTreeMap<usize, usize>,
    agents: BTreeSet<(usize, String)>,
    ways: BTreeMap<(usize, Passes), BTreeMap<String, BTreeMap<String, usize>>>,
}

impl Tally {
    fn of(relays: Vec<(usize, Matrix)>) -> Self {
        let (places, matrices): (Vec<usize>, Vec<Matrix>) = relays.into_iter().unzip();
        let at = places.into_iter().enumerate().map(|(matrix, place)| (place, matrix)).collect();
        let mut ways: BTreeMap<_, BTreeMap<String, BTreeMap<String, usize>>> = BTreeMap::new();
        for (matrix, relay) in matrices.iter().enumerate() {
            for (place, way) in relay.ways.iter().enumerate() {
                let from = ways.entry((matrix, way.passes)).or_default().entry(way.from.clone()).or_default();
                from.entry(way.to.clone()).or_insert(place);
            }
        }
        Self { matrices, at, agents: BTreeSet::new(), ways }
    }

    /// Counts a way that was gone, and notes it where nobody has described it.
    fn count(&mut self, place: usize, places: &Places, (from, to, passes): (&str, &str, Passes), came: Came) {
        let new = self.matrices.len();
        let at = *self.at.entry(place).or_insert(new);
        if at == new {
            let place = places.name(place);
            self.matrices.push(Matrix { place, agents: Vec::new(), is_whole: false, ways: Vec::new() });
        }
        let Some(matrix) = self.matrices.get_mut(at) else { return };
        if !matrix.is_whole {
            for name in [Some(from), Some(to).filter(|_| passes == Passes::Turn)].into_iter().flatten() {
                if self.agents.insert((at, name.to_owned())) {
                    matrix.agents.push(name.to_owned());
                }
            }
        }
        let known = self.ways.entry((at, passes)).or_default().entry(from.to_owned()).or_default();
        let way = *known.entry(to.to_owned()).or_insert(matrix.ways.len());
        if way == matrix.ways.len() {
            let (is_route, notes) = (matrix.is_whole.then_some(false), Vec::new());
            let (from, to) = (from.to_owned(), to.to_owned());
            matrix.ways.push(Way { from, to, passes, is_route, notes, taken: 0, refused: 0 });
        }
        if let Some(way) = matrix.ways.get_mut(way) {
            way.taken += u64::from(came == Came::Taken);
            way.refused += u64::from(came == Came::Refused);
        }
    }
}

/// JSON as it is, or a text that is none as a string.
pub(crate) fn json(text: &str) -> RawJson {
    RawJson::parse(text).unwrap_or_else(|_| RawJson::string(text))
}
