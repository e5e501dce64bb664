//! The links between nodes: delayed or blocked.

use crate::config::Interval;
use crate::fault::FaultKind;
use crate::network::{Load, NANOSECOND_PS, Posting, Transit};
use crate::queue_pairs::queue_pair;
use crate::random::Random;
use crate::state::Core;
use layout::NodeId;

/// One direction between two nodes.
#[derive(Clone, Copy)]
struct Link {
    delay_ns: Interval,
    delayed_until_ns: u64,
    blocked_until_ns: u64,
    /// The kind of partition that blocks it.
    blocked_by: FaultKind,
}

impl Link {
    const OPEN: Self = Self {
        delay_ns: Interval::new(0, 0),
        delayed_until_ns: 0,
        blocked_until_ns: 0,
        blocked_by: FaultKind::OneWayPartition,
    };
}

/// The effect of a link on a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Passage {
    /// The message arrives, `delay_ns` later than usual.
    After { delay_ns: u64, is_delayed: bool },
    /// No message passes before this moment.
    Blocked { until_ns: u64, by: FaultKind },
}

/// The properties of the way of a message from one node to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkDelays {
    /// How many times slower than usual the cards are.
    slowness: u64,
    /// The additional time that the link takes.
    crossing_ns: u64,
}

/// All links of a world.
pub(crate) struct Links {
    node_count: usize,
    /// The links from each node to each, in order; empty until one of them is not open, since there
    /// are many.
    links: Vec<Link>,
    /// No link was ever blocked or delayed.
    is_quiet: bool,
}

impl Links {
    pub(crate) fn new(node_count: u16) -> Self {
        Self { node_count: usize::from(node_count), links: Vec::new(), is_quiet: true }
    }

    /// Whether every message passes as usual.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    fn link(&mut self, from: NodeId, to: NodeId) -> &mut Link {
        if self.links.is_empty() {
            self.links = vec![Link::OPEN; self.node_count * self.node_count];
        }
        &mut self.links[usize::from(from.0) * self.node_count + usize::from(to.0)]
    }

    /// The effect on a message that is sent now.
    pub(crate) fn pass(
        &mut self,
        from: NodeId,
        to: NodeId,
        now_ns: u64,
        random: &mut Random,
    ) -> Passage {
        let link = *self.link(from, to);
        if now_ns < link.blocked_until_ns {
            return Passage::Blocked { until_ns: link.blocked_until_ns, by: link.blocked_by };
        }
        let is_delayed = now_ns < link.delayed_until_ns;
        let delay_ns = if is_delayed { link.delay_ns.draw(random) } else { 0 };
        Passage::After { delay_ns, is_delayed }
    }

    pub(crate) fn delay(&mut self, from: NodeId, to: NodeId, delay_ns: Interval, until_ns: u64) {
        self.is_quiet = false;
        let link = self.link(from, to);
        link.delay_ns = delay_ns;
        link.delayed_until_ns = until_ns;
    }

    /// Blocks a link. A node always reaches itself.
    pub(crate) fn block(&mut self, from: NodeId, to: NodeId, until_ns: u64, by: FaultKind) {
        if from != to {
            self.is_quiet = false;
            let link = self.link(from, to);
            link.blocked_until_ns = link.blocked_until_ns.max(until_ns);
            link.blocked_by = by;
        }
    }

    pub(crate) fn heal(&mut self, from: NodeId, to: NodeId) {
        let link = self.link(from, to);
        link.delayed_until_ns = 0;
        link.blocked_until_ns = 0;
    }

    pub(crate) fn heal_all(&mut self) {
        for link in &mut self.links {
            link.delayed_until_ns = 0;
            link.blocked_until_ns = 0;
        }
        self.is_quiet = true;
    }
}

/// How something is posted.
#[derive(Clone, Copy)]
pub(crate) struct Post {
    /// The endpoint's group and the server: together they select the queue pair.
    pub pair: (u32, NodeId),
    /// How many posts precede it at the same moment.
    pub before: u64,
    /// Whether it is a later element of a posted list.
    pub is_further: bool,
}

impl Core {
    /// The way of a message that is sent now; `None`: it does not arrive before its sender gives
    /// up.
    #[inline]
    pub(crate) fn way(&mut self, from: NodeId, to: NodeId) -> Option<LinkDelays> {
        let crossing_ns = self.crossing_ns(from, to)?;
        Some(LinkDelays { slowness: self.slowness(from, to), crossing_ns })
    }

    /// Sends a verb or a message of a call: through the cards, then for the usual time and the time
    /// of the way. Within a turn it leaves when the turn has paid for the task's earlier actions
    /// and for the posting itself.
    #[inline]
    pub(crate) fn send(
        &mut self,
        (from, to): (NodeId, NodeId),
        post: Post,
        way: LinkDelays,
        load: &Load,
        usual: Interval,
    ) -> Transit {
        let mut transit = Transit { served_ns: self.now_ns, back_ns: 0, is_local: false };
        if let Some(network) = self.network {
            let ends = (self.machine_of(from), self.machine_of(to));
            let is_within = self.turns.take_time && ends.0 == ends.1;
            let mut delay_ps = (post.before + 1) * network.core.post_ps;
            if self.turns.take_time {
                let is_local = is_within && self.goes_without_card(load, from == to);
                delay_ps = match !is_local && self.has_communicators(from) {
                    true => self.pay_communicator((from, post.pair.0), load, post.is_further),
                    false => self.pay(load, is_local, post.is_further),
                };
                if is_local {
                    let served_ns = self.now_ns + delay_ps.div_ceil(NANOSECOND_PS);
                    return Transit { served_ns, back_ns: served_ns, is_local: true };
                }
            }
            let posting = Posting {
                ends,
                queue_pair: self.queue_pair(from, post.pair),
                now_ns: self.now_ns,
                delay_ps,
                is_loopback: is_within,
                slowness: way.slowness,
            };
            transit = network.send(&mut self.cards, load, posting);
        }
        transit.served_ns += usual.draw(&mut self.random) * way.slowness + way.crossing_ns;
        transit
    }

    /// The queue pair of an endpoint of `from` to a server; endpoints of a node may share queue
    /// pairs.
    #[inline]
    fn queue_pair(&self, from: NodeId, (group, server): (u32, NodeId)) -> u64 {
        let shared = match self.has_communicators(from) {
            true => self.config.communicators,
            false => self.config.queue_pairs,
        };
        match shared {
            0 => queue_pair(group, server.0),
            count => queue_pair((u32::from(from.0) << 16) | (group % count), server.0),
        }
    }

    /// The additional time of a message; `None`: it does not arrive before its sender gives up.
    #[inline]
    pub(crate) fn crossing_ns(&mut self, from: NodeId, to: NodeId) -> Option<u64> {
        if self.links.is_quiet() {
            return Some(0);
        }
        match self.links.pass(from, to, self.now_ns, &mut self.random) {
            Passage::After { delay_ns, is_delayed } => {
                if is_delayed {
                    self.injector.count(FaultKind::LinkDelay);
                }
                Some(delay_ns)
            }
            Passage::Blocked { until_ns, by } => {
                self.injector.count(by);
                let wait_ns = until_ns - self.now_ns;
                let is_in_time = self.config.unreachable_after_ns.is_none_or(|ns| wait_ns < ns);
                is_in_time.then_some(wait_ns)
            }
        }
    }

    /// The slow-down factor of traffic from one card to the other.
    #[inline]
    fn slowness(&mut self, from: NodeId, to: NodeId) -> u64 {
        let now_ns = self.now_ns;
        let grey = |node: &crate::processes::Node| match now_ns < node.grey_until_ns {
            true => node.grey_factor,
            false => 1,
        };
        let nodes = &self.nodes;
        let slowness = grey(&nodes[usize::from(from.0)]).max(grey(&nodes[usize::from(to.0)]));
        if slowness > 1 {
            self.injector.count(FaultKind::GreyCard);
        }
        slowness
    }
}
