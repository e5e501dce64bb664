//! Crashes at every write and sync: of appending, group commits, rolls, deletion, closing, and of
//! the restart itself, which then starts again.

use crate::model::{CONFIG, Model, directory, restart};
use fabric::run_now;
use redo_log::Log;
use sim::disk::{DiskAccess, DiskConfig, DiskCoverage, DiskFault, SimulatedDisk};
use storage::PlantedBug;

/// Steps of a program between two restarts.
const STEPS: u64 = 40;

fn disk(seed: u64, planted: &[PlantedBug]) -> SimulatedDisk {
    SimulatedDisk::new(DiskConfig { planted: planted.to_vec(), ..DiskConfig::new(seed) })
}

/// A start, until the power fails, if it does: creates the log unless that was done.
fn start(disk: &SimulatedDisk, model: &mut Model) -> Result<(), String> {
    let log = match model.is_created {
        true => restart(disk, model),
        false => create(disk, model),
    };
    let run = async {
        let mut log = log?;
        model.run(&mut log, STEPS).await.map_err(|error| error.to_string())?;
        if model.closes {
            model.close(log).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    };
    match run_now(run) {
        Err(_) if !disk.has_power() => Ok(()),
        result => result,
    }
}

fn create(disk: &SimulatedDisk, model: &mut Model) -> Result<Log<DiskAccess>, String> {
    let log = run_now(Log::create(directory(disk), CONFIG)).map_err(|error| error.to_string())?;
    model.is_created = true;
    Ok(log)
}

/// A life of a program: crashes in operation `first` of its first start, and then in the first
/// operations of several restarts.
fn life(seed: u64, first: u64, planted: &[PlantedBug]) -> Result<DiskCoverage, String> {
    let disk = disk(seed, planted);
    let mut model = Model::new(seed);
    model.has_large = seed.is_multiple_of(16);
    model.closes = true;
    disk.power_off_at(first);
    start(&disk, &mut model)?;
    for later in 0..4 {
        let is_kill = (seed + first + later).is_multiple_of(5);
        if is_kill {
            disk.kill()
        } else {
            disk.crash()
        }
        model.closes = (seed + first + later).is_multiple_of(3);
        // Restarts have about 10 operations: some crashes are in them, some behind.
        disk.power_off_at(disk.operations() + 1 + (seed * 7 + first * 3 + later * 5) % 30);
        start(&disk, &mut model)?;
    }
    disk.crash();
    if model.is_created {
        restart(&disk, &mut model)?;
    }
    Ok(disk.coverage())
}

/// Operations of the first start of a seed.
fn operations(seed: u64) -> u64 {
    let disk = disk(seed, &[]);
    let mut model = Model::new(seed);
    model.has_large = seed.is_multiple_of(16);
    model.closes = true;
    start(&disk, &mut model).expect("no fault is planned");
    disk.operations()
}

#[test]
fn a_crash_in_any_operation_loses_nothing_that_was_acknowledged() {
    let seeds: u64 = std::env::var("REDO_LOG_SEEDS")
        .map_or(24, |text| text.parse().expect("REDO_LOG_SEEDS is a number of seeds"));
    let mut coverage = DiskCoverage::default();
    for seed in 0..seeds {
        for first in 1..=operations(seed) + 1 {
            let hit = life(seed, first, &[]);
            let hit = hit.unwrap_or_else(|error| panic!("seed {seed}, operation {first}: {error}"));
            coverage.add(&hit);
        }
    }
    let absent = [
        DiskFault::LostRename,
        DiskFault::HalfRename,
        DiskFault::FailedSync,
        DiskFault::Full,
        DiskFault::BitFlip,
        DiskFault::CutFile,
    ];
    assert_eq!(coverage.missing(), absent, "the other tests have these");
}

/// A restart is repeated after a crash in each of its operations.
#[test]
fn a_restart_is_interrupted_in_any_operation() {
    let mut interrupted = 0;
    for seed in 0..60 {
        let disk = disk(seed, &[]);
        let mut model = Model::new(seed);
        model.closes = seed.is_multiple_of(4);
        disk.power_off_at(operations(seed) * (40 + seed) / 100 + 10);
        start(&disk, &mut model).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        disk.crash();
        let whole = disk.fork(seed);
        restart(&whole, &mut model.clone()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        for operation in disk.operations() + 1..=whole.operations() {
            let disk = disk.fork(seed + operation);
            let mut model = model.clone();
            disk.power_off_at(operation);
            assert!(restart(&disk, &mut model.clone()).is_err());
            if operation % 5 == 0 {
                disk.kill()
            } else {
                disk.crash()
            }
            let case = |error| panic!("seed {seed}, operation {operation}: {error}");
            let mut log = restart(&disk, &mut model).unwrap_or_else(case);
            run_now(model.run(&mut log, 10)).expect("the disk works");
            run_now(model.commit_all(&mut log)).expect("the disk works");
            disk.crash();
            restart(&disk, &mut model).unwrap_or_else(case);
            interrupted += 1;
        }
    }
    assert!(interrupted > 500, "{interrupted}");
}

/// A restart needs a page only, so that the data can be read and room can be made.
#[test]
fn a_log_opens_on_a_full_disk() {
    let disk = disk(1, &[]);
    let mut model = Model::new(1);
    let mut log = create(&disk, &mut model).expect("there is room");
    run_now(model.run(&mut log, STEPS)).expect("there is room");
    drop(log);
    disk.crash();
    let used: usize = disk.files().values().map(Vec::len).sum();
    disk.set_capacity(used as u64 + 4096);
    let mut log = restart(&disk, &mut model).expect("a page is enough");
    let mut full = false;
    for _ in 0..20 {
        full |= run_now(model.run(&mut log, 10)).is_err_and(|error| error.is_full());
    }
    assert!(full, "commits need room");
    disk.set_capacity(1 << 30);
    run_now(model.commit_all(&mut log)).expect("there is room");
    disk.crash();
    restart(&disk, &mut model).expect("nothing is lost");
}

/// The number of lives in which a planted bug is noticed, and the first message.
fn noticed(bug: PlantedBug) -> (u64, Option<String>) {
    let mut count = 0;
    let mut message = None;
    for seed in 1..12 {
        for first in 1..=operations(seed) + 1 {
            if let Err(error) = life(seed, first, &[bug]) {
                count += 1;
                message.get_or_insert(error);
            }
        }
    }
    (count, message)
}

#[test]
fn each_planted_bug_is_noticed() {
    for bug in PlantedBug::LOG {
        let (count, message) = noticed(bug);
        assert!(count > 0, "{} is not noticed", bug.name());
        assert!(message.is_some_and(|message| !message.is_empty()));
    }
}

/// A process continues after a kill with what the page cache has; the power fails later.
#[test]
fn a_failed_sync_is_not_trusted_by_the_next_process() {
    let mut failures = 0;
    for seed in 0..300 {
        let disk = disk(seed, &[]);
        let mut model = Model::new(seed);
        disk.fail_sync_after(2 + seed % 20);
        let run = async {
            let mut log = create(&disk, &mut model)?;
            model.run(&mut log, STEPS).await.map_err(|error| error.to_string())
        };
        let Err(error) = run_now(run) else { continue };
        assert!(error.contains("sync"), "{error}");
        if !model.is_created {
            continue;
        }
        failures += 1;
        disk.kill();
        let mut log = restart(&disk, &mut model)
            .unwrap_or_else(|error| panic!("seed {seed}, from the page cache: {error}"));
        run_now(model.run(&mut log, 5)).expect("the disk works again");
        run_now(model.commit_all(&mut log)).expect("the disk works again");
        disk.crash();
        restart(&disk, &mut model).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    assert!(failures > 100, "{failures}");
}

#[test]
fn after_a_failed_sync_no_group_succeeds() {
    let disk = disk(1, &[]);
    let mut model = Model::new(1);
    run_now(async {
        let mut log = Log::create(directory(&disk), CONFIG).await?;
        model.commit_all(&mut log).await?;
        disk.fail_sync_after(0);
        let error = log.commit_group(&[9, 9, 9]).await.expect_err("the sync fails");
        assert!(error.to_string().contains("cannot sync"), "{error}");
        for _ in 0..2 {
            let again = log.commit_group(&[9, 9, 9]).await.expect_err("it stays so");
            assert_eq!(again, error, "the first reason is repeated");
            assert!(log.mark().await.is_err());
        }
        assert!(log.close(&[9, 9, 9]).await.is_err());
        Ok::<(), redo_log::LogError>(())
    })
    .expect("the rest works");
}

/// Commits fail while the disk is full, and go on when there is room; nothing is lost in between.
#[test]
fn a_full_disk_interrupts_commits_only() {
    let mut refusals = 0;
    for seed in 0..60 {
        let disk = disk(seed, &[]);
        let mut model = Model::new(seed);
        let mut log = run_now(Log::create(directory(&disk), CONFIG)).expect("there is room");
        let mut capacity = 7_000;
        for _ in 0..30 {
            disk.set_capacity(capacity);
            match run_now(model.run(&mut log, 10)) {
                Ok(()) => {}
                Err(error) if error.is_full() => {
                    refusals += 1;
                    assert!(error.to_string().contains("make room"), "{error}");
                    capacity += 3_000;
                    disk.set_capacity(capacity);
                }
                Err(error) => panic!("seed {seed}: {error}"),
            }
        }
        disk.set_capacity(1 << 30);
        run_now(model.commit_all(&mut log)).expect("there is room");
        drop(log);
        if seed % 2 == 0 {
            disk.crash()
        } else {
            disk.kill()
        }
        restart(&disk, &mut model).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
    assert!(refusals > 100, "{refusals}");
}
