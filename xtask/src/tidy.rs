//! `tidy`: the rules of the house that no compiler checks, one file per rule.
//!
//! Each rule is a function of texts, so that its tests need no repository. All findings are told together.

mod arrows;
mod bans;
mod examples;
mod lexer;
mod links;
mod machine;
mod merged;
mod pure;
mod tables;
mod tree;

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::fault::Fault;
use crate::root::root;
use tree::Tree;

/// A breach of a rule, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    what: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

pub(crate) fn run() -> Result<ExitCode, Fault> {
    Ok(if report()? == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Tells every finding on stderr, and how many there are.
pub(crate) fn report() -> Result<usize, Fault> {
    let tree = Tree::read(root())?;
    let mut findings = Vec::new();
    findings.extend(arrows::check(&arrows::packages()?, &tree));
    findings.extend(pure::check(&tree));
    findings.extend(bans::check(&tree));
    findings.extend(tables::check(&tree));
    findings.extend(links::check(&tree));
    findings.extend(machine::check(&tree));
    findings.extend(merged::check(&tree));
    findings.extend(examples::check(&tree));
    findings.sort();
    findings.dedup();

    let mut lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    lines.push(format!("tidy: {} findings in {} files", findings.len(), tree.len()));
    // Not `writeln!` per line: others may write to the same terminal.
    let _ = io::stderr().write_all((lines.join("\n") + "\n").as_bytes());
    Ok(findings.len())
}
