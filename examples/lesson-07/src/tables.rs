//! What was measured, for a reader.

use examples_kit::wrapped;

use crate::sweep::Row;
use crate::ways::{Figures, VARIANTS};

/// The running case, both ways side by side.
pub(crate) fn side_by_side(words: &str, row: &Row) -> String {
    let Row { direct, back, saved_calls, saved_hops, saved_bytes, .. } = row;
    let line = |name: &str, calls: String, hops: String, bytes: String| {
        format!("  {name:<7}{calls:>7}{hops:>6}{bytes:>19}\n")
    };
    let ran = |name, ran: &Figures| {
        line(name, ran.model_calls.to_string(), ran.hops.to_string(), ran.package_bytes.to_string())
    };
    [
        format!("The running case: {words}\n\n"),
        line("", "calls".into(), "hops".into(), "bytes that cross".into()),
        ran("direct", direct),
        ran("return", back),
        line("saved", saved_calls.to_string(), saved_hops.to_string(), saved_bytes.to_string()),
        format!("\n  direct: {}\n  return: {}\n", direct.chain, back.chain),
        wrapped(&format!("  direct answers: {}", direct.answer), 18),
        wrapped(&format!("\n  return answers: {}", back.answer), 18),
        "\n".to_owned(),
    ]
    .concat()
}

/// The base variant over the sweep, a line for each number of limits.
pub(crate) fn sweep(rows: &[Row]) -> String {
    let base: Vec<&Row> = of(rows, VARIANTS[0].name).collect();
    let mut text = format!(
        "The sweep: {} points, each run both ways. T: turns of the specialists together.\n\n  \
         limits  points       T   direct calls  hops   return calls  hops   saved calls  hops\n",
        base.len()
    );
    for at in by_limits(&base) {
        text.push_str(&format!(
            "  {:>6}  {:>6}  {:>6}   {:>12}  {:>4}   {:>12}  {:>4}   {:>11}  {:>4}\n",
            at[0].limits,
            at.len(),
            span(at.iter().map(|row| row.turns)),
            span(at.iter().map(|row| row.direct.model_calls)),
            span(at.iter().map(|row| row.direct.hops)),
            span(at.iter().map(|row| row.back.model_calls)),
            span(at.iter().map(|row| row.back.hops)),
            span(at.iter().map(|row| row.saved_calls)),
            span(at.iter().map(|row| row.saved_hops)),
        ));
    }
    text.push_str(&format!(
        "\nWhat the usual settings end in it, until they are loosened\n\n{}",
        ended(&base)
    ));
    text
}

/// Where a run of the base variant was ended by the usual settings, and at what.
fn ended(base: &[&Row]) -> String {
    let mut text = String::new();
    for (way, ran) in [("direct", (|row| &row.direct) as fn(&Row) -> &Figures), ("return", |row| &row.back)] {
        let ended = by_limits(base).filter_map(|at| {
            let last = at.last().filter(|row| !ran(row).loosened.is_empty())?;
            let what = ran(last).loosened.join(", then ");
            let refusals = ran(last).refusals.iter();
            let refusals = refusals.map(|refusal| wrapped(&format!("    {refusal}"), 6) + "\n");
            Some(format!("  {way}, {} limits: {what}\n{}", last.limits, refusals.collect::<String>()))
        });
        let ended: String = ended.collect();
        text.push_str(&if ended.is_empty() { format!("  {way}: nothing\n") } else { ended });
    }
    text
}

/// What is saved in each variant, over all its points.
pub(crate) fn variants(rows: &[Row]) -> String {
    let mut text = format!(
        "The variants, over the same points. The last two columns: what is saved less one for each limit.\n\n  \
         {:<54}saved calls  hops   less limits: calls  hops\n",
        "what is changed"
    );
    for variant in VARIANTS {
        let of: Vec<&Row> = of(rows, variant.name).collect();
        text.push_str(&format!(
            "  {:<54}{:>11}  {:>4}   {:>18}  {:>4}\n",
            format!("{}: {}", variant.name, variant.meaning),
            span(of.iter().map(|row| row.saved_calls)),
            span(of.iter().map(|row| row.saved_hops)),
            span(of.iter().map(|row| row.beyond_limits()[0])),
            span(of.iter().map(|row| row.beyond_limits()[1])),
        ));
    }
    text
}

/// The rows of a variant.
pub(crate) fn of<'a>(rows: &'a [Row], variant: &'a str) -> impl Iterator<Item = &'a Row> {
    rows.iter().filter(move |row| row.variant == variant)
}

fn by_limits<'a, 'b>(rows: &'a [&'b Row]) -> impl Iterator<Item = &'a [&'b Row]> {
    rows.chunk_by(|row, next| row.limits == next.limits)
}

/// The least and the greatest of some numbers, written once where they are equal.
fn span<N: Ord + Copy + std::fmt::Display>(numbers: impl Iterator<Item = N> + Clone) -> String {
    match (numbers.clone().min(), numbers.max()) {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least}..{most}"),
        _ => "none".to_owned(),
    }
}
