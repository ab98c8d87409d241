//! What is refused before anything runs, and what is not.
#![expect(clippy::unwrap_used, reason = "a test may stop at what cannot be")]

use sommelier_handoff::{Agent, AgentName, BuildError, BuildErrors, Delegate, Relay};
use sommelier_patterns::{FanOut, Finding, Pipeline, Question, Supervisor, Team, TeamError};

fn desk(name: &str) -> Delegate {
    Delegate::new(format!("ask_{name}"), Agent::new(name, ""))
}

fn fan_out(name: &str, parts: impl IntoIterator<Item = Delegate>) -> FanOut {
    parts.into_iter().fold(FanOut::new(name), |fan_out, part| fan_out.part(part, str::to_owned))
}

fn by_rule(name: &str) -> Supervisor {
    let decide = |words: &str| vec![Question::new("ask_billing", words)];
    Supervisor::by_rule(name, decide, |_, findings: &[Finding]| findings[0].words().to_owned())
}

fn name(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}

#[track_caller]
fn refused(team: Result<Team, TeamError>, error: TeamError, told: &str) {
    assert_eq!(team.unwrap_err(), error);
    assert_eq!(error.to_string(), told);
}

/// A pattern without anybody to ask could only answer with nothing.
#[test]
fn a_pattern_that_asks_nobody_is_refused() {
    refused(
        FanOut::new("desks").build(),
        TeamError::NoParts { name: "desks".to_owned() },
        "the fan-out desks has no parts; give it one at least with `part`",
    );
    refused(
        Pipeline::new("line").build(),
        TeamError::NoStages { name: "line".to_owned() },
        "the pipeline line has no stages; give it one at least with `stage`",
    );
}

/// Who asks everybody in one reply cannot have a delegate that waits for another: it would be refused each time. A
/// pipeline and a model can, and a team behind a tool is looked at like a single agent.
#[test]
fn who_asks_everybody_at_once_has_nobody_who_waits() {
    let waits = || desk("shipping").after("ask_billing");
    let error = |lead: &str| TeamError::AfterAtOnce {
        lead: lead.to_owned(),
        tool: "ask_shipping".to_owned(),
        after: "ask_billing".to_owned(),
    };
    refused(
        fan_out("desks", [desk("billing"), waits()]).build(),
        error("desks"),
        "ask_shipping is to be asked after ask_billing, but desks asks everybody at once; make them stages of a \
         pipeline, or leave `after` out",
    );
    let team = by_rule("supervisor").delegate(desk("billing")).delegate(waits()).build();
    assert_eq!(team.unwrap_err(), error("supervisor"));
    let shipping = fan_out("shipping", [desk("track")]).build().unwrap().behind("ask_shipping");
    let team = FanOut::new("desks")
        .part(desk("billing"), str::to_owned)
        .part(shipping.after("ask_billing"), str::to_owned)
        .build();
    assert_eq!(team.unwrap_err(), error("desks"));

    let own = |words: &str, _: &[Finding]| words.to_owned();
    assert!(Pipeline::new("line").stage(desk("billing"), own).stage(waits(), own).build().is_ok());
    let by_model = Supervisor::by_model(Agent::new("supervisor", ""));
    assert!(by_model.delegate(desk("billing")).delegate(waits()).build().is_ok());
}

/// A rule is found by its agent's name, so the name must be that agent's alone in the whole tree: of nested teams, of
/// the agents that hand over within a delegate, and of their delegates.
#[test]
fn the_name_of_a_rules_agent_is_its_own() {
    let inner = fan_out("lead", [desk("billing")]).build().unwrap();
    refused(
        Pipeline::new("lead").stage(inner.behind("ask_desks"), |words, _| words.to_owned()).build(),
        TeamError::TwoRules { name: name("lead") },
        "rules decide for two agents named lead; give each team of the tree a name of its own",
    );
    refused(
        fan_out("lead", [desk("lead")]).build(),
        TeamError::NamedLikeRule { name: name("lead") },
        "lead is decided for by a rule, and another agent of the tree has that name; give it another",
    );
    let like_lead = || TeamError::NamedLikeRule { name: name("lead") };
    // A team in which agents hand over.
    let relay = Relay::builder()
        .agent(Agent::new("clerk", ""))
        .agent(Agent::new("lead", ""))
        .entry("clerk")
        .route("clerk", "lead");
    let team = Delegate::team("ask_clerk", relay.build().unwrap());
    assert_eq!(fan_out("lead", [team]).build().unwrap_err(), like_lead());
    // A delegate of a delegate; a model's team that leads another.
    let by_model =
        || Supervisor::by_model(Agent::new("supervisor", "")).delegate(desk("lead")).build().unwrap();
    let team = Delegate::team("ask_desks", by_model().relay().clone());
    assert_eq!(fan_out("lead", [team]).build().unwrap_err(), like_lead());
    let team = by_rule("lead").delegate(desk("billing")).delegate(by_model().behind("ask_desks")).build();
    assert_eq!(team.unwrap_err(), like_lead());
    // The rule may be the inner one.
    let inner = fan_out("lead", [desk("billing")]).build().unwrap();
    let team = Supervisor::by_model(Agent::new("lead", "")).delegate(inner.behind("ask_desks")).build();
    assert_eq!(team.unwrap_err(), like_lead());
    // The same team behind two tools is two agents of one name, with one rule or not.
    let inner = fan_out("lead", [desk("billing")]).build().unwrap();
    let team = FanOut::new("outer")
        .part(inner.clone().behind("ask_one"), str::to_owned)
        .part(inner.behind("ask_other"), str::to_owned)
        .build();
    assert_eq!(team.unwrap_err(), TeamError::TwoRules { name: name("lead") });

    // Agents of models may have one name: who they are is told by the tree.
    assert!(fan_out("lead", [desk("billing")]).part(by_model_desk(), str::to_owned).build().is_ok());
}

fn by_model_desk() -> Delegate {
    Delegate::new("ask_again", Agent::new("billing", "Another one."))
}

/// What makes no relay is told as the relay's builder tells it.
#[test]
fn what_makes_no_relay_is_told() {
    let error = fan_out("desks", [desk("billing"), desk("billing")]).build().unwrap_err();
    let TeamError::Relay(BuildErrors(errors)) = &error else { unreachable!("{error}") };
    assert_eq!(errors.len(), 1, "{error}");
    assert_eq!(error.to_string(), "desks has two tools named ask_billing; names must differ");

    let inner = fan_out("inner", [desk("billing")]).build().unwrap();
    let middle = FanOut::new("middle").part(inner.behind("ask_inner"), str::to_owned).build().unwrap();
    let outer = || FanOut::new("outer").part(middle.clone().behind("ask_middle"), str::to_owned);
    let too_deep = BuildErrors(vec![BuildError::TooDeep { depth: 3, most: 2 }]);
    assert_eq!(outer().build().unwrap_err(), TeamError::Relay(too_deep));
    assert_eq!(outer().build_with(|relay| relay.max_depth(3)).unwrap().relay().depth(), 3);
}

/// A team that code leads may spend what it needs when each member spends all that it may, and not less than any other
/// relay; what its author sets goes before.
#[test]
fn a_budget_is_enough_for_all_members() {
    let parts = |count: usize| (0..count).map(|n| desk(&format!("desk_{n}")));
    let budget = |team: Team| team.relay().max_model_calls();
    let usual = Relay::builder().agent(Agent::new("alone", "")).entry("alone").build().unwrap();
    assert_eq!(usual.max_model_calls(), 50);
    assert_eq!(budget(fan_out("desks", parts(2)).build().unwrap()), 50);
    assert_eq!(budget(fan_out("desks", parts(12)).build().unwrap()), 50);
    assert_eq!(budget(fan_out("desks", parts(13)).build().unwrap()), 2 + 13 * 4);
    assert_eq!(budget(fan_out("desks", parts(60)).build().unwrap()), 2 + 60 * 4);
    let set = fan_out("desks", parts(60)).build_with(|relay| relay.max_model_calls(7)).unwrap();
    assert_eq!(budget(set.clone()), 7);

    let own = |words: &str, _: &[Finding]| words.to_owned();
    let line = Pipeline::new("line").stage(set.behind("ask_desks"), own).stage(desk("writer"), own);
    assert_eq!(budget(line.build().unwrap()), 50);
    let many = fan_out("desks", parts(60)).build().unwrap().behind("ask_desks");
    let line = Pipeline::new("line").stage(many, own).stage(desk("writer"), own);
    assert_eq!(budget(line.build().unwrap()), 3 + 242 + 4);
}
