//! Markup that is written so that no value from a run can be taken for markup: what is written as it is has to stand in
//! this program's own text.

use std::fmt::{Display, Write as _};

use crate::shown::{LONGEST, LONGEST_NAME, counted, cut, is_long, short, visible};

/// The most characters of a value that stands among other words, and of a name for whoever points at it.
const LONGEST_VALUE: usize = 400;

/// Markup that grows.
///
/// ```
/// use sommelier_report::Markup;
///
/// let mut out = Markup::new();
/// out.raw("<p>").value("<script>\u{202e}").raw("</p>");
/// assert_eq!(out.into_string(), "<p><bdi>&lt;script&gt;\\u{202e}</bdi></p>");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markup(String);

impl Markup {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The markup as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The markup as text, taken out.
    pub fn into_string(self) -> String {
        self.0
    }

    /// Markup of this program.
    pub fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Markup that was made like this.
    pub fn put(&mut self, markup: &Self) -> &mut Self {
        self.0.push_str(&markup.0);
        self
    }

    /// A text from anywhere, also as the value of an attribute.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.exact(&visible(text))
    }

    /// A text that is to come back as it is: what somebody has typed, in a field of theirs.
    pub fn exact(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
        self
    }

    /// A number.
    pub fn number(&mut self, number: impl Into<f64>) -> &mut Self {
        let number: f64 = number.into();
        if number.fract() == 0.0 {
            let _ = write!(self.0, "{number:.0}");
        } else {
            let _ = write!(self.0, "{number:.1}");
        }
        self
    }

    /// What this program has put together of its own words and numbers.
    pub fn own(&mut self, words: impl Display) -> &mut Self {
        let words = words.to_string();
        self.text(&words)
    }

    /// A short value from a run: it turns the direction of nothing that stands beside it.
    pub fn value(&mut self, value: &str) -> &mut Self {
        let (kept, left_out) = cut(value, LONGEST_VALUE);
        self.raw("<bdi>").text(kept).raw(if left_out > 0 { "…</bdi>" } else { "</bdi>" })
    }

    /// A sentence of this program with values from a run in it: it is read from left to right, whatever these are written in.
    pub(crate) fn sentence(&mut self, sentence: &str) -> &mut Self {
        let (kept, left_out) = cut(sentence, LONGEST);
        self.raw("<bdi dir=\"ltr\">").text(kept).raw(if left_out > 0 { "…</bdi>" } else { "</bdi>" })
    }

    /// A name: short, and longer for whoever points at it. A page has one that is longer still in a list.
    pub(crate) fn name(&mut self, name: &str) -> &mut Self {
        self.raw("<bdi").pointed_at(name).raw("</bdi>")
    }

    /// A name as code: of a tool, of a field, an id.
    pub fn code(&mut self, name: &str) -> &mut Self {
        self.raw("<code dir=\"auto\"").pointed_at(name).raw("</code>")
    }

    /// The rest of an element that begins so: where its words are cut there is more of them for whoever points at it.
    fn pointed_at(&mut self, words: &str) -> &mut Self {
        if is_long(words) {
            self.raw(" title=\"").text(&short(words, LONGEST_VALUE)).raw("\"");
        }
        self.raw(">").text(&short(words, LONGEST_NAME))
    }

    /// A long value from a run, with its lines, cut where it is very long.
    pub fn words(&mut self, value: &str) -> &mut Self {
        self.raw("<div class=\"words\" dir=\"auto\">").cut(value).raw("</div>")
    }

    /// As [`words`](Self::words), in letters of one width.
    pub fn data(&mut self, value: &str) -> &mut Self {
        self.raw("<pre dir=\"auto\">").cut(value).raw("</pre>")
    }

    fn cut(&mut self, value: &str) -> &mut Self {
        let (kept, left_out) = cut(value, LONGEST);
        self.text(kept);
        if left_out > 0 {
            let count = counted(left_out as u64, "byte is", "bytes are");
            self.raw(" <span class=\"cut\">… ").own(count).raw(" left out</span>");
        }
        self
    }
}
