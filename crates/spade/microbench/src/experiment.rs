//! The design of the experiment: which points are measured.
//!
//! The full factorial design has more than ten thousand points. Instead, one factor at a time
//! varies around a default, and those pairs of factors vary together whose effects do not add up:
//!
//! ```text
//! factors                      levels                            reason
//! operation, path, place       all combinations, three storages  they define the operations
//! row size x storage           8 to 1,024 bytes, all three       a bucket is fetched whole
//! neighbourhood x load         1 to 32 x 40, 65, 90 %            a small full bucket has chains
//! neighbourhood x row size     1 to 32 x 16, 256 bytes           [SPADE 4.1, Fig. 4]
//! neighbourhood, rows outside  1 to 32                           buckets of pointers
//! node size x row size         256 to 4,096 x 64, 256 bytes      a leaf is fetched whole
//! rows of lookup and scan      1, 4, 16, 64                      how much a round trip carries
//! replicas x row size          3 x 16, 64, 256 bytes             [SPADE 4.2, Fig. 6]
//! versions beside, kept or not 1, 8 x 1 to many rows in cycle    a row updated again soon may
//!                                                                still need its old version
//! ```
//! Neighbourhoods larger than the engine's maximum ([`layout::bucket::SLOTS_MAX`]) are left out.
//! The most informative points come first, so that an interrupted run has them.
//!
//! Decision: docs/decisions/0193-one-parameter-is-varied-at-a-time-interacting-pairs-together.md

use layout::Storage;
use layout::bucket::SLOTS_MAX;
use spade_format::measurement::{
    AccessPath, Effort, Operation, Parameters, Place, Version, Versions, World,
};

/// Version of the method; it changes when the same parameters mean something else.
pub const METHOD: u32 = 3;

/// Row sizes in bytes, in the order in which they are measured.
const ROW_BYTES: [u32; 8] = [64, 256, 16, 1024, 8, 128, 512, 32];
const NEIGHBOURHOODS: [u32; 6] = [8, 1, 2, 4, 16, 32];
/// Planned fill factors, in percent.
const LOAD_PERCENTS: [u32; 3] = [65, 90, 40];
const NODE_BYTES: [u32; 5] = [512, 1024, 256, 2048, 4096];
/// Rows per lookup, in addition to one.
const LOOKUP_ROWS: [u32; 2] = [4, 16];
/// Rows per scan, in addition to the default.
const SCAN_ROWS: [u32; 3] = [1, 4, 64];
/// Default number of rows per scan.
const SCANNED: u32 = 16;

/// Versions kept beside a row that a lane soon updates again.
const BESIDE: [u32; 2] = [1, 8];
/// Number of rows that a lane of a simulated cluster updates cyclically. With the last number, no
/// snapshot needs a row's old version any more when it is updated again.
const AMONG: [u32; 8] = [1, 4, 8, 16, 24, 32, 48, 128];
/// The same for a lane on a real fabric, where a cycle may take much less than a microsecond.
const AMONG_REAL: [u32; 7] = [1, 8, 32, 128, 512, 2048, 8192];
/// Number of rows updated cyclically with more than one version beside, on a simulated cluster and
/// on a real fabric; few of their versions must be moved.
const AMONG_FEW: [u32; 2] = [8, 512];
/// Further row size for which old versions are moved, in bytes.
const MOVED_BYTES: u32 = 512;

/// The fabric of simulated clusters.
const SIMULATED: &str = "sim";

#[derive(Clone, Debug)]
pub struct Choice {
    pub world: World,
    pub effort: Effort,
    /// Places that this world supports.
    pub places: Vec<Place>,
    /// Whether it can model replicas.
    pub replicates: bool,
}

/// Returns the version of points measured by this program with this effort and seed.
pub fn version(effort: Effort, seed: u64) -> Version {
    Version { program: env!("CARGO_PKG_VERSION").to_owned(), method: METHOD, effort, seed }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Setting {
    storage: Storage,
    path: AccessPath,
    row_bytes: u32,
    neighbourhood: u32,
    load_percent: u32,
    node_bytes: u32,
    replicas: u32,
    /// Versions beside a row, and whether their memory is kept; `None` by default.
    versions: Option<(u32, bool)>,
}

const STORAGES: [Storage; 3] = [Storage::HashInlined, Storage::HashOutside, Storage::Tree];

impl Setting {
    const fn usual(storage: Storage) -> Self {
        Self {
            storage,
            path: AccessPath::Primary,
            row_bytes: ROW_BYTES[0],
            neighbourhood: NEIGHBOURHOODS[0],
            load_percent: LOAD_PERCENTS[0],
            node_bytes: NODE_BYTES[0],
            replicas: 1,
            versions: None,
        }
    }

    fn is_usual(&self) -> bool {
        *self == Self { path: self.path, ..Self::usual(self.storage) }
    }
}

impl Choice {
    /// Returns the points, grouped by table, the most informative first.
    pub fn groups(&self) -> Vec<Vec<Parameters>> {
        let mut settings: Vec<Setting> = Vec::new();
        for setting in self.settings() {
            if !settings.contains(&setting) {
                settings.push(setting);
            }
        }
        settings.iter().map(|setting| self.points(setting)).collect()
    }

    fn settings(&self) -> Vec<Setting> {
        let inlined = Setting::usual(Storage::HashInlined);
        let [primary, by_hash, by_tree] =
            AccessPath::ALL.map(|path| STORAGES.map(|of| Setting { path, ..Setting::usual(of) }));
        // The tuner needs at least these: it uses an index over rows of other storages as an
        // estimate for one over inlined rows.
        let mut all = [&primary[..], &by_hash[..1], &by_tree[..1]].concat();
        if self.effort == Effort::Quick {
            return all;
        }
        all.extend([by_hash, by_tree].concat());
        for row_bytes in ROW_BYTES {
            all.extend(STORAGES.map(|of| Setting { row_bytes, ..Setting::usual(of) }));
        }
        // The paper's lookups of 256 bytes through either index [SPADE 4.1, Fig. 5].
        let (path, row_bytes) = (AccessPath::SecondaryHash, 256);
        all.extend(STORAGES[..2].iter().map(|&of| Setting {
            path,
            row_bytes,
            ..Setting::usual(of)
        }));
        if self.replicates {
            let three = |row_bytes| Setting { replicas: 3, row_bytes, ..inlined };
            all.extend([64, 256, 16].map(three));
            all.extend(
                STORAGES[1..].iter().map(|&of| Setting { replicas: 3, ..Setting::usual(of) }),
            );
            all.push(Setting { replicas: 2, ..inlined });
        }
        let there_are = |slots: &u32| *slots <= SLOTS_MAX;
        for neighbourhood in NEIGHBOURHOODS.into_iter().filter(there_are) {
            let beside = Setting { neighbourhood, ..inlined };
            all.extend([256, 16].map(|row_bytes| Setting { row_bytes, ..beside }));
            all.extend(LOAD_PERCENTS.map(|load_percent| Setting { load_percent, ..beside }));
            all.push(Setting { neighbourhood, ..Setting::usual(Storage::HashOutside) });
        }
        let old = |beside: u32, keeps: bool| Setting { versions: Some((beside, keeps)), ..inlined };
        all.extend(BESIDE.map(|beside| old(beside, true)));
        all.push(old(1, false));
        all.push(Setting { row_bytes: MOVED_BYTES, ..old(1, true) });
        for node_bytes in NODE_BYTES {
            let tree = Setting { node_bytes, ..Setting::usual(Storage::Tree) };
            all.extend([64, 256].map(|row_bytes| Setting { row_bytes, ..tree }));
            all.push(Setting { node_bytes, path: AccessPath::SecondaryTree, ..inlined });
        }
        all
    }

    /// Returns the points of cyclic updates. Local rows suffice, because how long old versions are
    /// needed does not depend on the place; owners execute shipped updates as local ones.
    fn changes(&self, setting: &Setting, (beside, keeps): (u32, bool)) -> Vec<Parameters> {
        let is_simulated = self.world.fabric == SIMULATED;
        let all: &[u32] = if is_simulated { &AMONG } else { &AMONG_REAL };
        let few = &AMONG_FEW[usize::from(!is_simulated)];
        let most = all[all.len() - 1];
        let is_usual = *setting
            == Setting { versions: Some((1, true)), ..Setting::usual(Storage::HashInlined) };
        let among: &[u32] = match (is_usual, keeps) {
            (true, _) => all,
            (false, true) if beside == 1 => &all[..1],
            (false, true) => std::slice::from_ref(few),
            (false, false) => &all[all.len() - 1..],
        };
        let home = self.places.iter().find(|place| **place == Place::Local);
        let home = home.or(self.places.first());
        let is_meant =
            |among: u32, place: &Place| among == 1 || among == most || Some(place) == home;
        let point = |among: u32, place: Place| Parameters {
            versions: Some(Versions { beside, keeps, among }),
            ..self.parameters(setting, Operation::Update, 1, place)
        };
        let each = among.iter().flat_map(|&among| {
            let places = self.places.iter().filter(|place| **place != Place::Shipped);
            let places = places.filter(move |place| is_meant(among, place));
            places.map(move |&place| point(among, place))
        });
        each.collect()
    }

    fn points(&self, setting: &Setting) -> Vec<Parameters> {
        if let Some(versions) = setting.versions {
            return self.changes(setting, versions);
        }
        let scans = match setting.path {
            AccessPath::Primary => setting.storage == Storage::Tree,
            AccessPath::SecondaryHash => false,
            AccessPath::SecondaryTree => true,
        };
        let mut tasks: Vec<(Operation, u32)> = Vec::new();
        let is_full = self.effort == Effort::Full;
        for operation in Operation::ALL.into_iter().filter(|&one| scans || one != Operation::Scan) {
            let rows = if operation == Operation::Scan { SCANNED } else { 1 };
            tasks.push((operation, rows));
            let further = match operation {
                Operation::Lookup if setting.path == AccessPath::Primary => &LOOKUP_ROWS[..],
                Operation::Scan => &SCAN_ROWS[..],
                _ => &[],
            };
            let further = if is_full { further } else { &further[further.len().min(1)..] };
            if setting.is_usual() {
                tasks.extend(further.iter().map(|&rows| (operation, rows)));
            }
        }
        let each = |(operation, rows)| {
            let at = move |&place| self.parameters(setting, operation, rows, place);
            self.places.iter().map(at)
        };
        tasks.into_iter().flat_map(each).collect()
    }

    fn parameters(
        &self,
        setting: &Setting,
        operation: Operation,
        rows: u32,
        place: Place,
    ) -> Parameters {
        let is_hash = setting.storage != Storage::Tree;
        let has_nodes = !is_hash || setting.path == AccessPath::SecondaryTree;
        let of_hash = |number| if is_hash { number } else { 0 };
        Parameters {
            world: self.world.clone(),
            operation,
            path: setting.path,
            place,
            rows,
            storage: setting.storage,
            row_bytes: setting.row_bytes,
            neighbourhood: of_hash(setting.neighbourhood),
            load_percent: of_hash(setting.load_percent),
            node_bytes: if has_nodes { setting.node_bytes } else { 0 },
            replicas: setting.replicas,
            versions: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn choice(effort: Effort) -> Choice {
        let world = World {
            fabric: "sim".to_owned(),
            hardware: "connectx3-fdr".to_owned(),
            machines: 5,
            threads: 16,
            lanes: 32,
        };
        Choice { world, effort, places: Place::ALL.to_vec(), replicates: true }
    }

    #[test]
    fn every_point_is_measured_once_and_all_points_of_a_table_together() {
        for effort in [Effort::Quick, Effort::Full] {
            let groups = choice(effort).groups();
            let all: BTreeSet<&Parameters> = groups.iter().flatten().collect();
            assert_eq!(all.len(), groups.iter().map(Vec::len).sum::<usize>());
            for group in groups {
                let table = |point: &Parameters| {
                    let p = point;
                    let versions = p.versions.map(|of| (of.beside, of.keeps));
                    let shape = (p.path, p.row_bytes, p.neighbourhood, p.load_percent);
                    (shape, p.node_bytes, p.replicas, versions)
                };
                assert!(group.iter().all(|point| table(point) == table(&group[0])));
            }
        }
    }

    #[test]
    fn every_accessed_table_is_varied() {
        let groups = choice(Effort::Full).groups();
        let points: Vec<&Parameters> = groups.iter().flatten().collect();
        let values = |of: fn(&Parameters) -> u32| {
            points.iter().map(|point| of(point)).collect::<BTreeSet<u32>>().into_iter().collect()
        };
        let row_bytes: Vec<u32> = values(|point| point.row_bytes);
        assert_eq!(row_bytes, [8, 16, 32, 64, 128, 256, 512, 1024]);
        let neighbourhoods: Vec<u32> = values(|point| point.neighbourhood);
        assert_eq!(neighbourhoods[..5], [0, 1, 2, 4, 8]);
        assert_eq!(neighbourhoods.last(), Some(&SLOTS_MAX.min(32)));
        let replicas: Vec<u32> = values(|point| point.replicas);
        assert_eq!(replicas, [1, 2, 3]);
        let nodes: Vec<u32> = values(|point| point.node_bytes);
        assert_eq!(nodes, [0, 256, 512, 1024, 2048, 4096]);
        let old = |of: fn(&Versions) -> u32| -> BTreeSet<u32> {
            points.iter().filter_map(|point| point.versions.as_ref()).map(of).collect()
        };
        assert_eq!(old(|of| of.beside), BTreeSet::from(BESIDE));
        assert_eq!(old(|of| of.among), BTreeSet::from(AMONG));
        assert_eq!(old(|of| u32::from(of.keeps)), BTreeSet::from([0, 1]));
        for operation in Operation::ALL {
            for path in AccessPath::ALL {
                for place in Place::ALL {
                    let found = points.iter().any(|point| {
                        (point.operation, point.path, point.place) == (operation, path, place)
                    });
                    let is_possible =
                        operation != Operation::Scan || path != AccessPath::SecondaryHash;
                    assert_eq!(found, is_possible, "{operation} {path} {place}");
                }
            }
        }
    }

    #[test]
    fn an_interrupted_run_has_the_points_that_the_tuner_requires() {
        let tables = |effort: Effort| -> Vec<(AccessPath, Storage)> {
            let groups = choice(effort).groups();
            groups.iter().map(|group| (group[0].path, group[0].storage)).collect()
        };
        let quick = tables(Effort::Quick);
        let primary = STORAGES.map(|storage| (AccessPath::Primary, storage));
        let indexes = [AccessPath::SecondaryHash, AccessPath::SecondaryTree];
        let indexes = indexes.map(|path| (path, Storage::HashInlined));
        assert_eq!(quick, [&primary[..], &indexes[..]].concat());
        assert_eq!(tables(Effort::Full)[..quick.len()], quick);
    }

    #[test]
    fn worlds_without_replicas_have_none() {
        let choice = Choice { replicates: false, ..choice(Effort::Full) };
        assert!(choice.groups().iter().flatten().all(|point| point.replicas == 1));
    }
}
