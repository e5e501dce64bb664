//! The structures of libibverbs that we share with it, as its header declares them.
//!
//! Checked in, so that the build needs no header: the library has kept these structures since its
//! version 1.1, because every linked program relies on them. The sizes and offsets asserted here
//! are those of 64-bit Linux; a test compares them with the header if one is installed. For
//! structures that only the library creates, the declaration ends with the last field that we read.
//!
//! Decision: docs/decisions/0083-libibverbs-is-declared-by-hand.md

use std::ffi::{c_int, c_void};
use std::mem::offset_of;

/// An opaque device.
#[repr(C)]
pub struct Device {
    _private: [u8; 0],
}

/// An opaque protection domain.
#[repr(C)]
pub struct ProtectionDomain {
    _private: [u8; 0],
}

type Unused = *const c_void;

/// Function pointers of a device's provider. The header's inline functions call them, so the
/// library has no symbols for them; pointers that we do not call have no type here.
#[repr(C)]
pub struct Operations {
    _before_poll: [Unused; 11],
    pub poll_cq: unsafe extern "C" fn(*mut CompletionQueue, c_int, *mut WorkCompletion) -> c_int,
    pub req_notify_cq: unsafe extern "C" fn(*mut CompletionQueue, c_int) -> c_int,
    _before_send: [Unused; 12],
    pub post_send:
        unsafe extern "C" fn(*mut QueuePair, *mut SendRequest, *mut *mut SendRequest) -> c_int,
    pub post_recv: unsafe extern "C" fn(
        *mut QueuePair,
        *mut ReceiveRequest,
        *mut *mut ReceiveRequest,
    ) -> c_int,
    _behind: [Unused; 5],
}

/// An opened device.
#[repr(C)]
pub struct Context {
    pub device: *mut Device,
    pub operations: Operations,
}

#[repr(C)]
pub struct CompletionChannel {
    pub context: *mut Context,
    pub descriptor: c_int,
}

#[repr(C)]
pub struct CompletionQueue {
    pub context: *mut Context,
}

#[repr(C)]
pub struct QueuePair {
    pub context: *mut Context,
    _pointers: [Unused; 5],
    _handle: u32,
    pub number: u32,
}

#[repr(C)]
pub struct MemoryRegion {
    _pointers: [Unused; 3],
    _length: usize,
    _handle: u32,
    pub local_key: u32,
    pub remote_key: u32,
}

#[repr(C)]
pub struct DeviceAttributes {
    _identity: [u64; 12],
    _hardware: [u32; 3],
    pub queue_pairs_max: c_int,
    pub requests_max: c_int,
    _flags: u32,
    _pieces: [c_int; 3],
    pub completions_max: c_int,
    _counts: [c_int; 2],
    /// Reads and atomics that a queue pair serves concurrently.
    pub reads_served_max: c_int,
    _extended_reads: [c_int; 2],
    /// Reads and atomics that a queue pair issues concurrently.
    pub reads_started_max: c_int,
    _extended_starts: c_int,
    pub atomics: c_int,
    _more_counts: [c_int; 14],
    _partition_keys: u16,
    _delay: u8,
    pub port_count: u8,
    _rest: u32,
}

/// The state of a port.
#[repr(C)]
pub struct PortAttributes {
    pub state: c_int,
    _transfer_unit_max: c_int,
    pub transfer_unit: c_int,
    pub gid_count: c_int,
    _counters: [u32; 4],
    _partition_keys: u16,
    pub local_identifier: u16,
    _subnet: [u8; 10],
    pub link_layer: u8,
    _flags: u8,
    /// Padding: versions of the library write different lengths of this structure.
    _more: [u32; 4],
}

/// An address of a port.
#[repr(C, align(8))]
#[derive(Clone, Copy, Default)]
pub struct Gid(pub [u8; 16]);

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Capacity {
    pub send_requests: u32,
    pub receive_requests: u32,
    pub send_pieces: u32,
    pub receive_pieces: u32,
    pub inline_bytes: u32,
}

#[repr(C)]
pub struct QueuePairStart {
    pub context: *mut c_void,
    pub send_queue: *mut CompletionQueue,
    pub receive_queue: *mut CompletionQueue,
    pub shared_receives: *mut c_void,
    pub capacity: Capacity,
    pub kind: c_int,
    pub all_signaled: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct GlobalRoute {
    pub gid: Gid,
    pub flow_label: u32,
    pub source_gid_index: u8,
    pub hop_limit: u8,
    pub traffic_class: u8,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Path {
    pub route: GlobalRoute,
    pub local_identifier: u16,
    pub service_level: u8,
    pub source_path: u8,
    pub static_rate: u8,
    pub is_global: u8,
    pub port: u8,
}

#[repr(C)]
#[derive(Default)]
pub struct QueuePairAttributes {
    pub state: c_int,
    pub current_state: c_int,
    pub transfer_unit: c_int,
    pub migration_state: c_int,
    pub queue_key: u32,
    pub receive_sequence: u32,
    pub send_sequence: u32,
    pub peer_number: u32,
    pub access: u32,
    pub capacity: Capacity,
    pub path: Path,
    pub alternative_path: Path,
    pub partition_key_index: u16,
    pub alternative_partition_key_index: u16,
    pub notify_drained: u8,
    pub is_draining: u8,
    pub reads_started: u8,
    pub reads_served: u8,
    pub receiver_timer: u8,
    pub port: u8,
    pub timeout: u8,
    pub retry_count: u8,
    pub receiver_retry_count: u8,
    pub alternative_port: u8,
    pub alternative_timeout: u8,
    pub rate_limit: u32,
}

/// A piece of this side's registered memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Piece {
    pub address: u64,
    pub bytes: u32,
    pub local_key: u32,
}

/// The part of a request that differs between reads and writes, which use the first and the last
/// field but store the key in place of the operand, and atomics.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Target {
    pub memory: TargetMemory,
    pub atomic: TargetAtomic,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TargetMemory {
    pub address: u64,
    pub remote_key: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct TargetAtomic {
    pub address: u64,
    pub compare_or_add: u64,
    pub swap: u64,
    pub remote_key: u32,
}

#[repr(C)]
pub struct SendRequest {
    pub id: u64,
    pub next: *mut SendRequest,
    pub pieces: *mut Piece,
    pub piece_count: c_int,
    pub operation: c_int,
    pub flags: u32,
    pub immediate: u32,
    pub target: Target,
    pub unused: [u64; 7],
}

#[repr(C)]
pub struct ReceiveRequest {
    pub id: u64,
    pub next: *mut ReceiveRequest,
    pub pieces: *mut Piece,
    pub piece_count: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct WorkCompletion {
    pub id: u64,
    pub status: c_int,
    pub operation: c_int,
    pub vendor_error: u32,
    pub bytes: u32,
    pub immediate: u32,
    pub queue_pair: u32,
    pub source_queue_pair: u32,
    pub flags: u32,
    _address: [u16; 4],
}

pub const ATOMICS_NONE: c_int = 0;
pub const PORT_ACTIVE: c_int = 4;
pub const LINK_LAYER_ETHERNET: u8 = 2;
pub const RELIABLE_CONNECTION: c_int = 2;

pub const ACCESS_LOCAL_WRITE: c_int = 1;
pub const ACCESS_REMOTE_WRITE: c_int = 1 << 1;
pub const ACCESS_REMOTE_READ: c_int = 1 << 2;
pub const ACCESS_REMOTE_ATOMIC: c_int = 1 << 3;

pub const STATE_INIT: c_int = 1;
pub const STATE_READY_TO_RECEIVE: c_int = 2;
pub const STATE_READY_TO_SEND: c_int = 3;
pub const STATE_ERROR: c_int = 6;

pub const SET_STATE: c_int = 1;
pub const SET_ACCESS: c_int = 1 << 3;
pub const SET_PARTITION_KEY: c_int = 1 << 4;
pub const SET_PORT: c_int = 1 << 5;
pub const SET_PATH: c_int = 1 << 7;
pub const SET_TRANSFER_UNIT: c_int = 1 << 8;
pub const SET_TIMEOUT: c_int = 1 << 9;
pub const SET_RETRY_COUNT: c_int = 1 << 10;
pub const SET_RECEIVER_RETRY_COUNT: c_int = 1 << 11;
pub const SET_RECEIVE_SEQUENCE: c_int = 1 << 12;
pub const SET_READS_STARTED: c_int = 1 << 13;
pub const SET_RECEIVER_TIMER: c_int = 1 << 15;
pub const SET_SEND_SEQUENCE: c_int = 1 << 16;
pub const SET_READS_SERVED: c_int = 1 << 17;
pub const SET_PEER_NUMBER: c_int = 1 << 20;

pub const OPERATION_WRITE: c_int = 0;
pub const OPERATION_SEND: c_int = 2;
pub const OPERATION_READ: c_int = 4;
pub const OPERATION_SWAP: c_int = 5;
pub const OPERATION_ADD: c_int = 6;

pub const FLAG_SIGNALED: u32 = 1 << 1;
pub const FLAG_INLINE: u32 = 1 << 3;

/// The bit of a completion's operation that marks a received message.
pub const COMPLETED_RECEIVE: c_int = 1 << 7;
pub const STATUS_SUCCESS: c_int = 0;

/// Sizes and offsets, by the header's names. Size 0: only the beginning of the structure is
/// declared.
macro_rules! layouts {
    ($($name:literal: $ours:ty = $bytes:literal { $($field:literal: $($our:ident).+ = $offset:literal,)* })*) => {
        const _: () = {
            $(
                assert!($bytes == 0 || size_of::<$ours>() == $bytes);
                $(assert!(offset_of!($ours, $($our).+) == $offset);)*
            )*
        };

        /// Structure, its size, and the offset of each field.
        #[cfg(test)]
        const LAYOUTS: &[(&str, usize, &[(&str, usize)])] =
            &[$(($name, $bytes, &[$(($field, $offset)),*])),*];
    };
}

layouts! {
    "struct ibv_context": Context = 0 {
        "device": device = 0,
        "ops.poll_cq": operations.poll_cq = 96,
        "ops.req_notify_cq": operations.req_notify_cq = 104,
        "ops.post_send": operations.post_send = 208,
        "ops.post_recv": operations.post_recv = 216,
    }
    "struct ibv_context_ops": Operations = 256 {}
    "struct ibv_comp_channel": CompletionChannel = 0 { "context": context = 0, "fd": descriptor = 8, }
    "struct ibv_cq": CompletionQueue = 0 { "context": context = 0, }
    "struct ibv_qp": QueuePair = 0 { "context": context = 0, "qp_num": number = 52, }
    "struct ibv_mr": MemoryRegion = 48 { "lkey": local_key = 36, "rkey": remote_key = 40, }
    "struct ibv_device_attr": DeviceAttributes = 232 {
        "max_qp": queue_pairs_max = 108,
        "max_qp_wr": requests_max = 112,
        "max_cqe": completions_max = 132,
        "max_qp_rd_atom": reads_served_max = 144,
        "max_qp_init_rd_atom": reads_started_max = 156,
        "atomic_cap": atomics = 164,
        "phys_port_cnt": port_count = 227,
    }
    "struct ibv_port_attr": PortAttributes = 0 {
        "state": state = 0,
        "active_mtu": transfer_unit = 8,
        "gid_tbl_len": gid_count = 12,
        "lid": local_identifier = 34,
        "link_layer": link_layer = 46,
    }
    "union ibv_gid": Gid = 16 {}
    "struct ibv_qp_init_attr": QueuePairStart = 64 {
        "qp_context": context = 0,
        "send_cq": send_queue = 8,
        "recv_cq": receive_queue = 16,
        "srq": shared_receives = 24,
        "cap": capacity = 32,
        "cap.max_recv_wr": capacity.receive_requests = 36,
        "cap.max_send_sge": capacity.send_pieces = 40,
        "cap.max_inline_data": capacity.inline_bytes = 48,
        "qp_type": kind = 52,
        "sq_sig_all": all_signaled = 56,
    }
    "struct ibv_qp_attr": QueuePairAttributes = 144 {
        "qp_state": state = 0,
        "path_mtu": transfer_unit = 8,
        "rq_psn": receive_sequence = 20,
        "sq_psn": send_sequence = 24,
        "dest_qp_num": peer_number = 28,
        "qp_access_flags": access = 32,
        "cap": capacity = 36,
        "ah_attr": path = 56,
        "ah_attr.grh.dgid": path.route.gid = 56,
        "ah_attr.grh.sgid_index": path.route.source_gid_index = 76,
        "ah_attr.grh.hop_limit": path.route.hop_limit = 77,
        "ah_attr.dlid": path.local_identifier = 80,
        "ah_attr.is_global": path.is_global = 85,
        "ah_attr.port_num": path.port = 86,
        "pkey_index": partition_key_index = 120,
        "max_rd_atomic": reads_started = 126,
        "max_dest_rd_atomic": reads_served = 127,
        "min_rnr_timer": receiver_timer = 128,
        "port_num": port = 129,
        "timeout": timeout = 130,
        "retry_cnt": retry_count = 131,
        "rnr_retry": receiver_retry_count = 132,
    }
    "struct ibv_sge": Piece = 16 { "addr": address = 0, "length": bytes = 8, "lkey": local_key = 12, }
    "struct ibv_send_wr": SendRequest = 128 {
        "wr_id": id = 0,
        "next": next = 8,
        "sg_list": pieces = 16,
        "num_sge": piece_count = 24,
        "opcode": operation = 28,
        "send_flags": flags = 32,
        "wr": target = 40,
        "wr.rdma.remote_addr": target.memory.address = 40,
        "wr.rdma.rkey": target.memory.remote_key = 48,
        "wr.atomic.compare_add": target.atomic.compare_or_add = 48,
        "wr.atomic.swap": target.atomic.swap = 56,
        "wr.atomic.rkey": target.atomic.remote_key = 64,
    }
    "struct ibv_recv_wr": ReceiveRequest = 32 {
        "wr_id": id = 0,
        "next": next = 8,
        "sg_list": pieces = 16,
        "num_sge": piece_count = 24,
    }
    "struct ibv_wc": WorkCompletion = 48 {
        "wr_id": id = 0,
        "status": status = 8,
        "opcode": operation = 12,
        "byte_len": bytes = 20,
        "qp_num": queue_pair = 28,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;
    use std::path::Path;
    use std::process::Command;

    /// The header's names for our constants.
    const VALUES: [(&str, i64); 32] = [
        ("IBV_ATOMIC_NONE", ATOMICS_NONE as i64),
        ("IBV_PORT_ACTIVE", PORT_ACTIVE as i64),
        ("IBV_LINK_LAYER_ETHERNET", LINK_LAYER_ETHERNET as i64),
        ("IBV_QPT_RC", RELIABLE_CONNECTION as i64),
        ("IBV_ACCESS_LOCAL_WRITE", ACCESS_LOCAL_WRITE as i64),
        ("IBV_ACCESS_REMOTE_WRITE", ACCESS_REMOTE_WRITE as i64),
        ("IBV_ACCESS_REMOTE_READ", ACCESS_REMOTE_READ as i64),
        ("IBV_ACCESS_REMOTE_ATOMIC", ACCESS_REMOTE_ATOMIC as i64),
        ("IBV_QPS_INIT", STATE_INIT as i64),
        ("IBV_QPS_RTR", STATE_READY_TO_RECEIVE as i64),
        ("IBV_QPS_RTS", STATE_READY_TO_SEND as i64),
        ("IBV_QPS_ERR", STATE_ERROR as i64),
        ("IBV_QP_STATE", SET_STATE as i64),
        ("IBV_QP_ACCESS_FLAGS", SET_ACCESS as i64),
        ("IBV_QP_PKEY_INDEX", SET_PARTITION_KEY as i64),
        ("IBV_QP_PORT", SET_PORT as i64),
        ("IBV_QP_AV", SET_PATH as i64),
        ("IBV_QP_PATH_MTU", SET_TRANSFER_UNIT as i64),
        ("IBV_QP_TIMEOUT", SET_TIMEOUT as i64),
        ("IBV_QP_RETRY_CNT", SET_RETRY_COUNT as i64),
        ("IBV_QP_RNR_RETRY", SET_RECEIVER_RETRY_COUNT as i64),
        ("IBV_QP_RQ_PSN", SET_RECEIVE_SEQUENCE as i64),
        ("IBV_QP_MAX_QP_RD_ATOMIC", SET_READS_STARTED as i64),
        ("IBV_QP_MIN_RNR_TIMER", SET_RECEIVER_TIMER as i64),
        ("IBV_QP_SQ_PSN", SET_SEND_SEQUENCE as i64),
        ("IBV_QP_MAX_DEST_RD_ATOMIC", SET_READS_SERVED as i64),
        ("IBV_QP_DEST_QPN", SET_PEER_NUMBER as i64),
        ("IBV_WR_SEND", OPERATION_SEND as i64),
        ("IBV_WR_RDMA_READ", OPERATION_READ as i64),
        ("IBV_WR_ATOMIC_CMP_AND_SWP", OPERATION_SWAP as i64),
        ("IBV_WR_ATOMIC_FETCH_AND_ADD", OPERATION_ADD as i64),
        ("IBV_SEND_INLINE", FLAG_INLINE as i64),
    ];

    #[test]
    fn our_declarations_are_those_of_the_header() {
        if !Path::new("/usr/include/infiniband/verbs.h").is_file() {
            println!("skipped: the header is not installed (libibverbs-dev)");
            return;
        }
        let mut source = String::from("#include <infiniband/verbs.h>\n#include <stddef.h>\n");
        let mut check = |what: &str, value: i64| {
            writeln!(source, "_Static_assert({what} == {value}, \"{what}\");").expect("memory");
        };
        for (structure, bytes, fields) in LAYOUTS {
            if *bytes > 0 {
                check(&format!("sizeof({structure})"), *bytes as i64);
            }
            for (field, offset) in *fields {
                check(&format!("offsetof({structure}, {field})"), *offset as i64);
            }
        }
        for (name, value) in VALUES {
            check(name, value);
        }
        check("sizeof(struct ibv_port_attr) <= 64", 1);
        let folder = std::env::temp_dir().join(format!("namdb-header-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("make a folder");
        let file = folder.join("layouts.c");
        std::fs::write(&file, source).expect("write a program");
        let compiled = Command::new("cc").arg("-fsyntax-only").arg(&file).output();
        std::fs::remove_dir_all(&folder).expect("remove the folder");
        let compiled = compiled.expect("run the C compiler");
        let errors = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "{errors}");
    }
}
