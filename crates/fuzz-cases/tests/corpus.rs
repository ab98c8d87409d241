//! What the fuzzer has kept, run again on any toolchain; and that nothing of it is missing.
#![expect(clippy::unwrap_used, reason = "a test that cannot run has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sommelier_fuzz_cases::Case;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned()).collect()
}

/// S1-18. For each file that the fuzzer has kept, what must hold of its decoder does.
#[test]
fn what_the_fuzzer_has_kept_still_holds() {
    for case in Case::ALL {
        let folder = fuzz().join("corpus").join(case.name());
        let mut files = 0;
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            let held = std::panic::catch_unwind(|| case.run(&bytes));
            assert!(held.is_ok(), "{} is what did not hold", path.display());
            files += 1;
        }
        assert!(files >= 10, "{} has {files} files", case.name());
    }
}

/// Each case has a program for the fuzzer and a corpus, and there is none of either for anything else.
#[test]
fn each_case_has_its_program_and_its_corpus() {
    let cases: BTreeSet<String> = Case::ALL.iter().map(|case| case.name().to_owned()).collect();
    assert_eq!(names(&fuzz().join("fuzz_targets")), cases);
    assert_eq!(names(&fuzz().join("corpus")), cases);
    for case in Case::ALL {
        let program = fs::read_to_string(fuzz().join("fuzz_targets").join(case.name()).with_extension("rs"));
        assert!(program.unwrap().contains(&format!("\"{}\"", case.name())), "{}", case.name());
        assert!(Case::named(case.name()).is_some());
    }
}
