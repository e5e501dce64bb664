//! Fault injection: planned faults, random faults, and faults at failure points, with counters of
//! their effects.

use crate::config::{Interval, SimConfig};
use crate::fault::{Fault, FaultKind, FaultRate, PlannedFault, Victims, When};
use crate::random::Random;
use crate::state::Core;
use layout::NodeId;
use std::collections::BTreeMap;

/// The longest random additional delay of a link.
const DELAY_NS_MAX: u64 = 200_000;
/// The largest random slow-down factor of a card.
const GREY_FACTOR_MAX: u64 = 64;
/// The longest random jump of a clock.
const JUMP_NS_MAX: u64 = 50_000_000;
/// The largest random drift of a clock, in parts per million.
const DRIFT_MAX: u64 = 100_000;

/// A kind of fault that happens again and again.
struct Recurring {
    kind: FaultKind,
    rate: FaultRate,
    next_ns: u64,
}

/// The plans, the rates and the counters.
pub(crate) struct Injector {
    /// Random faults have a generator of their own: a run with one fault fewer draws everything
    /// else alike.
    random: Random,
    recurring: Vec<Recurring>,
    next_ns: u64,
    /// Faults of batches, each with its rate.
    of_batches: Vec<(Fault, u32)>,
    kill_one_in: u32,
    /// Planned faults by moment; at one moment, in the order of planning.
    planned: BTreeMap<(u64, u64), Fault>,
    plans: u64,
    by_batch: BTreeMap<u64, Vec<Fault>>,
    counts: [u64; FaultKind::ALL.len()],
    happened: Vec<PlannedFault>,
}

impl Injector {
    pub(crate) fn new(config: &SimConfig) -> Self {
        let mut injector = Self {
            random: Random::new(config.seed, 0xfa17),
            recurring: Vec::new(),
            next_ns: u64::MAX,
            of_batches: Vec::new(),
            kill_one_in: 0,
            planned: BTreeMap::new(),
            plans: 0,
            by_batch: BTreeMap::new(),
            counts: [0; FaultKind::ALL.len()],
            happened: Vec::new(),
        };
        injector.start(&config.faults, 0);
        injector
    }

    /// From now on random faults happen at these rates.
    pub(crate) fn start(&mut self, rates: &BTreeMap<FaultKind, FaultRate>, now_ns: u64) {
        self.recurring.clear();
        self.of_batches.clear();
        self.kill_one_in = 0;
        for (&kind, &rate) in rates.iter().filter(|(_, rate)| rate.every > 0) {
            assert!(kind.has_rate(), "faults of kind {kind} do not happen by chance");
            let one_in = u32::try_from(rate.every).unwrap_or(u32::MAX);
            match kind {
                FaultKind::LostCompletion => self.of_batches.push((Fault::LostCompletion, one_in)),
                FaultKind::LateVerb => self.of_batches.push((Fault::LateVerb, one_in)),
                FaultKind::DuplicateCompletion => {
                    self.of_batches.push((Fault::DuplicateCompletion, one_in));
                }
                FaultKind::ProcessKill => self.kill_one_in = one_in,
                _ => {
                    let next_ns = now_ns + self.pause_ns(rate);
                    self.recurring.push(Recurring { kind, rate, next_ns });
                }
            }
        }
        self.find_next();
    }

    /// The time of the next fault, planned or random.
    #[inline]
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Counts an effect of a fault of this kind.
    #[inline]
    pub(crate) fn count(&mut self, kind: FaultKind) {
        self.counts[kind as usize] += 1;
    }

    pub(crate) fn counts(&self) -> BTreeMap<FaultKind, u64> {
        FaultKind::ALL.into_iter().map(|kind| (kind, self.counts[kind as usize])).collect()
    }

    /// The random faults so far, as a plan.
    pub(crate) fn happened(&self) -> &[PlannedFault] {
        &self.happened
    }

    /// Draws the time until the next fault of a rate.
    fn pause_ns(&mut self, rate: FaultRate) -> u64 {
        1 + self.random.up_to(2 * rate.every)
    }

    fn find_next(&mut self) {
        let moments = self.recurring.iter().map(|recurring| recurring.next_ns);
        let by_plan = self.planned.keys().map(|&(time_ns, _)| time_ns).next();
        self.next_ns = moments.chain(by_plan).min().unwrap_or(u64::MAX);
    }

    /// Whether faults are planned, for which the world must run on.
    pub(crate) fn is_waited_for(&self) -> bool {
        !self.planned.is_empty()
    }

    /// Drops all plans and rates.
    fn stop(&mut self) {
        self.recurring.clear();
        self.of_batches.clear();
        self.kill_one_in = 0;
        self.by_batch.clear();
        // A crashed node still restarts as planned.
        self.planned.retain(|_, fault| matches!(fault, Fault::Restart { .. }));
        self.find_next();
    }
}

impl Core {
    /// Adds a fault to the plan.
    pub(crate) fn plan_fault(&mut self, planned: &PlannedFault) {
        if let Err(reason) = planned.check() {
            panic!("{reason}");
        }
        let fault = planned.fault.clone();
        match &planned.when {
            When::At(time_ns) => {
                let injector = &mut self.injector;
                injector.plans += 1;
                injector.planned.insert((self.now_ns.max(*time_ns), injector.plans), fault);
                injector.find_next();
            }
            When::Batch(number) => {
                self.injector.by_batch.entry(*number).or_default().push(fault);
            }
            When::Point { name, nth } => self.points.plan(name, *nth, fault),
        }
    }

    /// The time of a fault has come.
    pub(crate) fn inject_next(&mut self) {
        self.now_ns = self.injector.next_ns;
        match self.injector.planned.first_entry() {
            Some(planned) if planned.key().0 <= self.now_ns => {
                let fault = planned.remove();
                self.injector.find_next();
                self.inject(&fault);
            }
            _ => self.inject_by_chance(),
        }
    }

    /// Injects a fault now.
    ///
    /// # Panics
    /// If the fault affects a batch or an arrival: those are injected where they happen.
    pub(crate) fn inject(&mut self, fault: &Fault) {
        self.trace.event(self.now_ns, fault.kind().name(), 0);
        let until = |lasts_ns: u64| self.now_ns.saturating_add(lasts_ns);
        match *fault {
            Fault::Crash { node } => {
                if !self.memory_is_dead(node) {
                    self.kill_node(node);
                }
            }
            Fault::Restart { node, memory } => self.restart_node(node, memory),
            Fault::Pause { node, lasts_ns } => self.pause_node(node, lasts_ns),
            Fault::Fence { node } => self.fence_node(node),
            Fault::LinkDelay { from, to, delay_ns, lasts_ns } => {
                self.links.delay(from, to, delay_ns, until(lasts_ns));
            }
            Fault::ConnectionLoss { from, to } => {
                self.cut_connection(from, to, FaultKind::ConnectionLoss);
            }
            Fault::OneWayPartition { from, to, lasts_ns } => {
                self.links.block(from, to, until(lasts_ns), FaultKind::OneWayPartition);
                self.cut_connection(from, to, FaultKind::OneWayPartition);
                self.lose_answers(from, to, FaultKind::OneWayPartition);
            }
            Fault::FullPartition { ref nodes, lasts_ns } => {
                let until_ns = until(lasts_ns);
                self.partition(nodes, until_ns);
            }
            Fault::GreyCard { node, factor, lasts_ns } => {
                let until_ns = until(lasts_ns);
                let node = self.node(node);
                (node.grey_factor, node.grey_until_ns) = (factor, until_ns);
            }
            Fault::ClockJump { node, by_ns } => {
                let now_ns = self.now_ns;
                self.node(node).clock.jump(by_ns, now_ns);
                self.clock_changed(node, FaultKind::ClockJump);
            }
            Fault::ClockDrift { node, parts_per_million } => {
                let now_ns = self.now_ns;
                self.node(node).clock.set_drift(parts_per_million, now_ns);
                self.clock_changed(node, FaultKind::ClockDrift);
            }
            Fault::MemoryFull { node, lasts_ns } => {
                self.node(node).full_until_ns = until(lasts_ns);
            }
            _ => panic!("a fault of kind {} needs a batch or an arrival", fault.kind()),
        }
    }

    fn partition(&mut self, nodes: &[NodeId], until_ns: u64) {
        let all = (0..self.nodes.len() as u16).map(NodeId);
        let (inside, outside): (Vec<_>, Vec<_>) = all.partition(|node| nodes.contains(node));
        for &one in &inside {
            for &other in &outside {
                for (from, to) in [(one, other), (other, one)] {
                    self.links.block(from, to, until_ns, FaultKind::FullPartition);
                    self.cut_connection(from, to, FaultKind::FullPartition);
                }
            }
        }
    }

    fn clock_changed(&mut self, node: NodeId, by: FaultKind) {
        self.injector.count(by);
        self.plan_timers_again(node);
    }

    /// Injects the random fault whose time has come.
    fn inject_by_chance(&mut self) {
        let now_ns = self.now_ns;
        let recurring = &self.injector.recurring;
        let due = recurring.iter().position(|recurring| recurring.next_ns <= now_ns);
        let place = due.expect("the earliest fault is due");
        let (kind, rate) = (recurring[place].kind, recurring[place].rate);
        self.injector.recurring[place].next_ns = now_ns + self.injector.pause_ns(rate);
        self.injector.find_next();
        let Some(fault) = self.draw(kind, rate) else {
            return;
        };
        self.injector.happened.push(PlannedFault { when: When::At(now_ns), fault: fault.clone() });
        self.inject(&fault);
        let lasts_ns = rate.lasts_ns.draw(&mut self.injector.random);
        let end = match fault {
            Fault::Crash { node } => Fault::Restart { node, memory: crate::fault::Memory::Kept },
            Fault::ClockDrift { node, .. } => Fault::ClockDrift { node, parts_per_million: 0 },
            _ => return,
        };
        let end = PlannedFault { when: When::At(now_ns + lasts_ns), fault: end };
        self.plan_fault(&end);
        self.injector.happened.push(end);
    }

    /// Draws a fault of `kind`; `None` if there is no target.
    fn draw(&mut self, kind: FaultKind, rate: FaultRate) -> Option<Fault> {
        let servers = u64::from(self.addresses.server_count());
        let nodes = self.nodes.len() as u64;
        let victims = match rate.victims {
            _ if kind == FaultKind::MemoryFull => 0..servers,
            Victims::All => 0..nodes,
            Victims::Servers => 0..servers,
            Victims::Clients => servers..nodes,
        };
        let random = &mut self.injector.random;
        let lasts_ns = rate.lasts_ns.draw(random);
        if victims.is_empty() {
            return None;
        }
        let most = victims.end - victims.start - 1;
        let node = NodeId((victims.start + random.up_to(most)) as u16);
        let other = NodeId(random.up_to(nodes - 1) as u16);
        let (from, to) = if random.one_in(2) { (node, other) } else { (other, node) };
        let fault = match kind {
            FaultKind::NodeCrash => Fault::Crash { node },
            FaultKind::ProcessPause => Fault::Pause { node, lasts_ns },
            FaultKind::LinkDelay => {
                let delay_ns = Interval::new(0, 1 + random.up_to(DELAY_NS_MAX));
                Fault::LinkDelay { from, to, delay_ns, lasts_ns }
            }
            FaultKind::ConnectionLoss => Fault::ConnectionLoss { from, to },
            FaultKind::OneWayPartition => Fault::OneWayPartition { from, to, lasts_ns },
            FaultKind::FullPartition => Fault::FullPartition { nodes: vec![node], lasts_ns },
            FaultKind::GreyCard => {
                let factor = 2 + random.up_to(GREY_FACTOR_MAX - 2);
                Fault::GreyCard { node, factor, lasts_ns }
            }
            FaultKind::ClockJump => Fault::ClockJump { node, by_ns: 1 + random.up_to(JUMP_NS_MAX) },
            FaultKind::ClockDrift => {
                let parts_per_million = random.up_to(2 * DRIFT_MAX) as i32 - DRIFT_MAX as i32;
                Fault::ClockDrift { node, parts_per_million }
            }
            FaultKind::MemoryFull => Fault::MemoryFull { node, lasts_ns },
            _ => unreachable!("faults of kind {kind} do not recur"),
        };
        Some(fault)
    }

    /// The faults of the batch that is posted now.
    #[inline]
    pub(crate) fn faults_of_batch(&mut self, number: u64) -> Vec<Fault> {
        if self.injector.of_batches.is_empty() && self.injector.by_batch.is_empty() {
            return Vec::new();
        }
        let mut faults = self.injector.by_batch.remove(&number).unwrap_or_default();
        for (fault, one_in) in &self.injector.of_batches {
            if self.injector.random.one_in(*one_in) {
                let when = When::Batch(number);
                self.injector.happened.push(PlannedFault { when, fault: fault.clone() });
                faults.push(fault.clone());
            }
        }
        faults
    }

    /// A task arrives at a failure point. Returns how long it is held.
    pub(crate) fn arrive(&mut self, point: &'static str, node: NodeId, group: u32) -> Option<u64> {
        self.trace.point(self.now_ns, node, point);
        let nth = self.points.arrive(point);
        let mut faults = self.points.planned(point, nth);
        if self.injector.random.one_in(self.injector.kill_one_in) {
            let when = When::Point { name: point.to_owned(), nth };
            self.injector.happened.push(PlannedFault { when, fault: Fault::KillArriving });
            faults.push(Fault::KillArriving);
        }
        if faults.is_empty() && self.random.one_in(self.config.reach_delay_one_in) {
            let lasts_ns = self.config.reach_delay_ns.draw(&mut self.random);
            faults.push(Fault::HoldArriving { lasts_ns });
        }
        let mut hold_ns = None;
        for fault in faults {
            match fault {
                Fault::KillArriving => self.kill_group(group),
                Fault::CrashArriving => self.kill_node(node),
                Fault::HoldArriving { lasts_ns } => {
                    self.injector.count(FaultKind::Hold);
                    hold_ns = Some(lasts_ns);
                }
                Fault::PauseArriving { lasts_ns } => {
                    self.pause_group(group, lasts_ns);
                    // The task stops here: its next step is not before it is resumed.
                    hold_ns = hold_ns.or(Some(0));
                }
                other => self.inject(&other),
            }
        }
        if self.is_dead(group) {
            self.points.died(point);
        }
        hold_ns
    }

    /// Ends all faults: links heal, paused processes continue, clocks run true, and memory is
    /// available.
    pub(crate) fn stop_faults(&mut self) {
        self.injector.stop();
        self.points.forget_plan();
        self.links.heal_all();
        self.resume_all();
        self.config.lost_batch_one_in = 0;
        self.config.duplicate_call_one_in = 0;
        self.config.reach_delay_one_in = 0;
        for number in 0..self.nodes.len() {
            let node = &mut self.nodes[number];
            (node.full_until_ns, node.grey_until_ns) = (0, 0);
            node.clock.set_drift(0, self.now_ns);
            self.plan_timers_again(NodeId(number as u16));
        }
    }

    /// Whether a memory server must refuse to hand out memory.
    pub(crate) fn refuses_memory(&mut self, node: NodeId) -> bool {
        let refuses = self.now_ns < self.nodes[usize::from(node.0)].full_until_ns;
        if refuses {
            self.injector.count(FaultKind::MemoryFull);
        }
        refuses
    }
}
