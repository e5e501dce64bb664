//! Checks that exactly the expected rows exist.

use super::found::{Found, RowCounts, Seen};
use super::unless;
use crate::driver::{CheckResult, RunTotals};
use crate::tatp::config::TatpConfig;
use crate::tatp::input::Kind;
use crate::tatp::population::{Loaded, TYPES};

const KEYS: &str = "every row has a valid key and exists once";
const OWNERS: &str = "every access and every facility belongs to an existing subscriber";
const PARENTS: &str = "every forwarding belongs to an existing facility";
const STATIC: &str = "subscribers, accesses and facilities are as many as were loaded";
const FORWARDINGS: &str = "forwardings = loaded + inserted - deleted";

/// All checks of rows.
pub fn check(config: &TatpConfig, found: &Found, totals: &RunTotals) -> Vec<CheckResult> {
    let counts = found.counts;
    let RowCounts { subscribers, accesses, facilities, forwardings } = counts;
    let all = subscribers + accesses + facilities + forwardings;
    let loaded = count_loaded(config);
    vec![
        unless(KEYS, found.stray.as_ref(), format!("{all} rows")),
        unless(OWNERS, first(found, is_orphan), format!("{} rows", accesses + facilities)),
        unless(PARENTS, first(found, has_orphans), format!("{forwardings} forwardings")),
        unless(STATIC, static_differ(&loaded, &counts), format!("{subscribers} subscribers")),
        judge_forwardings(forwardings, loaded.forwardings, totals),
    ]
}

/// The first subscriber with a defect.
fn first(found: &Found, is_wrong: impl Fn(&Seen) -> bool) -> Option<String> {
    let (s_id, seen) = found.subscribers().find(|(_, seen)| is_wrong(seen))?;
    Some(format!("not those of subscriber {s_id}: {seen:?}"))
}

fn is_orphan(seen: &Seen) -> bool {
    !seen.is_there && (seen.accesses != 0 || seen.facilities != 0)
}

fn has_orphans(seen: &Seen) -> bool {
    let absent = (0..TYPES).filter(|kind| seen.facilities & 1 << kind == 0);
    absent.map(|kind| 0b111 << (3 * kind)).any(|times: u16| seen.forwardings & times != 0)
}

fn count_loaded(config: &TatpConfig) -> RowCounts {
    let mut counts = RowCounts::default();
    for s_id in 1..=config.subscribers {
        let loaded = Loaded::new(config, s_id as i32);
        counts.subscribers += 1;
        counts.accesses += u64::from(loaded.accesses.count_ones());
        counts.facilities += u64::from(loaded.facilities.count_ones());
        counts.forwardings += u64::from(loaded.forwardings.count_ones());
    }
    counts
}

fn static_differ(loaded: &RowCounts, counts: &RowCounts) -> Option<String> {
    [
        ("subscriber", loaded.subscribers, counts.subscribers),
        ("access_info", loaded.accesses, counts.accesses),
        ("special_facility", loaded.facilities, counts.facilities),
    ]
    .into_iter()
    .find(|(_, loaded, count)| loaded != count)
    .map(|(table, loaded, count)| format!("{table} has {count} rows instead of {loaded}"))
}

/// A transaction of unknown outcome may have inserted or deleted one each.
fn judge_forwardings(count: u64, loaded: u64, totals: &RunTotals) -> CheckResult {
    let insert = totals.kind(Kind::InsertCallForwarding as usize);
    let delete = totals.kind(Kind::DeleteCallForwarding as usize);
    let expected = (loaded + insert.committed).saturating_sub(delete.committed);
    let differ = count.abs_diff(expected) > totals.unknown();
    let wrong = differ.then(|| format!("{count} instead of {expected}"));
    unless(FORWARDINGS, wrong, format!("{count} forwardings"))
}
