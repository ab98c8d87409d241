//! `ask`: puts any text to the agents. All arguments are the program's own: the example's, or with a model the command's.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::fault::Fault;
use crate::launch::launch;
use crate::model;
use crate::root::root;

pub(crate) fn run(args: Vec<OsString>) -> Result<ExitCode, Fault> {
    if !root().join("examples/ask/Cargo.toml").is_file() {
        return Err(Fault::Misuse("there is no `ask` in examples/ yet".to_owned()));
    }
    let (program, args) = model::ask(args);
    launch(&program, args)
}
