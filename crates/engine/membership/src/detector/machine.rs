//! The decisions of a failure detector as a state machine: time and signs of life go in, probes and
//! evictions come out. It has no clock, no socket and no thread, so it also runs in simulations.
//!
//! ```text
//!            silent for a lease               probes unanswered, or proof of death
//!   Trusted --------------------> Suspected ---------------------------------------> Deciding
//!      ^                            |   ^                                               |
//!      +------- sign of life -------+   +--------- the record was not reached ----------+
//! ```
//! `Deciding` ends when the member is no longer in the map: the compare-and-swap of the record
//! decides, no matter which observer has made it.
//!
//! Silence counts on the observer's own time: between two rounds at most a quarter of a lease
//! passes, however long they are apart. An observer that was suspended, is short of processors, or
//! whose clock steps forward, therefore blames nobody for what it has not received itself.
//!
//! Decision: docs/decisions/0312-heartbeats-detect-and-one-swap-decides.md

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Heartbeats per lease: three may be lost in a row without a suspicion.
const HEARTBEATS_PER_LEASE: u64 = 5;
/// A probe may take this part of a lease; half-way it is repeated.
const PROBE_PART: u64 = 4;
const PROBES: u64 = 2;
/// Longest time between two rounds that counts as silence, as part of a lease.
const GAP_PART: u64 = 4;
/// Time that a member has for its first heartbeat, in addition to a lease: it joins the cluster
/// before it begins to send.
const GREETING_NS: u64 = 5_000_000_000;
/// Number of refusals in a row that count as proof of death under [`Rule::Proof`].
const REFUSALS: u32 = 3;

/// The times of a detector, which follow from its lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    pub lease_ns: u64,
}

impl Timing {
    /// Time between two heartbeats.
    pub const fn heartbeat_ns(self) -> u64 {
        self.lease_ns / HEARTBEATS_PER_LEASE
    }

    /// Time that a suspected member has for its answer.
    pub const fn probe_ns(self) -> u64 {
        self.lease_ns / PROBE_PART
    }

    const fn probe_pause_ns(self) -> u64 {
        self.probe_ns() / PROBES
    }

    const fn gap_ns(self) -> u64 {
        self.lease_ns / GAP_PART
    }
}

/// Which evidence evicts a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Silence for a lease, and unanswered probes: survivors can finish what it was doing.
    Lease,
    /// Only proof that its process has ended: nobody has what it has, so a pause must not be
    /// mistaken for a death.
    Proof,
}

/// Why a member is evicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// No heartbeat for a lease, and no answer to probes.
    Silence,
    /// The kernel of this host says that its process has ended.
    ProcessEnded,
    /// Its host says that nobody has its port.
    PortRefused,
    /// It has not ended what it did on a memory server that has died.
    Undrained,
}

/// A task of the observer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A member is suspected from now on.
    Suspect { member: u64, silent_ns: u64 },
    /// Ask the member for a sign of life.
    Probe { member: u64 },
    /// A suspected member has given one.
    Trust { member: u64 },
    /// Swap the membership record for one without the member.
    Evict { member: u64, evidence: Evidence, silent_ns: u64 },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Trusted,
    Suspected {
        /// Observed time at which it became suspected.
        since_ns: u64,
        /// Observed time of the next probe.
        probe_ns: u64,
        /// Evidence whose eviction has failed.
        proof: Option<Evidence>,
    },
    Deciding {
        evidence: Evidence,
    },
}

struct Watched {
    rule: Rule,
    /// Observed time of the last sign of life, or since when it is watched.
    heard_ns: u64,
    /// Time of the last sign of life on the caller's clock.
    sign_ns: u64,
    has_spoken: bool,
    refusals: u32,
    state: State,
}

/// A member as the detector sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opinion {
    pub member: u64,
    /// Time since its last sign of life, or since it is watched.
    pub age_ns: u64,
    /// Whether it has given a sign of life.
    pub has_spoken: bool,
    pub is_suspected: bool,
}

/// Watches members.
pub struct Machine {
    timing: Timing,
    /// Silence that this observer can vouch for: the sum of the times between rounds, each
    /// limited.
    observed_ns: u64,
    /// The latest time that the caller gave.
    now_ns: u64,
    watched: BTreeMap<u64, Watched>,
    steps: Vec<Step>,
}

impl Machine {
    /// Watches nobody. `now_ns` is the time of any clock; all later times are of the same one.
    pub fn new(timing: Timing, now_ns: u64) -> Self {
        let (watched, steps) = (BTreeMap::new(), Vec::new());
        Self { timing, observed_ns: 0, now_ns, watched, steps }
    }

    /// Starts watching a member. If it is watched already, the rule is replaced.
    pub fn watch(&mut self, member: u64, rule: Rule) {
        let (heard_ns, sign_ns) = (self.observed_ns, self.now_ns);
        let watched = self.watched.entry(member).and_modify(|watched| watched.rule = rule);
        watched.or_insert(Watched {
            rule,
            heard_ns,
            sign_ns,
            has_spoken: false,
            refusals: 0,
            state: State::Trusted,
        });
    }

    /// Watches only those that `is_kept` selects, since the others are no members any more.
    pub fn retain(&mut self, is_kept: impl Fn(u64) -> bool) {
        self.watched.retain(|&member, _| is_kept(member));
        self.steps.retain(|step| is_kept(step.member()));
    }

    pub fn is_watched(&self, member: u64) -> bool {
        self.watched.contains_key(&member)
    }

    /// A heartbeat or an answer has come from the member. It does not stop a decision that has
    /// begun.
    pub fn heard(&mut self, member: u64) {
        let Some(watched) = self.watched.get_mut(&member) else { return };
        match watched.state {
            State::Deciding { .. } => return,
            // Datagrams arrive after the end of their process, too.
            State::Suspected { proof: Some(Evidence::ProcessEnded), .. } => return,
            State::Suspected { .. } => self.steps.push(Step::Trust { member }),
            State::Trusted => {}
        }
        watched.state = State::Trusted;
        (watched.heard_ns, watched.sign_ns) = (self.observed_ns, self.now_ns);
        (watched.has_spoken, watched.refusals) = (true, 0);
    }

    /// The kernel says that the member's process has ended.
    pub fn process_ended(&mut self, member: u64) {
        self.decide(member, Evidence::ProcessEnded);
    }

    /// The member's host says that nobody has the member's port.
    pub fn port_refused(&mut self, member: u64) {
        let Some(watched) = self.watched.get_mut(&member) else { return };
        if watched.rule == Rule::Proof {
            let is_suspected = matches!(watched.state, State::Suspected { .. });
            watched.refusals += u32::from(is_suspected);
            if watched.refusals < REFUSALS {
                return;
            }
        }
        self.decide(member, Evidence::PortRefused);
    }

    /// A connection of the member was lost, which happens at its death and at many other times.
    pub fn doubt(&mut self, member: u64) {
        let is_trusted = |watched: &Watched| watched.state == State::Trusted;
        if self.watched.get(&member).is_some_and(is_trusted) {
            self.steps.push(Step::Probe { member });
        }
    }

    /// The record could not be swapped: the member is probed again before the next attempt.
    pub fn undecided(&mut self, member: u64) {
        let Some(watched) = self.watched.get_mut(&member) else { return };
        if let State::Deciding { evidence } = watched.state {
            let proof = (evidence != Evidence::Silence).then_some(evidence);
            let (since_ns, probe_ns) = (self.observed_ns, self.observed_ns);
            watched.state = State::Suspected { since_ns, probe_ns, proof };
        }
    }

    /// Lets time pass until `now_ns`. A clock that has stepped back stands still until it is where
    /// it was.
    pub fn advance(&mut self, now_ns: u64) {
        let gap_ns = now_ns.saturating_sub(self.now_ns);
        self.observed_ns += gap_ns.min(self.timing.gap_ns());
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Judges who is silent. Between [`Machine::advance`] and this, the observer passes on
    /// everything that it has received: nobody is blamed for what waits in a queue.
    pub fn judge(&mut self) {
        let due: Vec<u64> = self.watched.keys().copied().collect();
        due.into_iter().for_each(|member| self.check(member));
    }

    fn check(&mut self, member: u64) {
        let (observed_ns, timing) = (self.observed_ns, self.timing);
        let watched = self.watched.get_mut(&member).expect("its key was read");
        let silent_ns = observed_ns - watched.heard_ns;
        let limit_ns = watched.limit_ns(timing);
        match &mut watched.state {
            State::Trusted if silent_ns >= limit_ns => {
                let probe_ns = observed_ns + timing.probe_pause_ns();
                let since_ns = observed_ns;
                watched.state = State::Suspected { since_ns, probe_ns, proof: None };
                self.steps.push(Step::Suspect { member, silent_ns });
                self.steps.push(Step::Probe { member });
            }
            State::Trusted | State::Deciding { .. } => {}
            State::Suspected { since_ns, probe_ns, proof } => {
                let is_over = observed_ns - *since_ns >= timing.probe_ns();
                let silence = (watched.rule == Rule::Lease).then_some(Evidence::Silence);
                match proof.or(silence).filter(|_| is_over) {
                    Some(evidence) => self.decide(member, evidence),
                    None if observed_ns >= *probe_ns => {
                        *probe_ns = observed_ns + timing.probe_pause_ns();
                        self.steps.push(Step::Probe { member });
                    }
                    None => {}
                }
            }
        }
    }

    fn decide(&mut self, member: u64, evidence: Evidence) {
        let Some(watched) = self.watched.get_mut(&member) else { return };
        if matches!(watched.state, State::Deciding { .. }) {
            return;
        }
        watched.state = State::Deciding { evidence };
        let silent_ns = self.now_ns - watched.sign_ns;
        self.steps.push(Step::Evict { member, evidence, silent_ns });
    }

    /// Takes what is to be done, in order.
    pub fn steps(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.steps)
    }

    /// Time after which the next round is due, if nothing is heard before.
    pub fn due_ns(&self) -> u64 {
        let due = self.watched.values().filter_map(|watched| match watched.state {
            State::Trusted => Some(watched.heard_ns + watched.limit_ns(self.timing)),
            State::Suspected { since_ns, probe_ns, .. } => {
                Some(probe_ns.min(since_ns + self.timing.probe_ns()).max(self.observed_ns + 1))
            }
            State::Deciding { .. } => None,
        });
        let first = due.min().map_or(u64::MAX, |due| due.saturating_sub(self.observed_ns));
        // Time that passes without a round does not count.
        first.min(self.timing.gap_ns())
    }

    /// The detector's opinion of each member.
    pub fn opinions(&self) -> impl Iterator<Item = Opinion> {
        self.watched.iter().map(|(&member, watched)| Opinion {
            member,
            age_ns: self.now_ns - watched.sign_ns,
            has_spoken: watched.has_spoken,
            is_suspected: watched.state != State::Trusted,
        })
    }
}

impl Watched {
    fn limit_ns(&self, timing: Timing) -> u64 {
        timing.lease_ns + if self.has_spoken { 0 } else { GREETING_NS }
    }
}

impl Step {
    fn member(&self) -> u64 {
        match *self {
            Self::Suspect { member, .. }
            | Self::Probe { member }
            | Self::Trust { member }
            | Self::Evict { member, .. } => member,
        }
    }
}
