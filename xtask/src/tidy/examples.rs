//! An example begins by saying how to run it, and is short enough to be read.

use super::Finding;
use super::tree::Tree;

const LONGEST: usize = 150;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.rust().filter(|(path, _)| is_main(path)) {
        let docs: Vec<&str> = source.lines().take_while(|line| line.starts_with("//!")).collect();
        if !docs.iter().any(|line| line.contains("cargo xtask ")) {
            findings.push(Finding::new(
                path,
                1,
                "the first lines do not say how to run it: `//! … cargo xtask …`",
            ));
        }
        let lines = source.lines().count();
        if lines > LONGEST {
            let what = format!("{lines} lines, more than {LONGEST}: an example is read in one sitting");
            findings.push(Finding::new(path, LONGEST + 1, what));
        }
    }
    findings
}

fn is_main(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts.as_slice(), ["examples", _, "src", "main.rs"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, source: &str) -> usize {
        check(&Tree::of(&[(path, source)])).len()
    }

    #[test]
    fn an_example_says_how_to_run_it() {
        let path = "examples/lesson-05/src/main.rs";
        assert_eq!(found(path, "//! The handoff.\n//!\n//! Run: `cargo xtask lesson 05`\nfn main() {}"), 0);
        assert_eq!(found(path, "//! The handoff.\nfn main() {}\n//! cargo xtask lesson 05"), 1);
        assert_eq!(found("examples/kit/src/lib.rs", "//! Shared."), 0);
    }

    #[test]
    fn an_example_is_short() {
        let path = "examples/ask/src/main.rs";
        assert_eq!(found(path, &("//! cargo xtask ask\n".to_owned() + &"\n".repeat(149))), 0);
        assert_eq!(found(path, &("//! cargo xtask ask\n".to_owned() + &"\n".repeat(150))), 1);
    }
}
