//! Branches: each delegate's run is one of its own, whatever the others do and in whichever order they go on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    Asked, BOTH, Session, agent, calls, desk, hands_to, looks, name, question, relay, says, script, story,
    to, tool_name,
};
use sommelier_handoff::step::{Delegation, Unfit};
use sommelier_handoff::{
    Budget, BuildError, Delegate, Done, HANDOFF_TO_SPECIALIST, HandoffPackage, Relay, RelayBuilder, RunEnd,
    Step,
};
use sommelier_protocol::Words;
use sommelier_runtime::{ScriptedModel, ToolOutput, script};
use std::collections::{BTreeMap, BTreeSet};

/// A supervisor whose delegates are teams in which a clerk may hand over to an expert.
fn two_teams() -> Relay {
    let team = || relay("clerk -> expert");
    Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::team("ask_one", team()))
        .delegate("supervisor", Delegate::team("ask_two", team()))
        .entry("supervisor")
        .build()
        .unwrap()
}

/// A clerk that looks up what it is asked and hands it to an expert, who looks it up too and says it.
fn experts(questions: [(&'static str, &'static str); 2]) -> ScriptedModel {
    let word = |request: &sommelier_protocol::ModelRequest<'_>| {
        let words = script::first_words(request);
        ["RED", "BLUE"].into_iter().find(|word| words.contains(word)).unwrap_or("NONE")
    };
    script([
        ("supervisor", calls(questions.map(|(tool, word)| (tool, question(&format!("What is {word}?")))))),
        ("clerk", Box::new(move |request| looks(word(request))(request))),
        (
            "clerk",
            Box::new(move |request| {
                let arguments = to("expert", &format!("Explain {}.", word(request)));
                calls([(HANDOFF_TO_SPECIALIST, arguments)])(request)
            }),
        ),
        ("expert", Box::new(move |request| looks(word(request))(request))),
        ("expert", Box::new(move |request| script::say(format!("It is {}.", word(request))))),
        ("supervisor", says("Both.")),
    ])
}

/// What the expert of a branch was sent, last.
fn expert_of(word: &str) -> String {
    let package = HandoffPackage::new(format!("Explain {word}.")).to_prompt(&name("clerk"));
    format!("user: {package}\nassistant: look#tu_1_0{{\"word\":\"{word}\"}}\nuser: tu_1_0=\"{word}\"")
}

/// C152: two branches of one reply that both hand to an agent of the same name: two conversations, each with its own
/// package and its own tool results.
#[test]
fn two_branches_that_hand_to_the_same_agent_have_two_conversations() {
    let relay = two_teams();
    let model = experts([("ask_one", "RED"), ("ask_two", "BLUE")]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let last = |path: &str| {
        let asked = session.asked.iter().rfind(|asked| asked.path == path && asked.agent == "expert");
        story(&asked.unwrap().messages)
    };
    assert_eq!([last("conv/1/1/0"), last("conv/1/1/1")], [expert_of("RED"), expert_of("BLUE")]);
    let ends: Vec<(String, String, usize)> = session
        .run()
        .links()
        .iter()
        .map(|link| (link.run().unwrap().run(), link))
        .map(|(run, link)| {
            let finding = link.result().unwrap().finding.as_deref().unwrap().to_owned();
            (run.active().to_string(), finding, run.trail().taken().count())
        })
        .collect();
    let end = |finding: &str| ("expert".to_owned(), finding.to_owned(), 1);
    assert_eq!(ends, [end("It is RED."), end("It is BLUE.")]);
    // What happened in a branch is in its own trail.
    assert_eq!(session.trail(), Vec::<String>::new());
}

/// C151: the same team asked twice in one reply: both run, each in a conversation of its own.
#[test]
fn a_team_can_be_asked_twice_in_one_reply() {
    let relay = two_teams();
    let model = experts([("ask_one", "RED"), ("ask_one", "BLUE")]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(
        session.results("supervisor", 0),
        [
            r#"tu_1_0={"status":"done","finding":"It is RED.","steps_used":4}"#,
            r#"tu_1_1={"status":"done","finding":"It is BLUE.","steps_used":4}"#,
        ]
    );
    assert_eq!(session.order(), "supervisor clerk clerk expert expert clerk clerk expert expert supervisor");
}

/// The next number of a simple generator, which gives the same ones for the same seed.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 40).unwrap_or_default()
}

/// What was asked in each place of the tree, in order.
fn by_path(asked: &[Asked]) -> BTreeMap<String, Vec<Asked>> {
    let mut by_path: BTreeMap<String, Vec<Asked>> = BTreeMap::new();
    for request in asked {
        by_path.entry(request.path.clone()).or_default().push(request.clone());
    }
    by_path
}

/// C149, C148: whichever branch goes on first, at each of a hundred orders by chance, each branch is asked the same
/// things and the run ends as the same value.
#[test]
fn the_order_in_which_branches_go_on_changes_nothing() {
    let relay = two_teams();
    let run = |seed: u64| {
        let model = experts([("ask_one", "RED"), ("ask_two", "BLUE")]);
        let mut state = seed;
        let session = Session::new(&relay, &model)
            .without_time()
            .pick(|open| next(&mut state) % open)
            .say("hello")
            .ends(RunEnd::Answered);
        let order: Vec<String> = session.asked.iter().map(|asked| asked.path.clone()).collect();
        let asked = by_path(&session.asked);
        (order, asked, session.into_done())
    };
    let (_, asked, done) = run(0);
    for (path, mine, others) in [("conv/1/1/0", "RED", "BLUE"), ("conv/1/1/1", "BLUE", "RED")] {
        let requests = &asked[path];
        let agents: Vec<&str> = requests.iter().map(|request| request.agent.as_str()).collect();
        assert_eq!(agents, ["clerk", "clerk", "expert", "expert"]);
        let is_own = |request: &Asked| request.json.contains(mine) && !request.json.contains(others);
        assert!(requests.iter().all(is_own), "{path}");
    }
    let mut orders = BTreeSet::new();
    for seed in 1..=100 {
        let (order, asked_now, done_now) = run(seed);
        assert_eq!((asked_now, done_now), (asked.clone(), done.clone()), "seed {seed}");
        orders.insert(order);
    }
    // Of 70 orders of twice four model calls, so many came up.
    assert!(orders.len() > 20, "{}", orders.len());
}

/// A team may be entered at another of its agents than its own entry, and its routes hold from there.
#[test]
fn a_team_can_be_asked_at_another_agent() {
    let of = |delegate: Delegate| {
        let relay = Relay::builder().agent(agent("supervisor")).delegate("supervisor", delegate);
        relay.entry("supervisor").build().unwrap()
    };
    let team = || Delegate::team("ask_desk", relay("clerk -> expert, expert -> judge"));
    let model = script([
        ("supervisor", calls([("ask_desk", question("Well?"))])),
        ("clerk", hands_to("expert")),
        ("expert", hands_to("judge")),
        ("judge", says("So be it.")),
        ("supervisor", says("So be it.")),
    ]);
    let entered = [
        (of(team()), "supervisor clerk expert judge supervisor", 3),
        (of(team().at("expert")), "supervisor expert judge supervisor", 2),
        (of(team().at("judge")), "supervisor judge supervisor", 1),
    ];
    for (relay, order, steps) in entered {
        let session = Session::new(&relay, &model).say("hello");
        assert_eq!(session.order(), order);
        let result = session.run().links()[0].result().unwrap();
        assert_eq!((result.finding.as_deref(), result.steps_used), (Some("So be it."), steps));
    }
}

/// A relay of nested delegates: `a0` asks `a1`, which asks `a2`, and so on.
fn nested(
    depth: u32,
    builder: impl Fn() -> RelayBuilder + Copy,
) -> Result<Relay, sommelier_handoff::BuildErrors> {
    fn at(
        level: u32,
        depth: u32,
        builder: impl Fn() -> RelayBuilder + Copy,
    ) -> Result<Relay, sommelier_handoff::BuildErrors> {
        let asker = format!("a{level}");
        let relay = builder().agent(agent(&asker)).entry(asker.as_str());
        if level == depth {
            return relay.build();
        }
        let team = Delegate::team("ask", at(level + 1, depth, builder)?);
        relay.delegate(asker.as_str(), team.max_model_calls(9)).build()
    }
    at(0, depth, builder)
}

/// S3-24: delegates of delegates work, and deeper than two they are refused when the relay is built, unless it says so.
#[test]
fn delegates_are_nested_as_deep_as_is_allowed() {
    let depths: Vec<u32> = (0..=2).map(|depth| nested(depth, Relay::builder).unwrap().depth()).collect();
    assert_eq!(depths, [0, 1, 2]);
    let errors = nested(3, Relay::builder).unwrap_err();
    assert_eq!(errors.0, [BuildError::TooDeep { depth: 3, most: 2 }]);
    assert_eq!(errors.to_string(), "delegates are nested 3 deep, at most 2; `max_depth` sets it");
    let deep = nested(3, || Relay::builder().max_depth(3)).unwrap();
    assert_eq!(deep.depth(), 3);
    let flat = nested(1, || Relay::builder().max_depth(0)).unwrap_err();
    assert_eq!(flat.0, [BuildError::TooDeep { depth: 1, most: 0 }]);

    let asks = || calls([("ask", question("Well?"))]);
    let model = script([
        ("a0", asks()),
        ("a1", asks()),
        ("a2", asks()),
        ("a3", looks("DEEP")),
        ("a3", says("3.")),
        ("a2", says("2.")),
        ("a1", says("1.")),
        ("a0", says("0.")),
    ]);
    let session = Session::new(&deep, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.order(), "a0 a1 a2 a3 a3 a2 a1 a0");
    let paths: Vec<&str> = session.asked.iter().map(|asked| asked.path.as_str()).collect();
    assert_eq!(paths[..4], ["conv", "conv/1/1/0", "conv/1/1/0/1/1/0", "conv/1/1/0/1/1/0/1/1/0"]);
    let used: Vec<u32> = harness::runs(session.run())
        .iter()
        .flat_map(|run| run.links())
        .map(|link| link.result().unwrap().steps_used)
        .collect();
    assert_eq!(used, [6, 4, 2]);
}

/// The desk where both branches are open and neither has been asked.
fn both_open(relay: &Relay) -> Step {
    let Step::CallModel(call) = relay.start("conv", "hello").unwrap() else {
        panic!("a model is asked first")
    };
    let reply =
        script::calls(BOTH.iter().zip(["tu_1", "tu_2"]).map(|((tool, input), id)| (id, *tool, *input)));
    call.resume(relay, Ok(reply), 7)
}

fn open(relay: &Relay) -> Delegation {
    match both_open(relay) {
        Step::Delegate(delegation) => delegation,
        other => panic!("two branches are open, not {other:?}"),
    }
}

/// The step after its model has said so.
fn answered(relay: &Relay, step: Step, words: &str) -> Step {
    match step {
        Step::CallModel(call) => call.resume(relay, Ok(script::say(words)), 8),
        other => panic!("a model is to be asked, not {other:?}"),
    }
}

/// A step is gone on with where it is open; at any other path the tree is handed back as it was.
#[test]
fn a_tree_goes_on_at_its_open_steps_alone() {
    let relay = desk().build().unwrap();
    let tree = both_open(&relay);
    let paths: Vec<&str> = tree.open().iter().map(|step| step.run().conversation()).collect();
    assert_eq!(paths, ["conv/1/1/0", "conv/1/1/1"]);
    for path in ["", "conv", "conv/1/1", "conv/1/1/2", "conv/1/1/00", "conv/1/1/0/1/1/0", "other/1/1/0"] {
        let back = tree.clone().go_on_at(&relay, path, |_, _| panic!("nothing is open at {path:?}"));
        assert_eq!(back, Err(Box::new(tree.clone())), "{path:?}");
    }
    let one =
        tree.go_on_at(&relay, "conv/1/1/1", |inside, step| answered(inside, step, "In transit.")).unwrap();
    let paths: Vec<&str> = one.open().iter().map(|step| step.run().conversation()).collect();
    assert_eq!(paths, ["conv/1/1/0"]);
    // A branch that has ended is open no more.
    let back = one.clone().go_on_at(&relay, "conv/1/1/1", |_, _| panic!("the branch has ended"));
    assert_eq!(back, Err(Box::new(one.clone())));
    let both = one.go_on_at(&relay, "conv/1/1/0", |inside, step| answered(inside, step, "Twice.")).unwrap();
    let paths: Vec<&str> = both.open().iter().map(|step| step.run().conversation()).collect();
    assert_eq!(paths, ["conv"]);
    let plain = relay.start("other", "hello").unwrap();
    assert_eq!(plain.clone().go_on_at(&relay, "conv", |_, step| step), Err(Box::new(plain)));
}

/// A delegation is joined when every branch has ended, and is handed back before.
#[test]
fn a_delegation_with_an_open_branch_is_not_joined() {
    let relay = desk().build().unwrap();
    let delegation = open(&relay);
    assert_eq!(delegation.clone().join(&relay, 9), Err(Box::new(delegation.clone())));
    let (joint, branches) = delegation.split();
    let branches: Vec<_> = branches
        .into_iter()
        .map(|branch| {
            let inside = branch.relay(&relay).unwrap();
            branch.try_map(|step| Ok::<_, ()>(answered(inside, step, "Yes."))).unwrap()
        })
        .collect();
    let tools: Vec<&str> = branches.iter().map(|branch| branch.tool().as_str()).collect();
    assert_eq!(tools, ["ask_billing", "ask_shipping"]);
    // In whichever order they come back.
    let delegation = joint.put_back(branches.into_iter().rev().collect()).unwrap();
    assert!(delegation.is_over());
    let paths: Vec<&str> = delegation.branches().iter().map(sommelier_handoff::Branch::path).collect();
    assert_eq!(paths, ["conv/1/1/0", "conv/1/1/1"]);
    assert!(matches!(delegation.join(&relay, 9), Ok(Step::CallModel(_))));
}

/// Branches that are not those that were taken out, one missing, one twice, one of another run, or each with the other's
/// step, are told by their paths, and all of it is handed back.
#[test]
fn what_does_not_fit_is_handed_back_whole() {
    let relay = desk().build().unwrap();
    let whole = open(&relay);
    let (joint, branches) = whole.clone().split();
    let [first, second] = <[_; 2]>::try_from(branches.clone()).unwrap();
    let foreign = match relay.start("other", "hello").unwrap() {
        Step::CallModel(call) => call.resume(&relay, Ok(script::call("tu_1", BOTH[0].0, BOTH[0].1)), 7),
        other => panic!("{other:?}"),
    };
    let Step::Delegate(foreign) = foreign else { panic!("a branch is open") };
    let foreign = foreign.branches()[0].clone();
    let swapped = vec![
        first.clone().try_map(|_| Ok::<_, ()>(second.step().clone())).unwrap(),
        second.clone().try_map(|_| Ok::<_, ()>(first.step().clone())).unwrap(),
    ];
    let cases = [
        (vec![], "[]"),
        (vec![first.clone()], r#"["conv/1/1/0"]"#),
        (vec![first.clone(), first.clone()], r#"["conv/1/1/0", "conv/1/1/0"]"#),
        (
            vec![first.clone(), second.clone(), second.clone()],
            r#"["conv/1/1/0", "conv/1/1/1", "conv/1/1/1"]"#,
        ),
        (vec![foreign, second.clone()], r#"["other/1/1/0", "conv/1/1/1"]"#),
        (swapped, r#"["conv/1/1/0", "conv/1/1/1"]"#),
    ];
    for (came, found) in cases {
        let unfit = joint.clone().put_back(came.clone()).unwrap_err();
        let paths: Vec<&str> = unfit.found.iter().filter_map(|found| found.split(' ').next()).collect();
        assert_eq!(format!("{paths:?}"), found);
        let taken_out = r#"the branches ["conv/1/1/0", "conv/1/1/1"] were taken out, ["#;
        assert!(unfit.to_string().starts_with(taken_out), "{unfit}");
        let Unfit { joint, branches: back, .. } = unfit;
        assert_eq!(back, came);
        assert_eq!(joint.put_back(branches.clone()).unwrap(), whole);
    }
}

/// A branch of one is no branch of another, though both be of one delegate: what each asks for is its own.
#[test]
fn a_branch_says_who_asked_whom_what() {
    let relay = desk().build().unwrap();
    let delegation = open(&relay);
    let told: Vec<_> = delegation
        .branches()
        .iter()
        .map(|branch| {
            let inside = branch.relay(&relay).unwrap();
            (
                branch.from().clone(),
                branch.tool().clone(),
                branch.call_id(),
                branch.package().task(),
                inside.entry().as_str(),
            )
        })
        .collect();
    let of = |tool, id, task, agent| (name("supervisor"), tool_name(tool), id, task, agent);
    assert_eq!(
        told,
        [
            of("ask_billing", "tu_1", "Was INV-311 paid twice?", "billing"),
            of("ask_shipping", "tu_2", "Where is A-7?", "shipping"),
        ]
    );
    let strange = harness::relay("a -> b");
    assert!(delegation.branches().iter().all(|branch| branch.relay(&strange).is_none()));
}

/// A branch may end with nothing by itself; the run that asked is none the worse, and goes on.
#[test]
fn a_refused_handoff_in_a_branch_ends_the_branch_alone() {
    let guards = sommelier_handoff::Guards::default().stop_on_any_refusal();
    let team = harness::team("clerk -> expert").guards(guards).build().unwrap();
    let relay = Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::team("ask_desk", team))
        .entry("supervisor")
        .build()
        .unwrap();
    let model = script([
        ("supervisor", calls([("ask_desk", question("Well?"))])),
        ("clerk", hands_to("nobody")),
        ("supervisor", says("They could not.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let ended: Vec<&Done> = session.run().links().iter().filter_map(|link| link.run()).collect();
    assert_eq!(ended[0].end().as_str(), "handoff_refused");
    assert_eq!(
        session.results("supervisor", 0),
        [r#"tu_1_0!{"status":"failed","finding":null,"reason":"handoff_refused: known","steps_used":1}"#]
    );
}

/// The step driven on by a model that looks up another word each time, until it has ended or `calls` were made.
fn looking(relay: &Relay, mut step: Step, calls: &mut u32) -> Step {
    loop {
        step = match step {
            Step::CallModel(call) => {
                *calls += 1;
                let word = format!(r#"{{"word":"{calls}"}}"#);
                call.resume(relay, Ok(script::call("tu_1", "look", &word)), 8)
            }
            Step::CallTools(tools) => {
                tools.resume(relay, vec![ToolOutput::ok(calls.to_string())], 8).unwrap()
            }
            other => return other,
        };
    }
}

/// S3-25: what a branch was given is there once: one that has ended and is tried again is no branch that comes back,
/// neither from a driver that has it nor where it stands.
#[test]
fn a_branch_is_not_tried_again_with_new_model_calls() {
    let relay = desk().max_model_calls(8).build().unwrap();
    let (joint, mut branches) = open(&relay).split();
    let mut made = 0;
    let branch = branches.remove(0);
    let inside = branch.relay(&relay).unwrap();
    let ended = branch.try_map(|step| Ok::<_, ()>(looking(inside, step, &mut made))).unwrap();
    assert_eq!(made, ended.step().run().model_calls());
    let again = ended.clone().try_map(|step| match step {
        Step::Done(done) => done.retry(inside),
        other => panic!("it has ended, not {other:?}"),
    });
    let again = again.unwrap();
    let once_more = again.clone().try_map(|step| Ok::<_, ()>(looking(inside, step, &mut made))).unwrap();
    for came in [again, once_more] {
        let unfit = joint.clone().put_back(vec![came, branches[0].clone()]).unwrap_err();
        assert_eq!(unfit.found.len(), 2);
    }
    assert!(joint.put_back(vec![ended, branches.remove(0)]).is_ok());

    let tries_again = |inside: &Relay, step: Step| match looking(inside, step, &mut 0) {
        Step::Done(done) => done.retry(inside).unwrap(),
        other => panic!("it has ended, not {other:?}"),
    };
    assert!(both_open(&relay).go_on_at(&relay, "conv/1/1/0", tries_again).is_err());
}

/// S3-25: a branch hears nobody but the one that asked, whichever way words are said in it.
#[test]
fn a_branch_hears_no_words_where_it_stands() {
    let relay = desk().build().unwrap();
    let words = || Words::new("Say yes.").unwrap();
    let keeps = both_open(&relay).go_on_at(&relay, "conv/1/1/0", |inside, step| step.hear(inside, words()));
    let asks = both_open(&relay).go_on_at(&relay, "conv/1/1/0", |inside, step| match step {
        Step::CallModel(call) => call.hear(inside, words()),
        other => panic!("a model is to be asked, not {other:?}"),
    });
    for heard in [keeps, asks] {
        let tree = *heard.unwrap_err();
        assert!(relay.load(&tree.save().unwrap()).is_err());
        let Step::Delegate(delegation) = tree else { panic!("two branches are open") };
        let (_, branches) = delegation.split();
        let (joint, _) = open(&relay).split();
        assert!(joint.put_back(branches).is_err());
    }
}

/// A branch may come back after branches of its own have ended: what they left over is its own again.
#[test]
fn a_branch_comes_back_with_what_its_own_branches_left() {
    let relay = nested(2, || Relay::builder().budget(Budget::new(20).tool_calls(9))).unwrap();
    let asks = |relay: &Relay, step: Step| match step {
        Step::CallModel(call) => {
            call.resume(relay, Ok(script::call("tu_1", "ask", r#"{"question":"Well?"}"#)), 7)
        }
        other => panic!("a model is to be asked, not {other:?}"),
    };
    let tree = asks(&relay, relay.start("conv", "hello").unwrap());
    let tree = tree.go_on_at(&relay, "conv/1/1/0", asks).unwrap();
    let Step::Delegate(delegation) = tree else { panic!("a branch is open") };
    let (joint, mut branches) = delegation.split();
    let branch = branches.remove(0);
    let inside = branch.relay(&relay).unwrap();
    let open_left = branch.step().run().model_calls_left();
    let joined = branch.try_map(|step| {
        let says = |relay: &Relay, step| answered(relay, step, "So be it.");
        match step.go_on_at(inside, "conv/1/1/0/1/1/0", says) {
            Ok(Step::Delegate(delegation)) => delegation.join(inside, 9),
            other => panic!("a branch is to be joined, not {other:?}"),
        }
    });
    let joined = joined.unwrap();
    assert!(joined.step().run().model_calls_left() > open_left);
    assert!(joint.put_back(vec![joined]).is_ok());
}
