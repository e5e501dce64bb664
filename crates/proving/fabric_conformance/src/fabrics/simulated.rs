//! The fabrics `sim`, `sim-coherent` and `sim-serial`: parties are tasks in virtual time, and each
//! run is a world as hostile as the contract allows.

use crate::party::{Party, REGION_BYTES};
use crate::service::{ECHO, Echo};
use crate::stage::{Runs, Stage};
use crate::test::{Disturbance, Report, Test};
use layout::{NodeId, WORD_BYTES};
use sim::{BrokenPromises, Carrier, Endpoint, FaultKind, FaultRate, SimConfig, World};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Rounds in each world; few, because there are many worlds.
const ROUNDS: u64 = 6;
const PATIENCE_NS: u64 = 50_000_000;
/// The latest moment of a disturbance.
const DISTURBED_NS: u64 = 100_000;
/// One in this many batches is lost, where batches are.
const LATE_ONE_IN: u64 = 3;
/// The shortest duration of an atomic.
const ATOMIC_WINDOW_NS: u64 = 500;

/// Simulated worlds, in which a promise may be broken.
pub struct Simulated {
    /// The processor that executes their verbs.
    pub carrier: Carrier,
    /// Worlds per test.
    pub seeds: u64,
    /// The broken promises of their fabric.
    pub broken: BrokenPromises,
}

/// The report of each party; `None` for parties that still wait or were killed.
type Reports = Rc<RefCell<Vec<Option<Report>>>>;

impl Simulated {
    fn config(&self, seed: u64, test: &Test<Endpoint>) -> SimConfig {
        let words = REGION_BYTES / WORD_BYTES;
        let mut config = SimConfig::hostile(seed).named(test.name).with_servers(&[words, words]);
        (config.carrier, config.broken) = (self.carrier, self.broken);
        config.atomic_window_ns = config.atomic_window_ns.max(ATOMIC_WINDOW_NS);
        if seed.is_multiple_of(2) {
            config.duplicate_call_one_in = 1;
            config = config.with_fault(FaultKind::DuplicateCompletion, FaultRate::new(1, 1));
        }
        if test.disturbance == Some(Disturbance::LoseBatches) {
            config = config.with_fault(FaultKind::LateVerb, FaultRate::new(LATE_ONE_IN, 1));
        }
        config
    }

    fn world(&self, seed: u64, test: &Test<Endpoint>) -> World {
        let world = World::new(self.config(seed, test));
        for node in [NodeId(0), NodeId(1)] {
            world.register(node, ECHO, Echo::of(node));
        }
        world
    }
}

impl Stage for Simulated {
    type Env = Endpoint;

    fn name(&self) -> &'static str {
        match self.carrier {
            Carrier::Card => "sim",
            Carrier::Caller => "sim-coherent",
            Carrier::Server => "sim-serial",
        }
    }

    fn carrier(&self) -> Carrier {
        self.carrier
    }

    fn runs(&self) -> Runs {
        Runs { least: self.seeds, most: self.seeds, span: Duration::ZERO }
    }

    fn refuses(&self, disturbance: Disturbance) -> Option<&'static str> {
        match disturbance {
            Disturbance::KillServer | Disturbance::KillParty | Disturbance::LoseBatches => None,
            Disturbance::RepeatCall => Some("the test calls-answered-once repeats its calls here"),
            _ => Some(
                "connecting is not simulated; the tests of the crate sim cover stale keys after a restart",
            ),
        }
    }

    fn play(&self, test: &Test<Self::Env>, run: u64) -> Result<Vec<Vec<u64>>, String> {
        let world = self.world(run, test);
        let reports: Reports = Rc::new(RefCell::new(vec![None; test.parties as usize]));
        let mut envs = Vec::new();
        for number in 0..test.parties {
            let env = world.endpoint(world.compute_node(number as u16));
            envs.push(env.clone());
            let (count, rounds, patience_ns) = (test.parties, ROUNDS, PATIENCE_NS);
            let play = (test.play)(Party {
                env: env.clone(),
                number,
                count,
                rounds,
                patience_ns,
                overtime_ns: 0,
            });
            let reports = reports.clone();
            world.spawn_on(&env, async move {
                let report = play.await;
                reports.borrow_mut()[number as usize] = Some(report);
            });
        }
        if let Some(disturbance) = test.disturbance {
            // The run number times a prime spreads the moments over the whole time.
            world.run_for(run * 7919 % DISTURBED_NS);
            match disturbance {
                // The faults of the world do.
                Disturbance::LoseBatches => {}
                Disturbance::KillServer => world.kill_node(NodeId(1)),
                Disturbance::KillParty => world.kill(&envs[1]),
                other => return Err(format!("{other:?} is refused")),
            }
        }
        let waiting = world.run_until_idle();
        let reports = reports.take().into_iter().map(|report| report.unwrap_or(Ok(Vec::new())));
        let reports: Result<Vec<_>, String> = reports.collect();
        let reports = reports.map_err(|error| format!("{}: {error}", world.identity()))?;
        if waiting > 0 {
            return Err(format!("{}: {waiting} tasks wait for ever", world.identity()));
        }
        Ok(reports)
    }
}
