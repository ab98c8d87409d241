//! Field values made fit for a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest value shown or kept as a key, in characters.
const MAX_CHARS: usize = 120;

/// Cuts a value that is too long and marks the cut.
pub(crate) fn clip(text: &str) -> Cow<'_, str> {
    // No text has more characters than bytes.
    if text.len() <= MAX_CHARS {
        return text.into();
    }
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// Cuts an id that is too long in its middle: ids of one conversation begin alike, and differ at their ends.
pub(crate) fn clip_id(id: &str) -> String {
    let chars = id.chars().count();
    if chars <= MAX_CHARS {
        return id.to_owned();
    }
    let half = MAX_CHARS / 2;
    let head: String = id.chars().take(half).collect();
    let tail: String = id.chars().skip(chars - half).collect();
    format!("{head}…{tail}")
}

/// Clips, and escapes what could move the cursor, start a line or turn the writing direction: a tool's name may
/// be of a model's choosing.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for c in clip(text).chars() {
        if c.is_control() || turns_text(c) {
            let _ = write!(shown, "{}", c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Microseconds as people read them: in the tree, in what [`Report`](crate::Report) says, and wherever else spans are shown.
///
/// ```
/// use sommelier_metrics::duration;
///
/// let read = [0, 850, 12_449, 3_200_000, 125_000_000, 10_920_000_000, 183_600_000_000].map(duration);
/// assert_eq!(read, ["0 ms", "850 µs", "12.4 ms", "3.2 s", "2 min 5 s", "3 h 2 min", "2 d 3 h"]);
/// ```
pub fn duration(us: u64) -> String {
    let seconds = us / 1_000_000;
    match us {
        0 => "0 ms".to_owned(),
        1..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{}.{} ms", us / 1_000, us % 1_000 / 100),
        1_000_000..60_000_000 => format!("{seconds}.{} s", us % 1_000_000 / 100_000),
        60_000_000..3_600_000_000 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600_000_000..86_400_000_000 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// `1 step`, `2 steps`.
pub(crate) fn steps(used: u64) -> String {
    format!("{used} step{}", if used == 1 { "" } else { "s" })
}

/// Whole microseconds.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A lock that a panicking thread poisoned holds counts or a writer, both still good.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// JSON in which nothing moves the cursor of a terminal, ends a line or turns the writing direction. Such characters stand in strings
/// alone, where JSON has another way to write them.
pub(crate) fn tame(json: String) -> String {
    if json.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_control()) {
        return json;
    }
    let mut tame = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_control() || turns_text(c) {
            let _ = write!(tame, "\\u{:04x}", u32::from(c));
        } else {
            tame.push(c);
        }
    }
    tame
}

/// Line and paragraph separators, direction marks, and the byte order mark.
const fn turns_text(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}'..='\u{200f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_safe_from_a_value() {
        assert_eq!(
            shown("a\u{1b}[2J\r\nb\u{202e}c\u{9b}\u{61c}µ→🙂"),
            "a\\u{1b}[2J\\r\\nb\\u{202e}c\\u{9b}\\u{61c}µ→🙂"
        );
        assert_eq!(shown(&"é".repeat(121)), format!("{}…", "é".repeat(120)));
    }

    #[test]
    fn json_is_as_tame_as_it_says_the_same() {
        let text = "a\u{1b}\n\u{9b}2J\u{202e}\u{2028}\u{85}é🙂";
        let json = tame(serde_json::to_string(text).unwrap());
        assert_eq!(json, r#""a\u001b\n\u009b2J\u202e\u2028\u0085é🙂""#);
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        // The last control of ASCII is the one that JSON lets pass.
        assert_eq!(tame(serde_json::to_string("a\u{7f}").unwrap()), r#""a\u007f""#);
    }

    #[test]
    fn ids_of_one_long_conversation_stay_apart() {
        let id = |end: &str| format!("{}{end}", "é".repeat(500));
        assert_eq!(clip_id(&id("/1/2/0")), format!("{}…{}/1/2/0", "é".repeat(60), "é".repeat(54)));
        assert_ne!(clip_id(&id("/1/2/0")), clip_id(&id("/1/2/1")));
        assert_eq!(clip_id(&"é".repeat(120)), "é".repeat(120));
    }

    /// Each unit to its end.
    #[test]
    fn durations_read_well() {
        let ends = [999, 999_999, 59_999_999, 3_599_999_999, 86_399_999_999, u64::MAX];
        assert_eq!(
            ends.map(duration),
            ["999 µs", "999.9 ms", "59.9 s", "59 min 59 s", "23 h 59 min", "213503982 d 8 h"]
        );
        let begins = [1_000, 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000];
        assert_eq!(begins.map(duration), ["1.0 ms", "1.0 s", "1 min 0 s", "1 h 0 min", "1 d 0 h"]);
    }
}
