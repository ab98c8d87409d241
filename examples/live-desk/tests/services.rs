//! The desk on a live model over HTTP, against services that are no model.
#![expect(clippy::unwrap_used, reason = "a test may stop at what cannot be")]

mod support;

use live_desk::{Bench, Sighting, Tap, Witness};
use serde_json::{Value, json};
use sommelier_handoff::{AgentName, HandoffPackage};
use sommelier_providers::openai::JsonMode;
use sommelier_providers::{Live, LiveBuilder, anthropic, openai};
use support::{all, broken, budget, ends, service};
use support_desk::Role;

fn bench(live: LiveBuilder) -> Bench<Live> {
    let tap = Tap::default();
    let heard = tap.clone();
    let live = live.raw_to(move |_, bytes| heard.hear(bytes)).build().unwrap();
    Bench::new(Witness::new(live, tap), budget()).unwrap()
}

/// S1-20, S1-21, S1-43: triage makes its packages by calls of a live model; the specialist's first request is its prompt and, as
/// the user's one message, the package. What the model said is there byte for byte.
#[test]
fn a_live_model_makes_packages_and_the_receiver_reads_them() {
    let server = service::able();
    let live = Live::anthropic(anthropic::Settings::default()).key_variable("PATH").base_url(server.url());
    let (evidence, tally, sightings) = all(&bench(live));
    assert_eq!(broken(&tally), [""; 0]);
    assert_eq!(ends(&evidence), [&["answered"; 10][..], &["taken_over"; 3]].concat());
    let log = server.log();
    assert_eq!((log.refused, &log.broken, &log.noted), (0, &Default::default(), &Default::default()));

    let first = &sightings[0];
    let raw: Value = serde_json::from_str(first.raw.as_ref().unwrap()).unwrap();
    assert_eq!((&raw["content"][0]["type"], &raw["stop_reason"]), (&json!("thinking"), &json!("tool_use")));
    let written: Value = serde_json::from_str(&first.arguments).unwrap();
    assert_eq!(raw["content"][1]["input"], written);
    let package = HandoffPackage::new("See to what the customer asks of billing_agent.")
        .constraint("be concise")
        .open_item("resolve the query")
        .artifact("user_words", first.says)
        .unwrap();
    let expected = Sighting {
        case: "the demonstration",
        says: "I was charged twice this month. I'm on the pro plan.",
        from: "triage_agent".into(),
        to: "billing_agent".into(),
        is_free: true,
        package: package.to_json(),
        ..first.clone()
    };
    assert_eq!(*first, expected);

    let of_billing = log.entries.iter().find(|entry| entry.body.contains("You handle refunds")).unwrap();
    let request: Value = serde_json::from_str(&of_billing.body).unwrap();
    let told = package.to_prompt(&AgentName::new("triage_agent").unwrap());
    assert_eq!(
        (&request["system"], &request["messages"]),
        (&json!(Role::Billing.prompt()), &json!([{"role": "user", "content": told}]))
    );
}

/// S1-21: a model that can do nothing but fill in a schema makes packages that are valid, since the schema asks for all that
/// the routes do; and going in circles it ends with a person.
#[test]
fn a_model_that_only_fills_in_the_schema_hands_over() {
    let settings = openai::Settings { json_mode: Some(JsonMode::default()), ..openai::Settings::default() };
    let live = Live::openai(settings).without_key().base_url(service::filling());
    let (evidence, tally, sightings) = all(&bench(live));
    assert_eq!(broken(&tally), [""; 0]);
    let said = r#"{"specialist":"technical_agent","task":"word","context":{},"constraints":["word"],"open_items":["word"]}"#;
    let written: Value = serde_json::from_str(&sightings[0].arguments).unwrap();
    assert_eq!(written, serde_json::from_str::<Value>(said).unwrap());
    assert!(sightings[0].raw.as_ref().unwrap().contains("handoff_to_specialist"));
    assert!(ends(&evidence).contains(&"taken_over"), "{:?}", ends(&evidence));
}
