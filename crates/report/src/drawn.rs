//! What of a story is drawn: a sequence of thousands beside each other is no picture.

use std::collections::BTreeSet;

use crate::shown::counted;
use crate::story::{Event, What};
use crate::who::Cast;

/// So many are drawn beside each other.
const MOST_LANES: usize = 24;
/// So many events are drawn; where there are more, the last of these are the story's last.
const MOST_EVENTS: usize = 300;
const LAST_EVENTS: usize = 20;

/// What is drawn of a story, in order.
pub(crate) struct Drawn<'s> {
    /// Who has a lane: those who took part first.
    pub(crate) lanes: Vec<usize>,
    pub(crate) steps: Vec<Step<'s>>,
    /// How many events are left out, and how many have no lane.
    left_out: (usize, usize),
}

/// A step of a drawing.
pub(crate) enum Step<'s> {
    Event(&'s Event),
    /// So many events that are not drawn.
    Gap(usize),
}

impl<'s> Drawn<'s> {
    pub(crate) fn of(cast: &Cast<'s>) -> Self {
        let story = cast.story();
        // The user has a lane from the beginning, since all ends there.
        let user = (0..story.parts.len()).find(|part| cast.kind(*part) == "user");
        let mut lanes: BTreeSet<usize> = user.into_iter().collect();
        let parts = story.events.iter().flat_map(|event| parts_of(cast, &event.what));
        for part in parts.flatten().chain(0..story.parts.len()) {
            if lanes.len() == MOST_LANES {
                break;
            }
            if part < story.parts.len() {
                lanes.insert(part);
            }
        }
        let fits =
            |event: &&Event| parts_of(cast, &event.what).into_iter().flatten().all(|it| lanes.contains(&it));
        let count = story.events.iter().filter(fits).count();
        let cut = if count > MOST_EVENTS { MOST_EVENTS - LAST_EVENTS..count - LAST_EVENTS } else { 0..0 };
        let (mut steps, mut fit) = (Vec::new(), 0);
        for event in &story.events {
            let is_drawn = fits(&event) && {
                fit += 1;
                !cut.contains(&(fit - 1))
            };
            match (is_drawn, steps.last_mut()) {
                (true, _) => steps.push(Step::Event(event)),
                (false, Some(Step::Gap(count))) => *count += 1,
                (false, _) => steps.push(Step::Gap(1)),
            }
        }
        let drawn = steps.iter().filter(|step| matches!(step, Step::Event(_))).count();
        let left_out = (story.events.len() - drawn, story.parts.len() - lanes.len());
        let mut lanes: Vec<usize> = lanes.into_iter().collect();
        cast.sort(&mut lanes);
        Self { lanes, steps, left_out }
    }

    /// What is not drawn, in a sentence; `None` where all is.
    pub(crate) fn remark(&self) -> Option<String> {
        match self.left_out {
            (0, 0) => None,
            (count, 0) => Some(format!("{} not drawn", counted(count as u64, "event is", "events are"))),
            (count, parts) => {
                let events = counted(count as u64, "event", "events");
                let parts = counted(parts as u64, "more who takes part", "more who take part");
                Some(format!("{events} and {parts} are not drawn"))
            }
        }
    }
}

/// What stands in the place of events that are not drawn.
pub(crate) fn gap(count: usize) -> String {
    format!("… {} not drawn …", counted(count as u64, "event", "events"))
}

/// Who takes part in an event. An arrow that does not arrive needs nobody at its end.
fn parts_of(cast: &Cast<'_>, what: &What) -> [Option<usize>; 2] {
    match what {
        What::Said { from, to, .. } | What::CameBack { from, to } => [Some(*from), Some(*to)],
        What::Replied { agent, .. } | What::Ran { agent, .. } => [Some(*agent), None],
        What::HandedOver { hop } => cast.hops.get(*hop).map_or([None; 2], |hop| [Some(hop.from), hop.to]),
        What::Asked { question } => {
            cast.questions.get(*question).map_or([None; 2], |asked| [Some(asked.from), asked.to])
        }
        What::Returned { question, by } => {
            [Some(*by), cast.questions.get(*question).map(|question| question.from)]
        }
        What::Waited { ask } | What::Decided { ask } => {
            cast.asks.get(*ask).map_or([None; 2], |ask| [Some(ask.from), Some(ask.person)])
        }
        What::Noted { agent, .. } | What::Ended { agent, .. } => [*agent, None],
    }
}
