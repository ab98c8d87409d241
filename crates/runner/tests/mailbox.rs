//! What reaches a run while it is driven: it is called off, and it hears the user, while models and tools are at work.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    Look, Turn, Watched, agent, calls, ended, question, runner, says, script, story_of, supervised,
};
use sommelier_handoff::{Agent, Budget, Delegate, Relay, Run, RunEnd, Step};
use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runner::{Gate, Mailbox, Outcome, Report};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Model, ModelError, ScriptedModel, Tool, script};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

fn looks(word: &'static str) -> Turn {
    calls([("look", format!(r#"{{"word":"{word}"}}"#))])
}

/// An agent whose tool does something to the mailbox each time it runs.
fn busy(name: &str, mailbox: &Mailbox, does: impl Fn(&Mailbox) + Send + Sync + 'static) -> Agent {
    let mailbox = mailbox.clone();
    let look = Tool::new("look", "Looks a word up.", move |look: Look, _: &CallContext<'_>| {
        does(&mailbox);
        Ok::<_, Failure>(look.word)
    });
    Agent::new(name, "").tools([look])
}

fn drive(relay: &Relay, model: &ScriptedModel, mailbox: &Mailbox) -> Report {
    let step = relay.start("c", "hello").unwrap();
    ended(runner(model).drive_with(relay, step, mailbox))
}

fn cancelled(reason: &str) -> RunEnd {
    RunEnd::Cancelled { reason: reason.into() }
}

/// A run is called off while a tool is at work: the tool is waited for and its result is kept, and nothing more is begun.
/// Whoever called off first has said why.
#[test]
fn a_run_is_called_off_while_a_tool_is_at_work() {
    let mailbox = Mailbox::new();
    let clerk = busy("clerk", &mailbox, |mailbox| {
        mailbox.cancel("the user has left");
        mailbox.cancel("too late");
    });
    let relay = Relay::builder().agent(clerk).entry("clerk").build().unwrap();
    let model = script([("clerk", looks("tea")), ("clerk", says("Tea."))]);
    let report = drive(&relay, &model, &mailbox);
    assert_eq!(report.end(), &cancelled("the user has left"));
    assert_eq!(story_of(&report, "clerk").last().unwrap(), r#"user: tu_1_0="tea""#);
    assert_eq!(model.unused(), [("clerk", 2)]);
    assert_eq!(mailbox.called_off().as_deref(), Some("the user has left"));
}

/// What a tree does, one call at a time: what was asked and run before and after it was called off.
struct Counted<'a> {
    model: ScriptedModel,
    begun: &'a AtomicUsize,
    stop: usize,
    mailbox: Mailbox,
}

impl Counted<'_> {
    /// One more thing is begun. At the one that `stop` says the run is called off.
    fn count(&self) {
        if self.begun.fetch_add(1, Ordering::SeqCst) == self.stop {
            self.mailbox.cancel("the user has left");
        }
    }
}

impl Model for Counted<'_> {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        self.count();
        self.model.complete(request)
    }
}

/// A supervisor that asks a clerk, which looks, asks a leaf and hands over to an expert.
fn nested(begun: &'static AtomicUsize, stop: usize, mailbox: &Mailbox) -> Relay {
    let busy = |name: &str| {
        busy(name, mailbox, move |mailbox| {
            if begun.fetch_add(1, Ordering::SeqCst) == stop {
                mailbox.cancel("the user has left");
            }
        })
    };
    let team = Relay::builder()
        .agent(busy("clerk"))
        .agent(busy("expert"))
        .route("clerk", "expert")
        .delegate("clerk", Delegate::new("ask_leaf", busy("leaf")))
        .entry("clerk")
        .build()
        .unwrap();
    let ask = Delegate::team("ask_team", team).max_model_calls(12);
    Relay::builder()
        .agent(busy("supervisor"))
        .delegate("supervisor", ask)
        .entry("supervisor")
        .build()
        .unwrap()
}

/// C161: called off while the nth model or tool of a tree is at work, for each n: what is under way is the last that
/// was begun, the run and each branch that was opened end once, and as the last they did.
#[test]
fn nothing_is_begun_in_a_tree_that_was_called_off() {
    let mut ends = Vec::new();
    for stop in 0.. {
        let begun: &'static AtomicUsize = Box::leak(Box::default());
        let mailbox = Mailbox::new();
        let relay = nested(begun, stop, &mailbox);
        let model = script([
            ("supervisor", calls([("ask_team", question("Well?"))])),
            ("clerk", looks("tea")),
            ("clerk", calls([("ask_leaf", question("Leaf?"))])),
            ("leaf", looks("leaf")),
            ("leaf", says("Leaf.")),
            ("clerk", harness::hands_to("expert")),
            ("expert", looks("more")),
            ("expert", says("Well.")),
            ("supervisor", says("All well.")),
        ]);
        let counted = Counted { model, begun, stop, mailbox: mailbox.clone() };
        let step = relay.start("c", "hello").unwrap();
        let report = ended(runner(&counted).drive_with(&relay, step, &mailbox));
        if begun.load(Ordering::SeqCst) <= stop {
            assert_eq!(report.end(), &RunEnd::Answered);
            break;
        }
        assert_eq!(begun.load(Ordering::SeqCst), stop + 1, "nothing was begun after it");
        ends.push((report.end().as_str(), of_branches(report.done().run())));
    }
    let of = |end: &'static str, team: &str, leaf: Option<&str>| {
        let leaf = leaf.map(|end| format!("c/1/1/0/1/2/0 {end}"));
        (end, [format!("c/1/1/0 {team}")].into_iter().chain(leaf).collect::<Vec<_>>())
    };
    let (off, said) = ("cancelled", "answered");
    let mut expected = vec![of(off, off, None); 3];
    expected.extend(vec![of(off, off, Some(off)); 3]);
    expected.extend(vec![of(off, off, Some(said)); 4]);
    expected.push(of(off, said, Some(said)));
    // The last reply is the answer, and it was there before the driver looked again.
    expected.push(of(said, said, Some(said)));
    assert_eq!(ends, expected);
}

/// How each branch of a tree ended.
fn of_branches(run: &Run) -> Vec<String> {
    let of = |link: &sommelier_handoff::Link| {
        let done = link.run()?;
        Some(std::iter::once(format!("{} {}", link.id, done.end().as_str())).chain(of_branches(done.run())))
    };
    run.links().iter().filter_map(of).flatten().collect()
}

/// Branches on threads of their own are all called off: each while its tool is at work, whose result it keeps.
#[test]
fn branches_at_work_are_called_off() {
    let mailbox = Mailbox::new();
    let (meeting, met) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let busy = |name: &str| {
        let (meeting, met) = (Arc::clone(&meeting), Arc::clone(&met));
        busy(name, &mailbox, move |mailbox| {
            meeting.wait();
            mailbox.cancel("the user has left");
            met.wait();
        })
    };
    let relay = Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::new("ask_billing", busy("billing")))
        .delegate("supervisor", Delegate::new("ask_shipping", busy("shipping")))
        .entry("supervisor")
        .build()
        .unwrap();
    let model = script([
        ("supervisor", calls([("ask_billing", question("Paid?")), ("ask_shipping", question("Sent?"))])),
        ("billing", looks("INV")),
        ("shipping", looks("A-7")),
    ]);
    let report = drive(&relay, &model, &mailbox);
    assert_eq!(report.end(), &cancelled("the user has left"));
    assert_eq!(of_branches(report.done().run()), ["c/1/1/0 cancelled", "c/1/1/1 cancelled"]);
    let told = |place: usize, agent: &str| {
        let run = report.links()[place].run().unwrap().run();
        harness::story(run.idle(agent).unwrap().messages()).pop().unwrap()
    };
    let results = [r#"user: tu_1_0="INV""#, r#"user: tu_1_0="A-7""#];
    assert_eq!([told(0, "billing"), told(1, "shipping")], results);
}

/// The user speaks while a tool is at work, while a model is, and while a branch is: the agent that has the turn reads it
/// at its next model call, once, and no branch does. What is said as the last reply comes makes the run go on.
#[test]
fn words_are_read_at_the_next_model_call() {
    let mailbox = Mailbox::new();
    let speaks = |text: &'static str| move |mailbox: &Mailbox| mailbox.say(text).unwrap();
    let relay = Relay::builder()
        .agent(busy("clerk", &mailbox, speaks("While a tool works.")))
        .delegate("clerk", Delegate::new("ask_leaf", busy("leaf", &mailbox, speaks("While a branch works."))))
        .entry("clerk")
        .build()
        .unwrap();
    let from_model = mailbox.clone();
    let model = script([
        ("clerk", looks("tea")),
        ("clerk", calls([("ask_leaf", question("Leaf?"))])),
        ("leaf", looks("leaf")),
        ("leaf", says("Leaf.")),
        (
            "clerk",
            Box::new(move |_| {
                from_model.say("While the model works.").unwrap();
                script::say("Leaf it is.")
            }),
        ),
        ("clerk", says("All read.")),
    ]);
    let report = drive(&relay, &model, &mailbox);
    assert_eq!(report.end(), &RunEnd::Answered);
    let told = story_of(&report, "clerk");
    assert_eq!(told[2], r#"user: tu_1_0="tea" | While a tool works."#);
    assert!(told[4].ends_with(r#""steps_used":2} | While a branch works."#), "{}", told[4]);
    assert_eq!(told[5..], ["assistant: Leaf it is.", "user: While the model works.", "assistant: All read."]);
    let leaf = report.links()[0].run().unwrap().run().idle("leaf").unwrap();
    assert!(!harness::story(leaf.messages()).concat().contains("While"));
    assert_eq!((mailbox.unread(), report.done().run().messages()), (0, 4));
    assert!(mailbox.say(" ").is_err());
}

/// Words that nobody has taken when the run does not go on wait in the mailbox for the next time it is driven.
#[test]
fn words_wait_for_the_next_time() {
    let mailbox = Mailbox::new();
    let relay = Relay::builder().agent(agent("clerk")).entry("clerk").build().unwrap();
    let failing = mailbox.clone();
    struct Down(Mailbox);
    impl Model for Down {
        fn complete(&self, _: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
            self.0.say("Are you there?").unwrap();
            Err(ModelError::Unreachable { detail: "no route to host".to_owned() })
        }
    }
    let step = relay.start("c", "hello").unwrap();
    let report = ended(runner(Down(failing)).drive_with(&relay, step, &mailbox));
    assert_eq!((report.end().as_str(), mailbox.unread()), ("failed", 1));
    let model = script([("clerk", says("Here."))]);
    let step = report.into_done().retry(&relay).unwrap();
    let report = ended(runner(&model).drive_with(&relay, step, &mailbox));
    assert_eq!(story_of(&report, "clerk"), ["user: hello | Are you there?", "assistant: Here."]);
    assert_eq!(mailbox.unread(), 0);
}

/// A run that waits for a person is called off the next time it is driven: nothing waits any more.
#[test]
fn a_run_that_waits_is_called_off() {
    let relay = supervised().may_ask_human("supervisor").build().unwrap();
    let model = script([("supervisor", calls([("ask_human", question("Red?"))]))]);
    let mailbox = Mailbox::new();
    let runner = runner(&model).gate(Gate::ask_all());
    let step = relay.start("c", "hello").unwrap();
    let Outcome::Waiting(parked) = runner.drive_with(&relay, step, &mailbox).unwrap() else {
        panic!("it waits")
    };
    mailbox.cancel("the user has left");
    let report = ended(runner.drive_with(&relay, parked.into_step(), &mailbox));
    assert_eq!(report.end(), &cancelled("the user has left"));
    assert!(Step::Done(report.into_done()).questions().is_empty());
}

/// C164: while another thread speaks, a thousand times over, a run with two branches on threads goes on to its end: its
/// next request has both findings, and each word that was said is read once or waits for the next time.
#[test]
fn nothing_is_lost_between_threads() {
    let relay = Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::new("ask_billing", agent("billing")))
        .delegate("supervisor", Delegate::new("ask_shipping", agent("shipping")))
        .entry("supervisor")
        .build()
        .unwrap();
    /// Asks both, and answers from then on.
    struct Both;
    impl Model for Both {
        fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
            let asks = [
                ("tu_1", "ask_billing", r#"{"question":"Paid?"}"#),
                ("tu_2", "ask_shipping", r#"{"question":"Sent?"}"#),
            ];
            Ok(match (&*request.caller, request.replies) {
                ("supervisor", 0) => script::calls(asks),
                _ => script::say("Here."),
            })
        }
    }
    let model = Watched::new(Both);
    let runner = runner(&model);
    for round in 0..1_000 {
        let mailbox = Mailbox::new();
        let step = relay.start("c", "hello").unwrap();
        let said = 3;
        let report = thread::scope(|threads| {
            threads.spawn(|| {
                for n in 0..said {
                    (0..(round * n) % 97).for_each(|_| std::hint::spin_loop());
                    mailbox.say(format!("word {n}")).unwrap();
                }
            });
            ended(runner.drive_with(&relay, step, &mailbox))
        });
        let told = story_of(&report, "supervisor").join("\n");
        let found = told.matches(r#""finding":"Here.""#).count();
        let read = (0..said).filter(|n| told.matches(&format!("word {n}")).count() == 1).count();
        assert_eq!((report.end(), found), (&RunEnd::Answered, 2), "{told}");
        assert_eq!(read + mailbox.unread(), said, "round {round}: {told}");
        assert_eq!(told.matches("word").count(), read, "round {round}: {told}");
    }
}

/// A model that calls the run off while it answers, or lets the time pass.
struct Late<'a> {
    model: ScriptedModel,
    meanwhile: &'a (dyn Fn() + Sync),
}

impl Model for Late<'_> {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        (self.meanwhile)();
        self.model.complete(request)
    }
}

/// C161, C122: a tool that this driver has not begun when the run is called off, or when its time is over, has not run, and its
/// call says so; nothing of it is in doubt. One of a step that came from outside may be at work elsewhere, and stays in doubt.
#[test]
fn a_tool_that_was_not_begun_is_not_in_doubt() {
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let pay = Tool::new("pay", "Pays.", move |_: harness::Nothing, _: &CallContext<'_>| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok::<_, Failure>("paid")
    });
    let payer = Agent::new("payer", "").tools([pay.needs_approval()]);
    let asks = |millis: u64| {
        let asked = Delegate::new("ask_payer", payer.clone()).budget(Budget::new(4).millis(millis));
        let relay = Relay::builder().agent(agent("supervisor")).delegate("supervisor", asked);
        relay.entry("supervisor").build().unwrap()
    };
    let relay = asks(1_000_000);
    let turns = || {
        script([
            ("supervisor", calls([("ask_payer", question("Pay?"))])),
            ("payer", calls([("pay", "{}")])),
            ("payer", says("Paid.")),
            ("supervisor", says("So it is.")),
        ])
    };
    let told = |report: &Report| {
        let branch = report.links()[0].run().unwrap();
        let story = harness::story(branch.run().idle("payer").unwrap().messages());
        (story.last().unwrap().clone(), report.links()[0].result().unwrap().effects.len())
    };
    // Called off while the payer's model is at work.
    let mailbox = Mailbox::new();
    let asked = AtomicUsize::new(0);
    let cancels = || {
        if asked.fetch_add(1, Ordering::SeqCst) == 1 {
            mailbox.cancel("enough");
        }
    };
    let step = relay.start("c", "hello").unwrap();
    let model = Late { model: turns(), meanwhile: &cancels };
    let report = ended(runner(model).gate(Gate::approve_all()).drive_with(&relay, step, &mailbox));
    let not_run = r#"user: tu_1_0!{"error":"not_run","detail":"called off"}"#;
    assert_eq!((told(&report), ran.load(Ordering::SeqCst)), ((not_run.to_owned(), 0), 0));

    // Whenever its time is over, the clock going on each time that somebody looks at it.
    for most in 1..20 {
        let relay = asks(most);
        let clock = AtomicU64::new(1_000);
        let clock = move || clock.fetch_add(1, Ordering::SeqCst);
        let model = turns();
        let before = ran.load(Ordering::SeqCst);
        let report = ended(runner(&model).clock(clock).gate(Gate::approve_all()).run(&relay, "hello"));
        let (last, effects) = told(&report);
        assert!(!last.contains("in_doubt"), "{most}: {last}");
        assert_eq!(effects, ran.load(Ordering::SeqCst) - before, "{most}: {last}");
    }

    // One that was loaded may have been begun.
    let Step::CallModel(call) = relay.start("c", "Pay.").unwrap() else { panic!("it asks") };
    let reply = calls([("pay", "{}")])(&call.request(&relay));
    let payers = Relay::builder().agent(payer).entry("payer").build().unwrap();
    let Step::CallModel(call) = payers.start("c", "Pay.").unwrap() else { panic!("it asks") };
    let loaded = payers.load(&call.resume(&payers, Ok(reply), 1).save().unwrap()).unwrap();
    let report = ended(runner(turns()).drive_with(&payers, loaded, &mailbox));
    assert!(story_of(&report, "payer").last().unwrap().contains("in_doubt"));
}
