//! The section of promises that the world breaks.

use serde::{Deserialize, Serialize};
use sim::BrokenPromises;

/// [`BrokenPromises`] in the form of files: the same names, each `true` if it is broken.
#[derive(Serialize, Deserialize)]
#[serde(remote = "BrokenPromises", deny_unknown_fields)]
pub(super) struct BrokenPlan {
    #[serde(default, skip_serializing_if = "is_kept")]
    whole_words: bool,
    #[serde(default, skip_serializing_if = "is_kept")]
    write_before_later: bool,
    #[serde(default, skip_serializing_if = "is_kept")]
    atomic_before_later: bool,
    #[serde(default, skip_serializing_if = "is_kept")]
    fence: bool,
    #[serde(default, skip_serializing_if = "is_kept")]
    untorn_rows: bool,
    #[serde(default, skip_serializing_if = "is_kept")]
    fitting_misses: bool,
    #[serde(default, skip_serializing_if = "is_kept")]
    visible_when_complete: bool,
    #[serde(default, skip_serializing_if = "is_kept")]
    atomics_exclude: bool,
    #[serde(default, skip_serializing_if = "is_kept")]
    failed_swap_writes_nothing: bool,
    #[serde(default, skip_serializing_if = "is_kept")]
    atomics_with_cpu: bool,
    #[serde(default, skip_serializing_if = "is_kept")]
    answered_once: bool,
    #[serde(default, skip_serializing_if = "is_kept")]
    buffers_until_complete: bool,
    #[serde(default, skip_serializing_if = "is_kept")]
    completes_once: bool,
    #[serde(default, skip_serializing_if = "is_kept")]
    one_moment: bool,
    #[serde(default, skip_serializing_if = "is_kept")]
    settled: bool,
}

fn is_kept(is_broken: &bool) -> bool {
    !is_broken
}

/// Whether all promises are kept.
pub(super) fn are_kept(broken: &BrokenPromises) -> bool {
    *broken == BrokenPromises::default()
}
