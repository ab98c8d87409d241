//! Which crate may depend on which, and on what else.

use std::process::Stdio;

use serde_json::Value;

use super::Finding;
use super::tree::Tree;
use crate::fault::Fault;
use crate::root::{cargo, root};

/// A crate of the core with all that it may depend on. What needs more is a crate of its own at the edge.
const HOUSE: [(&str, &[&str]); 8] = [
    ("sommelier-protocol", &["serde", "serde_json", "thiserror"]),
    ("sommelier-runtime", &["sommelier-protocol", "serde", "serde_json", "thiserror"]),
    ("sommelier-handoff", &["sommelier-protocol", "sommelier-runtime", "serde", "serde_json", "thiserror"]),
    (
        "sommelier-runner",
        &[
            "sommelier-protocol",
            "sommelier-runtime",
            "sommelier-handoff",
            "serde",
            "serde_json",
            "thiserror",
            "tracing",
        ],
    ),
    (
        "sommelier-patterns",
        &[
            "sommelier-protocol",
            "sommelier-runtime",
            "sommelier-handoff",
            "sommelier-runner",
            "serde",
            "serde_json",
            "thiserror",
            "tracing",
        ],
    ),
    (
        "reservo",
        // The runner, since a specialist is run by a driver with a gate, and a second one here would be its twin.
        &[
            "sommelier-protocol",
            "sommelier-runtime",
            "sommelier-handoff",
            "sommelier-runner",
            "serde",
            "serde_json",
            "thiserror",
        ],
    ),
    ("sommelier-metrics", &["serde", "serde_json", "thiserror", "tracing", "tracing-subscriber"]),
    ("xtask", &["serde_json", "lexopt"]),
];

/// Crates at the edge: they may depend on what they need. A new crate stands in one of the two lists.
const EDGE: &[&str] = &[
    "sommelier-crash",
    "sommelier",
    "sommelier-store",
    "reservo-ledger",
    "sommelier-providers",
    "sommelier-report",
    "sommelier-address",
    "sommelier-http",
    "sommelier-browser-test",
    "sommelier-fake-server",
    "sommelier-otel",
    "sommelier-cassette",
    "sommelier-fuzz-cases",
];

/// Features are shared by the whole build, so one package's `preserve_order` would change all of them.
const SERDE_JSON_FEATURES: &[&str] = &["raw_value"];

/// A package as its manifest declares it.
#[derive(Debug)]
pub(super) struct Package {
    name: String,
    manifest: String,
    dependencies: Vec<Dependency>,
}

#[derive(Debug)]
struct Dependency {
    name: String,
    dev: bool,
    features: Vec<String>,
}

impl Package {
    fn is_in(&self, folder: &str) -> bool {
        self.manifest.starts_with(folder)
    }
}

/// The packages of the workspace.
pub(super) fn packages() -> Result<Vec<Package>, Fault> {
    let metadata = |offline: &[&str]| {
        cargo()
            .args(["metadata", "--format-version", "1", "--no-deps"])
            .args(offline)
            .stderr(Stdio::inherit())
            .output()
            .map_err(Fault::system("start cargo"))
    };
    let mut output = metadata(&["--offline"])?;
    if !output.status.success() {
        output = metadata(&[])?;
    }
    let json: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| Fault::Failed(format!("`cargo metadata`: {error}")))?;
    Ok(read(&json))
}

fn read(metadata: &Value) -> Vec<Package> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let here = format!("{}/", root().display());
    let dependency = |value: &Value| Dependency {
        name: text(&value["name"]),
        dev: value["kind"] == "dev",
        features: list(&value["features"]).iter().map(text).collect(),
    };
    let package = |value: &Value| {
        let manifest = text(&value["manifest_path"]).replace('\\', "/");
        Package {
            name: text(&value["name"]),
            manifest: manifest.strip_prefix(&here).unwrap_or(&manifest).to_owned(),
            dependencies: list(&value["dependencies"]).iter().map(dependency).collect(),
        }
    };
    list(&metadata["packages"]).iter().map(package).collect()
}

pub(super) fn check(packages: &[Package], tree: &Tree) -> Vec<Finding> {
    let examples: Vec<&str> =
        packages.iter().filter(|package| package.is_in("examples/")).map(|package| &*package.name).collect();
    let mut findings = Vec::new();
    for package in packages {
        let allowed = HOUSE.iter().find(|(name, _)| *name == package.name).map(|(_, allowed)| *allowed);
        if package.is_in("crates/") && allowed.is_none() && !EDGE.contains(&&*package.name) {
            let what = format!("`{}` has no place in xtask/src/tidy/arrows.rs: core or edge?", package.name);
            findings.push(Finding::new(&package.manifest, 1, what));
        }
        for Dependency { name, dev, features } in &package.dependencies {
            let mut find = |what: String| {
                findings.push(Finding::new(&package.manifest, line_of(tree, &package.manifest, name), what));
            };
            if let Some(allowed) = allowed.filter(|allowed| !dev && !allowed.contains(&&**name)) {
                find(format!(
                    "`{}` may not depend on `{name}`, only on: {}",
                    package.name,
                    allowed.join(", ")
                ));
            }
            if package.is_in("crates/") && examples.contains(&&**name) {
                find(format!("`{}` is a library and may not depend on the example `{name}`", package.name));
            }
            if name == "serde_json" {
                for feature in features.iter().filter(|feature| !SERDE_JSON_FEATURES.contains(&&***feature)) {
                    find(format!("feature `{feature}` of serde_json would reach the whole workspace"));
                }
            }
        }
    }
    findings
}

fn line_of(tree: &Tree, manifest: &str, dependency: &str) -> usize {
    let names_it = |line: &str| {
        line.trim_start()
            .strip_prefix(dependency)
            .is_some_and(|rest| rest.trim_start().starts_with(['.', '=']))
    };
    tree.text(manifest).and_then(|text| text.lines().position(names_it)).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, folder: &str, dependencies: &[(&str, bool, &[&str])]) -> Package {
        let dependency = |(name, dev, features): &(&str, bool, &[&str])| Dependency {
            name: (*name).to_owned(),
            dev: *dev,
            features: features.iter().map(|feature| (*feature).to_owned()).collect(),
        };
        Package {
            name: name.to_owned(),
            manifest: format!("{folder}/Cargo.toml"),
            dependencies: dependencies.iter().map(dependency).collect(),
        }
    }

    fn found(packages: &[Package]) -> Vec<String> {
        check(packages, &Tree::default()).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn arrows_point_one_way() {
        let right = package("sommelier-runtime", "crates/runtime", &[("sommelier-protocol", false, &[])]);
        let wrong = package("sommelier-protocol", "crates/protocol", &[("sommelier-runtime", false, &[])]);
        let found = found(&[right, wrong]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/protocol/Cargo.toml:1: `sommelier-protocol` may not depend on"));
    }

    #[test]
    fn the_core_takes_no_other_crate_but_for_its_tests() {
        let right = package("sommelier-handoff", "crates/handoff", &[("proptest", true, &[])]);
        assert_eq!(found(&[right]), [""; 0]);
        for name in ["tracing", "rand", "tracing-subscriber", "sommelier-runner"] {
            let wrong = package("sommelier-handoff", "crates/handoff", &[(name, false, &[])]);
            assert_eq!(found(&[wrong]).len(), 1, "{name}");
        }
    }

    #[test]
    fn no_library_stands_on_an_example() {
        let kit = package("examples-kit", "examples/kit", &[]);
        let example = package("lesson-05", "examples/lesson-05", &[("examples-kit", false, &[])]);
        let runner = package("sommelier-runner", "crates/runner", &[("examples-kit", true, &[])]);
        let found = found(&[kit, example, runner]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("sommelier-runner"));
    }

    #[test]
    fn a_crate_that_is_in_neither_list_is_told() {
        assert_eq!(found(&[package("sommelier-new", "crates/new", &[])]).len(), 1);
        assert_eq!(found(&[package("new", "examples/new", &[])]), [""; 0]);
    }

    #[test]
    fn serde_json_keeps_its_features_everywhere() {
        let right = package("ask", "examples/ask", &[("serde_json", false, &["raw_value"])]);
        let wrong = package("ask", "examples/ask", &[("serde_json", true, &["preserve_order"])]);
        assert_eq!(found(&[right]), [""; 0]);
        assert_eq!(found(&[wrong]).len(), 1);
    }

    #[test]
    fn the_line_of_the_manifest_is_told() {
        let manifest = "[dependencies]\nserde_json.workspace = true\nserde.workspace = true\n";
        let tree = Tree::of(&[("crates/metrics/Cargo.toml", manifest)]);
        assert_eq!(line_of(&tree, "crates/metrics/Cargo.toml", "serde"), 3);
        assert_eq!(line_of(&tree, "crates/metrics/Cargo.toml", "rand"), 1);
    }

    #[test]
    fn this_workspace_is_read() {
        let packages = packages().unwrap();
        let xtask = packages.iter().find(|package| package.name == "xtask").unwrap();
        assert_eq!(xtask.manifest, "xtask/Cargo.toml");
        assert!(xtask.dependencies.iter().any(|dependency| dependency.name == "serde_json"));
    }
}
