//! The known name that a misspelt one was probably meant to be.

/// The nearest of `known`, if it is near enough to be worth a hint.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|candidate| (distance(name, candidate), *candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().max(3) / 2 + 1)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance, one row at a time.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        let known = ["lesson", "ask", "ci", "tidy"];
        assert_eq!(nearest("leson", &known), Some("lesson"));
        assert_eq!(nearest("lessons", &known), Some("lesson"));
        assert_eq!(nearest("tydi", &known), Some("tidy"));
        assert_eq!(nearest("c", &known), Some("ci"));
        assert_eq!(nearest("something else entirely", &known), None);
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("tidy", "tidy"), 0);
    }
}
