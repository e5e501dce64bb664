//! One tree in the local world: round trips, fill, big batches, threads.

use super::dead_owner::release_dead_owner;
use super::harness::{
    Client, Reluctant, is_retryable, key, local_world, pool, small_layout, value_of,
};
use crate::error::IndexError;
use crate::tree::settle::take_latch;
use crate::tree::*;
use fabric::{Batch, Env, Fabric, LocalEnv, run_now};
use layout::{GlobalPtr, LeafLayout, NodeId, RegionId};
use memory::{EXTENT_SERVICE, ExtentService, Extents};
use std::sync::Arc;

fn insert_all(client: &mut Client<LocalEnv>, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        run_now(client.insert(number)).expect("nobody else is here");
    }
}

#[test]
fn an_empty_tree_is_sound_and_opens_by_its_root() {
    let mut client = Client::alone(small_layout(false));
    let report = run_now(client.sound(false));
    assert_eq!((report.height, report.leaves, report.entries), (1, 1, 0));
    assert_eq!(run_now(client.get(5)), Ok(None));
    assert_eq!(run_now(open_tree(&client.env, client.tree.root)), Ok(client.tree));
    assert!(run_now(open_tree(&client.env, GlobalPtr::new(RegionId(0), 4096))).is_err());
}

#[test]
fn a_warm_lookup_is_one_round_trip_and_a_cold_one_two() {
    let mut client = Client::alone(small_layout(false));
    insert_all(&mut client, 0..1000);
    let mut cost = |number: u64| {
        let before = client.env.counters().counts();
        assert_eq!(run_now(client.get(number)), Ok(Some(value_of(number))));
        (client.env.counters().counts() - before).round_trips
    };
    assert_eq!((cost(17), cost(900), cost(17)), (1, 1, 1));
    client.cache.clear();
    let mut cost = |number: u64| {
        let before = client.env.counters().counts();
        assert_eq!(run_now(client.get(number)), Ok(Some(value_of(number))));
        (client.env.counters().counts() - before).round_trips
    };
    assert_eq!((cost(17), cost(17)), (2, 1));
}

/// A handler ended halfway with its server, and the latch was in the memory that it wrote to disk.
#[test]
fn a_latch_that_nobody_holds_any_more_is_released() {
    let mut client = Client::alone(small_layout(false));
    insert_all(&mut client, 0..100);
    let (env, tree) = (client.env.clone(), client.tree);
    run_now(take_latch(&env, Batch::new(), tree.root)).expect("nobody has it");
    assert!(run_now(rebuild_tree(&env, &tree)).is_err(), "somebody has it");
    run_now(unlatch_tree(&env, &tree)).expect("the server answers");
    run_now(rebuild_tree(&env, &tree)).expect("nobody has it");
    assert_eq!(run_now(client.sound(false)).entries, 100);
}

/// A split of an inner node without memory leaves its level unchanged, and a later one succeeds.
#[test]
fn inner_nodes_for_which_there_is_no_memory_are_made_later() {
    let world = local_world(2, 64 << 20);
    let extents = Arc::new(Extents::new(RegionId(1), world.region_bytes(RegionId(1))));
    let reluctant = Arc::new(Reluctant::new(extents.clone()));
    world.register(NodeId(1), EXTENT_SERVICE, Arc::new(ExtentService(extents)));
    world.register(NodeId(1), TREE_SERVICE, Arc::new(TreeService::new(reluctant)));
    let (env, mut pool) = (world.endpoint(), pool(2));
    let mut made = Err(IndexError::Contended);
    for _ in 0..10 {
        made = run_now(create_tree(&env, &mut pool, NodeId(1), small_layout(false)));
        if made.is_ok() {
            break;
        }
        assert!(matches!(made, Err(IndexError::OutOfMemory(_))), "{made:?}");
    }
    let tree = made.expect("top and root block are there at last");
    let mut client = Client::new(env.clone(), tree, pool, 1);
    let mut refused = 0;
    for number in (0..3000).map(|number| number * 7919 % 3000) {
        while let Err(error) = run_now(client.insert(number)) {
            assert!(matches!(error, IndexError::OutOfMemory(_)), "{error}");
            refused += 1;
        }
    }
    assert!(refused > 50, "{refused}");
    let report = run_now(client.sound(true));
    assert!(report.height > 3, "{}", report.height);
    assert_eq!(report.entries, 3000);
}

#[test]
fn several_leaves_come_in_one_round_trip() {
    let mut client = Client::alone(small_layout(false));
    insert_all(&mut client, 0..1000);
    let mut batch = Batch::new();
    let tree = client.tree;
    let keys = [3, 500, 999].map(key);
    let posted = keys.map(|key| post_leaf(&mut batch, &tree, &mut client.cache, key.words()));
    let before = client.env.counters().counts();
    let mut batch = run_now(client.env.execute(batch)).expect("all of it exists");
    batch.clear_verbs();
    assert_eq!((client.env.counters().counts() - before).round_trips, 1);
    for (wanted, posted) in keys.iter().zip(posted) {
        let posted = posted.expect("the cache saw every leaf");
        let leaf = accept_leaf(&batch, &tree, posted, wanted.words()).expect("nobody changed it");
        assert!(leaf.view(&batch, &tree).search(wanted.words()).is_ok());
        assert_eq!(accept_leaf(&batch, &tree, posted, key(250).words()), None);
    }
}

#[test]
fn rising_keys_fill_their_leaves() {
    let mut client = Client::alone(LeafLayout::within(512, 1, 1, false));
    insert_all(&mut client, 0..5000);
    let report = run_now(client.sound(false));
    assert!(report.fill_percent(&client.tree.layout) > 98.0, "{report:?}");
    assert_eq!(report.entries, 5000);
}

#[test]
fn rising_keys_of_several_groups_fill_their_leaves() {
    let mut client = Client::alone(LeafLayout::within(512, 1, 1, false));
    for round in 0..600 {
        insert_all(&mut client, (0..10).map(|group| group << 32 | round));
    }
    let report = run_now(client.sound(false));
    assert!(report.fill_percent(&client.tree.layout) > 90.0, "{report:?}");
}

#[test]
fn scattered_keys_leave_leaves_two_thirds_full() {
    let mut client = Client::alone(LeafLayout::within(512, 1, 1, false));
    let env = client.env.clone();
    insert_all(&mut client, (0..5000).map(|_| env.random()));
    let report = run_now(client.sound(false));
    let fill = report.fill_percent(&client.tree.layout);
    assert!((60.0..80.0).contains(&fill), "{fill}");
}

#[test]
fn more_keys_than_a_leaf_holds_get_room_at_once() {
    let mut client = Client::alone(small_layout(false));
    insert_all(&mut client, [500, 2000]);
    let numbers: Vec<u64> = (0..1000).collect();
    let mut done = 0;
    while done < numbers.len() {
        done += run_now(client.insert_some(&numbers[done..])).expect("nobody else is here");
    }
    assert_eq!(run_now(client.sound(false)).entries, 1001);
    let expected: Vec<u64> = (0..1000).chain([2000]).collect();
    assert_eq!(run_now(client.scan_up(0)), Ok(expected));
}

#[test]
fn a_locked_or_changed_leaf_is_a_conflict_and_nothing_leaks() {
    let mut client = Client::alone(small_layout(false));
    insert_all(&mut client, 0..6);
    let (env, tree) = (client.env.clone(), client.tree);
    let batch = client.batch();
    let find = find_leaf(&env, batch, &tree, &mut client.cache, &[0]);
    let (batch, outdated) = run_now(find).expect("it exists");
    run_now(client.remove(3)).expect("nobody holds it");
    let (batch, current) = {
        let find = find_leaf(&env, batch, &tree, &mut client.cache, &[0]);
        run_now(find).expect("it exists")
    };
    // The current insert word with the outdated image: a torn read may return this.
    let mixed = LeafRead { insert: current.insert, ..outdated };
    let timestamp = client.timestamp();
    let free_before = client.pool.free_count();
    let pending = [key(7), key(8)];
    let (cache, pool) = (&mut client.cache, &mut client.pool);
    let wrong = make_room(&env, batch, &tree, cache, pool, mixed, &pending, timestamp);
    assert_eq!(run_now(wrong).map(drop), Err(IndexError::Conflict));
    let batch = Batch::new();
    let find = find_leaf(&env, batch, &tree, &mut client.cache, &[0]);
    let (mut batch, leaf) = run_now(find).expect("it exists");
    assert!(!leaf.insert.is_locked(), "an outdated lock is released");
    let held = client.timestamp();
    let lock = post_lock(&mut batch, &tree, &leaf, held);
    let mut batch = run_now(env.execute(batch)).expect("it exists");
    batch.clear_verbs();
    assert_eq!(lock_result(&batch, &lock), LockResult::Held);
    assert_eq!(run_now(client.insert(3)), Err(IndexError::Conflict));
    assert_eq!(run_now(client.get(2)), Ok(Some(value_of(2))), "a lock hides nothing");
    assert_eq!(run_now(client.sound(false)).locked, [leaf.ptr]);
    run_now(release_dead_owner(&env, batch, &tree, held)).expect("it can be released");
    run_now(client.insert(3)).expect("it is released");
    assert_eq!(client.pool.free_count(), free_before + 1, "the leaf that was not needed came back");
}

#[test]
fn an_emptied_tree_shrinks_and_its_memory_is_reused() {
    let mut client = Client::alone(small_layout(false));
    let mut leaves = Vec::new();
    for round in 0..5 {
        insert_all(&mut client, 0..2000);
        let full = run_now(client.sound(false));
        assert_eq!(full.entries, 2000);
        for number in 0..2000 {
            assert_eq!(run_now(client.remove(number)), Ok(true));
        }
        let mut absorbed = 0;
        while run_now(client.absorb(0)).expect("nobody else is here") {
            absorbed += 1;
        }
        let empty = run_now(client.sound(false));
        assert_eq!((empty.leaves, empty.entries), (1, 0), "round {round}");
        assert_eq!(absorbed + 1, full.leaves);
        assert!(empty.inner_nodes * 2 < full.inner_nodes, "{empty:?} {full:?}");
        leaves.push(full.leaves);
    }
    assert!(client.pool.free_count() >= leaves[0] as usize - 1);
}

#[test]
fn a_moving_window_of_keys_keeps_the_tree_small() {
    let mut client = Client::alone(small_layout(false));
    for number in 0..20_000_u64 {
        run_now(client.insert(number)).expect("nobody else is here");
        if let Some(old) = number.checked_sub(100) {
            run_now(client.remove(old)).expect("nobody else is here");
            run_now(client.absorb(0)).expect("nobody else is here");
        }
    }
    let report = run_now(client.sound(false));
    assert_eq!(report.entries, 100);
    assert!(report.leaves < 30 && report.inner_nodes < 200, "{report:?}");
    assert_eq!(run_now(client.scan_up(0)), Ok((19_900..20_000).collect()));
}

#[test]
fn stale_caches_find_their_way() {
    let world = local_world(1, 64 << 20);
    let mut creator = pool(1);
    let env = world.endpoint();
    let tree =
        run_now(create_tree(&env, &mut creator, NodeId(0), small_layout(false))).expect("empty");
    let mut writer = Client::new(env, tree, creator, 1);
    let mut reader = Client::new(world.endpoint(), tree, pool(1), 2);
    for round in 0..20_u64 {
        insert_all(&mut writer, (0..300).map(|number| number * 20 + round));
        for number in 0..300 {
            let number = number * 20 + round;
            assert_eq!(run_now(reader.get(number)), Ok(Some(value_of(number))));
        }
        for number in (0..6000).filter(|number| number % 7 == 0) {
            run_now(writer.remove(number)).expect("nobody else writes");
            run_now(writer.absorb(number)).expect("nobody else writes");
            assert_eq!(run_now(reader.get(number)), Ok(None));
        }
        assert_eq!(run_now(reader.scan_up(0)), run_now(writer.scan_up(0)));
        let mut down = run_now(reader.scan_down(u64::MAX)).expect("it can be read");
        down.reverse();
        assert_eq!(Ok(down), run_now(writer.scan_up(0)));
    }
    run_now(writer.sound(false));
}

#[test]
fn a_small_cache_serves_a_large_tree() {
    let mut client = Client::alone(small_layout(false));
    client.cache = LeafCache::new(4);
    insert_all(&mut client, (0..2000).map(|number| number * 7919 % 2000));
    for number in 0..2000 {
        assert_eq!(run_now(client.get(number)), Ok(Some(value_of(number))));
    }
    assert!(client.cache.leaf_count() <= 4);
}

/// Retries until success, as a session does with an aborted transaction.
fn retry<T>(mut operation: impl FnMut() -> Result<T, IndexError>) -> T {
    for _ in 0..1_000_000 {
        match operation() {
            Ok(result) => return result,
            Err(error) => assert!(is_retryable(&error), "{error}"),
        }
        std::thread::yield_now();
    }
    panic!("no progress");
}

fn on_threads(count: u16, work: impl Fn(u16, &mut Client<LocalEnv>) + Sync) -> Client<LocalEnv> {
    let world = local_world(2, 256 << 20);
    let mut first_pool = pool(2);
    let env = world.endpoint();
    let tree =
        run_now(create_tree(&env, &mut first_pool, NodeId(0), small_layout(false))).expect("empty");
    std::thread::scope(|scope| {
        for number in 0..count {
            let (env, work) = (world.endpoint(), &work);
            scope.spawn(move || work(number, &mut Client::new(env, tree, pool(2), number + 2)));
        }
    });
    Client::new(env, tree, first_pool, 1)
}

#[test]
fn threads_insert_into_ranges_of_their_own() {
    let mut client = on_threads(4, |thread, client| {
        for number in 0..3000 {
            retry(|| run_now(client.insert(u64::from(thread) * 10_000 + number)));
        }
    });
    assert_eq!(run_now(client.sound(false)).entries, 12_000);
}

#[test]
fn threads_insert_into_the_same_leaves() {
    let mut client = on_threads(4, |thread, client| {
        for number in 0..3000 {
            let number = number * 4 + u64::from(thread);
            retry(|| run_now(client.insert(number)));
            assert_eq!(retry(|| run_now(client.get(number))), Some(value_of(number)));
        }
    });
    assert_eq!(run_now(client.sound(false)).entries, 12_000);
    assert_eq!(run_now(client.scan_up(0)), Ok((0..12_000).collect()));
}

#[test]
fn threads_insert_remove_absorb_and_scan() {
    let mut client = on_threads(4, |thread, client| {
        let own = |number: u64| number * 4 + u64::from(thread);
        for round in 0..20_u64 {
            for number in 0..200 {
                retry(|| run_now(client.insert(own(number))));
            }
            let found = retry(|| run_now(client.scan_up(0)));
            assert!(found.is_sorted_by(|a, b| a < b), "each key once, in order");
            let mine = found.iter().filter(|number| *number % 4 == u64::from(thread)).count();
            assert_eq!(mine, 200);
            let down = retry(|| run_now(client.scan_down(u64::MAX)));
            assert!(down.is_sorted_by(|a, b| a > b), "each key once, in order");
            let kept = if round == 19 { 50 } else { 0 };
            for number in kept..200 {
                assert!(retry(|| run_now(client.remove(own(number)))));
                retry(|| run_now(client.absorb(own(number) & !63)));
            }
        }
    });
    assert_eq!(run_now(client.sound(false)).entries, 200);
}
