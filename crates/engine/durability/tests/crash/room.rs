//! A checkpoint that cannot be completed leaves its room to the log.

use crate::life::{Begun, Plan, load, tables};
use crate::lives;
use crate::support::cluster::Cluster;
use crate::support::mix::{Dice, Mix};
use crate::support::program::execute;
use durability::{
    CheckpointStart, Control, DurabilityError, Flusher, Opened, catalog, write_checkpoint,
};
use fabric::{DynEnv, Env};
use sim::disk::{DiskAccess, DiskConfig, SimulatedDisk};
use std::cell::RefCell;
use std::rc::Rc;
use storage::Directory;
use txn::Outcome;

const SEED: u64 = 2;

fn plan(life: u64) -> Plan {
    let plan = lives::plan(SEED, life, false, &mut Dice(SEED));
    // All commits fit in one segment.
    Plan { workers: 1, mix: Mix { notes_in_row: None, ..plan.mix }, ..plan }
}

fn checkpoint_files(disk: &SimulatedDisk) -> Vec<String> {
    disk.files().into_keys().filter(|name| name.starts_with("checkpoint-")).collect()
}

/// Makes the files of a checkpoint, while a flusher runs.
fn checkpoint(
    cluster: &Cluster,
    directory: &Directory<DiskAccess>,
    control: &Control,
    flusher: &mut Flusher<DynEnv, DiskAccess>,
) -> Result<(), DurabilityError> {
    let (acknowledgements, incarnation) =
        (flusher.acknowledgements().clone(), flusher.incarnation());
    let (directory, control, database) = (directory.clone(), control.clone(), cluster.compute(0));
    let ended = Rc::new(RefCell::new(None));
    let result = ended.clone();
    cluster.world.spawn_on(&database.env().clone(), async move {
        let made = async {
            let start = CheckpointStart::new(&acknowledgements, incarnation).await?;
            let acknowledgements = &acknowledgements;
            write_checkpoint(start, &control, &database, &directory, acknowledgements, |_| Ok(()))
                .await
        };
        *result.borrow_mut() = Some(made.await.map(drop));
    });
    cluster.admin(async {
        while ended.borrow().is_none() {
            flusher.flush().await?;
            cluster.database.env().sleep_ns(10_000).await;
        }
        ended.take().expect("it has ended")
    })
}

#[test]
fn an_incomplete_checkpoint_gives_its_room_back() {
    let disk = SimulatedDisk::new(DiskConfig::new(SEED));
    let (first, mut dice) = (plan(0), Dice(SEED));
    let begun = first.begin(&disk, &mut dice).expect("the disk is empty");
    let Begun { cluster, directory, opened } = begun;
    let Opened { mut control, log, restore, .. } = opened;
    load(&cluster, restore, 1).expect("there are no rows");
    let mut flusher = cluster.admin(Flusher::new(&cluster.database, log)).expect("a lane");
    let spec = first.mix.spec("t", &mut dice);
    let created = catalog::create_table(&mut control, &directory, &cluster.database, spec);
    cluster.admin(created).expect("there is room");
    let logged = cluster.compute(1).logging_to(flusher.lanes());
    let tables = tables(&cluster.database, &control.tables[0]);
    let filled = cluster.admin(async {
        let mut lane = logged.lane().await.expect("there are slots");
        execute(&mut lane, tables, 0, &first.mix.setup()).await
    });
    assert_eq!(filled.outcome, Outcome::Committed);
    cluster.admin(flusher.flush()).expect("there is room");

    let used: usize = disk.files().values().map(Vec::len).sum();
    // Room for the header of a file, and for no row.
    disk.set_capacity(used as u64 + 60);
    let full = checkpoint(&cluster, &directory, &control, &mut flusher);
    let error = full.expect_err("there is no room for rows");
    assert!(matches!(&error, DurabilityError::Disk(disk) if disk.is_full()), "{error}");
    assert_eq!(checkpoint_files(&disk), [""; 0]);

    disk.set_capacity(1 << 40);
    checkpoint(&cluster, &directory, &control, &mut flusher).expect("there is room again");
    assert_eq!(checkpoint_files(&disk).len(), 1);
    drop((directory, flusher, cluster));
    // The control file does not name the checkpoint, so the next start removes it.
    disk.kill();
    plan(1).begin(&disk, &mut dice).expect("the log is intact");
    assert_eq!(checkpoint_files(&disk), [""; 0]);
}
