//! Kinds of worlds: how the database stores lists, and what sessions do with them. The seed draws
//! the rest.

use layout::{IndexKind, Storage};
use sim::Carrier;
use txn::{Isolation, Oracle};

/// The ways to find a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finding {
    /// By a few keys; one of them has a row.
    Keys,
    /// By a few keys, or by the owner through an index.
    KeysOrIndex(IndexKind),
    /// By the owner through an index only: any row may hold any list. The index is unique.
    Owner(IndexKind),
}

/// The division of the table of lists, each part on a memory server of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Division {
    Whole,
    /// Parts by ranges of the lists' rows.
    Ranges(u16),
    /// Parts by the hash of the key. Scans by key find no order then.
    Hashed(u16),
    /// Copies; each session reads the nearest.
    Copied(u16),
}

impl Division {
    /// Memory servers that it needs.
    pub fn servers(self) -> u16 {
        match self {
            Self::Whole => 1,
            Self::Ranges(count) | Self::Hashed(count) | Self::Copied(count) => count,
        }
    }
}

impl Kind {
    /// Whether compute servers or memory servers die.
    pub fn has_deaths(&self) -> bool {
        self.deaths > 0 || self.server_deaths > 0
    }
}

/// A kind of world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// The storage of rows; `None`: drawn by the seed.
    pub storage: Option<Storage>,
    /// The way to find lists.
    pub finding: Finding,
    /// The isolation level.
    pub isolation: Isolation,
    pub oracle: Oracle,
    /// The processor that executes verbs; `None`: cards or callers, drawn by the seed.
    pub carrier: Option<Carrier>,
    /// Memory servers; 0: one to three, drawn by the seed.
    pub servers: u16,
    /// Words of each memory server. Zeroing more of them would take as long as the rest of a run.
    pub server_words: u64,
    /// Sessions, each on an endpoint of its own.
    pub sessions: u64,
    /// Transactions of a session.
    pub transactions: u64,
    /// The largest number of operations of a transaction.
    pub operations: u64,
    /// Lists in use at a time.
    pub lists: u64,
    /// Number of appends to a list before another one takes its place.
    pub elements: usize,
    /// Percentage of reads among operations.
    pub read_percent: u64,
    /// Percentage of appends that move the list to another row.
    pub move_percent: u64,
    /// Percentage of pauses in which the transaction is parked, and after which it goes on on
    /// another lane.
    pub park_percent: u64,
    /// Percentage of operations after a pause.
    pub pause_percent: u64,
    /// Longest pause.
    pub pause_ns: u64,
    /// Small buckets, few old versions, a time limit that transactions exceed, and permanent
    /// collection.
    pub is_tight: bool,
    /// Elements are stored out of line.
    pub is_long: bool,
    /// Sessions begin one after another, so that lanes are added while others run.
    pub is_staggered: bool,
    /// One in this many batches loses its completion; 0: none.
    pub lost_batch_one_in: u32,
    /// Percentage of visits of the whole table among operations.
    pub visit_percent: u64,
    /// Old versions beside a row; 0: drawn by the seed.
    pub versions_beside: u32,
    /// The time limit of a transaction if `is_tight`; 0: drawn by the seed.
    pub time_max_ns: u64,
    /// The longest time between two words of a verb; 0: drawn by the seed.
    pub word_ns: u64,
    /// The slow-down factor of some verbs; 0: drawn by the seed.
    pub slow_factor: u64,
    /// One in this many verbs is slow, if the seed does not draw it.
    pub slow_one_in: u32,
    /// The words of a verb are touched in the order of their addresses: a header first.
    pub is_in_order: bool,
    /// Whether the lanes' numbers are nearly used up.
    pub is_near_wrap: bool,
    /// Whether lanes of a compute server share a slot.
    pub shares_slot: bool,
    /// Copies of vectors that a collector freezes and compute servers fetch; 0: each process
    /// freezes vectors when it needs them.
    pub vector_copies: u32,
    /// Whether the first session's compute server does not know that a collector freezes vectors.
    pub has_unaware_lane: bool,
    /// Slots of the vector; 0: the usual number. With few slots, copies get a new base every few
    /// vectors.
    pub slots: u32,
    /// Whether lanes insert by means of cached leaves. Rows are then also inserted without a read,
    /// and some inserts are refused in transactions that continue.
    pub keeps_leaves: bool,
    /// Whether rows keep the memory of their old versions.
    pub keeps_versions: bool,
    /// Rows that exist from the beginning and hold no list.
    pub spare_rows: i64,
    /// Percentage of transactions that insert rows between those of a list, or delete them, so that
    /// leaves split and absorb each other around the lists.
    pub tide_percent: u64,
    /// Slots of a bucket; 0: 2 if `is_tight`, else 4.
    pub neighbourhood: u32,
    /// How the table is divided.
    pub division: Division,
    /// Whether another table is created, used and dropped again while sessions run.
    pub has_passing_table: bool,
    /// Whether the index is created, used and dropped again while sessions run.
    pub remakes_index: bool,
    /// The size of a node of a tree.
    pub node_bytes: u32,
    /// Whether the key of a row has two words, so that the words of two keys can be mixed to the
    /// key of a third row.
    pub has_wide_keys: bool,
    /// Whether the server with the first buckets of the table hands out no more memory, so that
    /// overflow blocks are on the others. Rows must be, too: their old versions are beside them.
    pub has_far_blocks: bool,
    /// Compute servers that die while sessions run, and are recovered.
    pub deaths: u64,
    /// Places of each region's contents: more than 1 with replicas. At most as many as servers.
    pub replicas: u16,
    /// Memory servers that die while sessions run, each with its region. There are replicas.
    pub server_deaths: u64,
    /// Whether each memory server that has died returns, and is filled, before the next one dies.
    pub returns: bool,
    /// Whether the seed draws everything, see [`crate::swarm`].
    pub is_drawn: bool,
}

/// Snapshot isolation in a table with spare room.
pub const ROOMY: Kind = Kind {
    storage: None,
    finding: Finding::Keys,
    isolation: Isolation::Snapshot,
    oracle: Oracle::DoubleCollect,
    carrier: None,
    servers: 0,
    server_words: 1 << 18,
    sessions: 4,
    transactions: 25,
    operations: 4,
    lists: 4,
    elements: 8,
    read_percent: 50,
    move_percent: 20,
    park_percent: 0,
    pause_percent: 20,
    pause_ns: 8_000,
    is_tight: false,
    is_long: false,
    is_staggered: false,
    lost_batch_one_in: 0,
    visit_percent: 5,
    versions_beside: 0,
    time_max_ns: 0,
    word_ns: 0,
    slow_factor: 0,
    slow_one_in: 8,
    is_in_order: false,
    is_near_wrap: false,
    shares_slot: false,
    vector_copies: 0,
    has_unaware_lane: false,
    slots: 0,
    keeps_leaves: false,
    keeps_versions: false,
    spare_rows: 0,
    tide_percent: 0,
    neighbourhood: 0,
    division: Division::Whole,
    has_passing_table: false,
    remakes_index: false,
    node_bytes: 256,
    has_wide_keys: false,
    has_far_blocks: false,
    deaths: 0,
    replicas: 1,
    server_deaths: 0,
    returns: false,
    is_drawn: false,
};

/// Many short transactions of many sessions, so that vectors are read while they change.
pub const CROWD: Kind = Kind {
    sessions: 6,
    transactions: 25,
    operations: 4,
    lists: 4,
    elements: 24,
    read_percent: 75,
    move_percent: 0,
    pause_percent: 0,
    word_ns: 2000,
    ..ROOMY
};
/// Every list is moved from row to row by lanes that cache the leaves they have written, and is
/// found by an index as often as by its keys, so that transactions insert rows without having read
/// them.
pub const KEPT: Kind = Kind {
    storage: Some(Storage::Tree),
    finding: Finding::KeysOrIndex(IndexKind::Tree),
    move_percent: 60,
    lists: 3,
    keeps_leaves: true,
    ..ROOMY
};
/// Sessions begin one after another.
pub const STAGGERED: Kind = Kind { is_staggered: true, ..ROOMY };
/// Frozen vectors.
pub const FROZEN: Kind = Kind { oracle: Oracle::Frozen, ..CROWD };
/// Two compute servers fetch vectors from copies, and a few verbs take very long.
pub const FETCHED_LATE: Kind = Kind {
    shares_slot: true,
    vector_copies: 2,
    slots: 16,
    slow_factor: 1000,
    slow_one_in: 50,
    word_ns: 100,
    transactions: 50,
    ..FROZEN
};
/// Two compute servers whose lanes share a slot.
pub const SHARED: Kind = Kind { shares_slot: true, ..CROWD };
/// Serializable transactions.
pub const SERIAL: Kind = Kind { isolation: Isolation::Serializable, ..ROOMY };
/// Completions are lost.
pub const LOSSY: Kind = Kind { lost_batch_one_in: 60, ..ROOMY };
/// The lanes' numbers are used up.
pub const WRAP: Kind = Kind { is_near_wrap: true, ..ROOMY };

/// Permanent growth and collection.
pub const TIGHT: Kind = Kind { is_tight: true, transactions: 40, ..ROOMY };
/// Hot lists, old versions, long readers, collection.
pub const HOT: Kind = Kind { lists: 2, elements: 12, pause_percent: 30, pause_ns: 20_000, ..TIGHT };
/// The same with long times between the words of a row, and some slow verbs.
pub const SLOW: Kind = Kind { word_ns: 500, slow_factor: 100, versions_beside: 1, ..HOT };
/// A list that is written permanently while long readers run: old versions pile up.
pub const PILED: Kind = Kind {
    lists: 2,
    elements: 100,
    transactions: 80,
    operations: 3,
    move_percent: 0,
    pause_percent: 5,
    pause_ns: 400_000,
    versions_beside: 1,
    time_max_ns: 1_000_000_000,
    ..TIGHT
};
/// The same over cards, where one write installs a row.
pub const SLOW_CARDS: Kind = Kind { carrier: Some(Carrier::Card), ..SLOW };
/// Old versions keep their memory, over cards.
pub const KEPT_VERSIONS: Kind = Kind { keeps_versions: true, ..SLOW_CARDS };
/// Elements are stored out of line. Readers pause for longer than the time limit, while writers
/// collect values and use their memory again.
pub const LONG: Kind =
    Kind { is_long: true, elements: 12, move_percent: 20, time_max_ns: 5_000, ..PILED };
/// Many lists, each soon full: tables grow.
pub const GROWING: Kind =
    Kind { elements: 2, lists: 6, move_percent: 40, visit_percent: 15, ..TIGHT };
/// Tables grow under hot rows.
pub const GROWING_HOT: Kind = Kind {
    storage: Some(Storage::HashInlined),
    elements: 5,
    read_percent: 25,
    word_ns: 400,
    ..GROWING
};
/// The same over cards, with long times between the words of a row.
pub const GROWING_CARDS: Kind =
    Kind { carrier: Some(Carrier::Card), word_ns: 2000, slow_factor: 20, ..GROWING_HOT };
/// Lists move permanently, so that rows are inserted and deleted.
pub const MOVING: Kind =
    Kind { move_percent: 70, lists: 3, pause_percent: 30, pause_ns: 20_000, ..TIGHT };
/// The same with parked transactions; no transaction takes too long.
pub const MOVING_PARKED: Kind =
    Kind { park_percent: 80, pause_percent: 60, time_max_ns: 1_000_000_000, ..MOVING };
/// The same with rows that keep the memory of their old versions.
pub const MOVING_KEPT: Kind = Kind { keeps_versions: true, ..MOVING };
/// The same with vectors fetched from copies, where snapshots soon are too old.
pub const MOVING_FETCHED: Kind = Kind {
    oracle: Oracle::Frozen,
    shares_slot: true,
    vector_copies: 2,
    time_max_ns: 10_000,
    ..MOVING
};
/// The same in leaves over cards, with long times between words.
pub const MOVING_CARDS: Kind = Kind {
    storage: Some(Storage::Tree),
    carrier: Some(Carrier::Card),
    word_ns: 4000,
    pause_ns: 4_000,
    ..MOVING
};
/// The same in buckets, where snapshots soon are too old.
pub const MOVING_HASH: Kind =
    Kind { storage: Some(Storage::HashInlined), time_max_ns: 10_000, ..MOVING };
/// The same with serializable transactions.
pub const MOVING_SERIAL: Kind = Kind { isolation: Isolation::Serializable, ..MOVING };

/// Lists are found only by a unique tree index, and rows change owners.
pub const OWNED: Kind =
    Kind { finding: Finding::Owner(IndexKind::Tree), move_percent: 50, ..TIGHT };
/// The same over cards, with rows and index entries on several servers, and long times between
/// words.
pub const OWNED_CARDS: Kind = Kind {
    carrier: Some(Carrier::Card),
    servers: 3,
    word_ns: 300,
    slow_factor: 300,
    is_in_order: true,
    lists: 1,
    move_percent: 100,
    read_percent: 10,
    time_max_ns: 10_000,
    ..OWNED
};
/// The same with new lists all the time, in existing rows: only the unique index prevents that two
/// rows hold one.
pub const OWNED_NEW: Kind = Kind { elements: 4, spare_rows: 60, move_percent: 80, ..OWNED_CARDS };
/// The same with a hash index.
pub const OWNED_BY_HASH: Kind = Kind { finding: Finding::Owner(IndexKind::Hash), ..OWNED };
/// The same with rows stored out of their buckets, where snapshots soon are too old.
pub const OWNED_OUTSIDE: Kind = Kind {
    storage: Some(Storage::HashOutside),
    move_percent: 80,
    time_max_ns: 20_000,
    pause_percent: 30,
    pause_ns: 20_000,
    ..OWNED
};

/// Rows come and go between lists that move, in small leaves, while readers pause for longer than
/// the time limit: leaves with collected entries split and absorb each other under them.
pub const TIDAL: Kind = Kind {
    storage: Some(Storage::Tree),
    node_bytes: 64,
    tide_percent: 50,
    time_max_ns: 5_000,
    pause_ns: 100_000,
    sessions: 6,
    ..MOVING
};
/// Slow readers of rows that lose their old versions as soon as they rest.
pub const RESTING: Kind = Kind {
    storage: Some(Storage::HashOutside),
    lists: 2,
    elements: 100,
    move_percent: 0,
    operations: 2,
    sessions: 8,
    transactions: 60,
    pause_percent: 20,
    pause_ns: 5_000,
    time_max_ns: 2_000,
    word_ns: 1_000,
    slow_factor: 200,
    slow_one_in: 3,
    versions_beside: 1,
    ..HOT
};
/// All rows are in one bucket, from which lanes with different horizons collect.
pub const ONE_BUCKET: Kind = Kind { neighbourhood: 16, sessions: 6, ..MOVING_HASH };
/// A hot row whose old versions move to the overflow list while slow readers search them.
pub const PILED_SLOW: Kind = Kind {
    slow_factor: 1000,
    word_ns: 500,
    sessions: 6,
    pause_ns: 40_000,
    transactions: 40,
    carrier: Some(Carrier::Card),
    ..PILED
};
/// New lists all the time in new rows, whose memory is on other servers than their entries.
pub const OWNED_BORN: Kind = Kind {
    elements: 2,
    spare_rows: 0,
    is_tight: false,
    time_max_ns: 0,
    sessions: 5,
    pause_percent: 0,
    ..OWNED_NEW
};
/// An index over hash rows comes and goes, while few sessions end after a few commits.
pub const REMADE: Kind = Kind {
    finding: Finding::KeysOrIndex(IndexKind::Tree),
    oracle: Oracle::Frozen,
    remakes_index: true,
    server_words: 1 << 19,
    sessions: 3,
    transactions: 5,
    read_percent: 20,
    pause_percent: 50,
    pause_ns: 100_000,
    ..ROOMY
};
/// A compute server freezes vectors itself, beside others that fetch those of a collector.
pub const FETCHED_BESIDE: Kind = Kind {
    oracle: Oracle::Frozen,
    shares_slot: true,
    vector_copies: 2,
    slots: 16,
    has_unaware_lane: true,
    ..CROWD
};

/// The same with hot rows and slow readers, whose old versions are collected.
pub const PILED_BESIDE: Kind = Kind {
    lists: 1,
    elements: 8,
    sessions: 7,
    transactions: 40,
    is_tight: true,
    time_max_ns: 20_000,
    pause_percent: 5,
    pause_ns: 20_000,
    word_ns: 4_000,
    slow_factor: 1000,
    slow_one_in: 8,
    ..FETCHED_BESIDE
};

/// Rows come and go in a tree in two parts, under an index whose entries are often on another
/// server than their rows. Some verbs are slow, so that entry and row are written far apart.
pub const REBORN: Kind = Kind {
    storage: Some(Storage::Tree),
    finding: Finding::KeysOrIndex(IndexKind::Hash),
    carrier: Some(Carrier::Caller),
    division: Division::Hashed(2),
    is_long: true,
    elements: 2,
    sessions: 8,
    servers: 3,
    lists: 2,
    operations: 3,
    move_percent: 80,
    pause_percent: 0,
    time_max_ns: 20_000,
    slow_factor: 300,
    slow_one_in: 20,
    ..MOVING
};

/// Rows of two-word keys come and go all the time in slots of one bucket, which visits read word by
/// word.
pub const WIDE: Kind = Kind {
    storage: Some(Storage::HashOutside),
    has_wide_keys: true,
    neighbourhood: 16,
    visit_percent: 50,
    tide_percent: 40,
    lists: 2,
    elements: 4,
    sessions: 6,
    transactions: 50,
    pause_ns: 4_000,
    word_ns: 300,
    slow_factor: 300,
    slow_one_in: 20,
    ..MOVING
};

/// The same with entries of three words in a hash index, which lists are found by.
pub const WIDE_INDEXED: Kind = Kind {
    finding: Finding::KeysOrIndex(IndexKind::Hash),
    visit_percent: 0,
    move_percent: 90,
    ..WIDE
};

/// Rows come and go in chains of small buckets, and splits move them between servers. Some verbs
/// are slow, so that a block or an old version is written long after a bucket or row on another
/// server.
pub const FAR_BLOCKS: Kind = Kind {
    storage: Some(Storage::HashInlined),
    servers: 3,
    neighbourhood: 1,
    lists: 8,
    sessions: 6,
    tide_percent: 30,
    pause_percent: 5,
    time_max_ns: 5_000,
    slow_factor: 300,
    slow_one_in: 20,
    ..MOVING
};

/// The same with all overflow blocks on another server than their buckets.
pub const FAR_SLOTS: Kind = Kind {
    storage: Some(Storage::HashOutside),
    has_far_blocks: true,
    servers: 2,
    neighbourhood: 2,
    lists: 4,
    sessions: 8,
    transactions: 60,
    operations: 2,
    read_percent: 10,
    move_percent: 100,
    tide_percent: 20,
    pause_percent: 0,
    slow_one_in: 6,
    ..FAR_BLOCKS
};

impl Kind {
    /// The kind with this storage of rows.
    pub const fn storing(self, storage: Storage) -> Self {
        Self { storage: Some(storage), ..self }
    }
}

/// Compute servers die in the middle of their commits.
pub const DEADLY: Kind = Kind {
    deaths: 2,
    sessions: 9,
    transactions: 40,
    read_percent: 10,
    lists: 6,
    pause_percent: 0,
    servers: 2,
    ..ROOMY
};

/// Compute servers die while they split, absorb and collect: rows come and go, and each write takes
/// long.
pub const DEADLY_UPKEEP: Kind = Kind {
    storage: Some(Storage::Tree),
    finding: Finding::KeysOrIndex(IndexKind::Tree),
    carrier: Some(Carrier::Card),
    is_tight: true,
    time_max_ns: 1_000_000_000,
    elements: 2,
    operations: 2,
    move_percent: 100,
    tide_percent: 50,
    word_ns: 2000,
    slow_factor: 20,
    node_bytes: 64,
    server_words: 1 << 20,
    ..DEADLY
};

/// A memory server dies whose region has a replica, while rows come and go in parts of a table.
pub const LOSING: Kind = Kind {
    deaths: 0,
    server_deaths: 1,
    replicas: 2,
    servers: 3,
    division: Division::Ranges(3),
    ..DEADLY_UPKEEP
};
/// Compute servers die, too.
pub const LOSING_BOTH: Kind = Kind { deaths: 2, ..LOSING };

/// Memory servers die, return and are filled, and then those die that have their regions.
pub const RETURNING: Kind = Kind { server_deaths: 2, returns: true, transactions: 60, ..LOSING };

/// The same in chains of small buckets whose blocks are on several servers, so that a commit writes
/// where it holds no lock. Some verbs are slow: the dead leave much under way.
pub const LOSING_FAR: Kind = Kind {
    deaths: 2,
    server_deaths: 1,
    replicas: 2,
    server_words: 1 << 20,
    time_max_ns: 1_000_000_000,
    visit_percent: 0,
    ..FAR_BLOCKS
};
