//! The data of a memory server on its disk: an image of the region, written when the server ends
//! and read when it starts again.
//!
//! A server that ends stops serving first, so nothing changes its memory any more. The images of
//! all servers together are a state in which all compute servers have died: what a dead process had
//! begun is completed or undone when the cluster starts again, by the same recovery.
//!
//! Decision: docs/decisions/0335-memory-servers-write-their-regions-when-they-end.md

use super::{opening, replicas};
use crate::bench::text::bytes;
use anyhow::{Context, Result, bail, ensure};
use durability::DurabilityError;
use durability::region_image::{
    IMAGE_NAME, ImageHead, ImageReader, ImageWriter, OPENED_NAME, Piece, ReplicasHead, has,
    mark_opened, unmark_opened,
};
use durability::run_file::{RUN_NAME, Run, note_run, noted_run};
use fabric::{Batch, Fabric, LocalEnv, run_now};
use layout::{GlobalPtr, RegionId, WORD_BYTES, region};
use membership::restart::{Found, FoundImage, decide};
use membership::{ClusterFile, DatabaseRoot};
use namdb::host::{Moment, sleep_ms};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use storage::{Directory, DiskError, ErrorKind, RealDisk};
use txn::server::{ServiceCounts, listed_end};

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
    /// The regions in the server's memory: its own, and replicas.
    places: Vec<Place>,
    running: Mutex<Running>,
}

/// A region in the server's memory.
struct Place {
    region: RegionId,
    bytes: u64,
    /// Where its bytes begin in an image.
    base: u64,
}

/// The database that runs on the region.
#[derive(Default)]
enum Running {
    #[default]
    Nothing,
    /// Its root was sent to the registry, which has perhaps not received it.
    Perhaps(DatabaseRoot),
    Published(DatabaseRoot),
    /// With replicas: the server serves, and others may publish a root. The last one, with its
    /// epoch.
    Replicated(Option<(DatabaseRoot, u64)>),
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
    replicas: Option<ReplicasHead>,
    reader: ImageReader<RealDisk>,
}

/// The database that the image of a server with replicas is of, and whether that is certain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Departure {
    pub root: DatabaseRoot,
    pub epoch: u64,
    /// The server's identity.
    pub identity: u64,
    pub is_certain: bool,
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
        let places = places(cluster, number, region_bytes);
        let (cluster, running) = (cluster.id.0, Mutex::default());
        Ok(Some(Self { directory, cluster, number, region_bytes, places, running }))
    }

    /// Whether the cluster has replicas, so that the database may go on without this server.
    pub fn has_replicas(&self) -> bool {
        self.places.len() > 1
    }

    /// The finding of a server with replicas, with its image.
    ///
    /// # Errors
    /// The image is damaged or of something else.
    pub fn find(&self, cluster: &ClusterFile) -> Result<(Option<Found>, Option<Image>)> {
        let noted = run_now(noted_run(&self.directory))?;
        let Some(image) = self.image(cluster)? else {
            let has_run = run_now(has(&self.directory, OPENED_NAME))?;
            // Without a note it may be any run.
            let Run { database, number } = noted.unwrap_or(Run { database: 0, number: u64::MAX });
            let nothing = Found::Nothing { last_run: number, database };
            return Ok((has_run.then_some(nothing), None));
        };
        let ReplicasHead { epoch, identity, is_certain, .. } =
            *image.replicas.as_ref().expect("it was looked at");
        let root = image.root.clone();
        // The note may be of a database that came between, if somebody has brought the image back.
        let noted = noted.filter(|run| run.database == root.id);
        let last_run = noted.map_or(root.run, |run| run.number);
        let found = FoundImage { root, identity, last_run, epoch, is_certain };
        Ok((Some(Found::Image(Box::new(found))), Some(image)))
    }

    /// A server with replicas begins to serve for a run of the database: from now on the data of
    /// the directory is old.
    pub fn begin(&self, run: Run) -> Result<()> {
        let mut running = self.running();
        ensure!(!matches!(*running, Running::Ended), "the server ends");
        if matches!(*running, Running::Replicated(_)) {
            return Ok(());
        }
        run_now(note_run(&self.directory, run))?;
        run_now(mark_opened(&self.directory))?;
        MUST_WRITE.store(true, Relaxed);
        *running = Running::Replicated(None);
        Ok(())
    }

    /// Whether the data of the directory is old, because the server serves a database.
    pub fn has_begun(&self) -> bool {
        matches!(*self.running(), Running::Replicated(_))
    }

    /// Whether the server ends.
    pub fn has_ended(&self) -> bool {
        matches!(*self.running(), Running::Ended)
    }

    /// Takes note of the newest root of a database with replicas.
    pub fn note_newest(&self, root: DatabaseRoot, epoch: u64) {
        if let Running::Replicated(newest) = &mut *self.running()
            && newest.as_ref().is_none_or(|(_, known)| *known <= epoch)
        {
            *newest = Some((root, epoch));
        }
    }

    /// The newest root, if this server has begun, and ends now.
    pub fn end_replicated(&self) -> Option<Option<(DatabaseRoot, u64)>> {
        match std::mem::replace(&mut *self.running(), Running::Ended) {
            Running::Replicated(newest) => Some(newest),
            _ => None,
        }
    }

    /// The server of a database with replicas has written what it must, or has nothing to write.
    /// Without a database the image is as new as before.
    pub fn finish_replicated(&self, has_run: bool) -> Result<()> {
        MUST_WRITE.store(false, Relaxed);
        if !has_run {
            run_now(unmark_opened(&self.directory))?;
        }
        Ok(())
    }

    /// The image, if there is one.
    ///
    /// # Errors
    /// The server ended without writing one, or the image is damaged or of something else.
    pub fn image(&self, cluster: &ClusterFile) -> Result<Option<Image>> {
        run_now(async {
            let Some(mut reader) = ImageReader::open(&self.directory, IMAGE_NAME).await? else {
                if !self.has_replicas() {
                    self.ensure_new().await?;
                }
                return Ok(None);
            };
            let path = self.directory.path(IMAGE_NAME);
            let ImageHead { cluster: id, server, layout, region_bytes, used_bytes, root, replicas } =
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
            let have = |head: &ReplicasHead| head.bytes.iter().copied().eq(self.replica_bytes());
            ensure!(
                root.replicas == cluster.replicas && replicas.as_ref().is_none_or(have),
                "{path} is of a cluster with other `replicas`, or other `bytes` of a server; write the cluster's file as \
                 it was"
            );
            let root = DatabaseRoot { transaction_time_ms: cluster.transaction_time_ms, ..root };
            let (used_bytes, replicas) = (*used_bytes, replicas.clone());
            let Some(Piece::Services(services)) = reader.next().await? else {
                bail!(
                    "{path} does not begin with the state of the services; restore the file from a copy"
                );
            };
            Ok(Some(Image { root, services, used_bytes, replicas, reader }))
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
            Running::Nothing | Running::Replicated(_) | Running::Ended => look().flatten(),
        };
        let written = match &root {
            Some(root) => self.write_until_there_is_room(env, services, (root, None)),
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

    /// Writes the contents of all regions in the server's memory, which nobody changes any more.
    pub fn write_replicated(
        &self,
        env: &LocalEnv,
        services: &ServiceCounts,
        departure: &Departure,
    ) -> Result<()> {
        let Departure { root, epoch, identity, is_certain } = departure;
        let (epoch, identity, is_certain) = (*epoch, *identity, *is_certain);
        let head =
            ReplicasHead { bytes: self.replica_bytes().collect(), identity, epoch, is_certain };
        self.write_until_there_is_room(env, services, (root, Some(head)))
    }

    fn replica_bytes(&self) -> impl Iterator<Item = u64> + '_ {
        self.places.iter().skip(1).map(|place| place.bytes)
    }

    /// The memory may be the only copy, so a full disk is waited for.
    fn write_until_there_is_room(
        &self,
        env: &LocalEnv,
        services: &ServiceCounts,
        (root, replicas): (&DatabaseRoot, Option<ReplicasHead>),
    ) -> Result<()> {
        loop {
            let Err(error) = self.write(env, services, (root, replicas.clone())) else {
                return Ok(());
            };
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

    fn write(
        &self,
        env: &LocalEnv,
        services: &ServiceCounts,
        (root, replicas): (&DatabaseRoot, Option<ReplicasHead>),
    ) -> Result<()> {
        let ends: Vec<u64> = match replicas {
            Some(_) => self.ends(env)?,
            None => vec![services.mark()],
        };
        let state = if replicas.is_some() { services.save_catalog() } else { services.save() };
        let used_bytes = ends.iter().sum();
        let head = ImageHead {
            cluster: self.cluster,
            server: self.number,
            layout: region::FORMAT_VERSION,
            region_bytes: self.region_bytes,
            used_bytes,
            root: serde_json::to_value(root).context("a root is made of numbers")?,
            replicas,
        };
        let mut progress = Progress::new("writing data", used_bytes);
        let written_bytes = run_now(async {
            let mut writer = ImageWriter::create(&self.directory, &head).await?;
            writer.services(&state).await?;
            let mut batch = Batch::new();
            let mut piece = Vec::with_capacity(PIECE_BYTES as usize);
            let mut done_bytes = 0;
            for (place, end) in self.places.iter().zip(ends) {
                for offset in (0..end).step_by(PIECE_BYTES as usize) {
                    let words = (end - offset).min(PIECE_BYTES) / WORD_BYTES;
                    let read = batch.read(GlobalPtr::new(place.region, offset), words as u32);
                    batch = env.execute(batch).await?;
                    piece.clear();
                    piece.extend(batch.words(read).iter().flat_map(|word| word.to_le_bytes()));
                    batch.reset();
                    writer.memory(place.base + offset, &piece).await?;
                    progress.at(done_bytes + offset);
                }
                done_bytes += end;
            }
            anyhow::Ok(writer.finish().await?)
        })
        .with_context(|| format!("the data of memory server {} is not written", self.number))?;
        let milliseconds = progress.began.elapsed_ms();
        let directory = self.directory.label();
        tracing::info!(directory, used_bytes, written_bytes, milliseconds, "data written");
        Ok(())
    }

    /// The ends of the memory that was ever allocated, in each region.
    fn ends(&self, env: &LocalEnv) -> Result<Vec<u64>> {
        let ends = self.places.iter().map(|place| {
            let end = run_now(listed_end(env, place.region))?;
            Ok(end.min(place.bytes))
        });
        ends.collect()
    }

    /// Reads the contents of the regions. Nobody else uses them yet.
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
                let (span, to) = (batch.put(&words), self.at(offset)?);
                batch.write(to, span);
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

    /// Where bytes of an image belong.
    fn at(&self, offset: u64) -> Result<GlobalPtr> {
        let mut places = self.places.iter().rev();
        let place = places.find(|place| place.base <= offset).context("it is in no region")?;
        Ok(GlobalPtr::new(place.region, offset - place.base))
    }
}

/// The regions in a server's memory.
fn places(cluster: &ClusterFile, number: u16, region_bytes: u64) -> Vec<Place> {
    let mut places = vec![Place { region: RegionId(number), bytes: region_bytes, base: 0 }];
    let mut base = region_bytes;
    for (region, bytes) in replicas::replicas_on(cluster, number) {
        places.push(Place { region, bytes, base });
        base += bytes;
    }
    places
}

impl Image {
    /// The services of the region, as they were.
    pub fn services(&self, number: u16, region_bytes: u64) -> Result<ServiceCounts> {
        let restored = ServiceCounts::restore(RegionId(number), region_bytes, &self.services);
        restored.context("the image has services that this program does not understand")
    }

    /// Gives the services of a server with replicas what is not in its regions.
    pub fn restore_catalog(&self, services: &ServiceCounts) -> Result<()> {
        let restored = services.restore_catalog(&self.services);
        restored.context("the image has a catalog that this program does not understand")
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
    let (mut lives, mut found) = (Vec::new(), Vec::new());
    for (number, server) in (0_u16..).zip(&cluster.memory) {
        let region_bytes = opening::region_bytes(server.bytes);
        let data =
            ServerData::open(cluster, number, region_bytes)?.expect("the cluster keeps data");
        if data.has_replicas() {
            found.push(whole_find(&data, cluster).unwrap_or(Some(damaged())));
        } else {
            // An image that cannot be read is lost, too.
            lives.push(data.image(cluster).and_then(whole_life).ok().flatten());
        }
        all.push(data);
    }
    let is_lost = match found.is_empty() {
        true => lives.contains(&None) || lives.iter().any(|life| *life != lives[0]),
        false => decide(&found).is_err(),
    };
    ensure!(is_lost, "no data of cluster {} is lost; leave out --accept-loss", cluster.name);
    all.iter().try_for_each(|data| run_now(set_aside(&data.directory)))
}

/// The finding of a server whose files cannot be read: others may have what it had.
fn damaged() -> Found {
    Found::Nothing { last_run: 0, database: 0 }
}

/// The finding of a server with replicas, if all of it can be read.
fn whole_find(data: &ServerData, cluster: &ClusterFile) -> Result<Option<Found>> {
    let (found, image) = data.find(cluster)?;
    whole_life(image).map(|_| found)
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
    for name in [IMAGE_NAME, OPENED_NAME, RUN_NAME] {
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

/// Why the memory servers of this host, which have ended, cannot begin again with what they have;
/// `None` if they can.
pub fn loss(cluster: &ClusterFile) -> Option<String> {
    let data = cluster.data.as_ref()?;
    let folder = |number: usize| data.join(format!("memory-{number}"));
    let mut all = 0..cluster.memory.len();
    if cluster.replicas > 1 {
        // Only the findings of all servers say what is there.
        if !all.all(|number| folder(number).is_dir()) {
            return None;
        }
        return match findings(cluster) {
            Ok(found) => decide(&found).err().map(|why| why.to_string()),
            Err(damaged) => Some(format!("{damaged:#}")),
        };
    }
    let is_unwritten = |number: &usize| {
        folder(*number).join(OPENED_NAME).exists() && !folder(*number).join(IMAGE_NAME).exists()
    };
    let number = all.find(is_unwritten)?;
    Some(format!("memory server {number} has ended without writing its data, which is lost"))
}

/// The findings of the memory servers of this host, which have replicas and have ended.
fn findings(cluster: &ClusterFile) -> Result<Vec<Option<Found>>> {
    let numbered = (0_u16..).zip(&cluster.memory);
    let found = numbered.map(|(number, server)| {
        let region_bytes = opening::region_bytes(server.bytes);
        let data = ServerData::open(cluster, number, region_bytes)?;
        Ok(data.expect("the cluster keeps data").find(cluster)?.0)
    });
    found.collect()
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
