//! `example`: runs an example that is no lesson, or lists those there are.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::fault::Fault;
use crate::launch::launch;
use crate::lesson::first_doc_line;
use crate::nearest::nearest;
use crate::root::root;

/// An example that is no lesson: a package in examples/ with a program that has no command of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Example {
    name: String,
    title: String,
}

impl Example {
    /// Whether the package of this name in examples/ is started by `cargo xtask example`.
    pub(crate) fn is_name(name: &str) -> bool {
        !name.is_empty() && !matches!(name, "ask" | "kit") && !name.starts_with("lesson-")
    }

    pub(crate) fn all(root: &Path) -> Result<Vec<Self>, Fault> {
        let folder = root.join("examples");
        let mut examples = Vec::new();
        for entry in fs::read_dir(&folder).map_err(Fault::system("read examples/"))? {
            let folder = entry.map_err(Fault::system("read examples/"))?.path();
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if Self::is_name(&name)
                && folder.join("Cargo.toml").is_file()
                && let Ok(source) = fs::read_to_string(folder.join("src/main.rs"))
            {
                examples.push(Self { name, title: first_doc_line(&source).unwrap_or_default() });
            }
        }
        examples.sort();
        Ok(examples)
    }

    /// The name, which is that of the package and of the folder.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

pub(crate) fn run(mut args: Vec<OsString>) -> Result<ExitCode, Fault> {
    let examples = Example::all(root())?;
    if args.is_empty() {
        return list(&examples);
    }
    let rest = args.split_off(1);
    let word = args.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    match word.as_str() {
        "list" | "--help" | "-h" => list(&examples),
        _ => match examples.iter().find(|example| example.name == word) {
            Some(example) => launch(&example.name, rest),
            None => Err(Fault::Misuse(unknown(&word, &examples))),
        },
    }
}

fn list(examples: &[Example]) -> Result<ExitCode, Fault> {
    let width = examples.iter().map(|example| example.name.chars().count()).max().unwrap_or(0);
    let mut text = String::from("usage: cargo xtask example NAME [--json] [--trace tree|json|off]\n\n");
    for Example { name, title } in examples {
        text.push_str(&format!("  {name:width$}  {title}\n"));
    }
    io::stdout().write_all(text.as_bytes()).map_err(Fault::system("write to stdout"))?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(word: &str, examples: &[Example]) -> String {
    let names: Vec<&str> = examples.iter().map(Example::name).collect();
    let known = if names.is_empty() { "none yet".to_owned() } else { names.join(", ") };
    if word.starts_with('-') {
        return format!("the name comes first, then `{word}`; examples: {known}");
    }
    let hint = nearest(word, &names).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("unknown example `{word}`{hint}\nexamples: {known}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples(names: &[&str]) -> Vec<Example> {
        names.iter().map(|name| Example { name: (*name).to_owned(), title: String::new() }).collect()
    }

    #[test]
    fn an_unknown_example_is_answered_with_the_nearest_and_the_known_ones() {
        let examples = examples(&["contrasts", "support-desk"]);
        assert_eq!(
            unknown("suport-desk", &examples),
            "unknown example `suport-desk`; did you mean `support-desk`?\nexamples: contrasts, support-desk"
        );
        assert_eq!(
            unknown("something else", &examples),
            "unknown example `something else`\nexamples: contrasts, support-desk"
        );
        assert_eq!(
            unknown("--json", &examples),
            "the name comes first, then `--json`; examples: contrasts, support-desk"
        );
        assert_eq!(unknown("x", &[]), "unknown example `x`\nexamples: none yet");
    }

    #[test]
    fn what_has_a_command_of_its_own_is_no_example_here() {
        for name in ["ask", "kit", "lesson-05", ""] {
            assert!(!Example::is_name(name), "{name}");
        }
        assert!(Example::is_name("support-desk"));
    }

    #[test]
    fn each_example_of_this_workspace_has_a_title() {
        for Example { name, title } in Example::all(root()).unwrap() {
            assert!(!title.is_empty(), "{name}");
        }
    }
}
