//! Where the transactions of a run are carried out: in this process, or from here on the memory servers of a
//! cluster.
//!
//! Decision: docs/decisions/0090-a-run-takes-place-at-a-site.md

use anyhow::Result;
use fabric::{Env, LocalEnv, run_now};
use namdb::Db;
use std::future::Future;
use txn::{Database, Oracle};
use workload::Workload;

/// The fabric of databases in this process.
pub const LOCAL: &str = "local";

/// A database that threads of this process can work on.
pub trait Site: Sync {
    /// The world of its endpoints.
    type Env: Env;
    /// What a thread has of it.
    type Seat: Seat<Env = Self::Env>;

    /// A place for this thread; it stays with it.
    fn seat(&self) -> Result<Self::Seat>;

    /// What reports say of it.
    fn facts(&self) -> Facts;
}

/// A thread's place at a site.
pub trait Seat {
    /// The world of its endpoints.
    type Env: Env;

    /// A handle with an endpoint of its own.
    fn handle(&self) -> Database<Self::Env>;

    /// Runs a future to its end, and whatever else this thread has to do meanwhile.
    fn wait<F: Future>(&self, future: F) -> F::Output;
}

/// What reports say of a site.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The name of its fabric.
    pub fabric: &'static str,
    /// Memory servers.
    pub servers: u16,
    /// How snapshots are taken.
    pub oracle: Oracle,
    /// Lanes that a thread keeps busy: where verbs take time, many of them hide it.
    pub lanes_per_thread: u32,
}

/// A workload that threads can run together at a site.
pub trait SiteWorkload<S: Site>: Workload<S::Env> + Sync {}

impl<S: Site, W: Workload<S::Env> + Sync> SiteWorkload<S> for W {}

impl Site for Db {
    type Env = LocalEnv;
    type Seat = LocalSeat;

    fn seat(&self) -> Result<LocalSeat> {
        Ok(LocalSeat(self.clone()))
    }

    fn facts(&self) -> Facts {
        let config = self.config();
        Facts { fabric: LOCAL, servers: config.servers, oracle: config.oracle, lanes_per_thread: 1 }
    }
}

/// A thread's place at a database in this process, where nothing waits.
pub struct LocalSeat(Db);

impl Seat for LocalSeat {
    type Env = LocalEnv;

    fn handle(&self) -> Database<LocalEnv> {
        self.0.handle()
    }

    #[inline(always)]
    fn wait<F: Future>(&self, future: F) -> F::Output {
        run_now(future)
    }
}
