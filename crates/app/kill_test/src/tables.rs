//! The tables of the test.

use namdb::{CatalogError, Db, RecordTable, Storage, record};

/// Concurrent sequences of transactions. Each has its own threads, numbers and rows.
pub const WORKERS: u32 = 8;
/// Accounts of the bank.
pub const ACCOUNTS: u32 = 16;
/// Balance of each account at first.
pub const BALANCE: i64 = 1_000;
/// Entries kept in the history of an account.
pub const ENTRIES: u64 = 24;
/// Places for notes of each worker.
pub const PLACES: u32 = 6;
/// Rows that all workers insert and delete.
pub const MARKS: u32 = 12;
/// Rows that one transaction writes together.
pub const CELLS: u32 = 150;
/// Rows of the table that is created and dropped.
pub const EXTRAS: u32 = 10;
/// Rows of the table with the unique index that is created and dropped.
pub const TWINS: u32 = 10;

record! {
    /// The last transaction of a worker, and the round that committed it.
    pub struct Counter in "counter" {
        key { worker: u32 }
        number: u64,
        round: u64,
    }
}

record! {
    /// An account with the number of entries in its history.
    pub struct Account in "account" {
        key { account: u32 }
        balance: i64,
        entries: u64,
    }
}

record! {
    /// A change of an account, by one transaction of a worker, and the balance after it.
    pub struct Entry in "entry" {
        key { account: u32, sequence: u64 }
        worker: u32,
        number: u64,
        amount: i64,
        balance: i64,
    }
}

record! {
    /// A note of a worker. Its title moves from place to place.
    pub struct Note in "note" {
        key { worker: u32, place: u32 }
        title: String[24],
        title_number: u32,
        written_by: u64,
        text: String[9000],
    }
    unique by_title(title);
}

record! {
    /// Present or absent: each transaction that names it toggles that.
    pub struct Mark in "mark" {
        key { mark: u32 }
        worker: u32,
        number: u64,
    }
}

/// The same table with an index, which is created and dropped under load.
pub mod indexed {
    use namdb::record;

    record! {
        pub struct Mark in "mark" {
            key { mark: u32 }
            worker: u32,
            number: u64,
        }
        index by_worker(worker);
    }

    record! {
        pub struct Twin in "twin" {
            key { twin: u32 }
            name: u32,
        }
        unique by_name(name);
    }
}

record! {
    /// One of the rows that a transaction writes together.
    pub struct Cell in "cell" {
        key { cell: u32 }
        worker: u32,
        number: u64,
    }
}

record! {
    /// A row with the name of another, until all get names of their own for a unique index.
    pub struct Twin in "twin" {
        key { twin: u32 }
        name: u32,
    }
}

record! {
    /// A row of the table that is created and dropped. The generation counts the creations.
    pub struct Extra in "extra" {
        key { extra: u32 }
        generation: u64,
    }
}

record! {
    /// The generation of the last table `extra` that was dropped.
    pub struct Kept in "kept" {
        key { kept: u32 }
        generation: u64,
    }
}

/// The tables that are always there.
#[derive(Clone, Copy)]
pub struct Tables {
    pub counters: RecordTable<Counter>,
    pub accounts: RecordTable<Account>,
    pub entries: RecordTable<Entry>,
    pub notes: RecordTable<Note>,
    pub marks: RecordTable<Mark>,
    pub cells: RecordTable<Cell>,
    pub twins: RecordTable<Twin>,
    pub kept: RecordTable<Kept>,
}

impl Tables {
    pub fn open_or_create(db: &Db) -> Result<Self, CatalogError> {
        Ok(Self {
            counters: RecordTable::open_or_create(db, Default::default())?,
            accounts: RecordTable::open_or_create(db, Default::default())?,
            entries: RecordTable::open_or_create(db, Storage::Tree.into())?,
            notes: RecordTable::open_or_create(db, Storage::Tree.into())?,
            marks: RecordTable::open_or_create(db, Storage::Tree.into())?,
            cells: RecordTable::open_or_create(db, Storage::Tree.into())?,
            twins: RecordTable::open_or_create(db, Storage::Tree.into())?,
            kept: RecordTable::open_or_create(db, Default::default())?,
        })
    }
}
