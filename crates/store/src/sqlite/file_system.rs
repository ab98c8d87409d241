//! On what kind of file system a path is, where the system tells it.

use std::fs;
use std::path::Path;

/// Names under which Linux mounts what is reached over a network.
const NETWORK: [&str; 12] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "ceph",
    "lustre",
    "glusterfs",
    "fuse.sshfs",
    "fuse.glusterfs",
];

/// The kind of file system of a path, if it is one over a network. None also where nobody can tell.
pub(super) fn network_kind(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    kind(&mounts, &folder).filter(|kind| NETWORK.contains(&kind.as_str()))
}

/// The kind of the deepest mount that holds the folder; of two at the same place, of the later.
fn kind(mounts: &str, folder: &Path) -> Option<String> {
    mounts
        .lines()
        .filter_map(|line| {
            let (mount, file_system) = line.split_once(" - ")?;
            // Blanks in a path stand as octal numbers.
            let point = mount.split(' ').nth(4)?.replace("\\040", " ");
            let depth = Path::new(&point).components().count();
            folder.starts_with(&point).then_some((depth, file_system.split(' ').next()?.to_owned()))
        })
        .max_by_key(|(depth, _)| *depth)
        .map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:40 / /srv/team rw,relatime shared:9 - nfs4 server:/team rw
41 40 0:41 / /srv/team/my\\040disk rw - ext4 /dev/vdb rw
42 22 0:42 / /srv/teams rw - fuse.sshfs host:/ rw
";

    fn check(folder: &str, expected: &str) {
        assert_eq!(kind(MOUNTS, Path::new(folder)).as_deref(), Some(expected), "{folder}");
    }

    #[test]
    fn the_deepest_mount_counts() {
        check("/srv", "ext4");
        check("/srv/team/journals", "nfs4");
        check("/srv/team/my disk/a", "ext4");
        check("/srv/teams", "fuse.sshfs");
        check("/srv/teamwork", "ext4");
    }
}
