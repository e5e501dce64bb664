//! [SPADE 4.1, figure 3]: reads per second of each machine by transfer size, all machines reading
//! from all others.

use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Compared, Outcome, Role, Series};
use crate::symmetric::{MACHINES_MAX, PROFILE};
use crate::world::{Done, again, at, network, per_second, settings_on};
use fabric::{Batch, Env, Fabric};
use sim::{Endpoint, Machines, Reach, SimConfig, World};

/// Bytes of a read.
const SIZES: [u64; 10] = [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
const SIZES_QUICK: [u64; 3] = [8, 256, 1024];
/// Threads of a machine [SPADE 5.2].
const THREADS: u16 = 32;
/// Outstanding reads of a thread. The paper does not say how many; with this number cards are the
/// limit.
const UNDER_WAY: u64 = 4;
/// Queue pairs of a machine to each other one: one per card, or one per two threads.
const QUEUE_PAIRS: [(&str, u32); 2] = [("a queue pair for each card", 2), ("for two threads", 16)];
const WARM_NS: u64 = 20_000;
/// Number of words of each memory server that are read.
const WORDS: u64 = 1 << 12;

pub fn run(run: &mut Run<'_>) -> Outcome {
    let sizes: &[u64] = run.quick_or(&SIZES_QUICK, &SIZES);
    let machines = run.quick_or(10, MACHINES_MAX);
    let window_ns = run.quick_or(20_000, 50_000);
    let mut steps = Steps::of(sizes.len() * QUEUE_PAIRS.len());
    let (mut series, mut notes) = (Vec::new(), Vec::new());
    for (name, queue_pairs) in QUEUE_PAIRS {
        let mut points = Vec::new();
        for &bytes in sizes {
            steps.next(run, &format!("{bytes} bytes, {name}"));
            let world = cluster(run.seed, machines, queue_pairs);
            let per_s = reads(&world, machines, bytes, window_ns);
            points.push((bytes as f64, per_s / f64::from(machines) / 1e6));
        }
        notes.push(format!("{machines} machines, {name}: {}", drops(&points)));
        series.push(Series { name: name.to_owned(), points, is_published: false });
    }
    let of = |bytes: f64| {
        let points = &series[0].points;
        points.iter().find(|point| point.0 == bytes).map_or(f64::NAN, |point| point.1)
    };
    let compared = vec![Compared {
        what: "256-byte reads, of those of 8 bytes: \"remains constant\"".to_owned(),
        unit: "%",
        published: 100.0,
        ours: 100.0 * of(256.0) / of(8.0),
        role: Role::Input,
        why: None,
    }];
    Outcome {
        parameters: vec![
            ("machines", machines.to_string()),
            ("threads of each", THREADS.to_string()),
            ("reads under way of a thread", UNDER_WAY.to_string()),
            ("window in virtual ns", window_ns.to_string()),
        ],
        x: Axis { title: "bytes of a read", is_logarithmic: true },
        y: Axis { title: "million reads per second of each machine", is_logarithmic: false },
        series,
        compared,
        tables: Vec::new(),
        notes,
    }
}

/// The rate at each size, relative to the smallest.
fn drops(points: &[(f64, f64)]) -> String {
    let first = points[0].1;
    let left =
        points.iter().map(|(bytes, rate)| format!("{:.0} % at {bytes}", 100.0 * rate / first));
    format!("{} bytes.", left.collect::<Vec<_>>().join(", "))
}

fn cluster(seed: u64, machines: u16, queue_pairs: u32) -> World {
    let machines_of = Machines::paired(machines, machines, Reach::Card);
    let network = network(PROFILE, 2);
    let settings = settings_on(machines_of, seed, network, (machines, machines), WORDS);
    World::new(SimConfig { queue_pairs, ..settings })
}

/// Reads per second of all machines.
fn reads(world: &World, machines: u16, bytes: u64, window_ns: u64) -> f64 {
    let done = Done::default();
    for machine in 0..machines {
        for _ in 0..THREADS {
            let endpoint = world.endpoint(world.compute_node(machine));
            for _ in 0..UNDER_WAY {
                world.spawn_on(
                    &endpoint,
                    rounds((endpoint.clone(), machine), machines, bytes, done.clone()),
                );
            }
        }
    }
    per_second(world, &done, (WARM_NS, window_ns))
}

/// Reads from one random other machine after the other.
async fn rounds((endpoint, machine): (Endpoint, u16), machines: u16, bytes: u64, done: Done) {
    let words = (bytes / layout::WORD_BYTES) as u32;
    let mut batch = Batch::new();
    loop {
        let drawn = (endpoint.random() % u64::from(machines - 1)) as u16;
        batch.read(at(drawn + u16::from(drawn >= machine), 0), words);
        batch = again(endpoint.execute(batch).await.expect("the server is alive"));
        done.set(done.get() + 1);
    }
}
