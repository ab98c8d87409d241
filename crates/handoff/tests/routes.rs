//! Routes: the values that one asks for, guards of one's own, approval by a person, and the routes as a matrix and a chart.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    Session, agent, calls, errors, hands, name, pair_with, payer, read, ruling, says, script, team, to,
    tool_name,
};
use sommelier_handoff::{
    Answer, Asks, Delegate, Field, Guard, Guards, HANDOFF_TO_SPECIALIST, HandoffPackage, Hop, LoadError,
    OnRefusal, PackageError, PackagePolicy, Question, Refusal, Relay, RelayBuilder, Route, RunEnd, Section,
    Step, Verdict,
};
use std::fmt;

/// A handoff from booking to policy with this context.
fn with_context(context: &str) -> String {
    format!(r#"{{"specialist":"policy_agent","task":"What does a no-show cost?","context":{context}}}"#)
}

fn missing(field: &str) -> PackageError {
    PackageError::Missing { field: field.into() }
}

fn wrong_type(path: &str, expected: &str, found: &str) -> PackageError {
    PackageError::WrongType { path: path.into(), expected: expected.into(), found: found.into() }
}

/// The running case as a route asks for it.
fn quote() -> Relay {
    pair_with(|route| {
        route
            .field(Field::integer("quoted_cents", "what was quoted"))
            .field(Field::one_of("plan", "", ["basic", "pro", "team"]))
            .field(Field::text("customer", "who asks"))
            .field(Field::flag("is_member", "whether they pay by the month").optional())
    })
}

const GOOD: &str = r#"{"quoted_cents":6000,"plan":"pro","customer":"Ada"}"#;

/// C128, S1-33: an edge refuses a package at the path that is missing or wrong, each of them told at once; what may be left
/// out is checked when it is there.
#[test]
fn an_edge_refuses_at_the_path_that_is_wrong() {
    let relay = quote();
    assert_eq!(ruling(&relay, &with_context(GOOD)), None);
    let cases = [
        ("{}", vec![missing("context.quoted_cents"), missing("context.plan"), missing("context.customer")]),
        (r#"{"quoted_cents":6000,"customer":"Ada"}"#, vec![missing("context.plan")]),
        (
            r#"{"quoted_cents":"6000","plan":"gold","customer":" ","is_member":"yes"}"#,
            vec![
                wrong_type("context.quoted_cents", "a whole number", "a string"),
                PackageError::NotOneOf {
                    path: "context.plan".into(),
                    found: "gold".into(),
                    legal: "basic, pro, team".into(),
                },
                PackageError::Blank { field: "context.customer".into() },
                wrong_type("context.is_member", "a boolean", "a string"),
            ],
        ),
        (
            r#"{"quoted_cents":60.5,"plan":["pro"],"customer":{},"is_member":null}"#,
            vec![
                wrong_type("context.quoted_cents", "a whole number", "a number"),
                wrong_type("context.plan", "a string", "a list"),
                wrong_type("context.customer", "a string", "an object"),
                wrong_type("context.is_member", "a boolean", "null"),
            ],
        ),
    ];
    for (context, errors) in cases {
        let refusal = Refusal::InvalidPackage { errors };
        assert_eq!(ruling(&relay, &with_context(context)), Some(refusal), "{context}");
    }
    for context in [
        r#"{"quoted_cents":-9223372036854775808,"plan":"basic","customer":"Ada","is_member":false}"#,
        r#"{"quoted_cents":0,"plan":"team","customer":"Ada","is_member":true,"more":[1]}"#,
    ] {
        assert_eq!(ruling(&relay, &with_context(context)), None, "{context}");
    }
}

/// C128, R14: the sender's model is told what is missing, by path, keeps the turn, and mends it.
#[test]
fn the_sender_is_told_the_path_and_mends_it() {
    let relay = quote();
    let model = script([
        ("booking_agent", hands(with_context("{}"))),
        ("booking_agent", hands(with_context(GOOD))),
        ("policy_agent", says("6500 cents.")),
    ]);
    let session = Session::new(&relay, &model).say("Quote, and a no-show?").ends(RunEnd::Answered);
    assert_eq!(
        session.results("booking_agent", 0),
        [
            r#"tu_1_0!{"error":"invalid_package","detail":"the package is not valid: `context.quoted_cents` is missing, `context.plan` is missing, `context.customer` is missing"}"#
        ]
    );
    assert_eq!(
        session.trail(),
        ["booking_agent -> policy_agent: invalid_package", "booking_agent -> policy_agent: taken 1"]
    );
    let policy = PackagePolicy::minimal().field(Field::text("x", "")).field(Field::text("y", ""));
    assert_eq!(read(r#"{"task":"t","context":{"y":"1"}}"#).validate(&policy), [missing("context.x")]);
    assert_eq!(errors(r#"{"task":"t","context":{}}"#), []);
}

fn description(relay: &Relay, agent: &str, tool: &str) -> String {
    let definitions = relay.agent(agent).unwrap().definitions();
    let tool = definitions.iter().find(|definition| definition.name.as_str() == tool).unwrap();
    tool.description.clone().unwrap().to_string()
}

/// What an edge asks for, and a delegate, stands in the description that the model reads.
#[test]
fn fields_are_told_in_the_descriptions() {
    let told = "(in `context`: quoted_cents: a whole number, what was quoted; plan: one of basic, pro, team; \
                customer: a string, who asks; is_member: a boolean, whether they pay by the month, may be left out)";
    let description_of = description(&quote(), "booking_agent", HANDOFF_TO_SPECIALIST);
    let specialists = description_of.split_once("Specialists: ").unwrap().1;
    assert_eq!(specialists, format!("policy_agent {told}."));
    let policy = PackagePolicy::strict().field(Field::integer("cents", ""));
    let strict = pair_with(|route| route.policy(policy.clone()));
    let description_of = description(&strict, "booking_agent", HANDOFF_TO_SPECIALIST);
    let specialists = description_of.split_once("Specialists: ").unwrap().1;
    assert_eq!(specialists, "policy_agent (must have open_items) (in `context`: cents: a whole number).");

    let billing = Delegate::new("ask_billing", agent("billing"))
        .policy(PackagePolicy::question().field(Field::integer("cents", "")));
    let relay =
        Relay::builder().agent(agent("desk")).delegate("desk", billing).entry("desk").build().unwrap();
    let asked = description(&relay, "desk", "ask_billing");
    assert!(asked.ends_with("in one reply. (in `context`: cents: a whole number)"), "{asked}");
    let model = script([
        ("desk", calls([("ask_billing", r#"{"question":"Paid?","context":{"cents":"6"}}"#)])),
        ("desk", says("Never mind.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let told = session.results("desk", 0);
    assert!(told[0].contains("`context.cents` is a string, must be a whole number"), "{told:?}");
}

fn schema(relay: &Relay, agent: &str) -> String {
    let definitions = relay.agent(agent).unwrap().definitions();
    let tool = definitions.iter().find(|definition| definition.name.as_str() == HANDOFF_TO_SPECIALIST);
    tool.unwrap().input_schema.get().to_owned()
}

/// S1-21: what each receiver must be given, whichever it is, the schema requires too, so that a service that holds a model to
/// it gets no package without; what only one of them wants stays open.
#[test]
fn the_schema_requires_what_every_receiver_does() {
    let of = |policies: [PackagePolicy; 2]| {
        let [b, c] = policies;
        let builder =
            ["a", "b", "c"].into_iter().fold(Relay::builder(), |relay, name| relay.agent(agent(name)));
        let routes = [Route::new("a", "b").policy(b), Route::new("a", "c").policy(c)];
        let relay = routes.into_iter().fold(builder.entry("a"), RelayBuilder::route_with).build().unwrap();
        schema(&relay, "a")
    };
    let written = |context: &str, constraints: &str, open: &str, artifacts: &str, required: &str| {
        format!(
            concat!(
                r#"{{"type":"object","properties":{{"specialist":{{"type":"string","enum":["b","c"],"description":"Who takes over."}},"#,
                r#""task":{{"type":"string","description":"One specific question or order, complete in itself."}},"#,
                r#""context":{{"type":"object",{}"description":"The values needed for the task, by name."}},"#,
                r#""constraints":{{"type":"array","items":{{"type":"string"}},{}"description":"What binds whoever works on the task."}},"#,
                r#""completed_steps":{{"type":"array","items":{{"type":"string"}},"description":"What is done and not to be done again."}},"#,
                r#""open_items":{{"type":"array","items":{{"type":"string"}},{}"description":"What is still to be done."}},"#,
                r#""artifacts":{{"type":"object",{}"description":"Small results of the work so far, by name."}}}},"#,
                r#""required":["specialist","task","context"{}],"additionalProperties":false}}"#
            ),
            context, constraints, open, artifacts, required
        )
    };
    let minimal = PackagePolicy::minimal;
    let plain = written("", "", "", "", "");
    assert_eq!(of([minimal(), minimal()]), plain);
    assert_eq!(of([PackagePolicy::strict(), minimal()]), plain);
    let all = || {
        PackagePolicy::strict()
            .require(Section::Context)
            .require(Section::Constraints)
            .require(Section::Artifacts)
    };
    let least = r#""minProperties":1,"#;
    assert_eq!(
        of([all(), all().require(Section::CompletedSteps)]),
        written(
            least,
            r#""minItems":1,"#,
            r#""minItems":1,"#,
            least,
            r#","constraints","open_items","artifacts""#
        )
    );
    let plan = |about: &str| Field::one_of("plan", about, ["basic", "pro"]);
    let first =
        minimal().field(plan("")).field(Field::integer("cents", "a \"sum\"")).field(Field::text("x", ""));
    let second = minimal()
        .field(Field::integer("cents", "a \"sum\""))
        .field(Field::flag("paid", "").optional())
        .field(Field::flag("x", ""));
    let context = concat!(
        r#""properties":{"plan":{"type":"string","enum":["basic","pro"]},"cents":{"type":"integer","description":"a \"sum\""},"#,
        r#""x":{},"paid":{"type":"boolean"}},"required":["cents","x"],"#
    );
    assert_eq!(of([first, second]), written(context, "", "", "", ""));
    let text = minimal().field(Field::text("who", ""));
    let context = r#""properties":{"who":{"type":"string","minLength":1}},"required":["who"],"#;
    assert_eq!(of([text.clone(), text]), written(context, "", "", "", ""));
}

/// S1-21: a model that is not told would write the user's words itself, and be refused for it.
#[test]
fn that_code_adds_the_users_words_is_told() {
    let relay = pair_with(Route::with_user_words);
    let told = description(&relay, "booking_agent", HANDOFF_TO_SPECIALIST);
    let specialists = told.split_once("Specialists: ").unwrap().1;
    assert_eq!(specialists, "policy_agent (code adds the user's last words, so leave them out).");
}

/// C172: whether the turn comes back is told of each receiver, and nobody is told that it does not where it does.
#[test]
fn whether_the_turn_comes_back_is_told() {
    let of = |routes: [Route; 2]| {
        let builder =
            ["a", "b", "c"].into_iter().fold(Relay::builder(), |relay, name| relay.agent(agent(name)));
        let relay = routes.into_iter().fold(builder.entry("a"), RelayBuilder::route_with).build().unwrap();
        description(&relay, "a", HANDOFF_TO_SPECIALIST)
    };
    let (b, c) = (|| Route::new("a", "b"), || Route::new("a", "c"));
    let cases = [
        (of([b(), c()]), " Your turn ends with this call; the specialist answers the user. It", "b; c."),
        (
            of([b().returns(), c()]),
            " Your turn ends with this call, and the specialist answers the user. Where it says that the turn comes back, the \
             specialist's answer is the result of this call, and you answer the user. It",
            "b (the turn comes back); c.",
        ),
        (
            of([b().returns(), c().returns()]),
            " The turn comes back to you with the specialist's answer as the result of this call; you answer the user. It",
            "b (the turn comes back); c (the turn comes back).",
        ),
    ];
    for (description, what_follows, specialists) in cases {
        assert!(description.contains(what_follows), "{description}");
        assert_eq!(description.split_once("Specialists: ").unwrap().1, specialists);
    }
}

/// Changing what an edge asks for makes another definition.
#[test]
fn what_an_edge_asks_for_is_part_of_the_definition() {
    let print = |route: fn(Route) -> Route| pair_with(route).fingerprint();
    let prints = [
        print(|route| route),
        print(|route| route.field(Field::text("a", ""))),
        print(|route| route.field(Field::text("b", ""))),
        print(|route| route.field(Field::integer("a", ""))),
        print(|route| route.field(Field::text("a", "").optional())),
        print(|route| route.field(Field::one_of("a", "", ["x"]))),
        print(|route| route.field(Field::one_of("a", "", ["y"]))),
        print(|route| route.needs_approval()),
        print(|route| route.guard("a", |_, _| Ok(Verdict::Allow))),
        print(|route| route.guard("b", |_, _| Ok(Verdict::Allow))),
    ];
    let distinct: std::collections::BTreeSet<u64> = prints.into_iter().collect();
    assert_eq!(distinct.len(), prints.len());
}

/// An error with another behind it.
#[derive(Debug)]
struct Lost(fmt::Error);

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the list of debtors could not be read")
    }
}

impl std::error::Error for Lost {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// C22: what a guard of one's own says is kept as it is: a refusal in its words, an error with the errors behind it. It is
/// no error of the package, and the sender keeps the turn.
#[test]
fn a_guard_of_ones_own_refuses_or_fails() {
    let refuses = pair_with(|route| {
        route.guard("small_sums", |package, _| {
            let cents = package.context_value("cents").and_then(|cents| cents.as_i64()).unwrap_or(0);
            Ok(match cents {
                ..=10_000 => Verdict::Allow,
                _ => Verdict::Refuse { reason: format!("{cents} cents are too much") },
            })
        })
    });
    assert_eq!(ruling(&refuses, &with_context(r#"{"cents":10000}"#)), None);
    let (guard, policy) = ("small_sums".to_owned(), name("policy_agent"));
    let refusal = ruling(&refuses, &with_context(r#"{"cents":10001}"#)).unwrap();
    let reason = "10001 cents are too much".to_owned();
    assert_eq!(refusal, Refusal::GuardRefused { guard, to: policy.clone(), reason });
    assert_eq!(
        refusal.to_string(),
        "small_sums refuses the handoff to policy_agent: 10001 cents are too much"
    );

    let fails = pair_with(|route| {
        route.guard("debtors", |_, _| Err(Lost(fmt::Error).into())).guard("never_asked", |_, _| panic!())
    });
    let failed = |causes: &[&str]| Refusal::GuardFailed {
        guard: "debtors".into(),
        to: name("policy_agent"),
        causes: causes.iter().map(ToString::to_string).collect(),
    };
    let behind = fmt::Error.to_string();
    let refusal = ruling(&fails, &with_context("{}")).unwrap();
    assert_eq!(refusal, failed(&["the list of debtors could not be read", &behind]));
    assert_eq!((refusal.guard(), refusal.code()), (Guard::Own, "guard_failed"));
    let panics = pair_with(|route| route.guard("debtors", |_, _| panic!("broken")));
    assert_eq!(ruling(&panics, &with_context("{}")), Some(failed(&["it panicked"])));
}

/// Guards of one's own are asked in their order, after all others: a package that they see is valid, and they see the hops.
#[test]
fn own_guards_are_asked_after_all_others() {
    let relay = pair_with(|route| {
        route
            .policy(PackagePolicy::minimal().require(Section::OpenItems))
            .guard("first", |package, trail| {
                let (items, hops) = (package.open_items().len(), trail.hops().len());
                Ok(Verdict::Refuse { reason: format!("{items} open item(s), {hops} hop(s) before") })
            })
            .guard("second", |_, _| panic!("never asked"))
    });
    let invalid = Refusal::InvalidPackage { errors: vec![missing("open_items")] };
    assert_eq!(ruling(&relay, &with_context("{}")), Some(invalid));
    let good = r#"{"specialist":"policy_agent","task":"t","context":{},"open_items":["a","b"]}"#;
    let refused = Refusal::GuardRefused {
        guard: "first".into(),
        to: name("policy_agent"),
        reason: "2 open item(s), 0 hop(s) before".into(),
    };
    assert_eq!(ruling(&relay, good), Some(refused));
}

/// A handoff that was changed while it was saved passes the guards of one's own when it is loaded, too.
#[test]
fn a_saved_handoff_is_held_against_the_own_guards() {
    let relay = pair_with(|route| {
        route.guard("small_sums", |package, trail| {
            let cents = package.context_value("cents").and_then(|cents| cents.as_i64()).unwrap_or(0);
            assert_eq!(trail.hops().len(), 0, "hops before the reply");
            Ok(if cents > 10_000 { Verdict::Refuse { reason: "too much".into() } } else { Verdict::Allow })
        })
    });
    let both = calls([
        (HANDOFF_TO_SPECIALIST, with_context(r#"{"cents":20000}"#)),
        (HANDOFF_TO_SPECIALIST, with_context(r#"{"cents":10000}"#)),
    ]);
    let model = script([("booking_agent", both), ("policy_agent", says("Well."))]);
    let mut saved = String::new();
    let session = Session::new(&relay, &model).before_take(|step| {
        saved = step.save().unwrap();
        step
    });
    drop(session.say("hello").ends(RunEnd::Answered));
    assert!(relay.load(&saved).is_ok());
    let changed = saved.replace("10000", "10001");
    let why = "the handoff is not the one that its call asks for".to_owned();
    assert_eq!(relay.load(&changed), Err(LoadError::NotAStep(why)));
}

/// A desk that hands to a till, or to policy, when a person approves.
fn gated() -> RelayBuilder {
    Relay::builder()
        .agent(agent("desk"))
        .agent(payer("till"))
        .agent(agent("policy"))
        .entry("desk")
        .route_with(Route::new("desk", "till").needs_approval().requires(["pay"]))
        .route_with(Route::new("desk", "policy").needs_approval())
}

fn both() -> harness::Turn {
    calls([(HANDOFF_TO_SPECIALIST, to("till", "Pay.")), (HANDOFF_TO_SPECIALIST, to("policy", "Decide."))])
}

fn may_hand(id: &str, at: u64, call_id: &str, receiver: &str, task: &str) -> (String, Question) {
    let package = Box::new(read(&format!(r#"{{"task":"{task}","context":{{}}}}"#)));
    let asks = Asks::Handoff { call_id: call_id.into(), to: name(receiver), package };
    ("conv".to_owned(), Question { id: id.into(), from: name("desk"), at, asks })
}

/// S1-35: on an edge that needs approval a person sees the receiver and what would cross, and nothing has moved. Approved,
/// the handoff is taken.
#[test]
fn a_gated_edge_is_taken_when_a_person_approves() {
    let relay = gated().build().unwrap();
    let model = script([("desk", both()), ("till", says("Paid."))]);
    let session = Session::new(&relay, &model).say("Pay.");
    assert_eq!(session.questions(), [may_hand("conv/1/1/0", 1001, "tu_1_0", "till", "Pay.")]);
    let run = session.waiting().run();
    assert_eq!((run.active(), run.trail().count()), (&name("desk"), 0));
    let session = session.approve("conv/1/1/0").ends(RunEnd::Answered);
    assert_eq!(session.order(), "desk till");
    assert_eq!(session.trail(), ["desk -> policy: one_handoff_per_turn", "desk -> till: taken 1"]);
}

/// Rejected, the handoff has a refusal of its own, with the person's words, and the next that is fit is asked about. Where
/// none is left the sender goes on.
#[test]
fn a_gated_edge_is_refused_when_a_person_rejects() {
    let relay = gated().build().unwrap();
    let model = script([("desk", both()), ("policy", says("Decided.")), ("desk", says("Nobody, then."))]);
    let session = Session::new(&relay, &model).say("Pay.").reject("conv/1/1/0", "not today");
    assert_eq!(session.questions(), [may_hand("conv/1/1/1", 1002, "tu_1_1", "policy", "Decide.")]);
    let session = session.approve("conv/1/1/1").ends_leaving(RunEnd::Answered, &[("desk", 2)]);
    let refusal = Refusal::NotApproved { to: name("till"), reason: "not today".into() };
    assert_eq!((session.order(), session.refusals()), ("desk policy".to_owned(), vec![refusal.clone()]));
    assert_eq!(session.trail(), ["desk -> till: not_approved", "desk -> policy: taken 1"]);
    let told =
        r#"tu_1_0!{"error":"not_approved","detail":"a person did not allow the handoff to till: not today"}"#;
    assert_eq!(session.results("desk", 0)[0], told);

    let session = Session::new(&relay, &model).say("Pay.");
    let session = session.reject("conv/1/1/0", "not today").reject("conv/1/1/1", "nor this");
    let session = session.ends(RunEnd::Answered);
    let second = Refusal::NotApproved { to: name("policy"), reason: "nor this".into() };
    assert_eq!((session.order(), session.refusals()), ("desk desk".to_owned(), vec![refusal, second]));
    assert_eq!(session.done().answer().as_deref(), Some("Nobody, then."));
}

/// Readiness is asked again when the answer is there, and again when the handoff is taken: a receiver that has lost its
/// tool meanwhile gets nothing, and the next handoff of the reply is asked about.
#[test]
fn a_gated_edge_asks_for_readiness_again() {
    let relay = gated().build().unwrap();
    let off = |step: Step| step.switch_off(name("till"), tool_name("pay"));
    let model = script([("desk", both()), ("policy", says("Decided."))]);
    let session = Session::new(&relay, &model).say("Pay.");
    // While the person thinks.
    let step = off(session.waiting().clone()).answer(&relay, "conv/1/1/0", Answer::Approve, 1002).unwrap();
    let asked = |step: &Step| step.questions().into_iter().map(|(_, one)| one.clone()).collect::<Vec<_>>();
    assert_eq!(asked(&step), [may_hand("conv/1/1/1", 1002, "tu_1_1", "policy", "Decide.").1]);
    assert_eq!(relay.load(&step.save().unwrap()).unwrap(), step);
    let refusal = Refusal::TargetNotReady { to: name("till"), missing_tools: vec![tool_name("pay")] };
    assert_eq!(step.run().trail().refusals().collect::<Vec<_>>(), [&refusal]);

    // Between the answer and the taking.
    let session = session.before_take(off).approve("conv/1/1/0");
    assert_eq!(session.questions(), [may_hand("conv/1/1/1", 1003, "tu_1_1", "policy", "Decide.")]);
    let session = session.approve("conv/1/1/1").ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["desk -> till: target_not_ready", "desk -> policy: taken 1"]);
}

/// A handoff that waits for nobody, on an edge that needs approval, is none of ours; nor is one of another package than a
/// person has seen.
#[test]
fn a_saved_handoff_that_nobody_approved_is_refused() {
    let relay = gated().build().unwrap();
    let model = script([("desk", hands(to("till", "Pay 1."))), ("till", says("Paid."))]);
    let mut saved = String::new();
    let session = Session::new(&relay, &model).before_take(|step| {
        saved = step.save().unwrap();
        step
    });
    drop(session.say("Pay.").approve("conv/1/1/0").ends(RunEnd::Answered));
    assert!(relay.load(&saved).is_ok());
    let nobody = Err(LoadError::NotAStep("nobody has approved the handoff".to_owned()));
    let from = saved.find(r#","extra":"#).unwrap();
    let end = from + saved[from..].find(r#"}]}}"#).unwrap();
    let unasked = [&saved[..from], &saved[end + 3..]].concat();
    assert_eq!(relay.load(&unasked), nobody);
    // In the call and in what is taken, but not in what was approved.
    let (head, decision) = (&saved[..from], &saved[from..end]);
    let other =
        [&head.replace("Pay 1.", "Pay 2."), decision, &saved[end..].replace("Pay 1.", "Pay 2.")].concat();
    assert_eq!(relay.load(&other), nobody);
}

/// Booking, policy and pricing as the house has them, with something special on each edge.
fn house() -> Relay {
    Relay::builder()
        .agent(agent("booking_agent"))
        .agent(payer("policy_agent"))
        .agent(agent("pricing_agent"))
        .delegate("pricing_agent", Delegate::new("ask_ledger", agent("ledger")))
        .entry("booking_agent")
        .route_with(
            Route::new("booking_agent", "policy_agent")
                .field(Field::integer("quoted_cents", "what was quoted"))
                .requires(["pay"]),
        )
        .route_with(Route::new("booking_agent", "pricing_agent").guard("always", |_, _| Ok(Verdict::Allow)))
        .route_with(Route::new("pricing_agent", "booking_agent").needs_approval())
        .route("policy_agent", "booking_agent")
        .build()
        .unwrap()
}

/// R17: the routes of a relay as a matrix, with a letter for what is special, and as a chart.
#[test]
fn routes_are_shown_as_a_matrix_and_a_chart() {
    let relay = house();
    let matrix = "\
from \\ to      booking_agent  policy_agent  pricing_agent
booking_agent  .              tf            g
policy_agent   >              .             .
pricing_agent  a              .             .
> a route; r returns, a with approval, t required tools, f fields of the context, g guards of its own
";
    assert_eq!(relay.routes().to_string(), matrix);
    let chart = "\
flowchart LR
    booking_agent([booking_agent])
    policy_agent[policy_agent]
    pricing_agent[pricing_agent]
    booking_agent -- \"needs pay, with quoted_cents\" --> policy_agent
    booking_agent -- \"1 guard(s)\" --> pricing_agent
    policy_agent --> booking_agent
    pricing_agent -- \"approval\" --> booking_agent
    pricing_agent -. ask_ledger .-> pricing_agent_ask_ledger[[ask_ledger]]
";
    assert_eq!(relay.routes().mermaid(), chart);
    let alone = Relay::builder().agent(agent("a")).entry("a").build().unwrap();
    let none = "from \\ to  a\na          .\n> a route; r returns, a with approval, t required tools, f fields of the context, g guards of its own\n";
    assert_eq!((alone.routes().to_string().as_str(), alone.routes().count()), (none, 0));
}

/// R17, S3-28, S1-37: one run for each edge of a relay: what the matrix has is what can be taken, and nothing is left out. A
/// set of runs that leaves edges out is told which.
#[test]
fn each_edge_of_a_relay_can_be_taken() {
    let relay = house();
    let own = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    let all: Vec<(String, String)> = relay.routes().map(|route| own(route.from(), route.to())).collect();
    let edges = relay.routes().go_over(|route| match route.to() {
        "pricing_agent" => HandoffPackage::new("Go on.").context("quoted_cents", &6000).unwrap(),
        _ => route.package_policy().sample(),
    });
    let ends: Vec<(String, String)> =
        edges.iter().map(|edge| own(edge.from.as_str(), edge.to.as_str())).collect();
    assert_eq!(ends, all);
    for (n, edge) in edges.iter().enumerate() {
        assert!(edge.is_taken(), "{edge:?}");
        assert_eq!(relay.routes().untaken(edges[..n].iter().filter_map(|edge| edge.hop.as_ref())), all[n..]);
    }
    let hops: Vec<Hop> = edges.into_iter().filter_map(|edge| edge.hop).collect();
    assert_eq!(relay.routes().untaken(&hops), []);
    // What was refused was not taken.
    let model = script([("booking_agent", hands(to("policy_agent", "t"))), ("booking_agent", says("Well."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(relay.routes().untaken(session.run().trail().hops()), all);
    let small = team("a -> b, b -> c").build().unwrap();
    assert_eq!(small.routes().untaken(&hops), [own("a", "b"), own("b", "c")]);
}

/// S1-37, R3: an edge that refuses says at which guard and why, also where a refusal ends the run or goes to a person.
#[test]
fn an_edge_that_refuses_says_why() {
    let route = || Route::new("a", "b").field(Field::integer("cents", "the sum"));
    let after = |then: OnRefusal| {
        let guards = Guards::default().on_refusal(Guard::Package, then);
        let builder = Relay::builder().agent(agent("a")).agent(agent("b")).entry("a");
        builder.route_with(route()).guards(guards).build().unwrap()
    };
    for then in [OnRefusal::Tell, OnRefusal::Stop, OnRefusal::Escalate] {
        let relay = after(then);
        let edges = relay.routes().go_over(|_| HandoffPackage::new("t"));
        let errors = vec![PackageError::Missing { field: "context.cents".into() }];
        assert_eq!(edges[0].refusal(), Some(&Refusal::InvalidPackage { errors }), "{then:?}");
        assert_eq!(relay.routes().untaken(edges.iter().filter_map(|edge| edge.hop.as_ref())).len(), 1);
    }
}
