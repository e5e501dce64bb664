//! The fabric `local`: parties are threads that share the regions.

use crate::party::{Party, REGION_BYTES};
use crate::service::{ECHO, Echo};
use crate::stage::{Runs, Stage};
use crate::test::{Disturbance, Test};
use fabric::{LocalEnv, LocalWorld, WorldConfig, run_now};
use layout::NodeId;
use sim::Carrier;
use std::sync::Arc;
use std::time::Duration;

const ROUNDS: u64 = 2_000;
const PATIENCE_NS: u64 = 60_000_000_000;
const OVERTIME_NS: u64 = 2_000_000_000;

/// Threads of this process.
pub struct Local;

impl Stage for Local {
    type Env = LocalEnv;

    fn name(&self) -> &'static str {
        "local"
    }

    fn carrier(&self) -> Carrier {
        Carrier::Caller
    }

    fn runs(&self) -> Runs {
        Runs { least: 2, most: 2000, span: Duration::from_millis(150) }
    }

    fn refuses(&self, disturbance: Disturbance) -> Option<&'static str> {
        match disturbance {
            Disturbance::KillServer | Disturbance::RestartServer => {
                Some("its memory servers run in this process")
            }
            Disturbance::KillParty => Some("its parties are threads, which cannot be killed alone"),
            Disturbance::RepeatCall => Some("calls are function calls"),
            _ => Some("there are no connections: parties are threads of the servers' process"),
        }
    }

    fn play(&self, test: &Test<LocalEnv>, run: u64) -> Result<Vec<Vec<u64>>, String> {
        let config = WorldConfig { server_bytes: vec![REGION_BYTES; 2], seed: run };
        let world = LocalWorld::new(&config).map_err(|error| format!("no memory: {error}"))?;
        for node in [NodeId(0), NodeId(1)] {
            world.register(node, ECHO, Echo::of(node));
        }
        std::thread::scope(|scope| {
            let start = |number| {
                let world = Arc::clone(&world);
                scope.spawn(move || {
                    let env = world.endpoint();
                    let count = test.parties;
                    let (rounds, patience_ns) = (ROUNDS, PATIENCE_NS);
                    run_now((test.play)(Party {
                        env,
                        number,
                        count,
                        rounds,
                        patience_ns,
                        overtime_ns: OVERTIME_NS,
                    }))
                })
            };
            let parties: Vec<_> = (0..test.parties).map(start).collect();
            let join = |party: std::thread::ScopedJoinHandle<'_, _>| {
                party.join().unwrap_or_else(|_| Err("a party panicked".to_owned()))
            };
            parties.into_iter().map(join).collect()
        })
    }
}
