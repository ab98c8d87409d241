//! What a relay's description may not be, told all at once before anything runs.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{agent, name, names, team, tool_name};
use sommelier_handoff::{
    Agent, Budget, BuildError, Conduct, Delegate, EntryPolicy, Field, FieldFault, Guards,
    HANDOFF_TO_SPECIALIST, HandoffPackage, Measure, NameFault, PackageError, PackagePolicy, Place, Relay,
    RelayBuilder, Route, Section, StartError, Transformed, Verdict, law,
};
use sommelier_protocol::{BlankText, RawJson, ToolDefinition};
use sommelier_runtime::tool::{CallContext, Found};
use sommelier_runtime::{AgentName, DefinitionError, Tool};
use std::collections::BTreeSet;

#[track_caller]
fn check(builder: RelayBuilder, expected: &[BuildError]) {
    assert_eq!(builder.build().unwrap_err().0, expected);
}

fn illegal(written: &str) -> BuildError {
    BuildError::Agent(DefinitionError::Name(AgentName::new(written).unwrap_err()))
}

fn on_route() -> Place {
    Place::Route { from: s("a"), to: s("b") }
}

/// a hands over to b on this route.
fn routed(set: impl Fn(Route) -> Route) -> RelayBuilder {
    Relay::builder().agent(agent("a")).agent(agent("b")).entry("a").route_with(set(Route::new("a", "b")))
}

/// a asks this delegate.
fn asking(set: impl Fn(Delegate) -> Delegate) -> RelayBuilder {
    Relay::builder().agent(agent("a")).entry("a").delegate("a", set(Delegate::new("ask", agent("b"))))
}

fn s(text: &str) -> String {
    text.to_owned()
}

#[test]
fn a_relay_wants_an_entry() {
    check(Relay::builder(), &[BuildError::NoEntry]);
    check(Relay::builder().agent(agent("a")), &[BuildError::NoEntry]);
    check(Relay::builder().agent(agent("a")).entry("b"), &[BuildError::UnknownEntry { name: s("b") }]);
    let two = Relay::builder().agent(agent("a")).agent(agent("b")).entry("a").entry("b").build().unwrap();
    assert_eq!(two.entry(), &name("a"));
}

/// C55, C53, R15: an illegal name is told when the relay is built, with the rule that it breaks; what people
/// read is the label, in any script.
#[test]
fn illegal_names_are_told_at_build() {
    let long = "x".repeat(70);
    for written in ["", &long, "9x", "user", "Policy_agent", "policy agent", "退款", "доставка", "حجز"]
    {
        check(Relay::builder().agent(agent(written)).entry(written), &[illegal(written)]);
    }
    assert_eq!(
        illegal("9x").to_string(),
        "\"9x\" is no agent name: a lower-case letter, then up to 63 of a-z, 0-9 and _"
    );
    assert_eq!(
        illegal("user").to_string(),
        "\"user\" is no agent name: a reserved word that means someone else"
    );
    let labels = [("refunds", "退款"), ("delivery", "доставка"), ("booking", "حجز")];
    let builder = labels
        .iter()
        .fold(Relay::builder(), |relay, (name, label)| relay.agent(agent(name).label(*label)).entry(*name));
    let relay = builder.build().unwrap();
    let found: Vec<(&str, &str)> =
        relay.agents().map(|agent| (agent.name().as_str(), agent.label())).collect();
    assert_eq!(found, [("booking", "حجز"), ("delivery", "доставка"), ("refunds", "退款")]);
}

/// C52: names that would fall together are told, both of them.
#[test]
fn names_that_fall_together_are_told() {
    let builder = Relay::builder()
        .agent(agent("FAQ agent"))
        .agent(agent("faq-agent"))
        .entry("FAQ agent")
        .entry("faq-agent");
    check(builder, &[illegal("FAQ agent"), illegal("faq-agent")]);
    let builder = Relay::builder().agent(agent("faq_agent")).agent(agent("faq_agent")).entry("faq_agent");
    check(builder, &[BuildError::DuplicateAgent { name: s("faq_agent") }]);
}

#[test]
fn routes_lead_from_an_agent_to_another() {
    check(team("a -> b").route("a", "a"), &[BuildError::SelfRoute { agent: s("a") }]);
    check(team("a -> b").route("a", "b"), &[BuildError::DuplicateRoute { from: s("a"), to: s("b") }]);
    let lost = |from: &str, to: &str, missing: &str| BuildError::RouteToNowhere {
        from: s(from),
        to: s(to),
        missing: s(missing),
    };
    check(team("a -> b").route("a", "c"), &[lost("a", "c", "c")]);
    check(team("a -> b").route("x", "y"), &[lost("x", "y", "x"), lost("x", "y", "y")]);
    assert_eq!(lost("x", "y", "x").to_string(), "the route x -> y begins at an agent that is not there");
    assert_eq!(lost("x", "y", "y").to_string(), "the route x -> y ends at an agent that is not there");
}

#[test]
fn an_agent_that_no_route_reaches_is_told() {
    check(team("a -> b, c -> b"), &[BuildError::Unreachable { agent: s("c") }]);
    assert!(team("a -> b, c -> b").entry("c").build().is_ok());
    assert!(team("a -> b, b -> c, c -> a").build().is_ok());
}

/// R18: what a route requires is looked for at build.
#[test]
fn a_receiver_without_a_required_tool_is_told() {
    let builder = Relay::builder().agent(agent("a")).agent(agent("b")).entry("a");
    let builder =
        builder.route_with(Route::new("a", "b").requires(["look", "search_docs"]).requires(["not a name"]));
    let missing = |tool: &str| BuildError::MissingTool { from: s("a"), to: s("b"), tool: s(tool) };
    check(builder.clone(), &[missing("search_docs"), missing("not a name")]);
    assert_eq!(
        missing("search_docs").to_string(),
        "the route a -> b requires the tool \"search_docs\", which b does not have"
    );
}

/// The package law: an edge may raise its caps up to it, and no further.
#[test]
fn a_cap_beyond_the_law_is_told() {
    let with = |policy: PackagePolicy| {
        Relay::builder()
            .agent(agent("a"))
            .agent(agent("b"))
            .entry("a")
            .route_with(Route::new("a", "b").policy(policy))
    };
    let mut policy = PackagePolicy::minimal().package_bytes(law::PACKAGE_BYTES);
    (policy.task_bytes, policy.context_keys, policy.depth) = (law::STRING_BYTES, law::KEYS, law::DEPTH);
    assert!(with(policy.clone()).build().is_ok());
    let beyond = |cap: &str| BuildError::BeyondLaw { place: on_route(), cap: s(cap) };
    policy = policy.package_bytes(law::PACKAGE_BYTES + 1);
    (policy.task_bytes, policy.context_keys, policy.depth) =
        (law::STRING_BYTES + 1, law::KEYS + 1, law::DEPTH + 1);
    check(
        with(policy),
        &[
            beyond("task_bytes 16385, at most 16384"),
            beyond("context_keys 257, at most 256"),
            beyond("package_bytes 65537, at most 65536"),
            beyond("depth 17, at most 16"),
        ],
    );
}

/// C59: what is reserved cannot be given twice, and building twice gives the same tools.
#[test]
fn the_pseudo_tool_is_given_once() {
    let names_of = |relay: &Relay| -> Vec<String> {
        relay.agents().flat_map(|agent| agent.definitions()).map(|tool| tool.name.to_string()).collect()
    };
    let builder = team("a -> b, b -> a");
    let (first, second) = (builder.clone().build().unwrap(), builder.build().unwrap());
    assert_eq!(
        names_of(&first),
        ["fail", HANDOFF_TO_SPECIALIST, "look", "fail", HANDOFF_TO_SPECIALIST, "look"]
    );
    assert_eq!(names_of(&first), names_of(&second));

    let twice = BuildError::Agent(DefinitionError::DuplicateTool {
        agent: name("a"),
        tool: tool_name(HANDOFF_TO_SPECIALIST),
    });
    let schema = RawJson::parse(r#"{"type":"object"}"#).unwrap();
    let wrapped = agent("a").reserve(ToolDefinition::new(tool_name(HANDOFF_TO_SPECIALIST), "Mine.", schema));
    check(
        Relay::builder().agent(wrapped).agent(agent("b")).entry("a").route("a", "b"),
        std::slice::from_ref(&twice),
    );
    let own = Tool::new(HANDOFF_TO_SPECIALIST, "Mine.", |_: harness::Nothing, _: &CallContext<'_>| {
        Ok::<_, sommelier_runtime::tool::Failure>(1)
    });
    let owner = agent("a").tools([own]);
    check(Relay::builder().agent(owner.clone()).agent(agent("b")).entry("a").route("a", "b"), &[twice]);
    let reserved = BuildError::ReservedTool { agent: s("a"), tool: s(HANDOFF_TO_SPECIALIST) };
    assert_eq!(
        reserved.to_string(),
        "a has a tool of its own named \"handoff_to_specialist\", a name that is kept"
    );
    check(Relay::builder().agent(owner).entry("a"), &[reserved]);
}

/// Everything that is wrong is told at once, in one order.
#[test]
fn all_errors_are_told_together() {
    let mut policy = PackagePolicy::minimal();
    policy.depth = 99;
    let builder = Relay::builder()
        .agent(agent("a"))
        .agent(agent("a"))
        .agent(agent("b"))
        .agent(Agent::new("Not a name", ""))
        .agent(agent("lonely"))
        .entry("a")
        .route("a", "a")
        .route("a", "gone")
        .route_with(Route::new("a", "b").requires(["search_docs"]).policy(policy));
    let errors = builder.build().unwrap_err();
    assert_eq!(
        errors.0,
        [
            illegal("Not a name"),
            BuildError::DuplicateAgent { name: s("a") },
            BuildError::SelfRoute { agent: s("a") },
            BuildError::RouteToNowhere { from: s("a"), to: s("gone"), missing: s("gone") },
            BuildError::Unreachable { agent: s("Not a name") },
            BuildError::Unreachable { agent: s("lonely") },
            BuildError::MissingTool { from: s("a"), to: s("b"), tool: s("search_docs") },
            BuildError::BeyondLaw { place: on_route(), cap: s("depth 99, at most 16") },
        ]
    );
    let told: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
    assert_eq!(errors.to_string(), told.join("; "));
}

#[test]
fn a_built_relay_says_what_it_is() {
    let relay = team("a -> b, b -> a").entry_policy(EntryPolicy::Entry).max_model_calls(7).build().unwrap();
    let routes: Vec<(&str, &str)> = relay.routes().map(|route| (route.from(), route.to())).collect();
    assert_eq!(routes, [("a", "b"), ("b", "a")]);
    assert_eq!(
        (relay.entry(), relay.entry_policy(), relay.max_model_calls()),
        (&name("a"), EntryPolicy::Entry, 7)
    );
    assert_eq!(relay.guards(), &Guards::default());
    assert!(relay.agent("c").is_none());
}

#[test]
fn a_conversation_begins_with_words_at_an_agent_that_is_there() {
    let relay = team("a -> b").build().unwrap();
    assert_eq!(relay.start("conv", " \n"), Err(BlankText));
    assert_eq!(relay.start_at("b", "conv", ""), Err(StartError::Blank(BlankText)));
    let unknown = StartError::UnknownAgent { name: s("c"), known: names(&["a", "b"]) };
    assert_eq!(relay.start_at("c", "conv", "hello"), Err(unknown));
    assert_eq!(relay.start_at("b", "conv", "hello").unwrap().run().active(), &name("b"));
}

/// What a route demands of a package is told to the model before it hands over, not after a refusal.
#[test]
fn the_model_is_told_what_a_route_demands() {
    let route = Route::new("booking_agent", "policy_agent").policy(PackagePolicy::strict());
    let relay = Relay::builder()
        .agent(Agent::new("booking_agent", ""))
        .agent(Agent::new("policy_agent", "").purpose("knows the rules"))
        .entry("booking_agent")
        .route_with(route)
        .build()
        .unwrap();
    let definition = &relay.agent("booking_agent").unwrap().definitions()[0];
    let description = definition.description.as_deref().unwrap();
    assert!(
        description.ends_with("Specialists: policy_agent: knows the rules (must have open_items)."),
        "{description}"
    );
}

/// What a delegate may not be is told when the relay is built, with whose it is and what would be right.
#[test]
fn what_a_delegate_may_not_be_is_told() {
    let ask = || Delegate::new("ask", agent("b"));
    let of = |delegates: Vec<Delegate>| {
        let relay = Relay::builder().agent(agent("a")).entry("a");
        delegates.into_iter().fold(relay, |relay, delegate| relay.delegate("a", delegate))
    };
    let pair = || team("b -> c").build().unwrap();
    let rule = "a lower-case letter, then up to 63 of a-z, 0-9 and _";
    let cases: Vec<(RelayBuilder, String)> = vec![
        (of(vec![]).delegate("nobody", ask()), s("the delegate ask is for nobody, which is not there")),
        (
            of(vec![Delegate::new(HANDOFF_TO_SPECIALIST, agent("b"))]),
            s("a has a tool of its own named \"handoff_to_specialist\", a name that is kept"),
        ),
        (
            of(vec![ask().max_model_calls(0)]),
            s("the delegate ask of a is given 0 model calls; it needs 1 at least"),
        ),
        (
            of(vec![Delegate::new("Ask B", agent("b"))]),
            s("\"Ask B\" is no tool name: 1 to 64 ASCII letters, digits, `_` or `-`"),
        ),
        (
            of(vec![Delegate::new("ask", agent("The B"))]),
            format!("the delegate ask of a: \"The B\" is no agent name: {rule}"),
        ),
        (
            of(vec![Delegate::team("ask", pair()).at("ghost")]),
            s("the delegate ask of a is to begin at ghost, which its team does not have"),
        ),
        (of(vec![ask().after("tell")]), s("the delegate ask of a waits for tell, which a does not have")),
        (
            // Another agent's delegate is none of its own.
            team("a -> d")
                .delegate("a", ask().after("tell"))
                .delegate("d", Delegate::new("tell", agent("c"))),
            s("the delegate ask of a waits for tell, which a does not have"),
        ),
        (of(vec![ask().after("ask")]), s("the delegate ask of a waits for itself")),
        (
            of(vec![ask().after("tell"), Delegate::new("tell", agent("c")).after("ask")]),
            s("the delegate ask of a waits for itself; the delegate tell of a waits for itself"),
        ),
        (of(vec![ask(), ask()]), s("a has two tools named ask; names must differ")),
        (of(vec![Delegate::new("look", agent("b"))]), s("a has two tools named look; names must differ")),
        (
            of(vec![ask().policy(PackagePolicy::minimal().package_bytes(law::PACKAGE_BYTES + 1))]),
            s(
                "the policy of the delegate ask of a is beyond the package law: package_bytes 65537, at most 65536",
            ),
        ),
        (of(vec![ask()]).max_depth(0), s("delegates are nested 1 deep, at most 0; `max_depth` sets it")),
        (
            of(vec![ask().max_model_calls(0).after("tell")]).delegate("nobody", ask()).entry("ghost"),
            s("the entry \"ghost\" is no agent of the relay; \
               the delegate ask of a is given 0 model calls; it needs 1 at least; \
               the delegate ask of a waits for tell, which a does not have; \
               the delegate ask is for nobody, which is not there"),
        ),
    ];
    for (builder, expected) in cases {
        assert_eq!(builder.build().unwrap_err().to_string(), expected);
    }
}

/// A field that no context could have is told with its route or its delegate, and no model is blamed for it.
#[test]
fn a_field_that_no_context_could_have_is_told() {
    let blank = || PackageError::Blank { field: s("value") };
    let value = |value: &str, error| FieldFault::Value { value: s(value), error };
    let hidden = PackageError::ForbiddenCharacter { path: s("value"), found: s("U+0007") };
    let none: [&str; 0] = [];
    let cases = [
        (vec![Field::text("", "")], vec![("", FieldFault::Name)]),
        (vec![Field::text("a b", "").optional()], vec![("a b", FieldFault::Name)]),
        (vec![Field::text("y", ""), Field::integer("y", "")], vec![("y", FieldFault::Twice)]),
        (vec![Field::one_of("y", "", none)], vec![("y", FieldFault::NoValues)]),
        (vec![Field::one_of("y", "", ["ok", " "])], vec![("y", value(" ", blank()))]),
        (vec![Field::one_of("y", "", ["a\u{7}"])], vec![("y", value("a\u{7}", hidden))]),
        (
            vec![Field::flag("9", ""), Field::text("z", ""), Field::one_of("z", "", none)],
            vec![("9", FieldFault::Name), ("z", FieldFault::Twice), ("z", FieldFault::NoValues)],
        ),
    ];
    for (fields, faults) in cases {
        let policy = fields.into_iter().fold(PackagePolicy::minimal(), PackagePolicy::field);
        let told = |place: Place| -> Vec<BuildError> {
            let faults = faults.clone().into_iter();
            faults
                .map(|(field, fault)| BuildError::Field { place: place.clone(), field: s(field), fault })
                .collect()
        };
        check(routed(|route| route.policy(policy.clone())), &told(on_route()));
        let ask = Place::Delegate { asker: s("a"), tool: s("ask") };
        check(asking(|ask| ask.policy(policy.clone())), &told(ask));
    }
    let twice = routed(|route| route.field(Field::text("y", "")).field(Field::text("y", "")));
    assert_eq!(twice.build().unwrap_err().to_string(), "the field \"y\" of the route a -> b is there twice");
}

/// Caps below what the same policy demands, the constraints of the house included, are told: no package could meet them.
/// One byte more, and one can.
#[test]
fn caps_below_what_is_demanded_are_told() {
    let unmeetable = |cap: &str, found, most| BuildError::Unmeetable {
        place: on_route(),
        error: PackageError::OverCap { cap: s(cap), found, most },
    };
    let bytes = |most| PackagePolicy::minimal().package_bytes(most);
    let small = |most| routed(move |route| route.policy(bytes(most).require(Section::OpenItems)));
    let least = r#"{"task":"x","context":{},"open_items":["x"]}"#.len();
    check(small(least - 1), &[unmeetable("bytes of the package", least, least - 1)]);
    check(small(0), &[unmeetable("bytes of the package", least, 0)]);
    let built = small(least).build().unwrap();
    let sample = built.routes().next().unwrap().package_policy().sample();
    assert_eq!((sample.bytes(), sample.validate(&bytes(least))), (least, vec![]));

    let bound = |most| routed(move |route| route.policy(bytes(most))).constraint("be short");
    let least = r#"{"task":"x","context":{},"constraints":["be short"]}"#.len();
    check(bound(least - 1), &[unmeetable("bytes of the package", least, least - 1)]);
    assert!(bound(least).build().is_ok());

    let fields = |count: u32| {
        let fields = (0..count).map(|place| Field::integer(format!("n{place}"), ""));
        let policy = fields.fold(PackagePolicy::minimal(), PackagePolicy::field);
        routed(move |route| route.policy(policy.clone()))
    };
    check(fields(17), &[unmeetable("values of the context", 17, 16)]);
    assert!(fields(16).build().is_ok());
    let flat = PackagePolicy { depth: 1, task_bytes: 0, ..PackagePolicy::minimal() };
    check(
        routed(|route| route.policy(flat.clone())),
        &[unmeetable("bytes of the task", 1, 0), unmeetable("depth of the package", 2, 1)],
    );
}

/// A question has a question, a context and what binds its asker: a section that no call could fill is told, unless a
/// transform may fill it.
#[test]
fn a_question_that_nobody_could_ask_is_told() {
    let lacks = |error| {
        let place = Place::Delegate { asker: s("a"), tool: s("ask") };
        BuildError::Unmeetable { place, error }
    };
    let strict = || asking(|ask| ask.policy(PackagePolicy::strict()));
    check(strict(), &[lacks(PackageError::Missing { field: s("open_items") })]);
    assert!(strict().transform("fills", |package| Ok(package.open_item("x"))).build().is_ok());
    assert!(asking(|ask| ask.policy(PackagePolicy::question().require(Section::Context))).build().is_ok());
    let tiny = PackagePolicy { task_bytes: 0, ..PackagePolicy::question() };
    let over = PackageError::OverCap { cap: s("bytes of the question"), found: 1, most: 0 };
    check(asking(|ask| ask.policy(tiny.clone())), &[lacks(over)]);
}

/// Guards and transforms are known by their names, in refusals and in the fingerprint: each has one, and of its own.
#[test]
fn guards_and_transforms_need_names_of_their_own() {
    let allow = |_: &HandoffPackage, _: &sommelier_handoff::Trail| Ok(Verdict::Allow);
    let keep = |package: HandoffPackage| -> Transformed { Ok(package) };
    let guard = |place, name: &str, fault| BuildError::Guard { place, name: s(name), fault };
    let transform = |place, name: &str, fault| BuildError::Transform { place, name: s(name), fault };
    let to_b = || Place::Receiver { agent: s("b") };
    let ask = || Place::Delegate { asker: s("a"), tool: s("ask") };
    let (blank, twice) = (NameFault::Blank, NameFault::Twice);
    let cases: Vec<(RelayBuilder, BuildError)> = vec![
        (routed(|route| route.guard("", allow)), guard(on_route(), "", blank)),
        (routed(|route| route.guard("x", allow).guard("x", allow)), guard(on_route(), "x", twice)),
        (routed(|route| route.guard("x", allow)).guard_of("b", "x", allow), guard(on_route(), "x", twice)),
        (team("a -> b").guard_of("b", " ", allow), guard(to_b(), " ", blank)),
        (team("a -> b").guard_of("b", "x", allow).guard_of("b", "x", allow), guard(to_b(), "x", twice)),
        (asking(|ask| ask.guard("\t", allow)), guard(ask(), "\t", blank)),
        (asking(|ask| ask.guard("x", allow).guard("x", allow)), guard(ask(), "x", twice)),
        (routed(|route| route.transform("", keep)), transform(on_route(), "", blank)),
        (routed(|route| route.transform("x", keep)).transform("x", keep), transform(on_route(), "x", twice)),
        (team("a -> b").transform(" ", keep), transform(Place::Relay, " ", blank)),
        (team("a -> b").transform("x", keep).transform("x", keep), transform(Place::Relay, "x", twice)),
    ];
    for (builder, error) in cases {
        check(builder, &[error]);
    }
    let same_elsewhere = team("a -> b, b -> a").guard_of("a", "x", allow).guard_of("b", "x", allow);
    assert!(same_elsewhere.transform("x", keep).build().is_ok());
    assert_eq!(
        guard(on_route(), "x", twice).to_string(),
        "a guard of the route a -> b is named \"x\", which another one there has too"
    );
}

/// A constraint binds somebody to something: one of white space would cross and bind nobody. Nor is there a check for one
/// that no package could hold.
#[test]
fn a_constraint_that_binds_nobody_is_told() {
    let error = PackageError::Blank { field: s("constraints.0") };
    let blank = BuildError::Constraint { text: s(" "), error };
    check(team("a -> b").constraint(" "), std::slice::from_ref(&blank));
    check(team("a -> b").constraint_check(" ", |_| Ok(Conduct::Keep)), &[blank]);
    assert!(team("a -> b").constraint_check_of("", |_| Ok(Conduct::Keep)).build().is_ok());
}

/// T66: a budget of nothing is told with its measure, of the relay as of a delegate.
#[test]
fn a_budget_of_nothing_is_told_with_its_measure() {
    let nothing = [
        (Budget::new(0), Measure::ModelCalls),
        (Budget::new(4).tokens(0), Measure::Tokens),
        (Budget::new(4).millis(0), Measure::Millis),
    ];
    for (budget, measure) in nothing {
        let ask = Place::Delegate { asker: s("a"), tool: s("ask") };
        check(asking(|ask| ask.budget(budget)), &[BuildError::NoAllowance { place: ask, measure }]);
        let place = Place::Relay;
        check(team("a -> b").budget(budget), &[BuildError::NoAllowance { place, measure }]);
    }
    let tokens = asking(|ask| ask.budget(Budget::new(4).tokens(0))).build().unwrap_err();
    assert_eq!(tokens.to_string(), "the delegate ask of a is given 0 tokens; it needs 1 at least");
    // Without tools and handoffs one can still answer.
    assert!(team("a -> b").budget(Budget::new(1).tool_calls(0).hops(0)).build().is_ok());
}

/// Delegates that no reply may ask are told; where there are none, nobody is hindered.
#[test]
fn delegates_that_no_reply_may_ask_are_told() {
    check(asking(|ask| ask).max_branches(0), &[BuildError::NoBranches]);
    assert!(team("a -> b").max_branches(0).build().is_ok());
}

/// What a tool declares of itself decides what becomes of a run after a crash, so a run that was saved under one declaration
/// is not driven under another. What cannot be is told with the rest.
#[test]
fn what_a_tool_declares_is_part_of_the_definition() {
    let print = |declares: fn(Tool) -> Tool| {
        let [look, ..] = harness::tools();
        let agent = Agent::new("a", "").tools([declares(look)]);
        Relay::builder().agent(agent).entry("a").build().map(|relay| relay.fingerprint())
    };
    let prints = [
        print(|tool| tool),
        print(|tool| tool.read_only()),
        print(|tool| tool.transactional()),
        print(|tool| tool.keyed(1)),
        print(|tool| tool.keyed(2)),
        print(|tool| tool.queried(1, |_| Found::Unknown)),
        print(|tool| tool.undoes("look", "word")),
        print(|tool| tool.business_key(["word"])),
        print(|tool| tool.secret(["word"])),
        print(|tool| tool.secret_result(["word"])),
        print(|tool| tool.secret_result(["a"])),
    ];
    let distinct: BTreeSet<u64> = prints.iter().map(|print| *print.as_ref().unwrap()).collect();
    assert_eq!(distinct.len(), prints.len());
    let error = print(|tool| tool.undoes("book", "word")).unwrap_err();
    assert_eq!(error.to_string(), r#"a's tool look undoes "book", which the agent does not have"#);
}
