//! An imitation of CrewAI's idea of a task's context: tasks stand in an order, each says what output it is to bring, and
//! one that names earlier tasks receives theirs.

use sommelier_handoff::Agent;
use sommelier_runner::{Runner, run_agent};
use sommelier_runtime::script;
use std::error::Error;

use crate::job::{REQUEST, decisions, legal, rent_found, support};
use crate::way::{Ran, Way};

/// What is to be done, by whom, and what it rests on.
struct Task {
    agent: Agent,
    description: String,
    expected_output: &'static str,
    /// The places of the earlier tasks whose output it receives.
    context: Vec<usize>,
}

impl Task {
    /// The outputs that it receives.
    fn received(&self, outputs: &[String]) -> String {
        let received = self.context.iter().filter_map(|place| outputs.get(*place));
        received.map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// What its agent reads.
    fn prompt(&self, outputs: &[String]) -> String {
        let prompt = format!("{}\nExpected: {}", self.description, self.expected_output);
        match self.received(outputs) {
            none if none.is_empty() => prompt,
            received => format!("{prompt}\nFrom earlier tasks:\n{received}"),
        }
    }
}

pub(crate) fn run(steps: u32) -> Result<Ran, Box<dyn Error>> {
    let tasks = [
        Task {
            agent: support(steps),
            description: format!("Find out what the contract says that is asked about: {REQUEST}"),
            expected_output: "a sentence with what the contract costs.",
            context: Vec::new(),
        },
        Task {
            agent: legal(),
            description: format!("Answer from the terms: {REQUEST}"),
            expected_output: "whether it may be done, and what it costs, with the clause.",
            context: vec![0],
        },
    ];
    let model = decisions(steps, |request| {
        script::say(format!("Contract C-12 has a monthly rent of {}.", rent_found(request)))
    });
    Way::Tasks.measure(model, |model| {
        let mut outputs: Vec<String> = Vec::new();
        let mut given = String::new();
        for (place, task) in tasks.into_iter().enumerate() {
            given = task.received(&outputs);
            let prompt = task.prompt(&outputs);
            let runner = Runner::new(model).conversation(format!("tasks-{steps}-{place}"));
            let run = run_agent(&runner, task.agent, &prompt)?;
            outputs.push(run.answer.ok_or("a task brought no output")?);
        }
        // Nobody hands over: the order of the tasks stood before.
        Ok((outputs.pop().unwrap_or_default(), 0, given))
    })
}
