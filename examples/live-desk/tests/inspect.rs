//! Each rule holds of what was, and breaks of evidence that was bent: a check that cannot fail would be none.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what cannot be")]

mod support;

use live_desk::{End, Evidence, Exchange, Rule, StandIn, Tally, inspect};
use serde_json::{Value, json};
use sommelier_handoff::{Budget, HandoffPackage, Relay};
use sommelier_protocol::{Content, ContentBlock, Message, ToolUse};
use sommelier_runtime::ModelError;
use support::{all, bench, broken, budget, case, ends};
use support_desk::desk::{guards, relay};

fn desk() -> Relay {
    relay(guards()).budget(budget()).build().unwrap()
}

fn evidence(name: &str) -> Evidence {
    bench(StandIn).carry_out(case(name))
}

/// The rules that are broken by this evidence of a case, under these limits.
fn broken_under(relay: &Relay, evidence: &Evidence) -> Vec<Rule> {
    let mut tally = Tally::default();
    inspect(relay, evidence, &mut tally);
    tally.broken()
}

/// The rules that are broken once the evidence of a case is bent. As it was it breaks none.
fn bent(name: &str, bend: impl FnOnce(&mut Evidence)) -> Vec<Rule> {
    let mut evidence = evidence(name);
    assert_eq!(broken_under(&desk(), &evidence), []);
    bend(&mut evidence);
    broken_under(&desk(), &evidence)
}

#[test]
fn the_rules_hold_of_the_stand_in_and_each_is_looked_at() {
    let (evidence, tally, sightings) = all(&bench(StandIn));
    assert_eq!(broken(&tally), [""; 0]);
    let looked_at: Vec<Rule> = Rule::ALL.into_iter().filter(|rule| tally.of(*rule).checked > 0).collect();
    assert_eq!(looked_at, Rule::ALL);
    let free = sightings.iter().filter(|sighting| sighting.is_free).count();
    assert_eq!((sightings.len(), free), (18, 4));
    let expected = [&["answered"; 10][..], &["taken_over"; 3]].concat();
    assert_eq!(ends(&evidence), expected);
}

/// Changes the blocks of an agent's conversation.
fn rewrite(evidence: &mut Evidence, agent: &str, change: impl Fn(&ContentBlock) -> ContentBlock) {
    let transcripts = &mut evidence.heard[0].transcripts;
    let (_, messages) = transcripts.iter_mut().find(|(name, _)| name == agent).unwrap();
    for message in messages {
        if let Content::Blocks(blocks) = &mut message.content {
            blocks.iter_mut().for_each(|block| *block = change(block));
        }
    }
}

#[test]
fn a_call_that_does_not_fit_its_schema() {
    let with = |tool: &'static str, input: &'static str| {
        bent("charged twice", |evidence| {
            rewrite(evidence, "billing_agent", |block| match block.as_tool_use() {
                Some(call) if call.name() == tool => ToolUse::scripted(call.id(), tool, input).into(),
                _ => block.clone(),
            });
        })
    };
    let report = r#"{"done":["a"],"open":[],"answer":"b"}"#;
    assert_eq!(with("refund_charge", r#"{"charge":"x"}"#), []);
    assert_eq!(with("complete_handoff", report), []);
    for (tool, input) in [
        ("refund_charge", "{}"),
        ("refund_charge", r#"{"charge":7}"#),
        ("find_charges", r#"{"of":"all"}"#),
        ("complete_handoff", r#"{"done":"all","open":[],"answer":"b"}"#),
    ] {
        assert_eq!(with(tool, input), [Rule::ValidCall], "{tool} {input}");
    }
    let unknown = bent("charged twice", |evidence| {
        rewrite(evidence, "billing_agent", |block| match block.as_tool_use() {
            Some(call) => ToolUse::scripted(call.id(), "launch", "{}").into(),
            None => block.clone(),
        });
    });
    assert_eq!(unknown, [Rule::ValidCall]);
}

#[test]
fn a_conversation_that_is_not_legal() {
    let lost_result = bent("charged twice", |evidence| {
        let (_, messages) = &mut evidence.heard[0].transcripts[0];
        let place = messages.iter().position(|message| message.tool_results().next().is_some()).unwrap();
        messages.remove(place);
    });
    assert_eq!(lost_result, [Rule::LegalSequence]);
    let request = bent("a farewell", |evidence| {
        let exchange = &mut evidence.heard[0].exchanges[0];
        exchange.violations = sommelier_protocol::sequence::check_messages(&[]);
    });
    assert_eq!(request, [Rule::LegalSequence]);
}

/// What was within wide limits is over narrow ones.
#[test]
fn limits_that_did_not_hold() {
    let evidence = evidence("charged twice");
    let under = |budget: Budget| broken_under(&relay(guards()).budget(budget).build().unwrap(), &evidence);
    assert_eq!(under(Budget::new(4).tool_calls(2).tokens(1).hops(1)), []);
    assert_eq!(under(Budget::new(3)), [Rule::ModelCalls]);
    assert_eq!(under(Budget::new(8).tool_calls(1)), [Rule::ToolCalls]);
    let capped = relay(guards().max_handoffs(0)).budget(budget()).build().unwrap();
    assert_eq!(broken_under(&capped, &evidence), [Rule::Handoffs]);
    let costly = bent("charged twice", |evidence| {
        let reply = evidence.heard[0].exchanges[0].reply.as_mut().unwrap();
        (reply.usage.input_tokens, reply.usage.output_tokens) = (23_999, 1);
    });
    assert_eq!(costly, [Rule::Tokens]);
    let beyond_counting = bent("charged twice", |evidence| {
        for exchange in &mut evidence.heard[0].exchanges {
            exchange.reply.as_mut().unwrap().usage.input_tokens = u64::MAX;
        }
    });
    assert_eq!(beyond_counting, [Rule::Tokens]);
    let dear_at_last = bent("charged twice", |evidence| {
        let last = evidence.heard[0].exchanges.last_mut().unwrap();
        last.reply.as_mut().unwrap().usage.input_tokens = 99_000;
    });
    assert_eq!(dear_at_last, [], "what a reply costs is known when it is there");
    let twice = bent("charged twice", |evidence| {
        let hop = evidence.heard[0].hops[0].clone();
        evidence.heard[0].hops.push(hop);
    });
    assert_eq!(twice, [Rule::Handoffs]);
}

/// Changes the call by which triage hands over.
fn recall(evidence: &mut Evidence, change: impl Fn(&mut Value)) {
    let reply = evidence.heard[0].exchanges[0].reply.as_mut().unwrap();
    let [block] = &reply.content[..] else { panic!("{:?}", reply.content) };
    let call = block.as_tool_use().unwrap();
    let mut input: Value = serde_json::from_str(call.input().get()).unwrap();
    change(&mut input);
    reply.content = vec![ToolUse::scripted(call.id(), call.name(), &input.to_string()).into()];
}

/// Changes the package that crossed, and where the receiver reads it.
fn repack(evidence: &mut Evidence, change: impl Fn(&mut Value)) {
    let hop = &mut evidence.heard[0].hops[0];
    let mut package: Value = serde_json::from_str(&hop.package.as_ref().unwrap().to_json()).unwrap();
    change(&mut package);
    let package = HandoffPackage::read(&package.to_string()).unwrap();
    let told = Message::user(package.to_prompt(&hop.from));
    hop.package = Some(package);
    evidence.heard[0].exchanges[1].messages = vec![told];
}

#[test]
fn a_package_that_should_not_have_crossed() {
    let without = |section: &'static str| {
        bent("charged twice", |evidence| {
            recall(evidence, |input| drop(input[section].take()));
            repack(evidence, |package| drop(package.as_object_mut().unwrap().remove(section)));
        })
    };
    assert_eq!(without("completed_steps"), []);
    assert_eq!(without("constraints"), [Rule::ValidPackage]);
    assert_eq!(without("open_items"), [Rule::ValidPackage]);
    let nowhere = bent("charged twice", |evidence| {
        recall(evidence, |input| input["specialist"] = "triage_agent".into());
        let heard = &mut evidence.heard[0];
        heard.hops[0].to = "triage_agent".into();
        heard.exchanges[1].agent = "triage_agent".into();
    });
    assert_eq!(nowhere, [Rule::ValidPackage]);
}

#[test]
fn a_package_that_the_model_has_not_written() {
    let bends: [fn(&mut Value); 5] = [
        |call| call["task"] = "Refund it all.".into(),
        |call| call["context"] = json!({"intent": "technical"}),
        |call| call["specialist"] = "technical_agent".into(),
        |call| call["constraints"] = json!(["be concise"]),
        |call| call["open_items"] = json!(["resolve the query", "apologise"]),
    ];
    for (place, bend) in bends.into_iter().enumerate() {
        assert_eq!(bent("charged twice", |evidence| recall(evidence, bend)), [Rule::OwnCall], "{place}");
    }
    let bends: [fn(&mut Value); 3] = [
        |package| package["artifacts"]["secret"] = 7.into(),
        |package| package["constraints"] = json!(["be concise"]),
        |package| package["completed_steps"] = json!(["query received", "read as billing", "refunded"]),
    ];
    for (place, bend) in bends.into_iter().enumerate() {
        assert_eq!(bent("charged twice", |evidence| repack(evidence, bend)), [Rule::OwnCall], "{place}");
    }
    let context_of_nobody = bent("charged twice", |evidence| {
        recall(evidence, |call| call["context"] = json!({}));
        repack(evidence, |package| package["context"] = json!({"charge": "ch_9"}));
    });
    assert_eq!(context_of_nobody, [Rule::OwnCall]);
    let nobody = bent("charged twice", |evidence| {
        evidence.heard[0].exchanges[0].reply.as_mut().unwrap().content = vec![ContentBlock::text("Hm.")];
    });
    assert_eq!(nobody, [Rule::OwnCall]);
    let somebody_else = bent("charged twice", |evidence| {
        let call = evidence.heard[0].exchanges[0].clone();
        evidence.heard[0].exchanges[0].agent = "technical_agent".into();
        evidence.heard[0].exchanges[0].reply = call.reply;
    });
    assert_eq!(somebody_else, [Rule::OwnCall]);
}

#[test]
fn a_receiver_that_does_not_read_the_package() {
    let other_words = bent("charged twice", |evidence| {
        let of_billing = |exchange: &&mut Exchange| exchange.agent == "billing_agent";
        for exchange in evidence.heard[0].exchanges.iter_mut().filter(of_billing) {
            exchange.messages[0] = Message::user("Help the customer.");
        }
    });
    assert_eq!(other_words, [Rule::PackageIsRead]);
    let not_asked = bent("charged twice", |evidence| evidence.heard[0].exchanges.truncate(1));
    assert_eq!(not_asked, [Rule::PackageIsRead]);
    let at_the_limit = bent("charged twice", |evidence| {
        evidence.heard[0].exchanges.truncate(1);
        evidence.heard[0].end = End::Run { code: "budget_spent", told: "budget_spent".into() };
    });
    assert_eq!(at_the_limit, []);
}

#[test]
fn a_refusal_of_which_nobody_hears_and_a_person_who_does_not_have_it() {
    let silent = bent("a bounce", |evidence| {
        evidence.heard[0].end = End::Run { code: "answered", told: "answered".into() };
        evidence.heard[0].transcripts.retain(|(agent, _)| agent != "technical_agent");
    });
    assert_eq!(silent, [Rule::RefusedByGuard]);
    let another = bent("a bounce", |evidence| {
        evidence.heard[0].end = End::Person { guard: "cap", asked_after: 0, code: "taken_over" };
        evidence.heard[0].transcripts.retain(|(agent, _)| agent != "technical_agent");
    });
    assert_eq!(another, [Rule::RefusedByGuard]);
    let asked_on = bent("a bounce", |evidence| {
        evidence.heard[0].end = End::Person { guard: "pair", asked_after: 1, code: "taken_over" };
    });
    assert_eq!(asked_on, [Rule::PersonHasIt]);
}

#[test]
fn an_end_that_is_not_known() {
    let ends = [
        End::Run { code: "failed", told: "failed: the model could not be reached".into() },
        End::Run { code: "unknown_stop", told: "unknown_stop: tired".into() },
        End::Run { code: "cancelled", told: "cancelled: enough".into() },
        End::Person { guard: "pair", asked_after: 0, code: "answered" },
        End::Person { guard: "package", asked_after: 0, code: "taken_over" },
        End::Broken { why: "something panicked".into() },
    ];
    for end in ends {
        let told = format!("{end:?}");
        assert_eq!(bent("a farewell", |evidence| evidence.heard[0].end = end), [Rule::KnownEnd], "{told}");
    }
    let unreachable = bent("a farewell", |evidence| {
        evidence.heard[0].exchanges[0].reply = Err(ModelError::Panicked);
    });
    assert_eq!(unreachable, [], "how it ended is what counts");
}
