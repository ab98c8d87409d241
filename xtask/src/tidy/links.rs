//! Every link between our own pages leads somewhere, headings included.

use std::collections::BTreeMap;

use super::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (page, text) in tree.iter().filter(|(path, _)| path.ends_with(".md")) {
        for (line, target) in links(text) {
            if let Err(what) = follow(tree, page, &target) {
                findings.push(Finding::new(page, line, what));
            }
        }
    }
    findings
}

fn follow(tree: &Tree, page: &str, target: &str) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let path = if file.is_empty() { Some(page.to_owned()) } else { resolve(page, &file.replace("%20", " ")) };
    let Some(path) = path.filter(|path| tree.exists(path)) else {
        return Err(format!("link to `{target}`: there is no such file"));
    };
    match anchor.zip(tree.text(&path).filter(|_| path.ends_with(".md"))) {
        Some((anchor, text)) if !anchors(text).iter().any(|known| known == anchor) => {
            Err(format!("link to `{target}`: `{path}` has no such heading"))
        }
        _ => Ok(()),
    }
}

/// The path from the root, or none if it leads out of the project.
fn resolve(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The lines that are text: neither in a fence nor in a comment of one line.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => return Some((at + 1, line)),
            _ => {}
        }
        None
    })
}

fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (at, line) in prose(text) {
        let line = without_code(line);
        let mut rest = line.as_str();
        while let Some(start) = rest.find("](") {
            rest = &rest[start + 2..];
            if let Some(target) = destination(rest) {
                links.push((at, target));
            }
        }
        let definition = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]:"));
        if let Some((name, target)) = definition
            && !name.contains([']', '^'])
            && let Some(target) = target.split_whitespace().next()
        {
            links.push((at, target.trim_matches(['<', '>']).to_owned()));
        }
    }
    links
}

/// What stands between the brackets, without a title.
fn destination(rest: &str) -> Option<String> {
    if let Some(quoted) = rest.strip_prefix('<') {
        return Some(quoted[..quoted.find('>')?].to_owned());
    }
    let mut depth = 0;
    let end = rest.find(|char| {
        match char {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth < 0
    })?;
    rest[..end].split_whitespace().next().map(str::to_owned)
}

/// The line with its code spans blanked out.
fn without_code(line: &str) -> String {
    line.split('`')
        .enumerate()
        .map(|(at, part)| if at % 2 == 0 { part } else { "" })
        .collect::<Vec<_>>()
        .join("`")
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = Vec::new();
    for (_, line) in prose(text) {
        anchors
            .extend(line.split("id=\"").skip(1).filter_map(|rest| rest.split('"').next().map(str::to_owned)));
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let slug: String = heading
            .trim()
            .chars()
            .filter(|char| char.is_alphanumeric() || matches!(char, ' ' | '-' | '_'))
            .flat_map(char::to_lowercase)
            .map(|char| if char == ' ' { '-' } else { char })
            .collect();
        let count = seen.entry(slug.clone()).or_default();
        anchors.push(if *count == 0 { slug } else { format!("{slug}-{count}") });
        *count += 1;
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESIGN: (&str, &str) =
        ("docs/design.md", "# Design\n\n## Why not `async`?\n\n## Why not `async`?\n");

    fn found(page: &str, text: &str) -> Vec<String> {
        check(&Tree::of(&[(page, text), DESIGN, ("src/a b.rs", "")])).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn links_that_lead_somewhere() {
        let text = "[a](docs/design.md) [b](docs/design.md#why-not-async \"title\") [c](#here)\n# Here\n\
                    [d]: docs/design.md#why-not-async-1\n[e](docs/) [f](<src/a b.rs>) [g](src/a%20b.rs#L3)\n\
                    [h](https://example.com/x) [^1]: note\n`[i](gone.md)`\n```\n[j](gone.md)\n```\n";
        assert_eq!(found("README.md", text), [""; 0]);
        assert_eq!(found("docs/lessons/05.md", "[up](../design.md) [root](../../README.md#x)").len(), 1);
    }

    #[test]
    fn links_that_do_not() {
        assert_eq!(
            found("README.md", "\n[a](docs/gone.md)"),
            ["README.md:2: link to `docs/gone.md`: there is no such file"]
        );
        assert_eq!(
            found("README.md", "[a](docs/design.md#nowhere)"),
            ["README.md:1: link to `docs/design.md#nowhere`: `docs/design.md` has no such heading"]
        );
        for text in ["[a](#nowhere)", "[a]: gone.md", "[a](../outside.md)", "![a](gone.png)"] {
            assert_eq!(found("README.md", text).len(), 1, "{text}");
        }
    }
}
