//! Memory as a constraint.

use crate::support::{PRICES, Subject, options};
use spade::tune::{Options, TuneError};

#[test]
fn designs_fit_the_memory_budget_and_lose_throughput() {
    let (subject, measured) = (Subject::shipped("tpcc"), PRICES.measured());
    let free = subject.tuned(&measured, &options());
    let mut last = free.memory.bytes_each;
    let mut rate = free.forecast.transactions_per_s[1];
    // Half of the memory is too little for the design, but enough for copies of the same tables.
    let half = Options { memory_budget: Some(free.memory.bytes_each / 2), ..options() };
    let Err(TuneError::Memory { needed, .. }) = subject.tune(&measured, &half) else {
        panic!("no design takes that little");
    };
    for percent in [60, 20] {
        let budget = needed + (free.memory.bytes_each - needed) / 100 * percent;
        let options = Options { memory_budget: Some(budget), ..options() };
        let tight = subject.tuned(&measured, &options);
        assert!(
            tight.memory.bytes_each <= budget && tight.memory.bytes_each <= last,
            "{percent} %"
        );
        let now = tight.forecast.transactions_per_s[1];
        // The tuner treats designs within half a percent as equally fast.
        assert!(now <= rate * 1.005, "{percent} %: {now} after {rate}");
        (last, rate) = (tight.memory.bytes_each, now);
    }
    let of_tables: u64 = free.tables.iter().map(|table| table.bytes_each).sum();
    assert_eq!(of_tables, free.memory.bytes_each);
}

#[test]
fn a_budget_below_the_smallest_design_is_refused() {
    let options = Options { memory_budget: Some(1 << 20), ..options() };
    let refused = Subject::shipped("tpcc").tune(&PRICES.measured(), &options);
    let Err(TuneError::Memory { needed, budget }) = refused else { panic!("{refused:?}") };
    assert!(needed > budget && budget == 1 << 20);
}

#[test]
fn the_load_may_name_the_memory() {
    let mut subject = Subject::shipped("tatp");
    subject.folder.load.machines.memory_gib = Some(0.001);
    let refused = subject.tune(&PRICES.measured(), &options());
    let told = refused.expect_err("a MiB is too little").to_string();
    assert!(
        told.contains("the smallest design needs")
            && told.contains("1.0 MiB are allowed (1073741 bytes)"),
        "{told}"
    );
}

#[test]
fn buckets_lie_at_whole_cache_lines_in_segments_of_powers_of_two() {
    let one = Options { machines: Some(1), ..options() };
    let tuning = Subject::shipped("smallbank").tuned(&PRICES.measured(), &one);
    let (of, design) = (&tuning.tables[0], &tuning.design.tables[0]);
    assert_eq!(design.storage, layout::Storage::HashInlined);
    assert!(matches!(design.placement, spade::design::Placement::Dense { .. }));
    // Segments have a 64th of the planned buckets, rounded up to a power of two; the last one is
    // complete.
    let buckets = of.rows.div_ceil(u64::from(design.neighbourhood));
    let segment = buckets.div_ceil(64).next_power_of_two();
    let made = buckets.next_multiple_of(segment);
    assert!(made > buckets, "{made}");
    // The directory of segments has nine pages.
    let bytes = of.bytes_each - 9 * 4096;
    assert_eq!((bytes % made, bytes / made % 64), (0, 0), "{of:?}");
}

#[test]
fn more_rows_than_can_be_counted_in_bytes_take_all_there_is() {
    let (subject, measured) = (Subject::shipped("smallbank"), PRICES.measured());
    let one = Options { machines: Some(1), units: Some(90_000_000_000_000), ..options() };
    assert_eq!(subject.tuned(&measured, &one).memory.bytes_each, u64::MAX);
}
