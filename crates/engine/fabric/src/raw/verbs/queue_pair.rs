//! Queue pairs, the ends of reliable connections, and the requests posted to them.

use super::abi;
use super::completion::CompletionQueue;
use super::registered::Registered;
use crate::verbs::VerbsError;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// One end of a reliable connection, with the memories that its requests may use.
pub struct QueuePair {
    pair: NonNull<abi::QueuePair>,
    /// Memories of requests, by number.
    memories: Vec<Arc<Registered>>,
    queue: Arc<CompletionQueue>,
    /// Largest write or message that is sent inline, with the request.
    inline_bytes: u32,
    /// Buffer in which `post` builds requests.
    requests: Vec<abi::SendRequest>,
    pieces: Vec<abi::Piece>,
}

// SAFETY: the library's functions on a queue pair may be called from any thread (rule 4); the
// vectors hold pointers into each other only while `post` runs.
unsafe impl Send for QueuePair {}

/// Capacity of a queue pair.
#[derive(Clone, Copy, Debug)]
pub struct QueueSizes {
    /// Requests posted and not yet known to be complete.
    pub sends: u32,
    /// Receives posted.
    pub receives: u32,
    /// Bytes that requests may carry inline, if the device supports it.
    pub inline_bytes: u32,
}

/// The address of one end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// The queue pair's number on its device.
    pub number: u32,
    /// The port's number in an InfiniBand network; 0 on Ethernet.
    pub local_identifier: u16,
    pub gid: [u8; 16],
    /// The number of the first packet that this end sends.
    pub sequence: u32,
    /// Maximal packet size, in the library's code.
    pub transfer_unit: u8,
    /// Reads and atomics that this end serves concurrently.
    pub reads_served: u8,
}

#[derive(Clone, Copy, Debug)]
pub struct Connect {
    pub port: u8,
    /// The index of this side's GID.
    pub gid_index: u8,
    /// The number of the first packet that this end sends.
    pub sequence: u32,
    /// Reads and atomics that this end issues concurrently.
    pub reads_started: u8,
    /// Reads and atomics that this end serves concurrently.
    pub reads_served: u8,
    /// Maximal packet size, in the library's code; the smaller of both sides'.
    pub transfer_unit: u8,
    /// Whether the peer may use this end for verbs on this side's memory.
    pub allows_verbs: bool,
    /// Time-out of a packet's acknowledgement: 4.096 us times two to the power of this.
    pub timeout: u8,
    /// Retransmissions of a packet before the connection is lost, at most 6: some devices retry
    /// without end at 7.
    pub retry_count: u8,
}

/// A range of a memory that a queue pair holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    pub memory: u32,
    /// First byte.
    pub offset: u64,
    pub bytes: u32,
}

/// The operation of a request. The card that owns the remote memory checks remote addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Copies remote memory to local memory.
    Read {
        /// First byte.
        remote: u64,
        /// Key of its registration.
        key: u32,
    },
    /// Copies local memory to remote memory.
    Write {
        /// First byte.
        remote: u64,
        /// Key of its registration.
        key: u32,
    },
    /// Swaps a remote word if it has the expected value, and returns its old value.
    CompareAndSwap {
        remote: u64,
        /// Key of its registration.
        key: u32,
        expected: u64,
        desired: u64,
    },
    /// Adds to a remote word, and returns its old value.
    FetchAndAdd {
        remote: u64,
        /// Key of its registration.
        key: u32,
        add: u64,
    },
    /// Sends a message, which a receive of the peer takes.
    Send,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// Returned with the completion.
    pub id: u64,
    pub action: Action,
    /// The local memory to read from or to write to.
    pub local: Piece,
    /// Whether success yields a completion; failure always does. A completion covers all earlier
    /// requests.
    pub is_signaled: bool,
}

impl QueuePair {
    /// An unconnected end. Its requests may use `memory`, which is number 0.
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
            // SAFETY: domain and queue live, and the queue pair holds both, by way of `memory` and
            // `queue`.
            let pair =
                unsafe { (device.functions.create_qp)(device.domain.as_ptr(), &raw mut start) };
            match NonNull::new(pair) {
                Some(pair) => break pair,
                // Devices differ in the bytes that they send inline, and do not report the limit
                // beforehand.
                None if inline_bytes > 0 => inline_bytes /= 2,
                None => return Err(VerbsError::failed("make a queue pair")),
            }
        };
        let (requests, pieces) = (Vec::new(), Vec::new());
        Ok(Self { pair, memories: vec![memory], queue, inline_bytes, requests, pieces })
    }

    /// The queue pair's number on its device.
    pub fn number(&self) -> u32 {
        // SAFETY: the queue pair lives as long as this object.
        unsafe { (*self.pair.as_ptr()).number }
    }

    /// Allows requests to use `memory` too, under the next number.
    pub fn add_memory(&mut self, memory: Arc<Registered>) {
        assert!(
            Arc::ptr_eq(memory.device(), &self.queue.device),
            "memory and queue are of one device"
        );
        self.memories.push(memory);
    }

    /// The memories of requests, by number.
    pub fn memories(&self) -> &[Arc<Registered>] {
        &self.memories
    }

    /// The queue that receives the completions.
    pub fn queue(&self) -> &Arc<CompletionQueue> {
        &self.queue
    }

    /// Allows receives to be posted.
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

    /// Connects this end to `peer`, which connects to this one likewise.
    pub fn connect(&mut self, connect: &Connect, peer: &Endpoint) -> Result<(), VerbsError> {
        let is_global = peer.gid != [0; 16];
        let attributes = abi::QueuePairAttributes {
            state: abi::STATE_READY_TO_RECEIVE,
            transfer_unit: i32::from(connect.transfer_unit),
            receive_sequence: peer.sequence,
            peer_number: peer.number,
            reads_served: connect.reads_served,
            // 0.64 ms, the smallest wait that all devices keep: a receiver without room will have
            // some soon.
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
            // 7: no limit. Callers have deadlines of their own.
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

    /// Closes the connection: all requests in flight fail, on both sides.
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

    /// Posts all requests at once, in order: the device is notified once.
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
        // SAFETY: the queue pair lives and so does its device, whose provider set the function;
        // requests and pieces stay where they are until it returns, and it keeps none of them. Each
        // piece is inside the registered memory (rule 3), which this object holds until the queue
        // pair is destroyed (rule 2).
        let code = unsafe {
            let post = (*(*pair).context).operations.post_send;
            post(pair, first, &raw mut refused)
        };
        VerbsError::check("post requests to an RDMA device", code)
    }

    /// Posts a receive: the next message goes into `piece`.
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

/// Translates a piece to its address and key.
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
        // SAFETY: no other object refers to the queue pair. After this call the card no longer
        // accesses memory for it, so its memories may be freed afterwards.
        unsafe { (functions.destroy_qp)(self.pair.as_ptr()) };
    }
}
