//! The tasks of a life: sessions that wait for acknowledgement, the flusher, the checkpointer.

use crate::changes::Changes;
use crate::copies::copy;
use crate::indexes;
use crate::ledger::{Ledger, SEGMENT_BYTES};
use crate::life::{Plan, tables};
use crate::lists::{self, Lists};
use crate::support::cluster::Cluster;
use crate::support::mix::Dice;
use crate::support::program::{Program, Tables, execute};
use durability::{
    Acknowledgements, CheckpointStart, Control, DurabilityError, Flusher, catalog, remove_obsolete,
    write_checkpoint,
};
use fabric::{DynEnv, Env};
use redo_log::{Incarnation, Lanes};
use sim::disk::{DiskAccess, SimulatedDisk};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use storage::Directory;
use txn::{Database, Outcome, TableId};

/// The state that the tasks of a life share.
pub struct Machine {
    pub directory: Directory<DiskAccess>,
    /// `None` while a task changes it.
    control: RefCell<Option<Control>>,
    pub acknowledgements: Acknowledgements,
    pub incarnation: Incarnation,
    lanes: Lanes,
    pub ledger: Rc<RefCell<Ledger>>,
    /// The history of the lists.
    pub lists: RefCell<Lists>,
    /// Tasks that need the flusher.
    running: Cell<usize>,
    /// Sessions among them.
    sessions: Cell<usize>,
}

/// The result of an operation on the directory.
pub type Result<T> = std::result::Result<T, DurabilityError>;

impl Machine {
    pub fn new(
        directory: Directory<DiskAccess>,
        control: Control,
        flusher: &Flusher<DynEnv, DiskAccess>,
        ledger: Ledger,
        lists: Lists,
    ) -> Rc<Self> {
        Rc::new(Self {
            directory,
            control: RefCell::new(Some(control)),
            acknowledgements: flusher.acknowledgements().clone(),
            incarnation: flusher.incarnation(),
            lanes: flusher.lanes(),
            ledger: Rc::new(RefCell::new(ledger)),
            lists: RefCell::new(lists),
            running: Cell::new(0),
            sessions: Cell::new(0),
        })
    }

    /// Runs all tasks and the flusher until they have ended, or the disk has failed.
    pub fn run(
        self: &Rc<Self>,
        cluster: &Cluster,
        disk: &SimulatedDisk,
        mut flusher: Flusher<DynEnv, DiskAccess>,
        plan: &Plan,
        dice: &mut Dice,
    ) -> Result<()> {
        let (tables, lists) = cluster.admin(self.tables(&cluster.database, plan, dice))?;
        let sessions = indexes::sessions(&plan.mix, plan.groups, dice);
        for (number, mut programs) in sessions.into_iter().enumerate() {
            for program in &mut programs {
                program.number += 1000 * plan.life as i64;
            }
            let database = cluster.compute(number as u16).logging_to(self.lanes.clone());
            self.sessions.set(self.sessions.get() + 1);
            let (machine, env) = (self.clone(), database.env().clone());
            self.spawn(cluster, &env, async move {
                machine.session(&database, tables, number, &programs).await;
                machine.sessions.set(machine.sessions.get() - 1);
            });
        }
        self.start_appending(cluster, lists, plan, dice);
        self.start_others(cluster, disk, plan, dice);
        let flushed =
            cluster.admin(self.flush(&mut flusher, cluster.database.env(), plan.pause_ns));
        match flushed {
            Ok(()) if plan.closes => {
                let closed = cluster.admin(flusher.close());
                self.ledger.borrow_mut().was_closed = closed.is_ok();
                closed
            }
            flushed => flushed,
        }
    }

    /// Starts the sessions that append to lists. One does not wait for its commits.
    fn start_appending(
        self: &Rc<Self>,
        cluster: &Cluster,
        table: TableId,
        plan: &Plan,
        dice: &mut Dice,
    ) {
        for number in 0..3 {
            let database = cluster.compute(number).logging_to(self.lanes.clone());
            self.sessions.set(self.sessions.get() + 1);
            let (machine, env) = (self.clone(), database.env().clone());
            let (isolation, dice) = (plan.mix.isolation, Dice(dice.below(1 << 30)));
            self.spawn(cluster, &env, async move {
                machine.append(&database, table, isolation, number == 2, dice).await;
                machine.sessions.set(machine.sessions.get() - 1);
            });
        }
    }

    /// Starts the tasks that some lives have beside sessions.
    fn start_others(
        self: &Rc<Self>,
        cluster: &Cluster,
        disk: &SimulatedDisk,
        plan: &Plan,
        dice: &mut Dice,
    ) {
        let unlogged = cluster.compute(1);
        let env = unlogged.env().clone();
        if plan.makes_checkpoints {
            let (machine, database) = (self.clone(), unlogged.clone());
            self.spawn(cluster, &env, async move { machine.checkpoints(&database).await });
        }
        if plan.copies {
            let from = Directory::read_only(disk.access_on(&cluster.admin));
            self.spawn(cluster, &env, copy(self.clone(), env.clone(), from, disk.clone()));
        }
        if plan.fills_disk {
            let (machine, disk, its_env) = (self.clone(), disk.clone(), env.clone());
            self.spawn(cluster, &env, async move { machine.fill(&disk, &its_env).await });
        }
        if plan.changes_catalog {
            let logged = cluster.compute(1).logging_to(self.lanes.clone());
            let (mix, groups) = (plan.mix, plan.groups);
            let (life, dice) = (plan.life, Dice(dice.below(1 << 30)));
            let machine = self.clone();
            let changes = Changes { machine, unlogged, logged, mix, groups, life, dice };
            self.spawn(cluster, &env, changes.run());
        }
    }

    /// Whether sessions run.
    pub fn has_sessions(&self) -> bool {
        self.sessions.get() > 0
    }

    /// Whether nothing will be acknowledged any more.
    pub fn has_ended(&self) -> bool {
        self.acknowledgements.refusal().is_some_and(|refusal| refusal.is_final())
    }

    fn spawn(
        self: &Rc<Self>,
        cluster: &Cluster,
        env: &DynEnv,
        task: impl Future<Output = ()> + 'static,
    ) {
        self.running.set(self.running.get() + 1);
        let machine = self.clone();
        cluster.world.spawn_on(env, async move {
            task.await;
            machine.running.set(machine.running.get() - 1);
        });
    }

    /// The table of the programs and that of the lists, which the first life creates.
    async fn tables(
        &self,
        database: &Database<DynEnv>,
        plan: &Plan,
        dice: &mut Dice,
    ) -> Result<(Tables, TableId)> {
        let mut control = self.lock(database).await;
        let specs = [indexes::spec(&plan.mix, plan.groups, "t", dice), lists::spec(&plan.mix)];
        for spec in specs {
            if !control.tables.iter().any(|table| table.name == spec.schema.name()) {
                let created = catalog::create_table(&mut control, &self.directory, database, spec);
                let created = created.await?;
                self.ledger.borrow_mut().create(created.0);
            }
        }
        let stored = |name: &str| control.tables.iter().find(|table| table.name == name);
        let tables = tables(database, stored("t").expect("it was created"));
        let lists = TableId(stored(lists::TABLE).expect("it was created").number);
        self.unlock(control);
        Ok((tables, lists))
    }

    pub async fn lock(&self, database: &Database<DynEnv>) -> Control {
        loop {
            if let Some(control) = self.control.borrow_mut().take() {
                return control;
            }
            database.env().sleep_ns(5_000).await;
        }
    }

    pub fn unlock(&self, control: Control) {
        *self.control.borrow_mut() = Some(control);
    }

    /// Runs programs one after another; each is reported when it is durable. Each third session
    /// does not wait for some of its commits, which may be lost.
    pub async fn session(
        &self,
        database: &Database<DynEnv>,
        tables: Tables,
        number: usize,
        programs: &[Program],
    ) {
        let mut lane = database.lane().await.expect("there are slots");
        for program in programs {
            let pause = lane.env().random() % 30_000;
            lane.env().sleep_ns(pause).await;
            for _ in 0..=program.retries {
                while self.acknowledgements.is_full() {
                    self.ledger.borrow_mut().refusals += 1;
                    lane.env().sleep_ns(50_000).await;
                }
                let execution = execute(&mut lane, tables, number, program).await;
                let (outcome, version) = (execution.outcome, execution.version);
                let snapshot = execution.snapshot.clone();
                let is_commit = outcome == Outcome::Committed && !execution.writes.is_empty();
                self.ledger.borrow_mut().history(tables.table.0).push(execution);
                let Some(snapshot) = snapshot else { continue };
                let is_relaxed = number % 3 == 2 && program.number % 2 == 0;
                if is_commit && is_relaxed {
                    break;
                }
                let ticket = match is_commit {
                    true => self.acknowledgements.of_commit(version),
                    false => self.acknowledgements.of_snapshot(&snapshot),
                };
                if self.acknowledgements.durable(ticket).await.is_err() {
                    return;
                }
                let mut ledger = self.ledger.borrow_mut();
                match is_commit {
                    true => ledger.commits.push(version),
                    false => ledger.reads.push(snapshot),
                }
                drop(ledger);
                match outcome {
                    Outcome::Aborted(abort) if abort.is_retryable() => {}
                    _ => break,
                }
            }
            if program.collects {
                // A later collection collects the rest.
                let _ = lane.collect_garbage().await;
            }
        }
    }

    /// Fills the disk, and makes room again.
    async fn fill(&self, disk: &SimulatedDisk, env: &DynEnv) {
        for _ in 0..3 {
            env.sleep_ns(env.random() % 500_000).await;
            let used: usize = disk.files().values().map(Vec::len).sum();
            disk.set_capacity(used as u64 + env.random() % SEGMENT_BYTES);
            env.sleep_ns(env.random() % 1_000_000).await;
            disk.set_capacity(1 << 40);
        }
    }

    /// Groups until no task needs one.
    async fn flush(
        &self,
        flusher: &mut Flusher<DynEnv, DiskAccess>,
        env: &DynEnv,
        pause_ns: u64,
    ) -> Result<()> {
        let mut idle_ns = 0;
        while self.running.get() > 0 {
            let is_wanted = self.acknowledgements.is_wanted();
            idle_ns = if is_wanted { 0 } else { (2 * idle_ns).clamp(500, 100_000) };
            let flushed = match env.random() % 8 {
                0 => flusher.mark().await,
                1 => flusher.flush().await,
                _ if is_wanted => flusher.flush().await,
                _ => Ok(()),
            };
            let flushed = match flushed {
                Ok(()) => flusher.check_room(&self.directory).await,
                Err(_) if self.acknowledgements.is_full() => Ok(()),
                Err(error) => Err(error),
            };
            flushed?;
            self.ledger.borrow_mut().note_groups(&self.acknowledgements);
            env.sleep_ns(1 + idle_ns + env.random() % pause_ns).await;
        }
        Ok(())
    }

    /// Checkpoints, one after the other, while sessions run.
    async fn checkpoints(&self, database: &Database<DynEnv>) {
        let env = database.env().clone();
        loop {
            env.sleep_ns(env.random() % 500_000).await;
            if !self.has_sessions() {
                return;
            }
            match self.checkpoint(database).await {
                Ok(()) => self.ledger.borrow_mut().checkpoints += 1,
                Err(_) if self.has_ended() => return,
                Err(_) => {}
            }
        }
    }

    async fn checkpoint(&self, database: &Database<DynEnv>) -> Result<()> {
        let (directory, acknowledgements) = (&self.directory, &self.acknowledgements);
        let start = CheckpointStart::new(acknowledgements, self.incarnation).await?;
        let control = self.lock(database).await;
        self.unlock(control.clone());
        let start = start.with_chunk_bytes(1 + (database.env().random() % 200) as usize);
        let note = |_| Ok(());
        let stored =
            write_checkpoint(start, &control, database, directory, acknowledgements, note).await?;
        let mut control = self.lock(database).await;
        let before = control.checkpoint.replace(stored);
        let written = match control.write(directory).await {
            Ok(()) => remove_obsolete(directory, &control).await,
            Err(error) => {
                control.checkpoint = before;
                Err(error)
            }
        };
        self.unlock(control);
        written
    }
}
