//! Scenario files: TOML that describes a simulated run.
//!
//! Read [`plans`], [`hostility`], `broken` and [`workloads`] (the sections), [`choice`] (values
//! that are drawn for each seed), [`faults`] (fault injection), `problem` (error messages).

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

/// The description of a run, without its seed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The name; also that of its file.
    pub name: String,
    /// A sentence that says what it shows.
    pub shows: String,
    /// Words that select scenarios; without a selection those with `fast` run.
    #[serde(default)]
    pub tags: Vec<String>,
    /// The mode of the run.
    #[serde(default)]
    pub mode: Mode,
    /// Guards to remove, to test that the scenario detects it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mutants: Vec<String>,
    /// For scripts, which are scenarios with a seed: the run that it replays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    pub cluster: ClusterPlan,
    #[serde(default)]
    pub database: DatabasePlan,
    pub clients: ClientPlan,
    pub workload: WorkloadPlan,
    /// The physical design of tables, for workloads that do not determine it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<DesignPlan>,
    /// The hostility of the world without faults.
    #[serde(default)]
    pub hostility: HostilityPlan,
    /// Promises of the fabric that the world breaks, to test that the scenario detects it.
    #[serde(default, with = "broken::BrokenPlan", skip_serializing_if = "broken::are_kept")]
    pub broken: BrokenPromises,
    /// Faults by chance.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<String, RatePlan>,
    /// Faults for certain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<PlannedEntry>,
    /// The requirements at the end.
    #[serde(default)]
    pub expect: Expectation,
}

/// The mode of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Mode {
    /// Faults happen all the time: every result must be correct.
    #[default]
    Safety,
    /// Faults stop after `faults_ns`; from then on every live client must end its transactions
    /// within `bound_ns`.
    Liveness {
        /// Virtual time from the start of the clients until faults stop.
        faults_ns: u64,
        /// Virtual time after that for all live clients.
        bound_ns: u64,
    },
}

/// The data that makes a scenario a script: a failing run, as small as possible.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    pub seed: u64,
    /// The commit at which it was found.
    pub commit: String,
    /// Its failure.
    pub fails: String,
    /// The cause, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// The guard whose removal brings the bug back: with it the run fails again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutant: Option<String>,
}

impl Scenario {
    /// Parses a scenario; `file` is its name in messages.
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

    pub fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|other| other == tag)
    }

    /// Whether faults of this kind happen in it, random or planned.
    pub fn names_fault(&self, kind: FaultKind) -> bool {
        let is_planned = self.plan.iter().any(|entry| entry.fault == kind.name());
        is_planned || self.faults.contains_key(kind.name())
    }

    /// Whether it has no faults, only the usual scheduler and memory.
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

    /// Whether its tables follow the section `design`.
    pub fn has_open_design(&self) -> bool {
        matches!(self, Self::Register(_) | Self::Cycle(_) | Self::Churn(_) | Self::Passing(_))
    }
}
