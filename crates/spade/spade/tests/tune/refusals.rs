//! Errors and warnings say what to do.

use crate::support::{PRICES, Subject, options};
use spade::measurement::{AccessPath, Measurements, Place};
use spade::tune::Options;
use sql::procedure::Body;

fn refused(subject: &Subject, measured: &Measurements, options: &Options) -> String {
    subject.tune(measured, options).expect_err("it cannot be tuned").to_string()
}

#[test]
fn the_hardware_must_be_measured() {
    let (subject, measured) = (Subject::shipped("smallbank"), PRICES.measured());
    let nothing = refused(&subject, &Measurements::default(), &options());
    assert!(nothing.contains("make some with `namdb spade measure`"), "{nothing}");
    let other = Options { hardware: Some("connectx9".to_owned()), ..options() };
    let other = refused(&subject, &measured, &other);
    assert!(other.starts_with("nothing was measured on connectx9, only on hand-made;"), "{other}");
    let unsaid = Options { hardware: None, ..options() };
    let one = subject.tuned(&measured, &unsaid);
    let told = "workload.toml names profile connectx3-fdr, but only hand-made was measured";
    assert!(one.warnings.iter().any(|what| what.starts_with(told)), "{:?}", one.warnings);
    let mut both = measured.clone();
    for point in measured.points() {
        let mut point = point.clone();
        point.parameters.world.hardware = "other".to_owned();
        both.put(point);
    }
    let of_load = refused(&subject, &both, &unsaid);
    assert!(of_load.starts_with("nothing was measured on connectx3-fdr, only on"), "{of_load}");
    let mut subject = subject;
    subject.folder.load.machines.profile = None;
    let unclear = refused(&subject, &both, &unsaid);
    assert!(unclear.starts_with("the measurements are of hand-made, other;"), "{unclear}");
}

#[test]
fn some_procedure_must_have_a_frequency() {
    let subject = Subject::shipped("smallbank").only("nothing");
    let told = refused(&subject, &PRICES.measured(), &options());
    assert!(told.starts_with("no procedure of smallbank has a frequency above 0"), "{told}");
}

#[test]
fn one_machine_cannot_forecast_several() {
    let mut local = Measurements::default();
    let all = PRICES.measured();
    let points = all.points().iter().filter(|point| point.parameters.place == Place::Local);
    points.for_each(|point| local.put(point.clone()));
    let subject = Subject::shipped("smallbank");
    let told = refused(&subject, &local, &options());
    assert!(told.starts_with("sim (hand-made) was measured on one machine"), "{told}");
    let alone = subject.tuned(&local, &Options { machines: None, ..options() });
    assert_eq!(alone.target.machines, 1, "as many as were measured, whatever the load says");
    for told in ["workload.toml says 8 machines", "workload.toml says 16 threads"] {
        assert!(alone.warnings.iter().any(|what| what.starts_with(told)), "{:?}", alone.warnings);
    }
    let mut unsaid = Subject::shipped("smallbank");
    (unsaid.folder.load.machines.count, unsaid.folder.load.machines.threads) = (None, None);
    let quiet = unsaid.tuned(&local, &Options { machines: None, ..options() });
    assert!(
        quiet.warnings.iter().all(|what| !what.starts_with("workload.toml")),
        "{:?}",
        quiet.warnings
    );
    let all = unsaid.tuned(&all, &Options { machines: None, ..options() });
    assert_eq!(all.target.machines, 4, "as many as were measured, since nobody says otherwise");
    let mut both = local.clone();
    for point in local.points() {
        let mut point = point.clone();
        point.parameters.world.fabric = "shm".to_owned();
        both.put(point);
    }
    let of_two = subject.tuned(&both, &Options { machines: None, ..options() });
    let told = "hand-made was measured on several fabrics (shm, sim);";
    assert!(of_two.warnings.iter().any(|what| what.starts_with(told)), "{:?}", of_two.warnings);
}

#[test]
fn forecasts_of_more_machines_than_were_measured_warn() {
    let (subject, measured) = (Subject::shipped("smallbank"), PRICES.measured());
    for (machines, is_told, is_more) in [(20, true, true), (2, true, false), (4, false, false)] {
        let tuned = subject.tuned(&measured, &Options { machines: Some(machines), ..options() });
        let told = format!("4 machines were measured; forecasts for {machines} assume");
        let told: Vec<&String> =
            tuned.warnings.iter().filter(|what| what.starts_with(&told)).collect();
        assert_eq!(told.len(), usize::from(is_told), "{machines}: {:?}", tuned.warnings);
        let names_cards = told.iter().any(|what| what.contains("queue pairs"));
        assert_eq!(names_cards, is_more, "{machines}: {told:?}");
    }
}

#[test]
fn copies_and_operations_have_to_be_measured() {
    let (subject, measured) = (Subject::shipped("tatp"), PRICES.measured());
    let copies = refused(&subject, &measured, &Options { replicas: 3, ..options() });
    assert!(copies.starts_with("nothing was measured with 3 copies"), "{copies}");
    let mut without = Measurements::default();
    let is_kept = |point: &&spade::measurement::Point| {
        point.parameters.operation != spade::measurement::Operation::Insert
    };
    measured.points().iter().filter(is_kept).for_each(|point| without.put(point.clone()));
    let lacking = refused(&subject, &without, &options());
    let told = "the measurements lack operations that insert_call_forwarding needs: insert through the primary key of rows in ";
    assert!(lacking.starts_with(told), "{lacking}");
    assert!(
        lacking.ends_with("otherwise measure again without --seconds on the same cluster"),
        "{lacking}"
    );
    let is_kept = |point: &&spade::measurement::Point| {
        let of = &point.parameters;
        of.operation != spade::measurement::Operation::Insert || of.place != Place::OneSided
    };
    let mut without = Measurements::default();
    measured.points().iter().filter(is_kept).for_each(|point| without.put(point.clone()));
    let lacking = refused(&subject, &without, &options());
    assert!(lacking.starts_with(told) && lacking.contains(" (one-sided)"), "{lacking}");
}

#[test]
fn operations_missing_in_quick_measurements_are_named() {
    let mut quick = Measurements::default();
    for point in PRICES.quick().points() {
        if point.parameters.path != AccessPath::SecondaryTree {
            quick.put(point.clone());
        }
    }
    let lacking = refused(&Subject::shipped("tpcc"), &quick, &options());
    assert!(lacking.contains(" through a secondary tree of rows in "), "{lacking}");
    assert!(
        lacking.ends_with("otherwise measure again without --quick on the same cluster"),
        "{lacking}"
    );
}

#[test]
fn some_call_must_access_a_table() {
    let mut subject = Subject::shipped("smallbank").only("balance");
    let balance = subject.workload.procedures.iter_mut().find(|of| of.routine.name == "balance");
    let routine = &mut balance.expect("it is there").routine;
    routine.body = Body::Statements { statements: Vec::new(), results: Vec::new() };
    let told = refused(&subject, &PRICES.measured(), &options());
    assert!(told.contains("accesses a table"), "{told}");
}

#[test]
fn clusters_whose_memory_is_apart_can_be_tuned_for() {
    let mut apart = Measurements::default();
    let all = PRICES.measured();
    let points = all.points().iter().filter(|point| point.parameters.place == Place::OneSided);
    points.for_each(|point| apart.put(point.clone()));
    let tuning = Subject::shipped("tatp").tuned(&apart, &options());
    assert!(tuning.warnings.iter().any(|what| what.starts_with("no local rows were measured")));
    let shipped = tuning.procedures.iter().map(|of| &of.candidates[1]);
    assert!(
        shipped.clone().all(|of| of.calls_per_s.is_none() && !of.reason.is_empty()),
        "nobody takes calls there"
    );
    assert!(tuning.forecast.transactions_per_s[1] > 0.0);
}
