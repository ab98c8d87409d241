//! How a receiver ends its work on a package with open items.

mod harness;

use harness::{Session, Turn, agent, calls, hands, hands_to, says, script, team, to};
use sommelier_handoff::{
    ASK_HUMAN, Answer, BuildError, COMPLETE_HANDOFF, Closing, Completion, Delegate, DelegateStatus, Done,
    HANDOFF_TO_SPECIALIST, LoadError, PackagePolicy, Relay, Route, RunEnd, Step,
};
use sommelier_protocol::Words;
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Model, ScriptedModel, Tool};

/// The arguments of a handoff with the open items `count` and `weigh`.
fn two_items(to: &str) -> String {
    format!(
        r#"{{"specialist":"{to}","task":"Look after it.","context":{{}},"open_items":["count"," weigh "]}}"#
    )
}

fn report(done: &str, open: &str, answer: &str) -> String {
    format!(r#"{{"done":[{done}],"open":[{open}],"answer":"{answer}"}}"#)
}

fn completes(done: &str, open: &str, answer: &str) -> Turn {
    calls([(COMPLETE_HANDOFF, report(done, open, answer))])
}

const BOTH: &str = r#""count","weigh""#;

fn owned(texts: &[&str]) -> Vec<Box<str>> {
    texts.iter().map(|text| (*text).into()).collect()
}

/// How the work of each hop ended, what was said of it, and what is left.
type Account = (Option<Closing>, Option<Completion>, Vec<String>);

fn accounts(session: &Session<'_>) -> Vec<Account> {
    let hops = session.run().trail().taken();
    hops.map(|hop| {
        let left = hop.unfinished().into_iter().map(str::to_owned).collect();
        (hop.end.map(|end| end.how), hop.completion().cloned(), left)
    })
    .collect()
}

fn account(how: Closing, said: Option<(&[&str], &[&str])>, left: &[&str]) -> Account {
    let said = said.map(|(done, open)| Completion { done: owned(done), open: owned(open) });
    (Some(how), said, left.iter().map(|item| (*item).to_owned()).collect())
}

/// One run from a to b, which replies with `turns`; it must end as answered.
#[track_caller]
fn of_b(relay: &Relay, turns: Vec<Turn>, check: impl FnOnce(&Session<'_>)) {
    let turns =
        std::iter::once(("a", hands(two_items("b")))).chain(turns.into_iter().map(|turn| ("b", turn)));
    let model = script(turns);
    check(&Session::new(relay, &model).say("hello").ends(RunEnd::Answered));
}

/// R19, S1-27: every item is done, so the work is; the answer in the call is the run's, and no further model call is made
/// for it.
#[test]
fn a_receiver_says_that_all_is_done() {
    of_b(&harness::relay("a -> b"), vec![completes(BOTH, "", "Six, and light.")], |session| {
        assert_eq!(session.done().answer().as_deref(), Some("Six, and light."));
        assert_eq!(accounts(session), [account(Closing::Done, Some((&["count", "weigh"], &[])), &[])]);
        let told = r#"tu_1_0={"status":"completed","done":2,"open":0}"#;
        assert_eq!(
            session.story("b").lines().skip(4).collect::<Vec<_>>(),
            [
                &*format!("assistant: {COMPLETE_HANDOFF}#tu_1_0{}", report(BOTH, "", "Six, and light.")),
                &format!("user: {told}"),
                "assistant: Six, and light.",
            ]
        );
        assert_eq!((session.run().model_calls(), session.run().trail().unfinished().count()), (2, 0));
    });
}

/// R19, T46: what is said to be open is left, and with it what was found on the way; the answer stands. The lists are kept in
/// the package's words and order, each item once, whatever order the model had.
#[test]
fn a_receiver_says_what_is_still_open() {
    let turn = completes(r#""count""#, r#""ask Ada"," weigh","weigh","ask Ada""#, "Six.");
    of_b(&harness::relay("a -> b"), vec![turn], |session| {
        let left: &[&str] = &["weigh", "ask Ada"];
        assert_eq!(accounts(session), [account(Closing::Partial, Some((&["count"], left)), left)]);
        assert_eq!(session.done().answer().as_deref(), Some("Six."));
        let unfinished: Vec<_> =
            session.run().trail().unfinished().map(|(hop, item)| format!("{}: {item}", hop.to)).collect();
        assert_eq!(unfinished, ["b: weigh", "b: ask Ada"]);
        assert_eq!(
            (session.run().trail().open().count(), session.done().status()),
            (0, DelegateStatus::Partial)
        );
    });
}

/// R19, T46: an answer in words stands, and nobody has said that the items are done. Without open items an answer means done.
#[test]
fn an_answer_in_words_leaves_the_items_open() {
    let relay = harness::relay("a -> b");
    of_b(&relay, vec![says("Six, and light.")], |session| {
        assert_eq!(session.done().answer().as_deref(), Some("Six, and light."));
        assert_eq!(accounts(session), [account(Closing::Partial, None, &["count", "weigh"])]);
    });
    for items in ["", r#","open_items":[]"#, r#","open_items":[" ","\n"]"#] {
        let package = format!(r#"{{"specialist":"b","task":"Count.","context":{{}}{items}}}"#);
        let model = script([("a", hands(package)), ("b", says("Six."))]);
        let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
        assert_eq!(accounts(&session), [account(Closing::Done, None, &[])], "{items}");
        assert!(!session.request("b", 0).tools.contains(&COMPLETE_HANDOFF.to_owned()), "{items}");
    }
}

/// What is wrong with a completion is told to the model, all of it at once, and the model mends it.
#[test]
fn a_completion_that_is_not_whole_is_told() {
    let relay = harness::relay("a -> b");
    let each =
        "each open item stands in one of `done` and `open`, to the letter: \\\"count\\\", \\\"weigh\\\"";
    let unaccounted = |what: &str| format!(r#"{{"error":"items_unaccounted","detail":"{each}; {what}"}}"#);
    let invalid = |what: &str| {
        format!(r#"{{"error":"invalid_completion","detail":"the completion is not valid: {what}"}}"#)
    };
    for (arguments, told) in [
        (
            report("", "", "Six."),
            unaccounted("missing: \\\"count\\\", \\\"weigh\\\"; in both: none; none of them: none"),
        ),
        (
            report(r#""count""#, BOTH, "Six."),
            unaccounted("missing: none; in both: \\\"count\\\"; none of them: none"),
        ),
        (
            report(r#""Count","pay""#, r#""weigh"," ""#, "Six."),
            unaccounted(
                "missing: \\\"count\\\"; in both: none; none of them: \\\"Count\\\", \\\"pay\\\", \\\"\\\"",
            ),
        ),
        (report(BOTH, "", " "), invalid("`answer` is blank")),
        (format!(r#"{{"done":[{BOTH}],"open":[]}}"#), invalid("`answer` is missing")),
        (
            r#"{"done":"count","answer":7,"note":"x"}"#.to_owned(),
            invalid(
                "`done` is a string, must be a list of strings, `answer` is a number, must be a string, `note` is no \
                 argument; legal: done, open, answer",
            ),
        ),
        ("{}".to_owned(), invalid("`done` is missing, `open` is missing, `answer` is missing")),
        (r#"{"answer":"Six."}"#.to_owned(), invalid("`done` is missing, `open` is missing")),
        (
            r#"{"open":["count"],"answer":"Six."}"#.to_owned(),
            unaccounted("missing: \\\"weigh\\\"; in both: none; none of them: none"),
        ),
        (r#"{"done":[],"done":[],"answer":"x"}"#.to_owned(), invalid("`done` stands twice")),
        ("[]".to_owned(), invalid(r#"no JSON: the arguments must be one JSON object; it begins \"[]\""#)),
    ] {
        of_b(&relay, vec![calls([(COMPLETE_HANDOFF, arguments)]), completes(BOTH, "", "Six.")], |session| {
            assert_eq!(session.results("b", 0), [format!("tu_1_0!{told}")]);
            assert_eq!(accounts(session), [account(Closing::Done, Some((&["count", "weigh"], &[])), &[])]);
        });
    }
}

/// The tool is offered in each request of an agent that was handed open items, in its place by name, until it has ended
/// its work; to no other. A call of it elsewhere finds nothing open, and to an agent that no route leads to it is unknown.
#[test]
fn the_tool_is_offered_while_items_are_open() {
    let relay = harness::relay("a -> b");
    let model = script([
        ("a", calls([(COMPLETE_HANDOFF, report("", "", "Done."))])),
        ("a", hands(two_items("b"))),
        ("b", harness::looks("tea")),
        ("b", completes(BOTH, "", "Six.")),
        ("b", calls([(COMPLETE_HANDOFF, report(BOTH, "", "Again."))])),
        ("b", says("It was six.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").say("And?").ends(RunEnd::Answered);
    let tools: Vec<(&str, String)> =
        session.asked.iter().map(|asked| (&*asked.agent, asked.tools.join(" "))).collect();
    let (a, b) = ("fail handoff_to_specialist look", "fail look");
    let offered = "complete_handoff fail look";
    let expected = [("a", a), ("a", a), ("b", offered), ("b", offered), ("b", b), ("b", b)];
    assert_eq!(tools, expected.map(|(agent, tools)| (agent, tools.to_owned())));
    assert!(session.results("a", 0)[0].starts_with(r#"tu_1_0!{"error":"unknown_tool""#));
    let nothing = r#"{"error":"nothing_open","detail":"nothing is open here; your answer ends your work"}"#;
    assert_eq!(session.results("b", 2), [format!("tu_3_0!{nothing}")]);
    assert_eq!(accounts(&session), [account(Closing::Done, Some((&["count", "weigh"], &[])), &[])]);
}

/// Who completes its work does not hand it on: beside a handoff the completion is refused, whichever stands first, and the
/// handoff is ruled on as ever. Where a person has to approve it the run can be saved meanwhile.
#[test]
fn a_completion_beside_a_handoff_is_refused() {
    let relay = team("a -> b").agent(agent("c")).route_with(Route::new("b", "c").needs_approval());
    let relay = relay.build().unwrap();
    let completion = (COMPLETE_HANDOFF, report(BOTH, "", "Six."));
    for (reply, places) in [
        ([completion.clone(), (HANDOFF_TO_SPECIALIST, to("c", "Weigh it."))], [0, 1]),
        ([(HANDOFF_TO_SPECIALIST, to("c", "Weigh it.")), completion], [1, 0]),
    ] {
        let model = script([("a", hands(two_items("b"))), ("b", calls(reply)), ("c", says("Light."))]);
        let session = Session::new(&relay, &model).say("hello");
        let question = session.open().remove(0);
        let session = session.approve(&question).ends(RunEnd::Answered);
        let results = session.results("b", 0);
        assert_eq!(
            places.map(|place| results[place].clone()),
            [
                format!(
                    "tu_1_{}!{}",
                    places[0],
                    r#"{"error":"completion_beside_handoff","detail":"the same reply hands the turn over, and work that is handed on is not completed; do one or the other"}"#
                ),
                format!(r#"tu_1_{}={{"status":"handed_over","to":"c"}}"#, places[1]),
            ]
        );
        let left = account(Closing::Partial, None, &["count", "weigh"]);
        assert_eq!(accounts(&session), [account(Closing::HandedOn, None, &[]), left]);
    }
}

/// Beside a handoff that is refused neither happens, and the model goes on.
#[test]
fn a_completion_beside_a_refused_handoff_is_refused_too() {
    let reply =
        [(COMPLETE_HANDOFF, report(BOTH, "", "Six.")), (HANDOFF_TO_SPECIALIST, to("nobody", "Go on."))];
    let relay = harness::relay("a -> b, b -> a");
    of_b(&relay, vec![calls(reply), completes("", BOTH, "Not yet.")], |session| {
        let codes: Vec<String> =
            session.results("b", 0).iter().map(|told| told.split('"').nth(3).unwrap().to_owned()).collect();
        assert_eq!(codes, ["completion_beside_handoff", "unknown_specialist"]);
        let left = ["count", "weigh"];
        assert_eq!(accounts(session), [account(Closing::Partial, Some((&[], &left)), &left)]);
    });
}

/// Of several completions in a reply the first that is whole counts; an equal one is its duplicate, another is one too
/// many, and one that is not whole is told why.
#[test]
fn the_first_whole_completion_counts() {
    let reply = [
        (COMPLETE_HANDOFF, report(r#""count""#, "", "Half.")),
        (COMPLETE_HANDOFF, report(BOTH, "", "Six.")),
        (COMPLETE_HANDOFF, report(r#""weigh","count""#, "", "Six.")),
        (COMPLETE_HANDOFF, report(BOTH, "", "Seven.")),
    ];
    of_b(&harness::relay("a -> b"), vec![calls(reply)], |session| {
        let results = session.results("b", 0);
        assert!(results[0].starts_with(r#"tu_1_0!{"error":"items_unaccounted""#), "{results:?}");
        assert_eq!(
            results[1..],
            [
                r#"tu_1_1={"status":"completed","done":2,"open":0}"#,
                r#"tu_1_2!{"error":"duplicate_completion","detail":"duplicate of tu_1_1, which has completed the work"}"#,
                r#"tu_1_3!{"error":"one_completion_per_turn","detail":"tu_1_1 has completed the work, in other words"}"#,
            ]
        );
        assert_eq!(session.done().answer().as_deref(), Some("Six."));
    });
}

/// A completion comes after all that the reply asks for besides: tools, people, delegates.
#[test]
fn a_completion_comes_last() {
    let relay = team("a -> b").may_ask_human("b");
    let relay = relay.delegate("b", Delegate::new("ask_scales", agent("scales"))).build().unwrap();
    let reply = [
        (COMPLETE_HANDOFF, report(BOTH, "", "Six, and light.")),
        ("ask_scales", harness::question("Is it heavy?")),
        (ASK_HUMAN, harness::question("Is it red?")),
        ("look", r#"{"word":"tea"}"#.to_owned()),
    ];
    let model = script([("a", hands(two_items("b"))), ("b", calls(reply)), ("scales", says("No."))]);
    let session = Session::new(&relay, &model).say("hello");
    let question = session.open().remove(0);
    let session = session.answer(&question, Answer::Say { text: "Yes.".into() }).ends(RunEnd::Answered);
    assert_eq!(
        session.results("b", 0),
        [
            r#"tu_1_0={"status":"completed","done":2,"open":0}"#,
            r#"tu_1_1={"status":"done","finding":"No.","steps_used":1}"#,
            r#"tu_1_2={"answer":"Yes."}"#,
            r#"tu_1_3="tea""#,
        ]
    );
    assert_eq!((session.order(), session.run().trail().unfinished().count()), ("a b scales".to_owned(), 0));
}

/// A completion says plainly that its answer is one, whomever it names; in words the same answer announces a handoff.
#[test]
fn a_completion_that_names_a_receiver_is_an_answer() {
    let relay = harness::relay("a -> b, b -> c");
    of_b(&relay, vec![completes(BOTH, "", "c would say six.")], |session| {
        assert_eq!(accounts(session)[0].0, Some(Closing::Done));
    });
    let model = script([("a", hands(two_items("b"))), ("b", says("c would say six."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Unresolved);
    assert_eq!(accounts(&session), [account(Closing::Partial, None, &["count", "weigh"])]);
}

/// Where the turn comes back, the sender is told which of its items are open.
#[test]
fn a_sender_is_told_what_is_open() {
    let relay = Relay::builder().agent(agent("a")).agent(agent("b")).entry("a");
    let relay = relay.route_with(Route::new("a", "b").returns()).build().unwrap();
    for (turn, told) in [
        (completes(BOTH, "", "Six."), r#"{"status":"done","finding":"Six.","steps_used":1}"#),
        (
            completes(r#""count""#, r#""weigh""#, "Six."),
            r#"{"status":"partial","finding":"Six.","reason":"items_open: \"weigh\"","steps_used":1}"#,
        ),
        (
            says("Six."),
            r#"{"status":"partial","finding":"Six.","reason":"items_open: \"count\", \"weigh\"","steps_used":1}"#,
        ),
    ] {
        let model = script([("a", hands(two_items("b"))), ("b", turn), ("a", says("Well."))]);
        let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
        assert_eq!(session.results("a", 0), [format!("tu_1_0={told}")]);
    }
}

/// x hands two items to a, which asks b on a route that returns; the turn comes back by b's own handoff.
fn handed_back(package: &str, turns: impl IntoIterator<Item = (&'static str, Turn)>) -> ScriptedModel {
    let first = [("x", hands(two_items("a"))), ("a", hands_to("b")), ("b", hands(package))];
    script(first.into_iter().chain(turns))
}

/// An agent that gets its own turn back has its open items again, but for those that are said to be done: its first hop is
/// handed on and lost from sight nowhere. So is the hop of an agent that is passed on the way back.
#[test]
fn an_agent_that_is_handed_back_the_turn_has_its_items_again() {
    let relay = team("x -> a, b -> a").route_with(Route::new("a", "b").returns()).build().unwrap();
    let package = r#"{"specialist":"a","task":"Go on.","context":{},"completed_steps":["count"],"open_items":["wrap"]}"#;
    let model = handed_back(package, [("a", completes(r#""weigh","wrap""#, "", "Six, and light."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let crossed = session.run().trail().hops()[2].package.as_ref().unwrap();
    assert_eq!(crossed.open_items(), owned(&["wrap", "weigh"]));
    let on = || account(Closing::HandedOn, None, &[]);
    assert_eq!(
        accounts(&session),
        [on(), on(), account(Closing::Done, Some((&["wrap", "weigh"], &[])), &[])]
    );

    let relay = team("x -> a, c -> a").agent(agent("b"));
    let relay = relay.route_with(Route::new("a", "b").returns()).route_with(Route::new("b", "c").returns());
    let relay = relay.build().unwrap();
    let model = handed_back(&to("c", "Go on."), [("c", hands_to("a")), ("a", completes(BOTH, "", "Six."))]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let done = account(Closing::Done, Some((&["count", "weigh"], &[])), &[]);
    assert_eq!(accounts(&session), [on(), on(), on(), done]);
    assert_eq!(session.run().trail().open().count(), 0);
}

/// A branch whose last agent leaves items open is partly done, and its asker is told how many, not which: what they handed
/// each other is their own.
#[test]
fn a_branch_with_open_items_is_partly_done() {
    let inside = || harness::relay("a -> b");
    let relay = Relay::builder().agent(agent("boss")).entry("boss");
    let relay = relay.delegate("boss", Delegate::team("ask_team", inside())).build().unwrap();
    for (turn, told) in [
        (completes(BOTH, "", "Six."), r#"{"status":"done","finding":"Six.","steps_used":2}"#),
        (
            completes(r#""count""#, r#""weigh""#, "Six."),
            r#"{"status":"partial","finding":"Six.","reason":"items_open: 1","steps_used":2}"#,
        ),
    ] {
        let model = script([
            ("boss", calls([("ask_team", harness::question("How many?"))])),
            ("a", hands(two_items("b"))),
            ("b", turn),
            ("boss", says("Well.")),
        ]);
        let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
        assert_eq!(session.results("boss", 0), [format!("tu_1_0={told}")]);
    }
}

/// Work that was stopped leaves its items open, however it was stopped.
#[test]
fn what_is_stopped_leaves_its_items_open() {
    let relay = harness::relay("a -> b");
    let left = ["count", "weigh"];
    let model = script([("a", hands(two_items("b")))]);
    let mut at_b = None;
    drop(
        Session::new(&relay, &model)
            .at_each_step(|step| {
                if step.run().active().as_str() == "b" && !matches!(step, Step::Done(_)) {
                    at_b = Some(step.clone());
                }
                step
            })
            .say("hello"),
    );
    let done = at_b.unwrap().cancel(&relay, "enough", 9);
    let told: Vec<_> = done.run().trail().unfinished().map(|(_, item)| item).collect();
    assert_eq!((told, done.run().trail().hops()[0].end.unwrap().how), (left.to_vec(), Closing::Cancelled));
    assert!(relay.load(&Step::Done(done).save().unwrap()).is_ok());
}

/// The tool's name is kept.
#[test]
fn the_name_of_the_tool_is_kept() {
    let reserved =
        |agent: &str| BuildError::ReservedTool { agent: agent.into(), tool: COMPLETE_HANDOFF.into() };
    let delegate = Delegate::new(COMPLETE_HANDOFF, agent("c"));
    assert!(team("a -> b").delegate("a", delegate).build().unwrap_err().0.contains(&reserved("a")));
    let own =
        Tool::new(COMPLETE_HANDOFF, "Mine.", |_: harness::Nothing, _: &CallContext<'_>| Ok::<_, Failure>(1));
    let alone = Relay::builder().agent(agent("a").tools([own])).entry("a").build();
    assert_eq!(alone.unwrap_err().0, [reserved("a")]);
}

/// A saved run that says of its items what nobody has said is not loaded.
#[test]
fn a_tampered_account_is_not_loaded() {
    let relay = harness::relay("a -> b");
    let saved = |turn: Turn| {
        let model = script([("a", hands(two_items("b"))), ("b", turn)]);
        Step::Done(Session::new(&relay, &model).say("hello").into_done()).save().unwrap()
    };
    let check = |saved: &str, from: &str, to: &str| {
        assert!(saved.contains(from), "{from} is not in {saved}");
        let told = "how a hop ended is not what was said of its open items".to_owned();
        assert_eq!(relay.load(&saved.replacen(from, to, 1)), Err(LoadError::NotAStep(told)), "{to}");
    };
    let open = saved(says("Six."));
    check(&open, r#""how":"partial""#, r#""how":"done""#);
    check(
        &open,
        r#""end":{"how":"partial","#,
        r#""account":{"completion":{"done":["count"],"open":[]}},"end":{"how":"partial","#,
    );
    let done = saved(completes(r#""count""#, r#""weigh""#, "Six."));
    check(&done, r#""how":"partial""#, r#""how":"done""#);
    check(&done, r#""how":"partial""#, r#""how":"failed""#);
    check(&done, r#""done":["count"],"open":["weigh"]}}"#, r#""done":["count"],"open":[]}}"#);
    check(&done, r#"{"completion":{"done":["count"]"#, r#"{"completion":{"done":["count","weigh"]"#);
    check(&done, r#"{"completion":{"done":["count"]"#, r#"{"completion":{"done":["pay"]"#);
    let none = saved(completes(BOTH, "", "Six."));
    check(&none, r#"{"completion":{"done":["count","weigh"]"#, r#"{"completion":{"done":["count"]"#);
    let without = none.replacen(
        r#","open_items":["count"," weigh "]},"package_bytes":71"#,
        r#"},"package_bytes":38"#,
        1,
    );
    assert_ne!(without, none);
    check(&without, "", "");
}

/// R19: what is on record of open items is what their receiver said in a completion, to the letter, and of nobody who said
/// none.
#[test]
fn a_completion_that_nobody_said_is_not_loaded() {
    let relay = harness::relay("a -> b");
    let saved = |turn: Turn| {
        let model = script([("a", hands(two_items("b"))), ("b", turn)]);
        Step::Done(Session::new(&relay, &model).say("hello").into_done()).save().unwrap()
    };
    let said_nothing = r#""end":{"how":"partial","#;
    let all_done = r#""account":{"completion":{"done":["count","weigh"],"open":[]}},"end":{"how":"done","#;
    let one = r#"{"completion":{"done":["count"],"open":["weigh"]}"#;
    let other = r#"{"completion":{"done":["weigh"],"open":["count"]}"#;
    for (saved, from, to) in [
        (saved(says("Six.")), said_nothing, all_done),
        (saved(completes(r#""count""#, r#""weigh""#, "Six.")), one, other),
    ] {
        assert!(saved.contains(from), "{from} is not in {saved}");
        assert!(relay.load(&saved).is_ok());
        let told = "what is on record of open items is not what their receiver said".to_owned();
        assert_eq!(relay.load(&saved.replacen(from, to, 1)), Err(LoadError::NotAStep(told)), "{to}");
    }
}

/// What a refused completion is told is short, however many items there are: the first of them, and how many are left out.
/// All of them stand in the package.
#[test]
fn what_a_refused_completion_is_told_is_short() {
    let items: Vec<String> = (0..900).map(|n| format!("\"{n:060}\"")).collect();
    let written =
        |open: &str| format!(r#"{{"specialist":"b","task":"Go on.","context":{{}},"open_items":[{open}]}}"#);
    let policy = PackagePolicy { package_bytes: 64 * 1024, ..PackagePolicy::minimal() };
    let route = Route::new("a", "b").policy(policy).returns();
    let relay =
        Relay::builder().agent(agent("a")).agent(agent("b")).entry("a").route_with(route).build().unwrap();
    let model = script([
        ("a", hands(written(&items.join(",")))),
        ("b", completes("", "", "Six.")),
        ("b", says("Six.")),
        ("a", says("Well then.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let told = session.results("b", 0).remove(0);
    let first: Vec<String> = items.iter().take(16).map(|item| item.replace('"', "\\\"")).collect();
    let first = format!("{}, and 884 more", first.join(", "));
    assert_eq!(
        told,
        format!(
            "tu_1_0!{{\"error\":\"items_unaccounted\",\"detail\":\"each open item stands in one of `done` and `open`, to the letter: {first}; missing: {first}; in both: none; none of them: none\"}}"
        )
    );
    let told = session.results("a", 0).remove(0);
    assert_eq!(
        told,
        format!(
            r#"tu_1_0={{"status":"partial","finding":"Six.","reason":"items_open: {first}","steps_used":2}}"#
        )
    );
}

/// The user answers what a receiver has asked back, which goes on with its work: the items are open again, it may complete
/// them, and the work ends as it then does. So does work that was called off, and goes on by the user's word.
#[test]
fn work_goes_on_by_the_users_word() {
    let relay = harness::relay("a -> b");
    let model = script([
        ("a", hands(two_items("b"))),
        ("b", says("Which one?")),
        ("b", completes(BOTH, "", "Six, and light.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends_leaving(RunEnd::Answered, &[("b", 2)]);
    assert_eq!(accounts(&session), [account(Closing::Partial, None, &["count", "weigh"])]);
    let session = session.say("The red one.").ends(RunEnd::Answered);
    assert_eq!(session.request("b", 0).tools, session.request("b", 1).tools);
    assert_eq!(accounts(&session), [account(Closing::Done, Some((&["count", "weigh"], &[])), &[])]);

    let model = script([("a", hands_to("b")), ("b", says("Done it."))]);
    let Step::CallModel(call) = relay.start("conv", "hello").unwrap() else { panic!("a is asked") };
    let reply = Model::complete(&model, call.request(&relay));
    let Step::HandOff(handoff) = call.resume(&relay, reply, 1) else { panic!("a hands over") };
    let done = handoff.take(&relay, 1).cancel(&relay, "no", 2);
    let how = |done: &Done| done.run().trail().hops()[0].end.unwrap().how;
    assert_eq!(how(&done), Closing::Cancelled);
    let Step::CallModel(call) = done.hear(&relay, Words::new("Do it.").unwrap()) else {
        panic!("b is asked")
    };
    let reply = Model::complete(&model, call.request(&relay));
    let Step::Done(done) = call.resume(&relay, reply, 3) else { panic!("b answers") };
    assert_eq!(how(&done), Closing::Done);
}

/// Code carries what is open from hop to hop, as it carries what binds: an item that a sender leaves out goes on to the next
/// receiver, unless it is said to be done or is what the receiver is to do; one that is handed on by name stands once. Who gets the turn back has it again.
/// A sender that waits for the answer keeps its own.
#[test]
fn no_item_is_lost_by_handing_on() {
    let handed = |to: &str, task: &str, more: &str| {
        hands(format!(r#"{{"specialist":"{to}","task":"{task}","context":{{}}{more}}}"#))
    };
    let package = |to: &str, more: &str| handed(to, "Look after it.", more);
    let row = harness::relay("a -> b, b -> c");
    let model = script([("a", hands(two_items("b"))), ("b", handed("c", "weigh", "")), ("c", says("Six."))]);
    let session = Session::new(&row, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.run().trail().hops()[1].package.as_ref().unwrap().open_items(), owned(&["count"]));
    for (more, open, done) in [
        ("", vec!["count", "weigh"], vec![]),
        (r#","open_items":["sort","weigh "]"#, vec!["sort", "weigh ", "count"], vec![]),
        (r#","completed_steps":["count"]"#, vec!["weigh"], vec!["count"]),
    ] {
        let model = script([("a", hands(two_items("b"))), ("b", package("c", more)), ("c", says("Six."))]);
        let session = Session::new(&row, &model).say("hello").ends(RunEnd::Answered);
        let crossed = session.run().trail().hops()[1].package.clone().unwrap();
        assert_eq!((crossed.open_items(), crossed.completed_steps()), (&owned(&open)[..], &owned(&done)[..]));
        let left: Vec<&str> = open.iter().map(|item| item.trim()).collect();
        let handed_on = account(Closing::HandedOn, None, &[]);
        assert_eq!(accounts(&session), [handed_on, account(Closing::Partial, None, &left)]);
    }

    let builder = team("a -> b").agent(agent("c")).agent(agent("d"));
    let builder =
        builder.route_with(Route::new("b", "c").returns()).route_with(Route::new("c", "d").returns());
    let relay = builder.route("d", "b").build().unwrap();
    let item = |name: &str| format!(r#","open_items":["{name}"]"#);
    let model = script([
        ("a", package("b", &item("count"))),
        ("b", package("c", &item("weigh"))),
        ("c", package("d", "")),
        ("d", package("b", "")),
        ("b", says("Six.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let on = || account(Closing::HandedOn, None, &[]);
    assert_eq!(accounts(&session), [on(), on(), on(), account(Closing::Partial, None, &["count", "weigh"])]);
    let open = |n: usize| session.run().trail().hops()[n].package.clone().unwrap().open_items().to_vec();
    assert_eq!([open(1), open(2), open(3)], [owned(&["weigh"]), owned(&[]), owned(&["count", "weigh"])]);
}
