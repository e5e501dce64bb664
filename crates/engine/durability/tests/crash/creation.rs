//! The creation of a database is interrupted, and so is the start after it.

use crate::ledger::{DATABASE, SEGMENT_BYTES};
use durability::{DurabilityError, OpenOptions, open_directory};
use fabric::run_now;
use sim::disk::{DiskConfig, SimulatedDisk};
use storage::Directory;

fn open(disk: &SimulatedDisk) -> Result<(), DurabilityError> {
    run_now(async {
        let directory = Directory::open(disk.access()).await?;
        let segment_bytes = Some(SEGMENT_BYTES);
        let options = OpenOptions { segment_bytes, ..OpenOptions::new(DATABASE) };
        open_directory(&directory, options).await.map(drop)
    })
}

/// A killed process leaves the control file with a name that is not durable. The next start finds
/// it, and relies on it: a loss of power must not leave what this start has made without it.
#[test]
fn a_creation_that_was_interrupted_twice_is_repeated() {
    let whole = SimulatedDisk::new(DiskConfig::new(0));
    open(&whole).expect("the disk works");
    for first in 1..=whole.operations() {
        let killed = SimulatedDisk::new(DiskConfig::new(first));
        killed.power_off_at(first);
        assert!(open(&killed).is_err(), "the power fails");
        killed.kill();
        let again = killed.fork(1);
        open(&again).expect("a killed process has lost nothing");
        for second in 1..=again.operations() - killed.operations() {
            for seed in 0..100 {
                let disk = killed.fork(seed);
                disk.power_off_at(disk.operations() + second);
                assert!(open(&disk).is_err(), "the power fails");
                disk.crash();
                open(&disk).unwrap_or_else(|error| panic!("{first}, {second}, {seed}: {error}"));
            }
        }
    }
}
