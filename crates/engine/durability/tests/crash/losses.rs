//! Damaged files between a crash and the next opening: each damage is repaired or refused by name,
//! and none is read as data. A refused directory is opened again with the loss accepted: then it is
//! the history at the last group that the loss names, so that nothing depends on what is gone.
//!
//! ```text
//! the damage is in                       it may be
//! a control or checkpoint file           refused
//! the log before its marker              refused; accepted, unless the newest checkpoint needs it
//! the log behind its marker              likewise, or cut: the newest group is gone
//! a closed log                           refused; not if the power failed while it was closed
//! bytes that no restart reads            without effect
//! ```

use crate::harm::{HARMS, Harm, damage};
use crate::ledger::{Contents, DATABASE, Ledger, snapshot, survey};
use crate::life::{Plan, Restarted};
use crate::lists::{End, Lists};
use crate::support::history::State;
use crate::support::mix::Dice;
use durability::control::CONTROL_NAME;
use durability::{AcceptedLoss, Control, DurabilityError};
use fabric::run_now;
use redo_log::inspect::Content;
use redo_log::marker::{Marker, State as MarkerState};
use redo_log::segment::{BLOCKS, Header, MARKERS};
use redo_log::{LogError, OnDamage, Survey, file_name, segment_of};
use sim::disk::{DiskConfig, DiskCoverage, SimulatedDisk};
use std::collections::BTreeMap;
use storage::Directory;

/// A directory after a crash.
pub struct Crashed<'a> {
    pub disk: &'a SimulatedDisk,
    pub config: &'a DiskConfig,
    pub plan: &'a Plan,
    /// The lives before, by rising incarnations.
    pub ledgers: &'a [Ledger],
    pub contents: &'a Contents,
    pub lists: &'a Lists,
}

/// A directory whose loss was accepted.
pub struct Accepted {
    pub disk: SimulatedDisk,
    pub contents: Contents,
    /// The number of its last group.
    pub group: u64,
    pub end: End,
}

/// A place of a damage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    Control,
    Checkpoint,
    BeforeMarker,
    BehindMarker,
    /// A segment without commits, of a start that was interrupted.
    NextSegment,
    /// No restart reads it.
    Unused,
}

/// The result of a damage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    Harmless,
    /// It looks like a torn end, and the newest group is gone.
    Cut,
    Accepted,
    /// No loss can be accepted.
    Final,
}

/// Counts of damages.
#[derive(Clone, Default, Debug)]
pub struct Damages {
    counts: BTreeMap<(Harm, Place, Verdict), u64>,
    pub coverage: DiskCoverage,
    pub dropped_indexes: u64,
    /// Acceptances in which the power failed.
    pub interrupted: u64,
}

impl Damages {
    pub fn of(&self, is_wanted: impl Fn(Harm, Place, Verdict) -> bool) -> u64 {
        let wanted = self
            .counts
            .iter()
            .filter(|&(&(harm, place, verdict), _)| is_wanted(harm, place, verdict));
        wanted.map(|(_, count)| count).sum()
    }

    /// The counts of each place and verdict, and those of flipped bits.
    pub fn report(&self) -> String {
        let mut lines = String::new();
        for place in [
            Place::Control,
            Place::Checkpoint,
            Place::BeforeMarker,
            Place::BehindMarker,
            Place::NextSegment,
            Place::Unused,
        ] {
            let count = |verdict, only_flips: bool| {
                self.of(|harm, at, then| {
                    at == place && then == verdict && (!only_flips || harm == Harm::Flip)
                })
            };
            let verdicts = [Verdict::Harmless, Verdict::Cut, Verdict::Accepted, Verdict::Final];
            let all: Vec<String> = verdicts
                .into_iter()
                .map(|verdict| {
                    let (all, flips) = (count(verdict, false), count(verdict, true));
                    format!("{verdict:?} {all} (flips {flips})")
                })
                .collect();
            lines += &format!("  {place:?}: {}\n", all.join(", "));
        }
        lines
    }
}

/// A damage that was chosen.
struct Chosen {
    name: String,
    harm: Harm,
    at: u64,
    place: Place,
}

impl Crashed<'_> {
    /// Damages a copy of the directory and opens it. Returns the copy if its loss was accepted.
    pub fn damage(
        &self,
        dice: &mut Dice,
        damages: &mut Damages,
    ) -> Result<Option<Accepted>, String> {
        let surveyed = survey(self.disk, dice.below(1 << 30)).map_err(|error| error.to_string())?;
        let Some((control, before)) = surveyed else { return Ok(None) };
        let mut files = self.disk.files();
        let Some(chosen) = self.choose(&control, &before, dice) else { return Ok(None) };
        let Chosen { name, harm, at, place } = chosen;
        let config = DiskConfig { seed: dice.below(1 << 30), ..self.config.clone() };
        let is_direct = matches!(harm, Harm::Flip | Harm::Cut);
        if !is_direct && !damage(&mut files, &name, harm, at as usize, dice) {
            return Ok(None);
        }
        let disk = SimulatedDisk::with_files(config, files);
        match harm {
            Harm::Flip => disk.flip(&name, 8 * at + dice.below(8)),
            Harm::Cut => disk.cut(&name, at),
            _ => {}
        }
        let told = |wrong| format!("{harm:?} of `{name}` at byte {at} ({place:?}): {wrong}");
        let case = Case { crashed: self, control, before, name: &name, harm, at, place, disk };
        let (verdict, accepted) = case.open(dice, damages).map_err(told)?;
        *damages.counts.entry((harm, place, verdict)).or_insert(0) += 1;
        Ok(accepted)
    }

    /// Half of the damages are in the log, and most of those are flipped bits of written bytes.
    fn choose(&self, control: &Control, before: &Survey, dice: &mut Dice) -> Option<Chosen> {
        let files = self.disk.files();
        let is_log = dice.below(3) > 0;
        let is_wanted = |(name, bytes): &(&String, &Vec<u8>)| {
            !bytes.is_empty() && (!is_log || segment_of(name).is_some())
        };
        let names: Vec<&String> = files.iter().filter(is_wanted).map(|(name, _)| name).collect();
        let name = names.get(dice.below(names.len().max(1) as u64) as usize)?.to_string();
        let harm = match dice.below(2) {
            0 => Harm::Flip,
            _ => HARMS[dice.below(HARMS.len() as u64) as usize],
        };
        let bytes = &files[&name];
        let used = bytes.len() - bytes.iter().rev().take_while(|&&byte| byte == 0).count();
        let limit = if dice.below(8) > 0 { used } else { bytes.len() };
        let from = if is_log && dice.below(4) > 0 { BLOCKS.min(limit as u64 / 2) } else { 0 };
        let at = from + dice.below((limit as u64 - from).max(1));
        let at = at.min(bytes.len() as u64 - 1);
        let place = place(control, before, &name, at);
        Some(Chosen { name, harm, at, place })
    }

    /// The contents at a group of the log, and that group.
    fn at(
        &self,
        control: &Control,
        before: &Survey,
        group: u64,
    ) -> Result<(Contents, End), String> {
        if group == before.last_number()
            && let Some(last) = before.last_group()
        {
            let end = (last.record.incarnation, snapshot(&last.record.counters));
            return Ok((self.contents.clone(), Some(end)));
        }
        let life = self.ledgers.iter().rev().find(|life| life.groups.contains_key(&group));
        match life {
            Some(life) => {
                let counters = &life.groups[&group];
                let incarnation = life.incarnation.expect("it has groups");
                let contents = life.contents(control, Some(counters))?;
                Ok((contents, Some((incarnation, snapshot(counters)))))
            }
            None if group == 0 => Ok((Ledger::default().contents(control, None)?, None)),
            None => Err(format!("nobody has seen group {group}")),
        }
    }
}

fn place(control: &Control, before: &Survey, name: &str, at: u64) -> Place {
    if name == CONTROL_NAME {
        return Place::Control;
    }
    let Some(segment) = segment_of(name) else {
        let checkpoint = control.checkpoint.as_ref();
        let mut tables = checkpoint.iter().flat_map(|checkpoint| {
            let of_table =
                |table: u32| format!("checkpoint-{:010}-table-{table:010}", checkpoint.number);
            let files = checkpoint.files.iter().map(|file| file.table);
            files.filter(|&table| control.table(table).is_some()).map(of_table)
        });
        return if tables.any(|file| file == name) { Place::Checkpoint } else { Place::Unused };
    };
    match before.segments().find(|info| info.segment == segment) {
        None if segment > before.end().segment => Place::NextSegment,
        None => Place::Unused,
        Some(info) if at < info.synced => Place::BeforeMarker,
        Some(_) => Place::BehindMarker,
    }
}

/// The unique indexes that were created behind a group.
fn later_indexes(control: &Control, group: u64) -> Vec<(String, String)> {
    let later = control.tables.iter().flat_map(|table| {
        let later = table.unique_since.iter().filter(move |&(_, &since)| since > group);
        later.map(|(index, _)| (table.name.clone(), index.clone()))
    });
    later.collect()
}

/// A directory with a damage.
struct Case<'a> {
    crashed: &'a Crashed<'a>,
    /// As they were.
    control: Control,
    before: Survey,
    name: &'a str,
    harm: Harm,
    at: u64,
    place: Place,
    disk: SimulatedDisk,
}

impl Case<'_> {
    fn open(
        self,
        dice: &mut Dice,
        damages: &mut Damages,
    ) -> Result<(Verdict, Option<Accepted>), String> {
        let Crashed { plan, .. } = self.crashed;
        let opened = plan.restart(&self.disk, dice, OnDamage::Refuse);
        damages.coverage.add(&self.disk.coverage());
        let error = match opened {
            Ok(restarted) => return Ok((self.opened(&restarted)?, None)),
            Err(error) => error,
        };
        self.check_name(&error)?;
        self.disk.kill();
        let damaged = self.disk.files();
        let is_interrupted = dice.below(3) == 0;
        if is_interrupted {
            self.disk.power_off_at(self.disk.operations() + 1 + dice.below(16));
            // It may have ended before.
            let _ = plan.restart(&self.disk, dice, OnDamage::AcceptLoss);
            damages.interrupted += u64::from(!self.disk.has_power());
            self.disk.crash();
        }
        let restarted = match plan.restart(&self.disk, dice, OnDamage::AcceptLoss) {
            Ok(restarted) => restarted,
            Err(error) => return self.refused(&error).map(|()| (Verdict::Final, None)),
        };
        match &restarted.loss {
            Some(loss) if !is_interrupted => self.check_report(&restarted, loss, &damaged)?,
            None if !is_interrupted => return Err("no loss is reported".to_owned()),
            // The first time may have reported and settled everything.
            _ => {}
        }
        let loss = restarted.loss.as_ref();
        damages.dropped_indexes += loss.map_or(0, |loss| loss.dropped_indexes.len() as u64);
        Ok((Verdict::Accepted, Some(self.accepted(&restarted)?)))
    }

    /// Checks a directory that has opened: it has all its contents, or the newest group of an open
    /// log is gone.
    fn opened(&self, restarted: &Restarted) -> Result<Verdict, String> {
        let Crashed { plan, lists, .. } = self.crashed;
        let (found, last) = (restarted.last_group, self.before.last_number());
        let is_used = !matches!(self.place, Place::Unused | Place::NextSegment);
        if self.was_closed() && is_used {
            return Err("a closed directory was opened".to_owned());
        }
        if self.place == Place::Control && self.harm == Harm::Remove {
            return self.created(restarted);
        }
        if found == last {
            restarted.check(plan, self.crashed.contents, (*lists).clone())?;
            return Ok(Verdict::Harmless);
        }
        // A crash may have lost the marker that came with the newest group. Flipped bits of the one
        // before are noticed nevertheless, but nothing shows that a file had another length.
        let least = if self.harm == Harm::Flip { last - 1 } else { self.groups_before_marker() };
        if self.place != Place::BehindMarker || found < least {
            return Err(format!("group {found} is the last one, it was {last}"));
        }
        let (contents, end) = self.crashed.at(&restarted.control, &self.before, found)?;
        let mut lists = (*lists).clone();
        lists.lose(&end);
        restarted.check(plan, &contents, lists)?;
        Ok(Verdict::Cut)
    }

    /// Whether both markers of the last segment say that it was closed. If the power fails between
    /// their sectors, the other marker is that of the open segment, and valid without this one.
    fn was_closed(&self) -> bool {
        let last = self.before.segments().last().expect("the log has a segment");
        let bytes = &self.crashed.disk.files()[&file_name(last.segment)];
        let seed = Header::decode(bytes).expect("the segment was surveyed").seed();
        let is_closed = |at: u64| {
            let marker = Marker::decode(&bytes[at as usize..], seed);
            marker.is_some_and(|marker| marker.state == MarkerState::Closed)
        };
        MARKERS.into_iter().all(is_closed)
    }

    /// Checks a directory whose control file is gone. Without commits, it looks like one whose
    /// creation was interrupted.
    fn created(&self, restarted: &Restarted) -> Result<Verdict, String> {
        let is_new = restarted.control.tables.is_empty() && restarted.last_group == 0;
        match is_new && self.crashed.contents.rows.values().all(State::is_empty) {
            true => Ok(Verdict::Harmless),
            false => Err("a directory without a control file was opened".to_owned()),
        }
    }

    /// Checks that the first refusal names the file. A wrong length or end of a segment may only
    /// show at the one behind it.
    fn check_name(&self, error: &DurabilityError) -> Result<(), String> {
        let text = error.to_string();
        let next = segment_of(self.name).map(|segment| file_name(segment + 1));
        let is_named = text.contains(self.name)
            || next.is_some_and(|next| text.contains(&next))
            || matches!(error, DurabilityError::NotEmpty { .. }) && self.place == Place::Control;
        let is_expected = match error {
            DurabilityError::Damaged { .. } => self.place != Place::Unused,
            DurabilityError::Log(LogError::Damaged(_)) => self.place != Place::Unused,
            DurabilityError::NotEmpty { .. } | DurabilityError::Log(LogError::Exists { .. }) => {
                self.harm == Harm::Remove && self.place == Place::Control
            }
            DurabilityError::Disk(_) => self.harm == Harm::Remove,
            _ => false,
        };
        let is_log_without_control = matches!(error, DurabilityError::Log(LogError::Exists { .. }));
        match is_expected && (is_named || is_log_without_control) {
            true => Ok(()),
            false => Err(format!("an unexpected refusal: {text}")),
        }
    }

    /// Checks that a loss could not be accepted: of a file that is not the log, of the page that
    /// begins it, or of what the newest checkpoint needs.
    fn refused(&self, error: &DurabilityError) -> Result<(), String> {
        let first = self.control.replay_from().segment;
        let is_expected = match error {
            _ if matches!(self.place, Place::Control | Place::Checkpoint) => true,
            DurabilityError::Log(LogError::Damaged(damage)) if damage.is_acceptable() => {
                damage.path.contains(&file_name(first)) && damage.offset < BLOCKS
            }
            DurabilityError::Log(LogError::Damaged(damage)) => {
                damage.last_group < self.control.needed_group()
            }
            _ => false,
        };
        let refused = || Err(format!("the loss is refused: {error}"));
        if is_expected { Ok(()) } else { refused() }
    }

    /// Checks the report of a loss: the last group, the files that were renamed, and the unique
    /// indexes that are gone.
    fn check_report(
        &self,
        restarted: &Restarted,
        loss: &AcceptedLoss,
        damaged: &BTreeMap<String, Vec<u8>>,
    ) -> Result<(), String> {
        let group = restarted.last_group;
        let told = |wrong: String| format!("{wrong}; reported: {loss}");
        if loss.log.damage.last_group != group {
            return Err(told(format!("the log ends with group {group}")));
        }
        for (from, to) in &loss.log.renamed {
            if self.disk.read(to).as_ref() != damaged.get(from) {
                return Err(told(format!("`{to}` is not what `{from}` was")));
            }
        }
        let gone = later_indexes(&self.control, group);
        if loss.dropped_indexes != gone {
            return Err(told(format!("indexes that must be gone: {gone:?}")));
        }
        Ok(())
    }

    /// Checks a directory whose loss was accepted.
    fn accepted(&self, restarted: &Restarted) -> Result<Accepted, String> {
        let group = restarted.last_group;
        let told = |wrong: String| format!("{wrong}; reported: {:?}", restarted.loss);
        let kept = self.groups_before_damage();
        if group < kept || group > self.before.last_number() {
            return Err(told(format!("group {group} is the last one, group {kept} was intact")));
        }
        if !later_indexes(&restarted.control, group).is_empty() {
            return Err(told("an index is newer than the log".to_owned()));
        }
        let (contents, end) =
            self.crashed.at(&restarted.control, &self.before, group).map_err(told)?;
        let mut lists = self.crashed.lists.clone();
        lists.lose(&end);
        restarted.check(self.crashed.plan, &contents, lists).map_err(told)?;
        self.disk.kill();
        Ok(Accepted { disk: self.disk.clone(), contents, group, end })
    }

    /// The last group whose bytes are all before the damage.
    fn groups_before_damage(&self) -> u64 {
        let Some(damaged) = segment_of(self.name) else { return 0 };
        let at = if matches!(self.harm, Harm::Flip | Harm::Replace) { self.at } else { 0 };
        self.groups_before(damaged, at)
    }

    /// The last group that the newest marker vouches for.
    fn groups_before_marker(&self) -> u64 {
        let last = self.before.segments().last().expect("the log has a segment");
        self.groups_before(last.segment, last.synced)
    }

    fn groups_before(&self, segment: u64, at: u64) -> u64 {
        let fork = self.crashed.disk.fork(1);
        let directory = Directory::read_only(fork.access());
        let mut last = 0;
        for (index, info) in self.before.segments().enumerate() {
            let blocks = run_now(self.before.blocks(&directory, DATABASE, index));
            for block in blocks.expect("the disk works") {
                let is_before = (info.segment, block.offset + block.bytes) <= (segment, at);
                if is_before && matches!(block.content, Content::Group(_)) {
                    last = last.max(block.group);
                }
            }
        }
        last
    }
}
