//! The desk on models whose replies break things: the rules hold of whatever they write, and only a model that is none at all
//! ends a run in a way that is not known.
#![expect(clippy::panic, reason = "a test may stop at what cannot be")]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use live_desk::Rule;
use sommelier_handoff::{COMPLETE_HANDOFF, HANDOFF_TO_SPECIALIST};
use sommelier_protocol::{ContentBlock, ModelRequest, ModelResponse, StopReason, ToolUse};
use sommelier_runtime::{Model, ModelError, script};
use support::{all, bench, broken, ends};

/// Replies one after the other, over and over, whoever asks.
struct Wheel(Vec<Result<ModelResponse, ModelError>>, AtomicUsize);

impl Wheel {
    fn new(replies: impl IntoIterator<Item = Result<ModelResponse, ModelError>>) -> Self {
        Self(replies.into_iter().collect(), AtomicUsize::new(0))
    }
}

impl Model for Wheel {
    fn complete(&self, _: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let turn = self.1.fetch_add(1, Ordering::Relaxed);
        self.0[turn % self.0.len()].clone()
    }
}

fn with(blocks: Vec<ContentBlock>, stop: StopReason) -> ModelResponse {
    let mut reply = script::say("x");
    (reply.content, reply.stop_reason) = (blocks, Some(stop));
    reply
}

fn calls<const N: usize>(calls: [(&str, &str); N]) -> ModelResponse {
    let calls = calls.into_iter().enumerate();
    with(
        calls.map(|(n, (tool, input))| ToolUse::scripted(format!("c{n}"), tool, input).into()).collect(),
        StopReason::ToolUse,
    )
}

const GOOD: &str = r#"{"specialist":"billing_agent","task":"Look.","context":{},"constraints":["be concise"],"open_items":["look"]}"#;
const OTHER: &str = r#"{"specialist":"technical_agent","task":"Look.","context":{"intent":"technical"},"constraints":["be kind"],"open_items":["look"]}"#;

fn foolish() -> Vec<ModelResponse> {
    let handoff = |input: &str| calls([(HANDOFF_TO_SPECIALIST, input)]);
    vec![
        handoff("{}"),
        handoff("[1"),
        handoff(
            r#"{"specialist":"root_agent","task":"Look.","context":{},"constraints":["c"],"open_items":["o"]}"#,
        ),
        handoff(r#"{"specialist":"billing_agent","task":" ","context":{},"constraints":[],"open_items":[]}"#),
        handoff(GOOD),
        // More than the budget has.
        calls([("find_charges", "{}"); 8]),
        calls([("refund_charge", r#"{"charge":7}"#), ("refund_charge", "{}"), ("launch", "{}")]),
        calls([("find_charges", "{}"), ("search_issues", r#"{"query":"crash"}"#)]),
        calls([(HANDOFF_TO_SPECIALIST, OTHER), (HANDOFF_TO_SPECIALIST, GOOD), ("find_charges", "{}")]),
        calls([(COMPLETE_HANDOFF, r#"{"done":["all"],"open":[],"answer":"ok"}"#)]),
        with(Vec::new(), StopReason::EndTurn),
        with(vec![ContentBlock::text("  ")], StopReason::EndTurn),
        script::say("I hand you over to billing_agent."),
        with(
            vec![ToolUse::scripted("", "refund_charge", r#"{"charge":"CH-1042"}"#).into()],
            StopReason::EndTurn,
        ),
        with(vec![ToolUse::scripted("c0", "refund_charge", r#"{"char"#).into()], StopReason::MaxTokens),
        with(vec![ContentBlock::text("No.")], StopReason::Refusal),
        handoff(OTHER),
        script::say("Done."),
    ]
}

/// S1-21: whichever mistake comes first, and whichever is next.
#[test]
fn the_rules_hold_of_whatever_a_model_writes() {
    let replies = foolish();
    let mut looked_at = Vec::new();
    for start in 0..replies.len() {
        let turned = replies.iter().cycle().skip(start).take(replies.len()).cloned();
        let (evidence, tally, _) = all(&bench(Wheel::new(turned.map(Ok))));
        assert_eq!(broken(&tally), [""; 0], "from {start}: {:?}", ends(&evidence));
        looked_at.extend(Rule::ALL.into_iter().filter(|rule| tally.of(*rule).checked > 0));
    }
    for rule in [Rule::RefusedByGuard, Rule::OwnCall, Rule::ValidCall, Rule::ToolCalls] {
        assert!(looked_at.contains(&rule), "{rule:?}");
    }
    for reply in replies {
        let (evidence, tally, _) = all(&bench(Wheel::new([Ok(reply.clone())])));
        assert_eq!(broken(&tally), [""; 0], "{reply:?}: {:?}", ends(&evidence));
    }
}

#[test]
fn a_model_that_is_none_ends_a_run_as_it_should_not() {
    let unreachable = ModelError::Unreachable { detail: "no route".into() };
    let tired = with(vec![ContentBlock::text("Hm.")], StopReason::Other("tired".into()));
    for (reply, end, why) in [
        (Err(unreachable), "failed", "it ended as failed: the model could not be reached: no route"),
        (Ok(tired), "unknown_stop", "it ended as unknown_stop: tired"),
    ] {
        let (evidence, tally, sightings) = all(&bench(Wheel::new([reply])));
        assert_eq!(tally.broken(), [Rule::KnownEnd]);
        let told = &tally.of(Rule::KnownEnd).broken[0];
        assert!(told.ends_with(why), "{told}");
        assert!(ends(&evidence).iter().all(|found| *found == end) && sightings.is_empty());
    }
}

struct Panics;

impl Model for Panics {
    fn complete(&self, _: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        panic!("as a test wants it")
    }
}

#[test]
fn a_model_that_panics_is_told_and_nothing_else_breaks() {
    let (evidence, tally, _) = all(&bench(Panics));
    assert_eq!(tally.broken(), [Rule::KnownEnd]);
    assert!(ends(&evidence).iter().all(|end| *end == "failed"), "{:?}", ends(&evidence));
    assert!(tally.of(Rule::KnownEnd).broken[0].contains("panicked"));
}
