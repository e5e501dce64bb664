//! The data of a memory server on its disk: an image of the region, written when the server ends
//! and read when it starts again.
//!
//! A server that ends stops serving first, so nothing changes its memory any more. The images of
//! all servers together are a state in which all compute servers have died: what a dead process had
//! begun is completed or undone when the cluster starts again, by the same recovery.
//!
//! Decision: docs/decisions/0335-memory-servers-write-their-regions-when-they-end.md

use super::opening;
use crate::bench::text::bytes;
use anyhow::{Context, Result, bail, ensure};
use durability::DurabilityError;
use durability::region_image::{
    IMAGE_NAME, ImageHead, ImageReader, ImageWriter, OPENED_NAME, Piece, has, mark_opened,
    unmark_opened,
};
use fabric::{Batch, Fabric, LocalEnv, run_now};
use layout::{GlobalPtr, RegionId, WORD_BYTES, region};
use membership::{ClusterFile, DatabaseRoot};
use namdb::host::{Moment, sleep_ms};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use storage::{Directory, DiskError, ErrorKind, RealDisk};
use txn::server::ServiceCounts;

/// Bytes of the region that are read or written at a time.
const PIECE_BYTES: u64 = 64 * 1024;
/// Interval between two reports of progress, in seconds.
const REPORT_S: f64 = 2.0;
/// Pause before a full disk is tried again.
const FULL_RETRY_MS: u64 = 5_000;

/// The directory of a memory server, which no other process has open.
pub struct ServerData {
    directory: Directory<RealDisk>,
    cluster: u64,
    number: u16,
    region_bytes: u64,
    running: Mutex<Running>,
}

/// The database that runs on the region.
#[derive(Default)]
enum Running {
    #[default]
    Nothing,
    /// Its root was sent to the registry, which has perhaps not received it.
    Perhaps(DatabaseRoot),
    Published(DatabaseRoot),
    /// The server ends.
    Ended,
}

/// Whether this process has data that it has not written: a further signal must not end it.
static MUST_WRITE: AtomicBool = AtomicBool::new(false);

/// Whether the end of this process would lose data.
pub fn must_write() -> bool {
    MUST_WRITE.load(Relaxed)
}

/// An image that is there.
pub struct Image {
    pub root: DatabaseRoot,
    /// The state of the services.
    services: Vec<u8>,
    used_bytes: u64,
    reader: ImageReader<RealDisk>,
}

impl ServerData {
    /// Opens the directory of a memory server, if the cluster keeps data, and creates it if it is
    /// missing.
    pub fn open(cluster: &ClusterFile, number: u16, region_bytes: u64) -> Result<Option<Self>> {
        let Some(data) = &cluster.data else { return Ok(None) };
        let path = data.join(format!("memory-{number}"));
        let open = |path: &Path| -> Result<Directory<RealDisk>> {
            let above = path.parent().expect("it is in the cluster's");
            std::fs::create_dir_all(above)
                .with_context(|| format!("cannot make {}", above.display()))?;
            let disk = RealDisk::create(path).map_err(|failure| {
                anyhow::anyhow!(
                    "cannot open the data directory {}: {}",
                    path.display(),
                    failure.reason
                )
            })?;
            Ok(run_now(Directory::open(disk))?)
        };
        let directory = open(&path)?;
        let (cluster, running) = (cluster.id.0, Mutex::default());
        Ok(Some(Self { directory, cluster, number, region_bytes, running }))
    }

    /// The image, if there is one.
    ///
    /// # Errors
    /// The server ended without writing one, or the image is damaged or of something else.
    pub fn image(&self, cluster: &ClusterFile) -> Result<Option<Image>> {
        run_now(async {
            let Some(mut reader) = ImageReader::open(&self.directory, IMAGE_NAME).await? else {
                self.ensure_new().await?;
                return Ok(None);
            };
            let path = self.directory.path(IMAGE_NAME);
            let ImageHead { cluster: id, server, layout, region_bytes, used_bytes, root } =
                &reader.head;
            ensure!(
                *id == self.cluster && *server == self.number,
                "{path} is of memory server {server} of another cluster or of another number; set another `data`"
            );
            ensure!(
                *layout == region::FORMAT_VERSION,
                "{path} has layout {layout}, this program reads {}; start the cluster with the version that wrote it",
                region::FORMAT_VERSION
            );
            ensure!(
                *region_bytes == self.region_bytes,
                "{path} is of a region of {}, and memory server {server} has one of {} now; write `bytes` in the \
                 cluster's file as it was",
                bytes(*region_bytes),
                bytes(self.region_bytes)
            );
            let root: DatabaseRoot = serde_json::from_value(root.clone())
                .with_context(|| format!("{path} has no root of a database"))?;
            ensure!(
                root.servers.len() == cluster.memory.len(),
                "{path} is of a cluster with {} memory servers, and this one has {}; write the cluster's file as it was",
                root.servers.len(),
                cluster.memory.len()
            );
            ensure!(
                root.snapshots == cluster.oracle,
                "{path} is of a database with another `oracle`; write the cluster's file as it was"
            );
            let root = DatabaseRoot { transaction_time_ms: cluster.transaction_time_ms, ..root };
            let used_bytes = *used_bytes;
            let Some(Piece::Services(services)) = reader.next().await? else {
                bail!(
                    "{path} does not begin with the state of the services; restore the file from a copy"
                );
            };
            Ok(Some(Image { root, services, used_bytes, reader }))
        })
    }

    async fn ensure_new(&self) -> Result<()> {
        let (number, directory) = (self.number, self.directory.label());
        ensure!(
            !has(&self.directory, OPENED_NAME).await?,
            "the data of memory server {number} is lost: it ended without writing its memory to {directory}, by kill -9 or \
             a crash of its host; to begin with an empty database, use `namdb cluster up --accept-loss`, or on several \
             hosts move the files `image` and `opened` of all memory servers away"
        );
        Ok(())
    }

    /// Publishes the root of the database that runs on the region from now on, by `set_root`. Until
    /// the server has written its memory again, the data of the directory is old.
    ///
    /// # Errors
    /// The server ends, or those of `set_root`.
    pub fn publish(
        &self,
        root: &DatabaseRoot,
        set_root: impl FnOnce() -> Result<DatabaseRoot>,
    ) -> Result<DatabaseRoot> {
        // Held meanwhile, so that the server does not end before it knows whether this succeeds.
        let mut running = self.running();
        ensure!(!matches!(*running, Running::Ended), "the server ends");
        self.mark(&mut running, root)?;
        let announced = set_root()?;
        if announced == *root {
            *running = Running::Published(root.clone());
        }
        Ok(announced)
    }

    /// Takes note of the root that another server has published.
    pub fn note(&self, root: DatabaseRoot) -> Result<()> {
        let mut running = self.running();
        if matches!(*running, Running::Nothing | Running::Perhaps(_)) {
            self.mark(&mut running, &root)?;
            *running = Running::Published(root);
        }
        Ok(())
    }

    fn mark(&self, running: &mut Running, root: &DatabaseRoot) -> Result<()> {
        if matches!(running, Running::Nothing) {
            run_now(mark_opened(&self.directory))?;
            MUST_WRITE.store(true, Relaxed);
            *running = Running::Perhaps(root.clone());
        }
        Ok(())
    }

    /// Writes the contents of the region, which nobody changes any more, if a database runs on it;
    /// returns whether one does. `look` asks the registry for the root with this server, which is
    /// `None` if it does not answer.
    pub fn end(
        &self,
        env: &LocalEnv,
        services: &ServiceCounts,
        look: impl FnOnce() -> Option<Option<DatabaseRoot>>,
    ) -> Result<bool> {
        let running = std::mem::replace(&mut *self.running(), Running::Ended);
        let was_marked = matches!(running, Running::Perhaps(_));
        let root = match running {
            Running::Published(root) => Some(root),
            Running::Perhaps(root) => look().unwrap_or(Some(root)),
            Running::Nothing | Running::Ended => look().flatten(),
        };
        let written = match &root {
            Some(root) => self.write_until_there_is_room(env, services, root),
            // Nobody has learned of the database, so the image is as new as before.
            None if was_marked => Ok(run_now(unmark_opened(&self.directory))?),
            None => Ok(()),
        };
        MUST_WRITE.store(false, Relaxed);
        written.map(|()| root.is_some())
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().expect("no holder panics")
    }

    /// The memory is the only copy, so a full disk is waited for.
    fn write_until_there_is_room(
        &self,
        env: &LocalEnv,
        services: &ServiceCounts,
        root: &DatabaseRoot,
    ) -> Result<()> {
        loop {
            let Err(error) = self.write(env, services, root) else { return Ok(()) };
            let is_full = error.chain().any(|cause| {
                let disk = match cause.downcast_ref() {
                    Some(DurabilityError::Disk(disk)) => Some(disk),
                    _ => cause.downcast_ref::<DiskError>(),
                };
                disk.is_some_and(|disk| disk.kind == ErrorKind::Full)
            });
            if !is_full || self.directory.ended().is_some() {
                return Err(error);
            }
            tracing::error!(
                "{error:#}; make room, the server tries again every {FULL_RETRY_MS} ms"
            );
            sleep_ms(FULL_RETRY_MS);
        }
    }

    fn write(&self, env: &LocalEnv, services: &ServiceCounts, root: &DatabaseRoot) -> Result<()> {
        let used_bytes = services.mark();
        let head = ImageHead {
            cluster: self.cluster,
            server: self.number,
            layout: region::FORMAT_VERSION,
            region_bytes: self.region_bytes,
            used_bytes,
            root: serde_json::to_value(root).context("a root is made of numbers")?,
        };
        let mut progress = Progress::new("writing data", used_bytes);
        let written_bytes = run_now(async {
            let mut writer = ImageWriter::create(&self.directory, &head).await?;
            writer.services(&services.save()).await?;
            let mut batch = Batch::new();
            let mut piece = Vec::with_capacity(PIECE_BYTES as usize);
            for offset in (0..used_bytes).step_by(PIECE_BYTES as usize) {
                let words = (used_bytes - offset).min(PIECE_BYTES) / WORD_BYTES;
                let read = batch.read(self.at(offset), words as u32);
                batch = env.execute(batch).await?;
                piece.clear();
                piece.extend(batch.words(read).iter().flat_map(|word| word.to_le_bytes()));
                batch.reset();
                writer.memory(offset, &piece).await?;
                progress.at(offset);
            }
            anyhow::Ok(writer.finish().await?)
        })
        .with_context(|| format!("the data of memory server {} is not written", self.number))?;
        let milliseconds = progress.began.elapsed_ms();
        let directory = self.directory.label();
        tracing::info!(directory, used_bytes, written_bytes, milliseconds, "data written");
        Ok(())
    }

    /// Reads the contents of the region. Nobody else uses it yet.
    pub fn read(&self, mut image: Image, env: &LocalEnv) -> Result<()> {
        let mut progress = Progress::new("reading data", image.used_bytes);
        run_now(async {
            let mut batch = Batch::new();
            while let Some(piece) = image.reader.next().await? {
                let Piece::Memory(offset, content) = piece else {
                    bail!(
                        "{} has the state of the services twice",
                        self.directory.path(IMAGE_NAME)
                    );
                };
                let words = content.chunks_exact(WORD_BYTES as usize);
                let words: Vec<u64> = words
                    .map(|word| u64::from_le_bytes(word.try_into().expect("a word")))
                    .collect();
                let span = batch.put(&words);
                batch.write(self.at(offset), span);
                batch = env.execute(batch).await?;
                batch.reset();
                progress.at(offset);
            }
            Ok(())
        })?;
        let (milliseconds, used_bytes) = (progress.began.elapsed_ms(), image.used_bytes);
        let directory = self.directory.label();
        tracing::info!(directory, used_bytes, milliseconds, "data read");
        Ok(())
    }

    fn at(&self, offset: u64) -> GlobalPtr {
        GlobalPtr::new(RegionId(self.number), offset)
    }
}

impl Image {
    /// The services of the region, as they were.
    pub fn services(&self, number: u16, region_bytes: u64) -> Result<ServiceCounts> {
        let restored = ServiceCounts::restore(RegionId(number), region_bytes, &self.services);
        restored.context("the image has services that this program does not understand")
    }
}

/// Sets aside what the memory servers of this host have, because it is no whole database.
///
/// # Errors
/// It is one, or a server has its directory open.
pub fn accept_loss(cluster: &ClusterFile) -> Result<()> {
    ensure!(
        cluster.data.is_some(),
        "cluster {} keeps no data: its file has no `data`",
        cluster.name
    );
    let mut all = Vec::new();
    let mut lives = Vec::new();
    for (number, server) in (0_u16..).zip(&cluster.memory) {
        let region_bytes = opening::region_bytes(server.bytes);
        let data =
            ServerData::open(cluster, number, region_bytes)?.expect("the cluster keeps data");
        // An image that cannot be read is lost, too.
        lives.push(data.image(cluster).and_then(whole_life).ok().flatten());
        all.push(data);
    }
    ensure!(
        lives.contains(&None) || lives.iter().any(|life| *life != lives[0]),
        "no data of cluster {} is lost; leave out --accept-loss",
        cluster.name
    );
    all.iter().try_for_each(|data| run_now(set_aside(&data.directory)))
}

/// The run of the database whose image a server has, if it has one and all of it can be read.
fn whole_life(image: Option<Image>) -> Result<Option<u64>> {
    let Some(mut image) = image else { return Ok(None) };
    run_now(async {
        while image.reader.next().await?.is_some() {}
        anyhow::Ok(())
    })?;
    Ok(image.root.life())
}

/// Gives the files of a server names that nobody uses.
async fn set_aside(directory: &Directory<RealDisk>) -> Result<()> {
    for name in [IMAGE_NAME, OPENED_NAME] {
        if has(directory, name).await? {
            let mut number = 1;
            while has(directory, &format!("lost-{number}-{name}")).await? {
                number += 1;
            }
            directory.rename(name, &format!("lost-{number}-{name}")).await?;
        }
    }
    Ok(directory.sync().await?)
}

/// Numbers of the memory servers of this host that have run and have no image of it.
pub fn unwritten(cluster: &ClusterFile) -> Vec<usize> {
    let Some(data) = &cluster.data else { return Vec::new() };
    let is_unwritten = |number: &usize| {
        let path = data.join(format!("memory-{number}"));
        path.join(OPENED_NAME).exists() && !path.join(IMAGE_NAME).exists()
    };
    (0..cluster.memory.len()).filter(is_unwritten).collect()
}

/// Whether a memory server of this host has data.
pub fn is_any(cluster: &ClusterFile) -> bool {
    let Some(data) = &cluster.data else { return false };
    let has = |number: usize| data.join(format!("memory-{number}")).join(IMAGE_NAME).exists();
    (0..cluster.memory.len()).any(has)
}

/// Reports how far the reading or writing of a region is, if it takes long.
struct Progress {
    what: &'static str,
    all_bytes: u64,
    began: Moment,
    told: Moment,
}

impl Progress {
    fn new(what: &'static str, all_bytes: u64) -> Self {
        let began = Moment::now();
        Self { what, all_bytes, began, told: began }
    }

    fn at(&mut self, done_bytes: u64) {
        if self.told.elapsed_s() < REPORT_S {
            return;
        }
        self.told = Moment::now();
        let share = done_bytes.max(1) as f64 / self.all_bytes.max(1) as f64;
        let left_s = (self.began.elapsed_s() * (1.0 - share) / share) as u64;
        let (done, all) = (bytes(done_bytes), bytes(self.all_bytes));
        tracing::info!(done, all, left_s, "{}", self.what);
    }
}
