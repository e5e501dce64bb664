//! Four busy threads for each processor, beside a cluster that works: nobody is evicted.
#![allow(clippy::disallowed_methods, reason = "overload takes real time")]

use super::peer::{Counter, ROWS, count_up};
use super::site::{Place, Site};
use namdb::RecordTable;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long the overload lasts; the nightly run sets more.
const SECONDS: &str = "NAMDB_TEST_OVERLOAD_SECONDS";
const SECONDS_OF_THE_GATE: u64 = 20;
/// Busy threads for each processor.
const FACTOR: usize = 4;

#[test]
fn fourfold_overload_evicts_nobody() {
    let seconds = std::env::var(SECONDS)
        .map_or(SECONDS_OF_THE_GATE, |number| number.parse().expect("a number of seconds"));
    let Some(site) = Site::start(Place::Etcd, "tcp", "") else { return };
    let _compute = site.compute_server();
    let db = namdb::connect(&site.file).expect("the cluster runs");
    let table = RecordTable::<Counter>::open_or_create(&db, Default::default());
    let table = table.expect("it is new");
    let mut session = db.session();
    let before = site.map();
    let (is_over, spins, commits) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    let threads = FACTOR * std::thread::available_parallelism().expect("Linux knows it").get();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    spins.fetch_add(1, Relaxed);
                }
            });
        }
        for number in 0.. {
            if start.elapsed() > Duration::from_secs(seconds) {
                break;
            }
            let counted = count_up(&mut session, table, number % ROWS);
            commits.fetch_add(u64::from(counted.is_ok()), Relaxed);
        }
        is_over.store(true, Relaxed);
    });
    let (servers, metric) = (&site.memory, |name| {
        site.memory.iter().map(|server| site.metric(server, name)).sum::<f64>()
    });
    let (suspicions, evictions) =
        (metric("namdb_suspicions_total"), metric("namdb_evictions_total"));
    println!(
        "{threads} busy threads for {seconds} s: {commits:?} commits, {suspicions} suspicions of {} servers, \
         {evictions} evictions",
        servers.len()
    );
    assert_eq!((evictions, site.map()), (0.0, before));
    assert!(commits.load(Relaxed) > 0 && spins.load(Relaxed) > 0);
}
