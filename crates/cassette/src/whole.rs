//! A file that is there whole: who looks sees what it was before or what it is now, whatever happens meanwhile.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// How often a name for the file beside is made up: that one by chance is taken already is a planted file or a wonder.
const NAMES: u32 = 8;

/// How a database begins, and how its log does.
const DATABASES: [&[u8]; 3] = [b"SQLite format 3\0", &[0x37, 0x7f, 0x06, 0x82], &[0x37, 0x7f, 0x06, 0x83]];

/// What SQLite puts behind a database's name for the files beside it.
pub const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Writes bytes to a file, in the place of what was there: whenever the process is killed, the file is a whole one, the old or the
/// new. One that is made is its owner's alone; one that was there keeps its rights. A link is followed, so that what it leads to
/// is replaced and not the link; a device or a pipe takes what it is given.
///
/// A database is never replaced, a journal say, by a slip of the hand; nor is a file that belongs to one.
///
/// # Errors
/// When it cannot be written, or is a database's. What was there is there still.
pub fn write_whole(path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
    let target = target(path.as_ref())?;
    must_be_no_database(&target)?;
    match fs::metadata(&target) {
        Ok(there) if !there.is_file() => OpenOptions::new().write(true).open(&target)?.write_all(bytes),
        there => {
            let rights = there.ok().map(|there| there.permissions());
            let (beside, file) = beside(&target)?;
            let written = fill(file, rights, bytes).and_then(|()| fs::rename(&beside, &target));
            written.inspect_err(|_| drop(fs::remove_file(&beside)))
        }
    }
}

/// Whether [`write_whole`] can replace this file, or make it. What is there is not touched.
///
/// # Errors
/// Why it could not.
pub fn can_be_replaced(path: impl AsRef<Path>) -> io::Result<()> {
    let target = target(path.as_ref())?;
    must_be_no_database(&target)?;
    match fs::metadata(&target) {
        Ok(there) if there.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(there) if !there.is_file() => Ok(()),
        _ => fs::remove_file(beside(&target)?.0),
    }
}

/// Where a path leads. A link to nothing says nobody's file.
fn target(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Ok(target) => Ok(target),
        Err(error) if fs::symlink_metadata(path).is_ok() => Err(io::Error::new(
            error.kind(),
            format!("it is a link, and where it leads there is none: {error}"),
        )),
        Err(_) => Ok(path.to_owned()),
    }
}

/// Refuses a file that is a database, and one beside a database that belongs to it.
///
/// # Errors
/// Which it is.
pub fn must_be_no_database(path: impl AsRef<Path>) -> io::Result<()> {
    let path = &target(path.as_ref())?;
    let refused = |why: String| Err(io::Error::new(ErrorKind::AlreadyExists, why));
    if is_database(path) {
        return refused(
            "it is a database, as a journal is, and is not replaced; give another file".to_owned(),
        );
    }
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let of = BESIDE.iter().find_map(|end| name.strip_suffix(end));
    match of {
        Some(of) if is_database(&path.with_file_name(of)) => {
            refused(format!("it belongs to the database {of} and is not replaced; give another file"))
        }
        _ => Ok(()),
    }
}

/// Whether a file is there that begins as a database does. A pipe is not read from: that would wait.
fn is_database(path: &Path) -> bool {
    if !fs::metadata(path).is_ok_and(|there| there.is_file()) {
        return false;
    }
    let mut begin = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut begin));
    read.is_ok() && DATABASES.iter().any(|database| begin.starts_with(database))
}

/// A new file in the same folder, under a name that nobody could know before.
fn beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let Some(name) = path.file_name() else { return Err(ErrorKind::IsADirectory.into()) };
    let mut taken = ErrorKind::AlreadyExists.into();
    for attempt in 0..NAMES {
        let mut beside = OsString::from(".");
        beside.push(name);
        // The standard library seeds each of its hashers by chance.
        beside.push(format!(".{:016x}.new", RandomState::new().hash_one(attempt)));
        let beside = path.with_file_name(beside);
        match new(&beside) {
            Ok(file) => return Ok((beside, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

fn fill(mut file: File, rights: Option<Permissions>, bytes: &[u8]) -> io::Result<()> {
    if let Some(rights) = rights {
        file.set_permissions(rights)?;
    }
    file.write_all(bytes)?;
    file.sync_all()
}

/// A file that was not there. A link that somebody has put there is not followed.
fn new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
