//! Texts, sizes and times as people read them.

use sommelier_protocol::sight::{printable, shows_nothing};

/// A time that something took, as the tree of spans on a terminal tells it.
pub(crate) use sommelier_metrics::duration;

/// The most characters of a text that are shown in full.
pub(crate) const LONGEST: usize = 4_000;

/// The most columns of a name where it stands among other words.
pub(crate) const LONGEST_NAME: usize = 60;

/// Whether a name is cut where it stands among other words.
pub(crate) fn is_long(name: &str) -> bool {
    let (kept, left_out) = cut(name, LONGEST);
    left_out > 0 || width(&in_line(kept)) > LONGEST_NAME
}

/// So many marks may stand above and below one letter. Languages need fewer; a pile of them covers the lines around it.
const MOST_MARKS: usize = 6;

/// A text with escapes for what cannot be seen, would turn the direction of what stands beside it, or piles up on a letter.
/// Emoji stay whole.
pub(crate) fn visible(text: &str) -> String {
    let text = printable(text);
    if !text.contains(|c| is_no_character(c) || shows_nothing(c) || is_mark(c)) {
        return text;
    }
    let (mut seen, mut marks, mut letter) = (String::with_capacity(text.len()), 0, ' ');
    for c in text.chars() {
        let is_mark = is_mark(c) || is_joined(c, letter);
        (marks, letter) = if is_mark { (marks + 1, letter) } else { (0, c) };
        if is_no_character(c) || (shows_nothing(c) && !is_mark) || marks > MOST_MARKS {
            seen.extend(c.escape_unicode());
        } else {
            seen.push(c);
        }
    }
    seen
}

/// Whether it is drawn above or below the letter before it.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}' | '\u{6d6}'..='\u{6dc}' | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Whether it shows as nothing by itself and makes something else of the letter before it: an emoji of two, a flag.
fn is_joined(c: char, letter: char) -> bool {
    let is_tag_of_a_flag = letter == '\u{1f3f4}' && matches!(c, '\u{e0020}'..='\u{e007f}');
    is_tag_of_a_flag || matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// No document may hold these.
fn is_no_character(c: char) -> bool {
    u32::from(c) & 0xfffe == 0xfffe || matches!(c, '\u{fdd0}'..='\u{fdef}')
}

/// As [`visible`], in one line.
pub(crate) fn in_line(text: &str) -> String {
    let text = visible(text);
    let words: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    words.join(" ⏎ ").replace(['\u{2028}', '\u{2029}'], " ⏎ ")
}

/// A sign of more characters than this is a pile of marks, and is cut.
const LONGEST_SIGN: usize = 32;

/// The beginning of a text of at most so many characters, and the bytes that are left out. What is one sign to the eye is not
/// cut in two.
pub(crate) fn cut(text: &str, most: usize) -> (&str, usize) {
    let Some((most, _)) = text.char_indices().nth(most) else { return (text, 0) };
    let mut end = most;
    for _ in 0..LONGEST_SIGN {
        let joined = text.get(..end).and_then(|kept| kept.chars().next_back());
        let next = text.get(end..).and_then(|rest| rest.chars().next());
        if joined != Some('\u{200d}') && !next.is_some_and(joins) {
            break;
        }
        end -= joined.map_or(0, char::len_utf8);
    }
    let is_whole = !text.get(end..).and_then(|rest| rest.chars().next()).is_some_and(joins);
    let kept = text.get(..if is_whole { end } else { most }).unwrap_or_default();
    (kept, text.len() - kept.len())
}

/// Whether the character makes one sign with the one before it.
fn joins(c: char) -> bool {
    is_mark(c)
        || matches!(c, '\u{200d}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{1f3fb}'..='\u{1f3ff}' | '\u{1f1e6}'..='\u{1f1ff}' | '\u{e0020}'..='\u{e007f}')
}

/// A text in one line of at most so many columns, with a mark where it was cut.
pub(crate) fn short(text: &str, columns: usize) -> String {
    // No text of a report is worth reading to its end for one line of it.
    let (begin, _) = cut(text, columns.saturating_mul(4).max(64));
    let line = in_line(begin);
    let mut width = 0;
    let over = line.char_indices().find(|(_, c)| {
        width += columns_of(*c);
        width > columns
    });
    if over.is_none() && begin.len() == text.len() {
        return line;
    }
    let mut width = 0;
    let most = line.chars().take_while(|c| {
        width += columns_of(*c);
        width < columns
    });
    format!("{}…", cut(&line, most.count()).0.trim_end())
}

/// Whether [`short`] leaves a text as it is: one line of no more than so many columns.
pub(crate) fn is_whole_in(text: &str, columns: usize) -> bool {
    let (_, left_out) = cut(text, columns.saturating_mul(4).max(64));
    left_out == 0 && !text.contains(['\n', '\u{2028}', '\u{2029}']) && width(&visible(text)) <= columns
}

/// A text in one line of at most so many pixels, as letters of a proportional font of 13 pixels are wide at most.
pub(crate) fn fitting(text: &str, pixels: u32) -> String {
    let line = short(text, usize::try_from(pixels / 4).unwrap_or_default());
    let mut width = 0;
    let over = |c: char| {
        width += pixels_of(c);
        width > pixels
    };
    if !line.chars().any(over) {
        return line;
    }
    let mut width = pixels_of('…');
    let most = line.chars().take_while(|c| {
        width += pixels_of(*c);
        width <= pixels
    });
    format!("{}…", cut(&line, most.count()).0.trim_end())
}

fn pixels_of(c: char) -> u32 {
    match (c, columns_of(c)) {
        (_, 0) => 0,
        (_, 2) => 17,
        ('W' | 'M' | '@' | '%' | '…', _) => 14,
        (
            'i' | 'j' | 'l' | 't' | 'f' | 'r' | 'I' | ' ' | '.' | ',' | ':' | ';' | '\'' | '|' | '(' | ')'
            | '_',
            _,
        ) => 6,
        ('m' | 'w', _) => 12,
        ('a'..='z' | '0'..='9' | '-', _) => 8,
        (c, _) if c.is_lowercase() => 9,
        _ => 11,
    }
}

/// How wide a text is, in columns of a Latin letter.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(c: char) -> usize {
    match c {
        '\u{200d}' | '\u{fe00}'..='\u{fe0f}' => 0,
        c if is_mark(c) => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{1f000}'..='\u{1faff}'
        | '\u{20000}'..='\u{3ffff}' => 2,
        _ => 1,
    }
}

/// A size, to the byte: `105 B`, `1184 B`, `12,345 B`. It is the size that the records, the inbox and the tree tell too, so
/// whoever looks for it finds it.
pub(crate) fn bytes(count: u64) -> String {
    format!("{} B", grouped(count))
}

/// A number as people read it: from five digits on with a mark at the thousands.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in (0..digits.len()).rev().zip(digits.chars()) {
        grouped.push(digit);
        if place > 0 && place % 3 == 0 {
            grouped.push(',');
        }
    }
    grouped
}

/// How long after the beginning something happened: as a [`duration`] within the first minute, and as a clock shows it after.
pub(crate) fn offset(us: u64) -> String {
    if us < 60_000_000 {
        return format!("+{}", duration(us));
    }
    let (seconds, millis) = (us / 1_000_000, us / 1_000 % 1_000);
    format!("+{}:{:02}:{:02}.{millis:03}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// A moment such as `2026-11-30 10:00:00.250 UTC`. One of the first day counts from the beginning of its process, and is
/// no date.
pub(crate) fn moment(us: u64) -> String {
    let (days, of_day) = (us / 86_400_000_000, us / 1_000 % 86_400_000);
    if days == 0 {
        return duration(us);
    }
    let (year, month, day) = date(days);
    let (seconds, millis) = (of_day / 1_000, of_day % 1_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{millis:03} UTC")
}

/// Year, month and day of a day that is so many after 1970-01-01, by the eras of 400 years.
fn date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// `1 handoff`, `2 handoffs`.
pub(crate) fn counted(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}
