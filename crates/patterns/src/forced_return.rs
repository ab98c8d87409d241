//! The way back to a supervisor at every limit.

use sommelier_handoff::{Agent, Relay, RelayBuilder};

/// A relay in which no specialist may hand over to another: whoever meets a limit gives the turn back to the
/// supervisor, and the supervisor decides who is next. The entry is `entry`, one of the specialists or the supervisor.
///
/// It is what a direct handoff is compared with. Each limit costs two hops and a model call of the supervisor, and the
/// answer goes through the supervisor too.
///
/// ```
/// use sommelier_handoff::Agent;
/// use sommelier_patterns::forced_return;
///
/// let relay = forced_return(
///     Agent::new("supervisor", "You decide who is next."),
///     [Agent::new("booking_agent", "You quote."), Agent::new("policy_agent", "You know the rules.")],
///     "booking_agent",
/// )
/// .build()?;
/// let routes: Vec<String> = relay.routes().map(|route| format!("{} -> {}", route.from(), route.to())).collect();
/// assert_eq!(
///     routes,
///     [
///         "booking_agent -> supervisor",
///         "policy_agent -> supervisor",
///         "supervisor -> booking_agent",
///         "supervisor -> policy_agent",
///     ],
/// );
/// # Ok::<(), sommelier_handoff::BuildErrors>(())
/// ```
pub fn forced_return(
    supervisor: Agent,
    specialists: impl IntoIterator<Item = Agent>,
    entry: &str,
) -> RelayBuilder {
    let hub = supervisor.name().to_owned();
    let relay = Relay::builder().agent(supervisor).entry(entry);
    specialists.into_iter().fold(relay, |relay, specialist| {
        let name = specialist.name().to_owned();
        relay.agent(specialist).route(&*name, &*hub).route(&*hub, &*name)
    })
}
