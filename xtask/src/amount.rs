//! How much of something that goes on for as long as one likes, and from which seed.

use std::ffi::OsString;
use std::str::FromStr;

use crate::fault::Fault;

/// How many, and from which seed, each when it is given.
pub(crate) fn read(args: &[OsString], usage: &str) -> Result<(Option<u32>, Option<u64>), Fault> {
    fn number<T: FromStr>(arg: &OsString, usage: &str) -> Result<T, Fault> {
        let text = arg.to_string_lossy();
        text.parse().map_err(|_| Fault::Misuse(format!("`{text}` is no number; usage: {usage}")))
    }
    match args {
        [] => Ok((None, None)),
        [many] => Ok((Some(number(many, usage)?), None)),
        [many, seed] => Ok((Some(number(many, usage)?), Some(number(seed, usage)?))),
        _ => Err(Fault::Misuse(format!("{} arguments; usage: {usage}", args.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_how_many_and_from_which_seed() {
        let told = |args: &[&str]| {
            let args: Vec<OsString> = args.iter().map(Into::into).collect();
            read(&args, "soak [RUNS] [SEED]").map_err(|fault| fault.to_string())
        };
        assert_eq!(told(&[]), Ok((None, None)));
        assert_eq!(told(&["300"]), Ok((Some(300), None)));
        assert_eq!(told(&["300", "7"]), Ok((Some(300), Some(7))));
        for wrong in [&["many"][..], &["300", "x"], &["1", "2", "3"]] {
            assert!(told(wrong).is_err_and(|why| why.contains("soak [RUNS] [SEED]")), "{wrong:?}");
        }
    }
}
