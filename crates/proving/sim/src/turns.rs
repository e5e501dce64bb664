//! Turns on the cores of machines: which task runs, for how long, and which tasks wait.
//!
//! A woken task runs at once if a core of its machine is free, and otherwise when its turn comes.
//! Its code takes no virtual time by itself; the costs of its actions are added up, and the core is
//! taken until their end:
//!
//! ```text
//!   woken      runs: polls, executes rows, posts 1st, 2nd verb      core is free again
//!     | waits   | poll | rows ......... | post | post |              |
//!     +---------+------+----------------+------+------+--------------+---> time
//!               now                     each verb leaves when all before it is paid for
//! ```
//!
//! So verbs leave, and clocks show, the right moments. Data that tasks of one node leave for each
//! other in the node's own memory is visible from the beginning of the turn.
//!
//! Decision: docs/decisions/0115-a-turn-on-a-simulated-core-is-charged-as-it-goes.md

use crate::calendar::Calendar;
use crate::machine::{Machines, Reach, local_ps};
use crate::network::{Load, NANOSECOND_PS, Network};
use crate::scheduler::{Happening, TaskId};
use crate::state::Core;
use fabric::{Batch, Verb};
use hardware::Kind;
use layout::NodeId;
use std::collections::VecDeque;

/// The cores of one machine.
struct MachineCores {
    /// The time at which each core, except communicators, is free again; empty if each task has a
    /// core of its own.
    free_ps: Vec<u64>,
    /// The busy times of the communicator cores.
    communicators: Vec<Calendar>,
    /// Tasks that were woken while no core was free.
    waiting: VecDeque<TaskId>,
    /// Whether the next turn is planned.
    is_planned: bool,
    /// The sum of all turns.
    total_ps: u64,
}

/// A turn: a core that is taken now.
#[derive(Clone, Copy)]
struct Turn {
    machine: usize,
    /// The core, if cores are counted.
    core: Option<usize>,
    /// The time that the turn has taken so far.
    spent_ps: u64,
    /// Whether the turn has handed work to a communicator.
    has_handed_over: bool,
}

/// The cores of all machines.
#[derive(Default)]
pub(crate) struct Turns {
    machines: Vec<MachineCores>,
    turn: Option<Turn>,
    /// Whether actions of tasks take time.
    pub(crate) take_time: bool,
    reach: Reach,
}

impl Turns {
    /// All cores of `machines`: `cores` each, including `communicators` that only communicate.
    /// Without machines, computing takes no time.
    pub(crate) fn new(machines: Option<&Machines>, cores: u64, communicators: u32) -> Self {
        let machine = |_| MachineCores {
            free_ps: vec![0; cores.saturating_sub(communicators.into()) as usize],
            communicators: vec![Calendar::default(); communicators as usize],
            waiting: VecDeque::new(),
            is_planned: false,
            total_ps: 0,
        };
        let count = machines.map_or(0, Machines::count);
        Self {
            machines: (0..count).map(machine).collect(),
            turn: None,
            take_time: machines.is_some(),
            reach: machines.map_or(Reach::Card, |machines| machines.reach),
        }
    }

    /// The time of all turns on `machine`, and the number of its cores.
    pub(crate) fn usage(&self, machine: usize) -> (u64, u64) {
        let cores = self.machines.get(machine);
        cores.map_or((0, 0), |cores| (cores.total_ps, cores.free_ps.len() as u64))
    }

    /// The time of the communicators of `machine`, and their number.
    pub(crate) fn usage_of_communicators(&self, machine: usize) -> (u64, u64) {
        let all = self.machines.get(machine).map_or(&[][..], |cores| &cores.communicators);
        (all.iter().map(Calendar::total_ps).sum(), all.len() as u64)
    }

    /// Whether no task runs or waits for a core.
    pub(crate) fn are_idle(&self) -> bool {
        self.turn.is_none() && self.machines.iter().all(|machine| machine.waiting.is_empty())
    }

    /// Begins a turn on `machine`, if a core is free by `now_ps`.
    fn begin(&mut self, machine: usize, now_ps: u64) -> bool {
        debug_assert!(self.turn.is_none());
        let cores = &self.machines[machine].free_ps;
        let core = (0..cores.len()).min_by_key(|&core| cores[core]);
        let is_free = core.is_none_or(|core| cores[core] <= now_ps);
        if is_free {
            self.turn = Some(Turn { machine, core, spent_ps: 0, has_handed_over: false });
        }
        is_free
    }

    /// Adds `cost_ps` to the present turn, if there is one. Returns the turn's time so far.
    #[inline]
    pub(crate) fn spend(&mut self, cost_ps: u64) -> u64 {
        match &mut self.turn {
            Some(turn) => {
                turn.spent_ps += cost_ps;
                turn.spent_ps
            }
            None => 0,
        }
    }

    /// The time of the present turn so far, in nanoseconds.
    #[inline]
    pub(crate) fn spent_ns(&self) -> u64 {
        self.turn.map_or(0, |turn| turn.spent_ps.div_ceil(NANOSECOND_PS))
    }
}

/// The cost of making a row, if the load writes one; the core that posts pays it.
fn written_row_ps(load: &Load, core: &hardware::Core) -> u64 {
    let writes = matches!(load, Load::Verb(Verb::WriteRow { .. } | Verb::InstallRow { .. }));
    if writes { core.execute_row_ps } else { 0 }
}

/// Whether a verb reads a row of a transaction, or searches for one.
fn reads_row(verb: &Verb) -> bool {
    matches!(verb, Verb::ReadRow { .. } | Verb::FindSlot { .. })
}

impl Core {
    /// Whether the posting core itself executes a load within one machine; `is_own` if it goes to
    /// memory of the node itself.
    pub(crate) fn goes_without_card(&self, load: &Load, is_own: bool) -> bool {
        match (self.turns.reach, load.kind()) {
            (_, Kind::Message) => false,
            (Reach::Core, _) => true,
            (_, Kind::Atomic) => false,
            (Reach::CoreButAtomics, _) => true,
            (Reach::Card, _) => is_own,
        }
    }

    /// The turn pays for posting a load or, if it is local, for executing it. Returns the turn's
    /// time so far.
    pub(crate) fn pay(&mut self, load: &Load, is_local: bool, is_further: bool) -> u64 {
        let Network { core, memory, .. } = self.config.network.expect("machines have a network");
        let (sent, answered) = load.bytes();
        let cost_ps = match is_local {
            true => local_ps(&memory, sent + answered),
            false => self.posting_ps(is_further),
        };
        self.turns.spend(cost_ps + written_row_ps(load, &core))
    }

    fn posting_ps(&self, is_further: bool) -> u64 {
        let core = self.core_costs();
        if is_further && self.config.posts_lists { core.post_more_ps } else { core.post_ps }
    }

    /// Whether communicators of its machine post for `node`.
    #[inline]
    pub(crate) fn has_communicators(&self, node: NodeId) -> bool {
        self.config.communicators > 0 && node.0 >= self.addresses.server_count()
    }

    /// The turn pays for handing a load of `group` to a communicator, once for all loads of the
    /// turn, and the communicator pays for taking and posting it. Returns the time from now until
    /// the load is posted.
    pub(crate) fn pay_communicator(
        &mut self,
        (node, group): (NodeId, u32),
        load: &Load,
        is_further: bool,
    ) -> u64 {
        let core = self.core_costs();
        let is_first = self.turns.turn.as_mut().is_none_or(|turn| {
            let is_first = !turn.has_handed_over;
            turn.has_handed_over = true;
            is_first
        });
        let taken_ps = if is_first { core.hand_over_ps } else { 0 };
        let given_ps = self.turns.spend(taken_ps + written_row_ps(load, &core));
        let cost_ps = taken_ps + self.posting_ps(is_further);
        let now_ps = self.now_ns * NANOSECOND_PS;
        self.communicator(node, group).take(now_ps, now_ps + given_ps, cost_ps) - now_ps
    }

    /// A communicator notices at `back_ns` that the cards have completed the posts of `group`, and
    /// hands the result back. Returns the time at which that is over.
    pub(crate) fn handed_back_ns(&mut self, node: NodeId, group: u32, back_ns: u64) -> u64 {
        let core = self.core_costs();
        let now_ps = self.now_ns * NANOSECOND_PS;
        let back_ps = now_ps.max(back_ns * NANOSECOND_PS);
        let cost_ps = core.poll_ps + core.hand_over_ps;
        self.communicator(node, group).take(now_ps, back_ps, cost_ps).div_ceil(NANOSECOND_PS)
    }

    fn communicator(&mut self, node: NodeId, group: u32) -> &mut Calendar {
        let machine = self.machine_of(node);
        let communicators = &mut self.turns.machines[machine].communicators;
        let place = group as usize % communicators.len();
        &mut communicators[place]
    }

    /// The turn of a task of `node` pays for noticing that a card has completed its posts, or for
    /// taking the result from a communicator.
    pub(crate) fn pay_for_polling(&mut self, node: NodeId, is_local: bool) {
        if self.turns.take_time && !is_local {
            let core = self.core_costs();
            let is_handed = self.has_communicators(node);
            self.turns.spend(if is_handed { core.hand_over_ps } else { core.poll_ps });
        }
    }

    /// The turn pays for `count` rows.
    pub(crate) fn pay_for_rows(&mut self, count: u64) {
        if self.turns.take_time {
            self.turns.spend(count * self.core_costs().execute_row_ps);
        }
    }

    /// The turn pays for the rows that a batch has fetched.
    pub(crate) fn pay_for_batch(&mut self, batch: Option<&Batch>) {
        if !self.turns.take_time {
            return;
        }
        let verbs = batch.map_or(&[][..], |batch| batch.verbs());
        let rows = verbs.iter().filter(|verb| reads_row(verb)).count() as u64;
        self.pay_for_rows(rows);
    }

    /// The turn pays for a message that has arrived.
    pub(crate) fn pay_for_message(&mut self) {
        if self.turns.take_time {
            self.turns.spend(self.core_costs().serve_message_ps);
        }
    }

    /// The costs of the operations of a core.
    fn core_costs(&self) -> hardware::Core {
        self.config.network.expect("machines have a network").core
    }

    #[inline]
    pub(crate) fn machine_of(&self, node: NodeId) -> usize {
        match &self.config.machines {
            Some(machines) => usize::from(machines.of_nodes[usize::from(node.0)]),
            None => usize::from(node.0),
        }
    }

    /// A woken task begins its turn, or queues for it. Returns whether it runs now.
    pub(crate) fn begin_turn(&mut self, task: TaskId) -> bool {
        let Some(group) = self.tasks.group_of(task) else {
            return false;
        };
        let machine = self.machine_of(self.groups[group as usize].node);
        let is_first = self.turns.machines[machine].waiting.is_empty();
        if is_first && self.turns.begin(machine, self.now_ns * NANOSECOND_PS) {
            return true;
        }
        self.turns.machines[machine].waiting.push_back(task);
        self.plan_turn(machine);
        false
    }

    /// A core of `machine` is free for the next waiting task, unless work without a task has taken
    /// it. Returns the task that runs now.
    pub(crate) fn next_turn(&mut self, machine: u32) -> Option<TaskId> {
        let machine = machine as usize;
        self.turns.machines[machine].is_planned = false;
        while let Some(task) = self.turns.machines[machine].waiting.pop_front() {
            let has_ended = self.tasks.group_of(task).is_none();
            if has_ended || self.is_held(task) {
                continue;
            }
            if self.turns.begin(machine, self.now_ns * NANOSECOND_PS) {
                return Some(task);
            }
            // Work without a task has taken the core meanwhile.
            self.turns.machines[machine].waiting.push_front(task);
            self.plan_turn(machine);
            return None;
        }
        None
    }

    /// Ends the present turn: its core stays taken for the turn's time.
    #[inline]
    pub(crate) fn end_turn(&mut self) {
        let Some(Turn { machine, core, spent_ps, .. }) = self.turns.turn.take() else {
            return;
        };
        let cores = &mut self.turns.machines[machine];
        cores.total_ps += spent_ps;
        if let Some(core) = core {
            let free_ps = &mut cores.free_ps[core];
            *free_ps = (*free_ps).max(self.now_ns * NANOSECOND_PS) + spent_ps;
        }
        self.plan_turn(machine);
    }

    fn plan_turn(&mut self, machine: usize) {
        let cores = &mut self.turns.machines[machine];
        if cores.is_planned || cores.waiting.is_empty() {
            return;
        }
        cores.is_planned = true;
        let free_ps = cores.free_ps.iter().min().expect("who has a core does not wait");
        let time_ns = free_ps.div_ceil(NANOSECOND_PS).max(self.now_ns);
        self.queue.push(time_ns, Happening::Turn { machine: machine as u32 });
    }

    /// Executes work that continues without its task, such as the part of a batch behind a fence:
    /// it takes a core of the machine of `node` as soon as one is free, ahead of waiting tasks, for
    /// the time that `work` spends.
    pub(crate) fn run_without_task(&mut self, node: NodeId, work: impl FnOnce(&mut Self)) {
        // Communicators' work is counted with the communicators.
        if !self.turns.take_time || self.turns.turn.is_some() || self.has_communicators(node) {
            return work(self);
        }
        let machine = self.machine_of(node);
        let free_ps = &self.turns.machines[machine].free_ps;
        let core = (0..free_ps.len()).min_by_key(|&core| free_ps[core]);
        let wait_ps =
            core.map_or(0, |core| free_ps[core].saturating_sub(self.now_ns * NANOSECOND_PS));
        let has_handed_over = false;
        self.turns.turn = Some(Turn { machine, core, spent_ps: wait_ps, has_handed_over });
        work(self);
        if let Some(turn) = &mut self.turns.turn {
            turn.spent_ps -= wait_ps;
        }
        self.end_turn();
    }
}
