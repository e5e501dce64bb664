//! The tasks of a life: sessions that wait for acknowledgement, the flusher, the checkpointer.

use crate::ledger::Ledger;
use crate::life::{Plan, tables};
use crate::support::cluster::Cluster;
use crate::support::mix::{Dice, programs};
use crate::support::program::{Program, Tables, execute};
use durability::{
    Acknowledgements, CheckpointStart, Control, DurabilityError, Flusher, catalog, remove_obsolete,
    write_checkpoint,
};
use fabric::{DynEnv, Env};
use redo_log::{Incarnation, Lanes};
use sim::disk::DiskAccess;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use storage::Directory;
use txn::{Database, Outcome};

/// The state that the tasks of a life share.
pub struct Machine {
    pub directory: Directory<DiskAccess>,
    /// `None` while a task changes it.
    control: RefCell<Option<Control>>,
    pub acknowledgements: Acknowledgements,
    incarnation: Incarnation,
    lanes: Lanes,
    pub ledger: Rc<RefCell<Ledger>>,
    /// Tasks that need the flusher.
    running: Cell<usize>,
    /// Sessions among them.
    sessions: Cell<usize>,
}

type Result<T> = std::result::Result<T, DurabilityError>;

impl Machine {
    pub fn new(
        directory: Directory<DiskAccess>,
        control: Control,
        flusher: &Flusher<DynEnv, DiskAccess>,
        ledger: Ledger,
    ) -> Rc<Self> {
        Rc::new(Self {
            directory,
            control: RefCell::new(Some(control)),
            acknowledgements: flusher.acknowledgements().clone(),
            incarnation: flusher.incarnation(),
            lanes: flusher.lanes(),
            ledger: Rc::new(RefCell::new(ledger)),
            running: Cell::new(0),
            sessions: Cell::new(0),
        })
    }

    /// Runs all tasks and the flusher until they have ended, or the disk has failed.
    pub fn run(
        self: &Rc<Self>,
        cluster: &Cluster,
        mut flusher: Flusher<DynEnv, DiskAccess>,
        plan: &Plan,
        dice: &mut Dice,
    ) -> Result<()> {
        let tables = cluster.admin(self.table(&cluster.database, plan, dice))?;
        let setup = vec![plan.mix.setup()];
        let sessions = std::iter::once(setup).chain(programs(dice, &plan.mix));
        for (number, mut programs) in sessions.enumerate() {
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
        if plan.makes_checkpoints {
            let database = cluster.compute(0);
            let (machine, env) = (self.clone(), database.env().clone());
            self.spawn(cluster, &env, async move { machine.checkpoints(&database).await });
        }
        let flushed = cluster.admin(self.flush(&mut flusher, cluster.database.env()));
        match flushed {
            Ok(()) if plan.closes => {
                let closed = cluster.admin(flusher.close());
                self.ledger.borrow_mut().was_closed = closed.is_ok();
                closed
            }
            flushed => flushed,
        }
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

    /// The table of the programs, which the first life creates.
    async fn table(
        &self,
        database: &Database<DynEnv>,
        plan: &Plan,
        dice: &mut Dice,
    ) -> Result<Tables> {
        let spec = plan.mix.spec("t", dice);
        let mut control = self.lock(database).await;
        let is_missing = !control.tables.iter().any(|table| table.name == "t");
        if is_missing {
            let created = catalog::create_table(&mut control, &self.directory, database, spec);
            let created = created.await.inspect_err(|_| {
                self.ledger.borrow_mut().in_doubt = Some("t".to_owned());
            })?;
            self.ledger.borrow_mut().created.insert(created.0, "t".to_owned());
        }
        let stored = control.tables.iter().find(|table| table.name == "t");
        let tables = tables(database, stored.expect("it was created"));
        self.unlock(control);
        Ok(tables)
    }

    async fn lock(&self, database: &Database<DynEnv>) -> Control {
        loop {
            if let Some(control) = self.control.borrow_mut().take() {
                return control;
            }
            database.env().sleep_ns(5_000).await;
        }
    }

    fn unlock(&self, control: Control) {
        *self.control.borrow_mut() = Some(control);
    }

    /// Runs programs one after another; each is reported when it is durable.
    async fn session(
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
                    lane.env().sleep_ns(50_000).await;
                }
                let execution = execute(&mut lane, tables, number, program).await;
                let (outcome, version) = (execution.outcome, execution.version);
                let snapshot = execution.snapshot.clone();
                let is_commit = outcome == Outcome::Committed && !execution.writes.is_empty();
                self.ledger.borrow_mut().history(tables.table.0).push(execution);
                let Some(snapshot) = snapshot else { continue };
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

    /// Groups until no task needs one.
    async fn flush(&self, flusher: &mut Flusher<DynEnv, DiskAccess>, env: &DynEnv) -> Result<()> {
        while self.running.get() > 0 {
            let is_wanted = self.acknowledgements.is_wanted();
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
            env.sleep_ns(1 + env.random() % 20_000).await;
        }
        Ok(())
    }

    /// Checkpoints, one after the other, while sessions run.
    async fn checkpoints(&self, database: &Database<DynEnv>) {
        let env = database.env().clone();
        loop {
            env.sleep_ns(env.random() % 1_000_000).await;
            if self.sessions.get() == 0 {
                return;
            }
            match self.checkpoint(database).await {
                Ok(()) => self.ledger.borrow_mut().checkpoints += 1,
                Err(_) if self.acknowledgements.refusal().is_some_and(|it| it.is_final()) => return,
                Err(_) => {}
            }
        }
    }

    async fn checkpoint(&self, database: &Database<DynEnv>) -> Result<()> {
        let (directory, acknowledgements) = (&self.directory, &self.acknowledgements);
        let start = CheckpointStart::new(acknowledgements, self.incarnation).await?;
        let start = start.with_chunk_bytes(1 + (database.env().random() % 200) as usize);
        let control = self.lock(database).await;
        self.unlock(control.clone());
        let note = |_| {};
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
