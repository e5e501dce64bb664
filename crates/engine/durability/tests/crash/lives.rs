//! Several lives of one database on one disk; between them the power fails.

use crate::ledger::{Contents, Ledger};
use crate::life::{Plan, live};
use crate::support::STORAGES;
use crate::support::mix::{Dice, Mix, SNAPSHOT, TIGHT};
use layout::IndexKind;
use sim::disk::{DiskConfig, DiskCoverage, SimulatedDisk};
use storage::PlantedBug;

const LIVES: u64 = 5;

fn mix(seed: u64) -> Mix {
    let base = if seed % 4 < 2 { TIGHT } else { SNAPSHOT };
    Mix {
        storage: STORAGES[(seed % 3) as usize],
        index: [None, Some(IndexKind::Hash), Some(IndexKind::Tree)][(seed / 3 % 3) as usize],
        has_notes: seed.is_multiple_of(2),
        transactions: 6,
        ..base
    }
}

/// Sums over the lives of a seed.
#[derive(Default)]
pub struct Sums {
    pub coverage: DiskCoverage,
    pub commits: usize,
    pub checkpoints: u64,
}

pub fn lives(seed: u64, planted: &[PlantedBug]) -> Result<Sums, String> {
    let config = DiskConfig { planted: planted.to_vec(), ..DiskConfig::new(seed) };
    let disk = SimulatedDisk::new(config);
    let (mut dice, mut contents) = (Dice(seed ^ 0x11fe), Contents::new());
    let (mut sums, mut ledger, mut was_killed) = (Sums::default(), Ledger::default(), false);
    for life in 0..LIVES {
        let plan = Plan {
            seed,
            life,
            mix: mix(seed),
            workers: 1 + dice.below(3),
            makes_checkpoints: dice.below(4) > 0,
            closes: dice.below(3) == 0,
        };
        let reach = [30, 100, 400][dice.below(3) as usize];
        if life + 1 < LIVES {
            disk.power_off_at(disk.operations() + 1 + dice.below(reach));
        }
        let lived = live(&disk, &plan, &mut dice, &contents)?;
        sums.commits += lived.commits.len();
        sums.checkpoints += lived.checkpoints;
        // An opening that did not end has decided nothing.
        let is_decided = lived.incarnation.is_none() && !was_killed;
        if lived.incarnation.is_some() {
            ledger = lived;
        }
        was_killed = dice.below(4) == 0;
        if was_killed {
            disk.kill()
        } else {
            disk.crash()
        }
        let settled = ledger.settle(&disk, dice.below(1 << 30));
        let settled = settled.map_err(|wrong| format!("after life {life}: {wrong}"))?;
        if is_decided && settled != contents {
            return Err(format!("life {life} did not end its start, and changed the contents"));
        }
        contents = settled;
        // The next start goes on with the log.
        ledger.was_closed = false;
    }
    sums.coverage = disk.coverage();
    Ok(sums)
}

#[test]
fn nothing_acknowledged_is_lost() {
    let seeds: u64 = std::env::var("DURABILITY_SEEDS")
        .map_or(60, |text| text.parse().expect("DURABILITY_SEEDS is a number of seeds"));
    let (mut commits, mut checkpoints) = (0, 0);
    for seed in 0..seeds {
        let sums = lives(seed, &[]).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        commits += sums.commits;
        checkpoints += sums.checkpoints;
    }
    eprintln!("{commits} commits, {checkpoints} checkpoints");
    assert!(commits as u64 > 5 * seeds && checkpoints > seeds / 4);
}
