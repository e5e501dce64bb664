//! Lanes that append while a group commit is under way, in virtual time.

use crate::model::{CONFIG, LANES, Model, restart};
use fabric::Env;
use redo_log::{Log, LogError};
use sim::disk::{DiskConfig, SimulatedDisk};
use sim::{Endpoint, SimConfig, World};
use std::cell::RefCell;
use std::rc::Rc;
use storage::Directory;

/// One group commit after the other, each of what is visible when it begins.
async fn flush(
    env: Endpoint,
    disk: SimulatedDisk,
    model: Rc<RefCell<Model>>,
) -> Result<(), LogError> {
    let directory = Directory::open(disk.access_on(&env)).await?;
    let mut log = Log::create(directory, CONFIG).await?;
    model.borrow_mut().is_created = true;
    for slot in 0..LANES {
        let (model, mut lane, task) = (model.clone(), log.lanes().add(), env.clone());
        env.spawn(async move {
            loop {
                model.borrow_mut().append(&mut lane, slot);
                task.sleep_ns(task.random() % 30_000).await;
                model.borrow_mut().publish(slot);
                task.sleep_ns(task.random() % 30_000).await;
            }
        });
    }
    loop {
        let snapshot = model.borrow().snapshot();
        model.borrow_mut().attempt(&snapshot);
        let group = log.commit_group(&snapshot).await?;
        model.borrow_mut().acknowledge(snapshot, group);
    }
}

#[test]
fn lanes_append_while_groups_are_written() {
    let mut acknowledged = 0;
    for seed in 0..150 {
        let world = World::new(SimConfig::hostile(seed).named("redo log"));
        let env = world.endpoint(world.compute_node(0));
        let disk = SimulatedDisk::new(DiskConfig::new(seed));
        let model = Rc::new(RefCell::new(Model::new(seed)));
        let (flusher, of_disk, of_model) = (env.clone(), disk.clone(), model.clone());
        world.spawn_on(&env, async move {
            let _ends_with_the_power = flush(flusher, of_disk, of_model).await;
        });
        world.run_for(1_000_000 + seed * 40_000);
        if seed % 3 == 0 {
            world.kill(&env);
            disk.kill();
        } else {
            disk.crash();
            world.kill(&env);
        }
        let mut model = model.borrow_mut();
        if !model.is_created {
            continue;
        }
        acknowledged += model.acknowledged.iter().sum::<u64>();
        restart(&disk, &mut model).unwrap_or_else(|error| panic!("{}: {error}", world.identity()));
    }
    assert!(acknowledged > 10_000, "{acknowledged}");
}
