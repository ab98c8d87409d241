//! Another machine, as far as a tool can tell: a folder that no kill of ours reaches.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// What was asked of the other side, and what it did.
#[derive(Clone, Debug)]
pub struct Remote(PathBuf);

/// What happened under one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Traffic {
    /// How often it was asked for.
    pub tried: usize,
    /// How often it was done.
    pub applied: usize,
}

impl Remote {
    /// The remote of a folder.
    pub fn at(folder: &Path) -> Self {
        fs::create_dir_all(folder.join("done")).unwrap();
        Self(folder.to_owned())
    }

    /// Does `what` once for this key, however often it is asked.
    pub fn do_once(&self, key: &str, what: &str) -> String {
        self.try_it(key);
        self.place(key, 0, what);
        fs::read_to_string(self.file(key, 0)).unwrap()
    }

    /// Does `what` each time that it is asked: it keeps the key, and does not look whether it knows it.
    pub fn do_always(&self, key: &str, what: &str) -> String {
        self.try_it(key);
        let place = (0..).find(|place| self.place(key, *place, what));
        assert!(place.is_some());
        what.to_owned()
    }

    /// What was done under a key, if anything was.
    pub fn find(&self, key: &str) -> Option<String> {
        fs::read_to_string(self.file(key, 0)).ok()
    }

    /// All that was asked and done, by key.
    pub fn traffic(&self) -> BTreeMap<String, Traffic> {
        let mut traffic: BTreeMap<String, Traffic> = BTreeMap::new();
        for key in fs::read_to_string(self.0.join("tries")).unwrap_or_default().lines() {
            traffic.entry(key.to_owned()).or_default().tried += 1;
        }
        for file in fs::read_dir(self.0.join("done")).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            let (key, _) = name.rsplit_once('#').unwrap();
            traffic.entry(key.replace('~', "/")).or_default().applied += 1;
        }
        traffic
    }

    fn try_it(&self, key: &str) {
        append_line(&self.0.join("tries"), key);
    }

    /// Puts a whole file where none is, or says that one is there.
    fn place(&self, key: &str, place: usize, what: &str) -> bool {
        let draft = self.0.join(format!("draft-{}-{}", std::process::id(), key.replace('/', "~")));
        let mut file = File::create(&draft).unwrap();
        file.write_all(what.as_bytes()).unwrap();
        file.sync_all().unwrap();
        let linked = fs::hard_link(&draft, self.file(key, place));
        fs::remove_file(&draft).unwrap();
        match linked {
            Ok(()) => true,
            Err(why) if why.kind() == ErrorKind::AlreadyExists => false,
            Err(why) => panic!("{why}"),
        }
    }

    fn file(&self, key: &str, place: usize) -> PathBuf {
        self.0.join("done").join(format!("{}#{place}", key.replace('/', "~")))
    }
}

/// One line in one write, so that lines of several processes do not tear.
pub(crate) fn append_line(path: &Path, line: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}
