//! Failures of a development cluster's files.

use crate::world::{PATIENCE, World, client, join, memory_server, now, refusal, sleep_ms};
use membership::{ClusterFile, ClusterId, Registry};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

#[test]
fn another_cluster_in_the_same_directory_is_refused() {
    let world = World::file();
    let _lease = join(&world.open(), memory_server(0));
    let other = ClusterFile { id: ClusterId::draw(), ..world.cluster.clone() };
    let sentence = refusal(Registry::open(&other).map(|_| ()));
    assert!(
        sentence.contains("belongs to cluster `test`") && sentence.contains("directory"),
        "{sentence}"
    );
}

#[test]
fn whose_entry_is_removed_has_lost_its_lease() {
    let world = World::file();
    let registry = world.open();
    let lease = join(&registry, memory_server(0));
    let other = join(&registry, client());
    assert!(!lease.is_lost());
    std::fs::remove_file(world.cluster.directory.join("registry/memory-0")).expect("it is there");
    let deadline = now() + PATIENCE;
    while !lease.is_lost() {
        assert!(now() < deadline, "nobody told it");
        sleep_ms(10);
    }
    assert!(!other.is_lost());
    assert_eq!(registry.map().expect("it answers").members, [other.member().clone()]);
}

#[test]
fn a_dropped_lease_ends_as_if_its_process_had() {
    let world = World::file();
    let registry = world.open();
    let lease = join(&registry, memory_server(0));
    drop(lease);
    let map = registry.map().expect("it answers");
    assert_eq!((map.epoch, map.members.len(), map.left.len()), (2, 0, 0));
}

#[test]
fn the_last_to_leave_are_remembered() {
    let world = World::file();
    let registry = world.open();
    let left: Vec<u64> = (0..70)
        .map(|_| {
            let lease = join(&registry, client());
            let identity = lease.member().identity;
            lease.leave().expect("it may leave");
            identity
        })
        .collect();
    assert_eq!(registry.map().expect("it answers").left, left[6..]);
}

#[test]
fn a_damaged_record_is_named() {
    let world = World::file();
    let _lease = join(&world.open(), memory_server(0));
    let record = world.cluster.directory.join("registry/record");
    std::fs::write(&record, "{ \"clus").expect("it is ours");
    let sentence = refusal(Registry::open(&world.cluster).map(|_| ()));
    let path = world.cluster.directory.display().to_string();
    assert!(sentence.contains("`record` of") && sentence.contains(&path), "{sentence}");
}

#[test]
fn directories_that_others_may_write_are_refused() {
    let world = World::file();
    world.open();
    let directory = world.cluster.directory.join("registry");
    std::fs::set_permissions(&directory, Permissions::from_mode(0o777)).expect("it is ours");
    let sentence = refusal(Registry::open(&world.cluster).map(|_| ()));
    assert!(
        sentence.contains("others may write to it") && sentence.contains("chmod"),
        "{sentence}"
    );
    let file = ClusterFile { directory: "/dev/null/state".into(), ..world.cluster.clone() };
    let sentence = refusal(Registry::open(&file).map(|_| ()));
    assert!(sentence.starts_with("the directory /dev/null/state cannot be used"), "{sentence}");
}

/// Members that read the map several times a second do not block other readers.
#[test]
fn readers_share_the_lock() {
    let world = World::file();
    let registry = world.open();
    let _lease = join(&registry, memory_server(0));
    let lock =
        std::fs::File::open(world.cluster.directory.join("registry/lock")).expect("it is there");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockShared).expect("nobody writes");
    assert_eq!(registry.map().expect("others read, too").memory_servers().count(), 1);
    let sentence = refusal(registry.bump_epoch());
    assert!(sentence.contains("`lock` was held by other processes"), "{sentence}");
}

#[test]
fn a_lock_that_is_never_given_back_is_named() {
    let world = World::file();
    let registry = world.open();
    let lock =
        std::fs::File::open(world.cluster.directory.join("registry/lock")).expect("it is there");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("it is free");
    let start = now();
    let sentence = refusal(registry.map());
    assert!(sentence.contains("`lock` was held by other processes"), "{sentence}");
    assert!(start.elapsed() < PATIENCE);
}

/// A process that only looks for the registry creates no folders; the files are removed once the
/// last member has left.
#[test]
fn a_registry_is_found_only_between_its_first_member_and_its_end() {
    let world = World::file();
    let find = || Registry::find(&world.cluster).expect("it is a folder");
    assert!(find().is_none() && !world.cluster.directory.join("registry").exists());
    let sentence = refusal(Registry::await_open(&world.cluster, Duration::ZERO).map(drop));
    assert!(sentence.starts_with("cluster test is not running: no memory server"), "{sentence}");
    let lease = join(&world.open(), memory_server(0));
    let registry = find().expect("a server has joined");
    assert_eq!((registry.clear(), find().is_some()), (Ok(false), true));
    lease.leave().expect("it may leave");
    let sentence = refusal(registry.wait_for_memory_servers(1, Duration::ZERO, &mut |_| {}));
    assert!(sentence.starts_with("cluster test is not running"), "{sentence}");
    assert_eq!(registry.clear(), Ok(true));
    assert!(find().is_none() && !world.cluster.directory.join("registry").exists());
}
