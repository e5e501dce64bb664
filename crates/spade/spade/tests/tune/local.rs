//! A single process with all rows and one lane per thread.

use crate::support::{PRICES, Subject, options};
use spade::measurement::{Demand, Measurements, Place, Spread, World};
use spade::tune::{Options, Tuning};

const THREADS: u32 = 8;

/// Measurements in which an operation is `slower` times slower when all threads are busy.
fn measured(slower: f64) -> Measurements {
    let mut all = Measurements::default();
    let everything = PRICES.measured();
    for point in everything.points().iter().filter(|point| point.parameters.place == Place::Local) {
        let mut point = point.clone();
        let (fabric, hardware) = ("local".to_owned(), "hand-made".to_owned());
        let (machines, threads, lanes) = (1, THREADS, THREADS);
        point.parameters.world = World { fabric, hardware, machines, threads, lanes };
        let alone_ns = point.measured.alone.median_ns.median;
        let loaded = &mut point.measured.loaded;
        loaded.operations_per_s = Spread::of(&[f64::from(THREADS) * 1e9 / (slower * alone_ns)]);
        loaded.busiest = None;
        let service = &mut point.measured.service;
        service.card_requests = None;
        service.requester = Demand { core_ns: alone_ns, ..Demand::default() };
        all.put(point);
    }
    all
}

fn tuned(name: &str, slower: f64) -> Tuning {
    let options = Options { machines: Some(1), ..options() };
    Subject::shipped(name).tuned(&measured(slower), &options)
}

/// Threads that share memory and processor are slower together than alone. The forecast equals the
/// measured throughput, and cores are used at most 100 %.
#[test]
fn cores_are_never_busier_than_all_the_time() {
    for name in ["smallbank", "tatp", "tpcc"] {
        let rate = |of: &Tuning| of.forecast.transactions_per_s[1];
        let alone = tuned(name, 1.0);
        let together = tuned(name, 1.36);
        let cores = |of: &Tuning| {
            let found = of.forecast.stages.iter().find(|(stage, _)| stage == "cores");
            found.expect("there are some").1
        };
        assert_eq!((cores(&together), &*together.forecast.bottleneck), (1.0, "cores"), "{name}");
        assert!(cores(&alone) <= 1.0, "{name}: {}", cores(&alone));
        assert!(rate(&together) < 0.95 * rate(&alone), "{name}");
    }
}
