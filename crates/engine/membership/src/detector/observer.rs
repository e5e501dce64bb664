//! The detector's thread: sends heartbeats, answers those of others, and passes what it hears to
//! the state machine.

use super::decider::Order;
use super::inbox::{Inbox, Note};
use super::machine::{Evidence, Machine, Rule, Step, Timing};
use super::message::{Kind, MESSAGE_BYTES, Message};
use super::probe::{Probe, Response};
use super::process::Found;
use super::view::View;
use crate::clock::Moment;
use crate::eviction::Eviction;
use crate::follower::Waker;
use crate::member::Member;
use fabric::Secret;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

/// Datagrams that are read before members are judged, so that a flood does not end the rounds.
const DATAGRAMS_AT_ONCE: u32 = 10_000;
/// Room for a datagram that is longer than ours, so that it is not mistaken for one.
const BUFFER_BYTES: usize = MESSAGE_BYTES + 1;

/// A member with the address of its heartbeats.
pub(super) struct KnownMember {
    pub member: Member,
    pub address: Option<SocketAddr>,
    pub rule: Rule,
}

/// The process that the detector runs in.
pub(super) struct Own {
    pub member: Member,
    pub cluster: u64,
    pub secret: Secret,
    pub timing: Timing,
}

struct Peer {
    member: Member,
    /// Where it is reached: a memory server's address in the registry, and of others the origin of
    /// their last heartbeat.
    address: Option<SocketAddr>,
    /// Its latest sequence.
    sequence: u64,
    /// Readable once its process has ended, if it is of this host.
    process: Option<OwnedFd>,
}

impl AsRef<Member> for Peer {
    fn as_ref(&self) -> &Member {
        &self.member
    }
}

pub(super) struct Observer {
    own: Own,
    socket: UdpSocket,
    inbox: Arc<Inbox>,
    orders: Sender<Order>,
    view: Arc<View>,
    wakers: Arc<Mutex<Vec<Waker>>>,
    machine: Machine,
    peers: BTreeMap<u64, Peer>,
    probes: Vec<Probe>,
    epoch: u64,
    /// The latest epoch that others have mentioned.
    epoch_elsewhere: u64,
    sequence: u64,
    beat_ns: u64,
}

impl Observer {
    pub fn new(
        own: Own,
        socket: UdpSocket,
        (inbox, orders): (Arc<Inbox>, Sender<Order>),
        (view, wakers): (Arc<View>, Arc<Mutex<Vec<Waker>>>),
    ) -> Self {
        let now_ns = Moment::now().nanoseconds();
        Self {
            machine: Machine::new(own.timing, now_ns),
            own,
            socket,
            inbox,
            orders,
            view,
            wakers,
            peers: BTreeMap::new(),
            probes: Vec::new(),
            epoch: 0,
            epoch_elsewhere: 0,
            sequence: 0,
            beat_ns: now_ns,
        }
    }

    /// Observes until a note says to stop.
    pub fn run(mut self) {
        self.touch();
        loop {
            let ended = self.wait();
            let now_ns = Moment::now().nanoseconds();
            self.machine.advance(now_ns);
            self.receive();
            self.receive_responses(now_ns);
            ended.into_iter().for_each(|member| self.process_ended(member));
            for note in self.inbox.take() {
                match note {
                    Note::Map { epoch, members } => self.take_over(epoch, members),
                    Note::Doubt(member) => self.machine.doubt(member),
                    Note::Undecided(member) => self.machine.undecided(member),
                    Note::Stop => return,
                }
            }
            self.machine.judge();
            let steps = self.machine.steps();
            let is_due = now_ns >= self.beat_ns;
            if is_due {
                self.beat();
                self.beat_ns = now_ns + self.own.timing.heartbeat_ns();
            }
            // Before the counters of the steps: their reader finds a view that is as new.
            if is_due || !steps.is_empty() {
                self.view.update(now_ns, self.machine.opinions(), &self.peers);
            }
            steps.into_iter().for_each(|step| self.carry_out(step, now_ns));
        }
    }

    /// Executes what a round needs once, so that its first pages are in memory before it matters.
    fn touch(&mut self) {
        let message = self.message(Kind::Heartbeat, 0);
        let bytes = message.encode(&self.own.secret);
        assert_eq!(Message::decode(&bytes, &self.own.secret, self.own.cluster), Some(message));
        self.probes.reserve(64);
    }

    /// Sleeps until something has come or is due; returns the members whose processes have ended.
    fn wait(&self) -> Vec<u64> {
        let now_ns = Moment::now().nanoseconds();
        let due_ns = self.beat_ns.saturating_sub(now_ns).min(self.machine.due_ns());
        let timeout = Timespec {
            tv_sec: (due_ns / 1_000_000_000) as i64,
            tv_nsec: (due_ns % 1_000_000_000) as i64,
        };
        let bell = self.inbox.bell();
        let mut polled = vec![
            PollFd::new(&self.socket, PollFlags::IN),
            PollFd::from_borrowed_fd(bell, PollFlags::IN),
        ];
        let probes = self.probes.iter().map(Probe::descriptor);
        polled.extend(probes.map(|probe| PollFd::from_borrowed_fd(probe, PollFlags::IN)));
        let first = polled.len();
        let processes: Vec<(u64, &OwnedFd)> = self
            .peers
            .iter()
            .filter_map(|(&id, peer)| Some((id, peer.process.as_ref()?)))
            .collect();
        polled.extend(
            processes.iter().map(|(_, fd)| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)),
        );
        // After an interruption the flags are those of no event.
        let _ = poll(&mut polled, Some(&timeout));
        let ended = polled[first..].iter().zip(&processes);
        let ended = ended.filter(|(polled, _)| polled.revents().contains(PollFlags::IN));
        ended.map(|(_, &(member, _))| member).collect()
    }

    fn receive(&mut self) {
        let mut bytes = [0; BUFFER_BYTES];
        for _ in 0..DATAGRAMS_AT_ONCE {
            match self.socket.recv_from(&mut bytes) {
                Ok((count, origin)) => self.take(&bytes[..count], origin),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                // An earlier datagram of this socket was refused; members are judged by probes.
                Err(_) => {}
            }
        }
    }

    fn receive_responses(&mut self, now_ns: u64) {
        let mut bytes = [0; BUFFER_BYTES];
        for probe in std::mem::take(&mut self.probes) {
            match probe.receive(&mut bytes) {
                Response::Refused => self.machine.port_refused(probe.member),
                Response::Datagram(count) => {
                    if let Some(message) = self.decode(&bytes[..count]) {
                        self.note_sign(&message, None);
                    }
                }
                Response::None if now_ns < probe.until_ns => self.probes.push(probe),
                Response::None => {}
            }
        }
    }

    fn decode(&mut self, bytes: &[u8]) -> Option<Message> {
        let message = Message::decode(bytes, &self.own.secret, self.own.cluster)?;
        let own = self.own.member.identity;
        if message.to != own || message.from == own {
            return None;
        }
        if message.epoch > self.epoch.max(self.epoch_elsewhere) {
            self.epoch_elsewhere = message.epoch;
            self.wakers.lock().expect("no holder panics").iter().for_each(Waker::wake);
        }
        Some(message)
    }

    fn take(&mut self, bytes: &[u8], origin: SocketAddr) {
        let Some(message) = self.decode(bytes) else { return };
        match message.kind {
            Kind::Heartbeat => {
                if self.note_sign(&message, Some(origin)) {
                    self.send(Kind::Answer, message.from, origin);
                } else if message.epoch <= self.epoch && !self.peers.contains_key(&message.from) {
                    self.send(Kind::Evicted, message.from, origin);
                }
            }
            Kind::Answer => drop(self.note_sign(&message, None)),
            Kind::Probe => self.send(Kind::Answer, message.from, origin),
            // Only the registry is believed. If it does not answer, the next heartbeat asks again.
            Kind::Evicted => drop(self.orders.send(Order::CheckSelf)),
        }
    }

    /// Notes a sign of life; returns whether it is from a member, and not an old one.
    fn note_sign(&mut self, message: &Message, origin: Option<SocketAddr>) -> bool {
        let Some(peer) = self.peers.get_mut(&message.from) else { return false };
        if message.sequence <= peer.sequence {
            return false;
        }
        peer.sequence = message.sequence;
        if !peer.member.is_memory_server() {
            peer.address = origin.or(peer.address);
        }
        self.machine.heard(message.from);
        true
    }

    fn process_ended(&mut self, member: u64) {
        if let Some(peer) = self.peers.get_mut(&member) {
            peer.process = None;
        }
        self.machine.process_ended(member);
    }

    /// Takes over the members of an epoch.
    fn take_over(&mut self, epoch: u64, members: Vec<KnownMember>) {
        if epoch < self.epoch {
            return;
        }
        if epoch > self.epoch {
            // Others learn of the epoch by the next heartbeat.
            self.beat_ns = 0;
        }
        self.epoch = epoch;
        let own = self.own.member.identity;
        let is_observer = self.own.member.is_memory_server();
        let is_watched =
            |member: &Member| member.identity != own && (is_observer || member.is_memory_server());
        let members: BTreeMap<u64, KnownMember> = members
            .into_iter()
            .filter(|known| is_watched(&known.member))
            .map(|known| (known.member.identity, known))
            .collect();
        self.peers.retain(|identity, _| members.contains_key(identity));
        self.machine.retain(|identity| members.contains_key(&identity));
        for (identity, KnownMember { member, address, rule }) in members {
            // One compute server that does not reach a memory server must not end it for all.
            let rule = if is_observer { rule } else { Rule::Proof };
            self.machine.watch(identity, rule);
            if self.peers.contains_key(&identity) {
                continue;
            }
            let process = match member.process.find(member.pid) {
                Found::Running(descriptor) => Some(descriptor),
                Found::Ended => {
                    self.machine.process_ended(identity);
                    None
                }
                Found::Unknown => None,
            };
            self.peers.insert(identity, Peer { member, address, sequence: 0, process });
        }
    }

    fn carry_out(&mut self, step: Step, now_ns: u64) {
        match step {
            Step::Suspect { member, silent_ns } => {
                self.view.suspicions.fetch_add(1, Relaxed);
                let silent_ms = silent_ns / 1_000_000;
                tracing::warn!(member = self.name(member), silent_ms, "member suspected");
            }
            Step::Trust { member } => {
                self.view.withdrawn.fetch_add(1, Relaxed);
                tracing::info!(member = self.name(member), "member lives: it has answered");
            }
            Step::Probe { member } => self.probe(member, now_ns),
            Step::Evict { member, evidence, silent_ns } => self.evict(member, evidence, silent_ns),
        }
    }

    fn name(&self, member: u64) -> String {
        self.peers.get(&member).map(|peer| peer.member.to_string()).unwrap_or_default()
    }

    fn probe(&mut self, member: u64, now_ns: u64) {
        let Some(to) = self.peers.get(&member).and_then(|peer| peer.address) else { return };
        let bytes = self.message(Kind::Probe, member).encode(&self.own.secret);
        let until_ns = now_ns + self.own.timing.lease_ns;
        // Without a route or a descriptor there is no answer.
        if let Ok(probe) = Probe::send(member, to, &bytes, until_ns) {
            self.probes.push(probe);
        }
    }

    fn evict(&self, identity: u64, evidence: Evidence, silent_ns: u64) {
        let eviction = Eviction {
            identity,
            member: self.name(identity),
            epoch: 0,
            by: self.own.member.to_string(),
            evidence,
            silent_ms: silent_ns / 1_000_000,
        };
        // The decider runs as long as this thread.
        let _ = self.orders.send(Order::Evict(eviction, Moment::now()));
    }

    /// Sends a heartbeat to every memory server.
    fn beat(&mut self) {
        let servers: Vec<(u64, SocketAddr)> = self
            .peers
            .iter()
            .filter(|(_, peer)| peer.member.is_memory_server())
            .filter_map(|(&identity, peer)| Some((identity, peer.address?)))
            .collect();
        servers.into_iter().for_each(|(to, address)| self.send(Kind::Heartbeat, to, address));
    }

    fn send(&mut self, kind: Kind, to: u64, address: SocketAddr) {
        let bytes = self.message(kind, to).encode(&self.own.secret);
        // A datagram that is not sent is like one that is lost.
        let _ = self.socket.send_to(&bytes, address);
    }

    fn message(&mut self, kind: Kind, to: u64) -> Message {
        self.sequence += 1;
        let (cluster, from) = (self.own.cluster, self.own.member.identity);
        Message { kind, cluster, from, to, sequence: self.sequence, epoch: self.epoch }
    }
}
