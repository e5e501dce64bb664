//! Faults in scenario files: rates of random faults, and plans of certain ones.
//!
//! A rate is in the section `faults`, under the name of its kind: `lost-completion = { every = 300
//! }`. Faults of batches and of arrivals at failure points happen once in that many of them, all
//! others once in that many nanoseconds on average. A plan is a list of `[[plan]]` sections. All
//! times count from the start of the clients.

use super::{Problem, Scenario};
use crate::coverage::failure_points;
use crate::near;
use layout::NodeId;
use serde::{Deserialize, Serialize};
use sim::{Fault, FaultKind, FaultRate, Interval, Memory, PlannedFault, Victims, When};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

const FOR_EVER_NS: u64 = u64::MAX;
/// The range of a clock's drift in microseconds per second: the clock advances, and runs at most
/// twice too fast.
const DRIFT: RangeInclusive<i32> = -999_999..=1_000_000;

/// The rate of a random kind of fault.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RatePlan {
    /// One fault per this many batches or arrivals; for faults of nodes and links, the average
    /// number of nanoseconds between two.
    pub every: u64,
    /// The longest duration of a fault, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasts_ns: Option<u64>,
    /// The nodes that it affects.
    #[serde(default, skip_serializing_if = "VictimName::is_all")]
    pub victims: VictimName,
}

/// The nodes that faults affect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VictimName {
    /// Any node.
    #[default]
    All,
    /// Memory servers.
    Servers,
    /// Compute servers.
    Clients,
}

impl VictimName {
    fn is_all(&self) -> bool {
        *self == Self::All
    }
}

/// A planned fault. Its keys depend on its kind.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlannedEntry {
    /// The name of its kind.
    pub fault: String,
    /// The time at which it happens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<u64>,
    /// Or the batch at whose posting it happens, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// Or the failure point at which it happens
    #[serde(skip_serializing_if = "Option::is_none")]
    pub point: Option<String>,
    /// at the arrival of this number, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nth: Option<u64>,
    /// The node that it affects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u16>,
    /// The nodes that are cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<u16>>,
    /// The sender's end of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u16>,
    /// The receiver's end of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u16>,
    /// Its duration; without a value, for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lasts_ns: Option<u64>,
    /// Shortest and longest additional delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ns: Option<[u64; 2]>,
    /// The slow-down factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<u64>,
    /// The size of a clock's jump.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_ns: Option<u64>,
    /// A clock's drift, in microseconds per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts_per_million: Option<i32>,
}

/// The names of all kinds that `is_wanted` accepts, for messages.
fn names(is_wanted: impl Fn(FaultKind) -> bool) -> String {
    let names: Vec<&str> =
        FaultKind::ALL.into_iter().filter(|kind| is_wanted(*kind)).map(FaultKind::name).collect();
    names.join(", ")
}

/// Reports an error if a rate or a plan is impossible.
pub(super) fn check(scenario: &Scenario) -> Result<(), Problem> {
    rates(scenario)?;
    for (place, entry) in scenario.plan.iter().enumerate() {
        let planned = entry
            .planned(0)
            .map_err(|(key, sentence)| Problem::new(format!("plan.{place}.{key}"), sentence))?;
        planned.check().map_err(|sentence| Problem::new(format!("plan.{place}"), sentence))?;
        check_values(entry)
            .map_err(|(key, sentence)| Problem::new(format!("plan.{place}.{key}"), sentence))?;
        check_nodes(scenario, place, entry)?;
    }
    Ok(())
}

/// Checks that a planned fault can happen: its failure point exists, and its values have an effect.
fn check_values(entry: &PlannedEntry) -> Result<(), Wrong> {
    if let Some(point) = &entry.point
        && !failure_points().contains(&point.as_str())
    {
        let known = near::names(point, &failure_points());
        let sentence = format!("there is no failure point {point:?}; write one of {known}");
        return Err(("point", sentence));
    }
    if entry.nodes.as_ref().is_some_and(Vec::is_empty) {
        return Err(("nodes", "an empty list cuts no node off; write one such as [2]".to_owned()));
    }
    match entry.parts_per_million {
        Some(drift) if !DRIFT.contains(&drift) => {
            let (low, high) = (DRIFT.start(), DRIFT.end());
            let sentence =
                format!("parts_per_million is {drift}; write a number from {low} to {high}");
            Err(("parts_per_million", sentence))
        }
        _ => Ok(()),
    }
}

/// Checks that the named nodes exist, whatever is drawn.
fn check_nodes(scenario: &Scenario, place: usize, entry: &PlannedEntry) -> Result<(), Problem> {
    let cluster = &scenario.cluster;
    let least = |values: &[u16]| values.iter().copied().min().unwrap_or(0);
    let servers = least(cluster.memory_servers.values()) + least(cluster.compute_servers.values());
    // The last node is the observer's; random faults may affect it, too.
    let count = servers + 1;
    let single = [("node", entry.node), ("from", entry.from), ("to", entry.to)];
    let mut named: Vec<_> =
        single.into_iter().filter_map(|(key, node)| Some((key, node?))).collect();
    named.extend(entry.nodes.iter().flatten().map(|&node| ("nodes", node)));
    match named.into_iter().find(|&(_, node)| node >= count) {
        None => Ok(()),
        Some((key, node)) => {
            let sentence = format!("there is no node {node}; the scenario has 0 to {}", count - 1);
            Err(Problem::new(format!("plan.{place}.{key}"), sentence))
        }
    }
}

/// The rates of a scenario, by kind.
pub(crate) fn rates(scenario: &Scenario) -> Result<BTreeMap<FaultKind, FaultRate>, Problem> {
    let mut rates = BTreeMap::new();
    for (name, plan) in &scenario.faults {
        let path = format!("faults.{name}");
        let kind = FaultKind::from_name(name).filter(|kind| kind.has_rate());
        let Some(kind) = kind else {
            let known = names(FaultKind::has_rate);
            let sentence =
                format!("no fault of kind {name} happens by chance; write one of {known}");
            return Err(Problem::new(path, sentence));
        };
        if plan.every == 0 {
            return Err(Problem::new(format!("{path}.every"), "every is 0; write 1 or more"));
        }
        if kind == FaultKind::MemoryFull && plan.victims == VictimName::Clients {
            let sentence = "only memory servers are ever full; write \"servers\" or \"all\"";
            return Err(Problem::new(format!("{path}.victims"), sentence));
        }
        let victims = match plan.victims {
            VictimName::All => Victims::All,
            VictimName::Servers => Victims::Servers,
            VictimName::Clients => Victims::Clients,
        };
        let lasts_ns = plan.lasts_ns.unwrap_or(1).max(1);
        rates.insert(kind, FaultRate::new(plan.every, lasts_ns).of(victims));
    }
    Ok(rates)
}

/// A missing or wrong key, and what to write instead.
type Wrong = (&'static str, String);

impl PlannedEntry {
    /// The fault and its time, for clients that start at `start_ns`.
    pub(crate) fn planned(&self, start_ns: u64) -> Result<PlannedFault, Wrong> {
        Ok(PlannedFault { when: self.when(start_ns)?, fault: self.fault()? })
    }

    fn when(&self, start_ns: u64) -> Result<When, Wrong> {
        let sentence = "say when it happens by one of at_ns, batch, or point with nth";
        match (self.at_ns, self.batch, &self.point) {
            (Some(at_ns), None, None) => Ok(When::At(start_ns.saturating_add(at_ns))),
            (None, Some(batch), None) => Ok(When::Batch(batch)),
            (None, None, Some(name)) => {
                Ok(When::Point { name: name.clone(), nth: self.nth.unwrap_or(1) })
            }
            _ => Err(("fault", sentence.to_owned())),
        }
    }

    fn fault(&self) -> Result<Fault, Wrong> {
        let Some(kind) = FaultKind::from_name(&self.fault) else {
            let known = names(is_planned);
            return Err((
                "fault",
                format!("there is no fault {:?}; write one of {known}", self.fault),
            ));
        };
        let lasts_ns = self.lasts_ns.unwrap_or(FOR_EVER_NS);
        let is_arrival = self.point.is_some() && self.node.is_none();
        Ok(match kind {
            FaultKind::NodeCrash if is_arrival => Fault::CrashArriving,
            FaultKind::NodeCrash => Fault::Crash { node: self.node()? },
            FaultKind::ProcessKill => Fault::KillArriving,
            FaultKind::ProcessPause if is_arrival => Fault::PauseArriving { lasts_ns },
            FaultKind::ProcessPause => Fault::Pause { node: self.node()?, lasts_ns },
            FaultKind::Fence => Fault::Fence { node: self.node()? },
            FaultKind::Hold => Fault::HoldArriving { lasts_ns },
            FaultKind::LinkDelay => {
                let [low, high] = self.needed(self.delay_ns, "delay_ns", "[1000, 50_000]")?;
                let delay_ns = Interval::new(low.min(high), high);
                Fault::LinkDelay { from: self.from()?, to: self.to()?, delay_ns, lasts_ns }
            }
            FaultKind::ConnectionLoss => {
                Fault::ConnectionLoss { from: self.from()?, to: self.to()? }
            }
            FaultKind::OneWayPartition => {
                Fault::OneWayPartition { from: self.from()?, to: self.to()?, lasts_ns }
            }
            FaultKind::FullPartition => {
                let nodes = self.needed(self.nodes.clone(), "nodes", "[2]")?;
                Fault::FullPartition { nodes: nodes.into_iter().map(NodeId).collect(), lasts_ns }
            }
            FaultKind::LostCompletion => Fault::LostCompletion,
            FaultKind::LateVerb => Fault::LateVerb,
            FaultKind::DuplicateCompletion => Fault::DuplicateCompletion,
            FaultKind::GreyCard => {
                let factor = self.needed(self.factor, "factor", "20")?;
                Fault::GreyCard { node: self.node()?, factor, lasts_ns }
            }
            FaultKind::ClockJump => {
                let by_ns = self.needed(self.by_ns, "by_ns", "1_000_000")?;
                Fault::ClockJump { node: self.node()?, by_ns }
            }
            FaultKind::ClockDrift => {
                let parts_per_million =
                    self.needed(self.parts_per_million, "parts_per_million", "500")?;
                Fault::ClockDrift { node: self.node()?, parts_per_million }
            }
            FaultKind::MemoryFull => Fault::MemoryFull { node: self.node()?, lasts_ns },
            FaultKind::RestartWithMemory => {
                Fault::Restart { node: self.node()?, memory: Memory::Kept }
            }
            FaultKind::RestartWithoutMemory => {
                Fault::Restart { node: self.node()?, memory: Memory::Lost }
            }
            other => {
                let known = names(is_planned);
                return Err(("fault", format!("{other} is not planned; write one of {known}")));
            }
        })
    }

    /// The largest node number in it.
    pub(crate) fn last_node(&self) -> Option<u16> {
        let named = [self.node, self.from, self.to].into_iter().flatten();
        named.chain(self.nodes.iter().flatten().copied()).max()
    }

    fn needed<T>(&self, value: Option<T>, key: &str, example: &str) -> Result<T, Wrong> {
        value.ok_or_else(|| {
            ("fault", format!("a planned {} needs {key}, such as {key} = {example}", self.fault))
        })
    }

    fn node(&self) -> Result<NodeId, Wrong> {
        self.needed(self.node, "node", "0").map(NodeId)
    }

    fn from(&self) -> Result<NodeId, Wrong> {
        self.needed(self.from, "from", "2").map(NodeId)
    }

    fn to(&self) -> Result<NodeId, Wrong> {
        self.needed(self.to, "to", "0").map(NodeId)
    }

    /// The entry of a fault that has happened, for clients that started at `start_ns`.
    pub(crate) fn of(planned: &PlannedFault, start_ns: u64) -> Self {
        let mut entry = Self { fault: planned.fault.kind().name().to_owned(), ..Self::default() };
        match &planned.when {
            When::At(at_ns) => entry.at_ns = Some(at_ns.saturating_sub(start_ns)),
            When::Batch(batch) => entry.batch = Some(*batch),
            When::Point { name, nth } => {
                (entry.point, entry.nth) = (Some(name.clone()), Some(*nth));
            }
        }
        let lasting = |lasts_ns: u64| (lasts_ns != FOR_EVER_NS).then_some(lasts_ns);
        match &planned.fault {
            Fault::Crash { node } | Fault::Restart { node, .. } | Fault::Fence { node } => {
                entry.node = Some(node.0);
            }
            Fault::Pause { node, lasts_ns } | Fault::MemoryFull { node, lasts_ns } => {
                (entry.node, entry.lasts_ns) = (Some(node.0), lasting(*lasts_ns));
            }
            Fault::LinkDelay { from, to, delay_ns, lasts_ns } => {
                (entry.from, entry.to) = (Some(from.0), Some(to.0));
                entry.delay_ns = Some([delay_ns.min_ns, delay_ns.max_ns]);
                entry.lasts_ns = lasting(*lasts_ns);
            }
            Fault::ConnectionLoss { from, to } => {
                (entry.from, entry.to) = (Some(from.0), Some(to.0));
            }
            Fault::OneWayPartition { from, to, lasts_ns } => {
                (entry.from, entry.to) = (Some(from.0), Some(to.0));
                entry.lasts_ns = lasting(*lasts_ns);
            }
            Fault::FullPartition { nodes, lasts_ns } => {
                entry.nodes = Some(nodes.iter().map(|node| node.0).collect());
                entry.lasts_ns = lasting(*lasts_ns);
            }
            Fault::GreyCard { node, factor, lasts_ns } => {
                (entry.node, entry.factor) = (Some(node.0), Some(*factor));
                entry.lasts_ns = lasting(*lasts_ns);
            }
            Fault::ClockJump { node, by_ns } => {
                (entry.node, entry.by_ns) = (Some(node.0), Some(*by_ns));
            }
            Fault::ClockDrift { node, parts_per_million } => {
                entry.node = Some(node.0);
                entry.parts_per_million = Some(*parts_per_million);
            }
            Fault::HoldArriving { lasts_ns } | Fault::PauseArriving { lasts_ns } => {
                entry.lasts_ns = lasting(*lasts_ns);
            }
            Fault::KillArriving
            | Fault::CrashArriving
            | Fault::LostCompletion
            | Fault::LateVerb
            | Fault::DuplicateCompletion => {}
        }
        entry
    }
}

fn is_planned(kind: FaultKind) -> bool {
    !matches!(kind, FaultKind::Zombie | FaultKind::DuplicateCall | FaultKind::StaleKey)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_faults_can_be_planned() {
        let node = NodeId(1);
        let (from, to, lasts_ns) = (NodeId(2), NodeId(0), 500);
        let delay_ns = Interval::new(3, 9);
        let moment = || When::At(1700);
        let point = || When::Point { name: "commit::LocksHeld".to_owned(), nth: 4 };
        let faults = [
            (moment(), Fault::Crash { node }),
            (moment(), Fault::Restart { node, memory: Memory::Kept }),
            (moment(), Fault::Restart { node, memory: Memory::Lost }),
            (moment(), Fault::Pause { node, lasts_ns }),
            (moment(), Fault::Fence { node }),
            (moment(), Fault::LinkDelay { from, to, delay_ns, lasts_ns }),
            (moment(), Fault::ConnectionLoss { from, to }),
            (moment(), Fault::OneWayPartition { from, to, lasts_ns: FOR_EVER_NS }),
            (moment(), Fault::FullPartition { nodes: vec![node, from], lasts_ns }),
            (When::Batch(7), Fault::LostCompletion),
            (When::Batch(8), Fault::DuplicateCompletion),
            (moment(), Fault::GreyCard { node, factor: 5, lasts_ns }),
            (moment(), Fault::ClockJump { node, by_ns: 77 }),
            (moment(), Fault::ClockDrift { node, parts_per_million: -20 }),
            (moment(), Fault::MemoryFull { node, lasts_ns }),
            (point(), Fault::KillArriving),
            (point(), Fault::CrashArriving),
            (point(), Fault::HoldArriving { lasts_ns }),
            (point(), Fault::PauseArriving { lasts_ns }),
        ];
        for (when, fault) in faults {
            let planned = PlannedFault { when, fault };
            let entry = PlannedEntry::of(&planned, 1000);
            let text = toml::to_string(&entry).expect("it has what TOML has");
            let read: PlannedEntry = toml::from_str(&text).expect("it was just written");
            assert_eq!(read.planned(1000), Ok(planned), "{text}");
        }
    }
}
