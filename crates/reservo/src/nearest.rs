//! The nearest of a few names to a misspelt word.

/// The one candidate whose name is nearest to `word` by edits (swapped neighbours count as one), if it is near at all:
/// at most two edits, and fewer than half the length of the word. Two candidates equally near give none.
pub(crate) fn nearest<T: Copy>(
    word: &str,
    candidates: impl IntoIterator<Item = (T, &'static str)>,
) -> Option<T> {
    nearest_within(word, 2, candidates)
}

/// As [`nearest`], with at most `most` edits.
pub(crate) fn nearest_within<T: Copy>(
    word: &str,
    most: usize,
    candidates: impl IntoIterator<Item = (T, &'static str)>,
) -> Option<T> {
    let word: Vec<char> = word.trim().to_lowercase().chars().take(LONGEST + 1).collect();
    if word.len() > LONGEST {
        return None;
    }
    let mut best: Option<(usize, Option<T>)> = None;
    for (candidate, name) in candidates {
        let distance = edits(&word, &name.to_lowercase().chars().collect::<Vec<_>>());
        if distance > most || distance * 2 >= word.len() {
            continue;
        }
        best = match best {
            Some((least, _)) if least < distance => best,
            Some((least, _)) if least == distance => Some((least, None)),
            _ => Some((distance, Some(candidate))),
        };
    }
    best.and_then(|(_, candidate)| candidate)
}

/// Longer words are no misspelling of our short names, and need not be measured.
const LONGEST: usize = 16;

/// Edit distance with insertion, deletion, replacement and the swap of two neighbours.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = above;
        above = row;
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{edits, nearest};

    #[test]
    fn counts_edits() {
        for (a, b, expected) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("fokus", "focus", 1),
            ("stduio", "studio", 1),
            ("x", "focus", 5),
        ] {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            assert_eq!(edits(&a, &b), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn a_tie_or_a_far_word_has_no_nearest() {
        let names = [(1, "abcd"), (2, "abce")];
        assert_eq!(nearest("abcx", names), None);
        assert_eq!(nearest("abcdd", names), Some(1));
        assert_eq!(nearest("zzzzz", names), None);
        assert_eq!(nearest(&"a".repeat(100_000), names), None);
    }
}
