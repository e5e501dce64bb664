//! [ZB17 1.1]: three servers on Ethernet, transactions that read and write three records of one kilobyte, one on
//! each. Nothing but the links takes time.

use crate::experiment::Run;
use crate::outcome::{Axis, Compared, Outcome, Role, Series};
use crate::world::{Done, again, at, links_alone, network, per_second, world};
use fabric::{Batch, Fabric};
use sim::Endpoint;

const SERVERS: u16 = 3;
const RECORD_BYTES: u64 = 1024;
/// What the text prints, in transactions per second.
const PRINTED: f64 = 29_000.0;
/// Transactions under way, from few to more than the link can carry.
const CLIENTS: [u64; 8] = [1, 4, 8, 16, 32, 64, 128, 256];
const CLIENTS_QUICK: [u64; 3] = [1, 16, 128];
const PROFILES: [(&str, &str); 2] = [("ethernet-10g", "10 Gbit/s"), ("ethernet-1g", "1 Gbit/s")];

/// Runs both speeds of Ethernet.
pub fn run(run: &mut Run<'_>) -> Outcome {
    let counts: &[u64] = run.quick_or(&CLIENTS_QUICK, &CLIENTS);
    let window_ns = run.quick_or(10_000_000, 40_000_000);
    let (mut done, total) = (0, (counts.len() * PROFILES.len()) as u64);
    let mut series = Vec::new();
    for (profile, name) in PROFILES {
        let mut points = Vec::new();
        for &clients in counts {
            (run.progress)(done, total, name);
            done += 1;
            points
                .push((clients as f64, transactions_per_s(run.seed, profile, clients, window_ns)));
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
             carries both ways at once; that 29,000 follows from the printed assumptions could not be seen",
        ),
    };
    let slower = most(&series[1]);
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
            format!("The same over 1 Gbit/s gives {slower:.0} a second, which is nearer to what is printed."),
        ],
    }
}

fn transactions_per_s(seed: u64, profile: &str, clients: u64, window_ns: u64) -> f64 {
    let network = links_alone(network(profile, 1));
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
