//! How those who take part are told apart: by a letter and a shape, and by a colour that is never alone.

use std::collections::BTreeSet;
use std::ops::Deref;

use crate::markup::Markup;
use crate::story::{Kind, Question, Run, Story};

/// So many colours there are.
const COLOURS: usize = 8;

/// A story with what each form of output asks of it for every word that it writes: whose letter is which, and how deep in the
/// tree a run is. It is found once, since thousands may take part.
pub(crate) struct Cast<'s> {
    story: &'s Story,
    /// How many of the same sort came before each who takes part: users, people, agents.
    numbers: Vec<usize>,
    depths: Vec<usize>,
    /// Which of several conversations it is, from 1; `None` for the whole of a page.
    number: Option<usize>,
}

impl<'s> Cast<'s> {
    pub(crate) fn of(story: &'s Story) -> Self {
        let (mut users, mut people, mut agents) = (0, 0, 0);
        let number = |kind| {
            let next = match kind {
                Kind::User => &mut users,
                Kind::Person => &mut people,
                Kind::Agent | Kind::Delegate => &mut agents,
            };
            *next += 1;
            *next - 1
        };
        let numbers = story.parts.iter().map(|part| part.kind).map(number).collect();
        let mut depths: Vec<usize> = Vec::with_capacity(story.runs.len());
        for run in &story.runs {
            // Who asked stands before.
            depths.push(run.within.and_then(|asker| depths.get(asker)).map_or(0, |depth| depth + 1));
        }
        Self { story, numbers, depths, number: None }
    }

    /// One of several conversations of a page, by its number.
    pub(crate) fn one_of(story: &'s Story, number: usize) -> Self {
        Self { number: Some(number), ..Self::of(story) }
    }

    /// An id that no other piece of the page has: a page may have pieces of several conversations.
    pub(crate) fn id(&self, name: &'static str) -> String {
        self.number.map_or_else(|| name.to_owned(), |number| format!("{name}-{number}"))
    }

    /// The story, for as long as it lives.
    pub(crate) fn story(&self) -> &'s Story {
        self.story
    }

    /// How many runs stand around this one.
    pub(crate) fn depth(&self, run: usize) -> usize {
        self.depths.get(run).copied().unwrap_or_default()
    }

    /// Whether a run is another one, or a branch below it.
    pub(crate) fn is_within(&self, mut run: usize, around: usize) -> bool {
        while run > around {
            let asker = self.story.runs.get(run).and_then(|run: &Run| run.within);
            let Some(asker) = asker.filter(|asker| *asker < run) else { return false };
            run = asker;
        }
        run == around
    }

    /// The questions that have a branch, each with its run and once for each of them.
    pub(crate) fn branches(&self) -> impl Iterator<Item = (&'s Question, usize)> {
        let mut told = BTreeSet::new();
        let branches = self.story.questions.iter().filter_map(|question| Some((question, question.branch?)));
        branches.filter(move |(_, run)| told.insert(*run))
    }

    /// Those who take part, as a drawing or a list has them: the user first, people last.
    pub(crate) fn in_order(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.parts.len()).collect();
        self.sort(&mut places);
        places
    }

    pub(crate) fn sort(&self, places: &mut [usize]) {
        let column = |kind: Kind| match kind {
            Kind::User => 0,
            Kind::Agent | Kind::Delegate => 1,
            Kind::Person => 2,
        };
        places.sort_by_key(|place| (self.parts.get(*place).map(|part| column(part.kind)), *place));
    }

    /// The letter of somebody: `U` the user, `P` a person, and agents from `A` on.
    pub(crate) fn letter(&self, place: usize) -> String {
        let number = self.numbers.get(place).copied().unwrap_or_default();
        match self.parts.get(place).map(|part| part.kind) {
            Some(Kind::User) => "U".to_owned(),
            Some(Kind::Person) => match number {
                0 => "P".to_owned(),
                number => format!("P{}", number + 1),
            },
            Some(_) => {
                let letter = u8::try_from(number % 26).map_or('?', |number| char::from(b'A' + number));
                match number / 26 {
                    0 => letter.to_string(),
                    round => format!("{letter}{round}"),
                }
            }
            None => "?".to_owned(),
        }
    }

    /// The class of somebody's colour.
    pub(crate) fn colour(&self, place: usize) -> &'static str {
        const CLASSES: [&str; COLOURS] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
        match self.parts.get(place).map(|part| part.kind) {
            Some(Kind::Agent | Kind::Delegate) => {
                let number = self.numbers.get(place).copied().unwrap_or_default();
                CLASSES.get(number % COLOURS).copied().unwrap_or_default()
            }
            _ => "cp",
        }
    }

    /// What somebody is, in a word.
    pub(crate) fn kind(&self, place: usize) -> &'static str {
        match self.parts.get(place).map(|part| part.kind) {
            Some(Kind::User) => "user",
            Some(Kind::Agent) => "agent",
            Some(Kind::Delegate) => "delegate",
            Some(Kind::Person) => "person",
            None => "",
        }
    }

    /// The letter in its shape.
    pub(crate) fn badge(&self, place: usize, out: &mut Markup) {
        out.raw("<span class=\"badge ").own(self.kind(place)).raw("\" aria-hidden=\"true\"><span>");
        out.own(self.letter(place)).raw("</span></span>");
    }

    /// The letter in its shape, with the name: in a text.
    pub(crate) fn named(&self, place: usize, out: &mut Markup) {
        out.raw("<span class=\"who ").own(self.colour(place)).raw("\">");
        self.badge(place, out);
        out.name(self.part(place)).raw("</span>");
    }
}

impl Deref for Cast<'_> {
    type Target = Story;

    fn deref(&self) -> &Story {
        self.story
    }
}
