//! Order, replacement and text of measurements.

use super::*;
use layout::Storage;

pub fn parameters(operation: Operation) -> Parameters {
    Parameters {
        world: World {
            fabric: "sim".to_owned(),
            hardware: "connectx3-fdr".to_owned(),
            machines: 5,
            threads: 16,
            lanes: 32,
        },
        operation,
        path: AccessPath::SecondaryTree,
        place: Place::OneSided,
        rows: 1,
        storage: Storage::HashOutside,
        row_bytes: 64,
        neighbourhood: 8,
        load_percent: 65,
        node_bytes: 512,
        replicas: 1,
        versions: None,
    }
}

fn version(method: u32) -> Version {
    Version { program: "0.1.0".to_owned(), method, effort: Effort::Full, seed: 1 }
}

fn point(operation: Operation, method: u32) -> Point {
    let spread = Spread::of(&[1234.56789, 2.0 / 3.0, 8e12 / 7.0]);
    let demand = Demand { core_ns: 415.25, ..Demand::default() };
    Point {
        parameters: parameters(operation),
        version: version(method),
        measured: Measured {
            alone: Alone { median_ns: spread, p99_ns: spread },
            loaded: Loaded {
                operations_per_s: spread,
                per_thread_per_s: spread,
                median_ns: spread,
                p99_ns: spread,
                aborts: rounded(0.1 + 0.2),
                busiest: Some(("engine".to_owned(), 0.97)),
                moved: None,
            },
            service: Service {
                verbs: 3.0,
                bytes: 512.0,
                round_trips: 2.0,
                calls: 0.0,
                card_requests: None,
                requester: demand,
                owner: Some(demand),
                others: None,
            },
        },
    }
}

#[test]
fn measurements_are_read_and_written_with_the_same_bytes() {
    let mut written = Measurements::default();
    written.put(point(Operation::Scan, 1));
    written.put(point(Operation::Lookup, 1));
    let text = written.json();
    let read = Measurements::parse(&text).expect("it was written by this program");
    assert_eq!(read, written);
    assert_eq!(read.json(), text);
    let backwards: Vec<&str> = text.lines().skip(1).take(2).collect();
    let backwards = format!(
        "{{\"format\":1,\"points\":[{},{}]}}",
        backwards[1],
        backwards[0].trim_end_matches(',')
    );
    assert_eq!(Measurements::parse(&backwards).expect("any order will do"), written);
    for name in ["\"secondary-tree\"", "\"one-sided\"", "\"hash-outside\"", "\"full\""] {
        assert!(text.contains(name), "{name} in {text}");
    }
}

#[test]
fn a_table_has_the_same_points() {
    let mut written = Measurements::default();
    let scan = point(Operation::Scan, 1);
    written.put(scan);
    let mut lookup = point(Operation::Lookup, 1);
    lookup.measured.service.owner = None;
    lookup.measured.loaded.busiest = None;
    written.put(lookup);
    let table = written.table_json();
    assert_eq!(Measurements::parse(&table).expect("it was written by this program"), written);
    assert!(table.contains("\"parameters.world.hardware\":\"connectx3-fdr\""), "{table}");
    assert!(table.len() < written.json().len());
    let nothing = Measurements::default();
    assert_eq!(Measurements::parse(&nothing.table_json()).expect("it is a table"), nothing);
    let newer = table.replacen("\"format\":1", "\"format\":2", 1);
    let told = Measurements::parse(&newer).expect_err("it is newer").to_string();
    assert!(told.contains("have format 2"), "{told}");
    let short = table.replacen("[\"", "[7,\"", 1);
    assert!(Measurements::parse(&short).is_err(), "a row or column too many fits no point");
}

#[test]
fn points_are_ordered_by_parameters_and_replaced() {
    let mut all = Measurements::default();
    Operation::ALL.iter().rev().for_each(|&operation| all.put(point(operation, 1)));
    let order: Vec<Operation> =
        all.points().iter().map(|point| point.parameters.operation).collect();
    assert_eq!(order, Operation::ALL);
    let lookup = parameters(Operation::Lookup);
    assert!(all.has(&lookup, &version(1)) && !all.has(&lookup, &version(2)));
    all.put(point(Operation::Lookup, 2));
    assert!(all.has(&lookup, &version(2)));
    assert_eq!(all.points().len(), Operation::ALL.len());
}

#[test]
fn texts_of_other_formats_are_refused_with_a_sentence() {
    let refused = |text: &str| Measurements::parse(text).expect_err("it is wrong").to_string();
    let newer = refused(r#"{"format": 2, "points": [], "colours": []}"#);
    assert!(newer.contains("have format 2, this program reads 1"), "{newer}");
    assert!(refused("[").starts_with("these are not measurements"));
    let malformed = Measurements::parse("[").expect_err("it is wrong");
    assert!(std::error::Error::source(&malformed).is_none(), "the sentence has the cause already");
    assert!(refused(r#"{"format": 1}"#).contains("missing field `points`"));
    assert!(refused(r#"{"format": 1, "points": [], "x": 1}"#).contains("unknown field `x`"));
}

#[test]
fn impossible_figures_are_reported() {
    let with = |change: &dyn Fn(&mut Point)| {
        let mut point = point(Operation::Lookup, 1);
        change(&mut point);
        let mut all = Measurements::default();
        all.put(point);
        all.sound().map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(with(&|_| ()), Ok(()));
    let told = |change: &dyn Fn(&mut Point), what: &str| {
        let told = with(change).expect_err(what);
        let named = "the point lookup, secondary-tree, one-sided, rows of 64 bytes, on";
        assert!(told.starts_with(named) && told.contains(what), "{told}");
    };
    told(&|point| point.parameters.world.machines = 0, "has 0 machines");
    told(&|point| point.parameters.rows = 0, "has 0 rows");
    told(&|point| point.measured.loaded.operations_per_s.median = -3.0, "a throughput of 0");
    told(&|point| point.measured.alone.median_ns.median = 0.0, "a median latency alone of 0 ns");
    told(&|point| point.measured.loaded.p99_ns.min = 1e15, "not between its minimum and maximum");
    told(&|point| point.measured.service.requester.core_ns = -1.0, "a negative service figure");
    told(&|point| point.measured.service.card_requests = Some(-1.0), "a negative service figure");
    told(&|point| point.measured.service.verbs = 1e300, "a figure above 1e15");
    told(&|point| point.measured.loaded.p99_ns.max = 1e300, "a figure above 1e15");
}

#[test]
fn spreads_have_the_middle_and_both_ends() {
    assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
    assert_eq!(Spread::of(&[4.0, 1.0]).median, 2.5);
    assert_eq!(rounded(1_234_567.0), 1_234_570.0);
    assert_eq!((rounded(0.0), rounded(-0.000_123_456_7)), (0.0, -0.000_123_457));
}
