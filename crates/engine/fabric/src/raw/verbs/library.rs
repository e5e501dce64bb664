//! libibverbs, loaded at the first use of a device: builds and hosts do not need it.
//!
//! Decision: docs/decisions/0083-libibverbs-is-declared-by-hand.md

use super::abi;
use crate::verbs::VerbsError;
use libloading::Library;
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

/// The file, under the name that every version since the first has.
const FILE: &str = "libibverbs.so.1";

/// Declares the functions to load, each with its type from the header.
macro_rules! functions {
    ($($field:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        pub struct Functions {
            $(pub $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// Dropped after the function pointers, which are invalid without it.
            _library: Library,
        }

        impl Functions {
            fn load() -> Result<Self, libloading::Error> {
                // SAFETY: loading runs the library's own start-up code, which registers its
                // providers; it has no demands on the program that loads it.
                let library = unsafe { Library::new(FILE)? };
                // SAFETY: each symbol is a function whose type in the header is the one given here;
                // the pointers live no longer than the library, which is a field of the same
                // structure.
                unsafe {
                    Ok(Self {
                        $($field: *library.get($symbol)?,)*
                        _library: library,
                    })
                }
            }
        }
    };
}

functions! {
    get_device_list = b"ibv_get_device_list\0": fn(*mut c_int) -> *mut *mut abi::Device;
    free_device_list = b"ibv_free_device_list\0": fn(*mut *mut abi::Device);
    get_device_name = b"ibv_get_device_name\0": fn(*mut abi::Device) -> *const c_char;
    open_device = b"ibv_open_device\0": fn(*mut abi::Device) -> *mut abi::Context;
    close_device = b"ibv_close_device\0": fn(*mut abi::Context) -> c_int;
    query_device = b"ibv_query_device\0": fn(*mut abi::Context, *mut abi::DeviceAttributes) -> c_int;
    query_port = b"ibv_query_port\0": fn(*mut abi::Context, u8, *mut abi::PortAttributes) -> c_int;
    query_gid = b"ibv_query_gid\0": fn(*mut abi::Context, u8, c_int, *mut abi::Gid) -> c_int;
    alloc_pd = b"ibv_alloc_pd\0": fn(*mut abi::Context) -> *mut abi::ProtectionDomain;
    dealloc_pd = b"ibv_dealloc_pd\0": fn(*mut abi::ProtectionDomain) -> c_int;
    reg_mr = b"ibv_reg_mr\0":
        fn(*mut abi::ProtectionDomain, *mut c_void, usize, c_int) -> *mut abi::MemoryRegion;
    dereg_mr = b"ibv_dereg_mr\0": fn(*mut abi::MemoryRegion) -> c_int;
    create_channel = b"ibv_create_comp_channel\0": fn(*mut abi::Context) -> *mut abi::CompletionChannel;
    destroy_channel = b"ibv_destroy_comp_channel\0": fn(*mut abi::CompletionChannel) -> c_int;
    create_cq = b"ibv_create_cq\0":
        fn(*mut abi::Context, c_int, *mut c_void, *mut abi::CompletionChannel, c_int) -> *mut abi::CompletionQueue;
    destroy_cq = b"ibv_destroy_cq\0": fn(*mut abi::CompletionQueue) -> c_int;
    get_cq_event = b"ibv_get_cq_event\0":
        fn(*mut abi::CompletionChannel, *mut *mut abi::CompletionQueue, *mut *mut c_void) -> c_int;
    ack_cq_events = b"ibv_ack_cq_events\0": fn(*mut abi::CompletionQueue, u32);
    create_qp = b"ibv_create_qp\0":
        fn(*mut abi::ProtectionDomain, *mut abi::QueuePairStart) -> *mut abi::QueuePair;
    modify_qp = b"ibv_modify_qp\0":
        fn(*mut abi::QueuePair, *mut abi::QueuePairAttributes, c_int) -> c_int;
    destroy_qp = b"ibv_destroy_qp\0": fn(*mut abi::QueuePair) -> c_int;
}

/// The library, loaded once and never unloaded: its providers keep threads and handlers of their
/// own.
pub fn functions() -> Result<&'static Functions, VerbsError> {
    static LOADED: OnceLock<Result<Functions, String>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| Functions::load().map_err(|error| error.to_string()));
    loaded.as_ref().map_err(|reason| VerbsError::NoLibrary(reason.clone()))
}
