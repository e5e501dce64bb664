//! Memory servers of a cluster: this process joins it as a client that runs transactions.
//!
//! Over `shm` regions are mapped, and sessions are those of a database in this process. Over a
//! network each thread has connections of its own, its [`Seat`].
//!
//! ```text
//! place        membership: lease, epoch, what the cluster has lost
//! root         the registry's root of the database, as the engine needs it
//! regions      where the regions of a database with replicas are
//! network      connecting a thread, and its lane
//! seats        the connections of threads, from transaction to transaction
//! transaction  a running transaction over a network
//! ```
//!
//! Decision: docs/decisions/0294-connections-belong-to-threads.md

mod network;
mod place;
mod regions;
mod root;
mod seats;
mod transaction;

pub(crate) use network::{LEAVE_NS, Network, Remote, SLOT_WAIT_MS_MAX, Seat};
pub(crate) use place::Place;
#[doc(hidden)]
pub use regions::Regions;
#[doc(hidden)]
pub use root::{database_config, root_of};
pub(crate) use seats::{BorrowedSeat, close as close_seats, rest as rest_seat};
pub(crate) use transaction::RemoteTransaction;

use crate::config::OpenError;
use crate::database::Db;
use membership::{ClusterFile, FabricKind};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

/// An error of the cluster file, the registry, the network or the memory servers. Only its message
/// is used.
pub(crate) type Fault = Box<dyn Error + Send + Sync>;

/// Most transactions of a joined process at a time over `shm`: a quarter of the slots that all
/// processes of a cluster share. They are never idle, so further ones would wait for processors.
const LANES_MAPPED: u32 = 16;

/// Joins a cluster and returns a [`Db`]. Use it like that of [`open`](crate::open). `file` is the
/// cluster file, such as `namdb cluster up` writes.
///
/// Until the last clone of the `Db` and the last session are dropped, this process is a compute
/// server of the cluster, and `namdb status` lists it. Over `tcp` and `verbs`, end the threads that
/// ran transactions before the program ends: the slots of threads that live on are lost with it.
///
/// All programs that join see the same tables:
/// [`RecordTable::open_or_create`](crate::RecordTable::open_or_create) creates a table or finds it.
///
/// ```no_run
/// use namdb::{Isolation, RecordTable, Retry, record};
///
/// record! {
///     /// A city and its inhabitants.
///     pub struct City in "city" {
///         key { name: String[30] }
///         inhabitants: i64,
///     }
/// }
///
/// let db = namdb::connect("namdb.toml")?;
/// let cities = RecordTable::<City>::open_or_create(&db, Default::default())?;
/// let mut session = db.session();
/// session.transaction(Isolation::Serializable, Retry::default(), |txn| {
///     let known = txn.get(cities, "Ghent")?;
///     let inhabitants = known.map_or(0, |ghent| ghent.inhabitants) + 1;
///     txn.upsert(cities, &City { name: "Ghent".to_owned(), inhabitants })?;
///     namdb::Ok(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Over `shm` up to 16 transactions of this process run at a time; further ones wait. Over `tcp`
/// and `verbs` each thread that runs transactions has connections of its own and one of the
/// cluster's 64 slots, from its first transaction until it ends. A program with more threads uses
/// an [`AsyncSession`](crate::AsyncSession), whose engine threads are few.
///
/// A registry in etcd needs the feature `etcd`; a cluster on one host has its registry in files.
///
/// This process proves that it knows the cluster's secret: a file beside the cluster file, with the
/// ending `.secret`, or the one that `secret` in the file or the variable `NAMDB_CLUSTER_SECRET`
/// names.
///
/// # Errors
/// [`OpenError::Connect`] if the file or the secret cannot be read or is wrong, if the cluster is
/// not running (each step waits 5 s), if it has lost a memory server, if its servers run another
/// version of namdb, if this host cannot reach them, or if all numbers of compute servers are
/// taken.
///
/// Later, [`TransactionError::ClusterLost`](crate::TransactionError::ClusterLost) says that a
/// memory server has died or that this process has lost its lease; connect again once the cluster
/// runs. A process that loses its lease over `shm` exits with code 4: mapped memory cannot be taken
/// back from it.
pub fn connect(file: impl AsRef<Path>) -> Result<Db, OpenError> {
    let file = file.as_ref();
    let joined = Joined::open(file, LANES_MAPPED, |_| false);
    let joined =
        joined.map_err(|fault| OpenError::Connect { file: file.display().to_string(), fault })?;
    Ok(match joined {
        Joined::Mapped(db) => db,
        Joined::Remote(remote) => Db::over_network(remote),
    })
}

/// A cluster that this process has joined. It leaves when this is dropped.
pub(crate) enum Joined {
    /// Regions are mapped.
    Mapped(Db),
    /// A network reaches them.
    Remote(Arc<Remote>),
}

impl Joined {
    /// Joins the cluster of a file. `is_shipped` says whether operations are shipped to the compute
    /// servers that own the rows on this number of memory servers; this process then connects to
    /// them, too.
    pub fn open(
        file: &Path,
        lanes_mapped: u32,
        is_shipped: impl FnOnce(usize) -> bool,
    ) -> Result<Self, Fault> {
        let place = Place::join(ClusterFile::load(file, &[])?, is_shipped)?;
        let network = match place.fabric() {
            FabricKind::Shm => return Ok(Self::Mapped(place.map_regions(lanes_mapped)?)),
            FabricKind::Tcp => Network::by_messages(&place)?,
            FabricKind::Verbs => Network::by_card(&place)?,
        };
        Ok(Self::Remote(Arc::new(Remote::new(network, place))))
    }
}
