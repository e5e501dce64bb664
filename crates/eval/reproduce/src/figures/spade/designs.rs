//! Physical designs of the paper's versions, chosen by hand according to its text and our
//! microbenchmarks; a tuner's designs have the same type.

use layout::{IndexKind, Storage};
use spade::design::{
    Access, Design, IndexDesign, Partition, Placement, ProcedureDesign, TableDesign,
};
use workload::tatp::{Kind, TABLE_NAMES};

/// The versions of TATP [SPADE 5.3].
pub(crate) const VERSIONS: [&str; 4] = ["baseline", "+IST", "+IST +P", "+IST +P +RAT"];
/// Number of rows of each table per hundred subscribers.
const ROWS_PER_HUNDRED: [u64; 4] = [100, 250, 250, 375];
/// Default slots of a bucket, which favour small rows.
const NEIGHBOURHOOD: u32 = 8;
/// The engine's default, for all tables.
const LOAD_PERCENT: u32 = 65;

/// The design of version `version`, counted from the baseline, for this many subscribers.
pub(crate) fn tatp(version: usize, subscribers: u64) -> Design {
    let tables = (0..TABLE_NAMES.len()).map(|table| TableDesign {
        table: TABLE_NAMES[table].to_owned(),
        partition: if version >= 2 { together() } else { Partition::RoundRobin },
        rows: subscribers * ROWS_PER_HUNDRED[table] / 100,
        indexes: if table == 0 { vec![number(subscribers)] } else { Vec::new() },
        ..if version == 0 { untuned() } else { tuned(table, subscribers) }
    });
    let procedures = Kind::MIX.iter().map(|&(kind, _)| ProcedureDesign {
        procedure: kind.name().to_owned(),
        access: access(version, kind),
        by: None,
    });
    Design::new("tatp".to_owned(), tables.collect(), procedures.collect())
}

/// The same design for all tables.
fn untuned() -> TableDesign {
    TableDesign {
        table: String::new(),
        storage: Storage::HashInlined,
        neighbourhood: NEIGHBOURHOOD,
        placement: Placement::Hashed { load_percent: LOAD_PERCENT },
        node_bytes: 512,
        versions_beside: 1,
        keeps_versions: true,
        rows: 0,
        partition: Partition::RoundRobin,
        indexes: Vec::new(),
    }
}

/// Tables with dense keys are addressed without hashing, with one slot per row: a read fetches
/// nothing else. Call forwardings are inserted and deleted, and are hashed.
fn tuned(table: usize, subscribers: u64) -> TableDesign {
    let dense = |columns| TableDesign {
        neighbourhood: 1,
        placement: Placement::Dense { columns },
        ..untuned()
    };
    match table {
        0 => dense(vec![(1, subscribers)]),
        1 | 2 => dense(vec![(1, subscribers), (1, 4)]),
        _ => TableDesign { neighbourhood: 2, ..untuned() },
    }
}

/// Partitions all four tables by the subscriber.
fn together() -> Partition {
    Partition::By { columns: vec!["s_id".to_owned()], group: "subscriber".to_owned() }
}

fn number(subscribers: u64) -> IndexDesign {
    IndexDesign {
        index: "subscriber_number".to_owned(),
        kind: IndexKind::Hash,
        node_bytes: 512,
        entries: subscribers,
    }
}

/// Without partitions everything is one-sided, and with them everything is shipped; with tuned
/// remote accesses, procedures that take one round trip by verbs use verbs.
fn access(version: usize, kind: Kind) -> Access {
    let is_one_round_trip = matches!(kind, Kind::GetSubscriberData | Kind::GetAccessData);
    match version {
        0 | 1 => Access::OneSided,
        3 if is_one_round_trip => Access::OneSided,
        _ => Access::Shipped,
    }
}
