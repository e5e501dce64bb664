//! Tables and procedures of a folder, opened.

use super::code::Code;
use super::error::{Misuse, OpenFailure};
use super::open::{World, open};
use super::session::Session;
use super::signature::{Signature, listed};
use crate::host;
use folder_benchmark::Stored;
use folder_benchmark::shipping::Owners;
use interpreter::Settings;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use txn::Isolation;

/// Sessions that may run transactions at the same time, unless somebody says otherwise.
const SESSIONS: u32 = 16;

/// How a database is opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// What becomes of the tables. Default: they are made and loaded.
    pub tables: Tables,
    /// Units of scale, such as warehouses. Default: as `workload.toml` says.
    pub units: Option<u64>,
    /// Bytes of memory for the tables in this process. Default: what they take with a run's growth, about.
    pub memory_bytes: Option<u64>,
    /// Sessions of this process that may run transactions at the same time, 1 to 64; further ones wait. Default 16.
    pub sessions: u32,
    /// How transactions are kept apart. Default: snapshots.
    pub isolation: Isolation,
    /// Seed of the rows that are loaded. Default 1.
    pub seed: u64,
    /// Leave all calls to the executor of plans, even where there is generated code. Default: no.
    pub plans_only: bool,
    /// Generated code of workloads of one's own, see [`code()`](super::code()); that of the shipped ones is there. Default: none.
    pub code: Vec<Code>,
    /// The file of a cluster, whose memory servers have the tables. Default: none, they are in this process.
    pub cluster: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tables: Tables::Loaded,
            units: None,
            memory_bytes: None,
            sessions: SESSIONS,
            isolation: Isolation::Snapshot,
            seed: 1,
            plans_only: false,
            code: Vec::new(),
            cluster: None,
        }
    }
}

/// What becomes of the tables when a database is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tables {
    /// They are made, and filled as `workload.toml` says.
    Loaded,
    /// They are made, and stay empty.
    Empty,
    /// They are in the cluster already, and stay as they are: another program has opened the folder with one of the others, or
    /// `namdb spade apply` has made them. Needs [`Options::cluster`].
    Present,
}

/// A database with the tables and procedures of a workload folder. Clones are the same one; threads share it.
#[derive(Clone)]
pub struct Database {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub stored: Stored,
    pub world: World,
    pub signatures: Vec<Arc<Signature>>,
    pub plans_only: bool,
    pub code: Vec<Code>,
    /// Who carries out calls that are shipped, if any are.
    pub owners: Option<Arc<Owners>>,
}

impl Database {
    /// Opens the workload of a folder, which has `schema.sql`, `procedures.sql`, `workload.toml` and `plans`.
    ///
    /// # Errors
    /// If the folder is not in order, memory is missing, or the cluster cannot be joined; in a sentence.
    pub fn open(folder: impl AsRef<Path>, options: &Options) -> Result<Self, OpenFailure> {
        let folder = folder.as_ref();
        if options.tables == Tables::Present && options.cluster.is_none() {
            return Err(OpenFailure::NoCluster);
        }
        let how = folder_benchmark::Options {
            units: options.units,
            wants_plans: true,
            linked: &[],
            design: None,
            isolation: options.isolation,
            seed: options.seed,
        };
        let stored = Stored::read(folder, &how).map_err(|error| {
            let error = Box::new(error);
            OpenFailure::Folder { folder: folder.display().to_string(), error }
        })?;
        let procedures = stored.ready().procedures.iter();
        let signatures = procedures.map(|of| Arc::new(Signature::of(&of.routine))).collect();
        let world = open(&stored, options)?;
        let (plans_only, owners) = (options.plans_only, world.owners());
        let ships = owners.iter().any(Option::is_some);
        let owners = ships.then(|| stored.owners(owners, plans_only, true));
        let code = options.code.clone();
        let shared = Shared { stored, world, signatures, plans_only, code, owners };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// A session, which stays with the thread that calls this.
    ///
    /// # Errors
    /// If tables are missing, or the memory servers cannot be reached.
    pub fn session(&self) -> Result<Session, OpenFailure> {
        Session::open(self.clone())
    }

    /// The procedures, in the order of `procedures.sql`.
    pub fn procedures(&self) -> impl Iterator<Item = &Signature> {
        self.shared.signatures.iter().map(|signature| &**signature)
    }

    /// The procedure of this name, and its position among those of the folder.
    pub(super) fn find(&self, name: &str) -> Result<(usize, Arc<Signature>), Misuse> {
        let mut all = self.shared.signatures.iter().cloned().enumerate();
        let found = all.find(|(_, signature)| signature.name == name);
        found.ok_or_else(|| Misuse::NoProcedure {
            name: name.to_owned(),
            known: listed(self.procedures().map(|signature| signature.name.as_str())),
        })
    }

    /// How calls are carried out where the world's clock shows `now_ns`.
    pub(super) fn settings(&self, now_ns: u64) -> Settings {
        let epoch_us = (now_ns / 1_000) as i64 - host::sql_time_us();
        Settings { isolation: self.shared.stored.isolation(), epoch_us }
    }
}
