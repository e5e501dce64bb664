//! Several lives of one database on one disk; between them the power fails.

use crate::indexes::Groups;
use crate::ledger::{Contents, Ledger};
use crate::life::{Plan, live};
use crate::lists::Lists;
use crate::losses::{Crashed, Damages, Place, Verdict};
use crate::support::STORAGES;
use crate::support::mix::{Dice, Mix, SNAPSHOT, TIGHT};
use layout::IndexKind;
use redo_log::OnDamage;
use sim::Interval;
use sim::disk::{DiskConfig, DiskCoverage, DiskFault, SimulatedDisk, Sync};
use std::fmt;
use storage::PlantedBug;
use txn::{Isolation, Oracle};

/// Seeds, in multiples of those wanted, until each fault must have had an effect.
const MORE: u64 = 8;

/// Lives of a seed.
const LIVES: u64 = 5;

fn mix(seed: u64) -> Mix {
    let base = if seed % 4 < 2 { TIGHT } else { SNAPSHOT };
    Mix {
        storage: STORAGES[(seed % 3) as usize],
        index: [None, Some(IndexKind::Hash), Some(IndexKind::Tree)][(seed / 3 % 3) as usize],
        has_notes: seed.is_multiple_of(2),
        notes_in_row: [None, Some(150), None, Some(41)][(seed / 2 % 4) as usize],
        isolation: if seed % 5 == 3 { Isolation::Serializable } else { Isolation::Snapshot },
        shares_slot: seed % 7 == 3,
        transactions: 6,
        ..base
    }
}

pub fn groups(seed: u64) -> Groups {
    match seed % 8 {
        0..3 => Groups::Shared,
        6.. if mix(seed).index.is_some() => Groups::Unique,
        _ => Groups::Own,
    }
}

pub fn plan(seed: u64, life: u64, is_fast: bool, dice: &mut Dice) -> Plan {
    Plan {
        seed,
        life,
        mix: mix(seed),
        groups: groups(seed),
        workers: 1 + dice.below(3),
        pause_ns: if is_fast { 1_000 } else { [20_000, 300_000][dice.below(2) as usize] },
        makes_checkpoints: dice.below(4) > 0,
        changes_catalog: dice.below(2) == 0,
        fills_disk: dice.below(4) == 0,
        copies: dice.below(4) == 0,
        fails_sync: dice.below(8) == 0,
        closes: dice.below(3) == 0,
    }
}

/// Sums over lives.
#[derive(Default)]
pub struct Sums {
    coverage: DiskCoverage,
    commits: u64,
    reads: u64,
    copies: u64,
    checkpoints: u64,
    changes: u64,
    refusals: u64,
    /// Transactions that the judge has decided on.
    judged: u64,
    damages: Damages,
    /// Directories that live on after a loss.
    losses: u64,
}

impl Sums {
    /// The kinds of faults of the disk that had no effect.
    fn missing(&self) -> Vec<DiskFault> {
        self.coverage.missing()
    }

    fn add(&mut self, life: &Ledger) {
        self.commits += life.commits.len() as u64;
        self.reads += life.reads.len() as u64;
        self.copies += life.copies.len() as u64;
        self.checkpoints += life.checkpoints;
        self.changes += life.changes;
        self.refusals += life.refusals;
    }
}

impl fmt::Display for Sums {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { commits, reads, copies, checkpoints, changes, refusals, judged, .. } = self;
        writeln!(
            formatter,
            "commits {commits}, reads {reads}, copies {copies}, checkpoints {checkpoints}, changes \
             of the catalog {changes}, refusals {refusals}, judged transactions {judged}"
        )?;
        let faults = DiskFault::ALL.map(|fault| format!("{fault} {}", self.coverage.of(fault)));
        writeln!(formatter, "faults: {}", faults.join(", "))?;
        let Damages { dropped_indexes, interrupted, .. } = &self.damages;
        writeln!(
            formatter,
            "damages, {dropped_indexes} indexes dropped, {interrupted} losses accepted again after \
             a crash, {} directories live on:\n{}",
            self.losses,
            self.damages.report()
        )
    }
}

/// A directory from life to life.
struct Lived {
    disk: SimulatedDisk,
    config: DiskConfig,
    contents: Contents,
    /// The lives that have begun a start of the log, by rising incarnations.
    ledgers: Vec<Ledger>,
    lists: Lists,
}

impl Lived {
    /// Opens copies of the directory: those that were made in this life, and one of what the crash
    /// has left.
    fn check_copies(&self, life: &Ledger, plan: &Plan, dice: &mut Dice) -> Result<(), String> {
        for copy in &life.copies {
            let (contents, end) = life.contents_of_copy(copy, dice.below(1 << 30))?;
            let mut lists = self.lists.clone();
            lists.lose(&end);
            let restarted = plan.restart(copy, dice, OnDamage::Refuse);
            restarted.map_err(|error| error.to_string())?.check(plan, &contents, lists)?;
        }
        Ok(())
    }

    /// Damages copies of the directory. It may live on as one whose loss was accepted.
    fn damage(&mut self, plan: &Plan, dice: &mut Dice, sums: &mut Sums) -> Result<(), String> {
        let mut accepted = None;
        for _ in 0..dice.below(4) {
            let Self { disk, config, contents, ledgers, lists } = &*self;
            let crashed = Crashed { disk, config, plan, ledgers, contents, lists };
            accepted = accepted.or(crashed.damage(dice, &mut sums.damages)?);
        }
        if let Some(accepted) = accepted.filter(|_| dice.below(3) == 0) {
            sums.coverage.add(&self.disk.coverage());
            sums.losses += 1;
            self.lists.lose(&accepted.end);
            self.ledgers.retain(|life| {
                accepted.end.as_ref().is_some_and(|(last, _)| life.incarnation <= Some(*last))
            });
            if let (Some(life), Some((_, end))) = (self.ledgers.last_mut(), &accepted.end) {
                life.forgive(accepted.group, end.counters(), &accepted.contents);
            }
            (self.disk, self.contents) = (accepted.disk, accepted.contents);
        }
        Ok(())
    }
}

/// The lives of a seed. An error is a promise that was broken.
pub fn lives(seed: u64, planted: &[PlantedBug], sums: &mut Sums) -> Result<(), String> {
    let is_fast = seed % 5 < 2;
    let mut config = DiskConfig { planted: planted.to_vec(), ..DiskConfig::new(seed) };
    if is_fast {
        // Commits are published over several groups.
        config.operation_ns = Interval::new(50, 1_000);
    }
    let disk = SimulatedDisk::new(config.clone());
    let (contents, ledgers, lists) = (Contents::default(), Vec::new(), Lists::default());
    let mut lived = Lived { disk, config, contents, ledgers, lists };
    let (mut dice, mut was_killed) = (Dice(seed ^ 0x11fe), false);
    for life in 0..LIVES {
        let plan = plan(seed, life, is_fast, &mut dice);
        let Lived { disk, contents, lists, .. } = &mut lived;
        let reach = [30, 100, 400][dice.below(3) as usize] * if is_fast { 4 } else { 1 };
        if life + 1 < LIVES {
            match dice.below(6) {
                0 | 1 => disk.power_off_in_sync(Sync::File, dice.below(reach / 3)),
                2 => disk.power_off_in_sync(Sync::Rename, dice.below(3)),
                _ => disk.power_off_at(disk.operations() + 1 + dice.below(reach)),
            }
        }
        if plan.fails_sync {
            disk.fail_sync_after(dice.below(60));
        }
        let ledger = live(disk, &plan, &mut dice, contents, lists)?;
        let checks = Plan { life: life + LIVES, ..plan };
        lived
            .check_copies(&ledger, &checks, &mut dice)
            .map_err(|wrong| format!("a copy of life {life}: {wrong}"))?;
        sums.add(&ledger);
        // An opening that did not end has decided nothing.
        let is_decided = ledger.incarnation.is_none() && !was_killed;
        if ledger.incarnation.is_some() {
            lived.ledgers.push(ledger);
        }
        was_killed = dice.below(4) == 0;
        if was_killed {
            lived.disk.kill()
        } else {
            lived.disk.crash()
        }
        let mut unborn = Ledger::default();
        let last = lived.ledgers.last_mut().unwrap_or(&mut unborn);
        let settled = last.settle(&lived.disk, dice.below(1 << 30));
        let settled = settled.map_err(|wrong| format!("after life {life}: {wrong}"))?;
        if is_decided && settled != lived.contents {
            return Err(format!("life {life} did not end its start, and changed the contents"));
        }
        // The next start goes on with the log.
        last.was_closed = false;
        lived.contents = settled;
        lived
            .damage(&checks, &mut dice, sums)
            .map_err(|wrong| format!("after life {life}: {wrong}"))?;
    }
    sums.judged += lived.lists.count();
    sums.coverage.add(&std::mem::take(&mut sums.damages.coverage));
    sums.coverage.add(&lived.disk.coverage());
    Ok(())
}

/// A number from the environment, for runs that are longer than the gate's.
pub fn setting(name: &str, usual: u64) -> u64 {
    let text = std::env::var(name);
    text.map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

#[test]
fn nothing_acknowledged_is_lost() {
    let (seeds, first) = (setting("DURABILITY_SEEDS", 60), setting("DURABILITY_FIRST_SEED", 0));
    let (mut sums, mut seed) = (Sums::default(), first);
    // A few seeds may lack a rare fault, and get more.
    while seed < first + seeds || seed < first + MORE * seeds && !sums.missing().is_empty() {
        lives(seed, &[], &mut sums).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
        seed += 1;
    }
    eprintln!("seeds {first}..{seed}: {sums}");
    let Sums { commits, reads, copies, checkpoints, changes, refusals, judged, .. } = sums;
    assert!(commits > 10 * seeds && reads > 10 * seeds, "{commits} commits, {reads} reads");
    assert!(judged > 10 * seeds, "{judged} transactions on lists");
    let rest = [copies, checkpoints, changes, refusals];
    assert!(rest.iter().all(|&count| count > seeds), "{rest:?}");
    assert_eq!(sums.missing(), [], "each fault had an effect");
    for place in [Place::Control, Place::Checkpoint, Place::BeforeMarker, Place::BehindMarker] {
        let refused =
            |_, at, verdict| at == place && matches!(verdict, Verdict::Accepted | Verdict::Final);
        assert!(sums.damages.of(refused) > 0, "{place:?} was not refused");
    }
    let cut = sums.damages.of(|_, _, verdict| verdict == Verdict::Cut);
    assert!(cut > 0 && sums.losses > 0, "{cut} groups cut, {} losses", sums.losses);
    assert!(sums.damages.interrupted > 0, "no accepted loss was interrupted");
}

/// Frozen vectors may lack what was published before.
#[test]
fn a_database_whose_snapshots_may_be_old_is_refused() {
    let (mut dice, contents) = (Dice(1), Contents::default());
    let plan = plan(1, 0, false, &mut dice);
    let plan = Plan { mix: Mix { oracle: Oracle::Frozen, ..plan.mix }, ..plan };
    let disk = SimulatedDisk::new(DiskConfig::new(1));
    let refused = live(&disk, &plan, &mut dice, &contents, &mut Lists::default()).map(drop);
    assert!(refused.is_err_and(|reason| reason.contains("choose the oracle double-collect")));
}
