//! What an agent must be to be built, and what it then tells a model.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Nothing, clerk, reserved};
use sommelier_protocol::System;
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Agent, AgentName, Definition, Tool};
use std::collections::BTreeSet;

fn tool(name: &str) -> Tool {
    Tool::new(name, "Works.", |_: Nothing, _: &CallContext<'_>| Ok::<_, Failure>(1))
}

#[track_caller]
fn check_error(agent: Agent, expected: &str) {
    assert_eq!(agent.build().unwrap_err().to_string(), expected);
}

/// C55: an illegal name is told when the agent is built, with the rule that it breaks.
#[test]
fn an_illegal_agent_name_is_told_with_its_rule() {
    let rule = "a lower-case letter, then up to 63 of a-z, 0-9 and _";
    let long = "a".repeat(65);
    for name in
        ["", " ", "9x", "_x", "FAQ agent", "faq-agent", "faq.agent", "Agent", "agent\n", "a\u{200d}b", &long]
    {
        check_error(Agent::new(name, ""), &format!("{name:?} is no agent name: {rule}"));
    }
    let huge = "a".repeat(1_000_000);
    check_error(Agent::new(&*huge, ""), &format!("{:?} is no agent name: {rule}", &huge[..80]));
    assert!(Agent::new("a".repeat(64), "").build().is_ok());
}

/// C55: a word that means someone else in a conversation names no agent.
#[test]
fn a_reserved_word_names_no_agent() {
    for word in AgentName::RESERVED {
        let expected = format!("{word:?} is no agent name: a reserved word that means someone else");
        check_error(Agent::new(word, ""), &expected);
    }
    assert!(Agent::new("user_agent", "").build().is_ok());
}

/// C53: names in other scripts are refused rather than folded into each other; a label may be any text.
#[test]
fn a_name_in_another_script_is_refused_and_a_label_is_free() {
    for name in ["退款", "доставка", "حجز", "аgent", "ａgent"] {
        assert!(Agent::new(name, "").build().is_err(), "{name}");
    }
    let agents = [("refunds", "退款"), ("delivery", "доставка"), ("booking", "حجز")];
    let built = agents.map(|(name, label)| Agent::new(name, "").label(label).build().unwrap());
    let told: Vec<(&str, &str)> = built.iter().map(|agent| (agent.name().as_str(), agent.label())).collect();
    assert_eq!(told, agents);
    assert_eq!(Agent::new("refunds", "").build().unwrap().label(), "refunds");
}

#[test]
fn a_name_comes_through_json_and_only_if_it_is_legal() {
    let name = AgentName::new("policy_agent").unwrap();
    let json = serde_json::to_string(&name).unwrap();
    assert_eq!(
        (json.as_str(), serde_json::from_str::<AgentName>(&json).unwrap()),
        (r#""policy_agent""#, name)
    );
    assert!(serde_json::from_str::<AgentName>(r#""Policy agent""#).is_err());
    assert!(serde_json::from_str::<AgentName>(r#""user""#).is_err());
}

#[test]
fn what_a_model_wrote_is_normalised_and_nothing_is_guessed() {
    let cases = [
        ("policy_agent", "policy_agent"),
        ("  Policy_Agent\n", "policy_agent"),
        ("“policy_agent”", "policy_agent"),
        ("`'policy_agent'`", "policy_agent"),
        ("„policy_agent“", "policy_agent"),
        ("‚policy_agent‘", "policy_agent"),
        ("« Policy_Agent »", "policy_agent"),
        ("»›policy_agent‹«", "policy_agent"),
        ("policy agent", "policy agent"),
        ("policy-agent", "policy-agent"),
        ("рolicy_agent", "рolicy_agent"),
        ("İ", "İ"),
        ("\"\"", ""),
        ("", ""),
    ];
    for (written, expected) in cases {
        assert_eq!(AgentName::normalise(written), expected);
        assert_eq!(AgentName::normalise(expected), expected, "a normal form stays what it is");
    }
}

#[test]
fn an_illegal_tool_name_is_told_with_its_rule() {
    let rule = "1 to 64 ASCII letters, digits, `_` or `-`";
    for name in ["", "get quote", "get.quote", "ｇet", &"t".repeat(65)] {
        let agent = Agent::new("clerk", "").tools([tool("fine"), tool(name)]);
        check_error(agent, &format!("{name:?} is no tool name: {rule}"));
    }
}

#[test]
fn two_tools_of_one_name_are_told() {
    let expected = "clerk has two tools named add; names must differ";
    check_error(clerk().tools([tool("add")]), expected);
    check_error(clerk().reserve(reserved("add")), expected);
    let twice = "clerk has two tools named hand_over; names must differ";
    check_error(clerk().reserve(reserved("hand_over")), twice);
    check_error(clerk().tools([tool("hand_over")]), twice);
    check_error(clerk().reserve_unoffered(reserved("hand_over")), twice);
    check_error(clerk().reserve_unoffered(reserved("add")), expected);
    assert!(clerk().tools([tool("Add")]).build().is_ok(), "names are told apart as they are written");
}

fn names(agent: &Definition) -> Vec<&str> {
    agent.definitions().iter().map(|definition| definition.name.as_str()).collect()
}

/// C59: names go out as they were given, and in one order, however often and however an agent is built.
#[test]
fn definitions_are_sorted_and_names_stay_as_they_are() {
    let (a, b) = (clerk().build().unwrap(), clerk().clone().build().unwrap());
    assert_eq!(
        (names(&a), a.definitions()),
        (vec!["add", "blob", "boom", "hand_over", "tick"], b.definitions())
    );
    let agent = |tools: [&str; 3]| Agent::new("clerk", "").tools(tools.map(tool)).build().unwrap();
    let (forth, back) = (agent(["c", "B", "a"]), agent(["a", "B", "c"]));
    assert_eq!((names(&forth), forth.definitions()), (vec!["B", "a", "c"], back.definitions()));
    let again = Agent::new(forth.name().as_str(), "").build().unwrap();
    assert_eq!(again.name(), forth.name());
}

#[test]
fn reserved_names_are_told_from_own_ones() {
    let agent = clerk().tools([tool("pay").needs_approval()]).build().unwrap();
    let told: BTreeSet<(&str, bool, bool, bool)> = ["add", "pay", "hand_over", "gone"]
        .map(|name| {
            (name, agent.table().has(name), agent.is_reserved(name), agent.table().needs_approval(name))
        })
        .into();
    let expected = [
        ("add", true, false, false),
        ("pay", true, false, true),
        ("hand_over", false, true, false),
        ("gone", false, false, false),
    ];
    assert_eq!(told, expected.into());
}

#[test]
fn blank_instructions_are_none() {
    let system = |text: &str| Agent::new("clerk", text).build().unwrap().system().cloned();
    assert_eq!((system(""), system(" \n")), (None, None));
    assert_eq!(system(" Be kind. "), Some(System::Text(" Be kind. ".into())));
}
