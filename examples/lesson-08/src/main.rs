//! Lesson 08: was a handoff right here? Run it with `cargo xtask lesson 08`.
//!
//! Three requests are run, and each is judged by what its run met: a booking that finds its room taken, a booking on a
//! condition, and two things that were known from the start. The last is run twice, handed from one specialist to the
//! other and side by side, and both say the same. The runs are in `scene`, the scripted decisions in `script`.

use examples_kit::{Flags, Lesson, Shown};
use serde::Serialize;
use sommelier_runtime::{Model, ScriptedModel};
use std::error::Error;
use std::process::ExitCode;

use scene::Scene;

mod claims;
mod facts;
mod scene;
mod script;
mod steps;
mod told;

/// What the second request sets, unless `--under` says otherwise.
const UNDER: i64 = 15_000;

fn main() -> ExitCode {
    let lesson = Lesson {
        number: "08",
        title: "was a handoff right here?",
        flags: &[("under", "CENTS", "another condition in the second request, 1 to 1000000")],
    };
    lesson.run(show)
}

#[derive(Serialize)]
struct Json {
    model: String,
    scenes: [Scene; 4],
}

fn show(flags: &Flags) -> Result<Shown<Json>, Box<dyn Error>> {
    let under = flags.number("under", 1..=1_000_000)?.unwrap_or(UNDER);
    let (taken, conditional) = (Scene::taken()?, Scene::conditional(under)?);
    let (handed, at_once) = (Scene::handed()?, Scene::side_by_side()?);
    let model = ScriptedModel::new().label().unwrap_or_default().to_owned();
    let text = [
        format!(
            "Decisions: {model}. Everything else is executed.\n\
             The gate approves `book`: denied, it could not find a room taken.\n"
        ),
        taken.told("(a) The room is taken. pricing_agent is needed once `book` has failed, and not before."),
        conditional.told("(b) Two things for one agent, in a house that nobody has booked yet."),
        handed.told("(c) Two things for two agents, handed from one to the other."),
        at_once.told("(c) The same, side by side."),
        told::table([&taken, &conditional, &handed, &at_once]),
    ];
    let scenes = [taken, conditional, handed, at_once];
    let claims = claims::all(&scenes, under)?;
    Ok(Shown { text: text.join("\n"), claims, json: Json { model, scenes } })
}
