//! Runs that wait for a person, driven by the runner: what waits, what goes on meanwhile, and what an answer does.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{
    Spans, Watched, agent, calls, desk, ended, hands_to, house, question, runner, says, script, story,
    story_of, to, tools,
};
use sommelier_handoff::step::CALLED_OFF;
use sommelier_handoff::{
    ASK_HUMAN, Answer, Asks, Delegate, DelegateStatus, HANDOFF_TO_SPECIALIST, Link, OnFailedBranch, Question,
    Rejected, Relay, RelayBuilder, Route, RunEnd, Step,
};
use sommelier_protocol::{ModelRequest, ModelResponse, RawJson, ToolName, ToolUse, Words};
use sommelier_runner::{
    Decision, Gate, Outcome, Parked, Report, RunError, Runner, dispatch_parallel, run_agent,
    run_agent_with_handoff,
};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Agent, Model, ModelError, Tool, ToolOutput, tool_args};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

tool_args! {
    /// What to pay.
    struct Pay {
        /// The invoice.
        invoice: String,
    }
}

/// How often something was done.
#[derive(Clone, Default)]
struct Count(Arc<AtomicU32>);

impl Count {
    fn now(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }

    /// A tool that needs approval, and counts.
    fn pays(&self) -> Tool {
        let count = Arc::clone(&self.0);
        let pay = Tool::new("pay", "Pays an invoice.", move |pay: Pay, _: &CallContext<'_>| {
            count.fetch_add(1, Ordering::SeqCst);
            Ok::<_, Failure>(format!("{} is paid", pay.invoice))
        });
        pay.needs_approval()
    }

    /// An agent that has it.
    fn payer(&self, name: &str) -> Agent {
        agent(name).tools([self.pays()])
    }
}

fn pay(invoice: &str) -> (&'static str, String) {
    ("pay", format!(r#"{{"invoice":"{invoice}"}}"#))
}

fn clerk(paid: &Count) -> Relay {
    Relay::builder().agent(paid.payer("clerk")).entry("clerk").build().unwrap()
}

fn asking<'m>(model: impl Model + 'm) -> Runner<'m> {
    runner(model).conversation("c").gate(Gate::ask_all())
}

/// What came of a run, which must wait.
#[track_caller]
fn waiting(outcome: Result<Outcome, RunError>) -> Parked {
    match outcome.unwrap() {
        Outcome::Waiting(parked) => parked,
        other => panic!("it does not wait: {other:?}"),
    }
}

/// The run as another process takes it up.
#[track_caller]
fn reloaded(relay: &Relay, parked: Parked) -> Parked {
    Parked::new(relay.load(&parked.into_step().save().unwrap()).unwrap())
}

fn open(parked: &Parked) -> Vec<&str> {
    parked.questions().into_iter().map(|(_, question)| &*question.id).collect()
}

fn no(reason: &str) -> Answer {
    Answer::Reject { reason: reason.into() }
}

/// C76, S1-35: a run whose gate asks is no report: it waits, says what for, and nothing has run. Driven once more without
/// an answer it waits for the same.
#[test]
fn a_gate_that_asks_parks_the_run() {
    let paid = Count::default();
    let relay = clerk(&paid);
    let model = Watched::new(script([("clerk", calls([pay("INV-1")])), ("clerk", says("Paid."))]));
    let parked = waiting(asking(&model).run(&relay, "Pay."));
    let input = RawJson::parse(&pay("INV-1").1).unwrap();
    let asks = Asks::Tool { call_id: "tu_1_0".into(), tool: ToolName::new("pay").unwrap(), input };
    let asked = Question { id: "c/1/1/0".into(), from: relay.entry().clone(), at: 1000, asks };
    let questions: Vec<(&str, &Question)> =
        parked.questions().into_iter().map(|(run, one)| (run.conversation(), one)).collect();
    assert_eq!(questions, [("c", &asked)]);
    let again = waiting(asking(&model).drive(&relay, parked.step().clone()));
    assert_eq!(again, parked);
    assert_eq!((paid.now(), model.order()), (0, "clerk".to_owned()));
    let report = ended(asking(&model).answer(&relay, parked, "c/1/1/0", Answer::Approve));
    assert_eq!((report.answer(), paid.now(), model.order()), ("Paid.", 1, "clerk clerk".to_owned()));
    assert_eq!(report.done().run().decisions()[0].question, asked);
}

/// C80, S1-36: what a person has decided holds in another process, whose gate would say otherwise: the decision is of the
/// run, and the gate is not asked about it.
#[test]
fn a_decision_is_kept_under_another_gate() {
    let paid = Count::default();
    let relay = clerk(&paid);
    let model = || script([("clerk", calls([pay("INV-1")])), ("clerk", says("Paid."))]);
    let parked = reloaded(&relay, waiting(asking(model()).run(&relay, "Pay.")));
    let denies = runner(model()).gate(Gate::deny_all("nobody is here"));
    let report = ended(denies.answer(&relay, parked, "c/1/1/0", Answer::Approve));
    assert_eq!((report.answer(), paid.now(), report.tool_calls()), ("Paid.", 1, 1));
}

/// C88: what a person has rejected does not run under a gate that approves everything, and its model is told why.
#[test]
fn a_rejection_is_kept_under_a_gate_that_approves() {
    let paid = Count::default();
    let relay = clerk(&paid);
    let model = || script([("clerk", calls([pay("INV-1")])), ("clerk", says("Not paid."))]);
    let parked = reloaded(&relay, waiting(asking(model()).run(&relay, "Pay.")));
    let approves = runner(model()).gate(Gate::approve_all());
    let report = ended(approves.answer(&relay, parked, "c/1/1/0", no("paid last week")));
    assert_eq!((report.answer(), paid.now(), report.tool_calls()), ("Not paid.", 0, 0));
    let told = r#"user: tu_1_0!{"error":"approval_denied","tool":"pay","reason":"paid last week","effect":"none: the tool was not run"}"#;
    assert_eq!(story_of(&report, "clerk")[2], told);
}

/// C77: an answer that cannot be taken is handed back with the run as it was.
#[test]
fn a_rejected_answer_leaves_the_run_as_it_was() {
    let paid = Count::default();
    let relay = clerk(&paid);
    let model = script([("clerk", calls([pay("INV-1"), pay("INV-2")])), ("clerk", says("One."))]);
    let parked = waiting(asking(&model).run(&relay, "Pay."));
    let before = parked.clone();
    let error = asking(&model).answer(&relay, parked, "c/1/1/9", Answer::Approve).unwrap_err();
    let told = r#"no question "c/1/1/9" is open; open: c/1/1/0, c/1/1/1"#;
    assert_eq!(error.to_string(), told);
    let RunError::Rejected { why: Rejected::Unknown { .. }, parked } = error else { panic!("{error}") };
    assert_eq!(*parked, before);
    let parked = waiting(asking(&model).answer(&relay, *parked, "c/1/1/1", Answer::Approve));
    assert_eq!((open(&parked), paid.now()), (vec!["c/1/1/0"], 0));
    let error = asking(&model).answer(&relay, parked, "c/1/1/1", no("late")).unwrap_err();
    let RunError::Rejected { why, parked } = error else { panic!("{error}") };
    assert_eq!(why, Rejected::Decided { id: "c/1/1/1".into(), answer: Answer::Approve });
    let report = ended(asking(&model).answer(&relay, *parked, "c/1/1/0", no("not this")));
    assert_eq!((report.answer(), paid.now()), ("One.", 1));
}

/// A gate may ask about one call of a reply, approve another and deny a third: nothing of the reply runs before the answer,
/// tools that need no approval neither. What was denied is no question.
#[test]
fn nothing_of_a_reply_runs_before_the_answer() {
    let (paid, looked) = (Count::default(), Count::default());
    let count = looked.clone();
    let peek = Tool::new("peek", "Peeks.", move |_: harness::Nothing, _: &CallContext<'_>| {
        Ok::<_, Failure>(count.0.fetch_add(1, Ordering::SeqCst))
    });
    let clerk = agent("clerk").tools([paid.pays(), peek]);
    let relay = Relay::builder().agent(clerk).entry("clerk").build().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let gate = {
        let asked = Arc::clone(&asked);
        Gate::new(move |approval| {
            asked.lock().unwrap().push(approval.call_id.to_owned());
            match approval.call_id {
                "tu_1_0" => Decision::Ask,
                "tu_1_1" => Decision::Approve,
                _ => Decision::Deny { reason: "too much".into() },
            }
        })
    };
    let reply = calls([
        pay("INV-0"),
        pay("INV-1"),
        pay("INV-2"),
        ("peek", "{}".to_owned()),
        ("pay", "{}".to_owned()),
    ]);
    let model = script([("clerk", reply), ("clerk", says("Two."))]);
    let runner = runner(&model).conversation("c").gate(gate);
    let parked = waiting(runner.run(&relay, "Pay."));
    assert_eq!((open(&parked), paid.now(), looked.now()), (vec!["c/1/1/0"], 0, 0));
    assert_eq!(*asked.lock().unwrap(), ["tu_1_0", "tu_1_1", "tu_1_2"]);
    let report = ended(runner.answer(&relay, parked, "c/1/1/0", Answer::Approve));
    assert_eq!((paid.now(), looked.now(), report.tool_calls()), (2, 1, 5));
    let results = &story_of(&report, "clerk")[2];
    let told: Vec<&str> = results.strip_prefix("user: ").unwrap().split(" | ").collect();
    let denied = r#"tu_1_2!{"error":"approval_denied","tool":"pay","reason":"too much","effect":"none: the tool was not run"}"#;
    let expected = [r#"tu_1_0="INV-0 is paid""#, r#"tu_1_1="INV-1 is paid""#, denied, "tu_1_3=0"];
    assert_eq!(told[..4], expected);
    assert!(told[4].starts_with(r#"tu_1_4!{"error":"invalid_arguments""#), "{}", told[4]);
    // A call that a person has decided on is not put before the gate again.
    assert_eq!(asked.lock().unwrap()[3..], ["tu_1_1", "tu_1_2"]);
}

/// A supervisor with three delegates that pay.
fn supervised(paid: &Count) -> RelayBuilder {
    let names = ["billing", "shipping", "storage"];
    let relay = Relay::builder().agent(agent("supervisor")).entry("supervisor");
    names.into_iter().fold(relay, |relay, name| {
        relay.delegate("supervisor", Delegate::new(format!("ask_{name}"), paid.payer(name)))
    })
}

fn asks_all() -> harness::Turn {
    let ask = |tool, what: &str| (tool, question(what));
    calls([ask("ask_billing", "Pay 1."), ask("ask_shipping", "Pay 2."), ask("ask_storage", "Pay 3.")])
}

fn looks(word: &'static str) -> harness::Turn {
    calls([("look", format!(r#"{{"word":"{word}"}}"#))])
}

/// C82, S1-37: a branch that waits keeps nobody from going on: the other two come to their end first, and then the tree
/// waits. After the answer, in the same process or another, nobody is asked again what they have said.
#[test]
fn other_branches_come_to_their_end_first() {
    let turns = || {
        [
            ("supervisor", asks_all()),
            ("billing", calls([pay("INV-1")])),
            ("billing", says("1.")),
            ("shipping", looks("a")),
            ("shipping", looks("b")),
            ("shipping", says("2.")),
            ("storage", says("3.")),
            ("supervisor", says("All.")),
        ]
    };
    for reload in [false, true] {
        let paid = Count::default();
        let relay = supervised(&paid).build().unwrap();
        let model = Watched::new(script(turns()));
        let parked = waiting(asking(&model).run(&relay, "Pay all."));
        assert_eq!(open(&parked), ["c/1/1/0/1/1/0"]);
        let Step::Delegate(delegation) = parked.step() else { panic!("delegates are asked") };
        let done: Vec<bool> = delegation.branches().iter().map(|branch| branch.done().is_some()).collect();
        assert_eq!((done, paid.now(), model.asked().len()), (vec![false, true, true], 0, 6));
        let parked = if reload { reloaded(&relay, parked) } else { parked };
        let report = ended(asking(&model).answer(&relay, parked, "c/1/1/0/1/1/0", Answer::Approve));
        assert_eq!((report.answer(), paid.now(), model.asked().len()), ("All.", 1, 8));
        let told = &story_of(&report, "supervisor")[2];
        let finding = |n: usize, steps: u32| {
            format!(r#"tu_1_{}={{"status":"done","finding":"{n}.","steps_used":{steps}}}"#, n - 1)
        };
        let paid = finding(1, 2).replace('}', r#","effects":["pay"]}"#);
        assert_eq!(*told, format!("user: {paid} | {} | {}", finding(2, 3), finding(3, 1)));
        let billing = story(report.links()[0].run().unwrap().turn().unwrap().messages());
        assert_eq!(billing[2..], [r#"user: tu_1_0="INV-1 is paid""#, "assistant: 1."]);
    }
}

/// S1-37: three branches wait side by side on threads, and are answered in reverse order, each by another process.
#[test]
fn three_branches_wait_and_are_answered_in_reverse() {
    let paid = Count::default();
    let relay = supervised(&paid).build().unwrap();
    let turns = [
        ("supervisor", asks_all()),
        ("billing", calls([pay("INV-1")])),
        ("billing", says("1.")),
        ("shipping", calls([pay("INV-2")])),
        ("shipping", says("2.")),
        ("storage", calls([pay("INV-3")])),
        ("storage", says("Not paid.")),
        ("supervisor", says("Two.")),
    ];
    let model = script(turns);
    let mut parked = waiting(asking(&model).run(&relay, "Pay all."));
    let ids = ["c/1/1/0/1/1/0", "c/1/1/1/1/1/0", "c/1/1/2/1/1/0"];
    assert_eq!(open(&parked), ids);
    for (id, answer, paid_then) in [(ids[2], no("closed"), 0), (ids[1], Answer::Approve, 1)] {
        parked = waiting(asking(&model).answer(&relay, reloaded(&relay, parked), id, answer));
        assert_eq!(paid.now(), paid_then);
    }
    let report = ended(asking(&model).answer(&relay, reloaded(&relay, parked), ids[0], Answer::Approve));
    assert_eq!((report.answer(), paid.now()), ("Two.", 2));
    let findings = report.links().iter().filter_map(Link::result).map(|one| one.finding.as_deref());
    assert_eq!(findings.collect::<Vec<_>>(), [Some("1."), Some("2."), Some("Not paid.")]);
}

/// A model that some agents cannot reach.
struct DownFor<M>(&'static str, M);

impl<M: Model> Model for DownFor<M> {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        match &*request.caller == self.0 {
            true => Err(ModelError::Unreachable { detail: "no route to host".to_owned() }),
            false => self.1.complete(request),
        }
    }
}

/// Where a failed branch calls the others off, one that waits for a person is called off too: nobody is asked about what is
/// pointless, and nothing that waited is done.
#[test]
fn a_branch_that_waits_is_called_off() {
    let paid = Count::default();
    let relay = supervised(&paid).on_failed_branch(OnFailedBranch::CallOff).build().unwrap();
    let both = [("ask_billing", question("Pay 1.")), ("ask_shipping", question("Pay 2."))];
    let turns = script([
        ("supervisor", calls(both)),
        ("billing", calls([pay("INV-1")])),
        ("shipping", calls([pay("INV-2")])),
        ("supervisor", says("Neither.")),
    ]);
    let parked = waiting(asking(&turns).run(&relay, "Pay."));
    assert_eq!(open(&parked), ["c/1/1/0/1/1/0", "c/1/1/1/1/1/0"]);
    let down = DownFor("shipping", &turns);
    let answer = || ended(asking(&down).answer(&relay, parked, "c/1/1/1/1/1/0", no("closed")));
    let (report, spans) = Spans::of(answer);
    assert_eq!((report.answer(), paid.now()), ("Neither.", 0));
    let off = report.links()[0].run().unwrap();
    assert_eq!(off.end(), &RunEnd::Cancelled { reason: CALLED_OFF.into() });
    let statuses: Vec<_> = report.links().iter().filter_map(Link::result).map(|one| one.status).collect();
    assert_eq!(statuses, [DelegateStatus::Failed, DelegateStatus::Failed]);
    let asked: Vec<String> = spans.all().iter().map(|span| span.field("status").to_owned()).collect();
    assert_eq!(asked.iter().filter(|status| *status == "failed").count(), 2);
}

/// C73, C79: a question two delegates deep is answered by its id, in a process that has loaded the tree.
#[test]
fn a_question_two_delegates_deep_is_answered_by_its_id() {
    let paid = Count::default();
    let inner = Relay::builder()
        .agent(agent("b"))
        .delegate("b", Delegate::new("ask_c", paid.payer("c")))
        .entry("b")
        .build()
        .unwrap();
    let relay = Relay::builder()
        .agent(agent("s"))
        .delegate("s", Delegate::team("ask_b", inner).max_model_calls(9))
        .entry("s")
        .build()
        .unwrap();
    let model = Watched::new(script([
        ("s", calls([("ask_b", question("Pay."))])),
        ("b", calls([("ask_c", question("Pay INV-1."))])),
        ("c", looks("INV-1")),
        ("c", calls([pay("INV-1")])),
        ("c", says("Paid.")),
        ("b", says("C has paid.")),
        ("s", says("All is paid.")),
    ]));
    let parked = reloaded(&relay, waiting(asking(&model).run(&relay, "Pay.")));
    let [(run, asked)] = parked.questions()[..] else { panic!("one question") };
    assert_eq!(
        (run.conversation(), &*asked.id, asked.from.as_str()),
        ("c/1/1/0/1/1/0", "c/1/1/0/1/1/0/1/2/0", "c")
    );
    let report = ended(asking(&model).answer(&relay, parked, "c/1/1/0/1/1/0/1/2/0", Answer::Approve));
    assert_eq!((report.answer(), paid.now()), ("All is paid.", 1));
    assert_eq!((model.order(), report.tool_calls()), ("s b c c c b s".to_owned(), 2));
}

/// C47, C62: an agent asks in words, an edge asks for approval: with no gate that asks. What the user says meanwhile is read
/// by whoever has the turn then.
#[test]
fn words_edges_and_the_user_go_through_the_runner() {
    let relay = Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .entry("a")
        .may_ask_human("a")
        .route_with(Route::new("a", "b").needs_approval())
        .build()
        .unwrap();
    let model = Watched::new(script([
        ("a", calls([(ASK_HUMAN, r#"{"question":"Red or white?","choices":["red","white"]}"#)])),
        ("a", hands_to("b")),
        ("b", says("Red it is.")),
    ]));
    let runner = runner(&model).conversation("c");
    let parked = waiting(runner.run(&relay, "Wine."));
    let red = Answer::Say { text: "red".into() };
    let parked = waiting(runner.answer(&relay, parked, "c/1/1/0", red));
    let [(run, asked)] = parked.questions()[..] else { panic!("one question") };
    assert_eq!((asked.asks.as_str(), run.active().as_str(), run.trail().count()), ("handoff", "a", 0));
    let heard = parked.into_step().hear(&relay, Words::new("Quick, please.").unwrap());
    let parked = waiting(runner.drive(&relay, heard));
    let report = ended(runner.answer(&relay, parked, "c/1/2/0", Answer::Approve));
    assert_eq!((report.answer(), model.order()), ("Red it is.", "a a b".to_owned()));
    assert!(story_of(&report, "b").join("\n").contains("Quick, please."));
    assert!(!story_of(&report, "a").join("\n").contains("Quick, please."));
}

/// What the spans of a drive say of people: the fields of its root, and what was rejected.
fn of_people(spans: &Spans) -> Vec<Vec<String>> {
    let root = ["end", "waits_for", "question", "answered"];
    let done = ["gen_ai.tool.name", "gen_ai.agent.name", "approval", "outcome", "refusal", "error.type"];
    let told = spans.all().into_iter().filter_map(|span| match span.name {
        "invoke_workflow" => Some(span.pick(root).map(str::to_owned).to_vec()),
        "execute_tool" | "handoff" => Some(span.pick(done).map(str::to_owned).to_vec()),
        _ => None,
    });
    told.collect()
}

/// S1-34, S1-36: what a person is asked and answers stands in the spans: what is waited for on the root that ends so, the answer on the
/// root that goes on with it. What a "no" has kept from being done has a span, as what is done has one.
#[test]
fn what_a_person_answers_is_in_the_spans() {
    let (paid, model) =
        (Count::default(), || script([("clerk", calls([pay("INV-1")])), ("clerk", says("Well."))]));
    let relay = clerk(&paid);
    for (answer, word, approval, error) in [
        (Answer::Approve, "approve", "approved_by_person", ""),
        (no("closed"), "reject", "denied_by_person", "approval_denied"),
    ] {
        let model = model();
        let (parked, spans) = Spans::of(|| waiting(asking(&model).run(&relay, "Pay.")));
        assert_eq!(of_people(&spans), [["waiting", "tool pay", "", ""]]);
        let (_, spans) = Spans::of(|| ended(asking(&model).answer(&relay, parked, "c/1/1/0", answer)));
        let root = ["answered", "", "tool", word].map(str::to_owned).to_vec();
        let tool = ["pay", "clerk", approval, "", "", error].map(str::to_owned).to_vec();
        assert_eq!(of_people(&spans), [root, tool]);
    }

    let route = Route::new("a", "b").needs_approval();
    let pair =
        Relay::builder().agent(agent("a")).agent(agent("b")).entry("a").route_with(route).build().unwrap();
    let model = script([("a", hands_to("b")), ("a", says("I cannot."))]);
    let (parked, spans) = Spans::of(|| waiting(asking(&model).run(&pair, "Wine.")));
    assert_eq!(of_people(&spans), [["waiting", "handoff b", "", ""]]);
    let (_, spans) = Spans::of(|| ended(asking(&model).answer(&pair, parked, "c/1/1/0", no("not to b"))));
    let root = ["answered", "", "handoff", "reject"].map(str::to_owned).to_vec();
    let hop =
        [HANDOFF_TO_SPECIALIST, "a", "", "refused", "approval", "not_approved"].map(str::to_owned).to_vec();
    assert_eq!(of_people(&spans), [root, hop]);
}

/// S1-34: so it is with what a branch asks, under the branch's own span and in no other.
#[test]
fn what_a_person_answers_to_a_branch_is_in_its_spans() {
    let paid = Count::default();
    let relay = supervised(&paid).build().unwrap();
    let model = script([
        ("supervisor", calls([("ask_billing", question("Pay 1.")), ("ask_shipping", question("Pay 2."))])),
        ("billing", calls([pay("INV-1")])),
        ("billing", says("Not paid.")),
        ("shipping", calls([pay("INV-2")])),
        ("shipping", says("2.")),
        ("supervisor", says("One.")),
    ]);
    let (parked, spans) = Spans::of(|| waiting(asking(&model).run(&relay, "Pay both.")));
    assert_eq!(of_people(&spans), [["waiting", "tool pay, tool pay", "", ""]]);
    let (parked, spans) =
        Spans::of(|| waiting(asking(&model).answer(&relay, parked, "c/1/1/0/1/1/0", no("closed"))));
    let root = ["waiting", "tool pay", "tool", "reject"].map(str::to_owned).to_vec();
    let tool = ["pay", "billing", "denied_by_person", "", "", "approval_denied"].map(str::to_owned).to_vec();
    assert_eq!(of_people(&spans), [root, tool]);
    let all = spans.all();
    let rejected = &spans.named("execute_tool")[0];
    let branch = &all[all[rejected.parent.unwrap()].parent.unwrap()];
    assert_eq!((branch.name, branch.field("child_run")), ("delegate", "c/1/1/0"));
    let (_, spans) =
        Spans::of(|| ended(asking(&model).answer(&relay, parked, "c/1/1/1/1/1/0", Answer::Approve)));
    let root = ["answered", "", "tool", "approve"].map(str::to_owned).to_vec();
    let tool = ["pay", "shipping", "approved_by_person", "", "", ""].map(str::to_owned).to_vec();
    assert_eq!(of_people(&spans), [root, tool]);
}

/// R3, S1-33: what runs one agent cannot wait and says so; the run is in the error, and goes on from there.
#[test]
fn one_agent_alone_cannot_wait() {
    let paid = Count::default();
    let model = script([("clerk", calls([pay("INV-1")])), ("clerk", says("Paid."))]);
    let runner = asking(&model);
    let error = run_agent(&runner, paid.payer("clerk"), "Pay.").unwrap_err();
    assert_eq!(error.to_string(), "the run waits for a person to answer 1 question(s)");
    let RunError::Waiting { parked } = error else { panic!("{error}") };
    let report = ended(runner.answer(&clerk(&paid), *parked, "c/1/1/0", Answer::Approve));
    assert_eq!((report.answer(), paid.now()), ("Paid.", 1));
}

/// R3, R13: the same for an agent that is run up to its handoff: it waits before, and the handoff is not taken out.
#[test]
fn an_agent_up_to_its_handoff_cannot_wait() {
    let relay = Relay::builder()
        .agent(agent("a"))
        .agent(agent("b"))
        .entry("a")
        .route_with(Route::new("a", "b").needs_approval())
        .build()
        .unwrap();
    let model = script([("a", hands_to("b")), ("b", says("Here."))]);
    let runner = asking(&model);
    let error = run_agent_with_handoff(&runner, &relay, "a", "hello").unwrap_err();
    let RunError::Waiting { parked } = error else { panic!("{error}") };
    assert_eq!((open(&parked), parked.step().run().trail().count()), (vec!["c/1/1/0"], 0));
    let report = ended(runner.answer(&relay, *parked, "c/1/1/0", Answer::Approve));
    assert_eq!((report.answer(), report.hops().count()), ("Here.", 1));
}

/// C29, C31, R12: a payment that waits beside a handoff: the pause is the sender's, the hop comes after the answer.
#[test]
fn a_handoff_beside_a_tool_that_waits_comes_after_the_answer() {
    for (answer, times) in [(Answer::Approve, 1), (no("no"), 0)] {
        let paid = Count::default();
        let relay =
            Relay::builder().agent(paid.payer("a")).agent(agent("b")).entry("a").route("a", "b").build();
        let relay = relay.unwrap();
        let both = calls([pay("INV-1"), (HANDOFF_TO_SPECIALIST, to("b", "Go on."))]);
        let model = Watched::new(script([("a", both), ("b", says("Here."))]));
        let parked = waiting(asking(&model).run(&relay, "Pay, and then?"));
        assert_eq!(
            (parked.step().run().active().as_str(), parked.step().run().trail().hops().len()),
            ("a", 0)
        );
        let report = ended(asking(&model).answer(&relay, parked, "c/1/1/0", answer));
        assert_eq!((paid.now(), model.order(), report.hops().count()), (times, "a b".to_owned(), 1));
    }
}

const BOOK: &str =
    r#"{"room":"Focus","plan":"pro","date":"2026-12-01","start_hour":9,"hours":3,"customer":"Ada"}"#;

fn bookings(report: &Report) -> String {
    story_of(report, "booking_agent")[2].clone()
}

/// S3-28: in the house a booking waits for a person, and is made once, though two processes take up the same run.
#[test]
fn a_booking_waits_and_is_made_once() {
    let house = house(500, 2000);
    let relay = desk(&house);
    let model = script([("booking_agent", calls([("book", BOOK)])), ("booking_agent", says("Booked."))]);
    let parked = waiting(asking(&model).run(&relay, "Book it, please."));
    let saved = parked.into_step().save().unwrap();
    let count = || house.bookings.all().unwrap().len();
    assert_eq!(count(), 5);
    let answered = |answer: Answer| {
        let parked = Parked::new(relay.load(&saved).unwrap());
        ended(asking(&model).answer(&relay, parked, "c/1/1/0", answer))
    };
    let refused = answered(no("the room is being painted"));
    assert!(bookings(&refused).contains("the room is being painted"), "{}", bookings(&refused));
    assert_eq!(count(), 5);
    let booked = r#"user: tu_1_0={"booking_id":"RSV-0006","status":"booked","total_cents":6000}"#;
    for _ in 0..2 {
        assert_eq!((bookings(&answered(Answer::Approve)).as_str(), count()), (booked, 6));
    }
}

/// Where tools are run by hand, nobody can be asked: what the gate wants a person for is denied.
#[test]
fn by_hand_nobody_is_asked() {
    let paid = Count::default();
    let clerk = Agent::new("clerk", "").tools([paid.pays()]).tools(tools()).build().unwrap();
    let call = ToolUse::scripted("a", "pay", r#"{"invoice":"INV-1"}"#);
    let outputs = dispatch_parallel(&clerk, [(0, &call)], "test/1", &Gate::ask_all());
    let denied = r#"{"error":"approval_denied","tool":"pay","reason":"a person would have to be asked, and nobody can be here","effect":"none: the tool was not run"}"#;
    assert_eq!((outputs, paid.now()), (vec![ToolOutput::error("approval_denied", denied)], 0));
}

/// The span of a conversation that waits says so, and the one of its way on says how it ended.
#[test]
fn the_trace_tells_that_a_run_waits() {
    let paid = Count::default();
    let relay = clerk(&paid);
    let model = script([("clerk", calls([pay("INV-1")])), ("clerk", says("Paid."))]);
    let (parked, spans) = Spans::of(|| waiting(asking(&model).run(&relay, "Pay.")));
    assert_eq!(ends(&spans), ["waiting"]);
    assert_eq!(spans.named("execute_tool").len(), 0);
    let (_, spans) = Spans::of(|| ended(asking(&model).answer(&relay, parked, "c/1/1/0", Answer::Approve)));
    assert_eq!(ends(&spans), ["answered"]);
    assert_eq!(spans.named("execute_tool").len(), 1);
}

/// How the conversations of a trace ended.
fn ends(spans: &Spans) -> Vec<String> {
    spans.all().iter().filter(|span| span.parent.is_none()).map(|span| span.field("end").to_owned()).collect()
}
