//! The log over the operating system's disk, with lanes on threads of their own.

use crate::model::DATABASE;
use fabric::run_now;
use layout::{SlotId, VersionWord};
use redo_log::{
    Change, Config, Image, Incarnation, Log, LogError, OnDamage, Position, Row, Survey,
};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use storage::{Directory, RealDisk};

/// A folder that the test removes at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("namdb-redo-log-{}-{name}", std::process::id())))
    }

    fn directory(&self) -> Directory<RealDisk> {
        let disk = RealDisk::create(&self.0).expect("the folder can be made");
        run_now(Directory::open(disk)).expect("nobody has it")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const KEY: [u8; 8] = [1; 8];
const IMAGE: [u8; 16] = [2; 16];

fn row(index: u32) -> Row<'static> {
    let image = Image::Whole(&IMAGE);
    Row { table: index, key: &KEY, replaces: VersionWord::NONE, change: Change::Update, image }
}

fn config() -> Config {
    Config { segment_bytes: 4 << 20, ..Config::new(DATABASE) }
}

/// The number of rows that count, and of all, read by a thread for each segment.
fn rows(survey: &Survey, directory: &Directory<RealDisk>) -> (u64, u64) {
    let (covered, all) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for index in 0..survey.segment_count() {
            let (covered, all) = (&covered, &all);
            scope.spawn(move || {
                let visit = survey.replay(directory, DATABASE, index, |row| {
                    covered.fetch_add(u64::from(row.is_covered), Ordering::Relaxed);
                    all.fetch_add(1, Ordering::Relaxed);
                    Ok::<(), LogError>(())
                });
                run_now(visit).expect("the disk works");
            });
        }
    });
    (covered.into_inner(), all.into_inner())
}

#[test]
fn threads_commit_and_a_restart_finds_all() {
    const LANES: u16 = 4;
    const COMMITS: u64 = 2_000;
    let folder = Folder::new("threads");
    let mut log = run_now(Log::create(folder.directory(), config())).expect("it is new");
    let visible: Vec<AtomicU64> = (0..LANES).map(|_| AtomicU64::new(0)).collect();
    let lanes = log.lanes();
    let mut bytes = 0;
    std::thread::scope(|scope| {
        for (slot, visible) in visible.iter().enumerate() {
            let mut lane = lanes.add();
            scope.spawn(move || {
                for number in 1..=COMMITS {
                    let version = VersionWord::new(SlotId(slot as u16), number);
                    let mut entry = lane.begin(version);
                    entry.row(&row(1));
                    entry.row(&row(2));
                    entry.finish();
                    visible.store(number, Ordering::Release);
                }
            });
        }
        loop {
            let snapshot: Vec<u64> =
                visible.iter().map(|slot| slot.load(Ordering::Acquire)).collect();
            bytes += run_now(log.commit_group(&snapshot)).expect("the disk works").bytes;
            if snapshot.iter().all(|&number| number == COMMITS) {
                break;
            }
        }
    });
    let groups = log.last_group();
    run_now(log.close(&[COMMITS; LANES as usize])).expect("the disk works");
    let transactions = u64::from(LANES) * COMMITS;
    // A group has its record, and a block for each lane.
    let of_groups = groups * (24 + 32 + 10 * u64::from(LANES) + 24 * u64::from(LANES));
    let of_rows = 2 * transactions * (KEY.len() + IMAGE.len() + 32) as u64;
    assert!(bytes <= of_rows + 32 * transactions + of_groups, "{bytes} in {groups} groups");
    let opened =
        run_now(Log::open(folder.directory(), config(), Position::START, OnDamage::Refuse))
            .expect("nothing is damaged");
    let all = 2 * transactions;
    assert_eq!(rows(&opened.survey, &reader(&folder)), (all, all));
    assert_eq!(opened.survey.highest_counters(), [COMMITS; LANES as usize]);
    assert_eq!(opened.log.incarnation(), Incarnation(2));
}

fn reader(folder: &Folder) -> Directory<RealDisk> {
    Directory::read_only(RealDisk::open(&folder.0).expect("the folder is there"))
}

/// One transaction of a million rows is flushed while it is appended: it spans pieces, groups and
/// segments, and counts only when its end is there.
#[test]
fn a_transaction_of_a_million_rows_spans_segments() {
    const ROWS: u32 = 1_000_000;
    const WAITING_BYTES_MAX: usize = 4 << 20;
    let folder = Folder::new("million");
    let mut log = run_now(Log::create(folder.directory(), config())).expect("it is new");
    let lanes = log.lanes();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut lane = lanes.add();
        let (is_done, waiting) = (&is_done, &lanes);
        scope.spawn(move || {
            let mut entry = lane.begin(VersionWord::new(SlotId(0), 1));
            for index in 0..ROWS {
                entry.row(&row(index));
                while index % 1_000 == 0 && waiting.waiting_bytes() > WAITING_BYTES_MAX {
                    std::thread::yield_now();
                }
            }
            entry.finish();
            // The next one is given up in the middle, as if its process had ended.
            let mut entry = lane.begin(VersionWord::new(SlotId(0), 2));
            (0..100_000).for_each(|index| entry.row(&row(index)));
            is_done.store(true, Ordering::Release);
        });
        let mut begin = None;
        while !is_done.load(Ordering::Acquire) {
            let at = log.position();
            let group = run_now(log.commit_group(&[0])).expect("the disk works");
            if let Some(begin) = begin {
                assert_eq!(group.replay_from, begin, "the transaction is not covered");
            } else if group.bytes > 1_000 {
                begin = Some(at);
            }
        }
    });
    let before_end = run_now(survey(&folder));
    assert_eq!(rows(&before_end, &reader(&folder)).0, 0, "no snapshot covers it");
    run_now(log.commit_group(&[1])).expect("the disk works");
    let at = log.position();
    let group = run_now(log.commit_group(&[1])).expect("the disk works");
    assert!(group.replay_from >= at, "nothing waits for the one that was given up");
    drop(log);
    let survey = run_now(survey(&folder));
    assert!(survey.segment_count() > 3, "{}", survey.segment_count());
    let (covered, all) = rows(&survey, &reader(&folder));
    assert_eq!(covered, u64::from(ROWS));
    assert!(all > covered, "a part of the second is there, and does not count");
}

async fn survey(folder: &Folder) -> Survey {
    let result = redo_log::survey::survey(&reader(folder), DATABASE, Position::START).await;
    let (survey, damage) = result.expect("the disk works");
    assert_eq!(damage, None);
    survey
}
