//! `ask`: puts any text to the agents. All arguments are the example's own.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::fault::Fault;
use crate::launch::launch;
use crate::root::root;

pub(crate) fn run(args: Vec<OsString>) -> Result<ExitCode, Fault> {
    if !root().join("examples/ask/Cargo.toml").is_file() {
        return Err(Fault::Misuse("there is no `ask` in examples/ yet".to_owned()));
    }
    launch("ask", args)
}
