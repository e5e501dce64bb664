//! Nodes and their processes: they die, pause and restart.

use crate::clock::Clock;
use crate::fault::{FaultKind, Memory};
use crate::random::Random;
use crate::scheduler::{Happening, TaskId};
use crate::state::Core;
use fabric::Mutant;
use layout::NodeId;

/// A memory server or a compute server.
pub(crate) struct Node {
    /// Its region answers no verbs any more.
    pub(crate) memory_is_dead: bool,
    /// The tasks of its services.
    pub(crate) services: u32,
    /// The node's own random generator, independent of other nodes.
    pub(crate) random: Random,
    pub(crate) clock: Clock,
    /// The number of the world's restart that began its present life; 0 is the first life.
    pub(crate) life: u32,
    /// The life in which it began with nothing, its services forgotten.
    pub(crate) emptied_in: u32,
    /// It hands out no memory before this moment.
    pub(crate) full_until_ns: u64,
    /// Its card is slow before this moment.
    pub(crate) grey_until_ns: u64,
    /// How many times slower its card then is.
    pub(crate) grey_factor: u64,
}

impl Node {
    pub(crate) fn new(number: u16, seed: u64) -> Self {
        Self {
            memory_is_dead: false,
            services: u32::from(number),
            random: Random::new(seed, 1 + u64::from(number)),
            clock: Clock::default(),
            life: 0,
            emptied_in: 0,
            full_until_ns: 0,
            grey_until_ns: 0,
            grey_factor: 1,
        }
    }
}

/// A process: tasks that die together.
pub(crate) struct Group {
    pub(crate) node: NodeId,
    pub(crate) is_dead: bool,
    is_paused: bool,
    pauses: u32,
    /// Tasks that were woken during the pause.
    held: Vec<TaskId>,
    /// It was paused and has posted nothing since.
    was_paused: bool,
    /// Memory servers refuse what it posts.
    pub(crate) is_fenced: bool,
    /// The lives of other nodes that it knows: it has learned that the keys of earlier lives are
    /// stale.
    known_lives: Vec<KnownLife>,
    /// Batches that have failed: some of their verbs may still take effect.
    pub(crate) failed: Vec<u32>,
}

/// A process's knowledge of another node's life.
struct KnownLife {
    node: NodeId,
    life: u32,
    /// The batch whose refusal taught it.
    refused: u32,
}

impl Group {
    pub(crate) fn new(node: NodeId) -> Self {
        Self {
            node,
            is_dead: false,
            is_paused: false,
            pauses: 0,
            held: Vec::new(),
            was_paused: false,
            is_fenced: false,
            known_lives: Vec::new(),
            failed: Vec::new(),
        }
    }
}

impl Core {
    pub(crate) fn node(&mut self, node: NodeId) -> &mut Node {
        let number = usize::from(node.0);
        assert!(number < self.nodes.len(), "there is no node {number}");
        &mut self.nodes[number]
    }

    /// Adds a group of tasks on `node`. It connects now, so it knows all present lives.
    pub(crate) fn add_group(&mut self, node: NodeId) -> u32 {
        assert!(usize::from(node.0) < self.nodes.len(), "there is no node {}", node.0);
        let mut group = Group::new(node);
        let (takes_last, last) = (self.mutant(Mutant::FabricNewbornRefused), self.lives);
        let lives = self.nodes.iter().enumerate().filter(|(_, node)| node.life > 0 || takes_last);
        group.known_lives.extend(lives.map(|(number, node)| KnownLife {
            node: NodeId(number as u16),
            life: if takes_last { last } else { node.life },
            refused: 0,
        }));
        self.groups.push(group);
        (self.groups.len() - 1) as u32
    }

    pub(crate) fn is_dead(&self, group: u32) -> bool {
        self.groups[group as usize].is_dead
    }

    /// Whether the memory of `node` is dead, so that it executes no verbs.
    pub(crate) fn memory_is_dead(&self, node: NodeId) -> bool {
        self.nodes.get(usize::from(node.0)).is_none_or(|node| node.memory_is_dead)
    }

    /// Kills a group: its tasks never run again. Its posted verbs may still take effect, in part.
    pub(crate) fn kill_group(&mut self, group: u32) {
        if self.is_dead(group) {
            return;
        }
        let dying = &mut self.groups[group as usize];
        dying.is_dead = true;
        dying.held.clear();
        self.injector.count(FaultKind::ProcessKill);
        self.trace.event(self.now_ns, "killed group", u64::from(group));
        self.tasks.kill(group, &mut self.graveyard);
        self.cut_flights(group);
        self.cut_calls(group);
        let node = self.groups[group as usize].node;
        if self.nodes[usize::from(node.0)].services == group {
            self.fail_calls_to(node);
        }
    }

    /// Kills a node: all its groups, and its memory.
    pub(crate) fn kill_node(&mut self, node: NodeId) {
        self.trace.event(self.now_ns, "killed node", u64::from(node.0));
        self.node(node).memory_is_dead = true;
        self.fail_flights_to(node);
        self.injector.count(FaultKind::NodeCrash);
        for group in 0..self.groups.len() as u32 {
            if self.groups[group as usize].node == node {
                self.kill_group(group);
            }
        }
    }

    /// Gives a node a new group for its services, and lets its memory answer again.
    pub(crate) fn revive_node(&mut self, node: NodeId) -> u32 {
        let services = self.node(node).services;
        assert!(self.is_dead(services), "node {} is alive", node.0);
        let group = self.add_group(node);
        let node = self.node(node);
        node.services = group;
        node.memory_is_dead = false;
        group
    }

    /// Begins the next life of a node, after a crash if it is alive. Verbs to its earlier life are
    /// refused.
    pub(crate) fn restart_node(&mut self, node: NodeId, memory: Memory) {
        if !self.is_dead(self.nodes[usize::from(node.0)].services) {
            self.kill_node(node);
        }
        self.lives += 1;
        self.node(node).life = self.lives;
        self.refuse_flights_to(node);
        self.trace.event(self.now_ns, "restarted node", u64::from(node.0));
        self.revive_node(node);
        match memory {
            Memory::Kept => self.injector.count(FaultKind::RestartWithMemory),
            Memory::Lost => {
                self.injector.count(FaultKind::RestartWithoutMemory);
                self.forget_answers(node);
                self.shadow.give_up();
                self.node(node).emptied_in = self.lives;
                for region in self.addresses.regions_on(node) {
                    self.memory.empty(usize::from(region.0));
                }
            }
        }
    }

    /// Another server has the number of a node that has died. Its memory is empty, and every
    /// process knows it.
    pub(crate) fn replace_node(&mut self, node: NodeId) {
        self.lives += 1;
        self.trace.event(self.now_ns, "replaced node", u64::from(node.0));
        self.cut_calls_to(node);
        self.revive_node(node);
        self.forget_answers(node);
        let life = self.lives;
        let successor = self.node(node);
        (successor.life, successor.emptied_in) = (life, life);
        for region in self.addresses.regions_on(node) {
            self.memory.empty(usize::from(region.0));
        }
        for group in &mut self.groups {
            group.known_lives.retain(|known| known.node != node);
            group.known_lives.push(KnownLife { node, life, refused: 0 });
        }
    }

    /// Whether `group` uses the keys of an earlier life of `node` in this batch. It learns of the
    /// new life by one refusal, which covers all verbs of the batch to that node, because none may
    /// take effect without those before it. If a restarted server is a stranger, it refuses the
    /// group for ever.
    pub(crate) fn has_stale_key(&mut self, group: u32, node: NodeId, batch: u32) -> bool {
        let life = self.nodes[usize::from(node.0)].life;
        let one_only = self.mutant(Mutant::FabricOneVerbRefused);
        let known = &mut self.groups[group as usize].known_lives;
        if !known.iter().any(|known| known.node == node) {
            // A process without an entry knows the first life.
            known.push(KnownLife { node, life: 0, refused: 0 });
        }
        let known = known.iter_mut().find(|known| known.node == node).expect("it is there");
        let is_first = known.life != life;
        if is_first {
            known.refused = batch;
            if !self.config.restarted_are_strangers {
                known.life = life;
            }
        }
        known.refused == batch && (is_first || !one_only)
    }

    /// Whether this guard of the simulated fabric is removed.
    fn mutant(&self, mutant: Mutant) -> bool {
        self.config.mutants.contains(&mutant)
    }

    /// Stops a process: its tasks wait until it is resumed.
    pub(crate) fn pause_group(&mut self, group: u32, lasts_ns: u64) {
        let process = &mut self.groups[group as usize];
        if process.is_dead {
            return;
        }
        process.is_paused = true;
        process.pauses += 1;
        let pause = process.pauses;
        self.pauses_are_used = true;
        self.trace.event(self.now_ns, "paused group", u64::from(group));
        if lasts_ns != u64::MAX {
            self.queue.push(self.now_ns + lasts_ns, Happening::Resume { group, pause });
        }
    }

    /// The processes of a node lose their membership. Of those that are dead, nothing takes effect
    /// any more.
    pub(crate) fn fence_node(&mut self, node: NodeId) {
        for group in 0..self.groups.len() as u32 {
            let of_group = &self.groups[group as usize];
            if of_group.node == node && of_group.is_dead {
                self.end_flights(group);
            }
        }
        for group in self.groups.iter_mut().filter(|group| group.node == node) {
            group.is_fenced = true;
        }
        self.trace.event(self.now_ns, "fenced node", u64::from(node.0));
    }

    /// Whether the posts of `group` are refused, because it is fenced.
    #[inline]
    pub(crate) fn is_refused(&mut self, group: u32) -> bool {
        let is_fenced = self.groups[group as usize].is_fenced;
        if is_fenced {
            self.injector.count(FaultKind::Fence);
        }
        is_fenced
    }

    pub(crate) fn pause_node(&mut self, node: NodeId, lasts_ns: u64) {
        for group in 0..self.groups.len() as u32 {
            if self.groups[group as usize].node == node {
                self.pause_group(group, lasts_ns);
            }
        }
    }

    /// Resumes a paused process: it now does everything that was delayed.
    pub(crate) fn resume_group(&mut self, group: u32) {
        let process = &mut self.groups[group as usize];
        if !std::mem::take(&mut process.is_paused) {
            return;
        }
        process.was_paused = !process.held.is_empty();
        for task in std::mem::take(&mut process.held) {
            let time_ns = self.now_ns + self.config.wake_ns.draw(&mut self.random);
            self.queue.push(time_ns, Happening::Run { task });
        }
        self.trace.event(self.now_ns, "resumed group", u64::from(group));
    }

    /// Ends a pause, unless another pause has begun since.
    pub(crate) fn resume_after(&mut self, group: u32, pause: u32) {
        if self.groups[group as usize].pauses == pause {
            self.resume_group(group);
        }
    }

    pub(crate) fn resume_all(&mut self) {
        for group in 0..self.groups.len() as u32 {
            self.resume_group(group);
        }
    }

    /// Whether a woken task must wait, because its process is paused.
    #[inline]
    pub(crate) fn is_held(&mut self, task: TaskId) -> bool {
        self.pauses_are_used && self.hold(task)
    }

    fn hold(&mut self, task: TaskId) -> bool {
        let Some(group) = self.tasks.group_of(task) else {
            return false;
        };
        let process = &mut self.groups[group as usize];
        if process.is_paused {
            process.held.push(task);
            self.injector.count(FaultKind::ProcessPause);
        }
        process.is_paused
    }

    /// Counts a zombie when a process posts for the first time after a pause.
    #[inline]
    pub(crate) fn note_zombie(&mut self, group: u32) {
        if self.pauses_are_used && std::mem::take(&mut self.groups[group as usize].was_paused) {
            self.injector.count(FaultKind::Zombie);
        }
    }
}
