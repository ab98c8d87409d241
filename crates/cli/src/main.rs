//! The command `sommelier`. What it does is in the library, so that tests can call it.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use sommelier::{Io, run};

fn main() -> ExitCode {
    let (is_interactive, is_shown) = (io::stdin().is_terminal(), io::stdout().is_terminal());
    // Not locked: while `serve` waits, threads say things too.
    let (mut input, mut out, mut err) = (io::stdin().lock(), io::stdout(), io::stderr());
    let io = Io { input: &mut input, is_interactive, is_shown, out: &mut out, err: &mut err };
    ExitCode::from(run(std::env::args_os(), io))
}
