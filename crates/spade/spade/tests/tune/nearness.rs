//! Calls at home, on one machine, and on clusters where all rows are equally remote; copies.

use crate::support::{PRICES, Prices, Subject, options};
use layout::Storage;
use spade::design::Access;
use spade::measurement::{AccessPath, Measurements, Operation, Place, Point, Spread};
use spade::tune::{Goal, Options, Tuning};

/// Fixed cost of a local transaction in nanoseconds.
const FIXED_NS: f64 = 1000.0;

/// Points of one place.
fn only(place: Place, change: impl Fn(&mut Point)) -> Measurements {
    let mut some = Measurements::default();
    for point in PRICES.measured().points().iter().filter(|of| of.parameters.place == place) {
        let mut point = point.clone();
        change(&mut point);
        some.put(point);
    }
    some
}

fn dearer(point: &mut Point) {
    let median_ns = point.measured.alone.median_ns.median + FIXED_NS;
    point.measured.alone.median_ns = Spread::of(&[median_ns]);
}

fn here() -> Options {
    Options { machines: Some(1), ..options() }
}

fn at_home(tuning: &Tuning, name: &str) -> f64 {
    let found = tuning.procedures.iter().find(|of| of.procedure == name);
    1e3 * found.expect("it is there").home_latency_us
}

#[test]
fn a_call_at_home_costs_the_fixed_cost_of_a_transaction() {
    let subject = Subject::shipped("smallbank");
    let tuning = subject.tuned(&only(Place::Local, dearer), &here());
    let (of, rows) = (at_home(&tuning, "balance"), 3.0 * PRICES.row);
    assert!((0.97..1.03).contains(&(of / (FIXED_NS + rows))), "{of}");
    // The same if remote rows were measured, too.
    let mut all = PRICES.measured();
    only(Place::Local, dearer).points().iter().for_each(|point| all.put(point.clone()));
    let of = at_home(&subject.tuned(&all, &options()), "balance");
    assert!((0.97..1.03).contains(&(of / (FIXED_NS + rows))), "{of}");
    // A row in a range pays it once as well.
    let tuning = Subject::shipped("ycsb").tuned(&only(Place::Local, dearer), &here());
    let of = at_home(&tuning, "read_record");
    assert!((FIXED_NS..2.0 * FIXED_NS).contains(&of), "{of}");
}

#[test]
fn with_separate_memory_servers_local_rows_take_a_round_trip() {
    let subject = Subject::shipped("tatp");
    let tuning = subject.tuned(&only(Place::OneSided, |_| {}), &options());
    for name in ["get_access_data", "get_subscriber_data"] {
        let of = at_home(&tuning, name);
        assert!((PRICES.trip..3.0 * PRICES.trip).contains(&of), "{name}: {of}");
    }
    let twice = at_home(&tuning, "update_location");
    assert!(twice >= 3.0 * PRICES.trip, "an index, then the row, then a commit: {twice}");
}

#[test]
fn cores_do_one_write_after_the_other() {
    let tuning = Subject::shipped("smallbank").tuned(&only(Place::Local, |_| {}), &here());
    // A write takes the core time of three rows; writes of one commit wait together.
    let [one, three] = ["deposit_checking", "amalgamate"].map(|name| {
        let of = tuning.procedures.iter().find(|of| of.procedure == name).expect("it is there");
        let reads = of.operations.iter().filter(|of| of.what.starts_with("lookup"));
        let reads: f64 = reads.map(|of| of.per_call).sum();
        at_home(&tuning, name) - reads * PRICES.row
    });
    let more = (three - one) / (2.0 * 3.0 * PRICES.row);
    assert!((0.95..1.05).contains(&more), "{one} and {three}");
}

#[test]
fn the_papers_averages_decide_where_there_is_one_place() {
    let averages = Options { goal: Goal::WeightedAverages, ..options() };
    let [local, remote] = [Place::Local, Place::OneSided].map(|place| {
        let machines = Some(if place == Place::Local { 1 } else { 4 });
        let options = Options { machines, ..averages.clone() };
        Subject::shipped("smallbank").tuned(&only(place, |_| {}), &options)
    });
    for tuning in [&local, &remote] {
        for table in &tuning.tables {
            let best = table.candidates[0].forecast.as_ref().and_then(|of| of.average);
            assert!(best.is_some_and(|(rate, _)| rate > 0.0), "{}", table.table);
        }
    }
    assert_eq!(remote.design.tables[1].neighbourhood, 1, "bytes are dear");
}

#[test]
fn on_one_machine_no_average_counts_other_machines() {
    let averages = Options { goal: Goal::WeightedAverages, ..here() };
    let tuned = |verb: f64| {
        let prices = Prices { verb, trip: verb, ..PRICES };
        Subject::shipped("tatp").tuned(&prices.measured(), &averages)
    };
    let (cheap, dear) = (tuned(10.0), tuned(5000.0));
    assert!(dear.design.procedures.iter().all(|of| of.access == Access::OneSided));
    assert_eq!(cheap.design.tables, dear.design.tables);
    let average = |tuning: &Tuning| {
        let best = tuning.tables[1].candidates[0].forecast.as_ref();
        best.and_then(|of| of.average).expect("it was measured")
    };
    assert_eq!(average(&cheap), average(&dear), "rows of access_info are read alone");
}

/// Measurements with two copies of inlined rows of 64 bytes, whose writes wait longer.
fn copied(operations: &[Operation]) -> Measurements {
    let mut all = PRICES.measured();
    for point in PRICES.measured().points() {
        let of = &point.parameters;
        let is_usual = (of.storage, of.path, of.row_bytes, of.neighbourhood)
            == (Storage::HashInlined, AccessPath::Primary, 64, 8);
        if is_usual && operations.contains(&of.operation) {
            let mut point = point.clone();
            point.parameters.replicas = 2;
            dearer(&mut point);
            all.put(point);
        }
    }
    all
}

#[test]
fn copies_cost_what_they_do_at_the_size_that_was_measured() {
    let writes = [Operation::Update, Operation::Insert, Operation::Delete];
    for (name, procedure) in [("ycsb", "update_record"), ("tatp", "update_location")] {
        let subject = Subject::shipped(name).only(procedure);
        let latency = |replicas: u32| {
            let tuning = subject.tuned(&copied(&writes), &Options { replicas, ..options() });
            [tuning.forecast, tuning.baseline].map(|of| 1e3 * of.latency_us[1])
        };
        let (one, two) = (latency(1), latency(2));
        for (one, two) in one.into_iter().zip(two) {
            assert!((0.99..1.01).contains(&((two - one) / FIXED_NS)), "{name}: {one} and {two}");
        }
    }
}

#[test]
fn writes_not_measured_with_copies_cause_a_warning() {
    let options = Options { replicas: 2, ..options() };
    let tuning = Subject::shipped("tatp").tuned(&copied(&[Operation::Update]), &options);
    let told = |what: &String| what.starts_with("inserts, deletes were not measured with 2 copies");
    assert!(tuning.warnings.iter().any(told), "{:?}", tuning.warnings);
}
