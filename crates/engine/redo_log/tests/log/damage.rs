//! Flipped bits, cut files and lost sectors: each is repaired or refused by name, and none is read
//! as data.
//!
//! The test takes 2,000 of each kind. For 100,000:
//! `REDO_LOG_DAMAGES=100000 cargo test --release -p redo_log --test log damage`

use crate::model::{CONFIG, DATABASE, Model, Transactions, directory, replayed, restart};
use fabric::random::SplitMix64;
use fabric::run_now;
use layout::{SlotId, VersionWord};
use redo_log::marker::Marker;
use redo_log::segment::{BLOCKS, Header};
use redo_log::{Config, Damage, DatabaseId, Log, LogError, OnDamage, Survey};
use sim::disk::{DiskConfig, SimulatedDisk};
use std::collections::BTreeMap;
use storage::Directory;

type Files = BTreeMap<String, Vec<u8>>;

/// A log as a program has left it.
struct Image {
    files: Files,
    model: Model,
    is_closed: bool,
}

fn disk_of(files: Files) -> SimulatedDisk {
    SimulatedDisk::with_files(DiskConfig::new(1), files)
}

/// A log of one start of the database, with all its commits acknowledged.
fn image(seed: u64, is_closed: bool) -> Image {
    let disk = SimulatedDisk::new(DiskConfig::new(seed));
    let mut model = Model::new(seed);
    // A checkpoint would have what an accepted loss takes from the log.
    model.takes_checkpoints = false;
    run_now(async {
        let mut log = Log::create(directory(&disk), CONFIG).await?;
        model.run(&mut log, 120).await?;
        match is_closed {
            true => model.close(log).await,
            false => model.commit_all(&mut log).await,
        }
    })
    .expect("the disk works");
    disk.kill();
    Image { files: disk.files(), model, is_closed }
}

fn images() -> Vec<Image> {
    (0..24).map(|seed| image(seed, seed % 2 == 0)).collect()
}

/// A way to damage a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Harm {
    Flip,
    Cut,
    /// A sector has zeros.
    Sector,
}

/// Damages a file; returns its first byte that changed, or `None` if the file is as before.
fn damage(bytes: &mut Vec<u8>, harm: Harm, random: &mut SplitMix64) -> Option<u64> {
    let at = random.draw() as usize % bytes.len();
    match harm {
        Harm::Flip => bytes[at] ^= 1 << (random.draw() % 8),
        Harm::Cut => bytes.truncate(at),
        Harm::Sector => {
            let sector = at / 512 * 512;
            let end = bytes.len().min(sector + 512);
            let first = bytes[sector..end].iter().position(|&byte| byte != 0)?;
            bytes[sector..end].fill(0);
            return Some((sector + first) as u64);
        }
    }
    Some(at as u64)
}

/// The offset up to which a segment's newest marker vouches for it.
fn synced(bytes: &[u8]) -> u64 {
    let header = Header::decode(bytes).expect("the image is intact");
    let markers = [512, 1024].map(|at| Marker::decode(&bytes[at..], header.seed()));
    markers
        .into_iter()
        .flatten()
        .max_by_key(|marker| marker.sequence)
        .map_or(0, |marker| marker.synced)
}

fn open(
    disk: &SimulatedDisk,
    model: &Model,
    on_damage: OnDamage,
) -> Result<(Survey, Transactions, Log<sim::disk::DiskAccess>), LogError> {
    let opened = run_now(Log::open(directory(disk), CONFIG, model.start, on_damage))?;
    let found = replayed(&opened.survey, &Directory::read_only(disk.access()))?;
    Ok((opened.survey, found, opened.log))
}

/// The damages of one kind, by their result.
#[derive(Default, Debug)]
struct Results {
    refused: u64,
    /// Without effect: everything acknowledged is there.
    harmless: u64,
    /// Behind the last marker, so that it looks like a torn tail; a group is gone.
    cut: u64,
}

fn count() -> u64 {
    let text = std::env::var("REDO_LOG_DAMAGES");
    text.map_or(2_000, |text| text.parse().expect("REDO_LOG_DAMAGES is a number of damages"))
}

fn harm(harm: Harm) -> Results {
    let images = images();
    let mut random = SplitMix64::new(harm as u64);
    let mut results = Results::default();
    for number in 0..count() {
        let image = &images[number as usize % images.len()];
        let mut files = image.files.clone();
        let names: Vec<String> = files.keys().cloned().collect();
        let name = &names[random.draw() as usize % names.len()];
        let bytes = files.get_mut(name).expect("the file is there");
        let Some(at) = damage(bytes, harm, &mut random) else { continue };
        let case = format!("damage {number}, {harm:?} of `{name}` at byte {at}");
        match open(&disk_of(files.clone()), &image.model, OnDamage::Refuse) {
            Err(LogError::Damaged(damage)) => {
                refused(&damage, name, &case);
                results.refused += 1;
                accept(&files, &image.model, &case);
            }
            Err(error) => panic!("{case}: {error}"),
            Ok((survey, found, log)) => {
                assert!(!image.is_closed, "{case}: a closed log was opened");
                let mut model = image.model.clone();
                let incarnation = log.incarnation();
                if model.restarted(&survey, found.clone(), incarnation).is_ok() {
                    results.harmless += 1;
                    continue;
                }
                let is_last = Some(name) == names.last();
                assert!(is_last && at >= synced(&image.files[name]), "{case}: a group is gone");
                let mut model = image.model.clone();
                model.acknowledged.fill(0);
                let consistent = model.restarted(&survey, found, incarnation);
                consistent.unwrap_or_else(|error| panic!("{case}: {error}"));
                results.cut += 1;
            }
        }
    }
    results
}

/// A refusal names file and offset and says what to do.
fn refused(damage: &Damage, name: &str, case: &str) {
    let sentence = damage.to_string();
    let next = |name: &str| {
        let number: u64 = name["redo-".len()..name.len() - 4].parse().expect("it is a segment");
        format!("redo-{:010}.log", number + 1)
    };
    // A wrong length or end of a file may only show at the one behind it.
    let is_named = damage.path.ends_with(name) || damage.path.ends_with(&next(name));
    assert!(is_named, "{case}: {sentence}");
    assert!(sentence.contains("is damaged at byte ") && sentence.contains("accept_loss"));
}

/// With the loss accepted, the log ends with a group before the damage, and works.
fn accept(files: &Files, model: &Model, case: &str) {
    let disk = disk_of(files.clone());
    let mut model = model.clone();
    match open(&disk, &model, OnDamage::AcceptLoss) {
        Ok((survey, found, mut log)) => {
            let loss = survey.loss.as_ref().unwrap_or_else(|| panic!("{case}: no loss"));
            let sentence = loss.to_string();
            assert!(sentence.starts_with("commits behind group "), "{case}: {sentence}");
            for (from, to) in &loss.renamed {
                assert_eq!(disk.read(to), files.get(from).cloned(), "{case}: {sentence}");
                assert!(sentence.contains(to.as_str()), "{case}: {sentence}");
            }
            assert!(loss.damage.newest_group >= loss.damage.last_group, "{case}");
            let group = survey.last_group().map_or(0, |group| group.number);
            assert_eq!(loss.damage.last_group.max(group), loss.damage.last_group, "{case}");
            model.acknowledged.fill(0);
            let consistent = model.restarted(&survey, found, log.incarnation());
            consistent.unwrap_or_else(|error| panic!("{case}: {error}"));
            run_now(model.run(&mut log, 20)).unwrap_or_else(|error| panic!("{case}: {error}"));
            run_now(model.commit_all(&mut log)).unwrap_or_else(|error| panic!("{case}: {error}"));
            disk.crash();
            restart(&disk, &mut model).unwrap_or_else(|error| panic!("{case}: {error}"));
        }
        // Without its first page the segment at the start of replay says nothing.
        Err(LogError::Damaged(damage)) => assert!(damage.offset < BLOCKS, "{case}: {damage}"),
        Err(error) => panic!("{case}: {error}"),
    }
}

#[test]
fn flipped_bits_are_repaired_or_refused() {
    let results = harm(Harm::Flip);
    assert!(results.refused > results.harmless && results.harmless > 0, "{results:?}");
    assert!(results.cut > 0 && results.cut < results.refused / 20, "{results:?}");
}

#[test]
fn cut_files_are_repaired_or_refused() {
    let results = harm(Harm::Cut);
    assert!(results.refused > results.harmless && results.harmless > 0, "{results:?}");
}

#[test]
fn lost_sectors_are_repaired_or_refused() {
    let results = harm(Harm::Sector);
    assert!(results.refused > results.cut, "{results:?}");
}

/// An accepted loss is repeated after a crash in each of its operations.
#[test]
fn an_accepted_loss_is_interrupted_in_any_operation() {
    for image in images().iter().take(8) {
        let mut files = image.files.clone();
        let name = files.keys().nth(files.len() / 2).expect("there are files").clone();
        let at = BLOCKS as usize + 30;
        files.get_mut(&name).expect("it is there")[at] ^= 1;
        let whole = disk_of(files.clone());
        open(&whole, &image.model, OnDamage::AcceptLoss).expect("the disk works");
        for operation in 1..=whole.operations() {
            let disk = disk_of(files.clone()).fork(operation);
            disk.power_off_at(operation);
            assert!(open(&disk, &image.model, OnDamage::AcceptLoss).is_err());
            disk.crash();
            let case = format!("operation {operation}");
            let opened = open(&disk, &image.model, OnDamage::AcceptLoss);
            let (survey, found, mut log) = opened.unwrap_or_else(|error| panic!("{case}: {error}"));
            let mut model = image.model.clone();
            model.acknowledged.fill(0);
            let consistent = model.restarted(&survey, found, log.incarnation());
            consistent.unwrap_or_else(|error| panic!("{case}: {error}"));
            run_now(model.commit_all(&mut log)).expect("the disk works");
            disk.crash();
            restart(&disk, &mut model).unwrap_or_else(|error| panic!("{case}: {error}"));
        }
    }
}

#[test]
fn a_missing_file_is_refused_by_name() {
    for image in images().iter().take(6) {
        for name in image.files.keys() {
            let mut files = image.files.clone();
            files.remove(name);
            let result = open(&disk_of(files), &image.model, OnDamage::Refuse);
            let Err(LogError::Damaged(damage)) = result else { panic!("`{name}` is missed") };
            assert!(damage.path.ends_with(name), "{damage}");
            assert!(damage.to_string().contains("the file is missing"), "{damage}");
        }
    }
}

/// Groups of one transaction without rows each, in one segment; the files after each of them.
fn groups(count: u64, close: bool) -> (SimulatedDisk, Vec<Files>) {
    let disk = SimulatedDisk::new(DiskConfig::new(1));
    let mut files = Vec::new();
    run_now(async {
        let mut log = Log::create(directory(&disk), ONE_SEGMENT).await?;
        let mut lane = log.lanes().add();
        for number in 1..=count {
            lane.begin(VersionWord::new(SlotId(0), number)).finish();
            log.commit_group(&[number]).await?;
            files.push(disk.files());
        }
        if close { log.close(&[count]).await } else { Ok(()) }
    })
    .expect("the disk works");
    disk.kill();
    (disk, files)
}

/// Room for all groups of a test.
const ONE_SEGMENT: Config = Config { segment_bytes: 1 << 20, ..Config::new(DATABASE) };
const FIRST: &str = "redo-0000000001.log";

/// The marker of a group may be lost with the sync of the next one. If blocks of the next one are
/// there, the group was synced: its damage is not a torn tail.
#[test]
fn blocks_of_a_later_group_prove_that_a_group_was_synced() {
    let (_, files) = groups(3, false);
    let before = &files[1][FIRST];
    let mut bytes = files[2][FIRST].clone();
    bytes[..BLOCKS as usize].copy_from_slice(&before[..BLOCKS as usize]);
    let end = before.iter().rposition(|&byte| byte != 0).expect("it has groups");
    assert!(synced(&bytes) <= end as u64, "the second group is behind the marker");
    let first_group_end = synced(before);
    assert!(first_group_end > BLOCKS, "the first one is before it");
    let mut open_flipped = |at: usize| {
        bytes[at] ^= 4;
        let files = BTreeMap::from([(FIRST.to_owned(), bytes.clone())]);
        bytes[at] ^= 4;
        run_now(Log::open(
            directory(&disk_of(files)),
            ONE_SEGMENT,
            redo_log::Position::START,
            OnDamage::Refuse,
        ))
        .map(|opened| opened.log.last_group())
    };
    let result = open_flipped(first_group_end as usize + 9);
    let Err(LogError::Damaged(damage)) = result else { panic!("the second group is gone") };
    assert!(damage.what.contains("before a later group"), "{damage}");
    assert_eq!((damage.last_group, damage.newest_group), (1, 3));
    assert_eq!(open_flipped(end + 30).ok(), Some(2), "the third one may be torn");
}

/// A flusher that has nothing to write marks the last group, so that its damage is noticed too.
#[test]
fn a_marked_group_is_not_cut() {
    let disk = SimulatedDisk::new(DiskConfig::new(1));
    let mut log = run_now(Log::create(directory(&disk), CONFIG)).expect("it is new");
    run_now(log.commit_group(&[1])).expect("there is room");
    let end = log.position().offset;
    let open_flipped = |disk: &SimulatedDisk| {
        let fork = disk.fork(1);
        fork.kill();
        fork.flip(FIRST, 8 * (end - 1));
        run_now(Log::open(directory(&fork), CONFIG, redo_log::Position::START, OnDamage::Refuse))
            .map(|opened| opened.log.last_group())
    };
    assert_eq!(open_flipped(&disk).ok(), Some(0), "it looks like a torn tail");
    run_now(log.mark()).expect("there is room");
    assert!(matches!(open_flipped(&disk), Err(LogError::Damaged(_))));
}

/// Other files know that the log had a group: its end is not torn, and a loss may reach too far.
#[test]
fn a_log_that_ends_before_a_known_group_is_damaged() {
    let (_, files) = groups(3, false);
    let open = |reached_group, needed_group, on_damage| {
        let config = Config { reached_group, needed_group, ..ONE_SEGMENT };
        let mut files = files[2].clone();
        let bytes = files.get_mut(FIRST).expect("it is there");
        let end = bytes.iter().rposition(|&byte| byte != 0).expect("it has groups");
        bytes[end] ^= 1;
        let disk = disk_of(files);
        let start = redo_log::Position::START;
        run_now(Log::open(directory(&disk), config, start, on_damage))
            .map(|opened| (opened.log.last_group(), opened.survey.loss))
    };
    assert_eq!(open(2, 2, OnDamage::Refuse), Ok((2, None)), "the third group may be torn");
    let damage = |result| match result {
        Err(LogError::Damaged(damage)) => damage,
        other => panic!("{other:?}"),
    };
    let refused = damage(open(3, 2, OnDamage::Refuse));
    assert_eq!((refused.last_group, refused.newest_group), (2, 3));
    assert!(refused.to_string().contains("or open it with `accept_loss`"), "{refused}");
    let (last, loss) = open(3, 2, OnDamage::AcceptLoss).expect("the second group is enough");
    assert_eq!((last, loss.map(|loss| loss.damage.last_group)), (2, Some(2)));
    let refused = damage(open(3, 3, OnDamage::AcceptLoss));
    assert!(refused.to_string().contains("`accept_loss` cannot help"), "{refused}");
}

#[test]
fn files_of_another_database_or_version_are_refused() {
    let (disk, _) = groups(2, true);
    let config = Config::new(DatabaseId([7; 16]));
    let start = redo_log::Position::START;
    let open = |disk: &SimulatedDisk, config| {
        run_now(Log::open(directory(disk), config, start, OnDamage::AcceptLoss)).err()
    };
    let error = open(&disk, config).expect_err_of("another database");
    assert!(matches!(error, LogError::OtherDatabase { .. }), "{error}");
    assert!(error.to_string().contains("belongs to database 61"), "{error}");
    let mut files = disk.files();
    let bytes = files.get_mut(FIRST).expect("it is there");
    bytes[8] = 2;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..12]);
    hasher.update(&bytes[16..512]);
    let checksum = hasher.finalize().to_le_bytes();
    bytes[12..16].copy_from_slice(&checksum);
    let error = open(&disk_of(files), ONE_SEGMENT).expect_err_of("another version");
    assert!(matches!(error, LogError::Format { found: 2, .. }), "{error}");
    assert!(error.to_string().contains("has format 2, this program reads 1"), "{error}");
}

trait ExpectError {
    fn expect_err_of(self, what: &str) -> LogError;
}

impl ExpectError for Option<LogError> {
    fn expect_err_of(self, what: &str) -> LogError {
        self.unwrap_or_else(|| panic!("the log of {what} was opened"))
    }
}

#[test]
fn a_log_with_commits_is_not_created_again() {
    let (disk, _) = groups(1, false);
    let error = run_now(Log::create(directory(&disk), ONE_SEGMENT)).err();
    let error = error.expect_err_of("a database that exists");
    assert!(error.to_string().contains("has commits already"), "{error}");
}
