//! Delegates: an agent asks others and keeps the turn.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    BOTH, Down, Session, Turn, agent, calls, desk, hands, looks, name, question, says, says_and_looks,
    script, story, to, tool_name,
};
use sommelier_handoff::{
    Delegate, DelegateRefusal, DelegateResult, DelegateStatus, HANDOFF_TO_SPECIALIST, HandoffPackage, Link,
    LinkOutcome, PackageError, RunEnd, Step,
};
use sommelier_protocol::openai::{self, ChatMessage};
use sommelier_protocol::{Message, ModelRequest, System};
use sommelier_runtime::script;
use std::iter::once;

/// S3-06, S3-07, S3-08, S3-10: two delegates are asked in one reply; each answers with its finding and the steps it used,
/// in the order of the calls, and the asker goes on.
#[test]
fn delegates_are_asked_and_the_asker_keeps_the_turn() {
    let relay = desk().build().unwrap();
    let model = script([
        ("supervisor", calls(BOTH)),
        ("billing", looks("INV-311")),
        ("billing", says("Paid twice.")),
        ("shipping", says("In transit.")),
        ("supervisor", says("Twice, and on its way.")),
    ]);
    let session = Session::new(&relay, &model).say("INV-311 and A-7?").ends(RunEnd::Answered);
    assert_eq!(session.order(), "supervisor billing billing shipping supervisor");
    assert_eq!(
        session.results("supervisor", 0),
        [
            r#"tu_1_0={"status":"done","finding":"Paid twice.","steps_used":2}"#,
            r#"tu_1_1={"status":"done","finding":"In transit.","steps_used":1}"#,
        ]
    );
    assert_eq!(session.done().answer().as_deref(), Some("Twice, and on its way."));
}

/// The turns of an agent that takes so many model calls to its answer.
fn takes(
    agent: &'static str,
    steps: usize,
    answer: &'static str,
) -> impl Iterator<Item = (&'static str, Turn)> {
    let on_the_way = (1..steps).map(move |n| (agent, looks(&format!("{agent} {n}"))));
    on_the_way.chain(once((agent, says(answer))))
}

/// S3-09: the asker's conversation is six messages in the form of a chat (system, user, two calls, a result for each,
/// answer), and four and a system prompt in the form of Messages, however many steps its delegates took.
#[test]
fn the_asker_holds_six_messages_however_long_its_delegates_worked() {
    let relay = desk().build().unwrap();
    for (billing, shipping) in (1..=3).flat_map(|billing| (1..=3).map(move |shipping| (billing, shipping))) {
        let turns = once(("supervisor", calls(BOTH)))
            .chain(takes("billing", billing, "Paid twice."))
            .chain(takes("shipping", shipping, "In transit."))
            .chain(once(("supervisor", says("Twice, and on its way."))));
        let model = script(turns);
        let session = Session::new(&relay, &model).say("INV-311 and A-7?").ends(RunEnd::Answered);
        let found = [
            format!(r#"{{"status":"done","finding":"Paid twice.","steps_used":{billing}}}"#),
            format!(r#"{{"status":"done","finding":"In transit.","steps_used":{shipping}}}"#),
        ];

        let last = session.request("supervisor", 1);
        let messages = session.run().idle("supervisor").unwrap().messages();
        assert_eq!(messages[..3], last.messages);
        assert_eq!(
            (last.system.as_str(), story(messages)),
            (
                "You are supervisor.",
                format!(
                    "user: INV-311 and A-7?\n\
                     assistant: ask_billing#tu_1_0{} | ask_shipping#tu_1_1{}\n\
                     user: tu_1_0={} | tu_1_1={}\n\
                     assistant: Twice, and on its way.",
                    BOTH[0].1, BOTH[1].1, found[0], found[1]
                )
            )
        );

        let request = ModelRequest {
            system: Some(std::borrow::Cow::Owned(System::Text(last.system.as_str().into()))),
            ..ModelRequest::new("", 0, messages)
        };
        let call = |n: usize| openai::call(BOTH[n].0, BOTH[n].1).with_id(format!("tu_1_{n}"));
        assert_eq!(
            openai::to_chat(&request),
            [
                ChatMessage::system("You are supervisor."),
                ChatMessage::user("INV-311 and A-7?"),
                ChatMessage::calls(vec![call(0), call(1)]),
                ChatMessage::tool("tu_1_0", found[0].as_str()),
                ChatMessage::tool("tu_1_1", found[1].as_str()),
                openai::answer("Twice, and on its way."),
            ]
        );
    }
}

/// A link as it should be; the run in it is taken over from the one that was found, which is looked at by itself.
fn link(found: &Link, place: usize, tool: &str, package: HandoffPackage, result: DelegateResult) -> Link {
    Link {
        id: format!("conv/1/1/{place}").into(),
        from: name("supervisor"),
        tool: tool_name(tool),
        call_id: format!("tu_1_{place}").into(),
        at: 1001,
        package_bytes: package.to_json().len(),
        package: Some(package),
        outcome: LinkOutcome::Returned { at: 1009, result, run: Box::new(found.run().unwrap().clone()) },
    }
}

/// S3-10, S3-11, C146: for each question the record says which run asked, which run answered, by which tool, and what was
/// found or went wrong; results stand in the order of the calls, and one that fails takes nothing from the others.
#[test]
fn who_asked_whom_and_what_came_of_it_is_recorded() {
    let relay = desk().delegate("supervisor", Delegate::new("ask_law", agent("law"))).build().unwrap();
    let script = script([
        (
            "supervisor",
            calls([
                ("ask_law", question("May we refund?")),
                (
                    "ask_billing",
                    r#"{"question":"Was INV-311 paid twice?","context":{"cents":6000}}"#.to_owned(),
                ),
                ("ask_shipping", "{}".to_owned()),
                ("ask_billing", question("And INV-312?")),
            ]),
        ),
        ("billing", looks("INV")),
        ("billing", Box::new(|request| script::say(format!("Yes: {}", script::first_words(request).len())))),
        ("supervisor", says("Paid twice.")),
    ]);
    let model = Down { model: &script, agents: &["law"] };
    let session = Session::with(&relay, &model).say("INV-311?").ends(RunEnd::Answered);

    let links = session.run().links();
    let refused = Link {
        id: "conv/1/1/2".into(),
        from: name("supervisor"),
        tool: tool_name("ask_shipping"),
        call_id: "tu_1_2".into(),
        at: 1001,
        package: None,
        package_bytes: 0,
        outcome: LinkOutcome::Refused {
            refusal: DelegateRefusal::InvalidQuestion {
                errors: vec![PackageError::Missing { field: "question".to_owned() }],
            },
        },
    };
    let asked = [
        HandoffPackage::new("May we refund?"),
        HandoffPackage::new("Was INV-311 paid twice?").context("cents", &6000).unwrap(),
        HandoffPackage::new("And INV-312?"),
    ];
    let words = |n: usize| asked[n].to_question(&name("supervisor")).len();
    let done = |n: usize| DelegateResult {
        status: DelegateStatus::Done,
        finding: Some(format!("Yes: {}", words(n)).into()),
        reason: None,
        steps_used: 2,
        effects: Vec::new(),
        action_needed: None,
        evidence: Vec::new(),
    };
    let failed = DelegateResult {
        status: DelegateStatus::Failed,
        finding: None,
        reason: Some("failed: unreachable".into()),
        steps_used: 0,
        effects: Vec::new(),
        action_needed: None,
        evidence: Vec::new(),
    };
    assert_eq!(
        links,
        [
            refused,
            link(&links[1], 0, "ask_law", asked[0].clone(), failed),
            link(&links[2], 1, "ask_billing", asked[1].clone(), done(1)),
            link(&links[3], 3, "ask_billing", asked[2].clone(), done(2)),
        ]
    );
    let runs: Vec<(&str, &str, &str)> = links
        .iter()
        .filter_map(|link| Some((link.run()?.run(), link)))
        .map(|(run, link)| (run.conversation(), &*link.id, run.active().as_str()))
        .collect();
    assert_eq!(
        runs,
        [
            ("conv/1/1/0", "conv/1/1/0", "law"),
            ("conv/1/1/1", "conv/1/1/1", "billing"),
            ("conv/1/1/3", "conv/1/1/3", "billing"),
        ]
    );
    assert_eq!(
        session.results("supervisor", 0),
        [
            r#"tu_1_0!{"status":"failed","finding":null,"reason":"failed: unreachable","steps_used":0}"#.to_owned(),
            format!(r#"tu_1_1={{"status":"done","finding":"Yes: {}","steps_used":2}}"#, words(1)),
            r#"tu_1_2!{"error":"invalid_question","detail":"the question is not valid: `question` is missing"}"#.to_owned(),
            format!(r#"tu_1_3={{"status":"done","finding":"Yes: {}","steps_used":2}}"#, words(2)),
        ]
    );
}

/// S3-26, C107: a branch reads its question and nothing else of the asker; the asker reads the finding and nothing else
/// of the branch.
#[test]
fn neither_looks_into_the_other() {
    let relay = desk().build().unwrap();
    let package = r#"{"question":"Was QUESTION-1 paid?","context":{"cents":6000}}"#;
    let model = script([
        ("supervisor", looks("ASKER-2")),
        ("supervisor", says_and_looks("ASKER-3", "ASKER-4")),
        ("supervisor", calls([("ask_billing", package)])),
        ("billing", says_and_looks("BRANCH-1", "BRANCH-2")),
        ("billing", looks("BRANCH-3")),
        ("billing", says("FINDING-1")),
        ("supervisor", says("Paid.")),
    ]);
    let session = Session::new(&relay, &model).say("ASKER-1").ends(RunEnd::Answered);
    let told = HandoffPackage::new("Was QUESTION-1 paid?").context("cents", &6000).unwrap();
    let told = told.to_question(&name("supervisor"));
    assert_eq!(
        story(&session.request("billing", 2).messages),
        format!(
            "user: {told}\n\
             assistant: BRANCH-1 | look#tu_1_0{{\"word\":\"BRANCH-2\"}}\n\
             user: tu_1_0=\"BRANCH-2\"\n\
             assistant: look#tu_2_0{{\"word\":\"BRANCH-3\"}}\n\
             user: tu_2_0=\"BRANCH-3\""
        )
    );
    let of = |agent: &str| -> Vec<&str> {
        session.asked.iter().filter(|asked| asked.agent == agent).map(|asked| asked.json.as_str()).collect()
    };
    let holding = |agent: &str, marker: &str| of(agent).iter().filter(|json| json.contains(marker)).count();
    assert_eq!((of("supervisor").len(), of("billing").len()), (4, 3));
    for marker in ["ASKER-1", "ASKER-2", "ASKER-3", "ASKER-4", "You are supervisor."] {
        assert_eq!((holding("billing", marker), holding("supervisor", marker) > 0), (0, true), "{marker}");
    }
    for marker in ["BRANCH-1", "BRANCH-2", "BRANCH-3", "You are billing."] {
        assert_eq!((holding("supervisor", marker), holding("billing", marker) > 0), (0, true), "{marker}");
    }
    assert_eq!((holding("billing", "QUESTION-1"), holding("supervisor", "FINDING-1")), (3, 1));
}

/// A desk in which refunds wait for billing, and letters wait for refunds.
fn waiting_desk() -> sommelier_handoff::Relay {
    desk()
        .delegate("supervisor", Delegate::new("ask_refunds", agent("refunds")).after("ask_billing"))
        .delegate("supervisor", Delegate::new("ask_letters", agent("letters")).after("ask_refunds"))
        .build()
        .unwrap()
}

/// R21, S3-30: a question that needs another's finding is refused in the reply that asks both, in whichever order they
/// stand, and over one between them; in a later reply it is asked.
#[test]
fn a_question_that_needs_a_finding_waits_for_it() {
    let relay = waiting_desk();
    let not_yet = |n: &str, tool: &str, after: &str| {
        format!(
            r#"tu_{n}!{{"error":"not_yet","detail":"{tool} waits for the finding of {after}, which this reply asks too; ask it when that is there"}}"#
        )
    };
    let done = |n: &str| format!(r#"tu_{n}={{"status":"done","finding":"Yes.","steps_used":1}}"#);
    let ask = |tools: &[&'static str]| calls(tools.iter().map(|tool| (*tool, question("Well?"))));
    let (billing, refunds, letters) = ("ask_billing", "ask_refunds", "ask_letters");
    let cases = [
        ([billing, refunds], [done("1_0"), not_yet("1_1", refunds, billing)]),
        ([refunds, billing], [not_yet("1_0", refunds, billing), done("1_1")]),
        ([letters, billing], [not_yet("1_0", letters, billing), done("1_1")]),
        ([letters, "ask_shipping"], [done("1_0"), done("1_1")]),
    ];
    for (tools, results) in cases {
        let mut turns = vec![("supervisor", ask(&tools)), ("supervisor", ask(&[refunds]))];
        turns.extend(
            ["billing", "refunds", "letters", "shipping", "supervisor"].map(|agent| (agent, says("Yes."))),
        );
        let model = script(turns);
        let session = Session::new(&relay, &model).say("Well?");
        assert_eq!(session.done().end(), &RunEnd::Answered);
        assert_eq!(session.results("supervisor", 0), results);
        assert_eq!(session.results("supervisor", 1), [done("2_0")]);
        let opened = session.run().links().iter().filter(|link| link.run().is_some()).count();
        assert_eq!(opened, 1 + results.iter().filter(|result| result.contains("done")).count());
    }
}

/// R21, S3-06: what an asker is told of its delegates: what each is for, that the question must stand for itself, and
/// whose findings it needs.
#[test]
fn the_asker_is_told_what_a_delegate_is_for_and_what_it_waits_for() {
    let relay = desk()
        .delegate(
            "supervisor",
            Delegate::new("ask_refunds", agent("refunds").purpose("Decides refunds.")).after("ask_billing"),
        )
        .delegate(
            "supervisor",
            Delegate::new("ask_letters", agent("letters")).purpose("Writes.").after("ask_refunds"),
        )
        .build()
        .unwrap();
    let supervisor = relay.agent("supervisor").unwrap();
    let told = |tool: &str| {
        let definition = supervisor.definitions().iter().find(|definition| definition.name.as_str() == tool);
        definition.unwrap().description.as_deref().unwrap().to_owned()
    };
    let always = " You keep the turn and get a finding. It sees nothing of this conversation: `question` must stand for \
                  itself, ids included. Questions that do not need each other's findings may be asked in one reply.";
    assert_eq!(told("ask_billing"), format!("Asks a specialist.{always}"));
    let later = "ask it in a later reply than that.";
    assert_eq!(
        told("ask_refunds"),
        format!("Decides refunds.{always} Needs the finding of ask_billing: {later}")
    );
    assert_eq!(
        told("ask_letters"),
        format!("Writes.{always} Needs the finding of ask_billing, ask_refunds: {later}")
    );
    let names: Vec<&str> = supervisor.definitions().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["ask_billing", "ask_letters", "ask_refunds", "ask_shipping", "fail", "look"]);
}

/// R12: a reply with an own tool, a question and a handoff, in any order: the tool runs, then the delegate is asked, then
/// the turn is handed over. Each call has one result, in the order of the calls, and the receiver reads the package alone.
#[test]
fn a_reply_with_a_tool_a_question_and_a_handoff_does_all_three_in_this_order() {
    let relay = desk().agent(agent("policy")).route("supervisor", "policy").build().unwrap();
    let tool = ("look", r#"{"word":"OWN-TOOL"}"#.to_owned(), r#"="OWN-TOOL""#);
    let asks = ("ask_billing", question("Paid?"), r#"={"status":"done","finding":"FINDING","steps_used":2}"#);
    let hands =
        (HANDOFF_TO_SPECIALIST, to("policy", "Decide."), r#"={"status":"handed_over","to":"policy"}"#);
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let package = HandoffPackage::new("Decide.").to_prompt(&name("supervisor"));
    for order in orders {
        let reply = order.map(|n| [&tool, &asks, &hands][n].clone());
        let model = script([
            ("supervisor", calls(reply.iter().map(|(tool, input, _)| (*tool, input.clone())))),
            ("billing", looks("BRANCH")),
            ("billing", says("FINDING")),
            ("policy", says("Refund it.")),
        ]);
        let mut kinds = Vec::new();
        let session = Session::new(&relay, &model).at_each_step(|step| {
            kinds.push(match &step {
                Step::CallModel(_) => "model",
                Step::CallTools(_) => "tools",
                Step::AskHuman(_) => "human",
                Step::Delegate(_) => "delegate",
                Step::HandOff(_) => "handoff",
                Step::Done(_) => "done",
            });
            step
        });
        let session = session.say("hello").ends(RunEnd::Answered);
        assert_eq!(session.order(), "supervisor billing billing policy");
        let place = order.iter().position(|n| *n == 0).unwrap();
        let question = order.iter().position(|n| *n == 1).unwrap();
        assert_eq!(
            session.ran,
            [
                ("look".to_owned(), format!("conv/1/1/{place}")),
                ("look".to_owned(), format!("conv/1/1/{question}/1/1/0")),
            ]
        );
        let results: Vec<String> =
            reply.iter().enumerate().map(|(n, (_, _, words))| format!("tu_1_{n}{words}")).collect();
        assert_eq!(session.results("supervisor", 0), results);
        assert_eq!(session.trail(), ["supervisor -> policy: taken 1"]);
        let read = &session.request("policy", 0).messages;
        assert_eq!(*read, [Message::user(package.as_str())]);
        drop(session);
        // Four times the branch is open: it asks, looks, asks, and has ended.
        assert_eq!(
            kinds,
            ["model", "tools", "delegate", "delegate", "delegate", "delegate", "handoff", "model", "done"]
        );
    }
}

/// A question beside a handoff that is refused is answered all the same, and the asker goes on with both results.
#[test]
fn a_question_beside_a_refused_handoff_is_answered() {
    let relay = desk().agent(agent("policy")).route("supervisor", "policy").build().unwrap();
    let model = script([
        (
            "supervisor",
            calls([(HANDOFF_TO_SPECIALIST, to("nobody", "t")), ("ask_billing", question("Paid?"))]),
        ),
        ("billing", says("Twice.")),
        ("supervisor", says("Twice.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.trail(), ["supervisor -> nobody: unknown_specialist"]);
    assert_eq!(
        session.results("supervisor", 0),
        [
            r#"tu_1_0!{"error":"unknown_specialist","detail":"there is no specialist \"nobody\"; legal: policy","legal":["policy"]}"#,
            r#"tu_1_1={"status":"done","finding":"Twice.","steps_used":1}"#,
        ]
    );
}

/// What is asked once may be asked again in a later reply, and after the user has spoken: each has a run and an id of its
/// own.
#[test]
fn a_delegate_may_be_asked_again() {
    let relay = desk().build().unwrap();
    let model = script([
        ("supervisor", calls([("ask_billing", question("One?"))])),
        ("supervisor", calls([("ask_billing", question("Two?"))])),
        ("supervisor", says("Both.")),
        ("supervisor", calls([("ask_billing", question("Three?"))])),
        ("supervisor", says("All.")),
        ("billing", Box::new(|request| script::say(script::first_words(request).len().to_string()))),
    ]);
    let session = Session::new(&relay, &model).say("one").say("two").ends(RunEnd::Answered);
    let links: Vec<(&str, &str)> =
        session.run().links().iter().map(|link| (&*link.id, link.package.as_ref().unwrap().task())).collect();
    assert_eq!(links, [("conv/1/1/0", "One?"), ("conv/1/2/0", "Two?"), ("conv/2/4/0", "Three?")]);
    let asked: Vec<usize> = session
        .asked
        .iter()
        .filter(|asked| asked.agent == "billing")
        .map(|asked| asked.messages.len())
        .collect();
    assert_eq!(asked, [1, 1, 1]);
}

/// How far a delegate came: it answered, a limit stopped it after it had said something, a limit stopped it before, it
/// could not be asked.
#[test]
fn a_result_says_how_far_the_delegate_came_and_why() {
    let limited = |tool: &str, agent_name: &str| Delegate::new(tool, agent(agent_name)).max_model_calls(1);
    let relay = desk()
        .delegate("supervisor", limited("ask_law", "law"))
        .delegate("supervisor", limited("ask_press", "press"))
        .build()
        .unwrap();
    let script = script([
        (
            "supervisor",
            calls(
                ["ask_billing", "ask_law", "ask_press", "ask_shipping"].map(|tool| (tool, question("Well?"))),
            ),
        ),
        ("billing", looks("INV")),
        ("billing", says("All of it.")),
        ("law", says_and_looks("Half of it.", "BGB")),
        ("press", looks("news")),
        ("supervisor", says("So far.")),
    ]);
    let model = Down { model: &script, agents: &["shipping"] };
    let session = Session::with(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(script.unused(), []);
    let results: Vec<DelegateResult> =
        session.run().links().iter().map(|link| link.result().unwrap().clone()).collect();
    let result = |status, finding: Option<&str>, reason: Option<&str>, steps_used| DelegateResult {
        status,
        finding: finding.map(Into::into),
        reason: reason.map(Into::into),
        steps_used,
        effects: Vec::new(),
        action_needed: None,
        evidence: Vec::new(),
    };
    let spent = Some("budget_spent: 1 model call(s)");
    let down = Some("failed: unreachable");
    assert_eq!(
        results,
        [
            result(DelegateStatus::Done, Some("All of it."), None, 2),
            result(DelegateStatus::Partial, Some("Half of it."), spent, 1),
            result(DelegateStatus::Failed, None, spent, 1),
            result(DelegateStatus::Failed, None, down, 0),
        ]
    );
    let is_error = |link: &Link| {
        session
            .results("supervisor", 0)
            .iter()
            .any(|result| result.starts_with(&format!("{}!", link.call_id)))
    };
    let errors: Vec<bool> = session.run().links().iter().map(is_error).collect();
    assert_eq!(errors, [false, false, true, true]);
}

/// A delegate that is switched off is not asked, and the asker is told; switched on again, it is.
#[test]
fn a_delegate_can_be_switched_off() {
    let relay = desk().build().unwrap();
    let model = script([
        ("supervisor", calls(BOTH)),
        ("supervisor", calls([BOTH[0]])),
        ("billing", says("Paid twice.")),
        ("shipping", says("In transit.")),
        ("supervisor", says("Now.")),
    ]);
    let (asker, tool) = (name("supervisor"), tool_name("ask_billing"));
    let session = Session::new(&relay, &model).at_each_step(|step| match step.run().model_calls() {
        0 => step.switch_off(asker.clone(), tool.clone()),
        _ => step.switch_on(&asker, &tool),
    });
    let session = session.say("hello").ends(RunEnd::Answered);
    assert_eq!(session.order(), "supervisor shipping supervisor billing supervisor");
    assert_eq!(
        session.results("supervisor", 0),
        [
            r#"tu_1_0!{"error":"tool_switched_off","detail":"ask_billing is switched off for now"}"#,
            r#"tu_1_1={"status":"done","finding":"In transit.","steps_used":1}"#,
        ]
    );
    let refusal = DelegateRefusal::SwitchedOff { tool: tool_name("ask_billing") };
    assert_eq!(session.run().links()[0].outcome, LinkOutcome::Refused { refusal });
}

/// A tool of a delegate can be switched off before it is asked, and while its branch is open, at any depth.
#[test]
fn a_tool_of_a_delegate_can_be_switched_off_at_any_time() {
    let inner = sommelier_handoff::Relay::builder()
        .agent(agent("mid"))
        .delegate("mid", Delegate::new("ask_leaf", agent("leaf")))
        .entry("mid")
        .build()
        .unwrap();
    let relay =
        desk().delegate("supervisor", Delegate::team("ask_mid", inner).max_model_calls(9)).build().unwrap();
    let off = r#"tu_1_0!{"error":"tool_switched_off","detail":"look is switched off for now"}"#;
    // At which of the steps: before anything was asked, when the middle one is asked, when the leaf is.
    for when in 0..3 {
        let model = script([
            ("supervisor", calls([("ask_mid", question("Well?"))])),
            ("mid", calls([("ask_leaf", question("Well?"))])),
            ("leaf", looks("LEAF")),
            ("leaf", says("Could not look.")),
            ("mid", says("Nothing.")),
            ("supervisor", says("Nothing.")),
        ]);
        let mut steps = 0;
        let session = Session::new(&relay, &model).at_each_step(|step| {
            steps += 1;
            if steps == when + 1 { step.switch_off(name("leaf"), tool_name("look")) } else { step }
        });
        let session = session.say("hello").ends(RunEnd::Answered);
        assert_eq!(session.order(), "supervisor mid leaf leaf mid supervisor");
        let told = story(&session.request("leaf", 1).messages);
        assert!(told.ends_with(off), "switched off at step {when}: {told}");
        assert_eq!(session.ran, []);
    }
}

/// A finding that is larger than a result of the asker may be is told by its size, and on record as it was told; the
/// branch's own run has it whole.
#[test]
fn a_finding_that_is_too_large_is_not_cut() {
    let limits = sommelier_runtime::Limits { result_bytes: 100, ..Default::default() };
    let relay = sommelier_handoff::Relay::builder()
        .agent(agent("supervisor").limits(limits))
        .delegate("supervisor", Delegate::new("ask_billing", agent("billing")))
        .entry("supervisor")
        .build()
        .unwrap();
    let long = "x".repeat(200);
    let model = script([
        ("supervisor", calls([BOTH[0]])),
        ("billing", Box::new(move |_| script::say("x".repeat(200)))),
        ("supervisor", says("Too long.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    let link = &session.run().links()[0];
    let told = r#"{"status":"failed","finding":null,"reason":"result_too_large: 245 bytes, at most 100","steps_used":1}"#;
    assert_eq!(serde_json::to_string(link.result().unwrap()).unwrap(), told);
    assert_eq!(session.results("supervisor", 0), [format!("tu_1_0!{told}")]);
    assert_eq!(link.run().unwrap().answer(), Some(long));
}

/// A handoff in the branch's words is not the asker's: a delegate that hands over has a route of its own team, and the
/// tool of the handoff is not on offer to an agent that is asked alone.
#[test]
fn an_agent_that_is_asked_alone_has_nobody_to_hand_over_to() {
    let relay = desk().agent(agent("policy")).route("supervisor", "policy").build().unwrap();
    let model = script([
        ("supervisor", calls([BOTH[0]])),
        ("billing", hands(to("policy", "Decide."))),
        ("billing", says("I cannot.")),
        ("supervisor", says("It cannot.")),
    ]);
    let session = Session::new(&relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.trail(), Vec::<String>::new());
    assert_eq!(session.request("billing", 0).tools, ["fail", "look"]);
    assert!(story(&session.request("billing", 1).messages).contains("unknown_tool"));
}
