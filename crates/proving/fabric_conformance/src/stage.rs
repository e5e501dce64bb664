//! A fabric that runs tests.

use crate::test::{Disturbance, Need, Test};
use fabric::{Env, Fabric};
use sim::Carrier;
use std::time::{Duration, Instant};

/// The outcome of a test on one fabric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It passed, and the tested event was seen this many times.
    Passed(u64),
    /// The first error.
    Failed(String),
    /// The test does not apply to the fabric, for this reason.
    Cannot(String),
    /// The test needs something that is absent.
    Skipped {
        reason: String,
        /// Whether hardware is absent, which a gate cannot require.
        is_hardware: bool,
    },
}

/// The number of runs of a test: at least `least`; more, up to `most`, until `span` has passed, or
/// while the tested event has not been seen.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    pub least: u64,
    pub most: u64,
    /// The time for which to continue.
    pub span: Duration,
}

/// The longest time to continue without having seen the event.
const SPAN_MAX: Duration = Duration::from_secs(20);

/// A fabric that runs tests.
pub trait Stage {
    type Env: Env;

    /// The name in tables and on the command line.
    fn name(&self) -> &'static str;

    /// The processor that executes its verbs.
    fn carrier(&self) -> Carrier;

    /// A known defect of the device that executes verbs: failed swaps write back the value that
    /// they read.
    fn flaw(&self) -> Option<String> {
        None
    }

    /// How often to run each test.
    fn runs(&self) -> Runs;

    /// The reason why this fabric cannot apply the disturbance, if it cannot.
    fn refuses(&self, disturbance: Disturbance) -> Option<&'static str>;

    /// Runs a test with fresh memory; returns the parties' reports, or the first error.
    fn play(&self, test: &Test<Self::Env>, run: u64) -> Result<Vec<Vec<u64>>, String>;
}

/// Runs `test` as often as the stage requires, and judges the reports.
pub fn give<S: Stage>(stage: &S, test: &Test<S::Env>) -> Outcome {
    let lacks = test.needs.iter().find_map(|&need| lacks(stage, need));
    let refuses = test.disturbance.and_then(|disturbance| stage.refuses(disturbance));
    if let Some(reason) = lacks.or(refuses.map(str::to_owned)) {
        return Outcome::Cannot(reason);
    }
    let Runs { least, most, span } = stage.runs();
    let must_see = !test.seen.is_empty() && !test.is_information;
    let mut seen = 0;
    #[allow(clippy::disallowed_methods, reason = "the number of runs may depend on real time")]
    let start = Instant::now();
    for run in 0..most {
        let span = if must_see && seen == 0 { SPAN_MAX } else { span };
        if run >= least && start.elapsed() >= span {
            break;
        }
        match stage.play(test, run).and_then(|reports| (test.judge)(&reports)) {
            Ok(count) => seen += count,
            Err(error) => return Outcome::Failed(format!("run {run}: {error}")),
        }
    }
    if must_see && seen == 0 {
        return Outcome::Failed(format!("no run had {}", test.seen));
    }
    Outcome::Passed(seen)
}

fn lacks<S: Stage>(stage: &S, need: Need) -> Option<String> {
    let reason = match need {
        Need::Waiting if <S::Env as Fabric>::IMMEDIATE => {
            "verbs complete before a caller could stop waiting"
        }
        Need::CoherentMemory if !stage.carrier().is_coherent() => {
            "memory is not coherent with processors"
        }
        Need::ServersCarry if stage.carrier() != Carrier::Server => {
            "other processors touch memory while a verb is executed"
        }
        Need::QuietSwaps => return stage.flaw(),
        _ => return None,
    };
    Some(reason.to_owned())
}
