//! The project's commands. `cargo xtask` alone lists them; it works from every folder of the repository.
//!
//! One module is one command. xtask knows where things are and how to start them, and nothing of agents:
//! what a lesson shows is the business of its example, so xtask builds in seconds.

mod amount;
mod ask;
mod browser_test;
mod ci;
mod command;
mod crash;
mod example;
mod fault;
mod fuzz;
mod help;
mod installed;
mod launch;
mod lesson;
mod live_test;
mod model;
mod nearest;
mod root;
mod sdk_check;
mod server;
mod soak;
mod tidy;
mod trace_test;

use std::io::{self, Write};
use std::process::ExitCode;

use crate::command::Command;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let outcome = match args.next() {
        None => help::run(),
        Some(name) => Command::parse(&name.to_string_lossy()).and_then(|command| command.run(args.collect())),
    };
    match outcome {
        Ok(code) => code,
        Err(fault) => {
            // A closed stderr is no reason to die of another error.
            let _ = writeln!(io::stderr(), "error: {fault}");
            fault.code()
        }
    }
}
