//! One life of a database: its directory is opened and loaded, sessions run, and it ends.

use crate::indexes::{Groups, check_indexes, check_uniqueness};
use crate::ledger::{Contents, DATABASE, Ledger, SEGMENT_BYTES};
use crate::lists::{self, Lists};
use crate::machine::Machine;
use crate::support::cluster::Cluster;
use crate::support::history::{shared_groups, violations};
use crate::support::mix::{Dice, Mix};
use crate::support::program::{KEY_MAX, Program, Step, Tables, execute};
use durability::control::StoredTable;
use durability::{
    AcceptedLoss, Control, DurabilityError, Flusher, OpenOptions, Opened, Phase, Restore,
    open_directory,
};
use fabric::{DynEnv, Env};
use redo_log::{Incarnation, OnDamage};
use sim::disk::{DiskAccess, SimulatedDisk};
use sim::{Carrier, SimConfig, World};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use storage::Directory;
use txn::server::services;
use txn::{Database, DatabaseConfig, Isolation, Outcome, TableId};

/// Words of each memory server: room for [`TABLES_MAX`](crate::changes::TABLES_MAX) tables. Each
/// takes up to 640 KiB when three workers load it, because each worker takes extents of its own.
const SERVER_WORDS: u64 = 1 << 19;

/// Longest time of a transaction.
const TRANSACTION_NS: u64 = 2_000_000;

/// The choices of a life, besides its programs.
#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    /// Counted from 0.
    pub life: u64,
    pub mix: Mix,
    pub groups: Groups,
    /// Tasks that load rows.
    pub workers: u64,
    /// Longest pause between groups.
    pub pause_ns: u64,
    pub makes_checkpoints: bool,
    pub changes_catalog: bool,
    pub fills_disk: bool,
    /// Whether the directory is copied.
    pub copies: bool,
    /// Whether a sync fails.
    pub fails_sync: bool,
    pub closes: bool,
}

/// A directory that was opened in a new world, and an empty database in the world's memory.
pub struct Begun {
    pub cluster: Cluster,
    pub directory: Directory<DiskAccess>,
    pub opened: Opened<DiskAccess>,
}

impl Plan {
    fn world(&self) -> World {
        let carrier = [Carrier::Card, Carrier::Caller, Carrier::Server][(self.seed % 3) as usize];
        let config = SimConfig::hostile(self.seed * 16 + self.life)
            .named(format!("{self:?}"))
            .carried_by(carrier)
            .with_servers(&vec![SERVER_WORDS; 1 + (self.seed / 3 % 2) as usize]);
        World::new(config)
    }

    pub fn begin(&self, disk: &SimulatedDisk, dice: &mut Dice) -> Result<Begun, DurabilityError> {
        self.begin_with(disk, dice, OnDamage::Refuse)
    }

    fn begin_with(
        &self,
        disk: &SimulatedDisk,
        dice: &mut Dice,
        on_damage: OnDamage,
    ) -> Result<Begun, DurabilityError> {
        let world = self.world();
        let nodes = world.serve(services);
        let admin = world.endpoint(world.compute_node(0));
        let (access, env) = (disk.access_on(&admin), admin.clone().into_dyn());
        let segment_bytes = Some(SEGMENT_BYTES);
        let options = OpenOptions { segment_bytes, on_damage, ..OpenOptions::new(DATABASE) };
        let mut config = self.mix.database(dice);
        // Changes of the catalog wait this long for lanes that wait for the disk.
        config.transaction_time_max_ns = config.transaction_time_max_ns.min(TRANSACTION_NS);
        let (directory, opened, database) = world.block_on(&admin, async {
            let directory = Directory::open(access).await?;
            let opened = open_directory(&directory, options).await?;
            let config = DatabaseConfig { first_counter: opened.first_counter, ..config };
            let database = Database::create(env, nodes, config).await?;
            Ok::<_, DurabilityError>((directory, opened, database))
        })?;
        let cluster = Cluster { world, database, admin, has_collector: false, fetches: false };
        Ok(Begun { cluster, directory, opened })
    }
}

/// Creates the tables and loads their rows, by several tasks.
pub fn load(
    cluster: &Cluster,
    restore: Restore<DiskAccess>,
    workers: u64,
) -> Result<(), DurabilityError> {
    cluster.admin(restore.create_tables(&cluster.database))?;
    let restore = Rc::new(restore);
    for phase in Phase::ALL {
        let (working, failed) = (Rc::new(Cell::new(workers)), Rc::new(RefCell::new(None)));
        for worker in 0..workers {
            let database = cluster.compute(worker as u16);
            let (restore, working, failed) = (restore.clone(), working.clone(), failed.clone());
            cluster.world.spawn_on(&database.env().clone(), async move {
                if let Err(error) = restore.work(&database, phase).await {
                    *failed.borrow_mut() = Some(error);
                }
                working.set(working.get() - 1);
            });
        }
        cluster.admin(async {
            while working.get() > 0 {
                cluster.database.env().sleep_ns(10_000).await;
            }
        });
        if let Some(error) = failed.take() {
            return Err(error);
        }
    }
    let (done, all) = restore.progress();
    assert_eq!(done, all, "a restart ends when all rows and entries are done");
    Ok(())
}

/// The table with its index, for programs.
pub fn tables(database: &Database<DynEnv>, stored: &StoredTable) -> Tables {
    let table = TableId(stored.number);
    let schema = database.schema(table).expect("it was created");
    let has_notes = !schema.long_columns().is_empty();
    let by_group = database.index(&stored.name, "by_group");
    let keeps_leaves = database.root().config.keeps_leaves;
    Tables { table, by_group, storage: stored.design.storage, has_notes, keeps_leaves }
}

/// Reads everything, by key, in a scan and through the index.
fn reading_all(tables: Tables) -> Program {
    let mut steps = vec![Step::ReadMany((0..=KEY_MAX).collect()), Step::Scan(0, KEY_MAX)];
    if tables.by_group.is_some() {
        steps.extend((0..=i64::from(KEY_MAX)).map(Step::Lookup));
    }
    Program { retries: 1000, ..Program::new(990, Isolation::Snapshot, steps) }
}

/// Compares the rows in memory with those that the directory has, and checks the structures.
pub fn check_contents(
    cluster: &Cluster,
    stored: &[StoredTable],
    contents: &Contents,
) -> Result<(), String> {
    let numbers: Vec<u32> = stored.iter().map(|table| table.number).collect();
    if !numbers.iter().eq(contents.rows.keys()) {
        return Err(format!("tables {numbers:?}, expected {:?}", contents.rows.keys()));
    }
    let mut lane = cluster.lane();
    let expected = Ledger::of(contents).histories;
    let expected = stored.iter().zip(expected.into_values());
    for (stored, mut history) in expected.filter(|(stored, _)| stored.name != lists::TABLE) {
        let tables = tables(&cluster.database, stored);
        let program = reading_all(tables);
        let read = (0..program.retries).find_map(|_| {
            let execution = cluster.admin(execute(&mut lane, tables, 0, &program));
            (execution.outcome == Outcome::Committed).then_some(execution)
        });
        history.push(read.ok_or("a restarted database cannot be read")?);
        if let Some(wrong) = violations(&history).into_iter().next() {
            return Err(format!("after a restart, table {}: {wrong}", stored.name));
        }
        check_indexes(cluster, &mut lane, stored, &contents.rows[&stored.number])
            .map_err(|wrong| format!("after a restart: {wrong}"))?;
    }
    let report = cluster.admin(cluster.database.check()).map_err(|error| error.to_string())?;
    match report.defects().into_iter().next() {
        Some(error) => Err(format!("after a restart: {error}")),
        None => Ok(()),
    }
}

/// A directory that was opened and loaded, for checks only.
pub struct Restarted {
    cluster: Cluster,
    pub control: Control,
    incarnation: Incarnation,
    /// The number of the log's last group.
    pub last_group: u64,
    pub loss: Option<AcceptedLoss>,
}

impl Plan {
    /// Opens a directory and loads its rows.
    pub fn restart(
        &self,
        disk: &SimulatedDisk,
        dice: &mut Dice,
        on_damage: OnDamage,
    ) -> Result<Restarted, DurabilityError> {
        let Begun { cluster, opened, .. } = self.begin_with(disk, dice, on_damage)?;
        let Opened { control, log, restore, loss, .. } = opened;
        load(&cluster, restore, self.workers)?;
        let (incarnation, last_group) = (log.incarnation(), log.last_group());
        Ok(Restarted { cluster, control, incarnation, last_group, loss })
    }
}

impl Restarted {
    /// Checks that the directory has these contents and lists that fit to their history.
    pub fn check(
        &self,
        plan: &Plan,
        contents: &Contents,
        mut history: Lists,
    ) -> Result<(), String> {
        let tables = &self.control.tables;
        check_contents(&self.cluster, tables, contents)?;
        check_uniqueness(&self.cluster, tables, contents)?;
        if let Some(table) = lists_of(tables) {
            history.read_all(&self.cluster, table, self.incarnation)?;
        }
        history.check(plan.mix.isolation)
    }
}

/// The table of the lists.
fn lists_of(tables: &[StoredTable]) -> Option<TableId> {
    let table = tables.iter().find(|table| table.name == lists::TABLE);
    table.map(|table| TableId(table.number))
}

/// Lives until all sessions have ended, or the disk fails. `contents` is what the directory has. An
/// error is a broken promise.
pub fn live(
    disk: &SimulatedDisk,
    plan: &Plan,
    dice: &mut Dice,
    contents: &Contents,
    lists: &mut Lists,
) -> Result<Ledger, String> {
    let mut ledger = Ledger::of(contents);
    // Without power every operation fails, and a failed sync ends the directory.
    let may_end = |error: DurabilityError| match plan.may_fail(disk) {
        true => Ok(()),
        false => Err(format!("life {}: {error}", plan.life)),
    };
    let begun = match plan.begin(disk, dice) {
        Ok(begun) => begun,
        Err(error) => return may_end(error).map(|()| ledger),
    };
    let Begun { cluster, directory, opened } = begun;
    let Opened { control, log, restore, .. } = opened;
    ledger.incarnation = Some(log.incarnation());
    if let Err(error) = load(&cluster, restore, plan.workers) {
        return may_end(error).map(|()| ledger);
    }
    check_contents(&cluster, &control.tables, contents)
        .map_err(|wrong| format!("life {}: {wrong}", plan.life))?;
    if let Some(table) = lists_of(&control.tables) {
        lists.read_all(&cluster, table, log.incarnation())?;
    }
    let flusher = cluster.admin(Flusher::new(&cluster.database, log));
    let flusher = flusher.map_err(|error| error.to_string())?;
    let machine = Machine::new(directory, control, &flusher, ledger, std::mem::take(lists));
    let ended = machine.run(&cluster, disk, flusher, plan, dice);
    let waiting = cluster.world.run_until_idle();
    if waiting > 0 {
        return Err(format!("life {}: {waiting} tasks wait for ever", plan.life));
    }
    let mut ledger = machine.ledger.take();
    *lists = machine.lists.take();
    if let Some(wrong) = ledger.wrong.first() {
        return Err(format!("life {}: {wrong}", plan.life));
    }
    ledger.note_groups(&machine.acknowledgements);
    if let Err(error) = ended {
        may_end(error)?;
    }
    for history in ledger.histories.values() {
        if let Some(wrong) = violations(history).into_iter().next() {
            return Err(format!("life {}: {wrong}", plan.life));
        }
        if let (Groups::Unique, Some(shared)) = (plan.groups, shared_groups(history).first()) {
            return Err(format!("life {}: {shared}", plan.life));
        }
    }
    lists.check(plan.mix.isolation).map_err(|wrong| format!("life {}: {wrong}", plan.life))?;
    Ok(ledger)
}

impl Plan {
    /// Whether operations of the disk may fail.
    fn may_fail(&self, disk: &SimulatedDisk) -> bool {
        !disk.has_power() || self.fails_sync
    }
}
