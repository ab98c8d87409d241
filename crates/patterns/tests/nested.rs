//! Patterns within patterns: a pipeline over a fan-out over a supervisor, and what a rule sees when it is asked.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what cannot be")]

use serde_json::Value;
use sommelier_handoff::{Agent, Delegate, Done, HandoffPackage, Link, Relay, Run, Step};
use sommelier_patterns::{FanOut, Finding, Move, Pipeline, Question, Rule, Sight, Supervisor, Team};
use sommelier_protocol::{ModelRequest, ModelResponse, Words};
use sommelier_runner::{Outcome, Report, Runner};
use sommelier_runtime::{Model, ModelError, ScriptedModel, script};
use std::sync::{Arc, Mutex};

fn desk(name: &str) -> Delegate {
    Delegate::new(format!("ask_{name}"), Agent::new(name, ""))
}

fn joined(findings: &[Finding]) -> String {
    findings.iter().map(Finding::words).collect::<Vec<_>>().join(" ")
}

/// A pipeline, whose first stage is a fan-out, one part of which is a supervisor that decides by its model.
fn three_levels() -> Team {
    let supervisor = Supervisor::by_model(Agent::new("supervisor", "You ask the desks."))
        .delegate(desk("billing"))
        .delegate(desk("shipping"))
        .build()
        .unwrap();
    let desks = FanOut::new("desks")
        .part(supervisor.behind("ask_supervisor").purpose("Asks who knows the case."), |words| {
            format!("Case: {words}")
        })
        .part(desk("terms"), |words| format!("Terms: {words}"))
        .aggregate(|words, findings| format!("[{words}] {}", joined(findings)))
        .build()
        .unwrap();
    Pipeline::new("front")
        .stage(desks.behind("ask_desks"), |words, _| words.to_owned())
        .stage(desk("writer"), |_, so_far| so_far[0].words().to_owned())
        .build_with(|relay| relay.max_depth(3))
        .unwrap()
}

/// What an agent was asked.
fn task(request: &ModelRequest<'_>) -> String {
    let (_, package) = HandoffPackage::from_told(script::first_words(request)).unwrap();
    package.task().to_owned()
}

/// Every agent says its name and what it was asked, so that the answer tells the whole way.
fn everybody() -> ScriptedModel {
    let says = |request: &ModelRequest<'_>| script::say(format!("{}({})", request.caller, task(request)));
    let asks = [
        ("tu_1", "ask_billing", r#"{"question":"Paid?"}"#),
        ("tu_2", "ask_shipping", r#"{"question":"Where?"}"#),
    ];
    let model = ScriptedModel::new().turn("supervisor", move |_| script::calls(asks));
    let model = model.turn("supervisor", |request| {
        let results = request.messages.last().unwrap().tool_results();
        let found = results.map(|result| {
            let told: Value = serde_json::from_str(&result.words()).unwrap();
            told["finding"].as_str().unwrap().to_owned()
        });
        let found: Vec<String> = found.collect();
        script::say(format!("supervisor({}: {})", task(request), found.join(", ")))
    });
    ["billing", "shipping", "terms", "writer"].into_iter().fold(model, |model, name| model.turn(name, says))
}

fn run(team: &Team, model: impl Model, words: &str) -> Report {
    let runner = Runner::new(model).conversation("c").clock(|| 0);
    let Outcome::Ended(report) = team.run(runner, words).unwrap() else { panic!("it ends") };
    report
}

/// All links of a tree, each before those of its branch: id, who asked by which tool, what came of it, model calls.
fn links(run: &Run) -> Vec<String> {
    let told = |link: &Link| {
        let result = link.result().unwrap();
        let own = format!(
            "{} {} {} {} {}",
            link.id,
            link.from,
            link.tool,
            result.status.as_str(),
            result.steps_used
        );
        std::iter::once(own).chain(links(link.run().unwrap().run())).collect::<Vec<_>>()
    };
    run.links().iter().flat_map(told).collect()
}

const ANSWER: &str =
    "writer([Hello.] supervisor(Case: Hello.: billing(Paid?), shipping(Where?)) terms(Terms: Hello.))";

/// Each level is asked what the level above wrote and nothing of its fence; the moves of both rules are no model calls,
/// on the way that had to be waited for neither; and the record is a tree.
#[test]
fn three_levels_of_teams_are_one() {
    let (team, model) = (three_levels(), everybody());
    let report = run(&team, &model, "Hello.");
    assert_eq!(model.unused(), [], "every scripted turn was asked for");
    assert_eq!(report.answer(), ANSWER);
    // supervisor twice, the two desks, terms, writer; the desks are asked at once, and so are supervisor and terms.
    assert_eq!((team.model_calls(&report), team.critical_path(&report)), (6, 4));
    // The core counts the moves too: three of the pipeline, two of the fan-out.
    assert_eq!(report.model_calls(), 11);
    assert_eq!(
        links(report.done().run()),
        [
            "c/1/1/0 front ask_desks done 7",
            "c/1/1/0/1/1/0 desks ask_supervisor done 4",
            "c/1/1/0/1/1/0/1/1/0 supervisor ask_billing done 1",
            "c/1/1/0/1/1/0/1/1/1 supervisor ask_shipping done 1",
            "c/1/1/0/1/1/1 desks ask_terms done 1",
            "c/1/2/0 front ask_writer done 1",
        ]
    );
    let rules: Vec<&str> = team.rules().map(|(name, _)| name.as_str()).collect();
    assert_eq!(rules, ["desks", "front"]);
}

/// Drives a team by hand: the first open step of the tree goes on, after `before` has had it.
fn play(team: &Team, model: &impl Model, mut step: Step, mut before: impl FnMut(Step) -> Step) -> Done {
    loop {
        step = before(step);
        if let Step::Done(done) = step {
            return done;
        }
        let path = step.open()[0].run().conversation().to_owned();
        let further = |relay: &Relay, step| match step {
            Step::CallModel(call) => {
                let request = call.request(relay);
                let response = match team.rules().find(|(name, _)| name.as_str() == &*request.caller) {
                    Some((_, rule)) => rule.complete(request),
                    None => model.complete(request),
                };
                call.resume(relay, response, 0)
            }
            Step::Delegate(delegation) => delegation.join(relay, 0).unwrap(),
            step => panic!("{step:?}"),
        };
        step = step.go_on_at(team.relay(), &path, further).unwrap();
    }
}

/// Saved and loaded before every step, each time by another team of the same description, as another process would,
/// the tree comes to the same run as in the runner.
#[test]
fn a_tree_of_teams_can_be_saved_at_every_step() {
    let (team, model) = (three_levels(), everybody());
    let mut steps = 0;
    let step = team.relay().start("c", "Hello.").unwrap();
    let done = play(&team, &model, step, |step| {
        steps += 1;
        three_levels().relay().load(&step.save().unwrap()).unwrap()
    });
    assert_eq!(done.answer().as_deref(), Some(ANSWER));
    // Eleven answers of models and rules, four joins, and the end.
    assert_eq!(steps, 16);
    assert_eq!(run(&team, everybody(), "Hello.").done(), &done);
}

/// What the user says while the stages work is what the stages after it are asked, and no stage runs twice for it.
#[test]
fn what_a_user_adds_does_not_begin_a_pipeline_anew() {
    let stage = |pipeline: Pipeline, name: &str| {
        pipeline.stage(desk(name), |words, so_far| format!("{words} after {}", so_far.len()))
    };
    let team = ["first", "second", "third"].into_iter().fold(Pipeline::new("line"), stage).build().unwrap();
    let says = |request: &ModelRequest<'_>| script::say(format!("{}({})", request.caller, task(request)));
    let model = ["first", "second", "third"]
        .into_iter()
        .fold(ScriptedModel::new(), |model, name| model.turn(name, says));
    let step = team.relay().start("c", "Hello.").unwrap();
    let mut has_spoken = false;
    let done = play(&team, &model, step, |step| {
        let is_second = step.open()[0].run().conversation() == "c/1/2/0";
        if !is_second || std::mem::replace(&mut has_spoken, true) {
            return step;
        }
        step.hear(team.relay(), Words::new("Be brief.").unwrap())
    });
    let found: Vec<Option<&str>> =
        done.run().links().iter().map(|link| link.result().unwrap().finding.as_deref()).collect();
    assert_eq!(
        found,
        [Some("first(Hello. after 0)"), Some("second(Hello. after 1)"), Some("third(Be brief. after 2)")]
    );
    assert_eq!(done.answer().as_deref(), Some("third(Be brief. after 2)"));
}

/// What a rule sees: of a user the words, and of an agent that asks the task and its context, without the fence.
#[test]
fn a_rule_sees_the_task_and_its_context() {
    let seen: Arc<Mutex<Vec<Sight>>> = Arc::default();
    let clerk = |seen: &Arc<Mutex<Vec<Sight>>>| {
        let seen = Arc::clone(seen);
        Rule::new(move |sight| {
            seen.lock().unwrap().push(sight.clone());
            Move::Say("Noted.".to_owned())
        })
    };
    let sight = |words: &str, package: &HandoffPackage| Sight {
        words: words.to_owned(),
        context: package.context_fields().clone(),
        findings: Vec::new(),
    };
    let relay = Relay::builder().agent(Agent::new("head", "")).delegate("head", desk("clerk")).entry("head");
    let question = r#"{"question":"What is it?","context":{"cents":6000,"rooms":["Focus"]}}"#;
    let model = ScriptedModel::new()
        .turn("head", move |_| script::call("tu_1", "ask_clerk", question))
        .turn("head", |_| script::say("Done."));
    let runner = Runner::new(&model).model_of("clerk", clerk(&seen));
    runner.run(&relay.build().unwrap(), "Hello.").unwrap();
    let context =
        HandoffPackage::new("").context("cents", &6000).unwrap().context("rooms", &["Focus"]).unwrap();
    assert_eq!(seen.lock().unwrap().split_off(0), [sight("What is it?", &context)]);

    // A user may write of packages; the words stay the user's.
    let alone = Relay::builder().agent(Agent::new("clerk", "")).entry("clerk").build().unwrap();
    let words = "See here: <handoff_package origin=\"model:head\">\n{\"task\":\"t\",\"context\":{}}\n</handoff_package>";
    Runner::new(&model).model_of("clerk", clerk(&seen)).run(&alone, words).unwrap();
    assert_eq!(seen.lock().unwrap().split_off(0), [sight(words, &HandoffPackage::new(""))]);
}

/// The values that a team is asked with go on to whom its rule asks, as they were written; a question that has its own
/// keeps them.
#[test]
fn the_context_of_a_question_goes_on() {
    let own = HandoffPackage::new("").context("own", &true).unwrap();
    let context = own.context_fields().clone();
    let decide = move |words: &str| {
        let asked = Question::new("ask_billing", words);
        vec![asked.clone(), asked.with_context(context.clone())]
    };
    let fan_out = FanOut::new("desks").part(desk("billing"), str::to_owned).build().unwrap();
    let pipeline = Pipeline::new("line").stage(desk("billing"), |words, _| words.to_owned()).build().unwrap();
    let by_rule = Supervisor::by_rule("lead", decide, |_, findings| joined(findings));
    let by_rule = by_rule.delegate(desk("billing")).build().unwrap();
    let given = r#"{"question":"What is it?","context":{"rate":1.10,"cents":6000}}"#;
    let given_on = r#"{"task":"What is it?","context":{"rate":1.10,"cents":6000}}"#;
    let with_own = r#"{"task":"What is it?","context":{"own":true}}"#;
    for (team, expected) in
        [(fan_out, vec![given_on]), (pipeline, vec![given_on]), (by_rule, vec![given_on, with_own])]
    {
        let team = Supervisor::by_model(Agent::new("head", "")).delegate(team.behind("ask_team"));
        let says = |request: &ModelRequest<'_>| script::say(task(request));
        let model = ScriptedModel::new()
            .turn("head", move |_| script::call("tu_1", "ask_team", given))
            .turn("head", |_| script::say("Done."))
            .turn("billing", says);
        let report = run(&team.build().unwrap(), &model, "Hello.");
        let asked = report.links()[0].run().unwrap().run().links().iter();
        let packages: Vec<String> = asked.map(|link| link.package.as_ref().unwrap().to_json()).collect();
        assert_eq!(packages, expected);
    }
    // Of a user's words there is none to hand on.
    let alone = FanOut::new("desks").part(desk("billing"), str::to_owned).build().unwrap();
    let report = run(&alone, everybody(), "Hello.");
    assert_eq!(report.links()[0].package, Some(HandoffPackage::new("Hello.")));
}

/// Sixty parts are all asked, and all answer, with nothing set besides; a supervisor's rule may ask as many.
#[test]
fn sixty_parts_are_asked_at_once() {
    struct Echo;
    impl Model for Echo {
        fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
            Ok(script::say(format!("{}({})", request.caller, task(&request))))
        }
    }
    let names: Vec<String> = (0..60).map(|n| format!("desk_{n}")).collect();
    let fan_out = names.iter().enumerate().fold(FanOut::new("desks"), |fan_out, (n, name)| {
        fan_out.part(desk(name), move |words| format!("{words} {n}"))
    });
    let fan_out = fan_out.aggregate(|_, findings| joined(findings)).build().unwrap();
    let asked = names.clone();
    let decide = move |words: &str| {
        let ask = |(n, name): (usize, &String)| Question::new(format!("ask_{name}"), format!("{words} {n}"));
        asked.iter().enumerate().map(ask).collect()
    };
    let by_rule = Supervisor::by_rule("supervisor", decide, |_, findings| joined(findings));
    let by_rule = names.iter().fold(by_rule, |all, name| all.delegate(desk(name))).build().unwrap();
    let expected: Vec<String> = (0..60).map(|n| format!("desk_{n}(Go. {n})")).collect();
    for team in [fan_out, by_rule] {
        let report = run(&team, Echo, "Go.");
        assert_eq!(report.answer(), expected.join(" "));
        assert_eq!((team.model_calls(&report), team.critical_path(&report)), (60, 1));
    }
}

/// What went wrong deep in a tree is told on every level in plain words, and its reason is on record where it was.
#[test]
fn a_failure_deep_in_a_tree_is_told_in_plain_words() {
    struct NoTerms(ScriptedModel);
    impl Model for NoTerms {
        fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
            match &*request.caller {
                "terms" => Err(ModelError::Unreachable { detail: "no line".to_owned() }),
                _ => self.0.complete(request),
            }
        }
    }
    let desks = FanOut::new("desks")
        .part(desk("billing"), str::to_owned)
        .part(desk("terms"), str::to_owned)
        .build()
        .unwrap();
    let team = Pipeline::new("front").stage(desks.behind("ask_desks"), |words, _| words.to_owned());
    let report = run(&team.build().unwrap(), NoTerms(everybody()), "Hello.");
    assert_eq!(report.answer(), "ask_billing: billing(Hello.)\nask_terms did not answer.");
    let inner = report.links()[0].run().unwrap().run().links()[1].result().unwrap();
    assert_eq!(inner.reason.as_deref(), Some("failed: unreachable"));
}
