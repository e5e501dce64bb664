//! [ZB17 1.1]: three servers on Ethernet, with transactions that read and write three records of
//! one kilobyte, one on each. Only links take time; for comparison, the rate with one core per
//! machine that executes kernel TCP.

use crate::experiment::{Run, Steps};
use crate::outcome::{Axis, Compared, Outcome, Role, Series};
use crate::world::{Done, again, at, links_alone, network, per_second, world};
use fabric::{Batch, Fabric};
use sim::{Endpoint, Network};

const SERVERS: u16 = 3;
const RECORD_BYTES: u64 = 1024;
/// The printed number, in transactions per second.
const PRINTED: f64 = 29_000.0;
/// Numbers of concurrent transactions, from few to more than the link can carry.
const CLIENTS: [u64; 8] = [1, 4, 8, 16, 32, 64, 128, 256];
const CLIENTS_QUICK: [u64; 3] = [1, 16, 128];
/// The resources that take time, the profile, and its name.
const BOUNDS: [(Bound, &str, &str); 3] = [
    (Bound::Links, "ethernet-10g", "10 Gbit/s"),
    (Bound::Links, "ethernet-1g", "1 Gbit/s"),
    (Bound::OneCore, "ethernet-10g", "10 Gbit/s, one core for TCP"),
];

#[derive(Clone, Copy)]
enum Bound {
    /// Only the links.
    Links,
    /// The links, and one core of each machine, which sends, receives and copies everything.
    OneCore,
}

/// Runs both speeds of Ethernet, and the faster one limited by one core.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let counts: &[u64] = run.quick_or(&CLIENTS_QUICK, &CLIENTS);
    let window_ns = run.quick_or(10_000_000, 40_000_000);
    let mut steps = Steps::of(counts.len() * BOUNDS.len());
    let mut series = Vec::new();
    for (bound, profile, name) in BOUNDS {
        let network = bound.network(profile);
        let mut points = Vec::new();
        for &clients in counts {
            steps.next(run, name);
            points
                .push((clients as f64, transactions_per_s(run.seed, network, clients, window_ns)));
        }
        series.push(Series { name: name.to_owned(), points, is_published: false });
    }
    let most =
        |series: &Series| series.points.iter().fold(0.0, |most: f64, point| most.max(point.1));
    let compared = Compared {
        what: "distributed transactions over 10 Gbit/s Ethernet".to_owned(),
        unit: "/s",
        published: PRINTED,
        ours: most(&series[0]),
        role: Role::Prediction,
        why: Some(
            "6 KB at 1.25 GB/s are 203,000 a second if one link carries them one after another, and more if it \
             carries both ways at once: the printed assumptions do not give 29,000. Links of 1 Gbit/s, and one core \
             for TCP, give about that: below",
        ),
    };
    let [slower, one_core] = [1, 2].map(|place: usize| most(&series[place]));
    Outcome {
        parameters: vec![
            ("servers", SERVERS.to_string()),
            ("bytes of a record", RECORD_BYTES.to_string()),
            ("window in virtual ns", window_ns.to_string()),
        ],
        x: Axis { title: "transactions under way", is_logarithmic: true },
        y: Axis { title: "transactions per second", is_logarithmic: true },
        tables: Vec::new(),
        series,
        compared: vec![compared],
        notes: vec![
            "All transactions come from one node, whose link carries three records either way for each.".to_owned(),
            format!(
                "The same over 1 Gbit/s gives {slower:.0} a second, and over 10 Gbit/s with one core of each machine for TCP \
                 {one_core:.0}."
            ),
        ],
    }
}

impl Bound {
    fn network(self, profile: &str) -> Network {
        let all = network(profile, 1);
        let links = links_alone(all);
        match self {
            Self::Links => links,
            Self::OneCore => on_one_core(all, links),
        }
    }
}

/// `links`, with one of the cores of `all` at either end: the profile of a network without verb
/// cards spreads a core's time per message over all cores, so one core takes all of it, and its
/// share of the copying.
fn on_one_core(all: Network, links: Network) -> Network {
    let kinds = [hardware::Kind::Read, hardware::Kind::Write];
    let card = kinds
        .into_iter()
        .fold(links.card, |card, kind| card.with_serve_ps(kind, all.core.serve_message_ps));
    let mut card = card.with_issue_ps(all.core.post_ps);
    card.engine_bytes_per_s = all.card.engine_bytes_per_s / all.core.cores;
    Network { card, ..links }
}

fn transactions_per_s(seed: u64, network: Network, clients: u64, window_ns: u64) -> f64 {
    let world = world(seed, network, (SERVERS, 1), 1 << 17);
    let done = Done::default();
    for client in 0..clients {
        let env = world.endpoint(world.compute_node(0));
        world.spawn_on(&env, transactions(env.clone(), client, done.clone()));
    }
    per_second(&world, &done, (window_ns, window_ns))
}

async fn transactions(env: Endpoint, client: u64, done: Done) {
    let words = RECORD_BYTES / layout::WORD_BYTES;
    let mut batch = Batch::new();
    loop {
        for server in 0..SERVERS {
            batch.read(at(server, client * words), words as u32);
        }
        batch = again(env.execute(batch).await.expect("the servers are alive"));
        for server in 0..SERVERS {
            let span = batch.reserve(words as u32);
            batch.write(at(server, client * words), span);
        }
        batch = again(env.execute(batch).await.expect("the servers are alive"));
        done.set(done.get() + 1);
    }
}
