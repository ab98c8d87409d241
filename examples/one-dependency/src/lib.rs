//! An agent with a tool, in a package that depends on `sommelier-runner` and on nothing else. It is no program to be
//! started: that it compiles is what it shows, and its test.
//!
//! ```
//! assert_eq!(one_dependency::answer("Two tickets, please.").unwrap(), "That is 5000 cents.");
//! ```

use sommelier_runner::handoff::{Agent, Relay};
use sommelier_runner::runtime::tool::{CallContext, Failure};
use sommelier_runner::runtime::{ScriptedModel, Tool, script, tool_args};
use sommelier_runner::{Outcome, Runner};
use std::error::Error;

tool_args! {
    /// How many tickets of which kind.
    pub struct Tickets {
        /// How many.
        pub count: i64,
        /// The kind; day tickets when left out.
        pub r#type: Option<String> => ["day", "year"],
    }
}

/// What the till answers.
///
/// # Errors
/// None that this script brings about.
pub fn answer(order: &str) -> Result<String, Box<dyn Error>> {
    let price = Tool::new("price", "Prices tickets.", |tickets: Tickets, _: &CallContext<'_>| {
        let each = if tickets.r#type.as_deref() == Some("year") { 20_000 } else { 2500 };
        tickets.count.checked_mul(each).ok_or(Failure::new("too_many", "that many are not to be had"))
    });
    let till = Agent::new("till", "You sell tickets.").tools([price]);
    let relay = Relay::builder().agent(till).entry("till").build()?;
    let model = ScriptedModel::new()
        .turn("till", |_| script::call("tu_1", "price", r#"{"count":2}"#))
        .turn("till", |request| script::say(format!("That is {} cents.", script::last_result(request))));
    match Runner::new(model).run(&relay, order)? {
        Outcome::Ended(report) => Ok(report.answer().to_owned()),
        other => Err(format!("not ended: {other:?}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sommelier_runner::protocol::RawJson;
    use sommelier_runner::runtime::ToolArgs;

    /// The arguments are read and described without any other dependency, by the rules of every tool.
    #[test]
    fn arguments_need_no_other_dependency() {
        let read = |text: &str| RawJson::parse(text).unwrap().read::<Tickets>();
        let year = Tickets { count: 1, r#type: Some("year".to_owned()) };
        assert_eq!(read(r#"{"count":1,"type":"year"}"#).unwrap(), year);
        assert_eq!(read(r#"{"count":2}"#).unwrap(), Tickets { count: 2, r#type: None });
        let wrong = |text: &str| read(text).unwrap_err().to_string();
        assert!(wrong("7").contains("expected struct Tickets"), "{}", wrong("7"));
        assert!(
            wrong(r#"{"count":1,"admin":true}"#)
                .contains("unknown field `admin`, expected `count` or `type`")
        );
        assert!(wrong("{}").contains("missing field `count`"));
        assert!(Tickets::schema().get().contains(r#""type":{"type":"string","#));
        assert_eq!(answer("Two, please.").unwrap(), "That is 5000 cents.");
    }
}
