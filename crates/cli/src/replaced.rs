//! A file that is there whole: who looks sees what it was before or what it is now, whatever happens meanwhile.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::fault::Fault;

/// Writes a text to a file, in the place of what was there. A file that is made is its owner's alone, as the journal is that
/// it tells of; one that was there keeps its rights.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Fault> {
    let told = |error: io::Error| Fault::caller("unwritten", format!("{}: {error}", path.display()));
    // A link is followed, so that what it leads to is replaced and not the link; a device takes what it is given.
    let whole = fs::canonicalize(path);
    let target = whole.as_deref().unwrap_or(path);
    match fs::metadata(target) {
        Ok(file) if !file.is_file() => fs::write(target, text).map_err(told),
        _ => replace(target, text).map_err(told),
    }
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let Some(name) = path.file_name() else { return Err(io::ErrorKind::IsADirectory.into()) };
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}", std::process::id()));
    let beside = path.with_file_name(beside);
    let written = fill(&beside, path, text).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // What is left of it is of use to nobody.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn fill(beside: &Path, path: &Path, text: &str) -> io::Result<()> {
    let mut file = new(beside)?;
    if let Ok(before) = fs::metadata(path) {
        file.set_permissions(before.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
