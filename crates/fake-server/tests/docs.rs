//! The page about the server, held against the server.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use std::fs;
use std::path::Path;

use serde_json::Value;
use sommelier_fake_server::{Fault, Faults, Rule, Script};

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/live.md")).unwrap()
}

/// The files that the page shows are read.
#[test]
fn the_files_of_the_page_are_read() {
    let page = page();
    let shown: Vec<&str> =
        page.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let [script, faults] = &*shown else { panic!("{} files are shown", shown.len()) };
    assert_eq!(Script::read(script).unwrap().replies.len(), 4);
    assert_eq!(Faults::read(faults).unwrap().faults.len(), 4);
}

/// Each fault of the page's table is one, and none is left out.
#[test]
fn the_faults_of_the_page_are_those_that_there_are() {
    let page = page();
    let (_, table) = page.split_once("| fault | what comes |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let shown = rows
        .flat_map(|row| row.split('|').nth(1).unwrap().split("`, `").map(str::to_owned).collect::<Vec<_>>());
    let shown: Vec<String> = shown.map(|fault| fault.trim_matches(['`', ' ']).to_owned()).collect();
    let mut named = Vec::new();
    for fault in shown {
        let plan = format!(r#"{{"faults": [{{"at": 1, "fault": {fault}}}]}}"#);
        let faults = Faults::read(&plan).unwrap_or_else(|error| panic!("{fault}: {error}"));
        let name = faults.faults[0].fault.name();
        let json: Value = serde_json::from_str(&fault).unwrap();
        let written = json.as_str().or_else(|| json.as_object()?.keys().next().map(String::as_str));
        assert_eq!(written, Some(name));
        named.push(name);
    }
    assert_eq!(named, Fault::of_each_kind().iter().map(Fault::name).collect::<Vec<_>>());
}

/// The page names every rule.
#[test]
fn the_rules_of_the_page_are_those_that_there_are() {
    let page = page();
    for rule in Rule::all().filter(|rule| !matches!(rule, Rule::Sequence(_))) {
        assert!(page.contains(&format!("`{rule}`")), "{rule}");
    }
}
