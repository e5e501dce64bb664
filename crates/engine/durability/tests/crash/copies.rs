//! Copies of the directory that are made while sessions run.

use crate::machine::Machine;
use durability::DurabilityError;
use durability::backup::copy_directory;
use fabric::{DynEnv, Env};
use sim::disk::{DiskAccess, DiskConfig, SimulatedDisk};
use std::rc::Rc;
use storage::Directory;

/// Copies the directory, as a tool without its lock does.
pub async fn copy(
    machine: Rc<Machine>,
    env: DynEnv,
    from: Directory<DiskAccess>,
    disk: SimulatedDisk,
) {
    while machine.has_sessions() {
        env.sleep_ns(env.random() % 400_000).await;
        let durable = machine.acknowledgements.last_group().map_or(0, |(group, _)| group.number);
        let target = SimulatedDisk::new(DiskConfig::new(env.random()));
        let to = Directory::open(target.access()).await.expect("nobody else has it");
        let copied = copy_directory(&from, &to, |_| ()).await;
        let mut ledger = machine.ledger.borrow_mut();
        match copied {
            Ok(copied) if copied.group < durable => {
                let wrong = format!("a copy ends with group {}, not {durable}", copied.group);
                ledger.wrong.push(wrong);
            }
            Ok(_) => ledger.copies.push(target),
            Err(DurabilityError::Busy { .. }) => {}
            Err(_) if !disk.has_power() => return,
            Err(error) => ledger.wrong.push(format!("no copy could be made: {error}")),
        }
    }
}
