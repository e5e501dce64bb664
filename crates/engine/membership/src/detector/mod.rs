//! The failure detector: heartbeats detect that a member is dead, and one compare-and-swap of the
//! membership record decides it.
//!
//! Each member sends heartbeats to all memory servers, five per lease, in datagrams from its own
//! thread. Memory servers watch all members; the others watch the memory servers, which answer
//! each heartbeat. The kernel reports the end of processes of the same host at once. A member that
//! is silent for a lease is probed, and evicted if it does not answer: see [`machine`], which
//! makes all decisions. Threads and sockets around it carry them out.
//!
//! Decision: docs/decisions/0312-heartbeats-detect-and-one-swap-decides.md

mod decider;
mod inbox;
pub mod machine;
#[cfg(test)]
mod machine_tests;
mod message;
mod observer;
mod probe;
mod process;
mod view;

pub use machine::Evidence;
pub use process::ProcessKey;
pub use view::{Sighting, View};

use crate::clock;
use crate::cluster_file::ClusterFile;
use crate::cluster_map::ClusterMap;
use crate::follower::Waker;
use crate::lease::Lease;
use crate::registry::Registry;
use decider::Decider;
use fabric::Secret;
use inbox::{Inbox, Note};
use machine::Timing;
use observer::{KnownMember, Observer, Own};
use rustix::process::{Pid, setpriority_process};
use rustix::thread::gettid;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;

/// Priority of the thread, where the process may raise it.
const NICE: i32 = -20;

/// The socket to which members send heartbeats.
pub struct Port(UdpSocket);

impl Port {
    /// Takes `address`, `host:port`; with port 0 any free port.
    pub fn bind(address: &str) -> std::io::Result<Self> {
        UdpSocket::bind(address).map(Self)
    }

    /// Host and port for [`crate::Addresses::heartbeats`].
    pub fn address(&self) -> std::io::Result<String> {
        Ok(self.0.local_addr()?.to_string())
    }

    /// A socket that reaches the memory servers of `map`.
    fn for_client(map: &ClusterMap) -> std::io::Result<Self> {
        let first = known(map).into_iter().find_map(|known| known.address);
        let any = first.map_or_else(|| (Ipv4Addr::UNSPECIFIED, 0).into(), probe::any_like);
        UdpSocket::bind(any).map(Self)
    }
}

/// Sends this process's heartbeats and watches others until it is dropped.
pub struct Detector {
    input: Input,
    view: Arc<View>,
    wakers: Arc<Mutex<Vec<Waker>>>,
    threads: Vec<JoinHandle<()>>,
}

/// Tells a detector what other threads learn. Outlives it without effect.
#[derive(Clone)]
pub struct Input(Arc<Inbox>);

impl Input {
    /// The members have changed.
    pub fn note(&self, map: &ClusterMap) {
        self.0.put(Note::Map { epoch: map.epoch, members: known(map) });
    }

    /// A connection of the member with this identity was lost: it is probed at once.
    pub fn doubt(&self, identity: u64) {
        self.0.put(Note::Doubt(identity));
    }
}

impl Detector {
    /// Starts for the member that holds `lease`. `port` is that of a memory server; others use any
    /// port. `map` is the cluster after the member has joined; [`Input::note`] brings later ones.
    ///
    /// # Errors
    /// No socket, no descriptor, or no thread is available.
    pub fn start(
        cluster: &ClusterFile,
        secret: &Secret,
        registry: &Registry,
        lease: &Lease,
        (port, map): (Option<Port>, &ClusterMap),
    ) -> std::io::Result<Self> {
        let Port(socket) = port.map_or_else(|| Port::for_client(map), Ok)?;
        socket.set_nonblocking(true)?;
        let (orders, ordered) = mpsc::channel();
        let (view, wakers) = (Arc::<View>::default(), Arc::<Mutex<Vec<Waker>>>::default());
        let input = Input(Arc::new(Inbox::new()?));
        let own = Own {
            member: lease.member().clone(),
            cluster: cluster.id.0,
            secret: secret.clone(),
            timing: Timing { lease_ns: cluster.detector_lease().as_nanos() as u64 },
        };
        let decider = Decider {
            registry: registry.clone(),
            own: lease.state(),
            inbox: input.0.clone(),
            view: view.clone(),
            wakers: wakers.clone(),
        };
        let ends = ((input.0.clone(), orders), (view.clone(), wakers.clone()));
        let observer = Observer::new(own, socket, ends.0, ends.1);
        input.note(map);
        let threads = vec![
            clock::spawn("heartbeats", move || {
                raise_priority();
                observer.run();
            })?,
            clock::spawn("evictions", move || decider.run(&ordered))?,
        ];
        Ok(Self { input, view, wakers, threads })
    }

    /// A handle for other threads.
    pub fn input(&self) -> Input {
        self.input.clone()
    }

    /// Has a follower read the map as soon as the detector knows of a change.
    pub fn wake(&self, waker: Waker) {
        self.wakers.lock().expect("no holder panics").push(waker);
    }

    /// The detector's numbers.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }
}

impl Drop for Detector {
    fn drop(&mut self) {
        self.input.0.put(Note::Stop);
        for thread in self.threads.drain(..) {
            // If it panicked, it has said so.
            let _ = thread.join();
        }
    }
}

/// The members of a map with their addresses. Looks up host names, so it may take a while.
fn known(map: &ClusterMap) -> Vec<KnownMember> {
    let address = |text: &String| -> Option<SocketAddr> { text.to_socket_addrs().ok()?.next() };
    let known = |member: &crate::Member| KnownMember {
        member: member.clone(),
        address: member.addresses.heartbeats.as_ref().and_then(address),
        rule: map.rule(member),
    };
    map.members.iter().map(known).collect()
}

/// Has the kernel prefer this thread, which hardly uses the processor, if it may.
fn raise_priority() {
    let thread = Pid::from_raw(gettid().as_raw_pid());
    // Without the permission it runs like all others.
    let _ = setpriority_process(thread, NICE);
}
