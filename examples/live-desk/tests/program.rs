//! The program as whoever starts it meets it.
#![expect(clippy::unwrap_used, reason = "a test may stop at what cannot be")]

mod support;

use std::process::{Command, Output};

use serde_json::{Value, json};
use support::service;

const KEY: &str = "a-key-that-nobody-sees";

fn run(args: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_live-desk"));
    program.args(args).env_remove("OPENAI_API_KEY").env("ANTHROPIC_API_KEY", KEY).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn without_a_model_the_rules_of_the_desk_stand_in() {
    let output = run(&[]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    let told = text(&output.stdout);
    for line in [
        "Decisions: desk rules (no model)",
        "a call that was executed fits its tool's schema       39    39",
        "A handoff by a call of triage_agent's own, which could have done something else:",
        "every rule held",
    ] {
        assert!(told.lines().any(|found| found == line), "{line}\n{told}");
    }
}

#[test]
fn a_live_model_is_told_with_its_bytes_and_without_its_key() {
    let server = service::able();
    let output = run(&["--model", "anthropic:claude-sonnet-5", "--base-url", &server.url()]);
    let told = text(&output.stdout);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{told}");
    assert!(told.contains("\nDecisions: anthropic:claude-sonnet-5\n"), "{told}");
    assert!(told.contains(r#"raw reply  {"content":[{"signature":"fake_"#), "{told}");
    assert!(
        told.contains(r#"package    {"task":"See to what the customer asks of billing_agent.""#),
        "{told}"
    );
    assert!(!told.contains(KEY));
}

#[test]
fn json_mode_and_one_document() {
    let url = service::filling();
    let output = run(&["--model", "openai:filler", "--base-url", &url, "--json-mode", "--json"]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&document["model"], &document["holds"], &document["handoffs"][0]["from"]),
        (&json!("openai:filler, in JSON mode"), &json!(true), &json!("triage_agent"))
    );
    let rules = document["rules"].as_array().unwrap();
    let held = rules.iter().all(|rule| rule["held"] == rule["checked"] && rule["broken"] == json!([]));
    assert!(held && rules.len() == 12, "{rules:?}");
}

/// A server that is not there breaks a rule, and is told for what it is.
#[test]
fn a_model_that_cannot_be_asked_is_a_failure() {
    let output = run(&["--model", "openai:x", "--base-url", "http://127.0.0.1:9", "--case", "a farewell"]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("BROKEN a run ends in a way that is known: a farewell"), "{told}");
    assert!(told.contains("Nobody has handed over by a call of its own."), "{told}");
    assert!(told.ends_with("NOT every rule held, or nothing was handed over\n"), "{told}");
}

#[test]
fn wrong_use_says_what_would_be_right() {
    for (args, why) in [
        (&["--model", "claude"][..], "`anthropic:NAME`"),
        (&["--model", "openai:"], "no model is named behind `openai:`"),
        (&["--model", "anthropic:x", "--json-mode"], "--json-mode is for openai: models"),
        (&["--base-url", "http://127.0.0.1:9"], "--model names it"),
        (&["--model", "openai:x"], "set the environment variable OPENAI_API_KEY"),
        (&["--model", "openai:x", "--base-url", "there"], "it begins with neither http:// nor https://"),
        (&["--case", "a storm"], "there are \"the demonstration\", "),
        (&["--modle", "x"], "--modle"),
        (&["hello"], "hello"),
    ] {
        let output = run(args);
        let told = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""), "{args:?}: {told}");
        assert!(told.starts_with("live-desk: ") && told.contains(why), "{args:?}: {told}");
    }
    assert_eq!(run(&["--help"]).status.code(), Some(0));
}
