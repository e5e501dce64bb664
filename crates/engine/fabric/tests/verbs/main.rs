//! RDMA verbs on a device of this host, if it has one: a guest with Soft-RoCE has (`cargo xtask
//! soft-roce`). Elsewhere each test is skipped and prints why.

mod device;
mod holder;
mod peers;
mod world;

use fabric::verbs::{Choice, Place};

/// A port of this host; prints the reason and returns `None` if there is none, unless one is
/// required.
fn place() -> Option<Place> {
    match Place::open(&Choice::default()) {
        Ok(place) => Some(place),
        Err(reason) if std::env::var_os("NAMDB_SOFT_ROCE").is_none() => {
            println!("skipped: {reason}");
            None
        }
        Err(reason) => panic!("a guest has a device: {reason}"),
    }
}
