//! A database with a directory: checkpoints, a clean close, counters.

use crate::database::Db;
use crate::durable::{DirectoryCounters, DirectoryStatistics, Durable};
use crate::error::TransactionError;
use durability::DurabilityError;
use fabric::LocalEnv;
use txn::Lane;

impl Db {
    /// Writes all rows to the directory now, so that the next opening need not replay the redo log
    /// up to here. The database does this by itself when the log has grown; sessions may run
    /// meanwhile.
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("namdb-checkpoint-{}", std::process::id()));
    /// # let config = namdb::Config {
    /// #     server_bytes: 64 << 20,
    /// #     directory: Some(path.clone()),
    /// #     ..Default::default()
    /// # };
    /// let db = namdb::open(config)?;
    /// db.checkpoint()?;
    /// assert_eq!(db.directory_statistics().expect("it has a directory").checkpoints, 1);
    /// # drop(db);
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the database has no directory, or the disk fails.
    pub fn checkpoint(&self) -> Result<(), DurabilityError> {
        match self.durable() {
            Some(durable) => durable.checkpoint(),
            None => Err(DurabilityError::NoDirectory),
        }
    }

    /// Ends the redo log: everything that was committed is on the disk afterwards, and later
    /// commits are refused. Dropping the last clone does the same, but cannot report an error. A
    /// database without a directory has nothing to do.
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("namdb-close-{}", std::process::id()));
    /// # let config = namdb::Config {
    /// #     server_bytes: 64 << 20,
    /// #     directory: Some(path.clone()),
    /// #     ..Default::default()
    /// # };
    /// let db = namdb::open(config)?;
    /// db.close()?; // Everything is on the disk.
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(self) -> Result<(), DurabilityError> {
        self.durable().map_or(Ok(()), Durable::close)
    }

    /// Waits until the last commit of a lane is on the disk, for programs that run lanes themselves
    /// on [`Db::handle`]. Only a database whose configuration is synchronous waits.
    ///
    /// ```
    /// # let db = namdb::open(namdb::Config { server_bytes: 64 << 20, ..Default::default() })?;
    /// let lane = fabric::run_now(db.handle().lane())?;
    /// db.acknowledge(&lane)?; // Without a directory there is nothing to wait for.
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`TransactionError::NotDurable`].
    #[inline]
    pub fn acknowledge(&self, lane: &Lane<LocalEnv>) -> Result<(), TransactionError> {
        match self.durable().filter(|durable| durable.is_synchronous()) {
            None => Ok(()),
            Some(durable) => {
                let version = lane.last_commit();
                let ticket = version.map(|version| durable.acknowledgements().of_commit(version));
                ticket.map_or(Ok(()), |ticket| durable.wait(ticket))
            }
        }
    }

    /// The commits that are gone because [`Config::accept_loss`] has opened a damaged directory, in
    /// a sentence; `None` if none are.
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("namdb-loss-{}", std::process::id()));
    /// # let config = namdb::Config {
    /// #     server_bytes: 64 << 20,
    /// #     directory: Some(path.clone()),
    /// #     ..Default::default()
    /// # };
    /// let db = namdb::open(namdb::Config { accept_loss: true, ..config })?;
    /// assert_eq!(db.accepted_loss(), None); // The directory was intact.
    /// # drop(db);
    /// # std::fs::remove_dir_all(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn accepted_loss(&self) -> Option<&str> {
        self.durable()?.accepted_loss()
    }

    /// Counters of the directory; `None` if the database has none.
    /// [`Db::checkpoint`] has an example.
    pub fn directory_statistics(&self) -> Option<DirectoryStatistics> {
        Some(self.directory_counters()?.statistics())
    }

    /// The same counters for a monitor, which reads them later and does not keep the database open.
    /// [`DirectoryCounters`] has an example.
    pub fn directory_counters(&self) -> Option<DirectoryCounters> {
        Some(self.durable()?.counters())
    }
}
