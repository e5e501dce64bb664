//! A database with the tables and procedures of a workload folder.

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

/// Default number of sessions that may run transactions at the same time.
const SESSIONS: u32 = 16;

/// Options for opening a database.
///
/// ```no_run
/// use namdb::procedures::{Database, Options};
///
/// // Ten warehouses, for up to four threads.
/// let options = Options { units: Some(10), sessions: 4, ..Options::default() };
/// let database = Database::open("workloads/tpcc", &options)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Whether to create and load the tables. Default: both.
    pub tables: Tables,
    /// Scale of the data, such as the number of warehouses. Default: the scale in `workload.toml`.
    pub units: Option<u64>,
    /// Bytes of memory for the tables in this process. Default: an estimate for the loaded tables
    /// and their growth.
    pub memory_bytes: Option<u64>,
    /// Sessions of this process that may run transactions at the same time, 1 to 64; further ones
    /// wait. Default 16.
    pub sessions: u32,
    /// Isolation level of all calls. Default: snapshot isolation.
    pub isolation: Isolation,
    /// Seed of the generated rows. Default 1.
    pub seed: u64,
    /// Execute every call by the plan executor, even if generated code exists. Default: no.
    pub plans_only: bool,
    /// Generated code of your own workloads, see [`code()`](super::code()). The code of the shipped
    /// workloads is built in. Default: empty.
    pub code: Vec<Code>,
    /// The cluster file, if a cluster's memory servers have the tables. Default: `None`, the tables
    /// are in this process.
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

/// Whether to create and load the tables on opening a database.
///
/// ```no_run
/// use namdb::procedures::{Database, Options, Tables};
///
/// let options = Options {
///     tables: Tables::Present,
///     cluster: Some("namdb.toml".into()),
///     ..Options::default()
/// };
/// let database = Database::open("workloads/tpcc", &options)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tables {
    /// Create the tables and fill them as `workload.toml` says.
    Loaded,
    /// Create the tables and leave them empty.
    Empty,
    /// Use the tables that are in the cluster already: another program has opened the folder with
    /// one of the other options, or `namdb spade apply` has created them. Needs
    /// [`Options::cluster`].
    Present,
}

/// A database with the tables and procedures of a workload folder. Clones share it, also between
/// threads.
/// [`Call::execute`](super::Call::execute) has an example.
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
    /// The nodes that execute shipped calls, if the workload ships any.
    pub owners: Option<Arc<Owners>>,
}

impl Database {
    /// Opens the workload of a folder with `schema.sql`, `procedures.sql`, `workload.toml` and
    /// `plans`.
    /// [`Options`] has an example.
    ///
    /// # Errors
    /// If the folder is invalid, memory is short, or the cluster cannot be joined.
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

    /// Opens a session, which stays on the calling thread.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// let other = database.clone();
    /// std::thread::spawn(move || other.session().is_ok()).join().expect("no panic");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If tables are missing or the memory servers cannot be reached.
    pub fn session(&self) -> Result<Session, OpenFailure> {
        Session::open(self.clone())
    }

    /// The procedures in the order of `procedures.sql`.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// for procedure in database.procedures() {
    ///     println!("{} has {} parameters", procedure.name, procedure.parameters.len());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn procedures(&self) -> impl Iterator<Item = &Signature> {
        self.shared.signatures.iter().map(|signature| &**signature)
    }

    /// Finds a procedure by name, with its position in the folder.
    pub(super) fn find(&self, name: &str) -> Result<(usize, Arc<Signature>), Misuse> {
        let mut all = self.shared.signatures.iter().cloned().enumerate();
        let found = all.find(|(_, signature)| signature.name == name);
        found.ok_or_else(|| Misuse::NoProcedure {
            name: name.to_owned(),
            known: listed(self.procedures().map(|signature| signature.name.as_str())),
        })
    }

    /// Settings of calls; `now_ns` is the current reading of the world's clock.
    pub(super) fn settings(&self, now_ns: u64) -> Settings {
        let epoch_us = (now_ns / 1_000) as i64 - host::sql_time_us();
        Settings { isolation: self.shared.stored.isolation(), epoch_us }
    }
}
