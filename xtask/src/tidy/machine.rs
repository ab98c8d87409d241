//! No file knows on whose machine it was written.

use super::Finding;
use super::tree::Tree;

/// In pieces, or this file would find itself.
const FOLDERS: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/wo", "rk/"), concat!("/tm", "p/t-"), concat!("/Us", "ers/")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.iter().filter(|(path, _)| *path != "Cargo.lock") {
        for (at, line) in text.lines().enumerate() {
            for folder in FOLDERS.iter().filter(|folder| names(line, folder)) {
                findings.push(Finding::new(
                    path,
                    at + 1,
                    format!("`{folder}` is a path of someone's machine"),
                ));
            }
        }
    }
    findings
}

/// Does the line hold the folder where a path begins? In the middle of an address it is no machine's.
fn names(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|char| !char.is_alphanumeric() && !matches!(char, '.' | '-' | '_' | '/'))
            || line[..at].ends_with("://")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machines_path_is_found() {
        for folder in FOLDERS {
            for line in [format!("{folder}x"), format!("see `{folder}me/a.rs`"), format!("file://{folder}x")]
            {
                let found = check(&Tree::of(&[("docs/a.md", &format!("one\n{line}\n"))]));
                assert_eq!(found.len(), 1, "{line}");
                assert_eq!(found[0].line, 2);
            }
        }
    }

    #[test]
    fn an_address_is_not_and_the_lock_is_not_read() {
        let address = format!("https://example.com{}page", FOLDERS[0]);
        assert_eq!(check(&Tree::of(&[("a.md", &address), ("b.md", "homework/x, /tmp/x")])), []);
        assert_eq!(check(&Tree::of(&[("Cargo.lock", FOLDERS[0])])), []);
    }
}
