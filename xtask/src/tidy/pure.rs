//! Pure modules decide and do nothing: no clock, thread, file, network, environment, chance or hash order.

use super::Finding;
use super::lexer::{Token, begins, code, is_test_file};
use super::tree::Tree;

const PURE: [&str; 4] =
    ["crates/protocol/src/", "crates/runtime/src/", "crates/handoff/src/", "crates/reservo/src/"];
/// Beside runtime's turn, not inside it, the tools are run: on threads.
const FREE: &str = "crates/runtime/src/tool/";
const MODULES: [&str; 6] = ["thread", "time", "fs", "net", "env", "process"];
const TYPES: [&str; 4] = ["HashMap", "HashSet", "SystemTime", "Instant"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|(path, _)| is_pure(path))
        .flat_map(|(path, source)| {
            impure(&code(source)).into_iter().map(move |(line, name)| {
                Finding::new(
                    path,
                    line,
                    format!("`{name}` in a pure module: pass it in, or do it in a driver"),
                )
            })
        })
        .collect()
}

fn is_pure(path: &str) -> bool {
    PURE.iter().any(|pure| path.starts_with(pure)) && !path.starts_with(FREE) && !is_test_file(path)
}

fn impure(code: &[Token<'_>]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, token) in code.iter().enumerate() {
        let rest = &code[at..];
        if TYPES.contains(&token.text) {
            found.push((token.line, token.text.to_owned()));
        }
        if begins(rest, &["rand", ":", ":"]) || begins(rest, &["use", "rand"]) {
            found.push((token.line, "rand".to_owned()));
        }
        if matches!(token.text, "std" | "core") && begins(&rest[1..], &[":", ":"]) {
            let modules = heads(&rest[3..]).into_iter().filter(|head| MODULES.contains(&head.text));
            found.extend(modules.map(|head| (head.line, format!("{}::{}", token.text, head.text))));
        }
    }
    found
}

/// The first words after `std::`: one, or those of a group.
fn heads<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    if !begins(tokens, &["{"]) {
        return tokens.first().copied().into_iter().collect();
    }
    let mut heads = Vec::new();
    let mut depth = 0_usize;
    for pair in tokens.windows(2) {
        match pair[0].text {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && matches!(pair[0].text, "{" | ",") {
            heads.push(pair[1]);
        }
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::root;

    fn check_source(source: &str, expected: &[(usize, &str)]) {
        let found = impure(&code(source));
        let found: Vec<(usize, &str)> = found.iter().map(|(line, name)| (*line, &**name)).collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn what_reaches_out_is_found() {
        check_source("use std::thread;", &[(1, "std::thread")]);
        check_source("fn f() {\n std::env::var(\"X\"); }", &[(2, "std::env")]);
        check_source(
            "use std::{fmt::{self, Debug},\n fs, net::TcpStream};",
            &[(2, "std::fs"), (2, "std::net")],
        );
        check_source("use std::time::Instant;", &[(1, "std::time"), (1, "Instant")]);
        check_source("use core::time::Duration;", &[(1, "core::time")]);
        check_source("let m: HashMap<A, B> = x;", &[(1, "HashMap")]);
        check_source("rand::rng();", &[(1, "rand")]);
    }

    #[test]
    fn what_stays_inside_is_not() {
        check_source("// std::thread\n/// HashMap\nuse std::{collections::BTreeMap, fmt, sync::Arc};", &[]);
        check_source("let text = \"std::fs and Instant\";", &[]);
        check_source("#[cfg(test)] mod tests { use std::thread; use std::collections::HashSet; }", &[]);
        check_source("use crate::time::Millis; use std::{fmt::{self, net}, str};", &[]);
    }

    #[test]
    fn only_pure_modules_are_held_to_it() {
        let source = "use std::thread;";
        let pure = ["crates/protocol/src/a.rs", "crates/runtime/src/turn.rs", "crates/reservo/src/b/c.rs"];
        let free =
            ["crates/runtime/src/tool/dispatch.rs", "crates/runner/src/lib.rs", "crates/handoff/tests/a.rs"];
        for path in pure {
            assert_eq!(check(&Tree::of(&[(path, source)])).len(), 1, "{path}");
        }
        for path in free {
            assert_eq!(check(&Tree::of(&[(path, source)])), [], "{path}");
        }
    }

    #[test]
    fn the_folders_that_are_watched_are_there() {
        let tree = Tree::read(root()).unwrap();
        for folder in PURE.into_iter().chain([FREE]) {
            assert!(tree.exists(folder.trim_end_matches('/')), "{folder}");
        }
    }
}
