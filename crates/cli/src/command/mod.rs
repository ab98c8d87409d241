//! The commands, each in a file of its own.

mod answer;
mod ask;
mod cancel;
mod cassette;
mod chat;
mod export;
pub(crate) mod inbox;
mod invite;
mod invited;
mod lesson;
mod replay;
pub(crate) mod report;
mod report_file;
pub(crate) mod resume;
pub(crate) mod runs;
mod show;
mod sweep;
mod verify;
mod withdraw;

use sommelier_runner::Settled;

pub(crate) use lesson::NUMBER as LESSON;

use crate::arguments::{Addressed, Arguments, Command};
use crate::desk::{Desk, Use};
use crate::fault::Fault;
use crate::rows::SettledRow;
use crate::teller::{Input, Teller};

/// Does what was asked for, and gives the exit code.
pub(crate) fn run(arguments: Arguments, teller: &mut Teller<'_>, input: &mut Input<'_>) -> Result<u8, Fault> {
    // What a file tells needs no journal.
    if let Command::Report(asked) = &arguments.command
        && let Some(file) = asked.file()
    {
        return report::of_file(teller, input, file, asked);
    }
    let desk = match arguments.command {
        Command::Ask(_) | Command::Chat { .. } | Command::Lesson { .. } | Command::Serve(_) => {
            Desk::open_or_make(&arguments)?
        }
        Command::Resume { .. } | Command::Answer(_) | Command::Cancel { .. } | Command::Sweep { .. } => {
            Desk::open(&arguments, Use::Drive)?
        }
        Command::Runs
        | Command::Show { .. }
        | Command::Inbox
        | Command::Invite(_)
        | Command::Withdraw { .. }
        | Command::Cassette { .. }
        | Command::Verify { .. }
        | Command::Export { .. }
        | Command::Replay { .. } => Desk::open(&arguments, Use::Look)?,
        Command::Report(ref asked) => {
            Desk::open(&arguments, Use::Look).map_err(|fault| report::or_a_file(asked, fault))?
        }
    };
    if let Command::Serve(asked) = &arguments.command {
        return crate::serve::run(desk, teller, asked);
    }
    let ended = done(arguments.command, &desk, teller, input);
    let Some((told, is_fault)) = desk.decider.tape().end() else { return ended };
    teller.note(&told);
    ended.map(|code| if is_fault { code.max(1) } else { code })
}

fn done(command: Command, desk: &Desk, teller: &mut Teller<'_>, input: &mut Input<'_>) -> Result<u8, Fault> {
    match command {
        Command::Ask(ask) => ask::run(desk, teller, ask),
        Command::Chat { name, conversation, .. } => {
            chat::run(desk, teller, input, &conversation.unwrap_or(name))
        }
        Command::Lesson { .. } => lesson::run(desk, teller),
        // It was served before this.
        Command::Serve(_) => Ok(0),
        Command::Runs => runs::run(desk, teller),
        Command::Show { run, all } => show::run(desk, teller, &run, all),
        Command::Resume { run, again, lease, .. } => resume::run(desk, teller, &run, again, lease),
        Command::Inbox => inbox::run(desk, teller),
        Command::Answer(answer) => {
            let lease = answer.lease;
            match answer.read()? {
                (Addressed::Question { id, digest, by }, said) => {
                    answer::run(desk, teller, (&id, digest.as_deref()), &said, by.as_deref(), lease)
                }
                (Addressed::Token(token), said) => invited::run(desk, teller, input, token, &said),
            }
        }
        Command::Invite(invite) => invite::run(desk, teller, &invite),
        Command::Withdraw { invitation } => withdraw::run(desk, teller, &invitation),
        Command::Cancel { run, reason, lease } => cancel::run(desk, teller, &run, &reason, lease),
        Command::Sweep { idle, wait, .. } => sweep::run(desk, teller, idle, wait),
        Command::Verify { heads } => verify::run(desk, teller, heads.as_deref()),
        Command::Cassette { run, output } => cassette::run(desk, teller, &run, output.as_deref()),
        Command::Export { heads } => export::run(desk, teller, heads),
        Command::Report(asked) => report::of_run(desk, teller, &asked),
        Command::Replay { run, from, to, .. } => {
            replay::run(desk, teller, &run, from.as_deref(), to.as_deref())
        }
    }
}

/// Tells what a run has come to.
fn tell(desk: &Desk, teller: &mut Teller<'_>, run: &str, settled: &Settled) -> Result<u8, Fault> {
    let row = SettledRow::of(desk, run, settled)?;
    teller.tell(|| row.text(), &row)?;
    Ok(row.exit_code())
}
