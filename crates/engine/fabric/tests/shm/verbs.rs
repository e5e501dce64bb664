//! Verbs of several processes on the same words.

use crate::parts::{ADDITIONS, NODE, OTHER_WORD, WORD, add_all};
use crate::play::{Folder, Player, REGION_BYTES, world};
use fabric::{Batch, Fabric, FabricError, LocalEnv};
use layout::{GlobalPtr, RegionId};

pub fn read(env: &LocalEnv, at: GlobalPtr) -> Result<u64, FabricError> {
    let mut batch = Batch::new();
    let span = batch.read(at, 1);
    env.execute_now(&mut batch)?;
    Ok(batch.words(span)[0])
}

#[test]
fn atomics_of_two_processes_lose_nothing() {
    let folder = Folder::new();
    let _server = Player::start("server", &folder);
    let mut other = Player::start("adder", &folder);
    let world = world(&folder.0);
    other.go();
    add_all(&world);
    other.wait_for("added");
    let env = world.endpoint();
    assert_eq!(read(&env, WORD), Ok(2 * ADDITIONS));
    assert_eq!(read(&env, OTHER_WORD), Ok(2 * ADDITIONS));
}

#[test]
fn a_region_ends_where_the_server_says() {
    let folder = Folder::new();
    let _server = Player::start("server", &folder);
    let world = world(&folder.0);
    let env = world.endpoint();
    let last = GlobalPtr::new(RegionId(0), REGION_BYTES - 8);
    assert_eq!(read(&env, last), Ok(0));
    let beyond = GlobalPtr::new(RegionId(0), REGION_BYTES);
    assert_eq!(read(&env, beyond), Err(FabricError::OutOfRange { at: beyond, words: 1 }));
    assert_eq!(world.region_bytes(RegionId(0)), REGION_BYTES);
    assert_eq!(world.addresses().primary(RegionId(0)), NODE);
}
