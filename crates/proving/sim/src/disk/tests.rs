//! Programs that forget a sync lose data in each way that a disk permits, and programs that do not
//! forget it never do.

use super::*;
use crate::{SimConfig, World};
use fabric::run_now;
use std::collections::BTreeSet;
use storage::{Directory, DiskError, ErrorKind};

const SEEDS: u64 = 400;
/// Four sectors.
const BYTES: usize = 4 * 512;

type Files = BTreeMap<String, Vec<u8>>;

/// The images that a program's crashes leave, over many seeds, and the faults that had an effect.
fn images<F>(program: impl Fn(Directory<DiskAccess>) -> F) -> (Vec<Files>, DiskCoverage)
where
    F: Future<Output = Result<(), DiskError>>,
{
    let mut coverage = DiskCoverage::default();
    let image = |seed| {
        let disk = SimulatedDisk::new(DiskConfig::new(seed));
        let run = async {
            let directory = Directory::open(disk.access()).await?;
            program(directory).await
        };
        run_now(run).expect("the disk works until the crash");
        disk.crash();
        coverage.add(&disk.coverage());
        disk.files()
    };
    ((0..SEEDS).map(image).collect(), coverage)
}

fn all_are(images: &[Files], name: &str, expected: &[u8]) -> bool {
    images.iter().all(|files| files.get(name).is_some_and(|bytes| bytes == expected))
}

async fn durable(
    directory: &Directory<DiskAccess>,
    name: &str,
    bytes: &[u8],
) -> Result<(), DiskError> {
    let file = directory.create(name).await?;
    file.write_at(0, bytes).await?;
    file.sync().await?;
    directory.sync().await
}

#[test]
fn a_correct_program_keeps_all_that_it_synced() {
    let (images, coverage) = images(async |directory| {
        durable(&directory, "a", &[1; BYTES]).await?;
        // Of another file and behind the synced bytes, everything may be lost.
        let file = directory.open_file("a").await?;
        file.write_at(BYTES as u64, &[2; BYTES]).await?;
        directory.create("b").await?.write_at(0, &[3; BYTES]).await
    });
    assert!(images.iter().all(|files| files["a"].starts_with(&[1; BYTES])));
    assert!(coverage.of(DiskFault::LostWrite) > 0 && coverage.of(DiskFault::LostName) > 0);
}

#[test]
fn a_write_without_a_sync_is_lost_torn_and_reordered() {
    let (images, coverage) = images(async |directory| {
        durable(&directory, "a", &[0; BYTES]).await?;
        let file = directory.open_file("a").await?;
        file.write_at(0, &[1; BYTES]).await?;
        file.write_at(0, &[2; 512]).await
    });
    let sectors = |files: &Files| [0, 1, 2, 3].map(|sector| files["a"][512 * sector]);
    let states: BTreeSet<[u8; 4]> = images.iter().map(sectors).collect();
    for first in 0..3 {
        for rest in 0..8 {
            let state = [first, rest & 1, rest >> 1 & 1, rest >> 2];
            assert!(states.contains(&state), "{state:?} of {states:?}");
        }
    }
    assert_eq!(states.len(), 24, "a sector has the state before or after a write");
    for fault in [DiskFault::LostWrite, DiskFault::TornWrite, DiskFault::ReorderedWrite] {
        assert!(coverage.of(fault) > 0, "{fault}");
    }
    let is_whole = |sector: &[u8]| sector.iter().all(|&byte| byte == sector[0]);
    assert!(images.iter().all(|files| files["a"].chunks(512).all(is_whole)));
}

#[test]
fn a_length_without_a_sync_is_lost_apart_from_its_bytes() {
    let (images, coverage) = images(async |directory| {
        durable(&directory, "a", &[1; 512]).await?;
        let file = directory.open_file("a").await?;
        file.write_at(512, &[2; 512]).await
    });
    let states: BTreeSet<&[u8]> = images.iter().map(|files| &files["a"][512..]).collect();
    assert_eq!(states, BTreeSet::from([&[][..], &[0; 512], &[2; 512]]));
    for fault in [DiskFault::LostLength, DiskFault::LostExtension] {
        assert!(coverage.of(fault) > 0, "{fault}");
    }
}

#[test]
fn a_truncation_without_a_sync_is_lost() {
    let (images, coverage) = images(async |directory| {
        durable(&directory, "a", &[1; 1024]).await?;
        directory.open_file("a").await?.truncate(100).await
    });
    let lengths: BTreeSet<usize> = images.iter().map(|files| files["a"].len()).collect();
    assert_eq!(lengths, BTreeSet::from([100, 1024]));
    assert!(images.iter().all(|files| files["a"].starts_with(&[1; 100])));
    assert!(coverage.of(DiskFault::LostLength) > 0);
}

#[test]
fn a_file_that_was_cut_and_grew_has_zeros_once_synced() {
    let (images, _) = images(async |directory| {
        durable(&directory, "a", &[1; BYTES]).await?;
        let file = directory.open_file("a").await?;
        file.truncate(100).await?;
        file.allocate(BYTES as u64).await?;
        let file = file.sync().await?;
        file.truncate(100).await?;
        file.write_at(BYTES as u64 - 1, &[2]).await?;
        file.sync().await.map(drop)
    });
    let mut expected = vec![0; BYTES];
    expected[..100].fill(1);
    expected[BYTES - 1] = 2;
    assert!(all_are(&images, "a", &expected));
}

#[test]
fn a_new_name_without_a_sync_of_the_directory_is_lost() {
    let (images, coverage) = images(async |directory| {
        let file = directory.create("a").await?;
        file.write_at(0, &[1; 512]).await?;
        file.sync().await.map(drop)
    });
    let states: BTreeSet<Option<&Vec<u8>>> = images.iter().map(|files| files.get("a")).collect();
    assert_eq!(states, BTreeSet::from([None, Some(&vec![1; 512])]));
    assert!(coverage.of(DiskFault::LostName) > 0);
}

#[test]
fn a_removal_without_a_sync_of_the_directory_is_lost() {
    let (images, coverage) = images(async |directory| {
        durable(&directory, "a", b"1").await?;
        directory.remove("a").await
    });
    let states: BTreeSet<bool> = images.iter().map(|files| files.contains_key("a")).collect();
    assert_eq!(states, BTreeSet::from([false, true]));
    assert!(coverage.of(DiskFault::LostRemoval) > 0);
}

/// The bug of programs that replace a file by rename and acknowledge without syncing the directory.
#[test]
fn a_rename_without_a_sync_of_the_directory_is_lost() {
    let replace = async |directory: Directory<DiskAccess>| {
        durable(&directory, "a", b"old").await?;
        durable(&directory, "a.new", b"new").await?;
        directory.rename("a.new", "a").await
    };
    let (states, coverage) = images(replace);
    let old: Vec<_> = states.iter().filter(|files| files["a"] == b"old").collect();
    let new: Vec<_> = states.iter().filter(|files| files["a"] == b"new").collect();
    assert!(!old.is_empty() && !new.is_empty());
    assert_eq!(old.len() + new.len(), states.len(), "one of both is always there");
    assert!(old.iter().all(|files| files["a.new"] == b"new"));
    assert!(new.iter().any(|files| files.contains_key("a.new")), "both names at once");
    for fault in [DiskFault::LostRename, DiskFault::HalfRename] {
        assert!(coverage.of(fault) > 0, "{fault}");
    }
    let (states, _) = images(async |directory| {
        replace(directory.clone()).await?;
        directory.sync().await
    });
    assert!(all_are(&states, "a", b"new"));
}

/// The bug of programs that rename a file without syncing its bytes: the name leads to zeros or to
/// nothing.
#[test]
fn a_renamed_file_without_a_sync_of_its_bytes_is_empty() {
    let (images, _) = images(async |directory| {
        durable(&directory, "a", b"old").await?;
        directory.create("a.new").await?.write_at(0, b"new").await?;
        directory.rename("a.new", "a").await?;
        directory.sync().await
    });
    let states: BTreeSet<&[u8]> = images.iter().map(|files| &files["a"][..]).collect();
    assert_eq!(states, BTreeSet::from([&b""[..], b"\0\0\0", b"new"]));
}

/// The bug that redb fixed: the header on the disk counts a page that the file does not have,
/// because the extension was not synced before the header was written.
#[test]
fn a_header_survives_without_the_extension_that_it_describes() {
    let extend = async |directory: &Directory<DiskAccess>, is_correct: bool| {
        durable(directory, "a", &[1; 1024]).await?;
        let mut file = directory.open_file("a").await?;
        file.write_at(1024, &[7; 512]).await?;
        if is_correct {
            file = file.sync().await?;
        }
        file.write_at(0, &[2; 512]).await
    };
    let is_broken = |files: &Files| files["a"][0] == 2 && files["a"].get(1024) != Some(&7);
    let (wrong, _) = images(async |directory| extend(&directory, false).await);
    assert!(wrong.iter().any(is_broken));
    let (right, _) = images(async |directory| extend(&directory, true).await);
    assert!(!right.iter().any(is_broken));
}

/// The bug of PostgreSQL and others before 2018: after a failed sync the retry succeeds, and the
/// data is gone. Directories of `storage` refuse the retry, so the test calls the disk itself.
#[test]
fn the_retry_of_a_failed_sync_succeeds_and_the_data_is_gone() {
    use storage::Disk;
    let mut lost = 0;
    for seed in 0..SEEDS {
        let disk = SimulatedDisk::new(DiskConfig::new(seed));
        let access = disk.access();
        run_now(async {
            let file = access.create("a").await?;
            access.sync_directory().await?;
            disk.fail_sync_after(0);
            access.write_at(&file, 0, &[1; BYTES]).await?;
            let failed = access.sync(&file).await;
            assert!(failed.is_err() && disk.coverage().of(DiskFault::FailedSync) == 1);
            let mut buffer = [0; BYTES];
            access.read_at(&file, 0, &mut buffer).await?;
            assert_eq!(buffer, [1; BYTES], "the page cache still has it");
            access.sync(&file).await
        })
        .expect("the retry succeeds");
        disk.crash();
        lost += u64::from(disk.read("a").as_deref() != Some(&[1; BYTES]));
    }
    assert!(lost > SEEDS / 4, "{lost}");
}

#[test]
fn a_directory_refuses_the_retry() {
    let disk = SimulatedDisk::new(DiskConfig { failed_sync_one_in: 1, ..DiskConfig::new(1) });
    run_now(async {
        let directory = Directory::open(disk.access()).await?;
        let file = directory.create("a").await?;
        file.write_at(0, b"x").await?;
        let error = file.sync().await.expect_err("every sync fails");
        assert_eq!(error.kind, ErrorKind::SyncFailed);
        let error = directory.sync().await.expect_err("it has ended");
        assert_eq!(error.kind, ErrorKind::Ended);
        Ok::<(), DiskError>(())
    })
    .expect("other operations work");
    assert_eq!(disk.coverage().of(DiskFault::FailedSync), 1, "the disk was not asked again");
}

#[test]
fn a_full_disk_refuses_writes_until_there_is_room() {
    let disk = SimulatedDisk::new(DiskConfig { capacity_bytes: 1000, ..DiskConfig::new(1) });
    run_now(async {
        let directory = Directory::open(disk.access()).await?;
        let file = directory.create("a").await?;
        let error = file.write_at(0, &[1; 1001]).await.expect_err("it is too small");
        assert!(error.is_full() && error.offset == Some(0), "{error}");
        assert_eq!(file.length().await?, 1000, "a part was written");
        assert_eq!(directory.free_bytes().await?, 0);
        let error = file.allocate(1001).await.expect_err("it is too small");
        assert!(error.is_full());
        disk.set_capacity(5000);
        file.write_at(0, &[2; 1001]).await?;
        assert_eq!(directory.free_bytes().await?, 3584);
        file.sync().await.map(drop)
    })
    .expect("there is room in the end");
    assert_eq!(disk.coverage().of(DiskFault::Full), 2);
}

#[test]
fn a_killed_process_loses_nothing_but_its_lock() {
    let disk = SimulatedDisk::new(DiskConfig::new(1));
    let open = || run_now(Directory::open(disk.access()));
    let first = open().expect("nobody has it");
    assert_eq!(open().err().expect("the first has it").kind, ErrorKind::Locked);
    let file = run_now(first.create("a")).expect("it is new");
    run_now(file.write_at(0, b"words")).expect("there is room");
    disk.kill();
    assert!(run_now(file.write_at(0, b"X")).is_err() && run_now(first.list()).is_err());
    let second = open().expect("the lock ended with the process");
    assert_eq!(run_now(second.list()).expect("it may").len(), 1);
    assert_eq!(disk.read("a").as_deref(), Some(&b"words"[..]));
    drop(first);
    assert_eq!(open().err().expect("the second has it").kind, ErrorKind::Locked);
    drop(second);
    open().expect("the lock ends with its owner");
    assert_eq!(disk.coverage().of(DiskFault::ProcessEnd), 1);
}

#[test]
fn the_power_fails_in_each_operation() {
    let program = async |directory: Directory<DiskAccess>| {
        durable(&directory, "a", &[1; BYTES]).await?;
        directory.open_file("a").await?.truncate(512).await?;
        directory.rename("a", "b").await?;
        directory.remove("b").await
    };
    let mut images = BTreeSet::new();
    for seed in 0..50 {
        for operation in 1..=7 {
            let disk = SimulatedDisk::new(DiskConfig::new(seed));
            disk.power_off_at(operation);
            let directory = run_now(Directory::open(disk.access())).expect("nobody has it");
            let error = run_now(program(directory.clone())).expect_err("the power fails");
            assert!(error.to_string().contains("loses power"), "{error}");
            assert!(!disk.has_power() && disk.operations() == operation);
            assert!(run_now(directory.list()).is_err());
            disk.crash();
            assert!(disk.has_power());
            let is_synced = operation > 4;
            let found = disk.read("a").or(disk.read("b"));
            assert!(!is_synced || operation == 7 || found.is_some(), "{operation}");
            images.insert((operation, found));
        }
    }
    let lengths = |operation| images.iter().filter(|(of, _)| *of == operation).count();
    assert_eq!(lengths(1), 2, "the file is there and empty, or not");
    assert!(lengths(2) > 4 && lengths(5) == 2);
}

#[test]
fn bits_flip_and_ends_are_cut_as_the_test_says() {
    let files = BTreeMap::from([("a".to_owned(), vec![0; 10])]);
    let disk = SimulatedDisk::with_files(DiskConfig::new(1), files);
    disk.flip("a", 17);
    assert_eq!(disk.read("a").map(|bytes| bytes[2]), Some(2));
    disk.cut("a", 5);
    disk.crash();
    assert_eq!(disk.read("a"), Some(vec![0, 0, 2, 0, 0]));
    let coverage = disk.coverage();
    assert_eq!((coverage.of(DiskFault::BitFlip), coverage.of(DiskFault::CutFile)), (1, 1));
}

#[test]
fn a_run_is_its_seed() {
    let program = async |directory: Directory<DiskAccess>| {
        let file = directory.create("a").await?;
        for number in 0..20 {
            file.write_at(number * 300, &[number as u8; 700]).await?;
        }
        Ok(())
    };
    let (first, coverage) = images(program);
    assert_eq!((first.clone(), coverage.clone()), images(program));
    assert!(first.iter().any(|files| *files != first[0]));
    assert!(coverage.missing().contains(&DiskFault::BitFlip));
}

#[test]
fn a_fork_has_the_same_past_and_another_future() {
    let disk = SimulatedDisk::new(DiskConfig::new(1));
    let directory = run_now(Directory::open(disk.access())).expect("nobody has it");
    let file = run_now(directory.create("a")).expect("it is new");
    run_now(directory.sync()).expect("it works");
    run_now(file.write_at(0, &[1; BYTES])).expect("there is room");
    let after = |seed| {
        let fork = disk.fork(seed);
        fork.crash();
        fork.read("a")
    };
    let images: BTreeSet<_> = (0..50).map(after).collect();
    assert!(images.len() > 5, "{}", images.len());
    assert_eq!(after(3), after(3));
    assert_eq!(disk.read("a"), Some(vec![1; BYTES]), "the original is unchanged");
}

/// On an endpoint, operations take virtual time, and a killed process stops between two of them.
#[test]
fn operations_take_virtual_time_in_a_world() {
    let world = World::new(SimConfig::hostile(3).named("a disk"));
    let env = world.endpoint(world.compute_node(0));
    let disk = SimulatedDisk::new(DiskConfig::new(3));
    let access = disk.access_on(&env);
    let before = fabric::Env::now_ns(&env);
    let run = async {
        let directory = Directory::open(access).await?;
        let file = directory.create("a").await?;
        file.write_at(0, b"words").await?;
        file.sync().await?;
        directory.sync().await
    };
    world.block_on(&env, run).expect("the disk works");
    assert!(fabric::Env::now_ns(&env) - before >= 5_000, "{}", world.identity());
    disk.crash();
    assert_eq!(disk.read("a").as_deref(), Some(&b"words"[..]));
}
