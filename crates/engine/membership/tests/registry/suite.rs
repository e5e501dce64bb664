//! The tests that every registry must pass.

use crate::child::Process;
use crate::world::{
    PATIENCE, World, await_map, client, join, memory_server, now, refusal, sleep_ms,
};
use layout::{GlobalPtr, NodeId, RegionId};
use membership::cluster_file::RegistryKind;
use membership::detector::Evidence;
use membership::{
    Addresses, ClusterFile, ClusterId, ClusterMap, DatabaseRoot, Eviction, FabricKind, FillStage,
    Lease, Member, Opening, OracleKind, Program, Registry, RegistryError, Role,
};
use std::collections::BTreeSet;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

pub fn members_join_and_leave_and_every_change_is_an_epoch(world: &World) {
    let registry = world.open();
    assert_eq!(registry.map().expect("it answers").epoch, 0);
    let one = join(&registry, memory_server(1));
    let zero = join(&registry, memory_server(0));
    let compute = [join(&registry, client()), join(&registry, client())];
    assert_eq!(compute.each_ref().map(|lease| lease.member().number), [1, 2]);
    let map = registry.map().expect("it answers");
    assert_eq!((map.epoch, map.cluster), (4, world.cluster.id));
    let left = zero.clock().left();
    match world.cluster.registry.kind {
        RegistryKind::File => assert_eq!(left, None, "it lasts as long as this process"),
        RegistryKind::Etcd => {
            let whole = Duration::from_secs(world.cluster.lease_seconds);
            assert!(left.is_some_and(|left| left > whole / 10 && left <= whole), "{left:?}");
        }
    }
    let memory: Vec<_> = map.memory_servers().cloned().collect();
    assert_eq!(memory, [zero.member().clone(), one.member().clone()]);
    assert_eq!(map.memory_server(NodeId(1)), Some(one.member()));
    assert_eq!(map.member(compute[1].member().identity), Some(compute[1].member()));
    assert_eq!(map.compute_servers().count(), 2);
    let [first, second] = compute;
    let left = first.member().identity;
    first.leave().expect("it may leave");
    let map = registry.map().expect("it answers");
    assert_eq!((map.epoch, map.left), (5, vec![left]));
    // The lowest free number that is not reserved for the file's compute server.
    let third = join(&registry, client());
    assert_eq!((third.member().number, registry.map().expect("it answers").epoch), (1, 6));
    let named = join(&registry, Member::compute_server(0, Addresses::default()));
    assert_eq!((named.member().number, registry.map().expect("it answers").epoch), (0, 7));
    let rival = registry.join(Member::compute_server(0, Addresses::default()), Duration::ZERO);
    assert!(refusal(rival).contains("the number 0 is used by compute server 0"));
    for lease in [zero, one, second, third, named] {
        assert!(!lease.is_lost());
        lease.leave().expect("it may leave");
    }
    let map = registry.map().expect("it answers");
    assert_eq!((map.epoch, map.members), (12, Vec::new()));
}

pub fn a_restarted_server_is_a_new_member(world: &World) {
    let registry = world.open();
    let region_key = |lease: &Lease| match lease.member().role {
        Role::Memory { region_key, .. } => region_key,
        Role::Compute => unreachable!("it is a memory server"),
    };
    let first = join(&registry, memory_server(0));
    let before = (first.member().identity, region_key(&first));
    first.leave().expect("it may leave");
    let second = join(&registry, memory_server(0));
    assert_ne!(before.0, second.member().identity);
    assert_ne!(before.1, region_key(&second));
    let map = registry.map().expect("it answers");
    assert_eq!(map.member(before.0), None);
    assert_eq!(map.memory_servers().collect::<Vec<_>>(), [second.member()]);
}

pub fn one_of_many_gets_a_number(world: &World) {
    let barrier = Barrier::new(6);
    let outcomes: Vec<Result<Lease, RegistryError>> = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    let registry = world.open();
                    barrier.wait();
                    registry.join(memory_server(0), Duration::ZERO)
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().expect("it does not panic")).collect()
    });
    let (winners, losers): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
    assert_eq!((winners.len(), losers.len()), (1, 5));
    let winner = winners.into_iter().next().expect("there is one").expect("it is one");
    for loser in losers {
        let sentence = refusal(loser);
        let words =
            format!("the number 0 is used by memory server 0 (process {}", std::process::id());
        assert!(sentence.starts_with(&words) && sentence.contains("choose another"), "{sentence}");
    }
    let map = world.open().map().expect("it answers");
    assert_eq!(map.members, [winner.member().clone()]);
    assert_eq!(map.epoch, 1, "those who lost have changed nothing");
    // The same with processes.
    let mut processes = [(); 2].map(|()| Process::start(&world.path(), Some(1)));
    let mut said = processes.each_mut().map(Process::line);
    said.sort();
    assert!(said[0].starts_with("joined") && said[1].contains("the number 1 is used"), "{said:?}");
}

pub fn a_number_is_waited_for(world: &World) {
    let registry = world.open();
    let first = join(&registry, memory_server(0));
    std::thread::scope(|scope| {
        let second = scope.spawn(|| world.open().join(memory_server(0), PATIENCE));
        sleep_ms(200);
        first.leave().expect("it may leave");
        let second = second.join().expect("it does not panic").expect("the number is free");
        assert_eq!(registry.map().expect("it answers").members, [second.member().clone()]);
    });
}

pub fn a_killed_member_is_taken_out_and_its_number_is_free(world: &World) {
    let registry = world.open();
    let compute = join(&registry, client());
    let mut process = Process::start(&world.path(), Some(0));
    let said = process.line();
    let identity: u64 =
        said.strip_prefix("joined ").and_then(|id| id.parse().ok()).expect("it joined");
    let before = registry.map().expect("it answers");
    assert!(before.member(identity).is_some());
    process.kill();
    let start = now();
    let after = await_map(&registry, |map| map.member(identity).is_none());
    assert!(start.elapsed() < world.death_noticed_within(), "{:?}", start.elapsed());
    assert_eq!(after.epoch, before.epoch + 1);
    assert_eq!(after.members, [compute.member().clone()]);
    assert!(after.left.is_empty(), "it has not said good-bye: {:?}", after.left);
    assert_eq!(registry.map().expect("it answers"), after, "once is enough");
    let _next = join(&registry, memory_server(0));
}

pub fn epochs_only_grow_under_concurrent_bumps(world: &World) {
    let _member = join(&world.open(), client());
    let seen = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let registry = world.open();
                let mut last = 0;
                for _ in 0..20 {
                    let epoch = registry.bump_epoch().expect("it answers");
                    assert!(epoch > last, "{epoch} after {last}");
                    last = epoch;
                    seen.lock().expect("nobody panics").push(epoch);
                    assert!(registry.map().expect("it answers").epoch >= epoch);
                }
            });
        }
    });
    let seen: BTreeSet<u64> = seen.into_inner().expect("nobody panics").into_iter().collect();
    assert_eq!(seen.len(), 80, "every bump has an epoch of its own");
    assert_eq!(world.open().map().expect("it answers").epoch, *seen.last().expect("there are 80"));
}

/// A database with its root at `offset`.
pub fn root(servers: &[&Lease], offset: u64) -> DatabaseRoot {
    DatabaseRoot {
        replicas: 1,
        promoted: Default::default(),
        returned: Default::default(),
        id: 7,
        run: 0,
        without: Default::default(),
        oracle: GlobalPtr::new(RegionId(0), offset),
        slots: 64,
        snapshots: OracleKind::Frozen,
        transaction_time_ms: 10_000,
        servers: servers.iter().map(|lease| lease.member().identity).collect(),
    }
}

pub fn the_root_is_set_once(world: &World) {
    let registry = world.open();
    let servers = [0, 1].map(|number| join(&registry, memory_server(number)));
    assert_eq!(registry.map().expect("it answers").database().expect("none is lost"), None);
    let barrier = Barrier::new(4);
    let roots: Vec<(DatabaseRoot, DatabaseRoot)> = std::thread::scope(|scope| {
        let racers: Vec<_> = (1..=4)
            .map(|number| {
                let mine = root(&servers.each_ref(), number * 4096);
                let barrier = &barrier;
                scope.spawn(move || {
                    let registry = world.open();
                    barrier.wait();
                    let holds = registry.set_root(&mine).expect("it answers");
                    (mine, holds)
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().expect("it does not panic")).collect()
    });
    assert_eq!(roots.iter().filter(|(mine, holds)| mine == holds).count(), 1);
    let map = registry.map().expect("it answers");
    for (_, holds) in &roots {
        assert_eq!(map.database().expect("none is lost"), Some(holds));
    }
    // Setting the same root again succeeds: the first response may have been lost.
    assert_eq!(registry.set_root(&roots[0].1).as_ref(), Ok(&roots[0].1));
}

pub fn a_database_goes_with_its_memory_servers(world: &World) {
    let registry = world.open();
    let [zero, one] = [0, 1].map(|number| join(&registry, memory_server(number)));
    let first = root(&[&zero, &one], 4096);
    registry.set_root(&first).expect("it answers");
    one.leave().expect("it may leave");
    let one = join(&registry, memory_server(1));
    let map = registry.map().expect("it answers");
    let sentence = refusal(map.database());
    assert!(
        sentence.contains("memory server 1") && sentence.contains("start all of them again"),
        "{sentence}"
    );
    // A latecomer with another root does not replace it.
    assert_eq!(registry.set_root(&root(&[&zero, &one], 8192)).as_ref(), Ok(&first));
    zero.leave().expect("it may leave");
    assert_eq!(registry.map().expect("it answers").database().expect("all are gone"), None);
    let sentence = refusal(registry.set_root(&first));
    assert!(sentence.contains("memory server 0, which is no longer in the cluster"), "{sentence}");
    let zero = join(&registry, memory_server(0));
    let second = root(&[&zero, &one], 8192);
    assert_eq!(registry.set_root(&second).as_ref(), Ok(&second));
    assert_eq!(
        registry.map().expect("it answers").database().expect("none is lost"),
        Some(&second)
    );
}

pub fn a_database_is_published_when_all_have_marked_what_they_have(world: &World) {
    let registry = world.open();
    let leases = [0, 1].map(|number| join(&registry, memory_server(number)));
    let members: Vec<u64> = leases.iter().map(|lease| lease.member().identity).collect();
    let opening = Opening::new(members.clone(), vec![members[0], 99], 7, 4);
    let await_marked = |opening: &Opening, patience| registry.await_marked(opening, patience);
    assert_eq!(registry.opening().expect("it answers"), None);
    assert_eq!(await_marked(&opening, Duration::ZERO).expect("it answers"), members);
    assert_eq!(registry.opening().expect("it answers"), None, "nobody has announced it");
    for _ in 0..2 {
        registry.set_opening(&opening).expect("it answers");
    }
    assert_eq!(registry.opening().expect("it answers"), Some(opening.clone()));
    let late = await_marked(&opening, Duration::ZERO).expect("it answers");
    assert_eq!(late, members, "it is whole now");
    registry.set_opening(&opening).expect("it answers");
    for (identity, late) in [(55, &members[..]), (members[1], &members[..1])] {
        registry.note_marked(identity).expect("it answers");
        assert_eq!(await_marked(&opening, Duration::ZERO).expect("it answers"), late);
    }
    std::thread::scope(|scope| {
        let rest = scope.spawn(|| await_marked(&opening, PATIENCE));
        registry.note_marked(members[0]).expect("it answers");
        assert_eq!(rest.join().expect("it does not panic").expect("it answers"), [0; 0]);
    });
    let other = Opening::new(members.clone(), members.clone(), 7, 4);
    registry.set_opening(&other).expect("it answers");
    assert_eq!(await_marked(&other, Duration::ZERO).expect("it answers"), members, "it is another");
    let root = root(&leases.each_ref(), 4096);
    registry.set_root(&root).expect("both live");
    assert_eq!(registry.opening().expect("it answers"), None, "it has followed");
}

pub fn a_database_with_replicas_outlives_a_memory_server(world: &World) {
    let registry = world.open();
    let [first, second, third] = [0, 1, 2].map(|n| join(&registry, memory_server(n)));
    let program = join(&registry, client());
    let made = DatabaseRoot { replicas: 2, ..root(&[&first, &second, &third], 4096) };
    assert_eq!(registry.set_root(&made).expect("it answers"), made);
    let [one, two] = [RegionId(1), RegionId(2)];
    let map = || registry.map().expect("it answers");
    let places = |map: &ClusterMap| [one, two].map(|at| map.address_map(&made).place(at));
    assert_eq!(places(&map()), [Some(one), Some(two)]);
    second.leave().expect("it may leave");
    let closed = map();
    assert!(closed.database().is_ok_and(|root| root.is_some()), "its data has a replica");
    assert_eq!(places(&closed), [None, Some(two)]);
    assert_eq!(closed.coordinator(&made).map(|member| member.number), Some(0));
    let identity = program.member().identity;
    registry.set_drained(identity, closed.epoch).expect("it answers");
    registry.set_drained(identity, closed.epoch - 1).expect("it answers");
    assert_eq!(map().drained.get(&identity), Some(&closed.epoch), "it has drained for good");
    registry.set_drained(77, closed.epoch).expect("it answers");
    assert_eq!(map().drained.len(), 1, "others are no members");
    let (by, other) = (first.member().identity, third.member().identity);
    let promote = |servers: &[u64], region, place, by| {
        let moved = (RegionId(region), RegionId(place));
        registry.promote(servers, moved, by).expect("it answers")
    };
    assert!(!promote(&[1, 2, 3], 1, 4, by), "that is another database");
    assert!(!promote(&made.servers, 1, 4, other), "the first one that lives promotes");
    assert!(!promote(&made.servers, 2, 5, by), "that region is open");
    assert_eq!(map().epoch, closed.epoch);
    for _ in 0..2 {
        assert!(promote(&made.servers, 1, 4, by));
        let promoted = map();
        assert_eq!(promoted.epoch, closed.epoch + 1, "a repetition is none");
        assert_eq!(places(&promoted), [Some(RegionId(4)), Some(two)]);
    }
    first.leave().expect("it may leave");
    assert_eq!(map().coordinator(&made).map(|member| member.number), Some(2));
    assert_eq!(map().address_map(&made).place(RegionId(0)), None);
    let lost = refusal(map().database().map(drop));
    assert!(lost.contains("lost with memory server 0"), "{lost}");
    program.leave().expect("it may leave");
    assert!(map().drained.is_empty(), "it is no member any more");
    third.leave().expect("it may leave");
}

pub fn a_memory_server_that_returns_is_filled_if_nobody_dies_meanwhile(world: &World) {
    use FillStage::{Awaited, Empty, Filling, Whole};
    let registry = world.open();
    let [first, second, third] = [0, 1, 2].map(|n| join(&registry, memory_server(n)));
    let made = DatabaseRoot { replicas: 2, ..root(&[&first, &second, &third], 4096) };
    registry.set_root(&made).expect("it answers");
    let by = first.member().identity;
    second.leave().expect("it may leave");
    let again = join(&registry, memory_server(1));
    let (node, identity) = (NodeId(1), again.member().identity);
    let map = || registry.map().expect("it answers");
    let newcomers = || map().newcomers(&made).map(|one| one.identity).collect::<Vec<_>>();
    let take_back =
        |by| registry.take_back(&made.servers, (node, identity), by).expect("it answers");
    assert!(!take_back(by), "its region is closed");
    let place = (RegionId(1), RegionId(4));
    assert!(registry.promote(&made.servers, place, by).expect("it answers"));
    assert!(!take_back(third.member().identity), "the first one that lives does that");
    assert_eq!(newcomers(), [identity]);
    assert!(take_back(by) && !take_back(by), "it has its place");
    assert_eq!(newcomers(), [0; 0]);
    let advance =
        |from, to| registry.advance_fill(&made.servers, node, (from, to), by).expect("it answers");
    assert!(!map().address_map(&made).is_dead(node) && !map().address_map(&made).is_whole(node));
    assert!(!advance(Awaited, Filling), "changes of the catalog are not awaited");
    let epoch = map().epoch;
    assert!(advance(Empty, Awaited) && map().address_map(&made).defers_changes());
    assert!(advance(Awaited, Filling) && map().address_map(&made).is_paused());
    assert_eq!(map().epoch, epoch + 2, "processes confirm each of them");
    let dead = join(&registry, client());
    let identity = dead.member().identity;
    assert_eq!(registry.evict_undrained(identity, 1, by), Ok(true));
    assert!(!advance(Filling, Whole), "somebody has died meanwhile");
    assert!(advance(Empty, Awaited) && advance(Awaited, Filling));
    join(&registry, client()).leave().expect("it may leave");
    assert!(advance(Filling, Whole), "who leaves in order has nothing under way");
    assert!(map().address_map(&made).is_whole(node));
    third.leave().expect("it may leave");
    let moved = map().address_map(&made);
    assert_eq!(
        moved.closed().collect::<Vec<_>>(),
        [RegionId(1), RegionId(2)],
        "both have a replica"
    );
    let place = (RegionId(1), RegionId(1));
    assert!(registry.promote(&made.servers, place, by).expect("it answers"), "it is at home again");
    assert!(map().database().is_ok_and(|root| root.is_some()));
    again.leave().expect("it may leave");
    let lost = refusal(map().database().map(drop));
    assert!(lost.contains("lost with memory server 1"), "{lost}");
    first.leave().expect("it may leave");
}

/// An eviction that memory server 2 has decided.
fn eviction(lease: &Lease, evidence: Evidence) -> Eviction {
    Eviction {
        identity: lease.member().identity,
        member: lease.member().to_string(),
        epoch: 0,
        by: "memory server 2".to_owned(),
        evidence,
        silent_ms: 1250,
    }
}

pub fn a_server_that_was_evicted_evicts_nobody(world: &World) {
    // Four servers and two replicas: the end of any one loses nothing, nor does that of 0 and 2.
    let registry = world.open();
    let leases = [0, 1, 2, 3].map(|number| join(&registry, memory_server(number)));
    let [first, _, cut_off, _] = &leases;
    let all: Vec<&Lease> = leases.iter().collect();
    let made = DatabaseRoot { replicas: 2, ..root(&all, 4096) };
    registry.set_root(&made).expect("it answers");
    // The network has cut it off from the others, so each considers the other dead. The registry
    // answers both.
    let evict = |evicted: &Lease, by: &Lease| {
        registry.evict(&eviction(evicted, Evidence::Silence), by.member().identity)
    };
    assert_eq!(evict(cut_off, first), Ok(true));
    let before = registry.map().expect("it answers");
    let refused = refusal(evict(first, cut_off));
    assert!(refused.contains("memory server 2 is no member any more"), "{refused}");
    assert_eq!(registry.map().expect("it answers"), before);
    let undrained =
        registry.evict_undrained(first.member().identity, 10_000, cut_off.member().identity);
    assert!(refusal(undrained).contains("is no member any more"));
    assert_eq!(evict(cut_off, first), Ok(false), "a repetition is none");
}

pub fn a_silent_memory_server_with_the_last_replica_of_a_region_stays(world: &World) {
    let registry = world.open();
    let leases = [0, 1, 2].map(|number| join(&registry, memory_server(number)));
    let [first, second, _] = &leases;
    let made = DatabaseRoot { replicas: 2, ..root(&[first, second, &leases[2]], 4096) };
    registry.set_root(&made).expect("it answers");
    let by = leases[2].member().identity;
    let evict = |lease: &Lease, evidence| registry.evict(&eviction(lease, evidence), by);
    // Both were judged before one was evicted.
    assert_eq!(evict(second, Evidence::Silence), Ok(true));
    let refused = refusal(evict(first, Evidence::Silence));
    assert!(refused.contains("has the last replica of region 0"), "{refused}");
    assert!(registry.map().expect("it answers").member(first.member().identity).is_some());
    assert_eq!(evict(first, Evidence::ProcessEnded), Ok(true));
}

pub fn a_member_that_has_not_drained_is_evicted_for_it(world: &World) {
    let registry = world.open();
    let late = join(&registry, client());
    let identity = late.member().identity;
    let evict = || registry.evict_undrained(identity, 10_000, identity);
    assert_eq!(evict(), Ok(true));
    assert_eq!(evict(), Ok(false), "it is no member");
    let map = registry.map().expect("it answers");
    let eviction = map.eviction(identity).expect("the record says why");
    assert_eq!((eviction.evidence, eviction.silent_ms), (Evidence::Undrained, 10_000));
    let sentence = eviction.to_string();
    assert!(sentence.contains("memory server that promotes replicas"), "{sentence}");
}

pub fn memory_servers_are_waited_for(world: &World) {
    let registry = world.open();
    let zero = join(&registry, memory_server(0));
    let sentence = refusal(registry.wait_for_database(1, Duration::ZERO));
    assert_eq!(
        sentence,
        "memory server 0 has not created the database of cluster test; look into its log"
    );
    registry.set_root(&root(&[&zero], 4096)).expect("its server has joined");
    assert_eq!(registry.wait_for_database(1, Duration::ZERO), Ok(()));
    let patience = Duration::from_millis(1500);
    let start = now();
    let sentence = refusal(registry.wait_for_memory_servers(3, patience, &mut |_| {}));
    assert!(start.elapsed() >= patience && start.elapsed() < 4 * patience, "{:?}", start.elapsed());
    let words = "after 1 s there are 1 of 3 memory servers, without numbers 1, 2";
    assert!(sentence.starts_with(words), "{sentence}");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut counts = Vec::new();
            let mut progress = |map: &ClusterMap| counts.push(map.memory_servers().count());
            let map = world.open().wait_for_memory_servers(3, PATIENCE, &mut progress);
            (map.expect("they come"), counts)
        });
        sleep_ms(200);
        let one = join(&registry, memory_server(1));
        sleep_ms(200);
        let two = join(&registry, memory_server(2));
        let (map, counts) = waiting.join().expect("it does not panic");
        assert_eq!(map.memory_servers().count(), 3);
        assert_eq!(counts, [1, 2, 3]);
        drop((one, two));
    });
}

pub fn followers_learn_of_every_change(world: &World) {
    let registry = world.open();
    let maps: Arc<Mutex<Vec<ClusterMap>>> = Arc::default();
    let told = maps.clone();
    let changed = move |map: &ClusterMap| told.lock().expect("nobody panics").push(map.clone());
    let follower = registry.follow(Duration::from_millis(20), changed).expect("a thread starts");
    let count = || maps.lock().expect("nobody panics").len();
    let await_count = |wanted| {
        let deadline = now() + PATIENCE;
        while count() < wanted {
            assert!(now() < deadline, "{wanted} maps were never told");
            sleep_ms(10);
        }
    };
    await_count(1);
    let memory = join(&registry, memory_server(0));
    await_count(2);
    registry.set_root(&root(&[&memory], 4096)).expect("it answers");
    await_count(3);
    sleep_ms(100);
    drop(follower);
    memory.leave().expect("it may leave");
    sleep_ms(100);
    let maps = maps.lock().expect("nobody panics");
    assert_eq!(maps.iter().map(|map| map.epoch).collect::<Vec<_>>(), [0, 1, 1]);
    assert_eq!(maps.iter().map(|map| map.root.is_some()).collect::<Vec<_>>(), [false, false, true]);
}

pub fn other_versions_are_refused(world: &World) {
    let newer = Program { version: "99.0".to_owned(), ..Program::this() };
    let otherwise = Program { format: 99, ..Program::this() };
    let registry = world.open();
    // Before the first server joins, all versions are accepted.
    let early = Registry::open_as(&world.cluster, newer.clone()).expect("nobody is there");
    let lease = join(&registry, memory_server(0));
    // It has the same version, and does not know all fields of the record.
    let earlier = Program { version: env!("CARGO_PKG_VERSION").to_owned(), ..Program::this() };
    for other in [&newer, &otherwise, &earlier] {
        let sentence = refusal(Registry::open_as(&world.cluster, other.clone()).map(|_| ()));
        let words = format!("memory server 0 is {} and this is {other}; stop it", Program::this());
        assert!(sentence.starts_with(&words), "{sentence}");
    }
    assert!(refusal(early.join(client(), Duration::ZERO)).contains("99.0"));
    lease.leave().expect("it may leave");
    let lease = join(&early, memory_server(0));
    assert_eq!(lease.member().program, newer);
    assert!(refusal(registry.map()).contains("memory server 0 is namdb 99.0"));
}

pub fn clusters_never_mix(world: &World) {
    let registry = world.open();
    let lease = join(&registry, memory_server(0));
    // A copied and renamed file with the same id.
    let copied = ClusterFile { name: "copy".to_owned(), ..world.cluster.clone() };
    let sentence = refusal(Registry::open(&copied).map(|_| ()));
    let words = format!("belongs to cluster `test` ({}), not to `copy`", world.cluster.id);
    assert!(sentence.contains(&words) && sentence.contains("an id"), "{sentence}");
    // Another cluster, which has the same name by chance.
    let fresh = ClusterFile::development("test", FabricKind::Tcp, &[1 << 30], 0);
    let id: ClusterId = fresh.id;
    let other = ClusterFile {
        id,
        directory: world.cluster.directory.join("other"),
        ..world.cluster.clone()
    };
    let others = Registry::open(&other).expect("it answers");
    let theirs = join(&others, memory_server(0));
    assert_eq!(registry.map().expect("it answers").members, [lease.member().clone()]);
    assert_eq!(others.map().expect("it answers").members, [theirs.member().clone()]);
    theirs.leave().expect("it may leave");
    assert_eq!(registry.map().expect("it answers").epoch, 1);
}
