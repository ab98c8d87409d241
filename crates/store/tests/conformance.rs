//! Every store keeps every rule of the conformance suite: SQLite's and the one in memory.

mod harness;

use harness::check;
use sommelier_store::conformance as rules;

/// S1-34.
#[test]
fn appends_follow_the_expected_number() {
    check(rules::appends_follow_the_expected_number);
}

/// S1-34, T64.
#[test]
fn everything_is_kept_byte_for_byte() {
    check(rules::everything_is_kept_byte_for_byte);
}

/// T2 (the store's half), C158 (the store's half).
#[test]
fn a_repeated_batch_is_a_duplicate() {
    check(rules::a_repeated_batch_is_a_duplicate);
}

/// T24 (the store's half), C158 (the store's half).
#[test]
fn a_batch_that_many_send_is_written_once() {
    check(rules::a_batch_that_many_send_is_written_once);
}

/// T22 (the store's half), C157 (the store's half).
#[test]
fn an_old_epoch_is_fenced() {
    check(rules::an_old_epoch_is_fenced);
}

/// T22, T26.
#[test]
fn a_lease_has_one_owner() {
    check(rules::a_lease_has_one_owner);
}

/// T22.
#[test]
fn a_race_for_a_lease_has_one_winner() {
    check(rules::a_race_for_a_lease_has_one_winner);
}

/// T14, T15, C160 (the store's half).
#[test]
fn a_fault_leaves_the_old_state_or_the_new() {
    check(rules::a_fault_leaves_the_old_state_or_the_new);
}

/// T14, T15, T22.
#[test]
fn a_fault_leaves_a_lease_taken_or_not() {
    check(rules::a_fault_leaves_a_lease_taken_or_not);
}

/// S1-34.
#[test]
fn records_are_chained() {
    check(rules::records_are_chained);
}

/// T17, T18, S1-34.
#[test]
fn damage_is_found() {
    check(rules::damage_is_found);
}

/// T17, S1-34.
#[test]
fn exported_heads_find_what_the_store_cannot() {
    check(rules::exported_heads_find_what_the_store_cannot);
}

/// T18.
#[test]
fn nothing_is_chained_to_a_record_that_is_gone() {
    check(rules::nothing_is_chained_to_a_record_that_is_gone);
}

/// T22.
#[test]
fn writers_at_the_same_time_do_not_mix() {
    check(rules::writers_at_the_same_time_do_not_mix);
}

/// T8 (the store's half).
#[test]
fn a_work_is_appended_with_its_events() {
    check(rules::a_work_is_appended_with_its_events);
}

/// T8 (the store's half), C157 (the store's half).
#[test]
fn a_work_is_not_begun_where_it_may_not_be_appended() {
    check(rules::a_work_is_not_begun_where_it_may_not_be_appended);
}

/// T8 (the store's half), T29 (the store's half).
#[test]
fn a_work_that_fails_leaves_nothing() {
    check(rules::a_work_that_fails_leaves_nothing);
}

/// T21.
#[test]
fn a_work_does_not_wait_for_itself() {
    check(rules::a_work_does_not_wait_for_itself);
}

/// T22.
#[test]
fn works_and_appends_do_not_mix() {
    check(rules::works_and_appends_do_not_mix);
}

/// T8 (the store's half), T14, T15.
#[test]
fn a_fault_around_a_work_leaves_the_old_state_or_the_new() {
    check(rules::a_fault_around_a_work_leaves_the_old_state_or_the_new);
}

/// S1-34.
#[test]
fn the_newest_records_are_told() {
    check(rules::the_newest_records_are_told);
}

/// C157 (the store's half).
#[test]
fn late_results_are_kept_apart() {
    check(rules::late_results_are_kept_apart);
}

/// T14, T15.
#[test]
fn a_fault_leaves_a_late_result_kept_or_not() {
    check(rules::a_fault_leaves_a_late_result_kept_or_not);
}

/// T22 (the store's half): an effect that two conversations want.
#[test]
fn a_name_has_one_conversation() {
    check(rules::a_name_has_one_conversation);
}

/// T8 (the store's half).
#[test]
fn a_work_claims_with_its_events() {
    check(rules::a_work_claims_with_its_events);
}

/// T22 (the store's half).
#[test]
fn a_race_for_a_name_has_one_winner() {
    check(rules::a_race_for_a_name_has_one_winner);
}

/// T14, T15.
#[test]
fn a_fault_leaves_a_name_with_its_record() {
    check(rules::a_fault_leaves_a_name_with_its_record);
}
