//! A fabric on which plays are given.

use crate::test::{Disturbance, Need, Test};
use fabric::{Env, Fabric};
use sim::Carrier;
use std::time::{Duration, Instant};

/// What came of a test on one fabric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It passed, having seen so often what it is about.
    Passed(u64),
    /// What was found wrong.
    Failed(String),
    /// The fabric has nothing to which the test could apply, for this reason.
    Cannot(String),
    /// Something is absent that the test needs.
    Skipped {
        /// What.
        reason: String,
        /// Whether it is hardware, which nobody can demand of a machine.
        is_hardware: bool,
    },
}

/// How many runs of a play there are: more than `least` only for so long, or while nothing of what the test is
/// about has been seen.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    /// So many in any case.
    pub least: u64,
    /// No more than these.
    pub most: u64,
    /// How long to go on.
    pub span: Duration,
}

/// Longest to go on without seeing anything.
const SPAN_MAX: Duration = Duration::from_secs(20);

/// A fabric on which plays are given.
pub trait Stage {
    /// The parties' endpoints.
    type Env: Env;

    /// Its name in tables and on the command line.
    fn name(&self) -> &'static str;

    /// Who carries out its verbs.
    fn carrier(&self) -> Carrier;

    /// What is known to be wrong with what carries them out, so that failed swaps write back what they found.
    fn flaw(&self) -> Option<String> {
        None
    }

    /// How often to give each play.
    fn runs(&self) -> Runs;

    /// Why a play cannot be disturbed in this way, if it cannot.
    fn refuses(&self, disturbance: Disturbance) -> Option<&'static str>;

    /// Gives a play with fresh memory; answers the parties' reports, or the first thing that was wrong.
    fn play(&self, test: &Test<Self::Env>, run: u64) -> Result<Vec<Vec<u64>>, String>;
}

/// Gives the play of `test` as often as the stage wants it, and judges.
pub fn give<S: Stage>(stage: &S, test: &Test<S::Env>) -> Outcome {
    let lacks = test.needs.iter().find_map(|&need| lacks(stage, need));
    let refuses = test.disturbance.and_then(|disturbance| stage.refuses(disturbance));
    if let Some(reason) = lacks.or(refuses.map(str::to_owned)) {
        return Outcome::Cannot(reason);
    }
    let Runs { least, most, span } = stage.runs();
    let must_see = !test.seen.is_empty() && !test.is_information;
    let mut seen = 0;
    #[allow(
        clippy::disallowed_methods,
        reason = "how often a play is given may depend on real time"
    )]
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
        return Outcome::Failed(format!("in no run there were {}", test.seen));
    }
    Outcome::Passed(seen)
}

fn lacks<S: Stage>(stage: &S, need: Need) -> Option<String> {
    let reason = match need {
        Need::Waiting if <S::Env as Fabric>::IMMEDIATE => {
            "verbs are complete before anybody could stop waiting"
        }
        Need::CoherentMemory if !stage.carrier().is_coherent() => {
            "memory is not coherent with processors"
        }
        Need::ServersCarry if stage.carrier() != Carrier::Server => {
            "others touch memory while a verb is carried out"
        }
        Need::QuietSwaps => return stage.flaw(),
        _ => return None,
    };
    Some(reason.to_owned())
}
