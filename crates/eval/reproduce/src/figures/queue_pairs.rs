//! [ZB17 7.5, figure 9]: one server, seven clients of 20 threads, and more and more queue pairs; in
//! every round a thread draws one of its queue pairs, and reads `bytes` bytes through it.

use crate::experiment::Run;
use crate::outcome::{Axis, Compared, Outcome, Role, Series};
use crate::world::{Done, again, at, network, per_second, world};
use fabric::{Batch, Env, Fabric};
use sim::{Endpoint, Network, World};
use std::rc::Rc;

const CLIENTS: u16 = 7;
const THREADS: u64 = 20;
/// Outstanding reads of a thread. The paper does not say how many; with this number the server is
/// the limit, as its text says.
const UNDER_WAY: u64 = 4;
/// Ports in use: the paper has a dual-port card.
const PORTS: u64 = 2;
/// Other interpretations, as ports and outstanding reads; their results are in the notes.
const OTHERWISE: [(u64, u64); 3] = [(1, 4), (2, 1), (2, 8)];
/// Queue pairs of each thread.
const PAIRS: [u64; 9] = [1, 2, 3, 4, 7, 10, 14, 20, 28];
const PAIRS_QUICK: [u64; 3] = [1, 7, 28];
/// Bytes of a read, the drop in percent that the text prints for about 4000 queue pairs, and the
/// reason why ours misses it.
const SIZES: [(u64, f64, Option<&str>); 3] =
    [(8, 40.0, None), (64, 25.0, Some(AT_64)), (256, 0.0, None)];
const AT_64: &str = "64 bytes are far from what the links of two ports carry, so that the model loses as much as at 8; \
                     with one port in use it would lose less than printed";
const WARM_NS: u64 = 20_000;

/// Runs all sizes over all numbers of queue pairs.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let pairs: &[u64] = run.quick_or(&PAIRS_QUICK, &PAIRS);
    let window_ns = run.quick_or(50_000, 200_000);
    let network = network("connect-ib-2xfdr", PORTS);
    let (mut series, mut compared) = (Vec::new(), Vec::new());
    let (mut done, total) = (0, ((pairs.len() + OTHERWISE.len()) * SIZES.len()) as u64);
    for (bytes, drop_percent, why) in SIZES {
        let name = format!("{bytes} bytes");
        let mut points = Vec::new();
        for &per_thread in pairs {
            (run.progress)(done, total, &name);
            done += 1;
            let world = world(run.seed, network, (1, CLIENTS), 1 << 12);
            let reads = Reads { bytes, per_thread, under_way: UNDER_WAY };
            let per_s = reads.run(&world, window_ns);
            let all = u64::from(CLIENTS) * THREADS * per_thread;
            points.push((all as f64, per_s / 1e6));
        }
        let (few, many) = (points[0], *points.last().expect("there are points"));
        let printed = few.1 * (1.0 - drop_percent / 100.0);
        compared.push(Compared {
            what: format!(
                "{bytes}-byte reads with {} queue pairs, of those with {}",
                many.0, few.0
            ),
            unit: "%",
            published: 100.0 - drop_percent,
            ours: 100.0 * many.1 / few.1,
            role: Role::Prediction,
            why,
        });
        series.push(Series { name: name.clone(), points, is_published: false });
        series.push(Series {
            name: format!("{name}, the printed drop from ours"),
            points: vec![(many.0, printed)],
            is_published: true,
        });
    }
    let mut notes = vec![
        "The paper prints drops, no rates: rates are ours alone.".to_owned(),
        "Queue pairs kept at hand, and what another one costs, are a fit to rdma_bench, not to this figure."
            .to_owned(),
    ];
    for (ports, under_way) in OTHERWISE {
        let left = SIZES.map(|(bytes, ..)| {
            let name = format!("{bytes} bytes, ports in use {ports}, under way {under_way}");
            (run.progress)(done, total, &name);
            done += 1;
            left_percent(run.seed, ports, (bytes, under_way), window_ns)
        });
        notes.push(format!(
            "With {ports} of the ports in use and {under_way} reads under way of each thread: {:.0}, {:.0} and {:.0} %.",
            left[0], left[1], left[2]
        ));
    }
    Outcome {
        parameters: parameters(network, window_ns),
        x: Axis { title: "queue pairs", is_logarithmic: false },
        y: Axis { title: "million reads per second", is_logarithmic: false },
        tables: Vec::new(),
        series,
        compared,
        notes,
    }
}

/// The rate with the most queue pairs, in percent of the rate with the fewest.
fn left_percent(seed: u64, ports: u64, (bytes, under_way): (u64, u64), window_ns: u64) -> f64 {
    let network = network("connect-ib-2xfdr", ports);
    let per_s = |per_thread| {
        let world = world(seed, network, (1, CLIENTS), 1 << 12);
        Reads { bytes, per_thread, under_way }.run(&world, window_ns)
    };
    100.0 * per_s(PAIRS[PAIRS.len() - 1]) / per_s(PAIRS[0])
}

fn parameters(network: Network, window_ns: u64) -> Vec<(&'static str, String)> {
    vec![
        ("servers", "1".to_owned()),
        ("clients", CLIENTS.to_string()),
        ("threads of a client", THREADS.to_string()),
        ("reads under way of a thread", UNDER_WAY.to_string()),
        ("ports in use", network.card.ports.to_string()),
        ("window in virtual ns", window_ns.to_string()),
    ]
}

/// The work of the clients.
#[derive(Clone, Copy)]
struct Reads {
    bytes: u64,
    /// Queue pairs of a thread.
    per_thread: u64,
    under_way: u64,
}

impl Reads {
    /// Reads per second of all clients.
    fn run(self, world: &World, window_ns: u64) -> f64 {
        let done = Done::default();
        for node in 0..CLIENTS {
            for _ in 0..THREADS {
                let node = world.compute_node(node);
                // An endpoint has a queue pair of its own to the server.
                let pairs: Rc<[Endpoint]> =
                    (0..self.per_thread).map(|_| world.endpoint(node)).collect();
                for _ in 0..self.under_way {
                    world.spawn_on(&pairs[0], self.rounds(pairs.clone(), done.clone()));
                }
            }
        }
        per_second(world, &done, (WARM_NS, window_ns))
    }

    async fn rounds(self, pairs: Rc<[Endpoint]>, done: Done) {
        let words = (self.bytes / layout::WORD_BYTES) as u32;
        let mut batch = Batch::new();
        loop {
            let pair = &pairs[(pairs[0].random() % self.per_thread) as usize];
            batch.read(at(0, 0), words);
            batch = again(pair.execute(batch).await.expect("the server is alive"));
            done.set(done.get() + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_queue_pairs_slow_down_small_reads_and_no_large_ones() {
        let network = network("connect-ib-2xfdr", PORTS);
        let per_s = |bytes, per_thread| {
            let world = world(1, network, (1, CLIENTS), 1 << 12);
            Reads { bytes, per_thread, under_way: UNDER_WAY }.run(&world, 20_000)
        };
        assert!(per_s(8, 28) < 0.65 * per_s(8, 1));
        assert!(per_s(256, 28) > 0.9 * per_s(256, 1));
    }
}
