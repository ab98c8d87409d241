//! Text as sentences of folded words, with the place of each in the text. Takes time linear in the text.

/// A run of words between two marks that end a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    pub(crate) words: Vec<Word>,
    /// Where it begins and ends, in bytes of the text.
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A word, a number, or the two in one (`3h`, `2026-12-01`, `RSV-0001`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Lower case, umlauts spelt out, apostrophes left out.
    pub(crate) text: String,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Whether it was written with a capital.
    pub(crate) capital: bool,
    /// Whether a comma, colon, dash or bracket stands before it.
    pub(crate) pause_before: bool,
    /// Whether it stands in quotation marks, in a quoted line or in a quoting tag.
    pub(crate) quoted: bool,
}

/// Splits at full stops, question and exclamation marks, semicolons, line ends and markup tags. A sentence without a
/// word is left out.
pub(crate) fn sentences(text: &str) -> Vec<Sentence> {
    let mut splitter =
        Splitter { sentences: Vec::new(), words: Vec::new(), pause: false, quotes: quoted_stretches(text) };
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '<'
            && let Some(end) = tag_end(text, at)
        {
            splitter.end_sentence();
            while chars.next_if(|(next, _)| *next < end).is_some() {}
            continue;
        }
        if is_word(c) || (c == '-' && starts_negative(text, at)) {
            let mut end = at + c.len_utf8();
            while let Some(&(next, c)) = chars.peek() {
                if !(is_word(c) || is_ignored(c) || joins(text, at, next, c)) {
                    break;
                }
                end = next + c.len_utf8();
                chars.next();
            }
            splitter.word(text, at, end);
            continue;
        }
        match c {
            '@' => splitter.symbol("at", at, c),
            '€' => splitter.symbol("euro", at, c),
            '$' => splitter.symbol("dollars", at, c),
            '£' => splitter.symbol("pounds", at, c),
            '.' if splitter.shortens(text, at) => {}
            '.' | '!' | '?' | ';' | '\n' | '\r' | '…' | '？' | '。' | '！' => splitter.end_sentence(),
            ',' | ':' | '–' | '—' | '(' | ')' | '-' => splitter.pause = true,
            _ => {}
        }
    }
    splitter.end_sentence();
    splitter.sentences
}

struct Splitter {
    sentences: Vec<Sentence>,
    words: Vec<Word>,
    pause: bool,
    /// The stretches not yet passed, the last first.
    quotes: Vec<(usize, usize)>,
}

impl Splitter {
    fn word(&mut self, text: &str, start: usize, end: usize) {
        let raw = &text[start..end];
        let quoted = self.is_quoted(start);
        self.words.push(Word {
            text: fold(raw),
            start,
            end,
            capital: raw.starts_with(char::is_uppercase),
            pause_before: std::mem::take(&mut self.pause),
            quoted,
        });
    }

    fn symbol(&mut self, word: &str, start: usize, symbol: char) {
        let quoted = self.is_quoted(start);
        self.words.push(Word {
            text: word.to_owned(),
            start,
            end: start + symbol.len_utf8(),
            capital: false,
            pause_before: std::mem::take(&mut self.pause),
            quoted,
        });
    }

    fn is_quoted(&mut self, at: usize) -> bool {
        while self.quotes.last().is_some_and(|(_, end)| *end <= at) {
            self.quotes.pop();
        }
        self.quotes.last().is_some_and(|(start, _)| *start <= at)
    }

    /// Whether the full stop at `at` ends an abbreviation or an ordinal rather than a sentence.
    fn shortens(&self, text: &str, at: usize) -> bool {
        let Some(last) = self.words.last().filter(|last| last.end == at) else {
            return false;
        };
        let rest = text[at + 1..].trim_start_matches(' ');
        let next: String = rest.chars().take(3).flat_map(char::to_lowercase).collect();
        if last.text.len() <= 2 && last.text.bytes().all(|byte| byte.is_ascii_digit()) {
            return MONTHS.contains(&next.as_str());
        }
        let goes_on = rest.starts_with(|c: char| c.is_lowercase() || c.is_ascii_digit());
        if is_day_and_month(&last.text) {
            return goes_on;
        }
        TITLES.contains(&last.text.as_str()) || (goes_on && SHORTENED.contains(&last.text.as_str()))
    }

    fn end_sentence(&mut self) {
        self.pause = false;
        let words = std::mem::take(&mut self.words);
        if let (Some(first), Some(last)) = (words.first(), words.last()) {
            let (start, end) = (first.start, last.end);
            self.sentences.push(Sentence { words, start, end });
        }
    }
}

/// What stands in quotation marks, in a line that begins with `>` or in a tag that quotes; the last stretch first. What
/// is not closed is quoted to the end.
fn quoted_stretches(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    // Where the open quotation began, and the marks that close it.
    let mut open: Option<(usize, &[char])> = None;
    let (mut line_start, mut line_quoted, mut tag) = (true, false, None);
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if c == '\n' {
            (line_start, line_quoted) = (true, false);
        } else if line_start && !c.is_whitespace() {
            (line_start, line_quoted) = (false, c == '>');
        }
        if line_quoted {
            found.push((at, at + c.len_utf8()));
        }
        if c == '<' {
            let inside = &text.as_bytes()[at + 1..];
            let names = |prefix: &str| {
                QUOTING.iter().any(|name| {
                    let whole = inside.strip_prefix(prefix.as_bytes()).unwrap_or_default();
                    whole.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name.as_bytes()))
                        && whole.get(name.len()).is_some_and(|next| !next.is_ascii_alphanumeric())
                })
            };
            if inside.first() == Some(&b'/') && names("/") {
                found.extend(tag.take().map(|start| (start, at)));
            } else if inside.first() != Some(&b'/') && names("") {
                tag = tag.or(Some(at));
            }
        }
        match open {
            Some((start, closing)) if closing.contains(&c) => {
                let single = closing.contains(&'\'');
                let ends = !single || !text[at + c.len_utf8()..].starts_with(char::is_alphanumeric);
                if ends {
                    // A single word in single marks is a name, or no quotation at all.
                    if !single || text[start..at].trim().contains(char::is_whitespace) {
                        found.push((start, at));
                    }
                    open = None;
                }
            }
            Some(_) => {}
            None => {
                let closing: &[char] = match c {
                    '"' => &['"', '”', '“'],
                    '“' | '”' | '„' | '‟' => &['”', '“', '"', '‟'],
                    '«' => &['»'],
                    '»' => &['«'],
                    '「' => &['」'],
                    '‹' => &['›'],
                    '›' => &['‹'],
                    '‚' => &['‘', '’'],
                    '\'' | '‘' | '`'
                        if !before.is_alphanumeric()
                            && text[at + c.len_utf8()..].contains(['\'', '’', '`']) =>
                    {
                        &['\'', '’', '`']
                    }
                    _ => &[],
                };
                if !closing.is_empty() {
                    open = Some((at, closing));
                }
            }
        }
        before = c;
    }
    found.extend(open.filter(|(_, closing)| !closing.contains(&'\'')).map(|(start, _)| (start, text.len())));
    found.extend(tag.map(|start| (start, text.len())));
    found.sort_unstable();
    // Stretches within stretches are one.
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for (start, end) in found {
        match joined.last_mut().filter(|(_, last)| start <= *last) {
            Some((_, last)) => *last = end.max(*last),
            None => joined.push((start, end)),
        }
    }
    joined.reverse();
    joined
}

/// Tags around somebody else's words.
const QUOTING: [&str; 5] = ["blockquote", "q", "pre", "code", "cite"];

/// The first three letters of the months, English and German.
const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "mär", "apr", "may", "mai", "jun", "jul", "aug", "sep", "oct", "okt", "nov", "dec",
    "dez",
];
const TITLES: &[&str] = &["mr", "mrs", "ms", "dr", "prof"];
const SHORTENED: &[&str] =
    &["e", "g", "i", "z", "b", "approx", "ca", "no", "nr", "std", "hr", "hrs", "a.m", "p.m"];

/// Whether the word is like `1.12`.
fn is_day_and_month(word: &str) -> bool {
    word.split_once('.').is_some_and(|(day, month)| {
        [day, month]
            .iter()
            .all(|part| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// Lower case, umlauts spelt out, apostrophes and invisible characters left out.
pub(crate) fn fold(raw: &str) -> String {
    let mut folded = String::with_capacity(raw.len());
    for c in raw.chars().flat_map(char::to_lowercase) {
        match c {
            'ä' => folded.push_str("ae"),
            'ö' => folded.push_str("oe"),
            'ü' => folded.push_str("ue"),
            'ß' => folded.push_str("ss"),
            // A combining diaeresis makes the vowel before it an umlaut.
            '\u{308}' => folded.push('e'),
            c if is_apostrophe(c) || is_ignored(c) => {}
            c => folded.push(c),
        }
    }
    folded
}

/// Whether `word` is one of the words of a list, which are divided by blanks.
pub(crate) fn is_one_of(word: &str, list: &str) -> bool {
    // The search for a substring is quick, and it rules out most words.
    list.contains(word) && list.split_ascii_whitespace().any(|listed| listed == word)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '%' || c == '\u{308}'
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’' | '‘' | 'ʼ' | '`' | '´')
}

/// Characters that nobody sees: soft hyphen, joiners, variation selectors.
fn is_ignored(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Whether the mark at `at` belongs to the word that began at `start`.
fn joins(text: &str, start: usize, at: usize, mark: char) -> bool {
    let (Some(before), Some(after)) =
        (text[..at].chars().next_back(), text[at + mark.len_utf8()..].chars().next())
    else {
        return false;
    };
    let digits = before.is_ascii_digit() && after.is_ascii_digit();
    match mark {
        '-' | '\u{2011}' => before.is_alphanumeric() && after.is_alphanumeric(),
        '–' => digits,
        // 9.30, 1.500, 14:00, 1/12 belong together, and so does p.m.
        '.' => {
            digits
                || (after.eq_ignore_ascii_case(&'m')
                    && matches!(before, 'a' | 'p' | 'A' | 'P')
                    && text[start..at].trim_start_matches(|c: char| c.is_ascii_digit()).len() == 1)
        }
        ',' | ':' | '/' => digits,
        mark => is_apostrophe(mark) && before.is_alphanumeric() && after.is_alphanumeric(),
    }
}

/// Whether the hyphen at `at` is a minus sign.
fn starts_negative(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    before.is_none_or(|c| c.is_whitespace() || c == '(')
        && text[at + 1..].starts_with(|c: char| c.is_ascii_digit())
}

/// The end of the markup tag that begins at `at`, if it is one; a tag is short.
fn tag_end(text: &str, at: usize) -> Option<usize> {
    const LONGEST: usize = 200;
    let inside = &text.as_bytes()[at + 1..];
    if !inside.first().is_some_and(|first| first.is_ascii_alphabetic() || matches!(first, b'/' | b'!')) {
        return None;
    }
    let inside = &inside[..inside.len().min(LONGEST)];
    let close = inside.iter().position(|byte| matches!(byte, b'>' | b'<'))?;
    (inside[close] == b'>').then_some(at + 1 + close + 1)
}

#[cfg(test)]
mod tests {
    use super::sentences;

    #[track_caller]
    fn check(text: &str, expected: &[&[&str]]) {
        let found = sentences(text);
        let words: Vec<Vec<&str>> =
            found.iter().map(|one| one.words.iter().map(|word| word.text.as_str()).collect()).collect();
        assert_eq!(words, expected, "{text:?}");
    }

    #[test]
    fn words_are_folded_and_marks_within_kept() {
        check("", &[]);
        check("…!? 👍", &[]);
        check("Don’t show up; no-show!", &[&["dont", "show", "up"], &["no-show"]]);
        check("3h at 9:30, or 2026-12-01.", &[&["3h", "at", "9:30", "or", "2026-12-01"]]);
        check("at 9 p.m. then 9a.m. End", &[&["at", "9", "p.m", "then", "9a.m"], &["end"]]);
        check("Rückerstattung für Strauß", &[&["rueckerstattung", "fuer", "strauss"]]);
        check("-1h, a-b, €150.50", &[&["-1h", "a-b", "euro", "150.50"]]);
        check("<script>alert(1)</script>quote", &[&["alert", "1"], &["quote"]]);
        check("a < b <3 <unclosed", &[&["a", "b", "3", "unclosed"]]);
        check("so\u{ad}ft\u{200b}ly u\u{308}ber", &[&["softly", "ueber"]]);
    }
}
