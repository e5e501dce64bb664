//! Checkpoints of a database's directory: when they are made, and what a restart finds behind them.

use crate::directory::{Account, Folder, account, check, put};
use namdb::{Config, Durability, Isolation, RecordTable, Retry, Storage, host};
use std::time::Duration;

#[test]
fn a_database_that_logs_nothing_has_no_checkpoints() {
    let folder = Folder::new("not-logged");
    let error = folder.open(Durability::None).checkpoint().expect_err("nothing is logged");
    assert!(error.to_string().contains("open it with another `Config::durability`"), "{error}");
}

/// Changes rows until a checkpoint is under way, and closes the database. Returns the number of
/// checkpoints that were completed meanwhile.
fn completed_by_close(folder: &Folder, config: Config) -> u64 {
    let db = namdb::open(config).expect("it was closed");
    let accounts = RecordTable::<Account>::open(&db).expect("the table is there");
    let counters = db.directory_counters().expect("it has a directory");
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(&folder.0).expect("it is there");
        entries
            .map(|entry| entry.expect("it is there").file_name().into_string().expect("ASCII"))
            .collect()
    };
    let known = names();
    let is_new = |name: &String| name.starts_with("checkpoint-") && !known.contains(name);
    let begin = host::Moment::now();
    // Changes go on, so that another checkpoint begins after each.
    while !names().iter().any(is_new) {
        assert!(begin.elapsed_s() < 60.0, "{:?}", counters.statistics());
        put(&db, accounts, 0..1_000, 2);
    }
    let before = counters.statistics().checkpoints;
    let begin = host::Moment::now();
    db.close().expect("the disk works");
    assert!(begin.elapsed_s() < 10.0, "{} s", begin.elapsed_s());
    counters.statistics().checkpoints - before
}

/// A close gives up the checkpoint that is under way.
#[test]
fn a_close_does_not_wait_for_a_checkpoint() {
    let folder = Folder::new("given-up");
    let config = Config {
        checkpoint_log_bytes: 1 << 20,
        ..folder.config(Durability::Periodic(Duration::from_millis(2)))
    };
    let db = namdb::open(config.clone()).expect("it is new");
    let accounts = RecordTable::<Account>::create(&db, Storage::Tree.into()).expect("new");
    put(&db, accounts, 0..30_000, 1);
    db.close().expect("the disk works");
    // A checkpoint may be completed in the moment before the close, but not each time.
    let is_left = (0..5).any(|_| completed_by_close(&folder, config.clone()) == 0);
    assert!(is_left, "every close completed a checkpoint");
    let db = folder.open(Durability::Synchronous);
    let accounts = RecordTable::<Account>::open(&db).expect("the table is there");
    let mut session = db.session();
    let row =
        session.transaction(Isolation::Snapshot, Retry::default(), |txn| txn.get(accounts, 29_999));
    assert_eq!(row.expect("reads commit"), Some(account(29_999, 1)));
}

/// Checkpoints come by themselves when the log has grown, and a close does not wait for one.
#[test]
fn the_log_does_not_grow_for_ever() {
    let folder = Folder::new("grown");
    let log_bytes = 1 << 20;
    let config = Config {
        checkpoint_log_bytes: log_bytes,
        ..folder.config(Durability::Periodic(Duration::from_millis(2)))
    };
    let db = namdb::open(config.clone()).expect("it is new");
    let accounts = RecordTable::<Account>::create(&db, Storage::Tree.into()).expect("new");
    let mut rounds = 0;
    let statistics = || db.directory_statistics().expect("it has a directory");
    let begin = host::Moment::now();
    while statistics().checkpoints < 2 {
        assert!(begin.elapsed_s() < 60.0, "{:?}", statistics());
        put(&db, accounts, 0..2_000, rounds);
        rounds += 1;
    }
    assert!(statistics().log_bytes > 2 * log_bytes && statistics().checkpoint_age_s.is_some());
    // Whether or not a checkpoint is under way: more than the bytes that begin one are written.
    put(&db, accounts, 0..2_000, rounds);
    let begin = host::Moment::now();
    db.close().expect("the disk works");
    assert!(begin.elapsed_s() < 5.0, "{} s", begin.elapsed_s());
    let db = namdb::open(config).expect("it was closed");
    check(&db, |_| Some(rounds), 0..2_000);
}

/// Starts that write less than begins a checkpoint do not leave a log without end.
#[test]
fn the_log_of_earlier_starts_counts() {
    let folder = Folder::new("earlier");
    let config = Config { checkpoint_log_bytes: 1 << 20, ..folder.config(Durability::Synchronous) };
    let mut ids = 0;
    for round in 0..2 {
        let db = namdb::open(config.clone()).expect("the disk works");
        let accounts = match round {
            0 => RecordTable::<Account>::create(&db, Storage::Tree.into()).expect("new"),
            _ => RecordTable::<Account>::open(&db).expect("the table is there"),
        };
        let counters = db.directory_counters().expect("it has a directory");
        while counters.statistics().log_bytes < 600 << 10 {
            put(&db, accounts, ids..ids + 20, 1);
            ids += 20;
        }
        db.close().expect("the disk works");
        let log_bytes = counters.statistics().log_bytes;
        assert!(log_bytes < 1 << 20, "{log_bytes} bytes");
    }
    let db = namdb::open(config).expect("it was closed");
    let is_checkpoint = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("checkpoint-");
    let begin = host::Moment::now();
    loop {
        let mut entries = std::fs::read_dir(&folder.0).expect("it is there");
        if entries.any(|entry| is_checkpoint(&entry.expect("it is there").file_name())) {
            break;
        }
        assert!(begin.elapsed_s() < 30.0, "{:?}", db.directory_statistics());
        host::sleep_ms(20);
    }
    check(&db, |_| Some(1), 0..ids);
}

#[test]
fn rows_come_back_from_log_and_checkpoint() {
    for storage in [Storage::HashInlined, Storage::Tree] {
        let folder = Folder::new(&format!("back-{storage:?}"));
        {
            let db = folder.open(Durability::Periodic(Duration::from_millis(2)));
            let accounts = RecordTable::<Account>::create(&db, storage.into()).expect("new");
            put(&db, accounts, 0..300, 1);
            db.checkpoint().expect("the disk works");
            put(&db, accounts, 200..400, 2);
            let mut session = db.session();
            for id in (0..400).step_by(10) {
                let deleted = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
                    txn.delete(accounts, id)
                });
                assert!(deleted.expect("it commits").is_some());
            }
        }
        let expected = |id: u64| match id {
            _ if id.is_multiple_of(10) || id >= 400 => None,
            200.. => Some(2),
            _ => Some(1),
        };
        let db = folder.open(Durability::Synchronous);
        check(&db, expected, 0..410);
        // Changes of loaded rows, with long values that they keep, over two more starts.
        let accounts = RecordTable::<Account>::open(&db).expect("the table is there");
        put(&db, accounts, 395..405, 3);
        drop(db);
        let expected = |id: u64| if (395..405).contains(&id) { Some(3) } else { expected(id) };
        // 100 rows are in the checkpoint and in the log, and 40 of all were deleted.
        let config = folder.config(Durability::Synchronous);
        let verified = namdb::directory::verify(&folder.0, &config, &|_| {}).expect("it is sound");
        let rows = (0..410).filter(|&id| expected(id).is_some()).count() as u64;
        assert_eq!((verified.rows, verified.tables), (rows, 1));
        let db = folder.open(Durability::Synchronous);
        check(&db, expected, 0..410);
        db.checkpoint().expect("the disk works");
        drop(db);
        check(&folder.open(Durability::None), expected, 0..410);
    }
}
