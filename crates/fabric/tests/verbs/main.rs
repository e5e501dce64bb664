//! RDMA verbs on a device of this host, if it has one: in a guest with Soft-RoCE it does
//! (`cargo xtask soft-roce`). Everywhere else each test says why it is skipped.

mod device;
mod holder;
mod peers;
mod world;

use fabric::verbs::{Choice, Place};

/// A port of this host; none, with the reason printed, where there is none and none is promised.
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
