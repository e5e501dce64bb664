//! Old versions beside rows: as many as hot rows need, and row-owned memory if there is enough.

use crate::support::*;
use spade::design::TableDesign;
use spade::tune::{Options, TuneError, Tuning, Verdict};

/// The time for which old versions are needed.
const NEEDED_NS: f64 = 400_000.0;

fn table<'t>(tuning: &'t Tuning, name: &str) -> &'t TableDesign {
    tuning.design.tables.iter().find(|of| of.table == name).expect("it is a table")
}

/// Every order updates a district of TPC-C; customers are updated rarely.
#[test]
fn rows_that_are_changed_again_soon_have_more_of_them() {
    let subject = Subject::shipped("tpcc");
    let tuning = subject.tuned(&PRICES.aged(NEEDED_NS), &options());
    let beside = |name: &str| table(&tuning, name).versions_beside;
    assert!(beside("district") > 1, "{}", beside("district"));
    assert!(beside("warehouse") > 1, "{}", beside("warehouse"));
    assert_eq!((beside("customer"), beside("item")), (1, 1));
    let [hot, never] = ["district", "item"]
        .map(|name| tuning.tables.iter().find(|of| of.table == name).expect("it is a table"));
    assert!(never.versions.is_empty(), "nothing changes it");
    assert_eq!(hot.versions.len(), 6);
    assert_eq!(hot.versions[0].verdict, Verdict::Chosen);
    assert_eq!(hot.versions[1].verdict, Verdict::RunnerUp);
    assert!(hot.versions[1..].iter().all(|of| !of.reason.is_empty()));
    let text = tuning.text(true);
    assert!(text.contains("old versions") && text.contains("1 beside, kept"), "{text}");
    let own = subject.forecast(&PRICES.aged(NEEDED_NS), &options(), &tuning.design);
    assert_eq!(own.expect("it is the tuner's own").forecast, tuning.forecast);
}

/// If memory is short, the tuner gives up old versions first, and reports their cost.
#[test]
fn memory_of_old_versions_is_returned_if_memory_is_short() {
    let subject = Subject::shipped("tatp");
    let measurements = PRICES.aged(NEEDED_NS);
    let free = subject.tuned(&measurements, &options());
    assert!(table(&free, "subscriber").keeps_versions, "giving back costs calls");
    let least = Options { memory_budget: Some(1 << 20), ..options() };
    let Err(TuneError::Memory { needed, .. }) = subject.tune(&measurements, &least) else {
        panic!("no design takes that little");
    };
    let budget = needed + (free.memory.bytes_each - needed) / 20;
    let options = Options { memory_budget: Some(budget), ..options() };
    let tight = subject.tuned(&measurements, &options);
    let given_back = tight.design.tables.iter().zip(&free.design.tables);
    let count = given_back.filter(|(of, was)| !of.keeps_versions && was.keeps_versions).count();
    assert!(count > 0, "{}", tight.text(false));
    assert!(tight.memory.bytes_each <= budget);
    assert!(tight.forecast.transactions_per_s[1] <= free.forecast.transactions_per_s[1]);
}

#[test]
fn measurements_without_old_versions_cause_a_warning() {
    let subject = Subject::shipped("smallbank");
    let tuning = subject.tuned(&PRICES.measured(), &options());
    assert!(tuning.tables.iter().all(|of| of.versions.is_empty()));
    let told = |of: &Tuning| of.warnings.iter().any(|what| what.contains("old versions"));
    assert!(told(&tuning));
    assert!(!told(&subject.tuned(&PRICES.aged(NEEDED_NS), &options())));
}
