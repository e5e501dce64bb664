//! Where the transactions of a run execute: in this process, or from this process on a cluster's
//! memory servers.
//!
//! Decision: docs/decisions/0090-a-run-takes-place-at-a-site.md

use anyhow::Result;
use fabric::{Env, LocalEnv, run_now};
use namdb::{Db, DirectoryStatistics};
use std::future::Future;
use txn::{Database, Lane, Oracle};
use workload::Workload;

/// Name of the fabric of databases in this process.
pub const LOCAL: &str = "local";

/// A database on which threads of this process can work.
pub trait Site: Sync {
    /// The environment of its endpoints.
    type Env: Env;
    /// A thread's access to it.
    type Session: SiteSession<Env = Self::Env>;

    /// Opens this thread's access, which stays on the thread.
    fn session(&self) -> Result<Self::Session>;

    /// Properties for the report.
    fn facts(&self) -> Facts;

    /// Counters of its directory, if it has one.
    fn directory_statistics(&self) -> Option<DirectoryStatistics> {
        None
    }
}

/// A thread's access to a site.
pub trait SiteSession {
    /// The environment of its endpoints.
    type Env: Env;

    /// A handle with its own endpoint.
    fn handle(&self) -> Database<Self::Env>;

    /// Runs a future to completion together with the thread's other tasks.
    fn wait<F: Future>(&self, future: F) -> F::Output;

    /// Waits until the lane's last commit is on the disk, if the site promises that.
    fn acknowledge(&self, _lane: &Lane<Self::Env>) -> Result<()> {
        Ok(())
    }
}

/// Properties of a site, for the report.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Name of the fabric.
    pub fabric: &'static str,
    /// Number of memory servers.
    pub servers: u16,
    /// How snapshots are taken.
    pub oracle: Oracle,
    /// Number of concurrent lanes per thread; if verbs take time, several lanes hide it.
    pub lanes_per_thread: u32,
}

/// A workload that threads can run together at a site.
pub trait SiteWorkload<S: Site>: Workload<S::Env> + Sync {}

impl<S: Site, W: Workload<S::Env> + Sync> SiteWorkload<S> for W {}

impl Site for Db {
    type Env = LocalEnv;
    type Session = LocalSession;

    fn session(&self) -> Result<LocalSession> {
        Ok(LocalSession(self.clone()))
    }

    fn facts(&self) -> Facts {
        let config = self.config();
        Facts { fabric: LOCAL, servers: config.servers, oracle: config.oracle, lanes_per_thread: 1 }
    }

    fn directory_statistics(&self) -> Option<DirectoryStatistics> {
        Self::directory_statistics(self)
    }
}

/// A thread's access to a database in this process, where every future is ready at once.
pub struct LocalSession(Db);

impl SiteSession for LocalSession {
    type Env = LocalEnv;

    fn handle(&self) -> Database<LocalEnv> {
        self.0.handle()
    }

    #[inline(always)]
    fn wait<F: Future>(&self, future: F) -> F::Output {
        run_now(future)
    }

    #[inline]
    fn acknowledge(&self, lane: &Lane<LocalEnv>) -> Result<()> {
        Ok(self.0.acknowledge(lane)?)
    }
}
