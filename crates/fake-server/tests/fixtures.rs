//! The files of cases, one for each rule: what keeps it is served, what breaks it is refused as the file says.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::fs;
use std::path::Path;

use harness::{bytes, send, server};
use serde_json::{Value, json};
use sommelier_fake_server::{FakeServer, Rule, Settings};

fn file(code: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(format!("{code}.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn words(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn server_of(case: &Value) -> FakeServer {
    let of = &case["server"];
    server(Settings {
        models: words(&of["models"]),
        keys: words(&of["keys"]),
        strict: of["strict"] == true,
        ..Settings::default()
    })
}

fn bytes_of(case: &Value) -> Vec<u8> {
    if let Some(raw) = case["raw"].as_str() {
        return raw.as_bytes().to_vec();
    }
    let text = case["text"].as_str().map(str::to_owned);
    let mut body = text.or_else(|| case.get("request").map(Value::to_string)).unwrap_or_default();
    body.push_str(&" ".repeat(usize::try_from(case["pad"].as_u64().unwrap_or_default()).unwrap()));
    let method = case["method"].as_str().unwrap_or("POST");
    bytes(method, case["target"].as_str().unwrap_or("/v1/messages"), &case["headers"], &body)
}

/// What happened to a case, and what should have.
fn played(case: &Value, expected: &Value) -> Option<String> {
    let server = server_of(case);
    let told = send(&server, &bytes_of(case));
    let entry = server.log().entries.pop_back().unwrap_or_default();
    let mut expected = expected.clone();
    expected["noted"] = case.get("noted").cloned().unwrap_or(json!([]));
    let error = told.json()["error"].clone();
    let message = told.message();
    let says = |wanted: &Value| wanted.as_str().is_none_or(|wanted| message.contains(wanted));
    let begins = |path: &Value| path.as_str().is_none_or(|path| message.starts_with(&format!("{path}: ")));
    let found = json!({
        "status": told.status,
        "type": error["type"],
        "path": if begins(&case["path"]) { case["path"].clone() } else { json!(message) },
        "message": if says(&case["message"]) { case["message"].clone() } else { json!(message) },
        "rules": entry.broken,
        "noted": entry.noted,
    });
    (found != expected).then(|| format!("{}:\n  found    {found}\n  expected {expected}", case["name"]))
}

/// S1-18: every rule has a case that keeps it and one that breaks it, and the server tells them apart.
#[test]
fn every_case_is_answered_as_its_file_says() {
    let mut wrong = Vec::new();
    for rule in Rule::all() {
        let file = file(rule.code());
        let (valid, invalid) = (file["valid"].as_array().unwrap(), file["invalid"].as_array().unwrap());
        assert!(!valid.is_empty() && !invalid.is_empty(), "{rule} has a case of each kind");
        for case in valid {
            let expected = json!({"status": 200, "type": null, "path": null, "message": null, "rules": []});
            wrong.extend(played(case, &expected).map(|what| format!("{rule}, valid, {what}")));
        }
        for case in invalid {
            let mut expected = json!({});
            for member in ["status", "type", "path", "message", "rules"] {
                expected[member] = case[member].clone();
            }
            wrong.extend(played(case, &expected).map(|what| format!("{rule}, invalid, {what}")));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Each file names its rule, and there is none for anything else.
#[test]
fn there_is_one_file_for_each_rule() {
    let mut codes: Vec<&str> = Rule::all().map(Rule::code).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut files: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    codes.sort_unstable();
    files.sort();
    assert_eq!(files, codes);
    for code in codes {
        assert_eq!(file(code)["rule"], code);
    }
}

/// An error has the form that the service's clients read.
#[test]
fn an_error_has_the_form_of_the_service() {
    let server = server(Settings::default());
    let told = harness::post(&server, &json!({"model": "claude-opus-5"}));
    let error = json!({"type": "invalid_request_error", "message": "max_tokens: Field required"});
    assert_eq!(told.json(), json!({"type": "error", "error": error, "request_id": "req_fake_000001"}));
    assert_eq!(told.header("request-id"), Some("req_fake_000001"));
    assert_eq!(told.header("content-type"), Some("application/json"));
}
