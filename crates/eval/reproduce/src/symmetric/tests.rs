//! Small clusters give the expected results, and the same ones again.

use super::*;
use crate::figures::spade::designs;
use layout::Storage;
use workload::tatp::Kind;

fn plan() -> Plan {
    Plan { clients: 4, practice: 0, warm_ns: 20_000, window_ns: 60_000, ..Plan::new(7, 3) }
}

fn tatp(version: usize) -> Seen {
    let design = designs::tatp(version, 3 * 200);
    run(&plan(), &Tatp::new((7, 3, 200), Arc::new(design)))
}

#[test]
fn equal_seeds_see_the_same() {
    let seen = || {
        let seen = tatp(3);
        (seen.committed_per_s(), seen.us(50), seen.us(99), seen.busiest.share)
    };
    assert_eq!(seen(), seen());
}

#[test]
fn partitioned_tatp_asks_cards_for_less_and_is_faster() {
    let (baseline, indexed, partitioned) = (tatp(0), tatp(1), tatp(2));
    let [_, _, bytes] = baseline.all().traffic();
    let [_, _, fewer] = indexed.all().traffic();
    assert!(fewer < bytes, "one slot for a row is less than eight: {fewer} and {bytes}");
    assert!(partitioned.committed_per_s() > 1.3 * indexed.committed_per_s());
    assert!(partitioned.us(50) < indexed.us(50));
    // Three of four commit: the others fail by the rules of TATP.
    let share = partitioned.committed_per_s() / partitioned.ended_per_s();
    assert!((0.65..0.85).contains(&share), "{share}");
    // Of 600 subscribers one or two are changed during a snapshot: a reader of one of these reads
    // an old version, too.
    let one = indexed.kind(Kind::GetSubscriberData as usize).expect("there are many");
    let further = (one.traffic()[1] - 1.0) * one.count() as f64;
    assert!((0.0..=1.01).contains(&further), "a row found by counting is one read: {further}");
}

#[test]
fn a_shipped_transaction_is_one_call_of_its_client() {
    let updates = |is_shipped| {
        let design = (Storage::HashInlined, 64, 4);
        let seen =
            run(&plan(), &RowOperations::new((7, 3, 400), Work::Updates { is_shipped }, design));
        seen.all().traffic()
    };
    let ([_, verbs, _], [_, calls, _]) = (updates(false), updates(true));
    assert_eq!(calls, 1.0);
    assert!(verbs > 5.0, "a swap, the row and its copies: {verbs}");
}

#[test]
fn new_orders_of_warehouses_elsewhere_commit_either_way() {
    let scale = workload::tpcc::Scale {
        items: 100,
        districts: 10,
        customers_per_district: 10,
        orders_per_district: 20,
    };
    for is_shipped in [false, true] {
        let plan = Plan { warm_ns: 4_000_000, window_ns: 1_000_000, ..plan() };
        let seen = run(&plan, &Tpcc::new(&plan, 20, scale, is_shipped));
        assert!(seen.kind_per_s(0) > 10_000.0, "{}", seen.kind_per_s(0));
        // Clients of one warehouse number their history separately; otherwise a third of the
        // attempts would be retries.
        assert!(seen.abort_percent() < 20.0, "{} {:?}", seen.abort_percent(), seen.most_aborts());
        assert_eq!(seen.given_up(), 0, "memory servers are full");
    }
}
