//! No file has two versions of a place, as a merge leaves them where it could not choose.

use super::Finding;
use super::tree::Tree;

/// How the line above and the line below such a place begin. In pieces, or this file would find itself.
const MARKS: [&str; 2] = [concat!("<<<<", "<<< "), concat!(">>>>", ">>> ")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.iter() {
        let left =
            text.lines().enumerate().filter(|(_, line)| MARKS.iter().any(|mark| line.starts_with(mark)));
        findings.extend(left.map(|(at, _)| Finding::new(path, at + 1, "a merge was not finished here")));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_merge_has_left_is_found() {
        let text = format!("one\n{}HEAD\ntwo\n=======\nthree\n{}abc\n", MARKS[0], MARKS[1]);
        let found: Vec<usize> = check(&Tree::of(&[("docs/a.md", &text)])).iter().map(|it| it.line).collect();
        assert_eq!(found, [2, 6]);
        assert_eq!(check(&Tree::of(&[("docs/a.md", "a line\n=======\nunder a heading\n")])), []);
    }
}
