//! Tasks that change the catalog while sessions run.

use crate::dice::Dice;
use crate::kind::Kind;
use crate::{lists, passing};
use fabric::{DynEnv, Env};
use std::cell::Cell;
use txn::{CatalogError, Database};

/// The largest number of attempts after the last session.
const ATTEMPTS_AT_REST_MAX: usize = 100;
/// A pause is shorter than this.
const PAUSE_NS: u64 = 100_000;

/// The structure that a task creates and drops again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The index of the lists, which exists in the end.
    Index,
    /// The passing table, which does not.
    Table,
}

impl Change {
    /// The changes of this kind of world.
    pub fn of(kind: &Kind) -> impl Iterator<Item = Self> + use<> {
        let index = kind.remakes_index.then_some(Self::Index);
        index.into_iter().chain(kind.has_passing_table.then_some(Self::Table))
    }
}

/// A task that changes the catalog, on a compute server of its own.
pub struct Changer {
    pub kind: Kind,
    pub database: Database<DynEnv>,
    pub dice: Dice,
}

impl Changer {
    /// Creates and drops as long as sessions run: `running` counts them, the closer and the tasks
    /// that change the catalog.
    pub async fn run(mut self, change: Change, running: &Cell<u64>) {
        let others = 1 + Change::of(&self.kind).count() as u64;
        while running.get() > others {
            self.pause().await;
            // Under load a change may be refused.
            let _ = self.create(change).await;
            self.pause().await;
            let _ = self.drop(change).await;
        }
        // A change also frees the memory of those that gave up before. At rest it succeeds,
        // unless verbs are so slow that a collector's lanes do not acknowledge it in time.
        let mut last = Ok(());
        // Lanes that have lost a batch may acknowledge nothing any more.
        let is_whole = self.kind.lost_batch_one_in == 0;
        for _ in 0..if is_whole { ATTEMPTS_AT_REST_MAX } else { 1 } {
            self.pause().await;
            let _ = self.drop(change).await;
            last = self.create(change).await;
            if change == Change::Table && last.is_ok() {
                last = self.drop(change).await;
            }
            if last.is_ok() {
                return;
            }
        }
        assert!(!is_whole, "no session runs, but {change:?} fails: {last:?}");
    }

    async fn pause(&mut self) {
        self.database.env().sleep_ns(self.dice.below(PAUSE_NS)).await;
    }

    async fn create(&mut self, change: Change) -> Result<(), CatalogError> {
        match change {
            Change::Index => {
                let index = lists::index(&self.kind).expect("this kind of world has an index");
                self.database.create_index(lists::TABLE, index).await.map(|_| ())
            }
            Change::Table => {
                let spec = passing::table(&mut self.dice);
                self.database.create_table(spec).await.map(|_| ())
            }
        }
    }

    async fn drop(&self, change: Change) -> Result<(), CatalogError> {
        match change {
            Change::Index => self.database.drop_index(lists::TABLE, lists::INDEX).await,
            Change::Table => self.database.drop_table(passing::TABLE).await,
        }
    }
}
