//! The sequence diagram.

use std::collections::BTreeMap;

use crate::asking::asking;
use crate::drawn::{Drawn, Step, gap};
use crate::markup::Markup;
use crate::shown::{bytes, counted, duration, fitting, short, width};
use crate::story::{Finding, Passage, Story, What, is_denied};
use crate::who::Cast;

/// How wide the user's lane is.
const USER: i32 = 140;
const MARGIN: i32 = 16;
/// Room for the tools of whoever is last.
const BESIDE: i32 = 44;
const HEAD: i32 = 46;
/// A letter of the drawing's text is so wide, in tenths of a pixel.
const LETTER: i32 = 64;
/// And so wide a strong one.
const STRONG: i32 = 72;
/// What the words on an arrow that does not arrive leave free of it: half for who is at work there, and half for the cross.
const ENDS: i32 = 24;

/// The colours and lines of drawings, for whoever puts one into a page.
pub const STYLE: &str = concat!(include_str!("style/theme.css"), include_str!("style/svg.css"));

/// The sequence diagram by itself, as a file that any browser shows. Of several conversations it has all on the same lines, so
/// draw each of [`Story::conversations`] by itself.
///
/// ```
/// use sommelier_report::{Story, svg};
///
/// let drawing = svg::document(&Story::default());
/// assert!(drawing.starts_with("<svg xmlns=") && drawing.ends_with("</svg>\n"));
/// ```
pub fn document(story: &Story) -> String {
    let mut out = Markup::new();
    draw(&Cast::of(story), Some(STYLE), &mut out);
    out.raw("\n");
    out.into_string()
}

/// The sequence diagram to be put into a page that has [`STYLE`].
pub fn fragment(story: &Story) -> String {
    let mut out = Markup::new();
    draw(&Cast::of(story), None, &mut out);
    out.into_string()
}

pub(crate) fn draw(cast: &Cast<'_>, style: Option<&'static str>, out: &mut Markup) {
    let drawn = Drawn::of(cast);
    let mut drawing = Drawing::new(cast, &drawn.lanes);
    for step in &drawn.steps {
        match step {
            Step::Event(event) => drawing.event(event.run, &event.what, event.took_us),
            Step::Gap(count) => drawing.remark(&gap(*count)),
        }
    }
    if let Some(remark) = drawn.remark() {
        drawing.remark(&format!("{remark}; the text and the page tell all"));
    }
    drawing.finish(style, out);
}

struct Drawing<'c, 's> {
    cast: &'c Cast<'s>,
    /// Who has a lane, each with the middle of it.
    lanes: Vec<(usize, i32)>,
    middles: BTreeMap<usize, i32>,
    /// How wide a lane is: wider where there are few.
    lane: i32,
    width: i32,
    y: i32,
    /// Where the newest arrow is.
    line: i32,
    bars: Markup,
    shapes: Markup,
    /// Who is at work, since where in the drawing, and in which run.
    active: BTreeMap<usize, (i32, usize)>,
}

/// What an arrow looks like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Message,
    Handoff,
    Reply,
    Person,
    Refused,
}

impl Line {
    fn class(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Handoff => "handoff",
            Self::Reply => "reply",
            Self::Person => "person",
            Self::Refused => "refused",
        }
    }
}

impl<'c, 's> Drawing<'c, 's> {
    fn new(cast: &'c Cast<'s>, parts: &[usize]) -> Self {
        let lane = match parts.len() {
            0..=3 => 236,
            4 => 224,
            5 => 210,
            _ => 184,
        };
        let mut left = MARGIN;
        let middle = |part: &usize| {
            let room = room(cast, *part, lane);
            left += room;
            (*part, left - room / 2)
        };
        let lanes: Vec<(usize, i32)> = parts.iter().map(middle).collect();
        Self {
            cast,
            middles: lanes.iter().copied().collect(),
            lanes,
            lane,
            width: MARGIN + left.max(MARGIN + lane) + BESIDE,
            y: MARGIN + HEAD + 14,
            line: MARGIN + HEAD,
            bars: Markup::new(),
            shapes: Markup::new(),
            active: BTreeMap::new(),
        }
    }

    /// The middle of somebody's lane.
    fn x(&self, part: usize) -> i32 {
        self.middles.get(&part).copied().unwrap_or(MARGIN)
    }

    fn room(&self, part: usize) -> i32 {
        room(self.cast, part, self.lane)
    }

    fn event(&mut self, run: usize, what: &What, took_us: Option<u64>) {
        let story = self.cast.story();
        match what {
            What::Said { from, to, text } => {
                let text = text.as_deref().map_or_else(|| "speaks".to_owned(), quoted);
                self.arrow((*from, *to), Line::Message, &text, "");
                self.begin(*to, run, self.line);
            }
            What::Replied { agent, error, .. } => {
                self.begin(*agent, run, self.y);
                self.replied(*agent, what, error.as_deref(), took_us);
            }
            What::Ran { agent, tool, error, approval, .. } => {
                self.begin(*agent, run, self.y);
                self.ran(*agent, tool, error.as_deref(), approval.as_deref(), took_us);
            }
            What::HandedOver { hop } => self.handed_over(run, *hop),
            What::CameBack { from, to } => {
                self.arrow((*from, *to), Line::Reply, "the turn comes back", "");
                self.end(*from);
                self.begin(*to, run, self.line);
            }
            What::Asked { question } => self.asked(*question),
            What::Returned { question, by } => self.returned(*question, *by),
            What::Waited { ask } => {
                let Some(ask) = story.asks.get(*ask) else { return };
                let label = format!("{} {}", asking(&ask.asks), ask.about);
                self.arrow((ask.from, ask.person), Line::Person, &label, "");
            }
            What::Decided { ask } => {
                let Some((ask, answer)) = story.asks.get(*ask).and_then(|it| Some((it, it.answer.as_ref()?)))
                else {
                    return;
                };
                let text = answer.text.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
                let waited = duration(answer.at_us.saturating_sub(ask.at_us));
                let label = format!("{}{text}", answer.word.replace('_', " "));
                self.arrow((ask.person, ask.from), Line::Person, &label, &format!("after {waited}"));
            }
            What::Noted { agent, note, detail } => {
                let detail = detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
                self.note(*agent, &format!("{note}{detail}"), "note");
            }
            What::Ended { agent, end, text } => self.ended(run, *agent, end, text.as_deref()),
        }
    }

    fn begin(&mut self, part: usize, run: usize, y: i32) {
        self.active.entry(part).or_insert((y, run));
    }

    fn end(&mut self, part: usize) {
        let Some((from, _)) = self.active.remove(&part) else { return };
        let x = self.x(part);
        self.bars.raw("<rect class=\"bar ").own(self.cast.colour(part)).raw("\" x=\"").number(x - 5);
        self.bars.raw("\" y=\"").number(from).raw("\" width=\"10\" height=\"");
        self.bars.number((self.line + 2 - from).max(8)).raw("\" rx=\"3\"/>");
    }

    fn end_within(&mut self, run: usize) {
        let over: Vec<usize> = self
            .active
            .iter()
            .filter(|(_, (_, of))| self.cast.is_within(*of, run))
            .map(|(part, _)| *part)
            .collect();
        over.into_iter().for_each(|part| self.end(part));
    }

    /// An arrow with what is said on it, and what is said below.
    fn arrow(&mut self, (from, to): (usize, usize), line: Line, label: &str, below: &str) {
        let (x1, x2) = (self.x(from), self.x(to));
        if x1 == x2 {
            return self.note(Some(from), label, "note");
        }
        let (left, right) = (x1.min(x2), x1.max(x2));
        let colour = if line == Line::Person { "cp" } else { self.cast.colour(from) };
        let y = self.y + 22;
        self.line = y;
        self.label(left + (right - left) / 2, self.y + 15, right - left - 20, label, line == Line::Handoff);
        self.stroke(line, colour, if x2 > x1 { (x1 + 6, x2 - 6) } else { (x1 - 6, x2 + 6) }, y);
        self.head(line, colour, x2, x2 > x1, y);
        self.y += 36;
        if !below.is_empty() {
            self.below(left + (right - left) / 2, y + 14, right - left - 20, below);
            self.y += 14;
        }
    }

    fn stroke(&mut self, line: Line, colour: &'static str, (from, to): (i32, i32), y: i32) {
        let out = &mut self.shapes;
        out.raw("<path class=\"line ").own(line.class()).raw(" ").own(colour).raw("\" d=\"M").number(from);
        out.raw(" ").number(y).raw("H").number(to).raw("\"/>");
    }

    fn head(&mut self, line: Line, colour: &'static str, x: i32, is_right: bool, y: i32) {
        let (size, way) = (if line == Line::Handoff { 7 } else { 5 }, if is_right { -1 } else { 1 });
        let (tip, back) = (x + 6 * way, x + (6 + size * 2) * way);
        let out = &mut self.shapes;
        out.raw("<path class=\"head ").own(line.class()).raw(" ").own(colour).raw("\" d=\"M").number(tip);
        out.raw(" ").number(y).raw("L").number(back).raw(" ").number(y - size).raw("V").number(y + size);
        out.raw("Z\"/>");
    }

    fn label(&mut self, x: i32, y: i32, room: i32, label: &str, is_strong: bool) {
        let class = if is_strong { "label strong" } else { "label" };
        self.words(class, x, y, room, label);
    }

    fn below(&mut self, x: i32, y: i32, room: i32, label: &str) {
        self.words("label muted", x, y, room, label);
    }

    /// Words that fit, with all of them for whoever points at them.
    fn words(&mut self, class: &'static str, x: i32, y: i32, room: i32, words: &str) {
        let most = usize::try_from(room * 10 / LETTER).unwrap_or_default().max(4);
        let shown = short(words, most);
        let out = &mut self.shapes;
        out.raw("<text class=\"").raw(class).raw("\" x=\"").number(x).raw("\" y=\"").number(y).raw("\">");
        if shown.ends_with('…') {
            out.raw("<title>").text(&short(words, 400)).raw("</title>");
        }
        out.text(&shown).raw("</text>");
    }

    fn replied(&mut self, agent: usize, what: &What, error: Option<&str>, took_us: Option<u64>) {
        let (x, y) = (self.x(agent), self.y + 10);
        let class = if error.is_some() { "dot failed" } else { "dot" };
        let out = &mut self.shapes;
        out.raw("<circle class=\"")
            .raw(class)
            .raw("\" cx=\"")
            .number(x)
            .raw("\" cy=\"")
            .number(y)
            .raw("\" r=\"4\"/>");
        let mut label = String::from(if error.is_some() { "model failed" } else { "model" });
        if let What::Replied { input_tokens: Some(read), output_tokens: Some(written), .. } = what
            && read.saturating_add(*written) > 0
        {
            label.push_str(&format!(" {read} → {written} tok"));
        }
        label.extend(took_us.filter(|us| *us > 0).map(|us| format!(" · {}", duration(us))));
        self.words("label start muted", x + 12, y + 4, self.lane - 26, &label);
        self.y += 22;
        self.line = self.y - 8;
    }

    fn ran(
        &mut self,
        agent: usize,
        tool: &str,
        error: Option<&str>,
        approval: Option<&str>,
        took_us: Option<u64>,
    ) {
        let (x, y) = (self.x(agent) + 10, self.y + 2);
        let denied = approval.filter(|approval| is_denied(approval));
        let mut label = tool.to_owned();
        let mut more = String::new();
        match (error, approval) {
            (_, Some(approval)) if is_denied(approval) => more.push_str(&approval.replace('_', " ")),
            (Some(error), _) => more.push_str(error),
            (None, Some(approval)) => more.push_str(&approval.replace('_', " ")),
            (None, None) => more.extend(took_us.filter(|us| *us > 0).map(duration)),
        }
        if label.is_empty() {
            label.push_str("a tool");
        }
        let class = if denied.is_some() || error.is_some() { "tool failed" } else { "tool" };
        let height = if more.is_empty() { 24 } else { 38 };
        let out = &mut self.shapes;
        rect(out, class, (x, y), (150, height), 4);
        self.words("label in start mono", x + 8, y + 16, 128, &label);
        if !more.is_empty() {
            self.words("label in start muted", x + 8, y + 31, 138, &more);
        }
        self.y += height + 8;
        self.line = self.y - 8;
    }

    fn handed_over(&mut self, run: usize, hop: usize) {
        let Some(hop) = self.cast.story().hops.get(hop) else { return };
        self.begin(hop.from, run, self.y);
        let behind = format!("{} left behind", bytes(hop.history_bytes));
        match (&hop.outcome, hop.to) {
            (Passage::Taken, Some(to)) => {
                let number = hop.number.map(|number| format!(" {number}")).unwrap_or_default();
                let label = format!("handoff{number} · {}", bytes(hop.package_bytes));
                self.arrow((hop.from, to), Line::Handoff, &label, &behind);
                self.end(hop.from);
                self.begin(to, run, self.line);
            }
            (outcome, to) => {
                let label = match outcome {
                    Passage::Refused { guard, .. } => format!("refused by {guard}"),
                    Passage::NotTaken { why } => format!("not taken: {}", why.replace('_', " ")),
                    Passage::Taken | Passage::TakenOut => "taken out".to_owned(),
                };
                let is_refused = matches!(outcome, Passage::Refused { .. } | Passage::NotTaken { .. });
                self.stopped(hop.from, to, &label, &format!("to {}", hop.to_name), is_refused);
            }
        }
    }

    /// An arrow that does not arrive.
    fn stopped(&mut self, from: usize, to: Option<usize>, label: &str, below: &str, is_refused: bool) {
        let x1 = self.x(from);
        let is_right = to.is_none_or(|to| self.x(to) >= x1);
        let long = self.lane / 2 + BESIDE - 8;
        let (reach, room) = (if is_right { long } else { -long }, long - ENDS);
        let middle = x1 + reach / 2;
        for line in lines(label, usize::try_from(room * 10 / STRONG).unwrap_or_default()) {
            self.words("label danger", middle, self.y + 15, room, &line);
            self.y += 14;
        }
        self.y -= 14;
        let (x2, y) = (x1 + reach, self.y + 22);
        self.line = y;
        let start = if is_right { x1 + 6 } else { x1 - 6 };
        self.stroke(Line::Refused, "cr", (start, x2), y);
        if is_refused {
            let out = &mut self.shapes;
            out.raw("<path class=\"cross\" d=\"M")
                .number(x2 - 6)
                .raw(" ")
                .number(y - 6)
                .raw("l12 12m0-12l-12 12\"/>");
        } else {
            self.head(Line::Refused, "cr", x2, is_right, y);
        }
        self.below(middle, y + 14, room, below);
        self.y += 50;
    }

    fn asked(&mut self, question: usize) {
        let Some(question) = self.cast.story().questions.get(question) else { return };
        match question.to {
            Some(to) => {
                let label = format!("{} · {}", question.tool, bytes(question.package_bytes));
                self.arrow((question.from, to), Line::Message, &label, "");
                self.begin(to, question.branch.unwrap_or(question.run), self.line);
            }
            None => {
                let code = match &question.outcome {
                    Finding::Refused { code, .. } => code.replace('_', " "),
                    Finding::Open | Finding::Returned { .. } => "not asked".to_owned(),
                };
                self.stopped(question.from, None, &format!("refused: {code}"), &question.tool, true);
            }
        }
    }

    fn returned(&mut self, question: usize, by: usize) {
        let Some(question) = self.cast.story().questions.get(question) else { return };
        let label = match &question.outcome {
            Finding::Returned { status, steps, .. } => {
                format!("{status} · {}", counted(*steps, "model call", "model calls"))
            }
            Finding::Open | Finding::Refused { .. } => "returned".to_owned(),
        };
        let below = question.until_us.map(|until| until.saturating_sub(question.at_us)).filter(|us| *us > 0);
        let below = below.map(|us| format!("after {}", duration(us))).unwrap_or_default();
        self.arrow((by, question.from), Line::Reply, &label, &below);
        if let Some(branch) = question.branch {
            self.end_within(branch);
        }
    }

    fn ended(&mut self, run: usize, agent: Option<usize>, end: &str, text: Option<&str>) {
        let user = self.lanes.first().map_or(0, |(part, _)| *part);
        let said = match text {
            Some(text) => Some(quoted(text)),
            None => (end == "answered").then(|| "answers".to_owned()),
        };
        match agent.zip(said) {
            Some((agent, said)) => self.arrow((agent, user), Line::Message, &said, ""),
            None => self.note(agent, &format!("ended: {}", end.replace('_', " ")), "note end"),
        }
        self.end_within(run);
        self.y += 8;
    }

    /// A few words at somebody's lane.
    fn note(&mut self, part: Option<usize>, words: &str, class: &'static str) {
        let shown = short(words, 40);
        let wide = i32::try_from(width(&shown)).unwrap_or_default() * LETTER / 10 + 16;
        let x = part.map_or(MARGIN, |part| self.x(part) - wide / 2).clamp(0, (self.width - wide).max(0));
        let out = &mut self.shapes;
        rect(out, class, (x, self.y), (wide, 20), 10);
        self.line = self.y + 4;
        self.words("label in", x + wide / 2, self.y + 14, wide.max(260), words);
        self.y += 28;
    }

    fn remark(&mut self, words: &str) {
        // At the left, where it is seen also of a drawing that is wider than the screen.
        self.words("label start", MARGIN, self.y + 14, 900, words);
        self.y += 24;
    }

    fn finish(mut self, style: Option<&'static str>, out: &mut Markup) {
        let open: Vec<usize> = self.active.keys().copied().collect();
        open.into_iter().for_each(|part| self.end(part));
        let (width, foot) = (self.width, self.y + 6);
        let is_long = foot > 700;
        let height = foot + if is_long { HEAD + MARGIN } else { MARGIN };
        let (title, desc) = (self.cast.id("sequence-title"), self.cast.id("sequence-desc"));
        out.raw(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sequence\" role=\"img\" aria-labelledby=\"",
        );
        out.own(&title)
            .raw(" ")
            .own(&desc)
            .raw("\" width=\"")
            .number(width)
            .raw("\" height=\"")
            .number(height)
            .raw("\" viewBox=\"0 0 ");
        out.number(width)
            .raw(" ")
            .number(height)
            .raw("\"><title id=\"")
            .own(&title)
            .raw("\">Who spoke to whom in ");
        out.text(&short(&self.cast.title, 80)).raw("</title><desc id=\"").own(&desc).raw("\">");
        out.text(&describe(self.cast)).raw("</desc>");
        if let Some(style) = style {
            // Its own text, without a sign that markup knows.
            out.raw("<style>").raw(style).raw("</style>");
            out.raw("<rect class=\"paper\" width=\"100%\" height=\"100%\"/>");
        }
        for (_, x) in &self.lanes {
            let x = *x;
            out.raw("<path class=\"life\" d=\"M")
                .number(x)
                .raw(" ")
                .number(MARGIN + HEAD)
                .raw("V")
                .number(foot)
                .raw("\"/>");
        }
        out.put(&self.bars).put(&self.shapes);
        for (part, _) in &self.lanes {
            self.top(*part, MARGIN, out);
            if is_long {
                self.top(*part, foot, out);
            }
        }
        out.raw("</svg>");
    }

    /// Who a lane is of.
    fn top(&self, part: usize, y: i32, out: &mut Markup) {
        let (x, cast) = (self.x(part), self.cast);
        let left = x - self.room(part) / 2 + 10;
        out.raw("<g class=\"top ").own(cast.colour(part)).raw(" ").own(cast.kind(part)).raw("\"><title>");
        out.text(&short(cast.part(part), 200)).raw("</title>");
        rect(out, "box", (left, y), (self.room(part) - 20, HEAD), 6);
        self.badge(part, left + 22, y + HEAD / 2, out);
        out.raw("<text class=\"name\" x=\"").number(left + 42).raw("\" y=\"").number(y + 20).raw("\">");
        out.text(&fitting(cast.part(part), u32::try_from(self.room(part) - 68).unwrap_or_default()))
            .raw("</text><text class=\"kind\" x=\"")
            .number(left + 42)
            .raw("\" y=\"");
        out.number(y + 36).raw("\">").own(cast.kind(part)).raw("</text></g>");
    }

    fn badge(&self, part: usize, x: i32, y: i32, out: &mut Markup) {
        match self.cast.kind(part) {
            "user" => {
                out.raw("<circle class=\"shape\" cx=\"")
                    .number(x)
                    .raw("\" cy=\"")
                    .number(y)
                    .raw("\" r=\"13\"/>");
            }
            "person" => {
                out.raw("<path class=\"shape\" d=\"M")
                    .number(x)
                    .raw(" ")
                    .number(y - 16)
                    .raw("l16 16l-16 16l-16 -16Z\"/>");
            }
            kind => {
                let radius = if kind == "delegate" { 0 } else { 5 };
                out.raw("<rect class=\"shape\" x=\"").number(x - 12).raw("\" y=\"").number(y - 12);
                out.raw("\" width=\"24\" height=\"24\" rx=\"").number(radius).raw("\"/>");
                if kind == "delegate" {
                    out.raw("<rect class=\"shape inner\" x=\"").number(x - 9).raw("\" y=\"").number(y - 9);
                    out.raw("\" width=\"18\" height=\"18\"/>");
                }
            }
        }
        out.raw("<text class=\"letter\" x=\"").number(x).raw("\" y=\"").number(y + 4).raw("\">");
        out.own(self.cast.letter(part)).raw("</text>");
    }
}

/// Words in at most two lines of so many columns, parted between words: as soon as what follows is one line.
fn lines(words: &str, columns: usize) -> Vec<String> {
    let line = short(words, columns.saturating_mul(2));
    if width(&line) <= columns {
        return vec![line];
    }
    let mut parts = line.split(' ').scan(0, |at, word| {
        *at += word.len() + 1;
        Some((line.get(..*at - 1)?, line.get(*at..)?))
    });
    match parts.find(|(begin, rest)| width(begin) <= columns && width(rest) <= columns) {
        Some((begin, rest)) => vec![begin.to_owned(), rest.to_owned()],
        None => vec![short(words, columns)],
    }
}

/// How wide somebody's lane is. A user has no tools, and on a phone each pixel of the first lane is one less for the next.
fn room(cast: &Cast<'_>, part: usize, lane: i32) -> i32 {
    if cast.kind(part) == "user" { USER } else { lane }
}

/// A box with round corners: where its upper left corner is, and how wide and high it is.
fn rect(out: &mut Markup, class: &'static str, at: (i32, i32), size: (i32, i32), radius: i32) {
    out.raw("<rect class=\"").raw(class).raw("\" x=\"").number(at.0).raw("\" y=\"").number(at.1);
    out.raw("\" width=\"").number(size.0).raw("\" height=\"").number(size.1);
    out.raw("\" rx=\"").number(radius).raw("\"/>");
}

/// What the drawing shows, for those who hear it.
pub(crate) fn describe(story: &Story) -> String {
    let (crossed, behind) = story.bytes();
    format!(
        "{} took part. {}: {} crossed, {} were left behind. {} refused. It ended as {}. The table of events says the same.",
        story.parts.len(),
        counted(story.taken().count() as u64, "handoff", "handoffs"),
        bytes(crossed),
        bytes(behind),
        story.refusals().len(),
        story.outcome.status.replace('_', " "),
    )
}

fn quoted(text: &str) -> String {
    format!("“{text}”")
}
