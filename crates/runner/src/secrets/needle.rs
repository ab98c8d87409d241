//! What is searched for in a text, and how it may be written there.

/// The shortest text that is looked for. What is shorter would be found everywhere.
const SHORTEST: usize = 3;
/// From this many bytes on a text is looked for within words too.
const LONG: usize = 6;
/// From this many digits on a number is looked for however its digits are grouped.
const LONG_NUMBER: usize = 8;
/// How many characters a piece of a value has that is looked for by itself.
const PIECE: usize = 24;

/// A value that must not be in a text, and what is put in its place.
#[derive(Clone)]
pub(super) struct Needle {
    shape: Shape,
    text: Box<str>,
    handle: Box<str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// It is looked for where it stands by itself.
    Word,
    /// It is looked for everywhere.
    Part,
    /// Digits alone, which may be grouped in any way.
    Digits,
}

impl Needle {
    /// The needles for a value: it and, where it is long, its pieces, since an error may quote a part of it. None for one
    /// that is too short to be told from others.
    pub(super) fn all_of(value: &str, handle: &str) -> Vec<Self> {
        let characters: Vec<char> = value.chars().collect();
        let pieces = characters.chunks_exact(PIECE).map(String::from_iter);
        let pieces =
            pieces.filter(|piece| piece.len() < value.len()).filter_map(|piece| Self::new(&piece, handle));
        Self::new(value, handle).into_iter().chain(pieces).collect()
    }

    fn new(value: &str, handle: &str) -> Option<Self> {
        let digits: String = value.chars().filter(char::is_ascii_digit).collect();
        let is_number = value.chars().all(|character| character.is_ascii_digit() || is_separator(character));
        let (shape, text) = match is_number {
            true if digits.len() >= LONG_NUMBER => (Shape::Digits, digits.as_str()),
            false if value.len() >= LONG => (Shape::Part, value),
            _ if value.len() >= SHORTEST => (Shape::Word, value),
            _ => return None,
        };
        Some(Self { shape, text: text.into(), handle: handle.into() })
    }

    /// How long the value is.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether it is told from others also where it is no text.
    pub(super) fn is_long_number(&self) -> bool {
        self.shape == Shape::Digits
    }

    /// Whether it is so long that it stands nowhere by chance.
    pub(super) fn is_long(&self) -> bool {
        self.shape != Shape::Word
    }

    /// How many bytes of `text` from `at` are the value.
    fn at(&self, text: &str, at: usize) -> Option<usize> {
        let rest = &text[at..];
        if self.shape == Shape::Digits {
            return grouped(rest, &self.text);
        }
        // Letters beyond ASCII are compared as they are.
        let after = rest
            .split_at_checked(self.text.len())
            .and_then(|(head, after)| head.eq_ignore_ascii_case(&self.text).then_some(after))?;
        let is_apart = || {
            let before = text[..at].chars().next_back();
            !before.is_some_and(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
        };
        (self.shape == Shape::Part || is_apart()).then_some(self.text.len())
    }
}

/// How many bytes at the beginning of `text` are these digits, with at most one separator between two of them.
fn grouped(text: &str, digits: &str) -> Option<usize> {
    let mut wanted = digits.chars();
    let mut next = wanted.next();
    let mut was_separator = true;
    for (place, character) in text.char_indices() {
        match next {
            None => return Some(place),
            Some(digit) if digit == character => {
                next = wanted.next();
                was_separator = false;
            }
            Some(_) if is_separator(character) && !was_separator => was_separator = true,
            Some(_) => return None,
        }
    }
    next.is_none().then_some(text.len())
}

fn is_separator(character: char) -> bool {
    matches!(character, ' ' | '-' | '.' | '_' | '/' | '\u{a0}' | '\u{202f}')
}

/// `text` with the handle of each of `needles` in the place of its value; `None` when none is in it. What looks like a
/// handle is left as it is.
pub(super) fn masked<'a>(text: &str, needles: impl Iterator<Item = &'a Needle> + Clone) -> Option<String> {
    needles.clone().next()?;
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(first) = text[at..].chars().next() {
        if let Some(length) = handle_at(&text[at..]) {
            at += length;
            continue;
        }
        let found = needles.clone().find_map(|needle| Some((needle.at(text, at)?, &needle.handle)));
        match found {
            None => at += first.len_utf8(),
            Some((length, handle)) => {
                out.push_str(&text[copied..at]);
                out.push_str(handle);
                at += length;
                copied = at;
            }
        }
    }
    (copied > 0).then(|| out + &text[copied..])
}

/// Whether `text` is `recorded`, with anything in the place of each handle that is a gap.
pub(super) fn fits(recorded: &str, text: &str, is_gap: impl Fn(&str) -> bool) -> bool {
    let (mut pieces, mut begin, mut at) = (Vec::new(), 0, 0);
    while let Some(found) = recorded[at..].find(PREFIX) {
        let start = at + found;
        let length = handle_at(&recorded[start..]);
        at = start + length.unwrap_or(PREFIX.len());
        if length.is_some() && is_gap(&recorded[start..at]) {
            pieces.push(&recorded[begin..start]);
            begin = at;
        }
    }
    let end = &recorded[begin..];
    let Some((first, middle)) = pieces.split_first() else { return text == end };
    let inner = text.strip_prefix(first).and_then(|rest| rest.strip_suffix(end));
    inner.is_some_and(|inner| {
        let after = |rest: &'_ str, piece: &&str| rest.find(*piece).map(|at| at + piece.len());
        let mut rest = inner;
        middle.iter().all(|piece| after(rest, piece).map(|end| rest = &rest[end..]).is_some())
    })
}

/// How every handle begins.
const PREFIX: &str = "secret:";
/// How many hexadecimal digits follow.
const DIGITS: usize = 32;

/// The handle with this number.
pub(super) fn handle(number: u128) -> Box<str> {
    format!("{PREFIX}{number:0DIGITS$x}").into()
}

/// Whether a text is a handle by its form.
pub(super) fn is_handle(text: &str) -> bool {
    handle_at(text) == Some(text.len())
}

/// The length of the handle with which a text begins.
fn handle_at(text: &str) -> Option<usize> {
    let number = text.strip_prefix(PREFIX)?.as_bytes().get(..DIGITS)?;
    number.iter().all(u8::is_ascii_hexdigit).then_some(PREFIX.len() + DIGITS)
}
