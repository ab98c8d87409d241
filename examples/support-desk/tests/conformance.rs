//! What the desk's tools declare of themselves. They have records that nobody changes and nothing outside, so that is little.

use sommelier_runtime::tool::Effect;
use sommelier_runtime::tool::conformance::{Better, Conformance, Report, Unchecked};
use support_desk::desk::{guards, relay};

/// None declares an effect, so none can be untrue; each answers and fails as a tool does. A refund of a real house would not
/// pass for one that only looks.
#[test]
fn the_tools_of_the_desk_promise_nothing() {
    let relay = relay(guards()).build().unwrap();
    for (agent, tool, arguments, fails) in [
        ("billing_agent", "find_charges", "{}", None),
        ("billing_agent", "refund_charge", r#"{"charge":"CH-1042"}"#, Some(r#"{"charge":"CH-0"}"#)),
        ("technical_agent", "search_issues", r#"{"query":"The app crashes at login with Google."}"#, None),
    ] {
        let check = Conformance::of(relay.agent(agent).unwrap(), tool, || ());
        let checked = fails.into_iter().fold(check, Conformance::fails).check(arguments);
        let unchecked = fails.is_none().then_some(Unchecked::Failure).into_iter().chain([Unchecked::Effect]);
        let expected = Report {
            effect: Effect::AtMostOnce,
            alone: None,
            could_be: Some(Better::ReadOnly),
            unchecked: unchecked.collect(),
        };
        assert_eq!(checked, Ok(expected), "{tool}");
    }
}
