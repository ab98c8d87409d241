//! The texts of lesson 08 by which a reader checks themselves have the answers that the page gives.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

use std::process::Command;

/// The lines of the fenced block after a marker.
fn block<'p>(page: &'p str, marker: &str) -> Vec<&'p str> {
    let (_, after) = page.split_once(marker).unwrap_or_else(|| panic!("no line {marker:?}"));
    let (_, fenced) = after.split_once("```").unwrap();
    let (inside, _) = fenced.split_once("```").unwrap();
    inside.lines().skip(1).collect()
}

#[test]
fn each_text_has_the_pattern_that_the_page_gives() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lessons/08.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (texts, answers) = (block(&page, "<!-- texts -->"), block(&page, "<!-- answers -->"));
    assert_eq!((texts.len(), answers.len()), (4, 4));
    let mut patterns = Vec::new();
    for (command, answer) in texts.into_iter().zip(answers) {
        let text =
            command.strip_prefix("cargo xtask ask \"").and_then(|rest| rest.strip_suffix("\" --approve"));
        let text = text.unwrap_or_else(|| panic!("{command:?} is not written as the others"));
        let output = Command::new(env!("CARGO_BIN_EXE_ask")).args([text, "--approve"]).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let found = printed.lines().find(|line| line.starts_with("pattern: "));
        assert_eq!(found, Some(answer), "{text:?}");
        patterns.push(answer.split_once(", since").unwrap().0);
    }
    // One that calls for a result, one that one agent does, one found in the work, one to be split.
    patterns.sort_unstable();
    assert_eq!(
        patterns,
        ["pattern: fan_out", "pattern: handoff", "pattern: handoff", "pattern: single_agent"]
    );
}
