//! Deadlines under the runner: models and tools are told how long they may take, and what takes longer ends for it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod harness;

use harness::{Look, Spans, Turn, agent, awake, calls, ended, hands_to, question, says, script, story_of};
use sommelier_handoff::{Agent, Budget, Delegate, DelegateStatus, Measure, Relay, RunEnd};
use sommelier_metrics::Metrics;
use sommelier_protocol::{ModelRequest, ModelResponse};
use sommelier_runner::{Gate, Outcome, Report, Runner};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Model, ModelError, ScriptedModel, Tool};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tracing_subscriber::layer::SubscriberExt;

/// A clock that is moved by hand.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn now(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn pass(&self, millis: u64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }

    fn runner<'m>(&self, model: impl Model + 'm) -> Runner<'m> {
        awake();
        self.pass(1_000);
        let clock = self.clone();
        Runner::new(model).clock(move || clock.now()).conversation("c")
    }

    /// An agent with a tool that takes so long, and writes down how long it may take.
    fn slow(&self, name: &str, takes: u64, told: &Told) -> Agent {
        let (clock, told) = (self.clone(), told.clone());
        let look = Tool::new("look", "Looks a word up.", move |look: Look, call: &CallContext<'_>| {
            told.tell(call.agent, call.time_left);
            clock.pass(takes);
            Ok::<_, Failure>(look.word)
        });
        Agent::new(name, "").tools([look])
    }
}

/// Who was told how long it may take.
type Left = (String, Option<u64>);

/// How long each model and tool was told it may take.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<Left>>>);

impl Told {
    fn tell(&self, who: &dyn std::fmt::Display, left: Option<u64>) {
        self.0.lock().unwrap().push((who.to_string(), left));
    }

    fn all(&self) -> Vec<Left> {
        self.0.lock().unwrap().clone()
    }
}

/// A script whose replies take so long each.
struct Slow {
    model: ScriptedModel,
    clock: Clock,
    takes: u64,
    told: Told,
}

impl Model for Slow {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        self.told.tell(&request.caller, request.time_left);
        self.clock.pass(self.takes);
        self.model.complete(request)
    }
}

fn looks(word: &'static str) -> Turn {
    calls([("look", format!(r#"{{"word":"{word}"}}"#))])
}

fn spent(most: u64) -> RunEnd {
    RunEnd::BudgetSpent { measure: Measure::Millis, most }
}

/// A run of a supervisor that looks and then asks billing, which has `own` milliseconds; models take 10, tools 100.
fn run(budget: Budget, own: Option<u64>) -> (Report, Vec<Left>) {
    let (clock, told) = (Clock::default(), Told::default());
    let billing = Budget { millis: own, ..Budget::new(4) };
    let relay = Relay::builder()
        .agent(clock.slow("supervisor", 100, &told))
        .delegate(
            "supervisor",
            Delegate::new("ask_billing", clock.slow("billing", 100, &told)).budget(billing),
        )
        .entry("supervisor")
        .budget(budget)
        .build()
        .unwrap();
    let model = script([
        ("supervisor", looks("tea")),
        ("supervisor", calls([("ask_billing", question("Paid?"))])),
        ("billing", looks("INV")),
        ("billing", says("Paid.")),
        ("supervisor", says("Tea is paid.")),
    ]);
    let model = Slow { model, clock: clock.clone(), takes: 10, told: told.clone() };
    (ended(clock.runner(model).run(&relay, "hello")), told.all())
}

fn named(told: &[Left]) -> Vec<(&str, Option<u64>)> {
    told.iter().map(|(who, left)| (who.as_str(), *left)).collect()
}

/// Each model and each tool is told how long it may take from then on: what its run has left, and in a branch no more than
/// the delegate's own. Where no time is limited nobody is told anything.
#[test]
fn models_and_tools_are_told_how_long_they_may_take() {
    let (s, b) = ("supervisor", "billing");
    let (report, told) = run(Budget::new(50).millis(500), None);
    let expected = [
        (s, Some(500)),
        (s, Some(490)),
        (s, Some(390)),
        (b, Some(380)),
        (b, Some(370)),
        (b, Some(270)),
        (s, Some(260)),
    ];
    assert_eq!((report.end(), named(&told)), (&RunEnd::Answered, expected.to_vec()));
    let (report, told) = run(Budget::new(50), Some(200));
    let expected =
        [(s, None), (s, None), (s, None), (b, Some(200)), (b, Some(190)), (b, Some(90)), (s, None)];
    assert_eq!((report.end(), named(&told)), (&RunEnd::Answered, expected.to_vec()));
    let (_, told) = run(Budget::new(50), None);
    assert!(told.iter().all(|(_, left)| left.is_none()), "{told:?}");
}

/// C125: a delegate that takes longer than it may is stopped, keeps what it did, and is reported by name; its asker goes
/// on. A run that takes longer ends, and goes on with more.
#[test]
fn what_takes_too_long_ends() {
    let (report, told) = run(Budget::new(50), Some(50));
    assert_eq!((report.end(), report.answer()), (&RunEnd::Answered, "Tea is paid."));
    let link = &report.links()[0];
    let branch = link.run().unwrap();
    assert_eq!(
        (link.tool.as_str(), branch.end(), branch.status()),
        ("ask_billing", &spent(50), DelegateStatus::Failed)
    );
    assert_eq!(
        harness::story(branch.run().idle("billing").unwrap().messages()).last().unwrap(),
        r#"user: tu_1_0="INV""#
    );
    assert_eq!(told.len(), 6);

    let (report, told) = run(Budget::new(50).millis(105), None);
    assert_eq!((report.end(), told.len()), (&spent(105), 2));
    assert_eq!(story_of(&report, "supervisor").last().unwrap(), r#"user: tu_1_0="tea""#);
}

/// A model that has given up since its time was over.
struct GivesUp(Clock, u64);

impl Model for GivesUp {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let left = request.time_left.unwrap();
        self.0.pass(self.1);
        Err(ModelError::TimedOut { detail: format!("{left} ms") })
    }
}

/// C163: a receiver whose model does not answer ends the run as timed out, with a type of its own: what it had, or the
/// whole run's time. The hop is on record, and it can be tried again.
#[test]
fn a_receiver_that_does_not_answer_times_out() {
    for (takes, end) in
        [(40, RunEnd::Failed { error: ModelError::TimedOut { detail: "50 ms".to_owned() } }), (50, spent(50))]
    {
        let clock = Clock::default();
        let relay = harness::team("a -> b").budget(Budget::new(50).millis(50)).build().unwrap();
        let model = script([("a", hands_to("b")), ("b", says("Here."))]);
        let runner = clock.runner(&model).model_of("b", GivesUp(clock.clone(), takes));
        let report = ended(runner.run(&relay, "hello"));
        assert_eq!((report.end(), report.last_agent()), (&end, "b"));
        assert_eq!(harness::trail(report.done().run().trail().hops()), ["a -> b: taken 1"]);
        let report = ended(clock.runner(&model).drive(&relay, report.into_done().retry(&relay).unwrap()));
        assert_eq!((report.end(), report.answer()), (&RunEnd::Answered, "Here."));
    }
}

/// A branch that waits for a person while another works, and whose time is over by then, ends as one whose time is over:
/// the run does not wait.
#[test]
fn a_branch_that_waits_is_over_with_its_time() {
    let (clock, told) = (Clock::default(), Told::default());
    let pay = Tool::new("pay", "Pays.", |_: harness::Nothing, _: &CallContext<'_>| Ok::<_, Failure>("paid"));
    let payer = Agent::new("payer", "").tools([pay.needs_approval()]);
    let relay = Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::new("ask_payer", payer).budget(Budget::new(4).millis(50)))
        .delegate("supervisor", Delegate::new("ask_slow", clock.slow("slow", 100, &told)))
        .entry("supervisor")
        .build()
        .unwrap();
    let model = || {
        script([
            ("supervisor", calls([("ask_payer", question("Pay?")), ("ask_slow", question("Slow?"))])),
            ("payer", calls([("pay", "{}")])),
            ("slow", looks("tea")),
            ("slow", says("Slow.")),
            ("supervisor", says("Not paid.")),
        ])
    };
    let report = ended(clock.runner(model()).gate(Gate::ask_all()).run(&relay, "hello"));
    let ends: Vec<&RunEnd> = report.links().iter().map(|link| link.run().unwrap().end()).collect();
    assert_eq!((report.answer(), ends), ("Not paid.", vec![&spent(50), &RunEnd::Answered]));
    // In time it waits, and the clock goes on: the next time it is driven it is over.
    let quick = Clock::default();
    let relay_of_payer = {
        let pay =
            Tool::new("pay", "Pays.", |_: harness::Nothing, _: &CallContext<'_>| Ok::<_, Failure>("paid"));
        let clerk = Agent::new("payer", "").tools([pay.needs_approval()]);
        Relay::builder().agent(clerk).entry("payer").budget(Budget::new(4).millis(50)).build().unwrap()
    };
    let model = script([("payer", calls([("pay", "{}")]))]);
    let runner = quick.runner(&model).gate(Gate::ask_all());
    let Outcome::Waiting(parked) = runner.run(&relay_of_payer, "hello").unwrap() else { panic!("it waits") };
    quick.pass(50);
    let report = ended(runner.drive(&relay_of_payer, parked.into_step()));
    assert_eq!(report.end(), &spent(50));
}

/// S3-29: what was used up stands in the spans of the run and of the branch, and is counted.
#[test]
fn what_was_used_up_is_in_the_spans() {
    let metrics = Metrics::new();
    let subscriber = tracing_subscriber::registry().with(metrics.layer());
    tracing::subscriber::with_default(subscriber, || {
        run(Budget::new(50), Some(50));
        run(Budget::new(50).millis(105), None);
        run(Budget::new(3), None);
    });
    let spent = metrics.report().spent;
    let spent: Vec<(&str, u64)> = spent.iter().map(|(measure, count)| (measure.as_str(), *count)).collect();
    assert_eq!(spent, [("millis", 2), ("model_calls", 1)]);
    let table = metrics.report().to_string();
    assert!(table.contains("budgets spent      3  millis 2, model_calls 1"), "{table}");

    let (_, spans) = Spans::of(|| run(Budget::new(50), Some(50)));
    assert_eq!(spans.named("delegate")[0].pick(["end", "measure"]), ["budget_spent", "millis"]);
    assert_eq!(spans.named("invoke_workflow")[0].pick(["end", "measure"]), ["answered", ""]);
    let (_, spans) = Spans::of(|| run(Budget::new(2), None));
    assert_eq!(spans.named("delegate")[0].pick(["refusal", "measure"]), ["budget_spent", "model_calls"]);
    assert_eq!(spans.named("invoke_workflow")[0].pick(["end", "measure"]), ["budget_spent", "model_calls"]);
}

/// C116: what is on record was taken. However long the writing takes, the handoff is taken at the time at which it was
/// written down, and the run ends after it.
#[test]
fn what_was_written_down_was_taken_however_long_it_took() {
    let relay = Relay::builder().agent(agent("a")).agent(agent("b")).entry("a").route("a", "b");
    let relay = relay.budget(Budget::new(9).millis(100)).build().unwrap();
    let (clock, written) = (Clock::default(), Mutex::new(Vec::new()));
    let model = script([("a", hands_to("b"))]);
    let runner = clock.runner(&model).record_hops(|hop| {
        clock.pass(100);
        written.lock().unwrap().push(hop.id.clone());
        Ok(())
    });
    let (report, spans) = Spans::of(|| ended(runner.run(&relay, "hello")));
    let spent = RunEnd::BudgetSpent { measure: Measure::Millis, most: 100 };
    assert_eq!((report.end(), report.last_agent()), (&spent, "b"));
    let taken: Vec<_> = report.hops().map(|hop| hop.id.clone()).collect();
    assert_eq!(*written.lock().unwrap(), taken);
    assert_eq!((taken.len(), spans.named("handoff")[0].pick(["outcome"])), (1, ["taken"]));
}
