//! Lines that fit on a terminal.

/// How many columns a line may have.
pub const WIDTH: usize = 100;

/// The line in lines of at most [`WIDTH`] columns, those after the first indented by `hang`, without a line end at the
/// last.
///
/// It is broken at blanks, and where JSON has none, after a comma before the next value. So no number, no name and no
/// escape such as `\n` or `\u{1b}` is ever torn. A word that is longer than a line stays whole. Nothing is broken within
/// the first `hang` columns: what stands there is a label.
///
/// ```
/// use examples_kit::wrapped;
///
/// let json = format!("result  {{\"first\":\"{}\",\"second\":2}}", "x".repeat(80));
/// let expected = format!("result  {{\"first\":\"{}\",\n        \"second\":2}}", "x".repeat(80));
/// assert_eq!(wrapped(&json, 8), expected);
/// assert_eq!(wrapped("short", 8), "short");
/// ```
pub fn wrapped(line: &str, hang: usize) -> String {
    wrapped_to(line, hang, WIDTH)
}

/// The same for lines of at most `width` columns.
pub(crate) fn wrapped_to(line: &str, hang: usize, width: usize) -> String {
    let mut lines = Vec::new();
    let mut rest = line.to_owned();
    while let Some(at) = break_at(&rest, hang, width) {
        let next = rest.split_off(at);
        lines.push(rest.trim_end().to_owned());
        rest = format!("{:hang$}{}", "", next.trim_start());
    }
    lines.push(rest);
    lines.join("\n")
}

/// Where a line that is too long is broken, in bytes: at the last place that fits, else at the first one of all.
fn break_at(line: &str, hang: usize, width: usize) -> Option<usize> {
    if line.chars().count() <= width {
        return None;
    }
    let mut after = line.chars().skip(1);
    // Each place, with the columns before it.
    let places = line.char_indices().enumerate().filter_map(|(column, (at, c))| {
        let next = after.next();
        let (end, columns) = match (c, next) {
            (' ', Some(_)) => (at, column),
            (',', Some('"' | '{' | '[')) => (at + 1, column + 1),
            _ => return None,
        };
        (columns > hang && !line[end..].trim().is_empty()).then_some((end, columns))
    });
    let places: Vec<(usize, usize)> = places.collect();
    let fits = places.iter().rev().find(|(_, columns)| *columns <= width);
    fits.or(places.first()).map(|(end, _)| *end)
}

/// The beginning of a text, at most `most` characters, cut where a word or a value ends.
pub fn excerpt(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let is_end = |at: &usize| text[*at..].starts_with([' ', ',']);
    let whole = (end / 2..=end).rev().filter(|at| text.is_char_boundary(*at)).find(is_end);
    format!("{}…", &text[..whole.unwrap_or(end)])
}
