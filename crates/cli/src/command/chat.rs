//! `chat`: a conversation line by line, which goes on whenever it is called again.

use std::io::{BufRead, Read};

use crate::arguments::Lease;
use crate::desk::Desk;
use crate::fault::Fault;
use crate::rows::SettledRow;
use crate::teller::{Input, Teller};
use crate::words::is_seen;
use serde::Serialize;

/// What a person at a terminal is told first.
const GREETING: &str = "Ctrl-D ends the chat. What it waits for is answered from another terminal, by the command that is shown.";

/// The most bytes that a line may have: nobody types more, and input without an end would fill the memory.
const LONGEST_LINE: u64 = 1 << 20;

/// What `--json` prints when there is nothing more to read.
#[derive(Serialize)]
struct Talk {
    run: String,
    /// How it stood before the first line; null for a new conversation.
    before: Option<SettledRow>,
    turns: Vec<TurnRow>,
    /// Why it ended before its input did.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Fault>,
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
    let mut talk = Talk { run: name.to_owned(), before: None, turns: Vec::new(), error: None };
    let ended = talk.go_on(desk, teller, input);
    if teller.json {
        let (code, error) = ended.map_or_else(|fault| (fault.exit_code(), Some(fault)), |code| (code, None));
        talk.error = error;
        teller.document(&talk)?;
        return Ok(code);
    }
    ended
}

impl Talk {
    /// Talks until there is nothing more to read, and gives the exit code. What was answered before something goes wrong stays
    /// in it.
    fn go_on(&mut self, desk: &Desk, teller: &mut Teller<'_>, input: &mut Input<'_>) -> Result<u8, Fault> {
        // What was said last, so that nothing is said twice and what others have brought about is said once.
        let mut seen = None;
        let is_typed = input.is_interactive && !teller.json;
        if is_typed {
            teller.say(GREETING)?;
        }
        if let Some(row) = taken_up(desk, teller, &self.run)? {
            show(teller, &row, &mut seen)?;
            self.before = Some(row);
        }
        loop {
            if is_typed {
                teller.prompt()?;
            }
            match next_line(input.lines, teller)? {
                None => break,
                Some(line) if !line.chars().any(is_seen) => {}
                Some(line) => self.hear(desk, teller, line, &mut seen)?,
            }
        }
        let last = self.turns.last().map(|turn| &turn.outcome).or(self.before.as_ref());
        Ok(last.map_or(0, SettledRow::exit_code))
    }

    /// Has the agents answer a line.
    fn hear(
        &mut self,
        desk: &Desk,
        teller: &mut Teller<'_>,
        line: String,
        seen: &mut Seen,
    ) -> Result<(), Fault> {
        let name = &*self.run;
        if let Some(row) = meanwhile(desk, name)? {
            show(teller, &row, seen)?;
            refuse_if_over(&row)?;
        }
        let turn = desk.turn(&line);
        desk.tell_last_model(teller, name);
        let settled =
            desk.drive(teller, name, Lease::WAITED_FOR, |driver| driver.submit(name, turn.clone()))?;
        let row = SettledRow::of(desk, name, &settled)?;
        if !show(teller, &row, seen)? && !teller.json {
            teller.say(&row.still_waits())?;
        }
        self.turns.push(TurnRow { text: line, outcome: row });
        Ok(())
    }
}

/// The ids of the answer or the questions that were shown last.
type Seen = Option<Vec<String>>;

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
            desk.tell_last_model(teller, name);
            let settled = desk.drive(teller, name, Lease::WAITED_FOR, |driver| driver.resume(name))?;
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
fn show(teller: &mut Teller<'_>, row: &SettledRow, seen: &mut Seen) -> Result<bool, Fault> {
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

/// The next line without white space around it; `None` when there is no more. What is no line for an agent is left out.
fn next_line(lines: &mut dyn BufRead, teller: &mut Teller<'_>) -> Result<Option<String>, Fault> {
    loop {
        let mut line = Vec::new();
        if lines.take(LONGEST_LINE + 1).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let is_whole = line.last() == Some(&b'\n') || line.len() as u64 <= LONGEST_LINE;
        if !is_whole {
            lines.skip_until(b'\n')?;
            teller.note(&format!("a line is longer than {LONGEST_LINE} bytes and was left out"));
            continue;
        }
        match String::from_utf8(line) {
            Ok(line) => return Ok(Some(line.trim().to_owned())),
            Err(_) => teller.note("a line is no UTF-8 and was left out; say it again"),
        }
    }
}
