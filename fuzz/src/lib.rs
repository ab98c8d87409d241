//! One program of the fuzzer: the case of its name, given whatever the fuzzer thinks of.

pub use {libfuzzer_sys, sommelier_fuzz_cases};

/// The program of a case.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
            static CASE: std::sync::LazyLock<$crate::sommelier_fuzz_cases::Case> =
                std::sync::LazyLock::new(|| $crate::sommelier_fuzz_cases::Case::named($name).unwrap());
            CASE.run(bytes)
        });
    };
}
