//! [blog, figure 1 and the text around it; slides "Specs"]: the bandwidth of FDR cards compared
//! with that of memory, and the latency of transfers, by size.

use crate::experiment::Run;
use crate::outcome::{Axis, Compared, Outcome, Role, Series};
use crate::world::{Done, again, at, network, per_second, world};
use fabric::{Batch, Fabric};
use sim::Endpoint;

/// Size of the transfers whose bandwidth is measured, in bytes.
const LARGE_BYTES: u64 = 1 << 16;
/// Outstanding transfers in each direction of each card.
const UNDER_WAY: u16 = 8;
/// Sizes of the transfers whose latency is measured, in bytes.
const SIZES: [u64; 11] =
    [8, 64, 256, 1 << 10, 1 << 11, 1 << 12, 1 << 14, 1 << 16, 1 << 17, 1 << 18, 1 << 20];
const SIZES_QUICK: [u64; 4] = [8, 1 << 10, 1 << 14, 1 << 18];
/// The sizes whose latencies the blog prints or compares.
const KILOBYTE: u64 = 1 << 10;
const PARITY_BYTES: u64 = 1 << 18;
const GIGA: f64 = 1e9;

/// Number of cards, whether both directions are used, and the gigabytes per second that the slides
/// specify.
const SPECIFIED: [(u16, bool, f64); 3] = [(1, false, 13.6), (1, true, 27.3), (2, true, 54.5)];

/// Measures latencies by size, then bandwidths.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let sizes: &[u64] = run.quick_or(&SIZES_QUICK, &SIZES);
    let window_ns = run.quick_or(100_000, 300_000);
    let memory = hardware::profile("connect-ib-2xfdr").expect("it is built in").memory;
    let total = (sizes.len() + SPECIFIED.len()) as u64;
    let (mut over_network, mut in_memory) = (Vec::new(), Vec::new());
    for (done, &bytes) in sizes.iter().enumerate() {
        (run.progress)(done as u64, total, "transfer times");
        over_network.push((bytes as f64, write_ns(run.seed, bytes) as f64 / 1e3));
        in_memory.push((bytes as f64, memory.read_ps(bytes) as f64 / 1e6));
    }
    let gigabytes = memory.bytes_per_s() as f64 / GIGA;
    let channels = "all 4 memory channels of a socket".to_owned();
    let mut compared = vec![beside(channels, "GB/s", (51.2, gigabytes), Role::Input)];
    for (index, (cards, is_both_ways, printed)) in SPECIFIED.into_iter().enumerate() {
        (run.progress)((sizes.len() + index) as u64, total, "bandwidth");
        let ways = if is_both_ways { "both ways" } else { "one way" };
        let what = format!("{cards} dual-port card{}, {ways}", if cards > 1 { "s" } else { "" });
        let ours = bandwidth(run.seed, (cards, is_both_ways), window_ns) / GIGA;
        compared.push(beside(what, "GB/s", (printed, ours), Role::Input));
    }
    compared.extend(latencies(&over_network, &in_memory));
    let curve = |name: &str, points| Series { name: name.to_owned(), points, is_published: false };
    let printed = vec![(KILOBYTE as f64, 1.0), (KILOBYTE as f64, 0.08)];
    Outcome {
        parameters: vec![
            ("ports in use", "2".to_owned()),
            ("bytes of transfers for bandwidth", LARGE_BYTES.to_string()),
            ("transfers under way each way", UNDER_WAY.to_string()),
            ("window in virtual ns", window_ns.to_string()),
        ],
        x: Axis { title: "bytes", is_logarithmic: true },
        y: Axis { title: "microseconds", is_logarithmic: true },
        tables: Vec::new(),
        series: vec![
            curve("RDMA write, until it is in memory", over_network),
            curve("read from own memory", in_memory),
            Series { name: "printed, of 1 KB".to_owned(), points: printed, is_published: true },
        ],
        compared,
        notes: vec![
            "Figure 1's measurements are only plotted; its specified bandwidths are compared."
                .to_owned(),
        ],
    }
}

fn beside(what: String, unit: &'static str, (published, ours): (f64, f64), role: Role) -> Compared {
    Compared { what, unit, published, ours, role, why: None }
}

/// The latencies that the blog prints, compared with ours in microseconds by bytes.
fn latencies(over_network: &[(f64, f64)], in_memory: &[(f64, f64)]) -> [Compared; 3] {
    let time_of = |points: &[(f64, f64)], bytes: u64| {
        let point = points.iter().find(|point| point.0 == bytes as f64);
        point.expect("the sizes that are compared are among those measured").1
    };
    let ratio = time_of(over_network, PARITY_BYTES) / time_of(in_memory, PARITY_BYTES);
    let network = ("1 KB over the network", "us", (1.0, time_of(over_network, KILOBYTE)));
    let memory = ("1 KB from memory", "us", (0.08, time_of(in_memory, KILOBYTE)));
    let parity = ("256 KB over the network, of the time from memory", "x", (1.0, ratio));
    [(network, Role::Calibration), (memory, Role::Input), (parity, Role::Prediction)]
        .map(|((what, unit, numbers), role)| beside(what.to_owned(), unit, numbers, role))
}

/// Nanoseconds from posting a write until its last word is in the other machine's memory.
fn write_ns(seed: u64, bytes: u64) -> u64 {
    const STEP_NS: u64 = 5;
    let words = bytes / layout::WORD_BYTES;
    let world = world(seed, network("connect-ib-2xfdr", 2), (1, 1), 1 << 18);
    let env = world.endpoint(world.compute_node(0));
    let mut batch = Batch::new();
    let span = batch.reserve(words as u32);
    batch.set_word(span.at + span.words - 1, 1);
    batch.write(at(0, 0), span);
    let sender = env.clone();
    world.spawn_on(&env, async move {
        sender.execute(batch).await.expect("the server is alive");
    });
    while world.peek(at(0, words - 1)) == 0 {
        world.run_for(STEP_NS);
    }
    world.now_ns()
}

/// Bytes per second that this many cards carry between two machines. Cards share nothing with each
/// other, so each has nodes of its own.
fn bandwidth(seed: u64, (cards, is_both_ways): (u16, bool), window_ns: u64) -> f64 {
    let world = world(seed, network("connect-ib-2xfdr", 2), (cards, cards), 1 << 18);
    let done = Done::default();
    for card in 0..cards {
        for number in 0..UNDER_WAY {
            let env = world.endpoint(world.compute_node(card));
            world.spawn_on(&env, transfers(env.clone(), (card, number), true, done.clone()));
            if is_both_ways {
                let env = world.endpoint(world.compute_node(card));
                world.spawn_on(&env, transfers(env.clone(), (card, number), false, done.clone()));
            }
        }
    }
    let transfers_per_s = per_second(&world, &done, (window_ns / 5, window_ns));
    transfers_per_s * LARGE_BYTES as f64
}

async fn transfers(env: Endpoint, (card, number): (u16, u16), reads: bool, done: Done) {
    let words = (LARGE_BYTES / layout::WORD_BYTES) as u32;
    let from = at(card, u64::from(number) * u64::from(words));
    let mut batch = Batch::new();
    loop {
        if reads {
            batch.read(from, words);
        } else {
            let span = batch.reserve(words);
            batch.write(from, span);
        }
        batch = again(env.execute(batch).await.expect("the server is alive"));
        done.set(done.get() + 1);
    }
}
