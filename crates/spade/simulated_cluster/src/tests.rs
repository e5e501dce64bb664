//! Relations between the costs of places and designs, and reproducibility from equal seeds.

use super::*;
use layout::Storage;
use microbench::experiment::Choice;
use spade_format::measurement::{AccessPath, Measured, Measurements, Operation, Place, Versions};

const PLAN: Plan = Plan { effort: Effort::Quick, seed: 1 };

/// A lookup of one inlined row of another machine, in a small cluster.
fn lookup() -> Parameters {
    let world = world("connectx3-fdr", 3, 4).expect("it is built in");
    let choice =
        Choice { world, effort: Effort::Quick, places: Place::ALL.to_vec(), replicates: true };
    let is_it = |point: &Parameters| {
        (point.operation, point.path, point.place, point.rows, point.storage)
            == (Operation::Lookup, AccessPath::Primary, Place::OneSided, 1, Storage::HashInlined)
    };
    let found = choice.groups().into_iter().flatten().find(is_it).expect("it is measured");
    // Without chains, so that the numbers of verbs are integers.
    Parameters { load_percent: 20, ..found }
}

fn points(points: &[Parameters]) -> Vec<Point> {
    let mut all = Vec::new();
    let mut take = |point| {
        all.push(point);
        true
    };
    measure(PLAN, points, &mut take).expect("the points can be");
    all
}

/// Measures points of one table.
fn measured<const N: usize>(of: [Parameters; N]) -> [Measured; N] {
    let all: Vec<Measured> = points(&of).into_iter().map(|point| point.measured).collect();
    all.try_into().expect("every point is measured")
}

#[test]
fn a_lookup_is_one_round_trip_and_answers_sooner_than_a_call() {
    let one_sided = lookup();
    let shipped = Parameters { place: Place::Shipped, ..lookup() };
    let local = Parameters { place: Place::Local, ..lookup() };
    let [one_sided, shipped, local] = measured([one_sided, shipped, local]);
    assert_eq!((one_sided.service.round_trips, one_sided.service.verbs), (1.0, 1.0));
    assert_eq!((one_sided.service.calls, shipped.service.calls), (0.0, 1.0));
    let latency = |of: &Measured| of.alone.median_ns.median;
    assert!(latency(&local) < latency(&one_sided) && latency(&one_sided) < latency(&shipped));
    // The owner's cores do nothing for a one-sided operation, and execute a shipped one.
    let owner_ns = |of: &Measured| of.service.owner.expect("it is another machine").core_ns;
    assert!(owner_ns(&one_sided) < 100.0 && owner_ns(&shipped) > 500.0);
    // The latency is at least the time on the core.
    assert!(latency(&local) >= local.service.requester.core_ns - 20.0, "{local:?}");
    assert!(local.service.owner.is_none());
    assert_eq!(local.service.card_requests, Some(0.0));
}

#[test]
fn many_rows_take_fewer_requests_if_the_operation_is_shipped() {
    let one_sided = Parameters { rows: 16, ..lookup() };
    let shipped = Parameters { place: Place::Shipped, ..one_sided.clone() };
    let [one_sided, shipped] = measured([one_sided, shipped]);
    assert_eq!(one_sided.service.card_requests, Some(16.0));
    assert_eq!(shipped.service.card_requests, Some(2.0));
}

#[test]
fn a_row_in_its_bucket_takes_fewer_verbs_than_one_behind_a_pointer() {
    let outside = Parameters { storage: Storage::HashOutside, ..lookup() };
    let ([inlined], [outside]) = (measured([lookup()]), measured([outside]));
    assert_eq!((inlined.service.verbs, outside.service.verbs), (1.0, 2.0));
    // A bucket of eight rows has more bytes than a bucket of pointers and a row.
    assert!(inlined.service.bytes > outside.service.bytes);
    let small = Parameters { neighbourhood: 1, load_percent: 5, ..lookup() };
    let small_outside = Parameters { storage: Storage::HashOutside, ..small.clone() };
    let ([small], [small_outside]) = (measured([small]), measured([small_outside]));
    assert!(small.service.bytes < small_outside.service.bytes);
    assert!(small.service.bytes < inlined.service.bytes, "a smaller neighbourhood");
}

#[test]
fn copies_are_written_and_not_read() {
    let update = Parameters { operation: Operation::Update, ..lookup() };
    let three = |one: &Parameters| Parameters { replicas: 3, ..one.clone() };
    let [lookup_1, update_1] = measured([lookup(), update.clone()]);
    let [lookup_3, update_3] = measured([three(&lookup()), three(&update)]);
    assert_eq!(lookup_1.service.card_requests, lookup_3.service.card_requests);
    let requests = |of: &Measured| of.service.card_requests.expect("cards carry verbs");
    assert!(requests(&update_3) >= requests(&update_1) + 2.0, "{update_1:?} {update_3:?}");
    // All writes of a batch complete together: copies take no extra round trip.
    assert!(update_3.service.round_trips < update_1.service.round_trips + 0.5);
}

#[test]
fn equal_seeds_give_equal_bytes_wherever_a_run_was_ended() {
    let all: Vec<Parameters> = Operation::ALL
        .into_iter()
        .filter(|&operation| operation != Operation::Scan)
        .map(|operation| Parameters { operation, ..lookup() })
        .collect();
    let json = |points: Vec<Point>| {
        let mut measurements = Measurements::default();
        points.into_iter().for_each(|point| measurements.put(point));
        measurements.json()
    };
    let whole = points(&all);
    let mut begun = Vec::new();
    let end_early = &mut |point| {
        begun.push(point);
        begun.len() < 2
    };
    measure(PLAN, &all, end_early).expect("the points can be");
    assert_eq!(begun, whole[..2]);
    assert_eq!(json(points(&all)), json(whole));
}

#[test]
fn scans_read_as_many_rows_as_they_should() {
    let scan = |rows, place| Parameters {
        operation: Operation::Scan,
        storage: Storage::Tree,
        rows,
        place,
        neighbourhood: 0,
        load_percent: 0,
        node_bytes: 512,
        ..lookup()
    };
    let [few, many, shipped] =
        measured([scan(4, Place::OneSided), scan(64, Place::OneSided), scan(64, Place::Shipped)]);
    assert!(few.service.verbs < many.service.verbs);
    assert!(few.service.round_trips <= 4.0, "{few:?}");
    // 64 rows of 64 bytes.
    assert!(shipped.service.bytes > 4096.0 && shipped.service.bytes < 4300.0, "{shipped:?}");
}

#[test]
fn impossible_points_are_refused_with_a_reason() {
    let refused = |parameters: Parameters| {
        let measured = measure(PLAN, &[parameters], &mut |_| true);
        measured.expect_err("it cannot be").to_string()
    };
    let world = |machines, lanes| World { machines, lanes, ..lookup().world };
    let one = refused(Parameters { world: world(1, 4), ..lookup() });
    assert!(one.contains("at least 2 machines") && one.ends_with("machines: 1, lanes: 4"), "{one}");
    let copies = refused(Parameters { replicas: 4, ..lookup() });
    assert!(copies.starts_with("4 replicas need as many machines, and there are 3"), "{copies}");
    let row = refused(Parameters { row_bytes: 12, ..lookup() });
    assert!(row.starts_with("a row of 12 bytes cannot be measured"), "{row}");
    let slots = refused(Parameters { neighbourhood: 99, ..lookup() });
    assert!(slots.contains("neighbourhood is 99"), "{slots}");
}

/// Idle lanes, including the owners' seats, do not keep old versions from being collected.
#[test]
fn old_versions_are_moved_only_if_rows_are_updated_again_soon() {
    let update = |among: u32, beside: u32, keeps: bool| Parameters {
        operation: Operation::Update,
        place: Place::Local,
        versions: Some(Versions { beside, keeps, among }),
        ..lookup()
    };
    let [soon, late] = measured([update(1, 1, true), update(128, 1, true)]);
    let [roomy] = measured([update(8, 8, true)]);
    let [given_back] = measured([update(128, 1, false)]);
    let share = |of: &Measured| of.loaded.moved.expect("it is what is measured").share;
    assert!(share(&soon) > 0.9, "{}", share(&soon));
    assert!([&late, &roomy, &given_back].into_iter().all(|of| share(of) < 0.1), "{late:?}");
    let alone_ns = |of: &Measured| of.alone.median_ns.median;
    assert!(alone_ns(&soon) > 1.3 * alone_ns(&late), "a call under the row's lock");
    // Returning the memory takes compare-and-swaps and writes of upkeep.
    let atomics_ns = |of: &Measured| of.service.requester.atomics_ns;
    assert!(atomics_ns(&given_back) > 1.5 * atomics_ns(&late));
}
