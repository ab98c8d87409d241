//! The tests.
//!
//! `PROPTEST_CASES` sets how many scenarios are played, `PROPTEST_RNG_SEED` which ones: a failure prints the
//! seed and the least scenario that fails. Under cargo there is always a seed, the one of `.cargo/config.toml` where nobody
//! sets another: each build plays the same scenarios on every machine, and those that once found something
//! ([`FOUND`]). New ones are played by `cargo xtask soak`.

use proptest::test_runner::{Config, RngSeed, TestError, TestRunner};
use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use super::coverage::Coverage;
use super::driver::{orders_agree, play};
use super::scenario::Scenario;
use super::strategies::scenario;
use crate::planted::{self, Bug};

/// The scenarios of a search that nobody sets otherwise.
const CASES: u32 = 100;
/// Those that are enough to have seen everything.
const ENOUGH: u32 = 400;
/// Among how many seeds these are shared.
const SHARES: usize = 4;
/// The seed where the same scenarios are wanted in each run.
const SEED: u64 = 7;
/// What a search has found, and what was mended then: the seed, and how many scenarios come to it. What a seed stands for
/// changes with the strategies; what is to outlive that is a test of its own.
const FOUND: [(u64, u32); 1] = [
    // A handoff that is ruled on again, as receivers come and go, may be planned or refused as it was before.
    (4_809_630_602_725_041_056, 34),
];

/// What came of a search.
struct Search {
    /// Scenarios played, up to the first that failed and not counting the smaller ones after it.
    played: u32,
    coverage: Coverage,
    failure: Option<TestError<Scenario>>,
}

/// Plays as many random scenarios as `config` says, until one fails.
fn search(config: Config) -> Search {
    search_with(config, play)
}

fn search_with(config: Config, play: impl Fn(&Scenario, &Coverage)) -> Search {
    let (played, coverage) = (Cell::new(0), Coverage::default());
    // The seed is printed; a file with the state of the generator is not needed.
    let config = Config { failure_persistence: None, ..config };
    let result = TestRunner::new(config).run(&scenario(), |scenario| {
        played.set(played.get() + 1);
        play(&scenario, &coverage);
        Ok(())
    });
    Search { played: played.get(), coverage, failure: result.err() }
}

/// The same scenarios each time; what fails is not made smaller.
fn fixed(cases: u32) -> Config {
    Config { rng_seed: RngSeed::Fixed(SEED), max_shrink_iters: 0, ..Config::with_cases(cases) }
}

/// Searches on so many threads, each with its share of the cases and a seed of its own.
fn search_wide(config: &Config, seed: u64, shares: usize) -> Vec<(u64, Search)> {
    let shares = u32::try_from(shares).unwrap().min(config.cases.max(1));
    let share = |n: u32| config.cases / shares + u32::from(n < config.cases % shares);
    let seeds = (0..shares).map(|n| (n, seed.wrapping_add(n.into())));
    thread::scope(|scope| {
        let searches = seeds.map(|(n, seed)| {
            let config = Config { cases: share(n), rng_seed: RngSeed::Fixed(seed), ..config.clone() };
            (seed, scope.spawn(move || search(config)))
        });
        let searches: Vec<_> = searches.collect();
        searches.into_iter().map(|(seed, search)| (seed, search.join().unwrap())).collect()
    })
}

#[test]
fn a_relay_keeps_its_word_whatever_its_models_write() {
    let (config, shares) = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => (Config::default(), thread::available_parallelism().map_or(1, NonZero::get)),
        None => (Config::with_cases(CASES), SHARES),
    };
    let seed = match config.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => RandomState::new().build_hasher().finish(),
    };
    for (seed, search) in search_wide(&config, seed, shares) {
        println!("seed {seed}: {} scenarios reached\n{}", search.played, search.coverage);
        if let Some(failure) = search.failure {
            panic!("PROPTEST_RNG_SEED={seed} brings it back: {failure}\n{failure:#?}");
        }
    }
}

#[test]
fn what_a_search_has_found_is_not_found_again() {
    for (seed, cases) in FOUND {
        let search = search(Config { rng_seed: RngSeed::Fixed(seed), ..fixed(cases) });
        assert!(search.failure.is_none(), "{seed}: {:#?}", search.failure);
    }
}

#[test]
fn the_search_reaches_every_refusal_stop_reason_and_end() {
    let search = search(fixed(ENOUGH));
    assert!(search.failure.is_none(), "{:#?}", search.failure);
    assert_eq!(search.coverage.missing(), [""; 0], "never reached\n{}", search.coverage);
}

#[test]
fn what_fails_is_made_small_and_fails_again() {
    let bug = Some(Bug::CapOffByOne);
    let config = Config { max_shrink_iters: 400, ..fixed(CASES) };
    let Some(TestError::Fail(_, least)) = planted::with(bug, || search(config)).failure else {
        panic!("the planted bug is not found")
    };
    let size = (least.replies.len(), least.moves.len(), least.switches.iter().flatten().count());
    assert!(size.0 <= 6 && size.1 <= 1 && size.2 == 0, "{least:#?}");
    let again = || planted::with(bug, || play(&least, &Coverage::default()));
    assert!(catch_unwind(AssertUnwindSafe(again)).is_err(), "the least scenario fails as well");
    play(&least, &Coverage::default());
}

#[test]
fn an_order_of_branches_that_matters_is_seen() {
    let compare = |scenario: &Scenario, _: &Coverage| assert!(orders_agree(scenario), "the orders differ");
    let search = |bug| planted::with(bug, || search_with(fixed(CASES), compare));
    assert!(search(Some(Bug::LeftOverToNextBranch)).failure.is_some(), "the planted bug is not found");
    assert!(search(None).failure.is_none(), "found without a bug");
}

#[test]
fn each_planted_bug_is_found_and_without_one_nothing_is() {
    let needed = Bug::ALL.map(|bug| {
        let search = planted::with(Some(bug), || search(fixed(2 * ENOUGH)));
        println!("{bug:?} is found by scenario {}", search.played);
        assert!(search.failure.is_some(), "{bug:?} is planted and not found");
        search.played
    });
    let most = needed.into_iter().max().unwrap();
    let search = planted::with(None, || search(fixed(most)));
    assert!(search.failure.is_none(), "found without a bug: {:#?}", search.failure);
}
