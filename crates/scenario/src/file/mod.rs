//! Scenario files: TOML that says what a simulated run is made of.
//!
//! To read it: [`plans`], [`hostility`], `broken` and [`workloads`] (the sections), [`choice`] (values that are drawn for each
//! seed), [`faults`] (what goes wrong), `problem` (what is said of a file that is wrong).

mod broken;
pub mod choice;
mod draw;
pub mod faults;
pub mod hostility;
pub mod plans;
mod problem;
mod validate;
pub mod workloads;

pub use choice::Choice;
use faults::{PlannedEntry, RatePlan};
use hostility::HostilityPlan;
use plans::{ClientPlan, ClusterPlan, DatabasePlan, DesignPlan, Expectation};
pub(crate) use problem::Problem;
pub use problem::ScenarioError;
use serde::{Deserialize, Serialize};
use sim::{BrokenPromises, FaultKind};
use std::collections::BTreeMap;
use workloads::WorkloadPlan;

/// What a run is made of, besides its seed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Names it; its file is called so, too.
    pub name: String,
    /// A sentence on what it shows.
    pub shows: String,
    /// Words by which scenarios are chosen; `fast` ones run when none is named.
    #[serde(default)]
    pub tags: Vec<String>,
    /// What is asked of the run.
    #[serde(default)]
    pub mode: Mode,
    /// Guards that are removed, to see that the scenario notices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutants: Vec<String>,
    /// The run of a script, which is a scenario with its seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// Where things run.
    pub cluster: ClusterPlan,
    /// How the database is opened.
    #[serde(default)]
    pub database: DatabasePlan,
    /// Who runs transactions.
    pub clients: ClientPlan,
    /// What the transactions are.
    pub workload: WorkloadPlan,
    /// How tables are kept, for workloads that leave it open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<DesignPlan>,
    /// How hostile the world is without faults.
    #[serde(default)]
    pub hostility: HostilityPlan,
    /// Promises of the fabric that the world breaks, to see that the scenario notices.
    #[serde(default, with = "broken::BrokenPlan", skip_serializing_if = "broken::are_kept")]
    pub broken: BrokenPromises,
    /// Faults by chance.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<String, RatePlan>,
    /// Faults for certain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<PlannedEntry>,
    /// What must hold in the end.
    #[serde(default)]
    pub expect: Expectation,
}

/// What is asked of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Mode {
    /// Faults all the time: whatever ends must have ended right.
    #[default]
    Safety,
    /// Faults stop after `faults_ns`; from then on every live client must end its transactions within
    /// `bound_ns`.
    Liveness {
        /// Virtual time from the start of the clients until faults stop.
        faults_ns: u64,
        /// Virtual time that is left for all that live.
        bound_ns: u64,
    },
}

/// What makes a scenario a script: a run that failed, as small as it could be made.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// The seed.
    pub seed: u64,
    /// The commit at which it failed.
    pub commit: String,
    /// How it failed.
    pub fails: String,
    /// What was wrong, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
}

impl Scenario {
    /// Reads a scenario; `file` is what messages call it.
    pub fn read(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self =
            toml::from_str(text).map_err(|error| ScenarioError::of_toml(file, text, &error))?;
        match validate::problem(&scenario) {
            None => Ok(scenario),
            Some(problem) => Err(ScenarioError::of_value(file, text, &problem)),
        }
    }

    /// The scenario as a file.
    pub fn write(&self) -> String {
        toml::to_string(self).expect("a scenario has what TOML has")
    }

    /// Whether it has this tag.
    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|other| other == tag)
    }

    /// Whether faults of this kind happen in it, by chance or by plan.
    pub fn names_fault(&self, kind: FaultKind) -> bool {
        let is_planned = self.plan.iter().any(|entry| entry.fault == kind.name());
        is_planned || self.faults.contains_key(kind.name())
    }

    /// Whether nothing goes wrong in it but what the scheduler and memory do anyway.
    pub fn is_calm(&self) -> bool {
        self.faults.is_empty() && self.plan.is_empty()
    }
}

impl WorkloadPlan {
    /// The name it has in files.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Append(_) => "append",
            Self::Register(_) => "register",
            Self::Bank(_) => "bank",
            Self::Cycle(_) => "cycle",
            Self::Smallbank(_) => "smallbank",
            Self::Tatp(_) => "tatp",
            Self::Tpcc(_) => "tpcc",
            Self::Churn(_) => "churn",
            Self::Passing(_) => "passing",
        }
    }

    /// Whether the section `design` says how its tables are kept.
    pub fn has_open_design(&self) -> bool {
        matches!(self, Self::Register(_) | Self::Cycle(_) | Self::Churn(_) | Self::Passing(_))
    }
}
