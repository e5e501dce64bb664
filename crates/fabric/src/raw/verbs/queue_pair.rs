//! Reliable connections: their ends, and what is posted to them.

use super::abi;
use super::completion::CompletionQueue;
use super::registered::Registered;
use crate::verbs::VerbsError;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// One end of a reliable connection, with the memories that its requests may use.
pub struct QueuePair {
    pair: NonNull<abi::QueuePair>,
    /// What requests may use, by number.
    memories: Vec<Arc<Registered>>,
    queue: Arc<CompletionQueue>,
    /// Largest write or message whose bytes can be taken along with the request.
    inline_bytes: u32,
    /// Where requests are put together.
    requests: Vec<abi::SendRequest>,
    pieces: Vec<abi::Piece>,
}

// SAFETY: the library's functions on a queue pair may be called from any thread (rule 4); the vectors hold
// pointers into each other only while `post` runs.
unsafe impl Send for QueuePair {}

/// How many requests an end holds at a time.
#[derive(Clone, Copy, Debug)]
pub struct QueueSizes {
    /// Posted and not yet known to be complete.
    pub sends: u32,
    /// Waiting for messages.
    pub receives: u32,
    /// Bytes that may be taken along with a request, if the device can do that.
    pub inline_bytes: u32,
}

/// Where an end of a connection is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// The end's number on its device.
    pub number: u32,
    /// The port's number in an InfiniBand network; 0 on Ethernet.
    pub local_identifier: u16,
    /// The port's address.
    pub gid: [u8; 16],
    /// The number of the first packet that this end sends.
    pub sequence: u32,
    /// Largest packet, as the library counts.
    pub transfer_unit: u8,
    /// Reads and atomics that this end carries out at a time.
    pub reads_served: u8,
}

/// How an end is connected to its peer.
#[derive(Clone, Copy, Debug)]
pub struct Connect {
    /// This side's port.
    pub port: u8,
    /// The place of this side's GID.
    pub gid_index: u8,
    /// The number of the first packet that this end sends.
    pub sequence: u32,
    /// Reads and atomics that this end has under way at a time.
    pub reads_started: u8,
    /// Reads and atomics that this end carries out at a time.
    pub reads_served: u8,
    /// Largest packet, as the library counts; not more than either side's.
    pub transfer_unit: u8,
    /// Whether the peer may use this end for verbs on this side's memory.
    pub allows_verbs: bool,
    /// How long a packet may go unanswered: 4.096 us times two to the power of this.
    pub timeout: u8,
    /// How often a packet is sent again before the connection is given up, at most 6: some devices take 7 for no end.
    pub retry_count: u8,
}

/// A piece of a memory that a queue pair holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Number of the memory.
    pub memory: u32,
    /// Byte at which it begins.
    pub offset: u64,
    /// Its length.
    pub bytes: u32,
}

/// What a card is to do. Remote addresses are checked by the card that has the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Copy remote memory to this side's.
    Read {
        /// First byte.
        remote: u64,
        /// The key of its registration.
        key: u32,
    },
    /// Copy this side's memory to the remote one.
    Write {
        /// First byte.
        remote: u64,
        /// The key of its registration.
        key: u32,
    },
    /// Swap a remote word if it is as expected, and deliver what it was.
    CompareAndSwap {
        /// The word.
        remote: u64,
        /// The key of its registration.
        key: u32,
        /// What it must be.
        expected: u64,
        /// What it becomes.
        desired: u64,
    },
    /// Add to a remote word, and deliver what it was.
    FetchAndAdd {
        /// The word.
        remote: u64,
        /// The key of its registration.
        key: u32,
        /// What is added.
        add: u64,
    },
    /// Send a message to whoever waits for one at the other end.
    Send,
}

/// One request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Comes back with the completion.
    pub id: u64,
    /// What to do.
    pub action: Action,
    /// Where to read from, or to write to, on this side.
    pub local: Piece,
    /// Whether success is told; failure always is, and tells of all before it as well.
    pub is_signaled: bool,
}

impl QueuePair {
    /// An end that is connected to nobody yet. Its requests may use `memory`, which is number 0.
    pub fn new(
        memory: Arc<Registered>,
        queue: Arc<CompletionQueue>,
        sizes: QueueSizes,
    ) -> Result<Self, VerbsError> {
        let device = memory.device();
        assert!(Arc::ptr_eq(device, &queue.device), "memory and queue are of one device");
        let mut inline_bytes = sizes.inline_bytes;
        let pair = loop {
            let mut start = abi::QueuePairStart {
                context: null_mut(),
                send_queue: queue.as_ptr(),
                receive_queue: queue.as_ptr(),
                shared_receives: null_mut(),
                capacity: abi::Capacity {
                    send_requests: sizes.sends,
                    receive_requests: sizes.receives,
                    send_pieces: 1,
                    receive_pieces: 1,
                    inline_bytes,
                },
                kind: abi::RELIABLE_CONNECTION,
                all_signaled: 0,
            };
            // SAFETY: domain and queue live, and the queue pair holds both, by way of `memory` and `queue`.
            let pair =
                unsafe { (device.functions.create_qp)(device.domain.as_ptr(), &raw mut start) };
            match NonNull::new(pair) {
                Some(pair) => break pair,
                // Devices differ in how much they take along, and do not say so beforehand.
                None if inline_bytes > 0 => inline_bytes /= 2,
                None => return Err(VerbsError::failed("make a queue pair")),
            }
        };
        let (requests, pieces) = (Vec::new(), Vec::new());
        Ok(Self { pair, memories: vec![memory], queue, inline_bytes, requests, pieces })
    }

    /// The end's number on its device.
    pub fn number(&self) -> u32 {
        // SAFETY: the queue pair lives as long as this object.
        unsafe { (*self.pair.as_ptr()).number }
    }

    /// Requests may use `memory`, too, by the next number.
    pub fn add_memory(&mut self, memory: Arc<Registered>) {
        assert!(
            Arc::ptr_eq(memory.device(), &self.queue.device),
            "memory and queue are of one device"
        );
        self.memories.push(memory);
    }

    /// The memories that requests use, by number.
    pub fn memories(&self) -> &[Arc<Registered>] {
        &self.memories
    }

    /// The queue that completions come to.
    pub fn queue(&self) -> &Arc<CompletionQueue> {
        &self.queue
    }

    /// Gets ready to wait for messages; from here on they may be waited for.
    pub fn initialize(&mut self, connect: &Connect) -> Result<(), VerbsError> {
        let mut access = abi::ACCESS_LOCAL_WRITE;
        if connect.allows_verbs {
            access |=
                abi::ACCESS_REMOTE_READ | abi::ACCESS_REMOTE_WRITE | abi::ACCESS_REMOTE_ATOMIC;
        }
        let attributes = abi::QueuePairAttributes {
            state: abi::STATE_INIT,
            access: access as u32,
            port: connect.port,
            ..Default::default()
        };
        let set = abi::SET_STATE | abi::SET_PARTITION_KEY | abi::SET_PORT | abi::SET_ACCESS;
        self.modify("initialize a queue pair", attributes, set)
    }

    /// Connects this end to `peer`, which does the same with this one.
    pub fn connect(&mut self, connect: &Connect, peer: &Endpoint) -> Result<(), VerbsError> {
        let is_global = peer.gid != [0; 16];
        let attributes = abi::QueuePairAttributes {
            state: abi::STATE_READY_TO_RECEIVE,
            transfer_unit: i32::from(connect.transfer_unit),
            receive_sequence: peer.sequence,
            peer_number: peer.number,
            reads_served: connect.reads_served,
            // 0.64 ms, the smallest wait that all devices keep to: a receiver without room is about to have some.
            receiver_timer: 12,
            path: abi::Path {
                route: abi::GlobalRoute {
                    gid: abi::Gid(peer.gid),
                    source_gid_index: connect.gid_index,
                    hop_limit: 64,
                    ..Default::default()
                },
                local_identifier: peer.local_identifier,
                is_global: u8::from(is_global),
                port: connect.port,
                ..Default::default()
            },
            ..Default::default()
        };
        let set = abi::SET_STATE
            | abi::SET_PATH
            | abi::SET_TRANSFER_UNIT
            | abi::SET_PEER_NUMBER
            | abi::SET_RECEIVE_SEQUENCE
            | abi::SET_READS_SERVED
            | abi::SET_RECEIVER_TIMER;
        self.modify("connect a queue pair to its peer", attributes, set)?;
        let attributes = abi::QueuePairAttributes {
            state: abi::STATE_READY_TO_SEND,
            send_sequence: connect.sequence,
            reads_started: connect.reads_started.min(peer.reads_served),
            timeout: connect.timeout,
            retry_count: connect.retry_count,
            // 7: without end. Whoever calls has a deadline of its own.
            receiver_retry_count: 7,
            ..Default::default()
        };
        let set = abi::SET_STATE
            | abi::SET_SEND_SEQUENCE
            | abi::SET_READS_STARTED
            | abi::SET_TIMEOUT
            | abi::SET_RETRY_COUNT
            | abi::SET_RECEIVER_RETRY_COUNT;
        self.modify("let a queue pair send", attributes, set)
    }

    /// Ends the connection: everything under way fails, on both sides.
    pub fn close(&mut self) -> Result<(), VerbsError> {
        let attributes = abi::QueuePairAttributes { state: abi::STATE_ERROR, ..Default::default() };
        self.modify("close a queue pair", attributes, abi::SET_STATE)
    }

    fn modify(
        &mut self,
        what: &'static str,
        mut attributes: abi::QueuePairAttributes,
        set: i32,
    ) -> Result<(), VerbsError> {
        let functions = self.queue.device.functions;
        // SAFETY: the queue pair lives, and the library reads the structure only while it runs.
        let code = unsafe { (functions.modify_qp)(self.pair.as_ptr(), &raw mut attributes, set) };
        VerbsError::check(what, code)
    }

    /// Posts all requests at once, in order: the card is told of them by a single ring of its bell.
    ///
    /// # Panics
    /// If a request names memory that the queue pair does not have.
    pub fn post(&mut self, requests: &[Request]) -> Result<(), VerbsError> {
        if requests.is_empty() {
            return Ok(());
        }
        self.requests.clear();
        self.pieces.clear();
        self.requests.reserve(requests.len());
        self.pieces
            .extend(requests.iter().map(|request| local_piece(&self.memories, request.local)));
        for (piece, request) in self.pieces.iter_mut().zip(requests) {
            let mut flags = 0;
            let is_outgoing = matches!(request.action, Action::Write { .. } | Action::Send);
            if is_outgoing && request.local.bytes <= self.inline_bytes {
                flags |= abi::FLAG_INLINE;
            }
            if request.is_signaled {
                flags |= abi::FLAG_SIGNALED;
            }
            let (operation, target) = operation(request.action);
            self.requests.push(abi::SendRequest {
                id: request.id,
                next: null_mut(),
                pieces: &raw mut *piece,
                piece_count: 1,
                operation,
                flags,
                immediate: 0,
                target,
                unused: [0; 7],
            });
        }
        let first = self.requests.as_mut_ptr();
        for index in 1..self.requests.len() {
            // SAFETY: both requests are in the vector, which is not changed any more.
            unsafe { (*first.add(index - 1)).next = first.add(index) };
        }
        let pair = self.pair.as_ptr();
        let mut refused = null_mut();
        // SAFETY: the queue pair lives and so does its device, whose provider filled in the function; requests and
        // pieces stay where they are until it returns, and it keeps none of them. Each piece is inside the
        // registered memory (rule 3), which this object holds until the queue pair is gone (rule 2).
        let code = unsafe {
            let post = (*(*pair).context).operations.post_send;
            post(pair, first, &raw mut refused)
        };
        VerbsError::check("post requests to an RDMA device", code)
    }

    /// Waits for a message, to be put into `piece`.
    ///
    /// # Panics
    /// If the queue pair does not have that memory.
    pub fn post_receive(&mut self, id: u64, piece: Piece) -> Result<(), VerbsError> {
        let mut piece = local_piece(&self.memories, piece);
        let mut request =
            abi::ReceiveRequest { id, next: null_mut(), pieces: &raw mut piece, piece_count: 1 };
        let pair = self.pair.as_ptr();
        let mut refused = null_mut();
        // SAFETY: as in `post`.
        let code = unsafe {
            let post = (*(*pair).context).operations.post_recv;
            post(pair, &raw mut request, &raw mut refused)
        };
        VerbsError::check("let an RDMA device wait for a message", code)
    }
}

/// A piece as the card knows it.
#[inline]
fn local_piece(memories: &[Arc<Registered>], piece: Piece) -> abi::Piece {
    let local = &memories[piece.memory as usize];
    let end = piece.offset.checked_add(u64::from(piece.bytes));
    assert!(end.is_some_and(|end| end <= local.bytes()), "{piece:?} leaves the registered memory");
    abi::Piece {
        address: local.memory_address() + piece.offset,
        bytes: piece.bytes,
        local_key: local.local_key(),
    }
}

#[inline]
fn operation(action: Action) -> (i32, abi::Target) {
    let memory =
        |address, remote_key| abi::Target { memory: abi::TargetMemory { address, remote_key } };
    let atomic = |address, remote_key, compare_or_add, swap| abi::Target {
        atomic: abi::TargetAtomic { address, compare_or_add, swap, remote_key },
    };
    match action {
        Action::Read { remote, key } => (abi::OPERATION_READ, memory(remote, key)),
        Action::Write { remote, key } => (abi::OPERATION_WRITE, memory(remote, key)),
        Action::CompareAndSwap { remote, key, expected, desired } => {
            (abi::OPERATION_SWAP, atomic(remote, key, expected, desired))
        }
        Action::FetchAndAdd { remote, key, add } => {
            (abi::OPERATION_ADD, atomic(remote, key, add, 0))
        }
        Action::Send => (abi::OPERATION_SEND, memory(0, 0)),
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        let functions = self.queue.device.functions;
        // SAFETY: nobody else knows of the queue pair. When this returns, the card touches the memory no more on its
        // behalf, so that its memories may go after it.
        unsafe { (functions.destroy_qp)(self.pair.as_ptr()) };
    }
}
