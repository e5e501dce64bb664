//! The designs that are shipped are those that the shipped measurements give.

use crate::support::{Subject, folder, shipped_measurements};
use spade::measurement::{Effort, Measurements};
use spade::tune::{Options, Tuning};

const HARDWARE: &str = "connectx3-fdr";

fn tuned(name: &str, measured: &Measurements) -> Tuning {
    Subject::shipped(name).tuned(measured, &Options::default())
}

#[test]
fn shipped_designs_are_up_to_date() {
    let measured = shipped_measurements();
    assert!(measured.points().iter().all(|point| point.version.effort == Effort::Full));
    for name in ["smallbank", "tatp", "tpcc", "ycsb"] {
        let design = tuned(name, &measured).design.json();
        let file = folder(name).join("designs").join(format!("{HARDWARE}.json"));
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(
            kept, design,
            "write it with `namdb spade tune workloads/{name} --measurements crates/spade/measurements/{HARDWARE}.json \
             --out workloads/{name}/designs/{HARDWARE}.json`"
        );
    }
}

#[test]
fn tuned_designs_are_forecast_to_be_faster_than_untuned_ones() {
    let measured = shipped_measurements();
    for (name, least) in [("tatp", 2.17), ("smallbank", 1.2), ("tpcc", 1.2), ("ycsb", 1.5)] {
        let tuning = tuned(name, &measured);
        let gain = tuning.forecast.transactions_per_s[1] / tuning.baseline.transactions_per_s[1];
        println!("{name}: {gain:.2} times as many transactions as untuned");
        assert!(gain >= least, "{name}: {gain}");
        let [low, middle, high] = tuning.forecast.transactions_per_s;
        assert!(low <= middle && middle <= high, "{name}");
    }
}

#[test]
fn no_design_is_forecast_to_be_slower_than_the_untuned_one_on_any_number_of_machines() {
    let measured = shipped_measurements();
    for name in ["tatp", "smallbank", "tpcc", "ycsb"] {
        let mut last = 0.0;
        for machines in [2, 5, 20, 50] {
            let options =
                Options { machines: Some(machines), units: Some(100), ..Options::default() };
            let tuning = Subject::shipped(name).tuned(&measured, &options);
            let [_, rate, _] = tuning.forecast.transactions_per_s;
            assert!(
                rate >= 0.999 * tuning.baseline.transactions_per_s[1],
                "{name}, {machines} machines"
            );
            assert!(rate >= 0.999 * last, "{name}: {machines} machines do not less than fewer");
            last = rate;
        }
    }
}

#[test]
fn operations_that_were_measured_are_forecast_as_measured() {
    // A procedure that is one lookup in an inlined table is the measured operation.
    let measured = shipped_measurements();
    let subject = Subject::shipped("tatp").only("get_access_data");
    let tuning = subject.tuned(&measured, &Options { remote_calls: 1.0, ..Options::default() });
    let one_sided = &tuning.procedures[2].candidates[0];
    let rate = one_sided.calls_per_s.expect("it was measured") / f64::from(tuning.machines);
    // 33 million lookups of 16 bytes on five machines, in buckets of two slots; fewer chains make more of them.
    assert!((5.5e6..11e6).contains(&rate), "{rate}");
}
