//! What is saved of calls in doubt and of possible repeats, and was forged since, is not loaded.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::doubts::{
    FIRST, MAIL, SECOND, at_tools, clerk, happened, in_branch, looks_at, mails_and_looks, no, once, sender,
    supervised,
};
use harness::{Session, agent, calls, pays, question, says, script, to};
use sommelier_handoff::{
    Answer, Budget, CallTools, HANDOFF_TO_SPECIALIST, Inquiry, LoadError, Relay, RunEnd, Step,
};

#[track_caller]
fn refused(relay: &Relay, step: &Step, changes: &[(&str, &str)]) {
    let mut saved = step.save().unwrap();
    assert_eq!(relay.load(&saved).as_ref(), Ok(step));
    for (from, to) in changes {
        assert!(saved.contains(from), "{from} is not in {saved}");
        saved = saved.replacen(from, to, 1);
    }
    let found = relay.load(&saved);
    assert!(matches!(found, Err(LoadError::NotAStep(_))), "{changes:?} was loaded");
}

/// What is saved with questions that could not have been asked is not loaded.
#[test]
fn forged_questions_are_not_loaded() {
    let relay = clerk();
    let open = at_tools(&relay, calls([("mail", "{}".to_owned()), pays("INV-1")]), |calls| {
        calls.doubt(&[0], 7).unwrap()
    });
    let refused = |changes: &[(&str, &str)]| refused(&relay, &open, changes);
    refused(&[(FIRST, "conv/1/1/2/in_doubt")]);
    refused(&[(FIRST, SECOND)]);
    refused(&[(FIRST, "conv/1/1/0")]);
    refused(&[(FIRST, "conv/1/1/0/repeat")]);
    refused(&[(FIRST, "conv/1/2/0/in_doubt")]);
    refused(&[(r#"{"InDoubt":{"call_id":"tu_1_0""#, r#"{"InDoubt":{"call_id":"tu_1_1""#)]);
    refused(&[(r#""call_id":"tu_1_0","tool":"mail""#, r#""call_id":"tu_1_0","tool":"look""#)]);
    refused(&[(r#""tool":"mail","input":{}"#, r#""tool":"mail","input":{"all":true}"#)]);
    refused(&[(r#"{"InDoubt":{"#, r#"{"Tool":{"#)]);
    refused(&[(r#"{"InDoubt":{"#, r#"{"Tool":{"#), (FIRST, "conv/1/1/0")]);
    refused(&[(r#""from":"clerk""#, r#""from":"desk""#)]);
    refused(&[(r#""plans":["Run","Run"]"#, r#""plans":[{"Answered":{"content":"sent"}},"Run"]"#)]);
    let twice = |kind: &str, id: &str, rest: &str| {
        let second = format!(
            r#"{{"id":"{id}","from":"clerk","at":7,"asks":{{"{kind}":{{"call_id":"tu_1_0","tool":"mail","input":{{}}{rest}}}}}}},"#
        );
        let questions = r#""questions":["#;
        refused(&[(questions, &[questions, &second].concat())]);
    };
    twice("InDoubt", FIRST, "");
    twice("Repeat", "conv/1/1/0/repeat", r#","earlier":"x""#);
}

/// A second word about a letter that was in doubt, to stand behind the one that is on record.
fn another(id: &str, kind: &str, answer: &str) -> String {
    let call = r#""call_id":"tu_1_0","tool":"mail","input":{}"#;
    format!(
        r#"{{"question":{{"id":"{id}","from":"clerk","at":7,"asks":{{"{kind}":{{{call}}}}}}},"answer":{answer},"at":8}}"#
    )
}

/// After an answer that ends the asking about a call nothing is asked of it; and what may repeat is approved.
#[test]
fn nothing_is_asked_after_the_last_word() {
    let relay = clerk();
    let open = |first: Answer| {
        let asks = |calls: CallTools| {
            calls
                .ask_about(&[(0, Inquiry::Repeat { earlier: "x".into() }), (1, Inquiry::Approval)], 7)
                .unwrap()
        };
        let step = at_tools(&relay, calls([pays("INV-1"), pays("INV-1")]), asks);
        step.answer(&relay, "conv/1/1/0/repeat", first, 8).unwrap()
    };
    // The one that is open is put in the place of the other, which has had its answer.
    let questions =
        r#""questions":[{"id":"conv/1/1/1","from":"clerk","at":7,"asks":{"Tool":{"call_id":"tu_1_1""#;
    let again = questions.replace("conv/1/1/1", "conv/1/1/0").replace("tu_1_1", "tu_1_0");
    let doubt =
        again.replace(r#""id":"conv/1/1/0""#, r#""id":"conv/1/1/0/in_doubt""#).replace("Tool", "InDoubt");
    for (answer, may_doubt) in [(Answer::Approve, true), (no("no"), false)] {
        let step = open(answer);
        refused(&relay, &step, &[(questions, &again)]);
        let saved = step.save().unwrap().replace(questions, &doubt);
        assert_eq!(relay.load(&saved).is_ok(), may_doubt);
    }
    let step = at_tools(&relay, calls([MAIL, MAIL]), |calls| calls.doubt(&[0, 1], 7).unwrap());
    let step = step.answer(&relay, FIRST, happened("sent"), 8).unwrap();
    let questions = r#""questions":[{"id":"conv/1/1/1/in_doubt","from":"clerk","at":7,"asks":{"InDoubt":{"call_id":"tu_1_1","tool":"mail","input":{}"#;
    let again = questions.replace("1/1/1/in_doubt", "1/1/0/repeat").replace("tu_1_1", "tu_1_0");
    let again = [&again.replace("InDoubt", "Repeat"), r#","earlier":"x""#].concat();
    refused(&relay, &step, &[(questions, &again)]);
}

/// What is saved with answers that could not have been given, or that are not what the call was told, is not loaded, at
/// whichever step.
#[test]
fn forged_answers_are_not_loaded() {
    let relay =
        Relay::builder().agent(sender("clerk")).agent(agent("desk")).entry("clerk").route("clerk", "desk");
    let relay = relay.build().unwrap();
    let reply = || {
        let letter = ("mail", "{}".to_owned());
        calls([letter, looks_at("tea"), (HANDOFF_TO_SPECIALIST, to("desk", "Go on."))])
    };
    let turns = [("clerk", reply()), ("desk", says("So."))];
    let (model, steps) = (script(turns), std::cell::RefCell::new(Vec::new()));
    let mut doubt = once(|calls| calls.doubt(&[0], 7).unwrap());
    let session = Session::new(&relay, &model).unchecked().at_each_step(|step| {
        let step = doubt(step);
        steps.borrow_mut().push(step.clone());
        step
    });
    let session = session.say("Send it.").answer(FIRST, happened("sent")).ends(RunEnd::Answered);
    drop(session);
    let steps = steps.into_inner();
    let [
        _,
        Step::AskHuman(_),
        to_run @ Step::CallTools(_),
        handoff @ Step::HandOff(_),
        received @ Step::CallModel(_),
        done @ Step::Done(_),
    ] = &steps[..]
    else {
        panic!("{steps:?}")
    };
    let answer = r#""answer":{"Happened":{"result":"sent"}}"#;
    for step in [to_run, handoff, received, done] {
        let check = |from: &str, to: &str| refused(&relay, step, &[(from, to)]);
        check(answer, r#""answer":"Approve""#);
        check(answer, r#""answer":{"Say":{"text":"sent"}}"#);
        check(answer, r#""answer":{"Happened":{"result":" "}}"#);
        check(answer, r#""answer":{"Happened":{"result":"sent"}},"by":"Ada""#);
        check(FIRST, "conv/1/1/0");
        check(FIRST, "conv/1/1/0/repeat");
        check(FIRST, "conv/1/9/0/in_doubt");
        check(r#""tool":"mail","input":{}"#, r#""tool":"mail","input":{"all":true}"#);
        check(r#""tool":"mail","input":{}"#, r#""tool":"look","input":{}"#);
        check(r#"{"InDoubt":{"call_id":"tu_1_0""#, r#"{"InDoubt":{"call_id":"tu_9_0""#);
        check(r#""from":"clerk","at":7"#, r#""from":"desk","at":7"#);
        for (id, kind, said) in [("conv/1/1/0", "Tool", r#""Approve""#), (FIRST, "InDoubt", r#""Undone""#)] {
            let end = r#""at":1002}]"#;
            check(end, &format!(r#""at":1002}},{}]"#, another(id, kind, said)));
        }
    }
    for step in [handoff, received, done] {
        // It is on record as told, and in the conversation that is not what it was told.
        refused(&relay, step, &[(answer, r#""answer":"Undone""#)]);
        refused(&relay, step, &[(answer, r#""answer":{"Happened":{"result":"sent twice"}}"#)]);
    }
    refused(&relay, to_run, &[(answer, r#""answer":{"TakeOver":{"note":"Ada"}}"#)]);
    refused(&relay, to_run, &[(FIRST, SECOND)]);
    refused(&relay, to_run, &[(FIRST, "conv/1/1/7/in_doubt")]);
    // The tool has run as well.
    let ran = r#""plans":[{"Answered":{"content":"sent"}},"Run","#;
    refused(&relay, to_run, &[(r#""plans":["Run","Run","#, ran)]);
}

/// As many calls may be in doubt as tool calls are left: the others had not been begun.
#[test]
fn no_more_is_in_doubt_than_was_left() {
    let relay = Relay::builder().agent(sender("clerk")).entry("clerk").budget(Budget::new(9).tool_calls(1));
    let relay = relay.build().unwrap();
    let step = at_tools(&relay, calls([MAIL, MAIL]), |calls| {
        assert_eq!(*calls.clone().doubt(&[0, 1], 7).unwrap_err(), calls);
        calls.doubt(&[0], 7).unwrap()
    });
    let second = format!(
        r#""questions":[{{"id":"{SECOND}","from":"clerk","at":7,"asks":{{"InDoubt":{{"call_id":"tu_1_1","tool":"mail","input":{{}}}}}}}},"#
    );
    refused(&relay, &step, &[(r#""questions":["#, &second)]);
}

/// What is forged in a branch is found there.
#[test]
fn forged_words_of_a_branch_are_not_loaded() {
    let relay = supervised();
    let id = "conv/1/1/0/1/1/0/in_doubt";
    let model = script([
        ("supervisor", calls([("ask_sender", question("Send it."))])),
        ("sender", mails_and_looks()),
        ("sender", says("Well.")),
        ("supervisor", says("So.")),
    ]);
    let session = Session::new(&relay, &model).unchecked().at_each_step(in_branch(&relay)).say("Send it.");
    refused(&relay, session.waiting(), &[(id, "conv/1/1/0/1/1/0")]);
    refused(&relay, session.waiting(), &[(id, "conv/1/1/0/1/1/5/in_doubt")]);
    let done = Step::Done(session.answer(id, Answer::Undone).into_done());
    refused(&relay, &done, &[(r#""answer":"Undone""#, r#""answer":"DidNotHappen""#)]);
}
