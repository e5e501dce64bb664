//! The guards of the engine that a scenario may remove (its mutants), by the engine's names.

use crate::near;

const NAMES: [&str; 94] = [
    "collect::adopt_candidate",
    "collect::buffers_before_horizon",
    "collect::clock_unraised",
    "collect::detach_changed",
    "collect::garbage_before_horizon",
    "collect::ignore_lanes",
    "collect::row_unmarked",
    "collect::skip_bucket_stamp",
    "collect::skip_collected_word",
    "collect::skip_leaf_stamp",
    "collect::tell_unraised",
    "collect::trust_entry_key",
    "collect::trust_first_leaf",
    "collect::trust_newest_version",
    "collect::trust_tombstone",
    "collect::unlocked_bucket",
    "collect::unlocked_leaf",
    "commit::answer_before_publish",
    "commit::chain_before_lock",
    "commit::chain_with_row",
    "commit::free_slot_early",
    "commit::mix_leaf_readings",
    "commit::number_reused",
    "commit::overwrite_needed_slot",
    "commit::payload_before_old_version",
    "commit::publish_before_install",
    "commit::publish_past_gap",
    "commit::publish_with_install",
    "commit::release_unheld",
    "commit::skip_entry",
    "commit::skip_insert_word",
    "commit::skip_leaf_lock",
    "commit::skip_leaf_version",
    "commit::skip_readers",
    "commit::skip_row_locks",
    "commit::skip_snapshot_check",
    "commit::skip_unique_check",
    "commit::skip_unique_lock",
    "commit::skip_validation",
    "commit::take_key_from_unpublished",
    "commit::trust_half_installed",
    "commit::trust_leaf_insert_word",
    "commit::trust_old_chain",
    "commit::trust_own_bucket_lock",
    "commit::unlock_before_install",
    "commit::unlock_bucket_first",
    "commit::unlock_leaf_first",
    "commit::validate_before_locks",
    "hash::copy_unlocked",
    "hash::forget_collected",
    "hash::move_half_installed",
    "hash::moved_row_unlocked",
    "hash::redirect_first",
    "hash::split_unlocked",
    "hash::steal_row_locks",
    "hash::trust_first_copy",
    "lane::pass_last_number",
    "lane::reused_after_unknown",
    "mover::drop_needed",
    "mover::skip_link",
    "oracle::freeze_unlocked",
    "oracle::merge_own_slot",
    "oracle::other_base",
    "oracle::overlook_own_commit",
    "oracle::single_collect",
    "oracle::skip_new_slots",
    "oracle::stale_snapshot",
    "oracle::torn_copy",
    "oracle::torn_frozen",
    "read::absence_unwitnessed",
    "read::gap_unwitnessed",
    "read::old_of_any_row",
    "read::old_unwitnessed",
    "read::row_unwitnessed",
    "read::skip_collected",
    "read::skip_overflow",
    "read::successor_unchecked",
    "read::trust_chain",
    "read::trust_directory",
    "read::trust_first_reading",
    "read::trust_kept_absence",
    "read::trust_kept_leaf",
    "scan::bucket_unwitnessed",
    "scan::range_unwitnessed",
    "scan::trust_entry",
    "tree::any_life",
    "tree::keep_rewrite_counter",
    "tree::late_burial",
    "tree::left_first",
    "tree::whole_leaves",
    "value::skip_version",
    "write::mix_bucket_readings",
    "write::steal_bucket_lock",
    "write::steal_leaf_lock",
];

/// The error message for a name that is not a guard; `None` if it is one.
pub fn problem(name: &str) -> Option<String> {
    if NAMES.binary_search(&name).is_ok() {
        return None;
    }
    let known = near::names(name, &NAMES);
    Some(format!("there is no guard {name:?} to remove; write one of {known}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Collects the guard names in the source files of a folder.
    fn asked_in(folder: &Path, names: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() {
                asked_in(&path, names);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path).expect("it is text");
                let asked = text.split(".mutant(").skip(1);
                let quoted = asked.filter_map(|rest| rest.trim_start().strip_prefix('"'));
                names.extend(quoted.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
            }
        }
    }

    #[test]
    fn the_list_has_what_the_engine_asks_for() {
        let mut asked = BTreeSet::new();
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for engine in ["fabric", "memory", "index", "txn"] {
            asked_in(&crates.join(engine).join("src"), &mut asked);
        }
        assert_eq!(asked.iter().map(String::as_str).collect::<Vec<_>>(), NAMES);
    }

    #[test]
    fn an_unknown_guard_is_refused_with_suggestions() {
        assert_eq!(problem("commit::skip_entry"), None);
        let said = problem("mover::skip").expect("it is none");
        assert!(said.ends_with("write one of mover::drop_needed, mover::skip_link"), "{said}");
        let said = problem("nope").expect("it is none");
        assert!(said.contains("\"nope\"") && said.contains("tree::whole_leaves"), "{said}");
    }
}
