//! The design of a workload that nobody has tuned: what follows from its procedures and its load alone.
//!
//! Decision: docs/decisions/0208-the-default-design-is-dense-where-the-load-says-so.md

use super::{Subject, places};
use layout::{IndexKind, Storage};
use spade_format::design::{
    Access, Design, IndexDesign, Partition, Placement, ProcedureDesign, TableDesign,
};

/// Places of a dense placement for each row at most: an empty one costs memory, and nothing else.
const DENSE_PLACES_PER_ROW: u64 = 2;
/// Bytes of a bucket of inlined rows, which a lookup reads whole.
const BUCKET_BYTES: u64 = 512;
/// What a slot takes beside the columns: header, version, bucket's words.
const SLOT_OVERHEAD_BYTES: u64 = 32;
/// Most slots of a bucket.
const SLOTS_MAX: u64 = 8;
/// Planned load of buckets of some slots, and of buckets of few, which overflow sooner.
const LOAD_PERCENT: u32 = 65;
const LOAD_PERCENT_FEW: u32 = 50;
/// Slots below which a bucket has few.
const FEW_SLOTS: u64 = 4;
/// Bytes of a node: as the hand-written TPC-C has them. Larger ones split less often, and cost more to read and write.
const NODE_BYTES: u32 = 1536;
/// Old versions beside rows that change faster than the horizon of collection moves: as many as there can be.
const VERSIONS_BESIDE_HOT: u32 = 8;
/// Old versions beside all others.
const VERSIONS_BESIDE_COLD: u32 = 1;
/// A row that one call in so many changes is such a row.
const HOT_CALLS: f64 = 10_000.0;

/// Bytes of rows up to which old versions stay with them. What is given back is taken again while it is in caches; what stays
/// with a row is not, which costs larger ones more than the four verbs of giving and taking.
const KEPT_BYTES_MAX: u64 = 128;

/// The design where no file says another one.
///
/// - A table that a procedure goes through in the order of its key is a tree, and one that rows are appended to, because
///   nobody looks for them, or because their keys are counted on: a lane knows the leaf that takes the next one. All others are
///   hash tables with inlined rows.
/// - Keys that fill their ranges are placed by counting, one slot in each bucket, so that nothing but the row is read.
///   Others are hashed, as many slots in a bucket as make half a kilobyte.
/// - Small rows of tables that do not grow keep the memory of their old versions, which four verbs would give back and take
///   again with each change.
/// - An index by which rows are looked up, one at most by each key, is a hash table, unless procedures go through it
///   in its order. Else it is what the schema says.
pub(crate) fn default_design(subject: &Subject<'_>) -> Design {
    let tables = (0..subject.workload.catalog.tables.len()).map(|at| table_design(subject, at));
    let procedures = subject.workload.procedures.iter().map(|of| ProcedureDesign {
        procedure: of.routine.name.clone(),
        access: Access::OneSided,
        by: None,
    });
    let design = Design::new(subject.name.to_owned(), tables.collect(), procedures.collect());
    design.for_units(subject.population.scale().units, subject.usual_units)
}

fn table_design(subject: &Subject<'_>, at: usize) -> TableDesign {
    let (table, uses) = (&subject.workload.catalog.tables[at], &subject.uses.tables[at]);
    let rows = subject.rows(at).max(1);
    let is_appended_to = uses.grows && (uses.counts_on || !uses.is_read);
    let storage = match uses.order.procedure.is_some() || is_appended_to {
        true => Storage::Tree,
        false => Storage::HashInlined,
    };
    let (neighbourhood, placement) = match dense(subject, at).filter(|_| !uses.grows) {
        Some(columns) if storage != Storage::Tree => (1, Placement::Dense { columns }),
        _ => hashed(table.schema.raw_bytes()),
    };
    let is_hot = uses.changing_share * HOT_CALLS > rows as f64;
    let indexes = table.indexes.iter().zip(&uses.indexes).map(|(index, uses)| IndexDesign {
        index: index.name.clone(),
        kind: match (&uses.order.procedure, uses.is_looked_up && index.unique) {
            (Some(_), _) => IndexKind::Tree,
            (None, true) => IndexKind::Hash,
            (None, false) => index.kind,
        },
        node_bytes: NODE_BYTES,
        entries: rows,
    });
    TableDesign {
        table: table.name.clone(),
        storage,
        neighbourhood,
        placement,
        node_bytes: NODE_BYTES,
        versions_beside: if is_hot { VERSIONS_BESIDE_HOT } else { VERSIONS_BESIDE_COLD },
        keeps_versions: uses.changing_share > 0.0
            && !uses.grows
            && table.schema.raw_bytes() <= KEPT_BYTES_MAX,
        rows,
        partition: Partition::RoundRobin,
        indexes: indexes.collect(),
    }
}

/// The ranges of the key's columns, if rows fill them.
fn dense(subject: &Subject<'_>, at: usize) -> Option<Vec<(i64, u64)>> {
    let columns = subject.key_ranges(at)?;
    let room = subject.rows(at).saturating_mul(DENSE_PLACES_PER_ROW);
    (places(&columns) <= room).then_some(columns)
}

/// Slots of a bucket and placement of hashed rows of so many bytes.
fn hashed(row_bytes: u64) -> (u32, Placement) {
    let slots = (BUCKET_BYTES / (row_bytes + SLOT_OVERHEAD_BYTES)).clamp(1, SLOTS_MAX);
    let load_percent = if slots < FEW_SLOTS { LOAD_PERCENT_FEW } else { LOAD_PERCENT };
    (slots as u32, Placement::Hashed { load_percent })
}
