//! `help`: the commands, a line each.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::command::Command;
use crate::fault::Fault;

pub(crate) fn run() -> Result<ExitCode, Fault> {
    io::stdout().write_all(text().as_bytes()).map_err(Fault::system("write to stdout"))?;
    Ok(ExitCode::SUCCESS)
}

fn text() -> String {
    let width = Command::ALL.map(|command| command.usage().0.chars().count()).into_iter().max().unwrap_or(0);
    let mut text = String::from("usage: cargo xtask COMMAND\n\n");
    for command in Command::ALL {
        let (usage, does) = command.usage();
        text.push_str(&format!("  {usage:width$}  {does}\n"));
    }
    text.push_str("\nStart with `cargo xtask lesson 05`.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_its_line() {
        let text = text();
        for command in Command::ALL {
            assert!(text.lines().any(|line| line.trim_start().starts_with(command.name())), "{text}");
        }
    }
}
