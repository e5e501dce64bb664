//! Measures with threads of this process: on its own memory, or on a cluster's memory servers.

use super::patience::{Tried, persist};
use super::{PointRecorder, RealArguments, tell};
use crate::bench::driver::{self, Run, RunPlan, Span, Standing, Watcher};
use crate::bench::part::Part;
use crate::bench::progress::Progress;
use crate::bench::site::{Facts, LOCAL, Site, SiteSession, SiteWorkload};
use crate::bench::text::counted;
use crate::bench::world::{self, WorldPlan};
use crate::commands::interruption;
use crate::servers::cluster_client::ClusterClient;
use crate::servers::cluster_site::{self, Peers, SiteJob};
use crate::servers::health::Health;
use ::microbench::experiment::Choice;
use ::microbench::host::own;
use ::microbench::micro::{MEASURED, Micro, TABLE};
use ::microbench::ship::{Owner, SHIPPED};
use anyhow::{Context, Result, anyhow, ensure};
use fabric::{Fabric, LocalEnv};
use futures_util::stream::{FuturesUnordered, TryStreamExt};
use layout::NodeId;
use membership::{ClusterFile, FabricKind, Member};
use namdb::{Db, Oracle, host};
use spade::measurement::{
    Alone, Demand, Loaded, Measured, Moved, Parameters, Place, Service, Spread, World, rounded,
};
use std::sync::{Arc, Mutex};
use txn::CatalogError;
use workload::Workload;

/// Default lanes per thread if verbs take time.
const LANES: u32 = 8;
/// Rows of a table: more than the processor's caches hold.
const ROWS: u64 = 65_536;
/// Repetitions of each measurement.
const REPETITIONS: u64 = 3;
/// Share of a measurement's time that is warm-up.
const WARM_SHARE: f64 = 0.25;
/// Share of a point's time with one lane alone.
const ALONE_SHARE: f64 = 0.3;
/// Share of the total time for measuring; the rest is for loading tables.
const MEASURED_SHARE: f64 = 0.75;
/// Minimal and maximal seconds per point: less is not significant, more adds no information.
const POINT_S: std::ops::RangeInclusive<f64> = 0.25..=5.0;
/// The owner's node in a process that has all rows; no memory server has this number.
const OWNER: NodeId = NodeId(u16::MAX);
/// Number of its threads' endpoints.
const OWNER_NUMBER: u64 = u64::MAX;

/// Rejects several lanes if no verb waits.
pub fn ensure_lanes(arguments: &RealArguments, lanes: Option<u32>) -> Result<()> {
    let has_room = arguments.cluster.is_some() || lanes.is_none();
    ensure!(has_room, "--lanes needs --profile or --cluster: in one process no verb waits");
    Ok(())
}

/// Measures the missing points, on the requested fabric.
pub fn run(
    arguments: &RealArguments,
    lanes: Option<u32>,
    recorder: &mut PointRecorder,
    seconds: f64,
) -> Result<Vec<Choice>> {
    let threads = arguments.threads.unwrap_or_else(|| host::processor_count() as u32);
    let threads = threads.min(world::THREADS_MAX / 2);
    let Some(file) = &arguments.cluster else {
        let choice = chosen(LOCAL, (1, threads, 1), &[Place::Local, Place::Shipped], recorder);
        measure_local(&choice, recorder, seconds)?;
        return Ok(vec![choice]);
    };
    let cluster = ClusterFile::load(file, &arguments.set)?;
    let health = Arc::new(Health::new(interruption()));
    let client = ClusterClient::join(cluster, Member::client(), &Arc::default(), &health)?;
    let owners = owners(&client);
    let (lanes, by_verbs) = match client.cluster.fabric {
        // Regions are mapped, so all rows are local.
        FabricKind::Shm => (1, Place::Local),
        FabricKind::Tcp | FabricKind::Verbs => (lanes.unwrap_or(LANES), Place::OneSided),
    };
    let shipped = (!owners.is_empty()).then_some(Place::Shipped);
    let places: Vec<Place> = std::iter::once(by_verbs).chain(shipped).collect();
    let threads = match arguments.threads {
        Some(threads) => threads,
        None => threads.min(room(&client, &owners) / lanes).max(1),
    };
    let machines = client.cluster.memory.len() as u16;
    let name = client.cluster.fabric.name();
    let choice = chosen(name, (machines, threads, lanes * threads), &places, recorder);
    let nodes: Vec<NodeId> = owners.iter().map(|&owner| owner.node()).collect();
    let errand = Points { choice: &choice, owners: &nodes, recorder, seconds };
    // The site does not depend on which point it is.
    let first = choice.groups().first().and_then(|group| group.first().cloned());
    let any = Micro::new(&first.context("there is nothing to measure")?, 1, ROWS);
    let peers = Peers { members: &owners, are_needed: true };
    let measured = cluster_site::run_calling(&client, lanes, &peers, &any, errand);
    let left = client.leave();
    measured.and(left)?;
    Ok(vec![choice])
}

/// The compute servers to which operations are shipped: those with a port for calls on hosts of
/// memory servers, otherwise all others with such a port.
fn owners(client: &ClusterClient) -> Vec<&Member> {
    let map = &client.map;
    let fabric = client.cluster.fabric;
    let all: Vec<&Member> =
        map.compute_servers().filter(|member| member.takes_calls(fabric)).collect();
    let has_memory = |host: &str| map.memory_servers().any(|server| server.host == host);
    let near: Vec<&Member> = all.iter().copied().filter(|one| has_memory(&one.host)).collect();
    if near.is_empty() { all } else { near }
}

/// Number of slots of the vector for lanes of this process; the owners have lanes of their own.
fn room(client: &ClusterClient, owners: &[&Member]) -> u32 {
    let settings = |owner: &&Member| client.cluster.compute.get(usize::from(owner.number));
    let of_owners: u32 = owners.iter().filter_map(settings).map(|settings| settings.lanes).sum();
    client.root.slots.saturating_sub(of_owners)
}

fn chosen(
    fabric: &str,
    (machines, threads, lanes): (u16, u32, u32),
    places: &[Place],
    recorder: &PointRecorder,
) -> Choice {
    let lanes = if fabric == LOCAL { threads } else { lanes };
    let (fabric, hardware) = (fabric.to_owned(), host::machine());
    let world = World { fabric, hardware, machines, threads, lanes };
    let effort = recorder.version.effort;
    Choice { world, effort, places: places.to_vec(), replicates: false }
}

/// Measures each table in its own database.
fn measure_local(choice: &Choice, recorder: &mut PointRecorder, seconds: f64) -> Result<()> {
    let (groups, missing) = recorder.missing(choice);
    let mut pace = Pace::new(missing, seconds);
    for group in groups {
        if recorder.is_over() {
            break;
        }
        let threads = choice.world.threads;
        let micro = Micro::new(&group[0], threads, ROWS);
        let needed = Workload::<LocalEnv>::memory_bytes(&micro);
        // A calling thread needs a lane of its own and one of the owner.
        let plan = WorldPlan {
            servers: 1,
            memory_bytes: None,
            threads: 2 * threads,
            oracle: Oracle::DoubleCollect,
            seed: recorder.version.seed,
            directory: Default::default(),
        };
        let db = world::open(&plan, needed)?;
        let owned = Owned::offer(&db);
        let measured = measure_table(&db, &micro, (&group, &[OWNER]), (recorder, &mut pace));
        owned.withdraw();
        measured?;
    }
    pace.finish();
    Ok(())
}

/// The service that owns the rows in this process.
struct Owned(Arc<Mutex<Option<Db>>>);

impl Owned {
    fn offer(db: &Db) -> Self {
        let kept = Arc::new(Mutex::new(Some(db.clone())));
        let more = kept.clone();
        let more = move || {
            let db = more.lock().expect("no holder panics");
            db.as_ref().map(Db::handle)
        };
        let owner: Owner<LocalEnv> = Owner::new(OWNER_NUMBER, TABLE, Arc::new(more));
        db.handle().env().world().register(OWNER, SHIPPED, Arc::new(owner));
        Self(kept)
    }

    /// The database's world refers to the service, so the service must drop its reference to the
    /// database.
    fn withdraw(self) {
        self.0.lock().expect("no holder panics").take();
    }
}

/// All points of a cluster, table by table.
struct Points<'a> {
    choice: &'a Choice,
    /// The servers to which operations are shipped.
    owners: &'a [NodeId],
    recorder: &'a mut PointRecorder,
    seconds: f64,
}

impl SiteJob<Micro> for Points<'_> {
    type Output = ();

    fn run<S: Site>(self, site: &S, _any: &Micro) -> Result<()>
    where
        Micro: SiteWorkload<S>,
    {
        let (groups, missing) = self.recorder.missing(self.choice);
        let mut pace = Pace::new(missing, self.seconds);
        for group in groups {
            if self.recorder.is_over() {
                break;
            }
            let micro = Micro::new(&group[0], self.choice.world.lanes, ROWS);
            drop_table(site)?;
            let what = (&group[..], self.owners);
            measure_table(site, &micro, what, (&mut *self.recorder, &mut pace))?;
            drop_table(site)?;
        }
        pace.finish();
        Ok(())
    }
}

/// Drops the table of this run or an earlier one.
fn drop_table<S: Site>(site: &S) -> Result<()> {
    let session = site.session()?;
    let database = session.handle();
    session.wait(database.refresh())?;
    if database.table(TABLE).is_none() {
        return Ok(());
    }
    match session.wait(database.drop_table(TABLE)) {
        // A process that died never acknowledges the drop; the table is dropped all the same.
        Err(CatalogError::Unacknowledged) | Ok(()) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot drop table {TABLE}")),
    }
}

/// The available time, and the progress.
struct Pace {
    progress: Progress,
    /// Seconds per point.
    point_s: f64,
    done: u64,
}

impl Pace {
    fn new(missing: u64, seconds: f64) -> Self {
        let point_s = MEASURED_SHARE * seconds / missing.max(1) as f64;
        let point_s = point_s.clamp(*POINT_S.start(), *POINT_S.end());
        Self { progress: Progress::begin("measuring", missing), point_s, done: 0 }
    }

    fn finish(self) {
        let Self { progress, point_s, done } = self;
        progress.finish(&format!("{} of {point_s:.2} s", counted(done, "point")));
    }
}

/// Loads a table, and measures its missing points.
fn measure_table<S: Site>(
    site: &S,
    micro: &Micro,
    (group, owners): (&[Parameters], &[NodeId]),
    (recorder, pace): (&mut PointRecorder, &mut Pace),
) -> Result<()> {
    tell(&pace.progress, pace.done, &group[0]);
    load(site, micro, owners).context("the table cannot be loaded")?;
    for point in group {
        if recorder.has(point) {
            continue;
        }
        if recorder.is_over() {
            break;
        }
        tell(&pace.progress, pace.done, point);
        let micro = micro.turned_to(point, owners);
        let seed = recorder.version.seed;
        let tried = measure_point(site, &micro, point, (pace.point_s, seed))?;
        if !recorder.take(point, tried)? {
            break;
        }
        pace.done += 1;
    }
    Ok(())
}

/// Creates and fills the table, on the lanes of one thread, and registers the compute servers as
/// owners.
fn load<S: Site>(site: &S, micro: &Micro, owners: &[NodeId]) -> Result<()> {
    let session = site.session()?;
    let database = session.handle();
    session.wait(Workload::<S::Env>::create_tables(micro, &database))?;
    let parts = if <S::Env as Fabric>::IMMEDIATE { 1 } else { site.facts().lanes_per_thread };
    let load_part = async |part: u32| {
        let mut lane = database.lane().await.map_err(workload::WorkloadError::from)?;
        let (part, parts) = (u64::from(part), u64::from(parts));
        micro.load_part(&database, &mut lane, part, parts, &|_| ()).await
    };
    let loaders: FuturesUnordered<_> = (0..parts).map(load_part).collect();
    session.wait(loaders.try_collect::<()>())?;
    let servers: Vec<NodeId> = owners.iter().copied().filter(|&owner| owner != OWNER).collect();
    session
        .wait(own(database.env(), &servers, TABLE))
        .map_err(|(owner, error)| anyhow!("{owner} rejects shipped operations: {error}"))
}

/// A site whose threads have one lane each.
struct OneLane<'a, S>(&'a S);

impl<S: Site> Site for OneLane<'_, S> {
    type Env = S::Env;
    type Session = S::Session;

    fn session(&self) -> Result<S::Session> {
        self.0.session()
    }

    fn facts(&self) -> Facts {
        Facts { lanes_per_thread: 1, ..self.0.facts() }
    }
}

/// Measures one lane alone, then all lanes.
fn measure_point<S: Site>(
    site: &S,
    micro: &Micro,
    point: &Parameters,
    (point_s, seed): (f64, u64),
) -> Result<Tried<Measured>> {
    let one = OneLane(site);
    let among = point.versions.map(|of| of.among);
    let threads = point.world.threads;
    let lanes = threads * site.facts().lanes_per_thread;
    let alone = persist(ALONE_SHARE * point_s, |span_s| seen(&one, micro, (1, seed), span_s))?;
    alone.and_then(|alone| {
        let all = |span_s| seen(site, micro, (threads, seed), span_s);
        let loaded = persist((1.0 - ALONE_SHARE) * point_s, all)?;
        loaded
            .and_then(|loaded| Ok(Tried::Seen(measured(&alone, &loaded, (threads, lanes), among))))
    })
}

/// Combines the repetitions of one lane alone and of all lanes.
fn measured(
    alone: &[Seen],
    loaded: &[Seen],
    (threads, lanes): (u32, u32),
    among: Option<u32>,
) -> Measured {
    let rate = |seen: &Seen| seen.operations as f64 / seen.measured_s;
    let lanes = f64::from(lanes);
    let spread = |all: &[Seen], of: &dyn Fn(&Seen) -> f64| {
        Spread::of(&all.iter().map(of).collect::<Vec<f64>>())
    };
    let all_operations: u64 = loaded.iter().map(|seen| seen.operations).sum();
    let calls: u64 = loaded.iter().map(|seen| seen.counts.calls).sum();
    let aborts: u64 = loaded.iter().map(|seen| seen.retries).sum();
    Measured {
        alone: Alone {
            median_ns: spread(alone, &|seen| seen.median_ns),
            p99_ns: spread(alone, &|seen| seen.p99_ns),
        },
        loaded: Loaded {
            operations_per_s: spread(loaded, &|seen| lanes * rate(seen)),
            per_thread_per_s: spread(loaded, &|seen| lanes * rate(seen) / f64::from(threads)),
            median_ns: spread(loaded, &|seen| seen.median_ns),
            p99_ns: spread(loaded, &|seen| seen.p99_ns),
            aborts: rounded(aborts as f64 / all_operations as f64),
            busiest: None,
            moved: among.map(|among| Moved {
                share: rounded((calls as f64 / all_operations as f64).min(1.0)),
                // `measured_s` is the total time of all lanes.
                again_ns: rounded(
                    1e9 * f64::from(among) * loaded.iter().map(|seen| seen.measured_s).sum::<f64>()
                        / all_operations as f64,
                ),
            }),
        },
        service: service(alone, loaded),
    }
}

/// Demands of one operation. Counts come from one lane alone; processor time is taken under load,
/// since a thread that waits alone may spin.
fn service(alone: &[Seen], loaded: &[Seen]) -> Service {
    let operations: u64 = alone.iter().map(|seen| seen.operations).sum();
    let counts = alone.iter().fold(fabric::Counts::default(), |sum, seen| sum + seen.counts);
    let each = |count: u64| rounded(count as f64 / operations as f64);
    let of_all = |of: fn(&Seen) -> f64| loaded.iter().map(of).sum::<f64>();
    let core_ns = 1e9 * of_all(|seen| seen.core_s) / of_all(|seen| seen.operations as f64);
    Service {
        verbs: each(counts.verbs),
        bytes: each(counts.bytes),
        round_trips: each(counts.round_trips),
        calls: each(counts.calls),
        card_requests: None,
        requester: Demand { core_ns, ..Demand::default() }.rounded(),
        owner: None,
        others: None,
    }
}

/// The measured part of one repetition; the time in between is left out.
struct Seen {
    operations: u64,
    retries: u64,
    /// Total seconds of all lanes.
    measured_s: f64,
    /// Total seconds of all processors.
    core_s: f64,
    median_ns: f64,
    p99_ns: f64,
    counts: fabric::Counts,
}

impl Seen {
    /// `None` if nothing was measured.
    fn of(span: &Span) -> Option<Self> {
        let kinds = &span.window.kinds;
        let latency_ns = &kinds[MEASURED].latency_ns;
        let operations = latency_ns.len();
        let spent_s = |kind: usize| {
            let latency_ns = &kinds[kind].latency_ns;
            latency_ns.mean() * latency_ns.len() as f64 / 1e9
        };
        let (measured_s, other_s) = (spent_s(MEASURED), spent_s(1 - MEASURED));
        let totals = span.window.totals.kind(MEASURED);
        (operations > 0).then(|| Self {
            operations,
            retries: totals.retries,
            measured_s,
            core_s: span.elapsed.cpu_seconds * measured_s / (measured_s + other_s),
            median_ns: latency_ns.value_at_quantile(0.5) as f64,
            p99_ns: latency_ns.value_at_quantile(0.99) as f64,
            counts: kinds[MEASURED].counts,
        })
    }
}

/// The repetitions so far.
#[derive(Default)]
struct Repetitions(Vec<Seen>);

impl Watcher for Repetitions {
    fn show(&mut self, _standing: &Standing) {}

    fn span(&mut self, span: &Span) {
        self.0.extend(Seen::of(span));
    }
}

/// Runs the operation on `threads` threads for `seconds`, after a warm-up.
fn seen<S: Site>(
    site: &S,
    micro: &Micro,
    (threads, seed): (u32, u64),
    span_s: f64,
) -> Result<Tried<Vec<Seen>>> {
    let (warm_up_s, run_s) = (WARM_SHARE * span_s, (1.0 - WARM_SHARE) * span_s);
    let window_s = run_s / REPETITIONS as f64;
    let (windows, rate, part, run_metrics) = (REPETITIONS, None, Part::WHOLE, None);
    let plan = RunPlan { threads, warm_up_s, window_s, windows, seed, rate, part, run_metrics };
    let mut repetitions = Repetitions::default();
    let run: Run = driver::run(site, micro, &plan, interruption(), &mut repetitions)?;
    if run.is_interrupted {
        return Ok(Tried::Interrupted);
    }
    ensure!(
        !run.is_out_of_memory,
        "the memory servers are full; increase their memory, or use fewer --threads"
    );
    ensure!(!run.is_unreachable, "a server became unreachable");
    Ok(match repetitions.0 {
        seen if seen.is_empty() => Tried::Nothing { in_s: run_s },
        seen => Tried::Seen(seen),
    })
}
