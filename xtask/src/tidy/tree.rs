//! The project's files as texts: what the rules look at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::fault::Fault;

/// Every file of the project by its path from the root, with `/` between folders.
#[derive(Debug, Default)]
pub(super) struct Tree {
    texts: BTreeMap<String, String>,
    /// Files that are no UTF-8: links may point at them, rules do not read them.
    other: BTreeSet<String>,
}

impl Tree {
    /// Reads what git would commit, or where git is not there, all but build output.
    pub(super) fn read(root: &Path) -> Result<Self, Fault> {
        let mut tree = Self::default();
        let paths = match listed_by_git(root) {
            Some(paths) => paths,
            None => walk(root).map_err(Fault::system("read the project's folders"))?,
        };
        for path in paths {
            // A file that was deleted and not yet committed is listed, and gone.
            let Ok(bytes) = fs::read(root.join(&path)) else { continue };
            match String::from_utf8(bytes) {
                Ok(text) => drop(tree.texts.insert(path, text)),
                Err(_) => drop(tree.other.insert(path)),
            }
        }
        Ok(tree)
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let texts = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Self { texts, other: BTreeSet::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    pub(super) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.iter().filter(|(path, _)| path.ends_with(".rs"))
    }

    /// Is there a file, or a folder with a file in it, of this path?
    pub(super) fn exists(&self, path: &str) -> bool {
        let below = format!("{path}/");
        let mut all = self.texts.keys().chain(&self.other);
        path.is_empty() || all.any(|file| file == path || file.starts_with(&below))
    }
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let paths = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<String> = paths.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    // Unpacked inside another repository that ignores us, git lists nothing.
    paths.iter().any(|path| path == "Cargo.toml").then_some(paths)
}

fn walk(root: &Path) -> std::io::Result<Vec<String>> {
    let mut paths = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            if !entry.file_type()?.is_dir() {
                paths.push(path);
            } else if name != "target" && name != ".git" {
                folders.push(path);
            }
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::root;

    #[test]
    fn folders_exist_through_their_files() {
        let tree = Tree::of(&[("docs/lessons/05.md", "")]);
        for path in ["docs", "docs/lessons", "docs/lessons/05.md", ""] {
            assert!(tree.exists(path), "{path}");
        }
        assert!(!tree.exists("docs/less"));
    }

    #[test]
    fn both_ways_of_listing_find_the_manifest_and_no_build_output() {
        for paths in listed_by_git(root()).into_iter().chain(walk(root()).ok()) {
            assert!(paths.iter().any(|path| path == "xtask/Cargo.toml"));
            assert!(!paths.iter().any(|path| path.starts_with("target/")));
        }
    }
}
