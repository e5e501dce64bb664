//! Damaged control and checkpoint files after a clean close: each damage is refused with the name
//! of the file, none is read as data, and the directory opens again when the file is replaced.
//!
//! The gate takes 400 damages. For 100,000:
//! `DURABILITY_DAMAGES=100000 cargo test --release -p durability --test crash damage`

use crate::harm::{Files, HARMS, Harm, damage};
use crate::ledger::{Contents, Ledger};
use crate::life::{Plan, live};
use crate::lists::Lists;
use crate::lives::{plan, setting};
use crate::support::mix::Dice;
use durability::DurabilityError;
use durability::control::CONTROL_NAME;
use redo_log::OnDamage;
use sim::disk::{DiskConfig, SimulatedDisk};
use std::collections::BTreeMap;

/// A directory that was closed, with a checkpoint.
struct Image {
    plan: Plan,
    files: Files,
    contents: Contents,
    lists: Lists,
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
    let mut lists = Lists::default();
    let lived = live(&disk, &plan, &mut Dice(seed), &Contents::default(), &mut lists);
    let mut lived = lived.expect("the disk works");
    assert!(lived.was_closed, "nothing failed");
    disk.kill();
    let contents = lived.settle(&disk, seed).expect("everything was closed");
    let files = disk.files();
    // A file without rows is its header of 48 bytes.
    let has_rows = files.iter().any(|(name, bytes)| is_checkpoint(name) && bytes.len() > 48);
    plan.life = 1;
    has_rows.then_some(Image { plan, files, contents, lists })
}

fn is_checkpoint(name: &str) -> bool {
    name.starts_with("checkpoint-")
}

/// Opens and loads the directory on a disk, and compares the rows.
fn restart(disk: &SimulatedDisk, image: &Image) -> Result<(), DurabilityError> {
    let restarted = image.plan.restart(disk, &mut Dice(1), OnDamage::Refuse)?;
    let checked = restarted.check(&image.plan, &image.contents, image.lists.clone());
    checked.expect("the rows are as before");
    Ok(())
}

#[test]
fn damaged_files_are_refused_by_name() {
    let count = setting("DURABILITY_DAMAGES", 400);
    let first = setting("DURABILITY_FIRST_SEED", 0);
    let images: Vec<Image> = (0..40).filter_map(image).take(12).collect();
    assert_eq!(images.len(), 12, "few lives make checkpoints");
    let mut dice = Dice(0xda3a + first);
    let mut refused = BTreeMap::new();
    for number in 0..count {
        let image = &images[(number % images.len() as u64) as usize];
        let harm = HARMS[dice.below(HARMS.len() as u64) as usize];
        let names = image.files.keys();
        let names = names.filter(|name| *name == CONTROL_NAME || is_checkpoint(name));
        let names: Vec<&String> = names.collect();
        let name = names[dice.below(names.len() as u64) as usize];
        let mut files = image.files.clone();
        let at = dice.below(files[name].len() as u64) as usize;
        if !damage(&mut files, name, harm, at, &mut dice) {
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
    let (mut dice, contents) = (Dice(3), Contents::default());
    let lived = live(&disk, &plan, &mut dice, &contents, &mut Lists::default());
    let lived: Ledger = lived.expect("it works");
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
