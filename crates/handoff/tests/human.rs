//! People are asked, and the run waits.
#![expect(clippy::unwrap_used, reason = "a test may stop at what cannot be")]

mod harness;

use harness::{agent, calls, hands_to, says, script};
use sommelier_handoff::{Answer, Asks, Guard, Guards, OnRefusal, Rejected, Relay, Route, RunEnd, Step};
use sommelier_protocol::Words;
use sommelier_runtime::{Model, ScriptedModel, tool};

/// Drives until the tree waits for a person or ends. Gated tools are asked about.
fn drive(relay: &Relay, mut step: Step, model: &ScriptedModel) -> Step {
    loop {
        step = relay.load(&step.save().unwrap()).unwrap();
        let open = step.open().into_iter().find(|open| !matches!(open, Step::AskHuman(_) | Step::Done(_)));
        let Some(path) = open.map(|open| open.run().conversation().to_owned()) else { return step };
        step = step
            .go_on_at(relay, &path, |relay, step| match step {
                Step::CallModel(call) => {
                    let response = model.complete(call.request(relay));
                    call.resume(relay, response, 0)
                }
                Step::CallTools(calls) => {
                    let agent = calls.agent(relay).unwrap();
                    let gated: Vec<usize> = calls
                        .calls()
                        .filter(|(place, call)| {
                            agent.table().needs_approval(call.name()) && !calls.is_approved(*place)
                        })
                        .map(|(place, _)| place)
                        .collect();
                    if !gated.is_empty() {
                        return calls.ask(&gated, 7).unwrap();
                    }
                    let outputs = tool::dispatch(agent, calls.calls(), &calls.scope());
                    calls.resume(relay, outputs, 0).unwrap()
                }
                Step::Delegate(delegation) => delegation.join(relay, 0).unwrap(),
                Step::HandOff(handoff) => handoff.take(relay, 0),
                step => step,
            })
            .unwrap();
    }
}

fn gated(name: &str) -> sommelier_handoff::Agent {
    sommelier_handoff::Agent::new(name, "")
        .tools(harness::tools().map(sommelier_runtime::Tool::needs_approval))
}

#[test]
fn a_gated_tool_waits_for_a_person() {
    let relay = Relay::builder().agent(gated("clerk")).entry("clerk").build().unwrap();
    let model = script([
        ("clerk", calls([("look", r#"{"word":"a"}"#), ("look", r#"{"word":"b"}"#)])),
        ("clerk", says("Done.")),
    ]);
    let step = drive(&relay, relay.start("c", "hello").unwrap(), &model);
    let ids: Vec<String> = step.questions().iter().map(|(_, question)| question.id.to_string()).collect();
    assert_eq!(ids, ["c/1/1/0", "c/1/1/1"]);
    let Err((step, error)) = step.answer(&relay, "c/1/1/7", Answer::Approve, 1) else { panic!() };
    assert!(matches!(error, Rejected::Unknown { .. }), "{error}");
    let step = step.answer(&relay, "c/1/1/1", Answer::Reject { reason: "no".into() }, 1).unwrap();
    let Err((step, error)) = step.answer(&relay, "c/1/1/1", Answer::Approve, 1) else { panic!() };
    assert_eq!(error.to_string(), "c/1/1/1 has been answered before, with reject");
    let step = drive(&relay, step.answer(&relay, "c/1/1/0", Answer::Approve, 2).unwrap(), &model);
    let Step::Done(done) = step else { panic!() };
    assert_eq!(done.answer().as_deref(), Some("Done."));
    assert_eq!(done.run().tool_calls(), 1);
    let story = harness::story(done.turn().unwrap().messages());
    assert!(
        story.contains(r#"tu_1_0="a" | tu_1_1!{"error":"approval_denied","tool":"look","reason":"no""#),
        "{story}"
    );
}

#[test]
fn a_gated_edge_and_a_question_and_an_escalation_wait() {
    let relay = Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .entry("a")
        .may_ask_human("a")
        .route_with(Route::new("a", "b").needs_approval())
        .guards(Guards::default().max_handoffs(0).on_refusal(Guard::Cap, OnRefusal::Escalate))
        .build()
        .unwrap();
    let model = script([
        ("a", calls([("ask_human", r#"{"question":"Red or white?","choices":["red","white"]}"#)])),
        ("a", hands_to("b")),
        ("a", says("Then not.")),
    ]);
    let step = drive(&relay, relay.start("c", "hello").unwrap(), &model);
    let [(_, question)] = step.questions()[..] else { panic!() };
    assert!(matches!(&question.asks, Asks::Words { question, .. } if &**question == "Red or white?"));
    let Err((step, error)) = step.answer(&relay, "c/1/1/0", Answer::Say { text: "rosé".into() }, 1) else {
        panic!()
    };
    assert!(matches!(error, Rejected::NoChoice { .. }), "{error}");
    let step = step.hear(&relay, Words::new("Quick, please.").unwrap());
    let step = step.answer(&relay, "c/1/1/0", Answer::Say { text: "red".into() }, 1).unwrap();
    let step = drive(&relay, step, &model);
    let [(_, question)] = step.questions()[..] else { panic!("{step:?}") };
    assert!(matches!(&question.asks, Asks::Escalation { .. }));
    let id = question.id.clone();
    let over = step.clone().answer(&relay, &id, Answer::TakeOver { note: "Ann".into() }, 1).unwrap();
    let Step::Done(over) = over else { panic!() };
    assert_eq!(over.end(), &RunEnd::TakenOver { by: "Ann".into() });
    let step =
        drive(&relay, step.answer(&relay, &id, Answer::Reject { reason: "stay".into() }, 1).unwrap(), &model);
    let Step::Done(done) = step else { panic!() };
    assert_eq!(done.answer().as_deref(), Some("Then not."));
    let story = harness::story(done.turn().unwrap().messages());
    assert!(story.contains(r#"user: tu_1_0={"answer":"red"} | Quick, please."#), "{story}");
}
