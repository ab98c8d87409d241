//! How those who take part are told apart: by a letter and a shape, and by a colour that is never alone.

use crate::markup::Markup;
use crate::story::{Kind, Story};

/// So many colours there are.
const COLOURS: usize = 8;

/// Those who take part, as a drawing or a list has them: the user first, people last.
pub(crate) fn in_order(story: &Story) -> Vec<usize> {
    let mut places: Vec<usize> = (0..story.parts.len()).collect();
    let column = |kind: Kind| match kind {
        Kind::User => 0,
        Kind::Agent | Kind::Delegate => 1,
        Kind::Person => 2,
    };
    places.sort_by_key(|place| story.parts.get(*place).map(|part| column(part.kind)));
    places
}

/// The letter of somebody: `U` the user, `P` a person, and agents from `A` on.
pub(crate) fn letter(story: &Story, place: usize) -> String {
    match story.parts.get(place).map(|part| part.kind) {
        Some(Kind::User) => "U".to_owned(),
        Some(Kind::Person) => match number(story, place, |kind| kind == Kind::Person) {
            0 => "P".to_owned(),
            number => format!("P{}", number + 1),
        },
        Some(_) => {
            let number = number(story, place, is_agent);
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
pub(crate) fn colour(story: &Story, place: usize) -> &'static str {
    const CLASSES: [&str; COLOURS] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
    match story.parts.get(place).map(|part| part.kind) {
        Some(kind) if is_agent(kind) => {
            CLASSES.get(number(story, place, is_agent) % COLOURS).copied().unwrap_or_default()
        }
        _ => "cp",
    }
}

/// What somebody is, in a word.
pub(crate) fn kind(story: &Story, place: usize) -> &'static str {
    match story.parts.get(place).map(|part| part.kind) {
        Some(Kind::User) => "user",
        Some(Kind::Agent) => "agent",
        Some(Kind::Delegate) => "delegate",
        Some(Kind::Person) => "person",
        None => "",
    }
}

/// The letter in its shape, with the name: in a text.
pub(crate) fn named(story: &Story, place: usize, out: &mut Markup) {
    out.raw("<span class=\"who ").own(colour(story, place)).raw("\"><span class=\"badge ");
    out.own(kind(story, place)).raw("\" aria-hidden=\"true\"><span>").own(letter(story, place));
    out.raw("</span></span>").value(story.part(place)).raw("</span>");
}

fn is_agent(kind: Kind) -> bool {
    matches!(kind, Kind::Agent | Kind::Delegate)
}

/// How many of a sort came before somebody.
fn number(story: &Story, place: usize, is_of: impl Fn(Kind) -> bool) -> usize {
    story.parts.iter().take(place).filter(|part| is_of(part.kind)).count()
}
