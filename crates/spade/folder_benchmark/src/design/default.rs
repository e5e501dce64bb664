//! The default design of a workload, computed from its procedures and its load.
//!
//! Decision: docs/decisions/0208-the-default-design-is-dense-where-the-load-says-so.md

use super::{DesignContext, places};
use layout::{IndexKind, Storage};
use spade_format::design::{
    Access, Design, IndexDesign, Partition, Placement, ProcedureDesign, TableDesign,
};

/// Maximal number of slots of a dense placement per row. An empty slot costs only memory.
const DENSE_PLACES_PER_ROW: u64 = 2;
/// Bytes of a bucket of inlined rows; a lookup reads the whole bucket.
const BUCKET_BYTES: u64 = 512;
/// Bytes of a slot beyond the columns: header, version, share of the bucket's words.
const SLOT_OVERHEAD_BYTES: u64 = 32;
const SLOTS_MAX: u64 = 8;
/// Planned load of buckets with several slots, and of those with few slots, which overflow sooner.
const LOAD_PERCENT: u32 = 65;
const LOAD_PERCENT_FEW: u32 = 50;
/// A bucket with fewer slots has few.
const FEW_SLOTS: u64 = 4;
/// Node size in bytes, as in the hand-written TPC-C. Larger nodes split less often, but cost more
/// to read and write.
const NODE_BYTES: u32 = 1536;
/// Old versions beside hot rows, which are updated faster than the collection horizon advances: the
/// maximum.
const VERSIONS_BESIDE_HOT: u32 = 8;
/// Old versions beside other rows.
const VERSIONS_BESIDE_COLD: u32 = 1;
/// A row is hot if more than one of this number of calls updates it.
const HOT_CALLS: f64 = 10_000.0;

/// Up to this row size, rows keep the memory of their old versions. Memory that is returned is
/// reused while it is in caches; memory that stays with a row is not, which costs larger rows more
/// than the four verbs of returning and allocating.
const KEPT_BYTES_MAX: u64 = 128;

/// The design of a folder without a design file.
///
/// - A table is a tree if a procedure scans its key in order, or if rows are appended to it because
///   no procedure reads them or their keys are counted up: a lane caches the leaf for the next
///   insert. All other tables are hash tables with inlined rows.
/// - If keys fill their ranges, the placement is dense with one slot per bucket, so that a lookup
///   reads only the row. Otherwise keys are hashed, and a bucket has as many slots as fit into half
///   a kilobyte.
/// - Small rows of tables that do not grow keep the memory of their old versions. Otherwise each
///   update would need four verbs to return and allocate it.
/// - A unique index that is used for lookups is a hash index, unless procedures scan it in order.
///   Other indexes are as the schema declares.
pub(crate) fn default_design(subject: &DesignContext<'_>) -> Design {
    let tables = (0..subject.workload.catalog.tables.len()).map(|at| table_design(subject, at));
    let procedures = subject.workload.procedures.iter().map(|of| ProcedureDesign {
        procedure: of.routine.name.clone(),
        access: Access::OneSided,
        by: None,
    });
    let design = Design::new(subject.name.to_owned(), tables.collect(), procedures.collect());
    design.for_units(subject.population.scale().units, subject.usual_units)
}

fn table_design(subject: &DesignContext<'_>, at: usize) -> TableDesign {
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

/// The ranges of the key columns, if rows fill them.
fn dense(subject: &DesignContext<'_>, at: usize) -> Option<Vec<(i64, u64)>> {
    let columns = subject.key_ranges(at)?;
    let room = subject.rows(at).saturating_mul(DENSE_PLACES_PER_ROW);
    (places(&columns) <= room).then_some(columns)
}

/// Bucket size and placement of hashed rows of `row_bytes` bytes.
fn hashed(row_bytes: u64) -> (u32, Placement) {
    let slots = (BUCKET_BYTES / (row_bytes + SLOT_OVERHEAD_BYTES)).clamp(1, SLOTS_MAX);
    let load_percent = if slots < FEW_SLOTS { LOAD_PERCENT_FEW } else { LOAD_PERCENT };
    (slots as u32, Placement::Hashed { load_percent })
}
