//! Who there is: the relay that hears the user, the delegates of its agents, and the teams behind those.

use sommelier_protocol::RawJson;
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Agent, Tool, tool_args};

use super::scenario::Scenario;
use crate::{Delegate, HandoffPackage, PackagePolicy, Relay, Route, Verdict};

pub(super) const DESK: &str = "front_desk";
pub(super) const BOOKING: &str = "booking_agent";
pub(super) const POLICY: &str = "policy_agent";
pub(super) const PRICING: &str = "pricing_agent";
const STOCK: &str = "stock_agent";
const PRICE: &str = "price_agent";
const LEAD: &str = "lead_agent";
const NIGHT: &str = "night_agent";
const HEAD: &str = "head_agent";
const CLERK: &str = "clerk_agent";

/// The agents of each relay; the first one is the entry.
const TEAMS: [&[&str]; 6] =
    [&[DESK, BOOKING, POLICY, PRICING], &[STOCK], &[PRICE], &[LEAD, NIGHT], &[HEAD], &[CLERK]];

/// All agents.
pub(super) const AGENTS: [&str; 10] =
    [DESK, BOOKING, POLICY, PRICING, STOCK, PRICE, LEAD, NIGHT, HEAD, CLERK];

/// Those that questions get to first.
pub(super) const ASKED: [&str; 4] = [STOCK, LEAD, HEAD, CLERK];

/// The tool that the route to the policy agent requires.
pub(super) const REQUIRED: &str = "search_docs";

/// The tool of each agent that needs approval.
pub(super) const GATED: &str = "pay";

/// What stands in every package, where the house has a constraint.
pub(super) const HOUSE: &str = "euros only";

/// What a route is like beside its policy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Way {
    /// The turn comes back on it.
    pub(super) returns: bool,
    /// A person has to approve.
    pub(super) is_gated: bool,
    /// It has a guard of the house's own.
    pub(super) is_guarded: bool,
}

/// The house's own guard, told the value `n` of the package and whether the newest handoff before was refused. An error
/// is one that cannot judge.
pub(super) fn house_rule(n: Option<i64>, was_refused: bool) -> Result<bool, ()> {
    match n {
        Some(2) => Ok(false),
        Some(3) => Err(()),
        Some(1) => Ok(!was_refused),
        _ => Ok(true),
    }
}

/// A way to and fro and a cycle of three; and a way to and fro in a team.
pub(super) const ROUTES: [(&str, &str); 7] = [
    (DESK, BOOKING),
    (BOOKING, DESK),
    (BOOKING, POLICY),
    (POLICY, PRICING),
    (PRICING, BOOKING),
    (LEAD, NIGHT),
    (NIGHT, LEAD),
];

/// Whom an agent may ask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Deputy {
    pub(super) asker: &'static str,
    pub(super) tool: &'static str,
    /// The agent that is asked.
    pub(super) entry: &'static str,
    pub(super) max_model_calls: u32,
    pub(super) after: Option<&'static str>,
}

const fn deputy(
    asker: &'static str,
    tool: &'static str,
    entry: &'static str,
    max_model_calls: u32,
    after: Option<&'static str>,
) -> Deputy {
    Deputy { asker, tool, entry, max_model_calls, after }
}

/// Two single agents, one of which waits for the other; a team that hands over in itself; one that asks in turn.
pub(super) const DEPUTIES: [Deputy; 7] = [
    deputy(DESK, "ask_stock", STOCK, 3, None),
    deputy(DESK, "ask_price", PRICE, 2, Some("ask_stock")),
    deputy(DESK, "ask_team", LEAD, 4, None),
    deputy(DESK, "ask_head", HEAD, 6, None),
    deputy(BOOKING, "ask_team", LEAD, 3, None),
    deputy(BOOKING, "ask_stock", STOCK, 1, None),
    deputy(HEAD, "ask_clerk", CLERK, 2, None),
];

/// Those whom `asker` may ask.
pub(super) fn deputies(asker: &str) -> Vec<Deputy> {
    DEPUTIES.into_iter().filter(|deputy| deputy.asker == asker).collect()
}

/// The legal receivers of `from`.
pub(super) fn receivers(from: &str) -> Vec<&'static str> {
    ROUTES.iter().filter(|(sender, _)| *sender == from).map(|(_, to)| *to).collect()
}

/// The agents of the relay that `agent` is in.
pub(super) fn mates(agent: &str) -> &'static [&'static str] {
    TEAMS.into_iter().find(|team| team.contains(&agent)).unwrap()
}

/// Who writes, and in which run of the tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Voice<'a> {
    pub(super) agent: &'a str,
    pub(super) path: &'a str,
}

impl Voice<'_> {
    /// Stands in everything that the agent's model writes in this run, but in what it says, in the packages that it
    /// hands over and in the questions that it asks.
    pub(super) fn secret(self) -> String {
        format!("secret_of_{}", self.mark())
    }

    /// Stands in what it says. Of a branch, this may come back to the agent that asked.
    pub(super) fn saying(self) -> String {
        format!("said_by_{}", self.mark())
    }

    fn mark(self) -> String {
        format!("{}@{};", self.agent, self.path)
    }
}

/// The agent and the run of each secret or saying in a text.
pub(super) fn marks<'a>(text: &'a str, before: &'static str) -> impl Iterator<Item = (&'a str, &'a str)> {
    text.split(before).skip(1).filter_map(|rest| {
        let (mark, _) = rest.split_once(';')?;
        let (agent, path) = mark.split_once('@')?;
        // One that was cut short in a quotation goes on with other text.
        let is_path = path.bytes().all(|byte| byte.is_ascii_digit() || b"c/".contains(&byte));
        (is_path && AGENTS.contains(&agent)).then_some((agent, path))
    })
}

tool_args! {
    /// A text.
    pub(super) struct Echo {
        /// What is to be said back.
        pub(super) text: String,
    }
}

impl Scenario {
    /// What the route is like beside its policy.
    pub(super) fn way(&self, from: &str, to: &str) -> Way {
        let place = ROUTES.iter().position(|ends| *ends == (from, to));
        place.and_then(|place| self.ways.get(place)).copied().unwrap_or_default()
    }

    pub(super) fn may_ask_human(&self, agent: &str) -> bool {
        let place = AGENTS.iter().position(|name| *name == agent);
        place.and_then(|place| self.may_ask.get(place)).copied().unwrap_or_default()
    }

    /// The relay that hears the user.
    pub(super) fn relay(&self) -> Relay {
        self.relay_of(DESK)
    }

    fn relay_of(&self, entry: &'static str) -> Relay {
        let team = mates(entry);
        let builder = Relay::builder()
            .entry(entry)
            .entry_policy(self.entry_policy)
            .guards(self.guards.clone())
            .max_model_calls(self.max_model_calls);
        let builder = team.iter().fold(builder, |builder, name| builder.agent(self.agent(name)));
        let routes = ROUTES.into_iter().filter(|(from, _)| team.contains(from));
        let builder = routes.fold(builder, |builder, (from, to)| builder.route_with(self.route(from, to)));
        let deputies = DEPUTIES.into_iter().filter(|deputy| team.contains(&deputy.asker));
        let builder =
            deputies.fold(builder, |builder, deputy| builder.delegate(deputy.asker, self.delegate(deputy)));
        let askers = team.iter().filter(|name| self.may_ask_human(name));
        let builder = askers.fold(builder, |builder, name| builder.may_ask_human(*name));
        let builder = if self.binds { builder.constraint(HOUSE) } else { builder };
        builder.build().unwrap()
    }

    fn route(&self, from: &str, to: &str) -> Route {
        let route = match (from, to) {
            (DESK, BOOKING) => Route::new(from, to).with_user_words(),
            (BOOKING, POLICY) => Route::new(from, to).requires([REQUIRED]),
            (POLICY, PRICING) => Route::new(from, to).policy(PackagePolicy::strict()),
            _ => Route::new(from, to),
        };
        let way = self.way(from, to);
        let route = if way.returns { route.returns() } else { route };
        let route = if way.is_gated { route.needs_approval() } else { route };
        if !way.is_guarded {
            return route;
        }
        route.guard("house_rule", |package, trail| {
            let n = package.context_value("n").and_then(|n| n.as_i64());
            let was_refused = trail.hops().last().is_some_and(|hop| !hop.outcome.is_taken());
            match house_rule(n, was_refused) {
                Ok(true) => Ok(Verdict::Allow),
                Ok(false) => Ok(Verdict::Refuse { reason: "not in this house".to_owned() }),
                Err(()) => Err("the rule book is lost".into()),
            }
        })
    }

    fn agent(&self, name: &str) -> Agent {
        let echo = |echo: Echo, _: &CallContext<'_>| Ok::<_, Failure>(echo.text);
        let fail = |_: Echo, context: &CallContext<'_>| {
            // The key of a call is its run's path, then message, model call and place.
            let path = context.idempotency_key.rsplitn(4, '/').last().unwrap();
            Err::<(), _>(Failure::new("failed", Voice { agent: context.agent.as_str(), path }.secret()))
        };
        let gated = Tool::new(GATED, "Pays.", echo).needs_approval();
        let mut tools =
            vec![Tool::new("echo", "Says it back.", echo), Tool::new("fail", "Fails.", fail), gated];
        if name == POLICY {
            tools.push(Tool::new(REQUIRED, "Searches.", echo));
        }
        Agent::new(name, format!("You are {name}.")).tools(tools).limits(self.limits)
    }

    fn delegate(&self, deputy: Deputy) -> Delegate {
        let Deputy { tool, entry, max_model_calls, after, .. } = deputy;
        let is_alone = mates(entry).len() == 1 && deputies(entry).is_empty() && !self.may_ask_human(entry);
        let delegate = match is_alone {
            true => Delegate::new(tool, self.agent(entry)),
            false => Delegate::team(tool, self.relay_of(entry)),
        };
        after.into_iter().fold(delegate.max_model_calls(max_model_calls), Delegate::after)
    }
}

/// A question as the model writes it, and whom it asks: one of its delegates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) whom: usize,
    pub(super) question: Question,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Question {
    Fine(u8),
    WithContext(u8),
    Missing,
    Blank,
    Long,
    /// A message among the values.
    Message,
    /// Messages as the text of the question.
    QuotedMessage,
    OddMember,
    ForbiddenCharacter,
    BrokenJson,
    List,
    Huge,
}

impl Ask {
    /// Whom `asker` asks; none when it has no delegates.
    pub(super) fn deputy(self, asker: &str) -> Option<Deputy> {
        let deputies = deputies(asker);
        deputies.get(self.whom % deputies.len().max(1)).copied()
    }

    /// The tool that is called; one that the agent does not have when it has no delegates.
    pub(super) fn tool(self, asker: &str) -> &'static str {
        self.deputy(asker).map_or("ask_clerk", |deputy| deputy.tool)
    }
}

impl Question {
    pub(super) fn written(self, secret: &str, huge: usize) -> String {
        let message = format!(r#"{{"role":"user","content":"{secret}"}}"#);
        match self {
            Self::Fine(n) => format!(r#"{{"question":"what of {n}?"}}"#),
            Self::WithContext(n) => format!(r#"{{"context":{{"n":{n}}},"question":"what of {n}?"}}"#),
            Self::Missing => r#"{"context":{}}"#.to_owned(),
            Self::Blank => r#"{"question":" "}"#.to_owned(),
            Self::Long => format!(r#"{{"question":"{}"}}"#, "x".repeat(4097)),
            Self::Message => format!(r#"{{"question":"what?","context":{{"messages":[{message}]}}}}"#),
            Self::QuotedMessage => {
                format!(r#"{{"question":{}}}"#, RawJson::string(&format!("[{message}]")))
            }
            Self::OddMember => format!(r#"{{"question":"what?","history":"{secret}"}}"#),
            Self::ForbiddenCharacter => r#"{"question":"turn \u202e around"}"#.to_owned(),
            Self::BrokenJson => format!(r#"{{"question":"{secret}"#),
            Self::List => r#"["what?"]"#.to_owned(),
            Self::Huge => format!(r#"{{"question":"{}"}}"#, "x".repeat(huge)),
        }
    }

    /// What crosses, when the question is one.
    pub(super) fn package(self) -> Option<HandoffPackage> {
        match self {
            Self::Fine(n) => Some(HandoffPackage::new(format!("what of {n}?"))),
            Self::WithContext(n) => {
                Some(HandoffPackage::new(format!("what of {n}?")).context("n", &n).unwrap())
            }
            _ => None,
        }
    }
}
