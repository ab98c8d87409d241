//! Saving a tree: what is loaded of branches and of the record of them could have been made here.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Session, agent, calls, desk, looks, question, relay, says, script, to};
use sommelier_handoff::{
    Answer, Budget, Delegate, HANDOFF_TO_SPECIALIST, LoadError, PackagePolicy, Relay, RelayBuilder, Route,
    RunEnd, Step,
};

/// A supervisor that asks billing, and a team whose clerk asks a leaf and hands over to an expert; it may hand over to
/// policy itself.
fn tree() -> Relay {
    let team = harness::team("clerk -> expert").delegate("clerk", Delegate::new("ask_leaf", agent("leaf")));
    desk()
        .delegate("supervisor", Delegate::team("ask_team", team.build().unwrap()).max_model_calls(9))
        .agent(agent("policy"))
        .route("supervisor", "policy")
        .build()
        .unwrap()
}

/// The steps of a run with two branches side by side, one of which asks a delegate of its own and hands over, and a
/// handoff beside them; a question before it was refused.
fn steps(relay: &Relay) -> Vec<Step> {
    let model = script([
        ("supervisor", calls([("ask_billing", "{}")])),
        (
            "supervisor",
            calls([
                ("ask_billing", question("Was INV-311 paid?")),
                (HANDOFF_TO_SPECIALIST, to("policy", "Decide.")),
                ("ask_team", question("Well?")),
            ]),
        ),
        ("billing", looks("INV-311")),
        ("billing", says("Twice.")),
        ("clerk", calls([("ask_leaf", question("Leaf?"))])),
        ("leaf", looks("LEAF")),
        ("leaf", says("Leaf it is.")),
        ("clerk", calls([(HANDOFF_TO_SPECIALIST, to("expert", "Explain."))])),
        ("expert", says("Well.")),
        ("policy", says("Refund it.")),
    ]);
    let mut steps = Vec::new();
    // The last of the open steps goes on first, so that both branches are open together for long.
    let session = Session::new(relay, &model).pick(|open| open - 1).at_each_step(|step| {
        steps.push(step.clone());
        step
    });
    let session = session.say("INV-311?").ends(RunEnd::Answered);
    assert_eq!(session.order(), "supervisor supervisor clerk leaf leaf clerk expert billing billing policy");
    drop(session);
    steps
}

fn kind(step: &Step) -> &'static str {
    match step {
        Step::CallModel(_) => "model",
        Step::CallTools(_) => "tools",
        Step::AskHuman(_) => "human",
        Step::Delegate(_) => "delegate",
        Step::HandOff(_) => "handoff",
        Step::Done(_) => "done",
    }
}

/// The kinds of step from the root to the open steps of a tree.
fn shape(step: &Step) -> String {
    let Step::Delegate(delegation) = step else { return kind(step).to_owned() };
    let branches: Vec<String> = delegation.branches().iter().map(|branch| shape(branch.step())).collect();
    format!("({})", branches.join(" "))
}

/// Each step of a run with branches in branches is saved, loaded, and goes on equally: it is the same value, and the same
/// text.
#[test]
fn every_step_of_a_tree_goes_on_equally_from_json() {
    let relay = tree();
    let steps = steps(&relay);
    let shapes: Vec<String> = steps.iter().map(shape).collect();
    assert_eq!(
        shapes,
        [
            "model",
            "model",
            "(model model)",
            "(model (model))",
            "(model (tools))",
            "(model (model))",
            "(model (done))",
            "(model model)",
            "(model handoff)",
            "(model model)",
            "(model done)",
            "(tools done)",
            "(model done)",
            "(done done)",
            "handoff",
            "model",
            "done",
        ]
    );
    for step in &steps {
        let saved = step.save().unwrap();
        let loaded = relay.load(&saved).unwrap();
        assert_eq!((&loaded, &loaded.save().unwrap()), (step, &saved));
        let mut shrunk = step.clone();
        shrunk.shrink();
        assert_eq!(&shrunk, step);
        assert_eq!(relay.load(&shrunk.save().unwrap()).unwrap(), *step);
    }
}

/// A tree is loaded under its own definition, that of its delegates included.
#[test]
fn a_tree_loads_under_its_own_definition_alone() {
    let base = |delegate: Delegate| {
        Relay::builder().agent(agent("supervisor")).delegate("supervisor", delegate).entry("supervisor")
    };
    let of = |agent| Delegate::new("ask_billing", agent);
    let ours = base(of(agent("billing"))).build().unwrap();
    let saved = ours.start("conv", "hello").unwrap().save().unwrap();
    assert_eq!(base(of(agent("billing"))).build().unwrap().load(&saved).unwrap().save().unwrap(), saved);
    let second = || Delegate::new("ask_shipping", agent("shipping"));
    let with_second = |then: fn(Delegate) -> Delegate| {
        base(of(agent("billing"))).delegate("supervisor", then(second())).build().unwrap().fingerprint()
    };
    assert_ne!(with_second(|second| second), with_second(|second| second.after("ask_billing")));
    let others: Vec<RelayBuilder> = vec![
        Relay::builder().agent(agent("supervisor")).entry("supervisor"),
        base(Delegate::new("ask_money", agent("billing"))),
        base(of(agent("billing").max_steps(3))),
        base(of(sommelier_handoff::Agent::new("billing", "Other orders.").tools(harness::tools()))),
        base(of(agent("billing")).purpose("Knows the invoices.")),
        base(of(agent("billing")).max_model_calls(5)),
        base(of(agent("billing")).budget(Budget::new(4).tool_calls(4))),
        base(of(agent("billing")).budget(Budget::new(4).tokens(4))),
        base(of(agent("billing")).budget(Budget::new(4).hops(4))),
        base(of(agent("billing")).budget(Budget::new(4).millis(4))),
        base(of(agent("billing")).policy(PackagePolicy::minimal().package_bytes(100))),
        base(Delegate::team("ask_billing", relay("billing -> shipping"))),
        base(Delegate::team("ask_billing", relay("billing -> shipping")).at("shipping")),
        base(of(agent("billing"))).delegate("supervisor", second()),
        base(of(agent("billing"))).on_failed_branch(sommelier_handoff::OnFailedBranch::CallOff),
    ];
    for (n, other) in others.into_iter().enumerate() {
        let other = other.build().unwrap();
        let error = LoadError::OtherDefinition { saved: ours.fingerprint(), ours: other.fingerprint() };
        assert_eq!(other.load(&saved), Err(error), "definition {n}");
    }
}

#[track_caller]
fn check_text(relay: &Relay, saved: &str, change: (&str, &str), expected: &str) {
    assert!(saved.contains(change.0), "{} is not in {saved}", change.0);
    let loaded = relay.load(&saved.replacen(change.0, change.1, 1));
    let changed = difference(change.0, change.1);
    match loaded {
        Err(LoadError::NotAStep(found)) => assert!(found.starts_with(expected), "{changed}: {found}"),
        Err(other) => panic!("{changed}: {other}"),
        Ok(_) => panic!("{changed} was loaded"),
    }
}

/// Where a text begins to be another, for reading.
fn difference(from: &str, to: &str) -> String {
    let same = from.bytes().zip(to.bytes()).take_while(|(a, b)| a == b).count().saturating_sub(20);
    let part = |text: &str| text.chars().skip(same).take(60).collect::<String>();
    format!("{} -> {}", part(from), part(to))
}

/// The text of a saved value from the member `name` on, up to where its brackets close.
#[track_caller]
fn member<'a>(saved: &'a str, name: &str) -> &'a str {
    let from = saved.find(&format!("\"{name}\":")).unwrap() + name.len() + 3;
    value(&saved[from..])
}

/// The object or list that a text begins with.
fn value(text: &str) -> &str {
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '{' | '[' if !in_string => depth += 1,
            '}' | ']' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return &text[..=at];
                }
            }
            _ => {}
        }
    }
    text
}

/// The items of a list.
fn items(list: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let mut rest = &list[1..];
    while rest.starts_with('{') {
        let item = value(rest);
        items.push(item);
        rest = rest[item.len()..].trim_start_matches(',');
    }
    items
}

/// An open branch that was changed while it was saved is refused, and it is said why: whom it was asked by, what, under
/// which name, and what it was given follow from the call and from the run that asked.
#[test]
fn tampered_branches_are_refused() {
    let relay = tree();
    let steps = steps(&relay);
    let saved = steps[5].save().unwrap();
    assert_eq!(shape(&steps[5]), "(model (model))");
    let branches = member(&saved, "branches");
    let own = items(branches);
    let [first, second] = own[..] else { panic!("two branches, not {}", own.len()) };
    let in_first = |from: &str, to: &str, expected: &str| {
        assert!(first.contains(from), "{from} is not in {first}");
        check_text(&relay, &saved, (first, &first.replacen(from, to, 1)), expected);
    };
    let in_second = |from: &str, to: &str, expected: &str| {
        assert!(second.contains(from), "{from} is not in {second}");
        check_text(&relay, &saved, (second, &second.replacen(from, to, 1)), expected);
    };
    let not_asked = "a branch is not the one that its call asks for";
    in_first(r#""id":"conv/1/2/0""#, r#""id":"conv/1/2/1""#, not_asked);
    in_first(r#""id":"conv/1/2/0""#, r#""id":"conv/1/3/0""#, not_asked);
    in_first(
        r#""id":"conv/1/2/0""#,
        r#""id":"conv/1/1/0""#,
        "a delegation that is open is on record as ended",
    );
    in_first(r#""from":"supervisor""#, r#""from":"policy""#, not_asked);
    in_first(r#""call_id":"tu_2_0""#, r#""call_id":"tu_2_2""#, not_asked);
    in_first(r#"{"task":"Was INV-311 paid?""#, r#"{"task":"Pay it twice.""#, not_asked);
    in_first(r#""context":{}}"#, r#""context":{"admin":true}}"#, not_asked);
    in_first(r#""tool":"ask_billing""#, r#""tool":"ask_team""#, not_asked);
    in_first(r#""tool":"ask_billing""#, r#""tool":"ask_nobody""#, "a branch has no call that opened it");
    in_first(r#""place":0"#, r#""place":1"#, "the branches are not those that the calls open");
    in_first(r#""place":0"#, r#""place":7"#, "the branches are not those that the calls open");

    let own_run = "a branch holds another run than its own";
    in_first(r#""conversation":"conv/1/2/0""#, r#""conversation":"conv/1/2/2""#, own_run);
    let team = relay.delegate("supervisor", "ask_team").unwrap().fingerprint().to_string();
    let billing = relay.delegate("supervisor", "ask_billing").unwrap().fingerprint().to_string();
    in_first(&billing, &team, own_run);
    in_second(&team, &relay.fingerprint().to_string(), own_run);
    let counts = "the counts do not add up";
    in_first(r#""allowance":4,"left":4"#, r#""allowance":5,"left":5"#, counts);
    in_first(r#""allowance":4,"left":4"#, r#""allowance":0,"left":0"#, counts);
    in_first(r#""allowance":4,"left":4"#, r#""allowance":4,"left":5"#, counts);
    in_first(r#""allowance":4,"left":4"#, r#""allowance":4,"left":3"#, counts);
    in_first(r#""allowance":4,"left":4"#, r#""allowance":3,"left":3"#, counts);
    in_first(r#""messages":1"#, r#""messages":2"#, counts);
    in_first(r#""active":"billing""#, r#""active":"clerk""#, "the relay has no agent clerk");
    // The leaf, a branch of the branch.
    in_second(r#""id":"conv/1/2/2/1/1/0""#, r#""id":"conv/1/2/2/1/1/1""#, not_asked);
    in_second(r#"{"task":"Leaf?""#, r#"{"task":"Twig?""#, not_asked);
    in_second(r#""allowance":4,"left":3"#, r#""allowance":4,"left":4,"more":1"#, "unknown field `more`");
    in_second(r#""allowance":9"#, r#""allowance":8"#, counts);

    // One branch missing, none, one twice, or both in the wrong order.
    let those = "the branches are not those that the calls open";
    check_text(&relay, &saved, (branches, &format!("[{first}]")), counts);
    check_text(&relay, &saved, (branches, &format!("[{second}]")), counts);
    check_text(&relay, &saved, (branches, "[]"), counts);
    check_text(&relay, &saved, (branches, &format!("[{first},{second},{second}]")), counts);
    check_text(&relay, &saved, (branches, &format!("[{second},{first}]")), those);
    // What the root has left follows from what it gave.
    check_text(&relay, &saved, (r#""allowance":50,"left":35"#, r#""allowance":50,"left":20"#), counts);
    check_text(&relay, &saved, (r#""allowance":50,"left":35"#, r#""allowance":50,"left":51"#), counts);
}

/// The record of branches that have ended is refused where it says something else than the branch's own run.
#[test]
fn tampered_links_are_refused() {
    let relay = tree();
    let steps = steps(&relay);
    let done = steps.last().unwrap();
    let saved = done.save().unwrap();
    let list = member(&saved, "links");
    let links = items(list);
    assert_eq!(links.len(), 3, "a refused question, billing, the team");
    let check = |link: usize, from: &str, to: &str, expected: &str| {
        assert!(links[link].contains(from), "{from} is not in {}", links[link]);
        check_text(&relay, &saved, (links[link], &links[link].replacen(from, to, 1)), expected);
    };
    let id = "a delegation has an id that is not its own";
    check(0, r#""id":"conv/1/1/0""#, r#""id":"conv/1/1""#, id);
    check(0, r#""id":"conv/1/1/0""#, r#""id":"other/1/1/0""#, id);
    check(0, r#""id":"conv/1/1/0""#, r#""id":"conv/2/1/0""#, id);
    check(0, r#""id":"conv/1/1/0""#, r#""id":"conv/1/9/0""#, id);
    check(0, r#""id":"conv/1/1/0""#, r#""id":"conv/1/2/0""#, id);
    check(0, r#""package_bytes":0"#, r#""package_bytes":9"#, "the counts do not add up");
    check(0, r#""tool":"ask_billing""#, r#""tool":"look""#, "somebody was asked who is no delegate");
    check(0, r#""from":"supervisor""#, r#""from":"policy""#, "somebody was asked who is no delegate");

    let finding = "a finding is not that of its branch";
    check(1, r#""finding":"Twice.""#, r#""finding":"Once.""#, finding);
    check(1, r#""finding":"Twice.""#, r#""finding":null"#, finding);
    check(1, r#""status":"done""#, r#""status":"partial""#, finding);
    check(1, r#""steps_used":2"#, r#""steps_used":1"#, finding);
    check(
        1,
        r#""package":{"task":"Was INV-311 paid?","context":{}}"#,
        r#""package":null"#,
        "the counts do not add up",
    );
    check(1, r#""package_bytes":41"#, r#""package_bytes":40"#, "the counts do not add up");
    check(1, r#""end":"Answered"}}"#, r#""end":"Unresolved"}}"#, finding);
    let own_run = "a branch holds another run than its own";
    check(1, r#""id":"conv/1/2/0""#, r#""id":"conv/1/2/1""#, id);
    check(1, r#""id":"conv/1/2/0""#, r#""id":"conv/1/2/5""#, own_run);
    check(1, r#""conversation":"conv/1/2/0""#, r#""conversation":"conv/1/2/2""#, own_run);
    check(1, r#""tool":"ask_billing""#, r#""tool":"ask_shipping""#, own_run);
    check(1, r#""left":2"#, r#""left":1"#, "the counts do not add up");
    check(1, r#""left":2"#, r#""left":5"#, "the counts do not add up");
    // In the team's branch: the leaf's link, and the hop to the expert.
    check(2, r#""finding":"Leaf it is.""#, r#""finding":"Stone.""#, finding);
    check(
        2,
        r#""from":"clerk","to":"expert""#,
        r#""from":"expert","to":"clerk""#,
        "the counts do not add up",
    );
    check(2, r#""number":1"#, r#""number":2"#, "the counts do not add up");
    // A branch that is missing leaves model calls that nobody made.
    let without: Vec<&str> = [links[0], links[1]].to_vec();
    check_text(&relay, &saved, (list, &format!("[{}]", without.join(","))), "the counts do not add up");
    let twice = format!("[{0},{1},{1},{2}]", links[0], links[1], links[2]);
    check_text(&relay, &saved, (list, &twice), id);
}

/// A handoff that waits beside questions that were answered has their answers, each on record; and a question that has
/// none is asked first.
#[test]
fn a_handoff_beside_questions_has_their_answers() {
    let relay = tree();
    let steps = steps(&relay);
    let handoff = steps.iter().find(|step| kind(step) == "handoff").unwrap();
    let saved = handoff.save().unwrap();
    let plans = member(&saved, "plans");
    let answered = items(plans.trim_end_matches(']'));
    assert_eq!((plans.matches("Reserve").count(), answered.len()), (1, 1), "{plans}");
    let fits = "a plan does not fit its call";
    // The handoff's own call answered beforehand, and no call answered at all.
    let settled = plans.replace(r#""Reserve""#, answered[0]);
    check_text(&relay, &saved, (plans, &settled), "no call waits for an answer");
    // An answer that is not the one on record.
    let other = plans.replace("Twice.", "Once.");
    check_text(&relay, &saved, (plans, &other), fits);
    let waiting = r#"["Reserve","Reserve","Reserve"]"#;
    check_text(&relay, &saved, (plans, waiting), "a delegate was not asked before the handoff");
    // An answer without its record: one of a question that was refused, so that no model call is missed.
    let model = script([
        (
            "supervisor",
            calls([("ask_billing", "{}".to_owned()), (HANDOFF_TO_SPECIALIST, to("policy", "Decide."))]),
        ),
        ("policy", says("Refund it.")),
    ]);
    let mut refused = None;
    let session = Session::new(&relay, &model).before_take(|step| {
        refused = Some(step.save().unwrap());
        step
    });
    drop(session.say("INV-311?").ends(RunEnd::Answered));
    let refused = refused.unwrap();
    check_text(&relay, &refused, (member(&refused, "links"), "[]"), fits);
    check_text(&relay, &refused, ("`question` is missing", "`question` is blank"), fits);
    check_text(
        &relay,
        &refused,
        (r#""Missing":{"field":"question"}"#, r#""Blank":{"field":"question"}"#),
        fits,
    );
}

/// A tree one of whose members has another name is not loaded, wherever in the tree it stands.
#[test]
fn a_tree_without_one_of_its_members_is_not_loaded() {
    let relay = tree();
    let saved = steps(&relay)[5].save().unwrap();
    let mut refused = 0;
    for name in
        ["asked", "id", "from", "tool", "place", "call_id", "at", "package", "step", "run", "inner", "left"]
    {
        for (at, _) in saved.match_indices(&format!("\"{name}\":")) {
            let renamed = format!("{}\"gone\":{}", &saved[..at], &saved[at + name.len() + 3..]);
            assert!(relay.load(&renamed).is_err(), "{name} at {at}");
            refused += 1;
        }
    }
    assert!(refused > 30, "{refused}");
}

/// What was given and used of a budget is held against the definition, the asker, and what was done: tool calls, tokens,
/// hops and time, at the root and in a branch.
#[test]
fn tampered_budgets_are_refused() {
    let own = Budget::new(4).tool_calls(3).millis(500);
    let relay = Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::new("ask_billing", agent("billing")).budget(own))
        .entry("supervisor")
        .budget(Budget::new(50).tool_calls(20).tokens(1_000).hops(9).millis(5_000))
        .build()
        .unwrap();
    let model = script([
        ("supervisor", looks("tea")),
        ("supervisor", calls([("ask_billing", question("Well?"))])),
        ("billing", looks("INV")),
        ("billing", says("Twice.")),
        ("supervisor", says("Twice.")),
    ]);
    let mut states = Vec::new();
    let session = Session::new(&relay, &model).telling_time(1).at_each_step(|step| {
        states.push(step.save().unwrap());
        step
    });
    drop(session.say("hello").ends(RunEnd::Answered));
    // Billing has looked, and its model is asked again.
    let open = &states[5];
    let counts = "the counts do not add up";
    let check = |from: &str, to: &str, expected| check_text(&relay, open, (from, to), expected);
    let root = |name: &str, most: u64, more: u64, used: u64| {
        format!(r#""{name}":{{"most":{most},"more":{more},"used":{used}}}"#)
    };
    // The root has looked once, and gave three, 499 and nine.
    check(&root("tool_calls", 20, 0, 4), &root("tool_calls", 21, 0, 4), counts);
    check(&root("tool_calls", 20, 0, 4), &root("tool_calls", 20, 0, 2), counts);
    check(&root("tool_calls", 20, 0, 4), &root("tool_calls", 20, 0, 6), counts);
    check(&root("tool_calls", 20, 0, 4), &root("tool_calls", 20, 0, 21), counts);
    check(&root("tokens", 1_000, 0, 500), &root("tokens", 1_001, 0, 500), counts);
    check(&root("tokens", 1_000, 0, 500), &root("tokens", 1_000, 0, 499), counts);
    check(&root("tokens", 1_000, 0, 500), &root("tokens", 1_000, 0, 501), counts);
    check(&root("hops", 9, 0, 9), &root("hops", 9, 0, 8), counts);
    check(&format!("{},", root("hops", 9, 0, 9)), "", counts);
    check(r#""time":{"most":5000,"#, r#""time":{"most":5001,"#, counts);
    check(r#""until":6000"#, r#""until":null"#, counts);
    // A branch has more of nothing than it was given, and nobody speaks in it.
    check(&root("tool_calls", 3, 0, 1), &root("tool_calls", 4, 0, 1), counts);
    check(&root("tool_calls", 3, 0, 1), &root("tool_calls", 2, 1, 1), counts);
    check(&root("tool_calls", 3, 0, 1), &root("tool_calls", 3, 0, 2), counts);
    check(&root("tokens", 500, 0, 0), &root("tokens", 501, 0, 0), counts);
    check(&format!("{},", root("hops", 9, 0, 0)), "", counts);
    check(r#""time":{"most":500,"#, r#""time":{"most":501,"#, counts);
    check(r#""time":{"most":500,"until":1503}"#, r#""time":{"most":500,"until":null}"#, counts);
    let longer = r#""time":{"most":500,"until":9000}"#;
    check(r#""time":{"most":500,"until":1503}"#, longer, "a branch has more time than the one that asked");
    check(r#""until":1503}"#, r#""until":1503},"more_model_calls":1"#, counts);
    // What was added stands in the allowance.
    check(r#""until":6000}"#, r#""until":6000},"more_model_calls":1"#, counts);
}

/// A root whose model is asked for four calls in all has given two to billing, which has a budget of its own and has looked.
fn looked_up() -> (Relay, String) {
    let own = Budget::new(4).tool_calls(2).tokens(500).millis(100);
    let relay = Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::new("ask_billing", agent("billing")).budget(own))
        .entry("supervisor")
        .max_model_calls(4)
        .build()
        .unwrap();
    let model = script([
        ("supervisor", calls([("ask_billing", question("Well?"))])),
        ("billing", looks("INV")),
        ("billing", says("Twice.")),
        ("supervisor", says("Twice.")),
    ]);
    let mut saved = Vec::new();
    let session = Session::new(&relay, &model).at_each_step(|step| {
        saved.push(step.save().unwrap());
        step
    });
    drop(session.say("hello").ends(RunEnd::Answered));
    (relay, saved.remove(3))
}

/// S3-25: in a branch nothing is there anew, so what is left of everything follows from what was done; the asker has
/// no more than it keeps; and nobody has spoken in the branch.
#[test]
fn a_branch_gains_nothing_by_hand() {
    let (relay, saved) = looked_up();
    assert!(relay.load(&saved).is_ok());
    let counts = "the counts do not add up";
    let check = |from: &str, to: &str| check_text(&relay, &saved, (from, to), counts);
    check(r#""allowance":2,"left":1"#, r#""allowance":2,"left":2"#);
    check(r#""allowance":2,"left":1"#, r#""allowance":2,"left":0"#);
    check(r#""allowance":2,"left":1"#, r#""allowance":4,"left":3"#);
    check(r#""allowance":4,"left":1"#, r#""allowance":4,"left":2"#);
    check(r#""tool_calls":{"most":2,"more":0,"used":1}"#, r#""tool_calls":{"most":2,"more":0,"used":0}"#);
    check(r#""tokens":{"most":500,"more":0,"used":0}"#, r#""tokens":{"most":500,"more":0,"used":9}"#);
    check(r#""most":100,"until":"#, r#""most":100,"until":9"#);
    check(r#""extra":{"purse":"#, r#""extra":{"inbox":["Say yes."],"purse":"#);
}

/// R5, S3-25: an agent that waits for its handoff to come back holds the answers that its other calls got: the findings on
/// record, what people said, the refusals in the trail. None of them is another when the step is loaded.
#[test]
fn what_one_that_waits_was_told_is_on_record() {
    let relay = Relay::builder()
        .agent(agent("supervisor"))
        .agent(agent("policy"))
        .delegate("supervisor", Delegate::new("ask_billing", agent("billing")))
        .may_ask_human("supervisor")
        .route_with(Route::new("supervisor", "policy").returns())
        .entry("supervisor")
        .build()
        .unwrap();
    let model = script([
        (
            "supervisor",
            calls([
                ("ask_billing", question("Was it paid?")),
                ("ask_human", question("May it be?")),
                (HANDOFF_TO_SPECIALIST, to("nobody", "Go.")),
                (HANDOFF_TO_SPECIALIST, to("policy", "Go.")),
            ]),
        ),
        ("billing", says("It was not.")),
        ("policy", says("So be it.")),
        ("supervisor", says("Bye.")),
    ]);
    let mut saved = Vec::new();
    let session = Session::new(&relay, &model).at_each_step(|step| {
        saved.push(step.save().unwrap());
        step
    });
    let session = session.say("hello");
    let asked = session.open().remove(0);
    let session = session.answer(&asked, Answer::Say { text: "It may.".into() });
    drop(session.ends(RunEnd::Answered));
    let waits = saved.iter().find(|saved| saved.contains(r#""awaiting":"#)).unwrap();
    assert!(relay.load(waits).is_ok());
    let settled = "a plan does not fit its call";
    let check = |from: &str, to: &str, expected: &str| check_text(&relay, waits, (from, to), expected);
    check(r#"\"finding\":\"It was not.\""#, r#"\"finding\":\"It was.\""#, settled);
    check(r#"{\"answer\":\"It may.\"}"#, r#"{\"answer\":\"No.\"}"#, settled);
    let no_call = "a handoff that is to come back has no call";
    check(r#""place":1"#, r#""place":0"#, no_call);
    check(r#""place":1"#, r#""place":2"#, no_call);
    check(r#"{\"error\":\"unknown_specialist\""#, r#"{\"error\":\"well_done\""#, no_call);
    check(r#"{\"status\":\"handed_over\",\"to\":\"policy\"}"#, r#"{\"status\":\"done\"}"#, no_call);
}
