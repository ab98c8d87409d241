//! Lines for a terminal, with colour or without.

use std::fmt::{Arguments, Write as _};

use crate::shown::{LONGEST, bytes, cut, visible};

/// A colour of the terminal's own, so that it can be read on its paper, light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    Strong = 1,
    Red = 31,
    Green = 32,
    Yellow = 33,
    Grey = 90,
}

/// A text that grows.
pub(super) struct Pen {
    is_coloured: bool,
    text: String,
}

impl Pen {
    pub(super) fn new(is_coloured: bool) -> Self {
        Self { is_coloured, text: String::new() }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// What this program has put together of its own words and of values in which all can be seen.
    pub(super) fn put(&mut self, words: Arguments<'_>) -> &mut Self {
        let _ = self.text.write_fmt(words);
        self
    }

    /// The same in a colour.
    pub(super) fn painted(&mut self, colour: Option<Colour>, words: &str) -> &mut Self {
        match colour.filter(|_| self.is_coloured && !words.is_empty()) {
            Some(colour) => self.put(format_args!("\u{1b}[{}m{words}\u{1b}[0m", colour as u8)),
            None => self.put(format_args!("{words}")),
        }
    }

    pub(super) fn end(&mut self) -> &mut Self {
        self.text.push('\n');
        self
    }

    /// The heading of what follows.
    pub(super) fn heading(&mut self, words: &str) {
        self.end().painted(Some(Colour::Strong), words).end();
    }

    /// A value under its name, as long as a page has it: in the line of the name where it is one line, else below it.
    pub(super) fn value(&mut self, blank: usize, name: &str, value: &str) {
        let (kept, left_out) = cut(value, LONGEST);
        let kept = visible(kept);
        let kept = kept.trim_end();
        self.put(format_args!("{:blank$}", "")).painted(Some(Colour::Grey), name);
        if kept.contains('\n') || kept.is_empty() {
            self.end();
            self.lines(blank + 2, kept);
        } else {
            self.put(format_args!(" {kept}")).end();
        }
        self.left_out(blank + 2, left_out);
    }

    /// Lines of a value in which all can be seen.
    pub(super) fn lines(&mut self, blank: usize, value: &str) {
        for line in value.lines() {
            self.put(format_args!("{:blank$}{line}", "")).end();
        }
    }

    /// How much of a value is not there.
    pub(super) fn left_out(&mut self, blank: usize, left_out: usize) {
        if left_out > 0 {
            let left_out = format!("… {} left out", bytes(left_out as u64));
            self.put(format_args!("{:blank$}", "")).painted(Some(Colour::Grey), &left_out).end();
        }
    }
}
