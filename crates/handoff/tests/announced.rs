//! What is on record of a run, in the order in which an auditor reads it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what cannot be")]

mod harness;

use harness::scribe::Scribe;
use harness::{
    BOTH, Down, agent, calls, desk, hands, hands_to, looks, name, pair, payer, pays, question, says, script,
    team, to, tool_name,
};
use sommelier_handoff::{
    Answer, Budget, COMPLETE_HANDOFF, Delegate, Guard, Guards, HANDOFF_TO_SPECIALIST, InputKind, OnRefusal,
    Relay, Route, Step,
};

/// The records are these, and lead to the same run.
#[track_caller]
fn reads(scribe: &Scribe<'_>, expected: &[&str]) {
    scribe.replayed();
    assert_eq!(scribe.story().join("\n"), expected.join("\n"));
}

/// As [`reads`], from the last record of this kind on.
#[track_caller]
fn ends(scribe: &Scribe<'_>, kind: &str, expected: &[&str]) {
    scribe.replayed();
    let place = scribe.records.iter().rposition(|record| record.kind == kind).unwrap();
    assert_eq!(scribe.story()[place..].join("\n"), expected.join("\n"));
}

fn spoken(text: &str, begun: bool) -> InputKind {
    InputKind::TurnReceived { key: None, text: text.into(), trace: None, begun }
}

fn cancelled() -> InputKind {
    InputKind::Cancelled { reason: "changed my mind".into(), begun: true }
}

/// The id of the first question that is open.
fn asked(scribe: &Scribe<'_>) -> String {
    scribe.step().questions()[0].1.id.to_string()
}

/// A handoff that is refused is told with its reason before the sender goes on, and the one that is taken is planned,
/// committed, taken up and closed, in this order.
#[test]
fn a_refused_handoff_and_then_a_good_one() {
    let relay = pair();
    let model = script([
        ("booking_agent", hands_to("nobody")),
        ("booking_agent", hands_to("policy_agent")),
        ("policy_agent", says("Six.")),
    ]);
    reads(
        &Scribe::new(&relay, &model).says("hello"),
        &[
            "opened",
            "turn_received",
            "model_requested of booking_agent",
            "model_responded",
            "handoff_refused c/1/1/0: unknown_specialist",
            "model_requested of booking_agent",
            "model_responded",
            "planned c/1/2/0",
            "handoff_committed c/1/2/0",
            "model_requested of policy_agent, by c/1/2/0",
            "model_responded",
            "receiver_accepted c/1/2/0",
            "obligation_closed c/1/2/0: done",
            "closed c/1/3: answered",
        ],
    );
}

/// T46: work whose receiver leaves an open item out is closed as partial, and the record lists the item, whether it says so or
/// says nothing; what ended well lists none.
#[test]
fn an_item_that_was_left_out_is_listed_where_the_work_is_closed() {
    let package = r#"{"specialist":"policy_agent","task":"Look after it.","context":{},"open_items":["count","weigh"]}"#;
    let says_so = |done: &str, open: &str| {
        calls([(COMPLETE_HANDOFF, format!(r#"{{"done":[{done}],"open":[{open}],"answer":"Six."}}"#))])
    };
    let relay = pair();
    for (turn, closed) in [
        (says("Six."), "partial, count is open, weigh is open"),
        (says_so(r#""count""#, r#""weigh""#), "partial, weigh is open"),
        (says_so(r#""count","weigh""#, ""), "done"),
    ] {
        let model = script([("booking_agent", hands(package)), ("policy_agent", turn)]);
        let closed = format!("obligation_closed c/1/1/0: {closed}");
        ends(
            &Scribe::new(&relay, &model).says("hello"),
            "obligation_closed",
            &[&closed, "closed c/1/2: answered"],
        );
    }
}

/// Work that is handed on is closed as such; on a route that returns it is closed by the answer, and the sender, whose own
/// work is open all the while, does not take it up again.
#[test]
fn a_handoff_that_comes_back() {
    let relay = team("a -> b")
        .agent(agent("c"))
        .route_with(Route::new("b", "c").returns())
        .route("b", "a")
        .build()
        .unwrap();
    let model = script([
        ("a", hands_to("b")),
        ("b", hands_to("c")),
        ("c", says("Six.")),
        ("b", hands_to("a")),
        ("a", says("It is six.")),
    ]);
    reads(
        &Scribe::new(&relay, &model).says("hello"),
        &[
            "opened",
            "turn_received",
            "model_requested of a",
            "model_responded",
            "planned c/1/1/0",
            "handoff_committed c/1/1/0",
            "model_requested of b, by c/1/1/0",
            "model_responded",
            "receiver_accepted c/1/1/0",
            "planned c/1/2/0",
            "handoff_committed c/1/2/0",
            "model_requested of c, by c/1/2/0",
            "model_responded",
            "receiver_accepted c/1/2/0",
            "obligation_closed c/1/2/0: done",
            "model_requested of b",
            "model_responded",
            "planned c/1/4/0",
            "handoff_committed c/1/4/0",
            "obligation_closed c/1/1/0: handed_on",
            "model_requested of a, by c/1/4/0",
            "model_responded",
            "receiver_accepted c/1/4/0",
            "obligation_closed c/1/4/0: done",
            "closed c/1/5: answered",
        ],
    );
}

/// A branch has records of its own, by its path, and its end is told before it is joined.
#[test]
fn two_delegates_of_which_one_looks_up() {
    let relay = desk().build().unwrap();
    let model = script([
        ("supervisor", calls(BOTH)),
        ("billing", looks("INV")),
        ("billing", says("Yes.")),
        ("shipping", says("Here.")),
        ("supervisor", says("Done.")),
    ]);
    reads(
        &Scribe::new(&relay, &model).says("hello"),
        &[
            "opened",
            "turn_received",
            "model_requested of supervisor",
            "model_responded",
            "planned c/1/1/0, c/1/1/1",
            "c/1/1/0: model_requested of billing",
            "c/1/1/0: model_responded",
            "c/1/1/0: planned look at 0",
            "c/1/1/0: tool_intended look",
            "c/1/1/0: tool_completed",
            "c/1/1/0: model_requested of billing",
            "c/1/1/0: model_responded",
            "c/1/1/0: closed c/1/1/0/1/2: answered",
            "c/1/1/1: model_requested of shipping",
            "c/1/1/1: model_responded",
            "c/1/1/1: closed c/1/1/1/1/1: answered",
            "joined",
            "model_requested of supervisor",
            "model_responded",
            "closed c/1/2: answered",
        ],
    );
}

/// A house whose top asks a middle, which asks a low one that may hand over to a till.
fn nested() -> Relay {
    let low = team("low -> till");
    let mid = Relay::builder()
        .agent(agent("mid"))
        .delegate("mid", Delegate::team("ask_low", low.build().unwrap()))
        .entry("mid");
    let top = Relay::builder().agent(agent("top")).entry("top");
    top.delegate("top", Delegate::team("ask_mid", mid.build().unwrap())).build().unwrap()
}

/// What is handed over in a branch of a branch is on record there.
#[test]
fn a_delegate_in_a_delegate() {
    let relay = nested();
    let model = script([
        ("top", calls([("ask_mid", question("?"))])),
        ("mid", calls([("ask_low", question("?"))])),
        ("low", hands_to("till")),
        ("till", says("Low.")),
        ("mid", says("Mid.")),
        ("top", says("Top.")),
    ]);
    reads(
        &Scribe::new(&relay, &model).says("hello"),
        &[
            "opened",
            "turn_received",
            "model_requested of top",
            "model_responded",
            "planned c/1/1/0",
            "c/1/1/0: model_requested of mid",
            "c/1/1/0: model_responded",
            "c/1/1/0: planned c/1/1/0/1/1/0",
            "c/1/1/0/1/1/0: model_requested of low",
            "c/1/1/0/1/1/0: model_responded",
            "c/1/1/0/1/1/0: planned c/1/1/0/1/1/0/1/1/0",
            "c/1/1/0/1/1/0: handoff_committed c/1/1/0/1/1/0/1/1/0",
            "c/1/1/0/1/1/0: model_requested of till, by c/1/1/0/1/1/0/1/1/0",
            "c/1/1/0/1/1/0: model_responded",
            "c/1/1/0/1/1/0: receiver_accepted c/1/1/0/1/1/0/1/1/0",
            "c/1/1/0/1/1/0: obligation_closed c/1/1/0/1/1/0/1/1/0: done",
            "c/1/1/0/1/1/0: closed c/1/1/0/1/1/0/1/2: answered",
            "c/1/1/0: joined",
            "c/1/1/0: model_requested of mid",
            "c/1/1/0: model_responded",
            "c/1/1/0: closed c/1/1/0/1/2: answered",
            "joined",
            "model_requested of top",
            "model_responded",
            "closed c/1/2: answered",
        ],
    );
}

/// A tree that is called off ends from its leaves on, and the work that was handed over in a branch ends with it: no
/// obligation is left open that nobody sees to. A branch in the middle is called off alike, and the tree goes on.
#[test]
fn a_tree_is_called_off_and_a_branch_of_it() {
    let relay = nested();
    let model = || {
        script([
            ("top", calls([("ask_mid", question("?"))])),
            ("mid", calls([("ask_low", question("?"))])),
            ("low", hands_to("till")),
            ("till", says("Never.")),
            ("top", says("Top.")),
        ])
    };
    let below = [
        "c/1/1/0/1/1/0: obligation_closed c/1/1/0/1/1/0/1/1/0: cancelled",
        "c/1/1/0/1/1/0: closed c/1/1/0/1/1/0/1/1: cancelled",
        "c/1/1/0: closed c/1/1/0/1/1: cancelled",
    ];
    let at_work = |model| {
        let scribe = Scribe::new(&relay, model).gets("c", spoken("hello", false));
        (0..4).fold(scribe, |scribe, _| scribe.does().0)
    };
    let script = model();
    let whole = at_work(&script).gets("c", cancelled());
    ends(&whole, "cancelled", &[&["cancelled"][..], &below, &["closed c/1/1: cancelled"]].concat());
    let script = model();
    let one = at_work(&script).gets("c/1/1/0", cancelled()).drives();
    let goes_on = ["joined", "model_requested of top", "model_responded", "closed c/1/2: answered"];
    ends(&one, "cancelled", &[&["c/1/1/0: cancelled"][..], &below, &goes_on].concat());
}

/// A person is asked before a tool is begun and before a handoff is taken, and what was planned of the tools stands.
#[test]
fn approvals_given_and_one_rejected() {
    let relay = Relay::builder()
        .agent(payer("a"))
        .agent(agent("b"))
        .entry("a")
        .route_with(Route::new("a", "b").needs_approval())
        .build()
        .unwrap();
    let both = || calls([pays("INV-1"), (HANDOFF_TO_SPECIALIST, to("b", "Go on."))]);
    let model = script([("a", both()), ("b", says("Done.")), ("a", says("Not done."))]);
    let asked_twice = |model| {
        let scribe = Scribe::new(&relay, model).says("hello");
        let id = asked(&scribe);
        scribe.answers(&id, Answer::Approve)
    };
    let scribe = asked_twice(&model);
    let id = asked(&scribe);
    reads(
        &scribe.answers(&id, Answer::Approve),
        &[
            "opened",
            "turn_received",
            "model_requested of a",
            "model_responded",
            "planned pay at 0",
            "approval_asked",
            "escalated c/1/1/0 (tool)",
            "human_answered approve",
            "tool_intended pay",
            "tool_completed",
            "escalated c/1/1/1 (handoff)",
            "human_answered approve",
            "planned c/1/1/1",
            "handoff_committed c/1/1/1",
            "model_requested of b, by c/1/1/1",
            "model_responded",
            "receiver_accepted c/1/1/1",
            "obligation_closed c/1/1/1: done",
            "closed c/1/2: answered",
        ],
    );
    let model = script([("a", both()), ("a", says("Not done."))]);
    let scribe = asked_twice(&model);
    let id = asked(&scribe);
    ends(
        &scribe.answers(&id, Answer::Reject { reason: "no".into() }),
        "human_answered",
        &[
            "human_answered reject",
            "handoff_refused c/1/1/1: not_approved",
            "model_requested of a",
            "model_responded",
            "closed c/1/2: answered",
        ],
    );
}

/// A refusal that a person is to rule on is told before the person is asked; who takes over ends the run, and it goes on
/// when the user speaks again.
#[test]
fn an_escalation_and_a_take_over() {
    let guards = Guards::default().on_refusal(Guard::Known, OnRefusal::Escalate);
    let relay = team("a -> b").guards(guards).build().unwrap();
    let model = script([("a", hands_to("nobody")), ("a", hands_to("nobody")), ("a", says("Well."))]);
    let scribe = Scribe::new(&relay, &model).says("hello");
    let id = asked(&scribe);
    let scribe = scribe.answers(&id, Answer::Reject { reason: "try again".into() });
    let id = asked(&scribe);
    reads(
        &scribe.answers(&id, Answer::TakeOver { note: "mine".into() }).says("go on"),
        &[
            "opened",
            "turn_received",
            "model_requested of a",
            "model_responded",
            "handoff_refused c/1/1/0: unknown_specialist",
            "escalated c/1/1/0/escalation (escalation)",
            "human_answered reject",
            "model_requested of a",
            "model_responded",
            "handoff_refused c/1/2/0: unknown_specialist",
            "escalated c/1/2/0/escalation (escalation)",
            "human_answered take_over",
            "closed c/1/2: taken_over",
            "turn_received",
            "model_requested of a",
            "model_responded",
            "closed c/2/3: answered",
        ],
    );
}

/// Wherever a run is called off, its end follows; one that has ended has had its end told before.
#[test]
fn called_off_in_each_step() {
    let relay = Relay::builder()
        .agent(payer("a"))
        .agent(agent("b"))
        .entry("a")
        .route("a", "b")
        .delegate("a", Delegate::new("ask_billing", agent("billing")))
        .build()
        .unwrap();
    let cases = [
        ("ask a model", vec!["cancelled", "closed c/1/0: cancelled"]),
        ("run tools", vec!["cancelled", "closed c/1/1: cancelled"]),
        ("ask a person", vec!["cancelled", "closed c/1/2: cancelled"]),
        (
            "bring branches to their end",
            vec!["cancelled", "c/1/3/0: closed c/1/3/0/1/0: cancelled", "closed c/1/3: cancelled"],
        ),
        ("take a handoff", vec!["cancelled", "closed c/1/4: cancelled"]),
        ("rest", vec!["cancelled"]),
    ];
    for (purpose, expected) in cases {
        let model = script([
            ("a", looks("x")),
            ("a", calls([pays("INV-1")])),
            ("a", calls([("ask_billing", question("?"))])),
            ("billing", says("Six.")),
            ("a", hands_to("b")),
            ("b", says("Done.")),
        ]);
        let mut scribe = Scribe::new(&relay, &model).gets("c", spoken("hello", false));
        while scribe.step().purpose() != purpose {
            scribe = match scribe.step() {
                Step::AskHuman(asking) => {
                    let id = asking.questions()[0].id.clone();
                    scribe.gets("c", InputKind::HumanAnswered { id, answer: Answer::Approve, by: None })
                }
                _ => scribe.does().0,
            };
        }
        ends(&scribe.gets("c", cancelled()), "cancelled", &expected);
    }
}

/// A run that is over its time is closed with the work in it; with more time both go on.
#[test]
fn a_deadline_and_more_time() {
    let relay = team("a -> b").budget(Budget::new(20).millis(500)).build().unwrap();
    let model = script([("a", hands_to("b")), ("b", looks("x")), ("b", says("Six."))]);
    let deadline = || InputKind::Deadline { begun: true };
    let scribe = Scribe::new(&relay, &model).gets("c", spoken("hello", false)).gets("c", deadline());
    let scribe = (0..3).fold(scribe, |scribe, _| scribe.does().0).waits(500).gets("c", deadline());
    let more = InputKind::MoreGiven { budget: Budget::new(0).millis(500) };
    reads(
        &scribe.gets("c", more).drives(),
        &[
            "opened",
            "turn_received",
            "deadline",
            "model_requested of a",
            "model_responded",
            "planned c/1/1/0",
            "handoff_committed c/1/1/0",
            "model_requested of b, by c/1/1/0",
            "model_responded",
            "receiver_accepted c/1/1/0",
            "planned look at 0",
            "deadline",
            "obligation_closed c/1/1/0: failed",
            "closed c/1/2: budget_spent",
            "more_given",
            "obligation_reopened c/1/1/0",
            "model_requested of b",
            "model_responded",
            "obligation_closed c/1/1/0: done",
            "closed c/1/3: answered",
        ],
    );
}

/// C97: words that come while a handoff is out are read by the receiver after its package; those that come while it is being
/// asked are read after its reply, and one end is told for all of them.
#[test]
fn the_user_speaks_in_the_middle() {
    let relay = team("a -> b").build().unwrap();
    let model = script([("a", hands_to("b")), ("b", says("Six.")), ("b", says("Seven."))]);
    let scribe = Scribe::new(&relay, &model).gets("c", spoken("hello", false)).does().0;
    let scribe =
        scribe.gets("c", spoken("in French", true)).does().0.gets("c", spoken("in verse", true)).drives();
    reads(
        &scribe,
        &[
            "opened",
            "turn_received",
            "model_requested of a",
            "model_responded",
            "planned c/1/1/0",
            "turn_received",
            "handoff_committed c/1/1/0",
            "turn_received",
            "model_requested of b, by c/1/1/0",
            "model_responded",
            "receiver_accepted c/1/1/0",
            "obligation_closed c/1/1/0: done",
            "model_requested of b",
            "model_responded",
            "closed c/3/3: answered",
        ],
    );
    let closed: Vec<_> = scribe.chronicle().turns().iter().map(|turn| turn.closed.clone().unwrap()).collect();
    assert!(
        closed.len() == 3 && closed.iter().all(|end| end.answer.as_deref() == Some("Seven.")),
        "{closed:?}"
    );
}

/// C154: a model that fails ends the run and leaves the work open; tried again it is asked once more for the same reply, and
/// only then has the receiver taken the work up. The turn has come to the answer that it has in the end.
#[test]
fn a_failure_and_the_retry() {
    let relay = team("a -> b").build().unwrap();
    let model = script([("a", hands_to("b")), ("b", says("Six."))]);
    let down = Down { model: &model, agents: &["b"] };
    let failed = Scribe::new(&relay, &down).says("hello");
    assert_eq!(&*failed.chronicle().turns()[0].closed.as_ref().unwrap().end, "failed");
    let retried = failed.with(&model).gets("c", InputKind::Retried);
    assert_eq!(retried.chronicle().turns()[0].closed, None);
    let scribe = retried.drives();
    reads(
        &scribe,
        &[
            "opened",
            "turn_received",
            "model_requested of a",
            "model_responded",
            "planned c/1/1/0",
            "handoff_committed c/1/1/0",
            "model_requested of b, by c/1/1/0",
            "model_failed",
            "closed c/1/1: failed",
            "retried",
            "model_requested of b, attempt 2, by c/1/1/0",
            "model_responded",
            "receiver_accepted c/1/1/0",
            "obligation_closed c/1/1/0: done",
            "closed c/1/2: answered",
        ],
    );
    assert_eq!(scribe.chronicle().turns()[0].closed.as_ref().unwrap().answer.as_deref(), Some("Six."));
}

/// A reply that is ruled on again has the new plan on record, and of its refusals those that are new.
#[test]
fn a_reply_is_ruled_on_again() {
    let relay = Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .agent(agent("d"))
        .entry("a")
        .route_with(Route::new("a", "b").requires(["look"]))
        .route("a", "d")
        .build()
        .unwrap();
    let three = ["nobody", "b", "d"].map(|whom| (HANDOFF_TO_SPECIALIST, to(whom, "Go on.")));
    let model = script([("a", calls(three)), ("d", says("Six."))]);
    let off = InputKind::ToolsSwitched { agent: name("b"), tool: tool_name("look"), on: false };
    let scribe = Scribe::new(&relay, &model).gets("c", spoken("hello", false)).does().0.gets("c", off);
    reads(
        &scribe.drives(),
        &[
            "opened",
            "turn_received",
            "model_requested of a",
            "model_responded",
            "planned c/1/1/1",
            "handoff_refused c/1/1/0: unknown_specialist",
            "handoff_refused c/1/1/2: one_handoff_per_turn",
            "tools_switched",
            "handoff_reconsidered",
            "planned c/1/1/2",
            "handoff_refused c/1/1/1: target_not_ready",
            "handoff_committed c/1/1/2",
            "model_requested of d, by c/1/1/2",
            "model_responded",
            "receiver_accepted c/1/1/2",
            "obligation_closed c/1/1/2: done",
            "closed c/1/2: answered",
        ],
    );
}

/// Whatever comes while branches are open, or a handoff is out, is no new plan.
#[test]
fn a_plan_is_told_once() {
    let relay = desk().route_with(Route::new("supervisor", "till")).agent(agent("till")).build().unwrap();
    let off = |on| InputKind::ToolsSwitched { agent: name("till"), tool: tool_name("look"), on };
    let model = script([
        (
            "supervisor",
            calls([BOTH[0], (HANDOFF_TO_SPECIALIST, r#"{"specialist":"till","task":"x","context":{}}"#)]),
        ),
        ("billing", says("Yes.")),
        ("till", says("Done.")),
    ]);
    let scribe = Scribe::new(&relay, &model).gets("c", spoken("hello", false)).does().0;
    let scribe = scribe.gets("c", off(false)).gets("c", off(true)).does().0.does().0;
    reads(
        &scribe.gets("c", off(false)).gets("c", off(true)).drives(),
        &[
            "opened",
            "turn_received",
            "model_requested of supervisor",
            "model_responded",
            "planned c/1/1/0",
            "tools_switched",
            "tools_switched",
            "c/1/1/0: model_requested of billing",
            "c/1/1/0: model_responded",
            "c/1/1/0: closed c/1/1/0/1/1: answered",
            "joined",
            "planned c/1/1/1",
            "tools_switched",
            "tools_switched",
            "handoff_committed c/1/1/1",
            "model_requested of till, by c/1/1/1",
            "model_responded",
            "receiver_accepted c/1/1/1",
            "obligation_closed c/1/1/1: done",
            "closed c/1/2: answered",
        ],
    );
}

/// While a person is asked about one of two handoffs the receiver of the other comes and goes. What a ruling has changed is
/// told each time, in the same words where it is as it was before; so the newest word on each of them is how it stands.
#[test]
fn a_ruling_that_changes_back_is_told_again() {
    let relay = Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .agent(agent("d"))
        .entry("a")
        .route_with(Route::new("a", "b").requires(["look"]))
        .route_with(Route::new("a", "d").needs_approval())
        .build()
        .unwrap();
    let two = ["b", "d"].map(|whom| (HANDOFF_TO_SPECIALIST, to(whom, "Go on.")));
    let model = script([("a", calls(two)), ("a", says("Six."))]);
    let look = |on| InputKind::ToolsSwitched { agent: name("b"), tool: tool_name("look"), on };
    let scribe = Scribe::new(&relay, &model).gets("c", spoken("hello", false)).does().0;
    let scribe = scribe.gets("c", look(false)).does().0.gets("c", look(true));
    let id = asked(&scribe).into();
    let no = InputKind::HumanAnswered { id, answer: Answer::Reject { reason: "not today".into() }, by: None };
    reads(
        &scribe.gets("c", no).gets("c", look(false)).drives(),
        &[
            "opened",
            "turn_received",
            "model_requested of a",
            "model_responded",
            "planned c/1/1/0",
            "handoff_refused c/1/1/1: one_handoff_per_turn",
            "tools_switched",
            "handoff_reconsidered",
            "handoff_refused c/1/1/0: target_not_ready",
            "escalated c/1/1/1 (handoff)",
            "tools_switched",
            "human_answered reject",
            "planned c/1/1/0",
            "handoff_refused c/1/1/1: not_approved",
            "tools_switched",
            "handoff_reconsidered",
            "handoff_refused c/1/1/0: target_not_ready",
            "model_requested of a",
            "model_responded",
            "closed c/1/2: answered",
        ],
    );
}

/// A plan has what runs as things stand with the reply. A tool that is switched on before the others have run does so with them,
/// and its intent tells it.
#[test]
fn a_tool_that_is_switched_on_in_time_runs_though_it_was_not_planned() {
    let relay = Relay::builder().agent(agent("a")).entry("a").build().unwrap();
    let both = [("look", r#"{"word":"a"}"#), ("fail", "{}")];
    let model = script([("a", calls(both)), ("a", says("Six."))]);
    let look = |on| InputKind::ToolsSwitched { agent: name("a"), tool: tool_name("look"), on };
    let scribe = Scribe::new(&relay, &model).gets("c", spoken("hello", false)).gets("c", look(false));
    reads(
        &scribe.does().0.gets("c", look(true)).drives(),
        &[
            "opened",
            "turn_received",
            "tools_switched",
            "model_requested of a",
            "model_responded",
            "planned fail at 1",
            "tools_switched",
            "tool_intended look",
            "tool_intended fail",
            "tool_completed",
            "tool_failed",
            "model_requested of a",
            "model_responded",
            "closed c/1/2: answered",
        ],
    );
}
