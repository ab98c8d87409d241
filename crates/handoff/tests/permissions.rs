//! What an agent may do does not come back to a default: not at its second question or activation, not when the user
//! speaks again, not after a load.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Session, Turn, agent, calls, hands_to, name, payer, pays, question, says, script, tool_name};
use sommelier_handoff::{Delegate, Relay, RunEnd, Step};

/// A reply that asks for what is allowed, what is switched off, what needs approval, and what the agent does not have.
fn tries_all() -> Turn {
    calls([
        ("look", r#"{"word":"tea"}"#.to_owned()),
        ("fail", "{}".to_owned()),
        pays("INV-1"),
        ("shred", "{}".to_owned()),
    ])
}

/// What they bring in the reply of this number; the payment was rejected. `known` are the agent's tools.
fn brought(reply: usize, known: &str) -> [String; 4] {
    [
        format!(r#"tu_{reply}_0="tea""#),
        format!(r#"tu_{reply}_1!{{"error":"tool_switched_off","detail":"fail is switched off for now"}}"#),
        format!(
            r#"tu_{reply}_2!{{"error":"approval_denied","tool":"pay","reason":"no","effect":"none: the tool was not run"}}"#
        ),
        format!(
            r#"tu_{reply}_3!{{"error":"unknown_tool","agent":"billing","tool":"shred","available":[{known}]}}"#
        ),
    ]
}

/// Switches `fail` of billing off at the first step; each later one is saved and loaded by the harness.
fn off_at_first() -> impl FnMut(Step) -> Step {
    let mut is_first = true;
    move |step| match std::mem::take(&mut is_first) {
        true => step.switch_off(name("billing"), tool_name("fail")),
        false => step,
    }
}

/// The results that billing was given in each of its conversations, in order.
fn results_of_billing(session: &Session<'_>) -> Vec<Vec<String>> {
    let runs = harness::runs(session.run());
    let messages = runs.into_iter().filter_map(|run| run.idle("billing")).flat_map(|turn| turn.messages());
    let answers = messages.filter(|message| message.tool_results().next().is_some());
    answers
        .map(|message| {
            let result = |result: &sommelier_protocol::ToolResult| {
                let sign = if result.is_error() { '!' } else { '=' };
                format!("{}{sign}{}", result.tool_use_id(), result.words())
            };
            message.tool_results().map(result).collect()
        })
        .collect()
}

/// C113: a delegate that is asked a second time in the same message, and a third time after the user has spoken again, may
/// do what it might the first time and nothing more.
#[test]
fn a_delegate_may_do_no_more_when_it_is_asked_again() {
    let relay = Relay::builder()
        .agent(agent("desk"))
        .delegate("desk", Delegate::new("ask_billing", payer("billing")))
        .entry("desk")
        .build()
        .unwrap();
    let asks = |text: &str| calls([("ask_billing", question(text))]);
    // Each question opens a conversation of its own, and a script goes by the replies of a conversation.
    let model = script([
        ("desk", asks("First.")),
        ("desk", asks("Second.")),
        ("desk", says("Twice.")),
        ("desk", asks("Third.")),
        ("desk", says("Thrice.")),
        ("billing", tries_all()),
        ("billing", says("I tried.")),
    ]);
    let session = Session::new(&relay, &model).at_each_step(off_at_first()).say("hello");
    let session = session.reject("conv/1/1/0/1/1/2", "no").reject("conv/1/2/0/1/1/2", "no");
    let session = session.say("Once more.").reject("conv/2/4/0/1/1/2", "no");
    let session = session.ends(RunEnd::Answered);
    let each = brought(1, r#""fail","look","pay""#);
    assert_eq!(results_of_billing(&session), [each.clone(), each.clone(), each]);
    assert!(session.ran.iter().all(|(tool, _)| tool == "look"), "{:?}", session.ran);
}

/// C113: so it is with a receiver: when the user speaks to it again, and when the turn comes back to it.
#[test]
fn a_receiver_may_do_no_more_at_its_second_message() {
    let relay = Relay::builder()
        .agent(agent("desk"))
        .agent(payer("billing"))
        .entry("desk")
        .route("desk", "billing")
        .route("billing", "desk")
        .build()
        .unwrap();
    let model = script([
        ("desk", hands_to("billing")),
        ("billing", tries_all()),
        ("billing", says("I tried.")),
        ("billing", tries_all()),
        ("billing", hands_to("desk")),
        ("desk", hands_to("billing")),
        ("billing", tries_all()),
        ("billing", says("I tried.")),
    ]);
    let session = Session::new(&relay, &model).at_each_step(off_at_first()).say("hello");
    let session = session.reject("conv/1/2/2", "no").say("Again.").reject("conv/2/4/2", "no");
    let session = session.reject("conv/2/7/2", "no").ends(RunEnd::Answered);
    let tried: Vec<Vec<String>> =
        results_of_billing(&session).into_iter().filter(|results| results.len() == 4).collect();
    let tried_in = |reply| brought(reply, r#""fail","handoff_to_specialist","look","pay""#);
    assert_eq!(tried, [1, 3, 5].map(tried_in));
    assert!(session.ran.iter().all(|(tool, _)| tool == "look"), "{:?}", session.ran);
}

/// C113: a tool that is switched off for somebody two delegates below is off for each who is asked there later.
#[test]
fn what_is_switched_off_is_off_for_whoever_is_asked_later() {
    let inner = Relay::builder()
        .agent(agent("clerk"))
        .delegate("clerk", Delegate::new("ask_billing", payer("billing")))
        .entry("clerk")
        .build()
        .unwrap();
    let relay = Relay::builder()
        .agent(agent("desk"))
        .delegate("desk", Delegate::team("ask_clerk", inner).max_model_calls(9))
        .entry("desk")
        .build()
        .unwrap();
    let model = script([
        ("desk", calls([("ask_clerk", question("First."))])),
        ("desk", calls([("ask_clerk", question("Second."))])),
        ("desk", says("Twice.")),
        ("clerk", calls([("ask_billing", question("Well?"))])),
        ("clerk", says("So it is.")),
        ("billing", calls([("fail", "{}")])),
        ("billing", says("I tried.")),
    ]);
    let session = Session::new(&relay, &model).at_each_step(off_at_first()).say("hello");
    let session = session.ends(RunEnd::Answered);
    let off = r#"tu_1_0!{"error":"tool_switched_off","detail":"fail is switched off for now"}"#;
    assert_eq!(results_of_billing(&session), [[off], [off]]);
    assert_eq!(session.ran, []);
}
