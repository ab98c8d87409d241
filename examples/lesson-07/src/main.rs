//! Lesson 07: calls and hops, direct against back to the supervisor. Run it with `cargo xtask lesson 07`.
//!
//! The same work is done twice by the same three specialists. Once each hands the turn straight to the one whose
//! question comes up; once it goes back to a supervisor, who decides. Both are run at every point of a sweep, with
//! more or fewer turns and limits, and what each costs is counted: a call is one model invocation, a hop one change
//! of actor. The work is in `work`, the scripted decisions are in `script`, the two ways in `ways`.

use examples_kit::{Claim, Flags, Lesson, Shown};
use reservo::demo;
use serde::Serialize;
use sommelier_runtime::{Model, ScriptedModel};
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use sweep::{Point, Ranges, Row};
use ways::{Figures, VARIANTS};
use work::request;

mod script;
mod sweep;
mod tables;
mod ways;
mod work;

fn main() -> ExitCode {
    let lesson = Lesson {
        number: "07",
        title: "calls and hops, direct against back to the supervisor",
        flags: &[
            ("sender", "2..6", "turns of the first specialist, 2 to 8"),
            ("receiver", "2..6", "turns of each one after it, 2 to 8"),
            ("limits", "1..3", "limits that the work meets, 1 to 6"),
        ],
    };
    lesson.run_narrow("--limits 3 --sender 2 --receiver 2", show)
}

#[derive(Serialize)]
struct Json {
    model: String,
    request: String,
    running_case: Row,
    points: Vec<Row>,
}

fn show(flags: &Flags) -> Result<Shown<Json>, Box<dyn Error>> {
    let ranges = Ranges::read(flags)?;
    let house = Arc::new(demo());
    let running = Row::run(&house, Point::RUNNING_CASE, VARIANTS[0])?;
    let rows = ranges.run(&house)?;

    let request = request(Point::RUNNING_CASE.limits);
    let model = ScriptedModel::new().label().unwrap_or_default().to_owned();
    let text = [
        format!("Decisions: {model}. Everything else is executed. The gate denies book and cancel.\n"),
        "A call is one model invocation. A hop is one change of actor.\n\
         The customer's words in and the answer out are no hops.\n"
            .to_owned(),
        tables::side_by_side(&request, &running),
        tables::sweep(&rows),
        tables::variants(&rows),
    ];
    Ok(Shown {
        text: text.join("\n"),
        claims: claims(&running, &rows),
        json: Json { model, request, running_case: running, points: rows },
    })
}

fn claims(running: &Row, rows: &[Row]) -> Vec<Claim> {
    let (direct, back) = (&running.direct, &running.back);
    let base = || tables::of(rows, VARIANTS[0].name);
    let costs = |ran: &Figures| (ran.model_calls, ran.hops);
    let refused = |ran: &Figures| ran.loosened.iter().any(|what| ["cap", "pair"].contains(what));
    let mut claims = vec![
        Claim::equal("the running case, direct: 4 calls, 1 hop", costs(direct), (4, 1)),
        Claim::equal("the running case, back to the supervisor: 6 calls, 3 hops", costs(back), (6, 3)),
        everywhere("direct takes T calls and k hops at k limits", base(), |row| {
            costs(&row.direct) == (row.turns, row.limits)
        }),
        everywhere("the return takes T + k + 1 calls and 2k + 1 hops", base(), |row| {
            costs(&row.back) == (row.turns + row.limits + 1, 2 * row.limits + 1)
        }),
    ];
    claims.extend(VARIANTS.map(|variant| {
        let [calls, hops] = variant.one_more.map(|more| if more { "k + 1" } else { "k" });
        let claim = format!("{}: saved are {calls} calls and {hops} hops, whatever T is", variant.name);
        everywhere(&claim, tables::of(rows, variant.name), |row| {
            row.beyond_limits() == variant.one_more.map(i64::from)
        })
    }));
    let by_model = tables::of(rows, VARIANTS[1].name);
    claims.push(everywhere("entry: one call and one hop more than base, in both", by_model, |row| {
        let (turns, limits) = (row.turns, row.limits);
        costs(&row.direct) == (turns + 1, limits + 1)
            && costs(&row.back) == (turns + limits + 2, 2 * limits + 2)
    }));
    let all = || rows.iter().chain([running]);
    claims.extend([
        everywhere("direct is lower on both, at every point of every variant", all(), |row| {
            row.saved_calls > 0 && row.saved_hops > 0
        }),
        everywhere("both ways give the same answer", all(), |row| row.same_answer),
        everywhere(
            "the usual guards refuse direct beyond 3 limits only, the return beyond 2",
            base(),
            |row| (refused(&row.direct), refused(&row.back)) == (row.limits > 3, row.limits > 2),
        ),
        everywhere("every scripted decision was asked for", all(), |row| {
            row.direct.unasked_turns == 0 && row.back.unasked_turns == 0
        }),
    ]);
    claims
}

/// A claim on every row: it holds when no row breaks it, and else tells how many do and the first of them.
fn everywhere<'a>(claim: &str, rows: impl Iterator<Item = &'a Row>, holds: impl Fn(&Row) -> bool) -> Claim {
    let broken: Vec<&Row> = rows.filter(|row| !holds(row)).collect();
    match broken.first() {
        None => Claim::that(claim, true),
        Some(first) => {
            Claim::that(&format!("{claim} (not at {} points, {} first)", broken.len(), first.named()), false)
        }
    }
}
