//! The tables that say what shows each requirement and each fault.
//!
//! A page names its ids at the head, in lines `Ids: A-01..A-09, B, C`; its tables have the columns `id`, …,
//! `shown by`. Each id has one row, and each row's last cell is one of
//!
//! - tests and commands in backticks: `` `crates/a/tests/b.rs::name` ``, `` `cargo xtask lesson 05` ``,
//!   with `; open: …` or `; note: …` behind them where that is not yet all;
//! - `open: …`, the part of the work that brings it;
//! - `note: …`, why nothing is to be shown.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::lexer::tokens;
use super::tree::Tree;
use crate::command::Command;
use crate::example::Example;
use crate::lesson::same_number;

const PAGES: [&str; 2] = ["docs/requirements.md", "docs/faults.md"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    PAGES.iter().flat_map(|page| check_page(tree, page)).collect()
}

fn check_page(tree: &Tree, page: &str) -> Vec<Finding> {
    let Some(text) = tree.text(page) else {
        return vec![Finding::new(page, 1, "there is no such page")];
    };
    let mut findings = Vec::new();
    let mut find = |line, what: String| findings.push(Finding::new(page, line, what));

    let (declared, bad) = declared(text);
    for (line, what) in bad {
        find(line, what);
    }
    if declared.is_empty() {
        find(1, "no line `Ids: …` names the ids of this page".to_owned());
    }
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    let rows = rows(text);
    for row in &rows {
        if let Some(first) = lines.insert(&row.id, row.line) {
            find(row.line, format!("`{}` has a row already, in line {first}", row.id));
        }
        if !declared.contains_key(&row.id) {
            find(row.line, format!("`{}` is not among the ids at the head of the page", row.id));
        }
        for what in shown_by(tree, &row.shown_by) {
            find(row.line, format!("`{}`: {what}", row.id));
        }
    }
    for (id, line) in declared.iter().filter(|(id, _)| !lines.contains_key(id.as_str())) {
        find(*line, format!("`{id}` has no row"));
    }
    findings
}

/// The ids that the head of the page names, each with its line, and what could not be read of them.
fn declared(text: &str) -> (BTreeMap<String, usize>, Vec<(usize, String)>) {
    let (mut ids, mut bad) = (BTreeMap::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        let Some(list) = line.strip_prefix("Ids:") else { continue };
        for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            match expand(item) {
                Some(range) => ids.extend(range.into_iter().map(|id| (id, at + 1))),
                None => bad.push((at + 1, format!("`{item}` is no range of ids"))),
            }
        }
    }
    (ids, bad)
}

/// `A-08..A-11` is A-08, A-09, A-10 and A-11; anything without dots is itself.
fn expand(item: &str) -> Option<Vec<String>> {
    let Some((from, to)) = item.split_once("..") else { return Some(vec![item.to_owned()]) };
    let split = |id: &str| id.split_at(id.trim_end_matches(|char: char| char.is_ascii_digit()).len()).1.len();
    let (prefix, first) = from.split_at(from.len() - split(from));
    let (same, last) = to.split_at(to.len() - split(to));
    let (from, to): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
    let width = first.len();
    (prefix == same && from <= to).then(|| (from..=to).map(|n| format!("{prefix}{n:0width$}")).collect())
}

struct Row {
    line: usize,
    id: String,
    shown_by: String,
}

fn rows(text: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    // Columns of the table we are in, if it is one of ours.
    let mut columns = None;
    for (at, line) in text.lines().enumerate() {
        let cells = if line.starts_with('|') { cells(line) } else { Vec::new() };
        match (cells.first(), cells.last()) {
            (Some(id), Some(last)) if id == "id" && last == "shown by" => columns = Some(cells.len()),
            (Some(id), Some(last)) if columns.is_some() && !id.starts_with("--") => {
                let whole = columns == Some(cells.len());
                let shown_by = if whole { last.clone() } else { String::new() };
                rows.push(Row { line: at + 1, id: id.clone(), shown_by });
            }
            (None, _) => columns = None,
            _ => {}
        }
    }
    rows
}

/// The cells of a row; `\|` is a bar within a cell.
fn cells(line: &str) -> Vec<String> {
    let guarded = line.trim().replace("\\|", "\u{0}");
    guarded.trim_matches('|').split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect()
}

/// What is wrong with a cell `shown by`.
fn shown_by(tree: &Tree, cell: &str) -> Vec<String> {
    let (items, remark) = match cell.find("open:").into_iter().chain(cell.find("note:")).min() {
        Some(at) => cell.split_at(at),
        None => (cell, ""),
    };
    let mut wrong = Vec::new();
    if remark.split_once(':').is_some_and(|(_, text)| text.trim().is_empty()) {
        wrong.push("open for what, or noted why?".to_owned());
    }
    let parts: Vec<&str> = items.split('`').collect();
    let between: BTreeSet<&str> = parts.iter().step_by(2).map(|text| text.trim()).collect();
    let witnesses: Vec<&str> = parts.iter().skip(1).step_by(2).copied().collect();
    if witnesses.is_empty() && remark.is_empty() || parts.len().is_multiple_of(2) {
        wrong.push(format!("shown by neither a test nor a command, and not open: `{cell}`"));
    } else if between.iter().any(|text| !matches!(*text, "" | "," | ";")) {
        wrong.push(format!("only commas stand between tests and commands: `{cell}`"));
    }
    wrong.extend(witnesses.into_iter().filter_map(|witness| find_witness(tree, witness).err()));
    wrong
}

fn find_witness(tree: &Tree, witness: &str) -> Result<(), String> {
    if let Some(command) = witness.strip_prefix("cargo xtask ") {
        return find_command(tree, command);
    }
    if witness.starts_with("cargo test") || witness.starts_with("cargo bench") {
        return Ok(());
    }
    let (path, function) = witness
        .split_once(".rs::")
        .map(|(stem, name)| (format!("{stem}.rs"), name.rsplit("::").next().unwrap_or(name)))
        .ok_or_else(|| format!("`{witness}` is neither `path.rs::test` nor a command"))?;
    let source = tree.text(&path).ok_or_else(|| format!("there is no file `{path}`"))?;
    let lines: Vec<usize> = tokens(source)
        .windows(2)
        .filter(|pair| pair[0].text == "fn" && pair[1].text == function)
        .map(|pair| pair[0].line)
        .collect();
    if lines.is_empty() {
        Err(format!("`{path}` has no `fn {function}`"))
    } else if lines.iter().any(|line| is_test(source, *line)) {
        Ok(())
    } else {
        Err(format!("`{function}` in `{path}` is no test and has no example in its docs"))
    }
}

/// Is the function of this line marked as a test, or is there an example in its docs, which is run as one?
fn is_test(source: &str, line: usize) -> bool {
    let above: Vec<&str> = source.lines().take(line).map(str::trim).collect();
    let same = above.last().is_some_and(|line| line.contains("#[test]"));
    let mut above =
        above.iter().rev().skip(1).take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    same || above.any(|line| *line == "#[test]" || line.starts_with("///") && line.contains("```"))
}

fn find_command(tree: &Tree, command: &str) -> Result<(), String> {
    let mut words = command.split_whitespace();
    let name = words.next().unwrap_or_default();
    match Command::parse(name) {
        Ok(Command::Lesson) => {
            let number = words.next().unwrap_or_default();
            let lessons = tree.iter().filter_map(|(path, _)| {
                path.strip_prefix("examples/lesson-").and_then(|rest| rest.strip_suffix("/Cargo.toml"))
            });
            if lessons.into_iter().any(|lesson| same_number(lesson, number)) {
                Ok(())
            } else {
                Err(format!("there is no lesson `{number}`"))
            }
        }
        Ok(Command::Example) => {
            let name = words.next().unwrap_or_default();
            if Example::is_name(name) && tree.exists(&format!("examples/{name}")) {
                Ok(())
            } else {
                Err(format!("there is no example `{name}`"))
            }
        }
        Ok(Command::Ask) if !tree.exists("examples/ask") => Err("there is no example `ask`".to_owned()),
        Ok(_) => Ok(()),
        Err(_) => Err(format!("there is no command `{name}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Ids: A-01..A-02, B\n\n| id | what | shown by |\n|---|---|---|\n";

    const SOURCE: &str = "#[test]\n// Twice.\n#[should_panic]\nfn pair_is_refused() {}\n// fn gone() {}\n\n\
                          fn helper() {}\n/// ```compile_fail\n/// ```\npub fn resume() {}\n";

    fn found(rows: &str) -> Vec<String> {
        let tree = Tree::of(&[
            (PAGES[0], &format!("{HEAD}{rows}")),
            ("crates/a/tests/b.rs", SOURCE),
            ("examples/lesson-05/Cargo.toml", ""),
            ("examples/support-desk/Cargo.toml", ""),
        ]);
        check_page(&tree, PAGES[0]).iter().map(|finding| finding.what.clone()).collect()
    }

    fn cell(shown_by: &str) -> usize {
        found(&format!("| A-01 | x | {shown_by} |\n| A-02 | x | open: core |\n| B | x | note: frame |\n"))
            .len()
    }

    #[test]
    fn each_id_has_one_row() {
        assert_eq!(
            found("| A-01 | x | open: core |\n| A-02 | x | open: law |\n| B | x | note: y |\n"),
            [""; 0]
        );
        assert_eq!(found("| A-01 | x | open: a |\n| A-02 | x | open: a |\n"), ["`B` has no row"]);
        assert_eq!(
            found(
                "| A-01 | x | open: a |\n| A-02 | x | open: a |\n| B | x | open: a |\n| B | x | open: a |\n"
            ),
            ["`B` has a row already, in line 7"]
        );
        assert_eq!(
            found(
                "| A-01 | x | open: a |\n| A-02 | x | open: a |\n| B | x | open: a |\n| C | x | open: a |\n"
            ),
            ["`C` is not among the ids at the head of the page"]
        );
    }

    #[test]
    fn a_witness_must_exist() {
        let right = [
            "`crates/a/tests/b.rs::pair_is_refused`",
            "`crates/a/tests/b.rs::tests::pair_is_refused`, `cargo xtask lesson 5 --json`",
            "`crates/a/tests/b.rs::resume`",
            "`cargo xtask lesson 05`; open: the store's half",
            "`cargo xtask example support-desk --json`",
            "`cargo xtask tidy`, `cargo bench`",
            "note: a \\| b",
        ];
        let wrong = [
            "`crates/a/tests/b.rs::gone`",
            "`crates/a/tests/b.rs::helper`",
            "`crates/a/tests/c.rs::pair_is_refused`",
            "`cargo xtask lesson 09`",
            "`cargo xtask example library`",
            "`cargo xtask example lesson-05`",
            "`cargo xtask example`",
            "`cargo xtask ask \"x\"`",
            "`cargo xtask dance`",
            "`pair_is_refused`",
            "crates/a/tests/b.rs::pair_is_refused",
            "`crates/a/tests/b.rs::pair_is_refused` and more",
            "`crates/a/tests/b.rs::pair_is_refused",
            "open:",
            "",
            "a | b",
        ];
        for shown_by in right {
            assert_eq!(cell(shown_by), 0, "{shown_by}");
        }
        for shown_by in wrong {
            assert_eq!(cell(shown_by), 1, "{shown_by}");
        }
    }

    #[test]
    fn ranges_keep_their_width() {
        let ids = |list: &[&str]| Some(list.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>());
        assert_eq!(expand("A-09..A-11"), ids(&["A-09", "A-10", "A-11"]));
        assert_eq!(expand("R9..R10"), ids(&["R9", "R10"]));
        assert_eq!(expand("A-L02b"), ids(&["A-L02b"]));
        for bad in ["A-1..B-2", "A-3..A-1", "A-x..A-y", "A-1.."] {
            assert_eq!(expand(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_page_must_exist_and_name_its_ids() {
        assert_eq!(check_page(&Tree::default(), PAGES[0]).len(), 1);
        let tree = Tree::of(&[(PAGES[0], "# Nothing here\n\n| id | of another |\n|--|--|\n| x | y |\n")]);
        assert_eq!(check_page(&tree, PAGES[0]).len(), 1);
    }
}
