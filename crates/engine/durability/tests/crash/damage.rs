//! Damaged control and checkpoint files after a clean close: each damage is refused with the name
//! of the file, none is read as data, and the directory opens again when the file is replaced.
//!
//! The gate takes 400 damages. For 100,000:
//! `DURABILITY_DAMAGES=100000 cargo test --release -p durability --test crash damage`

use crate::ledger::{Contents, Ledger};
use crate::life::{Begun, Plan, check_contents, live, load};
use crate::lives::plan;
use crate::support::mix::Dice;
use durability::control::CONTROL_NAME;
use durability::{DurabilityError, Opened};
use sim::disk::{DiskConfig, SimulatedDisk};
use std::collections::BTreeMap;

type Files = BTreeMap<String, Vec<u8>>;

/// A directory that was closed, with a checkpoint.
struct Image {
    plan: Plan,
    files: Files,
    contents: Contents,
}

/// A life without faults, which ends with a clean close.
fn quiet(seed: u64) -> Plan {
    Plan {
        workers: 1,
        makes_checkpoints: false,
        changes_catalog: false,
        fills_disk: false,
        copies: false,
        fails_sync: false,
        closes: true,
        ..plan(seed, 0, false, &mut Dice(seed))
    }
}

/// The image that a life with this seed leaves; `None` if it has made no checkpoint with rows.
fn image(seed: u64) -> Option<Image> {
    let disk = SimulatedDisk::new(DiskConfig::new(seed));
    let mut plan = Plan { makes_checkpoints: true, ..quiet(seed) };
    let lived = live(&disk, &plan, &mut Dice(seed), &Contents::default()).expect("the disk works");
    assert!(lived.was_closed, "nothing failed");
    disk.kill();
    let contents = lived.settle(&disk, seed).expect("everything was closed");
    let files = disk.files();
    // A file without rows is its header of 48 bytes.
    let has_rows = files.iter().any(|(name, bytes)| is_checkpoint(name) && bytes.len() > 48);
    plan.life = 1;
    has_rows.then_some(Image { plan, files, contents })
}

fn is_checkpoint(name: &str) -> bool {
    name.starts_with("checkpoint-")
}

/// A way to damage a file.
#[derive(Clone, Copy, Debug)]
enum Harm {
    Flip,
    Cut,
    /// Bytes follow that were not written.
    Extend,
    /// A byte has another value.
    Replace,
    Remove,
    /// The file has the content of another one.
    Swap,
}

const HARMS: [Harm; 6] =
    [Harm::Flip, Harm::Cut, Harm::Extend, Harm::Replace, Harm::Remove, Harm::Swap];

/// Damages a file; returns whether it has changed.
fn damage(files: &mut Files, name: &str, harm: Harm, dice: &mut Dice) -> bool {
    let before = files[name].clone();
    let at = dice.below(before.len() as u64) as usize;
    let mut bytes = before.clone();
    match harm {
        Harm::Flip => bytes[at] ^= 1 << dice.below(8),
        Harm::Cut => bytes.truncate(at),
        Harm::Extend => bytes.extend((0..=dice.below(40)).map(|_| dice.below(3) as u8)),
        Harm::Replace => bytes[at] = dice.below(256) as u8,
        Harm::Remove => {
            files.remove(name);
            return true;
        }
        Harm::Swap => {
            let others: Vec<&Vec<u8>> = files.values().collect();
            bytes.clone_from(others[dice.below(others.len() as u64) as usize]);
        }
    }
    let has_changed = bytes != before;
    files.insert(name.to_owned(), bytes);
    has_changed
}

/// Opens and loads the directory on a disk, and compares the rows.
fn restart(disk: &SimulatedDisk, image: &Image) -> Result<(), DurabilityError> {
    let Begun { cluster, opened, .. } = image.plan.begin(disk, &mut Dice(1))?;
    let Opened { control, restore, .. } = opened;
    load(&cluster, restore, image.plan.workers)?;
    check_contents(&cluster, &control.tables, &image.contents).expect("the rows are as before");
    Ok(())
}

#[test]
fn damaged_files_are_refused_by_name() {
    let count: u64 = std::env::var("DURABILITY_DAMAGES")
        .map_or(400, |text| text.parse().expect("DURABILITY_DAMAGES is a number of damages"));
    let images: Vec<Image> = (0..40).filter_map(image).take(12).collect();
    assert_eq!(images.len(), 12, "few lives make checkpoints");
    let mut dice = Dice(0xda3a);
    let mut refused = BTreeMap::new();
    for number in 0..count {
        let image = &images[(number % images.len() as u64) as usize];
        let harm = HARMS[dice.below(HARMS.len() as u64) as usize];
        let names = image.files.keys();
        let names = names.filter(|name| *name == CONTROL_NAME || is_checkpoint(name));
        let names: Vec<&String> = names.collect();
        let name = names[dice.below(names.len() as u64) as usize];
        let mut files = image.files.clone();
        if !damage(&mut files, name, harm, &mut dice) {
            continue;
        }
        let case = format!("damage {number}, {harm:?} of `{name}`, {:?}", image.plan);
        let disk = SimulatedDisk::with_files(DiskConfig::new(number), files);
        let error = restart(&disk, image).expect_err(&case);
        check_error(&error, name, harm, &case);
        *refused.entry(format!("{harm:?} {}", is_checkpoint(name))).or_insert(0) += 1;
        // The refusal has changed nothing but the log's start, so that the file can be replaced.
        disk.kill();
        let mut mended = disk.files();
        mended.insert(name.clone(), image.files[name].clone());
        let disk = SimulatedDisk::with_files(DiskConfig::new(number), mended);
        restart(&disk, image).unwrap_or_else(|error| panic!("{case}, mended: {error}"));
    }
    assert_eq!(refused.len(), 2 * HARMS.len(), "each harm of each kind of file: {refused:?}");
}

/// Checks that an error says which file is damaged.
fn check_error(error: &DurabilityError, name: &str, harm: Harm, case: &str) {
    let text = error.to_string();
    let is_control = name == CONTROL_NAME;
    match error {
        // Without a control file the other files show that the directory is not empty.
        DurabilityError::NotEmpty { .. } if is_control && matches!(harm, Harm::Remove) => {}
        DurabilityError::Damaged { .. } => assert!(text.contains(name), "{case}: {text}"),
        DurabilityError::Disk(_) if matches!(harm, Harm::Remove) => {
            assert!(text.contains(name), "{case}: {text}");
        }
        other => panic!("{case}: {other}"),
    }
}

#[test]
fn a_log_without_its_control_file_is_not_replaced() {
    let mut plan = quiet(3);
    let disk = SimulatedDisk::new(DiskConfig::new(3));
    let lived: Ledger = live(&disk, &plan, &mut Dice(3), &Contents::default()).expect("it works");
    assert!(!lived.commits.is_empty());
    disk.kill();
    let mut files = disk.files();
    files.remove(CONTROL_NAME).expect("there is a control file");
    let disk = SimulatedDisk::with_files(DiskConfig::new(3), files.clone());
    plan.life = 1;
    let opened = plan.begin(&disk, &mut Dice(1)).map(|_| ());
    let error = opened.expect_err("the log has commits").to_string();
    assert!(error.contains("log"), "{error}");
    assert_eq!(disk.files(), files, "nothing was changed");
}
