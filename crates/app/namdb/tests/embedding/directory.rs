//! A database with a directory: what was committed is there after the next opening.

use fabric::run_now;
use namdb::{
    Column, ColumnType, Config, Db, Durability, DurabilityError, IndexDesign, Isolation,
    KeyBuilder, KeyValueTable, OpenError, Outcome, RecordTable, Retry, Schema, Storage, TableSpec,
    TransactionError, host, record,
};
use std::path::PathBuf;
use std::sync::mpsc::{self, TryRecvError};
use std::time::Duration;

record! {
    /// An account with a long note and an index.
    pub struct Account in "account" {
        key { id: u64 }
        owner: String[20],
        note: String[2000],
        balance: i64,
    }
    index by_owner(owner);
}

/// A directory of its own for each test, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("namdb-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    pub fn config(&self, durability: Durability) -> Config {
        let directory = Some(self.0.clone());
        Config { server_bytes: 128 << 20, directory, durability, ..Config::default() }
    }

    pub fn open(&self, durability: Durability) -> Db {
        namdb::open(self.config(durability)).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn account(id: u64, balance: i64) -> Account {
    let note = format!("note of {id} ").repeat((id % 100) as usize);
    Account { id, owner: format!("owner {}", id % 7), note, balance }
}

pub fn put(db: &Db, accounts: RecordTable<Account>, ids: std::ops::Range<u64>, balance: i64) {
    let mut session = db.session();
    for id in ids {
        let done = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
            txn.upsert(accounts, &account(id, balance))
        });
        done.expect("it commits");
    }
}

/// All accounts, by table and by index.
pub fn check(db: &Db, expected: impl Fn(u64) -> Option<i64>, ids: std::ops::Range<u64>) {
    let accounts = RecordTable::<Account>::open(db).expect("the table is there");
    let by_owner = Account::by_owner(db).expect("the index is there");
    let mut session = db.session();
    let read = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
        for id in ids.clone() {
            let row = txn.get(accounts, id)?;
            assert_eq!(row, expected(id).map(|balance| account(id, balance)), "account {id}");
        }
        let found = txn.index(by_owner).get("owner 3")?;
        assert!(found.iter().all(|account| account.owner == "owner 3"));
        namdb::Ok(found.len())
    });
    let expected = ids.filter(|&id| id % 7 == 3 && expected(id).is_some()).count();
    assert_eq!(read.expect("reads commit"), expected);
}

/// A single session does not wake a thread for each commit.
#[test]
fn a_waiting_session_writes_its_group_itself() {
    let folder = Folder::new("own-group");
    let db = folder.open(Durability::Synchronous);
    let accounts = RecordTable::<Account>::create(&db, Storage::Tree.into()).expect("new");
    let groups = || db.directory_statistics().expect("it has a directory").session_groups;
    let before = groups();
    for id in 0..50 {
        put(&db, accounts, id..id + 1, 1);
    }
    // The flusher may have looked after a commit while another one was under way.
    assert!(groups() - before >= 40, "{} of 50 commits", groups() - before);
}

/// Sessions that come while another one writes its group wake the flusher's thread, and do not wait
/// for its interval.
#[test]
fn a_session_that_cannot_write_its_group_wakes_the_flusher() {
    let folder = Folder::new("groups");
    let db = folder.open(Durability::Periodic(Duration::from_secs(60)));
    let accounts = RecordTable::<Account>::create(&db, Storage::Tree.into()).expect("new");
    let begin = host::Moment::now();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let db = db.clone();
            scope.spawn(move || {
                let mut session = db.session();
                session.set_synchronous(true);
                for id in 0..50 {
                    let done = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
                        txn.upsert(accounts, &account(100 * thread + id, 1))
                    });
                    done.expect("it commits");
                }
            });
        }
    });
    assert!(begin.elapsed_s() < 30.0, "{} s", begin.elapsed_s());
    assert!(db.directory_statistics().expect("it has a directory").groups <= 4 * 50);
}

#[test]
fn the_catalog_comes_back_without_what_was_dropped() {
    let folder = Folder::new("catalog");
    let names = ["a", "b", "c"];
    {
        let db = folder.open(Durability::default());
        for name in names {
            let table = KeyValueTable::create(&db, name, 8, 8, Default::default()).expect("new");
            let mut session = db.session();
            let mut kv = session.key_value().expect("a lane is free");
            kv.write(table, b"k", name.as_bytes()).expect("it fits");
            kv.commit().expect("it commits");
        }
        db.drop_table("b").expect("it exists");
        assert!(db.drop_table("b").is_err());
    }
    {
        let db = folder.open(Durability::default());
        assert!(db.table("b").is_none());
        KeyValueTable::create(&db, "b", 8, 8, Default::default()).expect("the name is free");
        db.checkpoint().expect("the disk works");
    }
    let db = folder.open(Durability::default());
    let mut session = db.session();
    let mut kv = session.key_value().expect("a lane is free");
    for (name, expected) in [("a", Some("a")), ("b", None), ("c", Some("c"))] {
        let table = KeyValueTable::open(&db, name).expect("it exists");
        let value = kv.read(table, b"k").expect("it reads");
        assert_eq!(value.as_deref(), expected.map(str::as_bytes), "{name}");
    }
}

/// Opens the files as a crash at this moment would leave them, apart from writes that were not
/// synced.
fn after_a_crash(folder: &Folder, name: &str) -> (Folder, Db) {
    let copy = Folder::new(name);
    std::fs::create_dir(&copy.0).expect("the name is free");
    for file in std::fs::read_dir(&folder.0).expect("the folder is there") {
        let path = file.expect("an entry").path();
        std::fs::copy(&path, copy.0.join(path.file_name().expect("a name"))).expect("a file");
    }
    let db = copy.open(Durability::default());
    (copy, db)
}

/// The index is created by hand, so that the rows are older than it.
fn by_balance() -> IndexDesign {
    IndexDesign {
        name: "by_balance".to_owned(),
        columns: vec![3],
        unique: true,
        ..IndexDesign::default()
    }
}

/// Filling an index gives rows new versions. The entries of later commits name these, so the log
/// must have them.
#[test]
fn rows_change_after_an_index_was_filled_from_them() {
    let folder = Folder::new("filled");
    let db = folder.open(Durability::default());
    let accounts = RecordTable::<Account>::create(&db, Storage::Tree.into()).expect("new");
    let mut session = db.session();
    let mut write = |balances: std::ops::Range<i64>| {
        let written = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
            for (id, balance) in (0..).zip(balances.clone()) {
                txn.upsert(accounts, &account(id, balance))?;
            }
            txn.delete(accounts, 5)
        });
        written.expect("it commits");
    };
    write(0..20);
    db.create_index("account", by_balance()).expect("balances differ");
    write(100..120);
    let (_copy, db) = after_a_crash(&folder, "filled-copy");
    check(&db, |id| (id != 5 && id < 20).then_some(100 + id as i64), 0..25);
}

/// An index may need commits that nobody has waited for: without those that made its keys unique,
/// it could not be filled again.
#[test]
fn an_index_is_not_durable_before_the_rows_it_was_filled_from() {
    let folder = Folder::new("unique");
    let db = folder.open(Durability::Periodic(Duration::from_secs(60)));
    let accounts = RecordTable::<Account>::create(&db, Storage::Tree.into()).expect("new");
    let mut session = db.session();
    let mut write = |is_synchronous, balance: fn(u64) -> i64| {
        let written = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
            txn.set_synchronous(is_synchronous);
            (0..4).try_for_each(|id| txn.upsert(accounts, &account(id, balance(id))).map(drop))
        });
        written.expect("it commits");
    };
    write(true, |_| 1);
    write(false, |id| id as i64);
    db.create_index("account", by_balance()).expect("balances differ");
    let (_copy, db) = after_a_crash(&folder, "unique-copy");
    assert!(db.index("account", "by_balance").is_some());
    check(&db, |id| (id < 4).then_some(id as i64), 0..5);
}

/// A table may be dropped because its rows are elsewhere by now.
#[test]
fn a_table_is_not_gone_before_the_copies_of_its_rows_are_durable() {
    let folder = Folder::new("moved");
    let db = folder.open(Durability::Periodic(Duration::from_secs(60)));
    let open = |name| KeyValueTable::create(&db, name, 8, 8, Default::default()).expect("new");
    let (old, new) = (open("old"), open("new"));
    let mut session = db.session();
    let mut move_row = |is_synchronous| {
        let moved = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
            txn.set_synchronous(is_synchronous);
            let table = if is_synchronous { old } else { new };
            txn.write_value(table, b"k", b"v")
        });
        moved.expect("it commits");
    };
    move_row(true);
    move_row(false);
    db.drop_table("old").expect("it exists");
    let (_copy, db) = after_a_crash(&folder, "moved-copy");
    let new = KeyValueTable::open(&db, "new").expect("it exists");
    let mut session = db.session();
    let mut kv = session.key_value().expect("a lane is free");
    assert!(db.table("old").is_none());
    assert_eq!(kv.read(new, b"k").expect("it reads").as_deref(), Some(&b"v"[..]));
}

/// Lanes of the engine's own handle, and relaxed transactions: the flusher finds their commits
/// itself, and goes to rest when all are durable.
#[test]
fn commits_that_nobody_waits_for_become_durable() {
    let folder = Folder::new("relaxed");
    let db = folder.open(Durability::Periodic(Duration::from_millis(2)));
    let columns = vec![Column::new("id", ColumnType::Int8)];
    let schema = Schema::new("t", columns, &[0]).expect("the columns are fine");
    let spec = TableSpec { schema, design: Default::default(), indexes: Vec::new() };
    let table = db.create_table(spec).expect("the table is new");
    let key = |id: i64| KeyBuilder::new().int8(id).key();
    let database = db.handle();
    let mut lane = run_now(database.lane()).expect("a lane is free");
    let groups = || db.directory_statistics().expect("it has a directory").groups;
    let settled = || {
        let mut last = (groups(), 0);
        while last.1 < 20 {
            host::sleep_ms(5);
            let now = groups();
            last = if now == last.0 { (now, last.1 + 1) } else { (now, 0) };
        }
        last.0
    };
    let mut before = settled();
    for id in 0..3 {
        let mut txn = run_now(lane.begin(Isolation::Snapshot)).expect("it begins");
        run_now(txn.insert(table, &key(id))).expect("the key is new");
        assert_eq!(run_now(txn.commit()), Outcome::Committed);
        let after = settled();
        assert!(after > before, "a group for commit {id}");
        before = after;
        let (_copy, copy) = after_a_crash(&folder, "relaxed-copy");
        let mut session = copy.session();
        let found = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
            namdb::Ok(txn.rows().read(table, &key(id))?.is_some())
        });
        assert_eq!(found, Ok(true), "row {id}");
    }
}

#[test]
fn a_second_opening_and_a_wrong_directory_are_refused() {
    let folder = Folder::new("refused");
    let db = folder.open(Durability::default());
    let second = namdb::open(folder.config(Durability::default())).map(drop);
    let second = second.expect_err("the directory is locked").to_string();
    assert!(second.contains("end the other process, or choose another directory"), "{second}");
    drop(db);
    std::fs::write(folder.0.join("letter.txt"), "dear").expect("the folder is there");
    drop(folder.open(Durability::default()));
    let other = Folder::new("refused-other");
    std::fs::create_dir(&other.0).expect("the name is free");
    std::fs::write(other.0.join("letter.txt"), "dear").expect("the folder is there");
    let refused = namdb::open(other.config(Durability::default())).map(drop);
    let refused = refused.expect_err("somebody's files are there");
    assert!(matches!(refused, OpenError::Directory(DurabilityError::NotEmpty { .. })));
    let copied = namdb::directory::back_up(&folder.0, &other.0, |_| {})
        .map(drop)
        .expect_err("it is not empty");
    assert!(copied.to_string().contains("has no database, but other files"), "{copied}");
    let copied = namdb::directory::back_up(&folder.0, &folder.0, |_| {})
        .map(drop)
        .expect_err("it is the source");
    assert!(copied.to_string().contains("has a database already"), "{copied}");
    let no_parent = other.0.join("a/b");
    let config = Config { directory: Some(no_parent), ..other.config(Durability::default()) };
    let refused = namdb::open(config).map(drop).expect_err("the parent is missing").to_string();
    assert!(refused.contains("its parent must exist"), "{refused}");
}

#[test]
fn every_flipped_byte_after_a_clean_close_is_refused_by_name() {
    let folder = Folder::new("flipped");
    {
        let db = folder.open(Durability::default());
        let accounts = RecordTable::<Account>::create(&db, Storage::Tree.into()).expect("new");
        put(&db, accounts, 0..20, 1);
        db.checkpoint().expect("the disk works");
        put(&db, accounts, 10..30, 2);
    }
    let files = std::fs::read_dir(&folder.0).expect("the folder is there");
    let mut names: Vec<PathBuf> = files.map(|file| file.expect("an entry").path()).collect();
    names.retain(|path| !path.ends_with("lock"));
    assert!(names.len() >= 3, "control file, log, checkpoint: {names:?}");
    for path in names {
        let bytes = std::fs::read(&path).expect("a file");
        for at in (0..bytes.len()).step_by(bytes.len() / 7 + 1) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            std::fs::write(&path, &flipped).expect("a file");
            let opened = namdb::open(folder.config(Durability::default())).map(drop);
            let refused = opened.expect_err("a byte is flipped").to_string();
            let name = path.file_name().expect("a name").to_string_lossy();
            assert!(refused.contains(&*name), "byte {at} of {name}: {refused}");
            std::fs::write(&path, &bytes).expect("a file");
        }
    }
    check(&folder.open(Durability::default()), |id| Some(if id < 10 { 1 } else { 2 }), 0..30);
}

#[test]
fn a_damaged_log_is_opened_without_its_end_on_request() {
    let folder = Folder::new("loss");
    {
        let db = folder.open(Durability::default());
        let accounts = RecordTable::<Account>::create(&db, Storage::Tree.into()).expect("new");
        put(&db, accounts, 0..100, 1);
    }
    let segment = folder.0.join("redo-0000000001.log");
    let mut bytes = std::fs::read(&segment).expect("the log has a segment");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    std::fs::write(&segment, bytes).expect("the folder is ours");
    assert!(namdb::open(folder.config(Durability::default())).is_err());
    let config = Config { accept_loss: true, ..folder.config(Durability::default()) };
    let db = namdb::open(config).expect("the loss is accepted");
    let loss = db.accepted_loss().expect("some commits are gone");
    assert!(loss.contains("redo-0000000001.log"), "{loss}");
    let accounts = RecordTable::<Account>::open(&db).expect("the table is there");
    let ids = db.session().transaction(Isolation::Snapshot, Retry::default(), |txn| {
        txn.range(accounts, ..).map(|row| row.map(|row| row.id)).collect::<namdb::Result<Vec<_>>>()
    });
    let ids = ids.expect("reads commit");
    let count = ids.len() as u64;
    assert!((1..100).contains(&count), "{count} accounts");
    assert_eq!(ids, (0..count).collect::<Vec<_>>(), "the first ones, each with its own commit");
    put(&db, accounts, 0..100, 2);
    drop(db);
    let db = folder.open(Durability::default());
    assert_eq!(db.accepted_loss(), None, "the log is sound again");
    check(&db, |_| Some(2), 0..100);
}

#[test]
fn a_closed_database_refuses_commits_and_reads_on() {
    let folder = Folder::new("closed");
    let db = folder.open(Durability::default());
    let table = KeyValueTable::create(&db, "t", 8, 8, Default::default()).expect("new");
    let mut session = db.session();
    let write = |session: &mut namdb::Session| {
        session.transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
            txn.write_value(table, b"k", b"v")
        })
    };
    write(&mut session).expect("it commits");
    db.clone().close().expect("the disk works");
    let refused = write(&mut session).expect_err("the log is closed");
    assert!(matches!(refused, TransactionError::Refused(_)), "{refused}");
    let read =
        session.transaction(Isolation::Snapshot, Retry::NEVER, |txn| txn.read_value(table, b"k"));
    assert_eq!(read.expect("what it reads is on the disk").as_deref(), Some(&b"v"[..]));
}

#[test]
fn a_directory_that_needs_more_memory_says_so() {
    let folder = Folder::new("memory");
    let config = Config { server_bytes: 64 << 20, ..folder.config(Durability::default()) };
    {
        let db = namdb::open(config.clone()).expect("64 MiB can be had");
        let design = Default::default();
        let table = KeyValueTable::create(&db, "large", 8, 1000, design).expect("new");
        let mut session = db.session();
        session.set_synchronous(false);
        for key in 0..20_000_u64 {
            let done = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
                txn.write_value(table, &key.to_le_bytes(), &[7; 1000])
            });
            done.expect("20 MB fit");
        }
    }
    let small = Config { server_bytes: 16 << 20, ..config.clone() };
    let refused = namdb::open(small).map(drop).expect_err("the rows do not fit").to_string();
    assert!(refused.contains("open the database with more memory"), "{refused}");
    drop(namdb::open(config).expect("nothing was harmed"));
}

#[test]
fn a_copy_of_a_database_in_use_has_what_was_acknowledged() {
    let folder = Folder::new("backup");
    let db = folder.open(Durability::default());
    let accounts = RecordTable::<Account>::create(&db, Storage::Tree.into()).expect("new");
    put(&db, accounts, 0..50, 1);
    let (over, is_over) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (db, accounts) = (&db, accounts);
        scope.spawn(move || {
            // Until the sender is dropped, by a failure too.
            while is_over.try_recv() == Err(TryRecvError::Empty) {
                put(db, accounts, 105..107, 2); // Not of owner 3.
                db.checkpoint().expect("the disk works");
                host::sleep_ms(200);
            }
        });
        let _over = over;
        for round in 0..5 {
            put(db, accounts, 50..50 + round, 1);
            let to = folder.0.with_extension(format!("copy-{round}"));
            let copied = namdb::directory::back_up(&folder.0, &to, |_| {});
            let copy = Folder(to);
            copied.unwrap_or_else(|error| panic!("{error}"));
            let is_there = |id: u64| (id < 50 + round).then_some(1);
            check(&copy.open(Durability::default()), is_there, 0..100);
        }
    });
}

/// The files of each format, the newest made by `NAMDB_FORMAT_TO=DIR cargo test -p namdb --test
/// embedding of_each_format`. Later versions open them, or say which version does. In format 1, a
/// note has a reference in its row only.
#[test]
fn a_directory_of_each_format_opens() {
    let expected = |id: u64| match id {
        7 => None,
        0..20 => Some(1),
        20..40 => Some(2),
        _ => None,
    };
    if let Some(path) = std::env::var_os("NAMDB_FORMAT_TO") {
        let folder = Folder::new("format-1-made");
        let config =
            Config { directory: Some(path.into()), ..folder.config(Durability::default()) };
        let db = namdb::open(config).expect("an empty directory");
        let accounts = RecordTable::<Account>::create(&db, Storage::Tree.into()).expect("new");
        put(&db, accounts, 0..25, 1);
        db.checkpoint().expect("the disk works");
        put(&db, accounts, 20..40, 2);
        let mut session = db.session();
        let deleted = session
            .transaction(Isolation::Snapshot, Retry::default(), |txn| txn.delete(accounts, 7));
        assert!(deleted.expect("it commits").is_some());
    }
    for format in ["format-1", "format-2"] {
        let folder = Folder::new(format);
        std::fs::create_dir(&folder.0).expect("the name is free");
        let kept = format!("{}/tests/data/{format}", env!("CARGO_MANIFEST_DIR"));
        for file in std::fs::read_dir(kept).expect("the files are kept with the tests") {
            let path = file.expect("an entry").path();
            std::fs::copy(&path, folder.0.join(path.file_name().expect("a name"))).expect("a file");
        }
        let db = folder.open(Durability::default());
        check(&db, expected, 0..45);
        // The table keeps its room, also in a checkpoint of this version.
        let accounts = RecordTable::<Account>::open(&db).expect("the table is there");
        put(&db, accounts, 0..20, 1);
        db.checkpoint().expect("the disk works");
        put(&db, accounts, 20..40, 2);
        drop(db);
        let expected = |id: u64| if id == 7 { Some(1) } else { expected(id) };
        check(&folder.open(Durability::default()), expected, 0..45);
    }
}
