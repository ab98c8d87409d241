//! `chat`: a conversation line by line, which goes on whenever it is called again.

use std::io::BufRead;

use serde::Serialize;
use sommelier_runner::Turn;

use crate::desk::Desk;
use crate::fault::Fault;
use crate::rows::SettledRow;
use crate::teller::{Input, Teller};

/// What a person at a terminal is told first.
const GREETING: &str = "Ctrl-D ends the chat. What it waits for is answered from another terminal, by the command that is shown.";

/// What `--json` prints when there is nothing more to read.
#[derive(Serialize)]
struct Talk {
    run: String,
    /// How it stood before the first line; null for a new conversation.
    before: Option<SettledRow>,
    turns: Vec<TurnRow>,
}

#[derive(Serialize)]
struct TurnRow {
    text: String,
    outcome: SettledRow,
}

pub(super) fn run(
    desk: &Desk,
    teller: &mut Teller<'_>,
    input: &mut Input<'_>,
    name: &str,
) -> Result<u8, Fault> {
    let mut talk = Talk { run: name.to_owned(), before: None, turns: Vec::new() };
    // What was said last, so that nothing is said twice and what others have brought about is said once.
    let mut seen = None;
    if input.is_interactive && !teller.json {
        teller.say(GREETING)?;
    }
    if let Some(row) = taken_up(desk, teller, name)? {
        show(teller, &row, &mut seen)?;
        talk.before = Some(row);
    }
    loop {
        if input.is_interactive && !teller.json {
            teller.prompt()?;
        }
        let Some(line) = next_line(input.lines, teller)? else { break };
        if line.is_empty() {
            continue;
        }
        if let Some(row) = meanwhile(desk, name)? {
            show(teller, &row, &mut seen)?;
            refuse_if_over(&row)?;
        }
        let turn = Turn::new(&*line).at(reservo::entry(&line).name());
        let settled = desk.drive(teller, name, |driver| driver.submit(name, turn.clone()))?;
        let row = SettledRow::of(desk, name, &settled)?;
        if !show(teller, &row, &mut seen)? && !teller.json {
            teller.say(&row.still_waits())?;
        }
        talk.turns.push(TurnRow { text: line, outcome: row });
    }
    if teller.json {
        teller.document(&talk)?;
    }
    let last = talk.turns.last().map(|turn| &turn.outcome).or(talk.before.as_ref());
    Ok(last.map_or(0, SettledRow::exit_code))
}

/// Where the conversation stands; what was interrupted is gone on with first.
fn taken_up(desk: &Desk, teller: &mut Teller<'_>, name: &str) -> Result<Option<SettledRow>, Fault> {
    let records = desk.records(name)?;
    let replay = desk.replay(name, &records)?;
    match replay.step() {
        None => Ok(None),
        Some(step) if step.is_at_rest() => {
            let row = SettledRow::of_step(desk, name, step, &records);
            if row.waiting.is_empty() && !teller.json {
                teller.say("From before, the last answer in this conversation:\n")?;
            }
            Ok(Some(row))
        }
        Some(_) => {
            teller.note(&format!("{name:?} was interrupted, and goes on"));
            let settled = desk.drive(teller, name, |driver| driver.resume(name))?;
            SettledRow::of(desk, name, &settled).map(Some)
        }
    }
}

/// Where the conversation stands now: another process may have answered a question of it.
fn meanwhile(desk: &Desk, name: &str) -> Result<Option<SettledRow>, Fault> {
    let records = desk.records(name)?;
    let replay = desk.replay(name, &records)?;
    Ok(replay
        .step()
        .filter(|step| step.is_at_rest())
        .map(|step| SettledRow::of_step(desk, name, step, &records)))
}

/// Shows what has not been shown, and tells whether there was anything.
fn show(teller: &mut Teller<'_>, row: &SettledRow, seen: &mut Option<Vec<String>>) -> Result<bool, Fault> {
    let ids = row.answer_id.iter().cloned().chain(row.waiting.iter().map(|question| question.id.clone()));
    let ids = Some(ids.collect::<Vec<_>>());
    if *seen == ids {
        return Ok(false);
    }
    *seen = ids;
    if !teller.json {
        teller.say(&row.text())?;
    }
    Ok(true)
}

/// Words for a person who has taken over are not for agents.
fn refuse_if_over(row: &SettledRow) -> Result<(), Fault> {
    if !matches!(&*row.end, "taken_over" | "cancelled") {
        return Ok(());
    }
    let why = format!(
        "{:?} ended as {}, so agents do not go on by themselves; `sommelier ask --conversation` says that they shall, \
         and `sommelier chat NAME` begins another",
        row.run, row.end
    );
    Err(Fault::caller("over", why))
}

/// The next line without white space around it; `None` when there is no more.
fn next_line(lines: &mut dyn BufRead, teller: &mut Teller<'_>) -> Result<Option<String>, Fault> {
    loop {
        let mut line = Vec::new();
        if lines.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        match String::from_utf8(line) {
            Ok(line) => return Ok(Some(line.trim().to_owned())),
            Err(_) => teller.note("a line is no UTF-8 and was left out; say it again"),
        }
    }
}
