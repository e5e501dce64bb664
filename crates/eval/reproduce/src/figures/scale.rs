//! Beyond figure 4 of [ZB17]: our engine on 8 to 1000 machines without locality, with frozen
//! vectors read from their one server and from copies; shows which stage saturates first, and what
//! removes that bottleneck.

use super::scalability;
use crate::busy::Busiest;
use crate::experiment::Run;
use crate::outcome::{Axis, Outcome, Series, Table};
use crate::tpcc::{self, Engine, Plan};
use workload::tpcc::Scale;

const MACHINES: [u16; 7] = [8, 16, 56, 120, 250, 500, 1000];
/// The largest number of machines with vectors from one server, which is the bottleneck long
/// before. A process that has simulated a thousand machines has no room for a second run of that
/// size in 12 GiB.
const ONE_SERVER_MAX: u16 = 500;
const MACHINES_QUICK: [u16; 2] = [8, 16];
/// Fewer than in figure 4, with the same ratio per thread, so that 1000 machines fit into 12 GiB:
/// threads of a compute server, and warehouses of a memory server.
const THREADS: u16 = 12;
const WAREHOUSES: u32 = 10;
const SCALE: Scale =
    Scale { items: 200, districts: 10, customers_per_district: 10, orders_per_district: 20 };
/// A stage that is in use for more than this share of time counts as saturated: requests queue for
/// it.
const FULL_SHARE: f64 = 0.75;

/// Runs all sizes, with vectors from one server and from copies.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let sizes: &[u16] = run.quick_or(&MACHINES_QUICK, &MACHINES);
    let is_run = |machines, name| name == COPIED || machines <= ONE_SERVER_MAX;
    let both = sizes.iter().flat_map(|&machines| NAMES.map(|name| is_run(machines, name)));
    let total = both.filter(|&is_run| is_run).count() as u64;
    let mut done = 0;
    let mut curves = [(); 2].map(|()| Curve::default());
    // Largest first, so that the others reuse its memory: a process returns little of it.
    for &machines in sizes.iter().rev() {
        let wanted = curves.iter_mut().zip(NAMES).filter(|&(_, name)| is_run(machines, name));
        for (curve, name) in wanted {
            (run.progress)(done, total, &format!("{machines} machines, {name}"));
            done += 1;
            curve.measure(&plan(run, machines, name == COPIED), machines);
        }
    }
    let (mut series, mut tables) = (Vec::new(), Vec::new());
    for (Curve { mut points, mut rows }, name) in curves.into_iter().zip(NAMES) {
        points.reverse();
        rows.reverse();
        series.push(Series { name: name.to_owned(), points, is_published: false });
        let columns = COLUMNS.map(str::to_owned).to_vec();
        tables.push(Table { shows: format!("First full stage: {name}"), columns, rows });
    }
    Outcome {
        parameters: parameters(&plan(run, sizes[0], false)),
        x: Axis { title: "machines", is_logarithmic: true },
        y: Axis { title: "million new orders per second", is_logarithmic: true },
        series,
        compared: Vec::new(),
        tables,
        notes: Vec::new(),
    }
}

const COPIED: &str = "vectors from copies";
const NAMES: [&str; 2] = ["vectors from one server", COPIED];

/// The results of one way of reading vectors.
#[derive(Default)]
struct Curve {
    points: Vec<(f64, f64)>,
    rows: Vec<Vec<String>>,
}

impl Curve {
    fn measure(&mut self, plan: &Plan, machines: u16) {
        let seen = tpcc::run(plan);
        let of_each = seen.new_orders_per_s() / f64::from(machines / 2);
        self.points.push((f64::from(machines), seen.new_orders_per_s() / 1e6));
        self.rows.push(vec![
            machines.to_string(),
            plan.engine.vector_copies.to_string(),
            format!("{:.2}", seen.new_orders_per_s() / 1e6),
            format!("{:.1}", of_each / 1e3),
            format!("{:.0}", seen.new_order_us(50)),
            format!("{:.1} %", seen.abort_percent()),
            seen.busiest.to_string(),
            seen.of_oracle.to_string(),
            remedy(&seen.busiest).to_owned(),
        ]);
    }
}

const COLUMNS: [&str; 9] = [
    "machines",
    "copies",
    "million new orders/s",
    "thousand of each compute server",
    "median latency, us",
    "aborted attempts",
    "busiest; 0 has the vector, then memory servers, then compute servers",
    "busiest of the machine with the vector",
    "what removes it",
];

/// The remedy for a bottleneck, if there is one.
fn remedy(busiest: &Busiest) -> &'static str {
    match busiest {
        Busiest { share, .. } if *share < FULL_SHARE => "none is full: more threads use more of it",
        Busiest { place: 0, stage: "link out", .. } => "copies of vectors on other servers",
        Busiest { place: 0, .. } => "one publish for several commits of a compute server",
        _ => "more machines",
    }
}

fn parameters(sample: &Plan) -> Vec<(&'static str, String)> {
    vec![
        ("threads of a compute server", THREADS.to_string()),
        ("warehouses of each memory server", WAREHOUSES.to_string()),
        ("loaded per warehouse", sample.scale_sentence()),
        ("ports in use", tpcc::PORTS.to_string()),
        ("window in virtual ns", sample.window_ns.to_string()),
    ]
}

/// As many copies as the square root of the number of compute servers: that minimises the load of
/// the server that sends most.
fn copies(machines: u16) -> u32 {
    f64::from(machines / 2).sqrt().round() as u32
}

fn plan(run: &Run<'_>, machines: u16, has_copies: bool) -> Plan {
    let vector_copies = if has_copies { copies(machines) } else { 0 };
    Plan {
        threads: THREADS,
        scale: SCALE,
        warehouses_each: WAREHOUSES,
        engine: Engine { vector_copies, ..Engine::BEST },
        practice: 20,
        warm_ns: run.quick_or(1_000_000, 2_000_000),
        window_ns: 1_000_000,
        ..scalability::plan(run, machines, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bottleneck_has_its_remedy_and_copies_grow_with_the_root() {
        let of = |place, stage, share| remedy(&Busiest { stage, place, share });
        assert_eq!(of(3, "engine", 0.74), "none is full: more threads use more of it");
        assert_eq!(of(0, "link out", 0.98), "copies of vectors on other servers");
        assert_eq!(of(0, "engine", 0.9), "one publish for several commits of a compute server");
        assert_eq!(of(5, "engine", 0.9), "more machines");
        assert_eq!([8, 120, 1000].map(copies), [2, 8, 22]);
    }

    #[test]
    fn copies_take_load_off_the_machine_with_the_vector() {
        let mut none = |_: u64, _: u64, _: &str| ();
        let run = Run { seed: 1, is_quick: true, threads: 1, keep: None, progress: &mut none };
        let share = |has_copies| {
            let plan = Plan { warm_ns: 200_000, window_ns: 200_000, ..plan(&run, 16, has_copies) };
            let seen = tpcc::run(&plan);
            assert!(seen.committed_per_s() > 5e5, "{seen:?}");
            seen.of_oracle.share
        };
        let [one, copied] = [false, true].map(share);
        assert!(copied < 0.8 * one, "{one} {copied}");
    }
}
