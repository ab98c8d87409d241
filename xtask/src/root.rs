//! Where the repository is.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::fault::Fault;

/// The folder of the workspace, whatever folder the command was given in.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// The cargo that started us, at the root, so that the repository's own settings count.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// Where cargo puts what it makes, and commands what they leave: below the repository, unless a setting of cargo's says otherwise.
pub(crate) fn target() -> Result<PathBuf, Fault> {
    target_of(cargo())
}

fn target_of(mut cargo: Command) -> Result<PathBuf, Fault> {
    let told = cargo
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .output()
        .map_err(Fault::system("ask cargo where it builds"))?;
    let metadata: Value = serde_json::from_slice(&told.stdout).unwrap_or_default();
    let target = metadata["target_directory"].as_str().map(PathBuf::from);
    target.ok_or_else(|| {
        Fault::Failed(format!(
            "cargo does not say where it builds: {}",
            String::from_utf8_lossy(&told.stderr)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_left_where_cargo_builds() {
        let elsewhere = std::env::temp_dir().join("sommelier-elsewhere");
        let mut told = cargo();
        told.env("CARGO_TARGET_DIR", &elsewhere);
        assert_eq!(target_of(told).ok(), Some(elsewhere));
        let mut untold = cargo();
        untold.env_remove("CARGO_TARGET_DIR").env_remove("CARGO_BUILD_TARGET_DIR");
        assert!(target_of(untold).is_ok_and(|target| target.is_absolute()));
    }
}
