//! Shipped workloads, and measurements of a cluster with known prices.

use layout::Storage;
use procedure::Workload;
use spade::design::Design;
use spade::measurement::*;
use spade::tune::{
    DesignForecast, Forecaster, Input, Options, TuneError, Tuning, forecast, sweep, tune,
};
use sql::WorkloadFolder;
use std::path::{Path, PathBuf};

/// A workload that tests can modify.
pub struct Subject {
    pub folder: WorkloadFolder,
    pub workload: Workload,
}

pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads").join(name)
}

impl Subject {
    pub fn shipped(name: &str) -> Self {
        let of = folder(name);
        let workload = Workload::read(&of).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { folder: WorkloadFolder::read(&of).expect("it is shipped"), workload }
    }

    /// Calls only this procedure.
    pub fn only(mut self, name: &str) -> Self {
        for of in &mut self.folder.load.procedures {
            of.frequency = if of.procedure == name { 1.0 } else { 0.0 };
        }
        self
    }

    pub fn tune(
        &self,
        measurements: &Measurements,
        options: &Options,
    ) -> Result<Tuning, TuneError> {
        tune(Input { folder: &self.folder, workload: &self.workload, measurements }, options)
    }

    pub fn forecast(
        &self,
        measurements: &Measurements,
        options: &Options,
        design: &Design,
    ) -> Result<DesignForecast, TuneError> {
        let input = Input { folder: &self.folder, workload: &self.workload, measurements };
        forecast(input, options, design)
    }

    pub fn forecaster<'a>(
        &'a self,
        measurements: &'a Measurements,
        options: &'a Options,
    ) -> Forecaster<'a> {
        let input = Input { folder: &self.folder, workload: &self.workload, measurements };
        Forecaster::new(input, options).unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn sweep(&self, measurements: &Measurements, options: &Options) -> Vec<Design> {
        let input = Input { folder: &self.folder, workload: &self.workload, measurements };
        sweep(input, options).unwrap_or_else(|error| panic!("{error}")).collect()
    }

    pub fn tuned(&self, measurements: &Measurements, options: &Options) -> Tuning {
        self.tune(measurements, options).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// The measurements of the shipped designs.
pub fn shipped_measurements() -> Measurements {
    measurements("connectx3-fdr")
}

pub fn measurements(name: &str) -> Measurements {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("measurements");
    let file = folder.join(format!("{name}.json"));
    let text = std::fs::read_to_string(&file).expect("the measurements are shipped");
    Measurements::parse(&text).expect("this program has written them")
}

/// The points that a quick run measures: usual designs, and indexes over inlined rows only.
pub fn quick(all: &Measurements) -> Measurements {
    let mut quick = Measurements::default();
    for point in all.points() {
        let of = &point.parameters;
        let is_usual = of.row_bytes == 64
            && of.replicas == 1
            && of.versions.is_none()
            && matches!(of.neighbourhood, 0 | 8)
            && matches!(of.load_percent, 0 | 65)
            && matches!(of.node_bytes, 0 | 512);
        let is_measured = of.path == AccessPath::Primary || of.storage == Storage::HashInlined;
        if is_usual && is_measured && matches!(of.rows, 1 | 4 | 16 | 64) {
            let mut point = point.clone();
            point.version.effort = Effort::Quick;
            quick.put(point);
        }
    }
    quick
}

/// Prices of an artificial cluster in nanoseconds.
#[derive(Clone, Copy)]
pub struct Prices {
    /// Card engine, per verb.
    pub verb: f64,
    /// Link, per byte.
    pub byte: f64,
    /// Cores, per message with its response.
    pub call: f64,
    /// Cores, per row read.
    pub row: f64,
    /// Unit for atomics, per lock.
    pub lock: f64,
    /// Latency of a round trip.
    pub trip: f64,
}

pub const PRICES: Prices =
    Prices { verb: 100.0, byte: 0.1, call: 500.0, row: 100.0, lock: 100.0, trip: 2000.0 };

pub fn options() -> Options {
    Options { hardware: Some("hand-made".to_owned()), machines: Some(4), ..Options::default() }
}

pub fn world() -> World {
    let (fabric, hardware) = ("sim".to_owned(), "hand-made".to_owned());
    World { fabric, hardware, machines: 4, threads: 8, lanes: 64 }
}

const ROWS: [u32; 4] = [8, 64, 256, 1024];
const NODES: [u32; 3] = [256, 512, 4096];

impl Prices {
    pub fn measured(&self) -> Measurements {
        let mut all = Measurements::default();
        for (storage, path, place) in combinations() {
            let usual = usual(storage, path, place);
            let has_nodes = usual.node_bytes > 0;
            let mut points: Vec<Parameters> =
                ROWS.map(|row_bytes| Parameters { row_bytes, ..usual.clone() }).to_vec();
            if storage != Storage::Tree && path == AccessPath::Primary {
                for neighbourhood in [1, 2, 4] {
                    points.extend(ROWS.map(|row_bytes| Parameters {
                        row_bytes,
                        neighbourhood,
                        ..usual.clone()
                    }));
                }
            }
            if has_nodes {
                points.extend(NODES.map(|node_bytes| Parameters { node_bytes, ..usual.clone() }));
            }
            for point in points {
                for (operation, rows) in operations(&point) {
                    all.put(self.point(Parameters { operation, rows, ..point.clone() }));
                }
            }
        }
        all
    }

    /// All points, and points of updates of few rows in turn: an update within `needed_ns` of the
    /// last one moves an old version, which takes a call. Returning memory costs as much as a lock
    /// and a verb.
    pub fn aged(&self, needed_ns: f64) -> Measurements {
        let mut all = self.measured();
        let places = [Place::Local, Place::OneSided];
        let turns = [1, 10, 100].map(|among| Versions { beside: 1, keeps: true, among });
        let others = [(8, true, 10), (1, false, 100)].map(|(beside, keeps, among)| Versions {
            beside,
            keeps,
            among,
        });
        for (place, versions) in places
            .into_iter()
            .flat_map(|place| turns.into_iter().chain(others).map(move |of| (place, of)))
        {
            let usual = usual(Storage::HashInlined, AccessPath::Primary, place);
            let operation = Operation::Update;
            let mut point = self.point(Parameters { operation, versions: Some(versions), ..usual });
            let again_ns = needed_ns / 10.0 * 0.999 * f64::from(versions.among);
            let is_moved = versions.beside == 1 && again_ns < needed_ns;
            let Measured { alone, loaded, service } = &mut point.measured;
            loaded.moved = Some(Moved { share: f64::from(u8::from(is_moved)), again_ns });
            let mut more = 0.0;
            if is_moved {
                more += self.trip;
                service.requester.core_ns += self.call;
            }
            if !versions.keeps {
                more += self.trip;
                service.requester.engine_ns += self.verb;
                service.requester.core_ns += self.call;
            }
            alone.median_ns = Spread::of(&[alone.median_ns.median + more]);
            all.put(point);
        }
        all
    }

    pub fn quick(&self) -> Measurements {
        quick(&self.measured())
    }

    fn point(&self, parameters: Parameters) -> Point {
        let (service, latency) = self.service(&parameters);
        let demand = service.requester;
        let world = world();
        // Only the bottleneck stage causes waiting.
        let owner = service.owner.unwrap_or_default();
        let full = [
            ("cores", (demand.core_ns + owner.core_ns) / f64::from(world.threads)),
            ("engine", demand.engine_ns),
            ("link in", demand.link_in_ns),
            ("atomics", demand.atomics_ns + owner.atomics_ns),
        ];
        let (stage, ns) = full
            .into_iter()
            .max_by(|one, other| one.1.total_cmp(&other.1))
            .expect("there are four");
        let rate = f64::from(world.machines) * 1e9 / ns;
        let spread = |value: f64| Spread::of(&[value]);
        let (median_ns, p99_ns) = (spread(latency), spread(2.0 * latency));
        Point {
            parameters,
            version: Version { program: "0".to_owned(), method: 1, effort: Effort::Full, seed: 1 },
            measured: Measured {
                alone: Alone { median_ns, p99_ns },
                loaded: Loaded {
                    operations_per_s: spread(rate),
                    per_thread_per_s: spread(rate / 32.0),
                    median_ns,
                    p99_ns,
                    aborts: 0.0,
                    busiest: Some((stage.to_owned(), 1.0)),
                    moved: None,
                },
                service,
            },
        }
    }

    fn service(&self, of: &Parameters) -> (Service, f64) {
        let (row, rows) = (f64::from(of.row_bytes) + 40.0, f64::from(of.rows));
        let slots = f64::from(of.neighbourhood);
        let chained = chained(of.neighbourhood);
        let (steps, slot) = match of.storage {
            Storage::HashInlined => (1.0, row),
            Storage::HashOutside => (2.0, 16.0),
            Storage::Tree => (2.0, 0.0),
        };
        let bytes = match of.storage {
            Storage::HashInlined => 40.0 + (slots + 2.0 * chained) * slot,
            Storage::HashOutside => 40.0 + (slots + 2.0 * chained) * slot + row,
            Storage::Tree => f64::from(of.node_bytes) + row,
        };
        let verbs = steps + chained;
        let (entry, entry_bytes) = match of.path {
            AccessPath::Primary => (0.0, 0.0),
            AccessPath::SecondaryHash => (2.0, 200.0),
            AccessPath::SecondaryTree => (1.0, f64::from(of.node_bytes)),
        };
        let writes = !matches!(of.operation, Operation::Lookup | Operation::Scan);
        let changes = matches!(of.operation, Operation::Insert | Operation::Delete);
        let written = if writes { 3.0 + if changes { entry } else { 0.0 } } else { 0.0 };
        let trips = steps
            + if writes { 2.0 } else { 0.0 }
            + if of.path == AccessPath::Primary { 0.0 } else { entry };
        let reads = rows * verbs + entry;
        let moved = rows * bytes + entry_bytes + written * row;
        let core_ns = self.row * (reads + written);
        // Medians do not include chains.
        let alone_ns = self.row * (rows * steps + entry + written);
        let lock = if writes { self.lock } else { 0.0 };
        let local = Demand { core_ns, atomics_ns: lock, ..Demand::default() };
        let (requester, owner, latency) = match of.place {
            Place::Local => (local, None, alone_ns + if writes { self.trip } else { 0.0 }),
            Place::OneSided => {
                let wire = moved * self.byte;
                let requester = Demand {
                    core_ns: 2.0 * core_ns,
                    engine_ns: self.verb * (reads + written),
                    link_in_ns: wire,
                    ..Demand::default()
                };
                let owner = Demand { atomics_ns: lock, ..Demand::default() };
                (requester, Some(owner), self.trip * trips + wire)
            }
            Place::Shipped => {
                let requester = Demand {
                    core_ns: self.call,
                    engine_ns: self.verb,
                    link_in_ns: row * self.byte,
                    ..Demand::default()
                };
                (requester, Some(local), self.trip * 1.5 + alone_ns)
            }
        };
        let service = Service {
            verbs: reads + written,
            bytes: moved,
            round_trips: trips,
            calls: 0.0,
            card_requests: Some(reads + written),
            requester,
            owner,
            others: Some(Demand::default()),
        };
        (service, latency)
    }
}

/// Mean number of overflow blocks per lookup in buckets with 65 % load (Poisson).
fn chained(slots: u32) -> f64 {
    match slots {
        1 => 0.325,
        2 => 0.1640,
        4 => 0.0856,
        8 => 0.0356,
        _ => 0.0,
    }
}

fn combinations() -> Vec<(Storage, AccessPath, Place)> {
    let storages = [Storage::HashInlined, Storage::HashOutside, Storage::Tree];
    let paths = storages.into_iter().flat_map(|of| AccessPath::ALL.map(|path| (of, path)));
    paths.flat_map(|(of, path)| Place::ALL.map(|place| (of, path, place))).collect()
}

fn usual(storage: Storage, path: AccessPath, place: Place) -> Parameters {
    let is_hash = storage != Storage::Tree;
    let has_nodes = !is_hash || path == AccessPath::SecondaryTree;
    Parameters {
        world: world(),
        operation: Operation::Lookup,
        path,
        place,
        rows: 1,
        storage,
        row_bytes: 64,
        neighbourhood: if is_hash { 8 } else { 0 },
        load_percent: if is_hash { 65 } else { 0 },
        node_bytes: if has_nodes { 512 } else { 0 },
        replicas: 1,
        versions: None,
    }
}

fn operations(of: &Parameters) -> Vec<(Operation, u32)> {
    let mut all: Vec<(Operation, u32)> =
        [Operation::Lookup, Operation::Update, Operation::Insert, Operation::Delete]
            .map(|one| (one, 1))
            .to_vec();
    if of.path == AccessPath::Primary {
        all.push((Operation::Lookup, 16));
    }
    if of.node_bytes > 0 && of.path != AccessPath::SecondaryHash {
        all.extend([1, 16].map(|rows| (Operation::Scan, rows)));
    }
    all
}
