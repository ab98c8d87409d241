//! What took how long, drawn over time.

use std::collections::BTreeMap;

use crate::markup::Markup;
use crate::shown::{duration, fitting, offset, short};
use crate::story::{Event, Passage, What};
use crate::telling::{GOES_ON, WAITS};
use crate::who::Cast;

/// Beyond so many bars no more are drawn.
const MOST: usize = 600;
/// So many of those who take part have a row: who worked first.
const MOST_ROWS: usize = 40;

const NAMES: i32 = 170;
const WIDTH: i32 = 660;
/// Room behind the axis, for when it ends.
const FOOT: i32 = 110;
const ROW: i32 = 30;
const TOP: i32 = 30;
/// So wide a break in the axis is drawn.
const BREAK: i32 = 44;
/// A break is shorter than this in no case, in microseconds.
const SHORTEST_BREAK: u64 = 1_000_000;
/// So wide a wait is drawn that goes on where the source ends: beyond the axis, since nobody knows its length.
const OPEN: i32 = 60;

/// A drawing of what took how long.
pub(crate) struct Timeline {
    pub(crate) drawing: Markup,
    /// How many bars are not drawn.
    pub(crate) left_out: usize,
}

/// The drawing; `None` where everything happened at one moment.
pub(crate) fn draw(story: &Cast<'_>) -> Option<Timeline> {
    let waits = waits(story);
    let all: Vec<Bar> =
        story.events.iter().zip(waits).filter_map(|(event, until)| Bar::of(story, event, until)).collect();
    let count = all.len();
    let mut rows: BTreeMap<usize, i32> = BTreeMap::new();
    let has_row = |bar: &Bar| {
        if rows.len() < MOST_ROWS {
            rows.entry(bar.part).or_default();
        }
        rows.contains_key(&bar.part)
    };
    let bars: Vec<Bar> = all.into_iter().filter(has_row).take(MOST).collect();
    let axis = Axis::of(&bars)?;
    let mut lanes: Vec<usize> = rows.keys().copied().collect();
    story.sort(&mut lanes);
    for (row, part) in (0..).zip(&lanes) {
        rows.insert(*part, TOP + row * ROW);
    }
    let row = |part: usize| rows.get(&part).copied().unwrap_or(TOP);
    let height = TOP + i32::try_from(lanes.len()).unwrap_or_default() * ROW + 12;
    let mut out = Markup::new();
    out.raw("<svg class=\"times\" role=\"img\" aria-labelledby=\"")
        .own(story.id("times-title"))
        .raw(" ")
        .own(story.id("times-desc"))
        .raw("\" width=\"")
        .number(NAMES + WIDTH + FOOT);
    out.raw("\" height=\"")
        .number(height)
        .raw("\" viewBox=\"0 0 ")
        .number(NAMES + WIDTH + FOOT)
        .raw(" ")
        .number(height);
    out.raw("\"><title id=\"").own(story.id("times-title")).raw("\">What took how long</title><desc id=\"");
    out.own(story.id("times-desc")).raw("\">");
    out.own(format_args!("{} in all. The table of events has each time.", duration(story.took_us())))
        .raw("</desc>");
    axis.draw(height, &mut out);
    for part in &lanes {
        let y = row(*part);
        out.raw("<g class=\"top ")
            .own(story.colour(*part))
            .raw("\"><title>")
            .text(&short(story.part(*part), 200));
        out.raw("</title><text class=\"letter\" x=\"12\" y=\"")
            .number(y + 17)
            .raw("\">")
            .own(story.letter(*part));
        out.raw("</text><text class=\"name\" x=\"28\" y=\"")
            .number(y + 17)
            .raw("\">")
            .text(&fitting(story.part(*part), 138));
        out.raw("</text></g><path class=\"axis\" d=\"M")
            .number(NAMES)
            .raw(" ")
            .number(y + 25)
            .raw("h")
            .number(WIDTH)
            .raw("\"/>");
    }
    for bar in &bars {
        bar.draw(story, &axis, row(bar.part), bar.to.filter(|to| rows.contains_key(to)).map(row), &mut out);
    }
    out.raw("</svg>");
    Some(Timeline { drawing: out, left_out: count - bars.len() })
}

/// Until when each event's run waited, where it is one with which a wait began that has come to its end.
fn waits(story: &Cast<'_>) -> Vec<Option<u64>> {
    let mut goes_on: BTreeMap<usize, u64> = BTreeMap::new();
    let wait = |event: &Event| {
        match &event.what {
            What::Noted { note, .. } if note == WAITS => return goes_on.remove(&event.run),
            What::Noted { note, .. } if note == GOES_ON => _ = goes_on.insert(event.run, event.at_us),
            _ => {}
        }
        None
    };
    let mut waits: Vec<Option<u64>> = story.events.iter().rev().map(wait).collect();
    waits.reverse();
    waits
}

/// Something that took time, or a moment.
struct Bar {
    part: usize,
    /// Whom a turn goes to.
    to: Option<usize>,
    from_us: u64,
    until_us: u64,
    class: &'static str,
    what: String,
    /// Whether somebody is at work meanwhile, and not just waited for.
    is_work: bool,
    /// Whether it goes on where the source ends.
    is_open: bool,
}

impl Bar {
    /// The bar of an event. A wait that has come to its end has it then.
    fn of(story: &Cast<'_>, event: &Event, until: Option<u64>) -> Option<Self> {
        let took = event.took_us.unwrap_or_default();
        let (from_us, until_us) = (event.at_us.saturating_sub(took), event.at_us);
        let bar = |part, class, what: &str| Self {
            part,
            to: None,
            from_us,
            until_us,
            class,
            what: what.to_owned(),
            is_work: true,
            is_open: false,
        };
        Some(match &event.what {
            What::Replied { agent, .. } => bar(*agent, "chat", "model"),
            What::Ran { agent, tool, .. } => bar(*agent, "run", tool),
            What::HandedOver { hop } => {
                let hop = story.hops.get(*hop).filter(|hop| hop.outcome == Passage::Taken)?;
                Self { to: hop.to, ..bar(hop.from, "pass", &format!("handoff to {}", hop.to_name)) }
            }
            What::Returned { question, .. } => {
                let question = story.questions.get(*question)?;
                let what = format!("asked by {}", question.tool);
                Self { from_us: question.at_us, is_work: false, ..bar(question.to?, "asked", &what) }
            }
            What::Decided { ask } => {
                let ask = story.asks.get(*ask)?;
                let from_us = ask.at_us;
                Self {
                    from_us,
                    is_work: false,
                    ..bar(ask.person, "asked", &format!("asked about {}", ask.about))
                }
            }
            What::Waited { ask } => {
                let ask = story.asks.get(*ask).filter(|ask| ask.answer.is_none())?;
                let what = format!("waits for an answer about {}", ask.about);
                Self { is_work: false, is_open: true, ..bar(ask.person, "asked", &what) }
            }
            What::Noted { agent, note, .. } if note == WAITS => Self {
                until_us: until.unwrap_or(until_us),
                is_work: false,
                is_open: until.is_none(),
                ..bar((*agent)?, "asked", WAITS)
            },
            What::Said { to, .. } => bar(*to, "pass", "the user speaks"),
            _ => return None,
        })
    }

    fn draw(&self, story: &Cast<'_>, axis: &Axis, y: i32, to: Option<i32>, out: &mut Markup) {
        let (x1, x2) = (axis.x(self.from_us), axis.x(self.until_us));
        let length = duration(self.until_us.saturating_sub(self.from_us));
        let colour = story.colour(self.part);
        if self.class == "pass" {
            let (from, to) = to.map_or((y + 4, y + 22), |to| (y.min(to) + 12, y.max(to) + 12));
            out.raw("<path class=\"pass\" d=\"M")
                .number(x2)
                .raw(" ")
                .number(from)
                .raw("V")
                .number(to)
                .raw("\"><title>");
            out.text(&short(&self.what, 120)).raw("</title></path>");
            return;
        }
        out.raw("<rect class=\"")
            .raw(self.class)
            .raw(" ")
            .own(colour)
            .raw("\" x=\"")
            .number(x1)
            .raw("\" y=\"");
        let (top, height) = if self.class == "asked" { (y + 3, 20) } else { (y + 6, 14) };
        out.number(top)
            .raw("\" width=\"")
            .number((x2 - x1).max(if self.is_open { OPEN } else { 2 }))
            .raw("\" height=\"")
            .number(height);
        out.raw("\" rx=\"2\"><title>").text(&short(&self.what, 120));
        if !self.is_open {
            out.raw(", ").own(length);
        }
        out.raw("</title></rect>");
    }
}

/// From moments to places. Where nobody is at work for long, the axis is broken.
struct Axis {
    segments: Vec<Segment>,
}

struct Segment {
    from_us: u64,
    until_us: u64,
    x1: i32,
    x2: i32,
}

impl Axis {
    fn of(bars: &[Bar]) -> Option<Self> {
        let at_work = |bar: &Bar| match bar.is_work {
            true => [(bar.from_us, bar.until_us); 2],
            // Of a wait only its ends are moments at which something happens.
            false => [(bar.from_us, bar.from_us), (bar.until_us, bar.until_us)],
        };
        let mut work: Vec<(u64, u64)> = bars.iter().flat_map(at_work).collect();
        work.sort_unstable();
        let (first, last) = (work.first()?.0, work.iter().map(|(_, until)| *until).max()?);
        if first == last {
            return None;
        }
        let busy = spans(&work, 0).iter().map(|(from, until)| until - from).fold(0, u64::saturating_add);
        let spans = spans(&work, (busy / 2).max(SHORTEST_BREAK));
        let breaks = i32::try_from(spans.len().saturating_sub(1)).unwrap_or(i32::MAX);
        // Too many breaks to be drawn: one line without any.
        let spans = if breaks > 8 { vec![(first, last)] } else { spans };
        let breaks = if breaks > 8 { 0 } else { breaks };
        let room = u64::try_from(WIDTH - breaks * BREAK).unwrap_or_default();
        let least = room / (spans.len() as u64 * 4).max(1);
        let rest = room - least * spans.len() as u64;
        let sum = spans.iter().map(|(from, until)| until - from).fold(0, u64::saturating_add).max(1);
        let mut x = NAMES;
        let segment = |(from_us, until_us): (u64, u64)| {
            let share = u128::from(rest) * u128::from(until_us - from_us) / u128::from(sum);
            let wide = least + u64::try_from(share).unwrap_or_default();
            let x1 = x;
            let x2 = x1 + i32::try_from(wide).unwrap_or_default();
            x = x2 + BREAK;
            Segment { from_us, until_us, x1, x2 }
        };
        Some(Self { segments: spans.into_iter().map(segment).collect() })
    }

    fn x(&self, us: u64) -> i32 {
        let mut before = (0, NAMES);
        for segment in &self.segments {
            if us < segment.from_us {
                return between(us, before, (segment.from_us, segment.x1));
            }
            if us <= segment.until_us {
                return between(us, (segment.from_us, segment.x1), (segment.until_us, segment.x2));
            }
            before = (segment.until_us, segment.x2);
        }
        before.1
    }

    fn draw(&self, height: i32, out: &mut Markup) {
        let begin = self.segments.first().map_or(0, |segment| segment.from_us);
        let mut before: Option<&Segment> = None;
        for segment in &self.segments {
            if let Some(before) = before {
                let middle = before.x2 + BREAK / 2;
                let gap = duration(segment.from_us.saturating_sub(before.until_us));
                out.raw("<path class=\"gap\" d=\"M").number(middle).raw(" 18V").number(height).raw("\"/>");
                out.raw("<text class=\"label muted\" x=\"")
                    .number(middle)
                    .raw("\" y=\"12\">")
                    .own(gap)
                    .raw("</text>");
            }
            out.raw("<path class=\"axis\" d=\"M")
                .number(segment.x1)
                .raw(" 22H")
                .number(segment.x2)
                .raw("\"/>");
            before = Some(segment);
        }
        let ends =
            [(self.segments.first().map(|segment| (segment.x1, segment.from_us)), "label start muted")];
        for ((x, us), class) in ends.into_iter().filter_map(|(end, class)| Some((end?, class))) {
            out.raw("<text class=\"").raw(class).raw("\" x=\"").number(x).raw("\" y=\"12\">");
            out.own(offset(us.saturating_sub(begin))).raw("</text>");
        }
        if let Some(last) = self.segments.last() {
            out.raw("<text class=\"label start muted\" x=\"").number(last.x2 + 8).raw("\" y=\"12\">");
            out.own(offset(last.until_us.saturating_sub(begin))).raw("</text>");
        }
    }
}

/// The place of a moment between two others.
fn between(us: u64, from: (u64, i32), until: (u64, i32)) -> i32 {
    let length = until.0.saturating_sub(from.0).max(1);
    let wide = u64::try_from(until.1 - from.1).unwrap_or_default();
    let into = u128::from(us.saturating_sub(from.0)) * u128::from(wide) / u128::from(length);
    from.1 + i32::try_from(into).unwrap_or_default()
}

/// The spans of time in which somebody is at work, with what lies between them when it is not longer than `gap`.
fn spans(work: &[(u64, u64)], gap: u64) -> Vec<(u64, u64)> {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for (from, until) in work {
        match spans.last_mut() {
            Some((_, end)) if *from <= end.saturating_add(gap) => *end = (*end).max(*until),
            _ => spans.push((*from, *until)),
        }
    }
    spans
}
