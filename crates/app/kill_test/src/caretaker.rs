//! The thread of the child that changes the catalog and makes checkpoints while workers commit.

use crate::pipe::{Message, Sender, TASKS, Task};
use crate::random::Random;
use crate::tables::{EXTRAS, Extra, Kept, TWINS, Tables, Twin, indexed};
use anyhow::{Context, Result};
use namdb::host::sleep_ms;
use namdb::{Db, Isolation, RecordTable, Retry, Storage};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Longest pause between two tasks.
const PAUSE_MS_MAX: u64 = 3;

pub struct Caretaker<'child> {
    db: Db,
    tables: Tables,
    sender: &'child Sender,
    random: Random,
    /// Numbers the tasks of all rounds.
    generation: u64,
}

impl<'child> Caretaker<'child> {
    pub fn new(db: &Db, tables: Tables, sender: &'child Sender, seed: u64, round: u64) -> Self {
        let random = Random::of(&[seed, round, 2]);
        Self { db: db.clone(), tables, sender, random, generation: round << 20 }
    }

    /// Repeats all tasks, `first` first.
    pub fn run(&mut self, first: Task, is_over: &AtomicBool) -> Result<()> {
        let begin = TASKS.iter().position(|task| *task == first).unwrap_or(0);
        let mut tasks = TASKS.iter().cycle().skip(begin);
        while !is_over.load(Relaxed) {
            let task = *tasks.next().expect("it repeats for ever");
            if self.is_present(task) == Some(true) {
                self.perform(task.opposite())?;
            }
            self.perform(task)?;
            self.report_groups()?;
            sleep_ms(self.random.below(PAUSE_MS_MAX));
            self.report_groups()?;
        }
        Ok(())
    }

    /// Whether the object that a task creates is there, or the one it drops is not. `None` for
    /// other tasks.
    fn is_present(&self, task: Task) -> Option<bool> {
        Some(match task {
            Task::Checkpoint => return None,
            Task::CreateTable => self.db.table("extra").is_some(),
            Task::DropTable => self.db.table("extra").is_none(),
            Task::CreateIndex => self.db.index("mark", "by_worker").is_some(),
            Task::DropIndex => self.db.index("mark", "by_worker").is_none(),
            Task::CreateUnique => self.db.index("twin", "by_name").is_some(),
            Task::DropUnique => self.db.index("twin", "by_name").is_none(),
        })
    }

    fn perform(&mut self, task: Task) -> Result<()> {
        self.generation += 1;
        let generation = self.generation;
        self.sender.send(Message::Begin { task, generation })?;
        let done = match task {
            Task::Checkpoint => self.db.checkpoint().map_err(anyhow::Error::from),
            Task::CreateTable => self.create_table(),
            Task::DropTable => self.drop_table(),
            Task::CreateIndex => {
                let created =
                    RecordTable::<indexed::Mark>::open_or_create(&self.db, Storage::Tree.into());
                created.map(drop).map_err(anyhow::Error::from)
            }
            Task::DropIndex => self.db.drop_index("mark", "by_worker").map_err(anyhow::Error::from),
            Task::CreateUnique => self.create_unique(),
            Task::DropUnique => self.db.drop_index("twin", "by_name").map_err(anyhow::Error::from),
        };
        done.with_context(|| format!("{task:?}"))?;
        self.sender.send(Message::End { task, generation })
    }

    fn create_table(&self) -> Result<()> {
        let generation = self.generation;
        let table = RecordTable::<Extra>::create(&self.db, Default::default())?;
        let mut session = self.db.session();
        session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
            txn.set_synchronous(true);
            (0..EXTRAS).try_for_each(|extra| txn.insert(table, &Extra { extra, generation }))
        })?;
        Ok(())
    }

    /// Copies the generation without waiting for the disk. The database may forget the copy, but
    /// then the table must still be there.
    fn drop_table(&self) -> Result<()> {
        let table = RecordTable::<Extra>::open(&self.db)?;
        let mut session = self.db.session();
        session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
            txn.set_synchronous(false);
            // A kill may have cut its creation short.
            if let Some(Extra { generation, .. }) = txn.get(table, 0)? {
                txn.upsert(self.tables.kept, &Kept { kept: 0, generation })?;
            }
            namdb::Ok(())
        })?;
        self.db.drop_table("extra")?;
        Ok(())
    }

    /// The database may forget the transaction that made the names differ, but then it has to
    /// forget the index too.
    fn create_unique(&self) -> Result<()> {
        let (twins, generation) = (self.tables.twins, self.generation as u32);
        let mut session = self.db.session();
        let mut name_all = |is_synchronous: bool, name: &dyn Fn(u32) -> u32| {
            session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
                txn.set_synchronous(is_synchronous);
                (0..TWINS).try_for_each(|twin| {
                    txn.update(twins, &Twin { twin, name: name(twin) }).map(drop)
                })
            })
        };
        name_all(true, &|_| generation)?;
        name_all(false, &|twin| generation.wrapping_add(twin))?;
        RecordTable::<indexed::Twin>::open_or_create(&self.db, Storage::Tree.into())?;
        Ok(())
    }

    fn report_groups(&self) -> Result<()> {
        let statistics = self.db.directory_statistics().context("the database has a directory")?;
        self.sender.send(Message::Groups { count: statistics.groups })
    }
}
