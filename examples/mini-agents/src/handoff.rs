//! Pattern 2: triage hands its turn to a desk, and the customer goes on talking to one assistant.

use examples_kit::{Asked, Claim, HopRow, Measured, RefusalRow, printable};
use serde::Serialize;
use sommelier_handoff::{
    Answer, Guard, Guards, HandoffPackage, OnRefusal, Relay, RelayBuilder, Route, Run, RunEnd,
};
use sommelier_runner::{Outcome, Report, Runner};
use sommelier_runtime::ScriptedModel;
use std::error::Error;

use crate::desks::{billing, shipping, triage};
use crate::script::{bill, bill_again, ship, transfer_to, turns};

/// The most transfers between two messages of the customer.
pub(crate) const MAX_HANDOFFS: u32 = 2;
const GREETING: &str = "Hello, I have a question about my last order.";
const QUESTION: &str = "Was INV-311 charged twice?";
const FOLLOW_UP: &str = "And when do I get the money back?";
const PARCEL: &str = "Where is parcel A-7?";

/// A conversation of three messages.
#[derive(Clone, Debug)]
pub(crate) struct Talk {
    pub(crate) report: Report,
    pub(crate) asked: Vec<Asked>,
    pub(crate) exchanges: Vec<Exchange>,
    unasked: usize,
}

/// What a model was given with a request.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Given {
    agent: String,
    prompt: String,
    tools: Vec<String>,
    /// How many messages.
    messages: usize,
}

/// What the customer sees of a message.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Exchange {
    pub(crate) customer: &'static str,
    pub(crate) assistant: String,
    /// Which agent wrote the answer. The customer does not see it.
    by: String,
}

/// A run of one message, and how far it came.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Passed {
    pub(crate) triage: &'static str,
    pub(crate) max_handoffs: u32,
    /// How often an agent got the turn, triage's first one included.
    pub(crate) activations: u32,
    pub(crate) model_calls: u32,
    /// How it ended: `answered`, or `waiting` for a person.
    pub(crate) end: &'static str,
    /// Who answered, or has the turn while a person is waited for.
    pub(crate) agent: String,
    pub(crate) answer: String,
    pub(crate) hops: Vec<HopRow>,
    pub(crate) refusals: Vec<RefusalRow>,
    /// How the run ended when a person had taken it over.
    pub(crate) then: Option<&'static str>,
}

/// Triage and billing, each of whom may hand over to the other. Every route takes the customer's words along. When the
/// transfers are used up, or go in circles, a person is asked.
fn desk(max_handoffs: u32) -> RelayBuilder {
    let guards = Guards::default()
        .max_handoffs(max_handoffs)
        .on_refusal(Guard::Cap, OnRefusal::Escalate)
        .on_refusal(Guard::Pair, OnRefusal::Escalate);
    let builder = Relay::builder().agent(triage()).agent(billing(0)).entry("triage").guards(guards);
    both_ways(builder, "billing")
}

/// Exercise c: a second desk is an agent and two routes.
fn two_desks(max_handoffs: u32) -> RelayBuilder {
    both_ways(desk(max_handoffs).agent(shipping()), "shipping")
}

fn both_ways(builder: RelayBuilder, desk: &str) -> RelayBuilder {
    builder
        .route_with(Route::new("triage", desk).with_user_words())
        .route_with(Route::new(desk, "triage").with_user_words())
}

/// Triage asks what it is about, then transfers; billing answers, and the next message too.
pub(crate) fn talk() -> Result<Talk, Box<dyn Error>> {
    let model = ScriptedModel::new()
        .turn("triage", |_| sommelier_runtime::script::say("What is it about?"))
        .turn("triage", |request| transfer_to(request, "billing", "Find out how often INV-311 was paid."));
    let model = turns(model, "billing", 2, bill).turn("billing", bill_again);
    let model = Measured::new(model);
    let relay = desk(MAX_HANDOFFS).build()?;
    let runner = Runner::new(&model).conversation("handoff");
    let mut exchanges = Vec::new();
    let mut last: Option<Report> = None;
    for customer in [GREETING, QUESTION, FOLLOW_UP] {
        let outcome = match last.take() {
            None => runner.run(&relay, customer)?,
            Some(report) => runner.go_on(&relay, report.into_done(), customer)?,
        };
        let Outcome::Ended(report) = outcome else {
            return Err("the conversation waits for a person".into());
        };
        let (assistant, by) = (report.answer().to_owned(), report.last_agent().to_owned());
        exchanges.push(Exchange { customer, assistant, by });
        last = Some(report);
    }
    let report = last.ok_or("nobody has spoken")?;
    Ok(Talk { report, asked: model.asked(), exchanges, unasked: model.model().unused().len() })
}

/// The loop: both agents always transfer, whatever their prompts say.
pub(crate) fn circle(max_handoffs: u32) -> Result<Passed, Box<dyn Error>> {
    let back = |model| {
        turns(model, "billing", 6, |request| transfer_to(request, "triage", "Not mine: see who takes it."))
    };
    let on = |model| turns(model, "triage", 6, |request| transfer_to(request, "billing", "Look at this."));
    pass(
        "always transfers",
        &desk(max_handoffs).build()?,
        max_handoffs,
        QUESTION,
        &on(back(ScriptedModel::new())),
    )
}

/// Exercise c: a question for shipping, and a triage that knows it, errs once, or errs each time.
pub(crate) fn errors(max_handoffs: u32) -> Result<[Passed; 3], Box<dyn Error>> {
    let run = |kind, wrong: u32| {
        let model = turns(ScriptedModel::new(), "triage", wrong, |request| {
            transfer_to(request, "billing", "Find out where parcel A-7 is.")
        });
        let model = turns(model, "triage", 6, |request| {
            transfer_to(request, "shipping", "Find out where parcel A-7 is.")
        });
        let model = turns(model, "billing", 6, |request| {
            transfer_to(request, "triage", "A parcel is not billing's: find out who knows where A-7 is.")
        });
        let model = turns(model, "shipping", 2, ship);
        pass(kind, &two_desks(max_handoffs).build()?, max_handoffs, PARCEL, &model)
    };
    Ok([run("is right", 0)?, run("errs once", 1)?, run("always errs", 6)?])
}

/// Runs one message. Where a person is asked, a person takes over.
fn pass(
    triage: &'static str,
    relay: &Relay,
    max_handoffs: u32,
    words: &str,
    model: &ScriptedModel,
) -> Result<Passed, Box<dyn Error>> {
    let name = format!("{}-{max_handoffs}", triage.replace(' ', "-"));
    let runner = Runner::new(model).conversation(name);
    match runner.run(relay, words)? {
        Outcome::Ended(report) => {
            let passed = Passed::of(triage, max_handoffs, report.done().run(), report.end().as_str());
            Ok(Passed { answer: report.answer().to_owned(), ..passed })
        }
        Outcome::Waiting(parked) => {
            let open = parked.questions();
            let (run, question) = open.first().ok_or("nothing is asked")?;
            let passed = Passed::of(triage, max_handoffs, run, "waiting");
            let id = question.id.clone();
            let note = Answer::TakeOver { note: "the clerk on duty".into() };
            let Outcome::Ended(report) = runner.answer(relay, parked, &id, note)? else {
                return Err("the run waits on".into());
            };
            let is_taken_over = matches!(report.end(), RunEnd::TakenOver { .. });
            Ok(Passed { then: is_taken_over.then(|| report.end().as_str()), ..passed })
        }
        _ => Err("an outcome that is not known here".into()),
    }
}

impl Passed {
    fn of(triage: &'static str, max_handoffs: u32, run: &Run, end: &'static str) -> Self {
        Self {
            triage,
            max_handoffs,
            activations: 1 + run.trail().count(),
            model_calls: run.model_calls(),
            end,
            agent: run.active().to_string(),
            answer: String::new(),
            hops: run.trail().taken().map(HopRow::of).collect(),
            refusals: run.trail().hops().iter().filter_map(RefusalRow::of).collect(),
            then: None,
        }
    }

    /// The hops from 0, and what ended them.
    pub(crate) fn told(&self) -> String {
        let mut text = told_hops(&self.hops);
        for refusal in &self.refusals {
            text.push_str(&format!("  refused: {} → {}, {}\n", refusal.from, refusal.to, refusal.detail));
        }
        text.push_str(&match self.end {
            "waiting" => format!("  escalated to a human, who takes over; {} had the turn\n", self.agent),
            _ => format!("  {} answers: {}\n", self.agent, self.answer),
        });
        printable(&text)
    }

    /// How it ended, in a few words.
    fn ended(&self) -> String {
        let who = if self.end == "waiting" { "a human" } else { &self.agent };
        format!("{who}, after {}", self.activations)
    }
}

/// The log of hops.
fn told_hops(hops: &[HopRow]) -> String {
    let lines = hops.iter().enumerate().map(|(place, hop)| {
        let package = hop.package.as_ref();
        let task = package.map_or("", HandoffPackage::task);
        format!("  hop {place}: {} → {}, {} bytes: {task}\n", hop.from, hop.to, hop.package_bytes)
    });
    lines.collect()
}

/// Who answers at each cap, and after how many activations.
pub(crate) fn table(rows: &[[Passed; 3]]) -> String {
    let mut text = String::from("  most transfers");
    for passed in rows.first().into_iter().flatten() {
        text.push_str(&format!("  {:<19}", format!("triage {}", passed.triage)));
    }
    for row in rows {
        let cap = row[0].max_handoffs;
        let ends = row.iter().map(|passed| format!("  {:<19}", passed.ended())).collect::<String>();
        text.push_str(&format!("\n  {cap:>14}{ends}"));
    }
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

impl Talk {
    /// The log of hops.
    pub(crate) fn told_hops(&self) -> String {
        told_hops(&self.report.hops().map(HopRow::of).collect::<Vec<_>>())
    }

    /// What was given to whom, in order.
    pub(crate) fn given(&self) -> Vec<Given> {
        let given = self.asked.iter().map(|asked| Given {
            agent: asked.agent.clone(),
            prompt: asked.prompt.clone(),
            tools: asked.tools.clone(),
            messages: asked.messages.len(),
        });
        given.collect()
    }

    /// Who was asked, with which tools.
    pub(crate) fn told_asked(&self) -> String {
        let lines = self.asked.iter().map(|asked| {
            let (agent, messages, tools) = (&asked.agent, asked.messages.len(), asked.tools.join(", "));
            format!("  {agent:<9} {messages} message(s)  tools: {tools}\n")
        });
        lines.collect()
    }

    /// The conversation as the customer sees it.
    pub(crate) fn told_exchanges(&self) -> String {
        let lines = self.exchanges.iter();
        lines
            .map(|told| format!("  you        {}\n  assistant  {}\n", told.customer, told.assistant))
            .collect()
    }

    pub(crate) fn claims(&self) -> Vec<Claim> {
        let hops: Vec<String> = self.report.hops().map(|hop| format!("{} → {}", hop.from, hop.to)).collect();
        let answered: Vec<&str> = self.exchanges.iter().map(|told| told.by.as_str()).collect();
        let asked: Vec<&str> = self.asked.iter().map(|asked| asked.agent.as_str()).collect();
        let first = self.asked.iter().find(|asked| asked.agent == "billing");
        let read = first.and_then(|asked| serde_json::to_string(&asked.messages).ok()).unwrap_or_default();
        let swapped = self.asked.windows(2).filter(|pair| {
            let [before, after] = pair else { return false };
            before.prompt != after.prompt && before.tools != after.tools
        });
        vec![
            Claim::equal("2: hop 0 is triage → billing", hops, vec!["triage → billing".to_owned()]),
            Claim::equal("2: prompt and tools change once, with the turn", swapped.count(), 1),
            Claim::that("2: billing begins with the summary and the customer's message", {
                read.contains("Find out how often INV-311 was paid.") && read.contains(QUESTION)
            }),
            Claim::that("2: and with nothing of the conversation before it", {
                !read.is_empty() && !read.contains(GREETING) && !read.contains("What is it about?")
            }),
            Claim::that("2: billing answers that INV-311 was paid twice", {
                self.exchanges.get(1).is_some_and(|told| told.assistant.contains("INV-311 was paid twice"))
            }),
            Claim::equal(
                "2: the next message goes to the desk in charge",
                (answered, asked),
                (
                    vec!["triage", "billing", "billing"],
                    vec!["triage", "triage", "billing", "billing", "billing"],
                ),
            ),
            Claim::equal("2: every scripted decision was asked for", self.unasked, 0),
        ]
    }
}

/// What is claimed of the loop and of the triage that errs.
pub(crate) fn claims(circle: &Passed, errors: &[[Passed; 3]]) -> Vec<Claim> {
    let is_within = |passed: &Passed| passed.activations <= passed.max_handoffs + 1;
    let all = || errors.iter().flatten();
    let ends = |cap: u32| -> Vec<(&str, &str)> {
        let row = errors.iter().find(|row| row[0].max_handoffs == cap);
        row.into_iter().flatten().map(|passed| (passed.end, passed.agent.as_str())).collect()
    };
    // One pair of agents may hand over to each other once each way, so a wider cap lets the loop no further in.
    let turns = circle.max_handoffs.min(2) + 1;
    vec![
        Claim::equal(
            "2: the loop is stopped by the counter, then a human is asked",
            (circle.activations, circle.end, circle.then),
            (turns, "waiting", Some("taken_over")),
        ),
        Claim::equal("2: the log has each hop of the loop", circle.hops.len(), turns as usize - 1),
        Claim::that("c: no run has more activations than the cap and one", all().all(is_within)),
        Claim::equal(
            "c: at 3 transfers one error is mended by a transfer back",
            ends(3),
            vec![("answered", "shipping"), ("answered", "shipping"), ("waiting", "triage")],
        ),
        Claim::equal(
            "c: at 2 the same error ends at a human",
            ends(2),
            vec![("answered", "shipping"), ("waiting", "triage"), ("waiting", "triage")],
        ),
        Claim::that("c: a triage that always errs never goes round and round", {
            all().filter(|passed| passed.triage == "always errs").all(|passed| passed.end == "waiting")
        }),
        Claim::that("every hop took the customer's words along", {
            let hops = all().flat_map(|passed| &passed.hops).chain(&circle.hops);
            let has_words =
                |package: &HandoffPackage| package.to_json().contains(r#""artifacts":{"user_words":"#);
            hops.map(|hop| hop.package.as_ref()).all(|package| package.is_some_and(has_words))
        }),
    ]
}
