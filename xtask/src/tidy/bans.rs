//! Words that library code does without, tests that are switched off, and files that have grown too long.

use super::Finding;
use super::lexer::{Token, begins, code, is_test_file, tokens};
use super::tree::Tree;

const BANS: [(&[&str], &str); 8] = [
    (&[".", "unwrap", "(", ")"], ".unwrap()"),
    (&[".", "expect", "("], ".expect(…)"),
    (&["panic", "!"], "panic!"),
    (&["unreachable", "!"], "unreachable!"),
    (&["todo", "!"], "todo!"),
    (&["unimplemented", "!"], "unimplemented!"),
    (&["dbg", "!"], "dbg!"),
    (&["unsafe"], "unsafe"),
];
const LONGEST: usize = 700;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in tree.rust() {
        let mut find = |line, what: String| findings.push(Finding::new(path, line, what));
        if is_library(path) {
            for (line, word) in banned(&code(source)) {
                find(line, format!("`{word}` in library code: return what went wrong"));
            }
        }
        for line in ignored(source) {
            find(line, "an ignored test shows nothing: mend it or delete it".to_owned());
        }
        let lines = source.lines().count();
        if lines > LONGEST {
            find(LONGEST + 1, format!("{lines} lines, more than {LONGEST}: find the second noun in it"));
        }
    }
    findings
}

/// The crash harness is a test in the form of a crate, since its victim is a program; so are the cases of the fuzzer, since
/// they are run by two.
fn is_library(path: &str) -> bool {
    path.starts_with("crates/")
        && !path.starts_with("crates/crash/")
        && !path.starts_with("crates/fuzz-cases/")
        && path.split('/').nth(2) == Some("src")
        && !is_test_file(path)
}

fn banned(code: &[Token<'_>]) -> Vec<(usize, &'static str)> {
    (0..code.len())
        .filter_map(|at| {
            let (_, word) = BANS.iter().find(|(ban, _)| begins(&code[at..], ban))?;
            Some((code[at].line, *word))
        })
        .collect()
}

/// Lines with `#[ignore]`, also behind a condition, and with a doc example that is not compiled.
fn ignored(source: &str) -> Vec<usize> {
    let tokens = tokens(source);
    let mut lines = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let attribute = tokens[at..].iter().map(|token| token.text).take_while(|text| *text != "]");
        let switched_off = begins(&tokens[at..], &["#", "[", "ignore"])
            || begins(&tokens[at..], &["#", "[", "cfg_attr"])
                && attribute.skip(2).any(|text| text == "ignore");
        if switched_off {
            lines.push(token.line);
        }
    }
    for (at, line) in source.lines().enumerate() {
        let line = line.trim_start();
        let docs = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let fence = docs.and_then(|docs| docs.trim().strip_prefix("```"));
        if fence.is_some_and(|info| info.split(',').any(|word| word.trim().starts_with("ignore"))) {
            lines.push(at + 1);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = "crates/a/src/lib.rs";

    fn found(path: &str, source: &str) -> usize {
        check(&Tree::of(&[(path, source)])).len()
    }

    #[test]
    fn each_banned_word_is_found() {
        let sources = [
            "x.unwrap();",
            "x\n  .expect(\"y\");",
            "panic!(\"y\");",
            "_ => unreachable!(),",
            "todo!()",
            "unimplemented!()",
            "dbg!(x);",
            "unsafe { x }",
        ];
        for source in sources {
            assert_eq!(found(LIBRARY, source), 1, "{source}");
        }
    }

    #[test]
    fn words_that_only_look_like_it_are_not() {
        let sources = [
            "x.unwrap_or(1); x.unwrap_or_default(); x.expect_err;",
            "#![forbid(unsafe_code)]",
            "// x.unwrap()\n/// panic!(\"y\")\n/* unsafe */",
            "let text = \"todo!()\";",
            "#[cfg(test)]\nmod tests { fn f() { x.unwrap(); panic!() } }",
            "std::panic::catch_unwind(f);",
        ];
        for source in sources {
            assert_eq!(found(LIBRARY, source), 0, "{source}");
        }
    }

    #[test]
    fn tests_and_examples_may_unwrap() {
        for path in ["crates/a/tests/b.rs", "crates/a/src/b/tests.rs", "examples/c/src/main.rs"] {
            assert_eq!(found(path, "x.unwrap();"), 0, "{path}");
        }
    }

    #[test]
    fn a_test_is_not_switched_off_anywhere() {
        let sources = [
            "#[ignore] fn f() {}",
            "#[ignore = \"slow\"]",
            "#[cfg_attr(miri, ignore)]",
            "/// ```ignore",
            "//! ```rust,ignore",
        ];
        for source in sources {
            assert_eq!(found("crates/a/tests/b.rs", source), 1, "{source}");
        }
        for source in ["// #[ignore]", "fn ignore() {}", "#[cfg_attr(unix, inline)]", "/// ```text"] {
            assert_eq!(found("crates/a/tests/b.rs", source), 0, "{source}");
        }
    }

    #[test]
    fn a_long_file_is_told() {
        assert_eq!(found("crates/a/tests/b.rs", &"\n".repeat(700)), 0);
        assert_eq!(found("crates/a/tests/b.rs", &"\n".repeat(701)), 1);
    }
}
