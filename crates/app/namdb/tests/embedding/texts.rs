//! Texts of records: short ones in the row, longer ones out of line, in memory and in a directory.

use super::directory::Folder;
use super::open;
use namdb::{
    CatalogError, Char, Config, Db, Durability, Isolation, Record, RecordTable, Retry, Storage,
    Transaction, record,
};

record! {
    /// A text of each kind, beside a number that changes alone.
    struct Page in "page" {
        key { number: u64, site: String[40, in_row = 20] }
        visits: i64,
        title: String[256],
        body: String[1000],
        author: Option<String>[300],
        image: Vec<u8>[5000, in_row = 100],
        slug: String[100, in_row = 100],
        kind: Char<65>,
        code: String[64],
    }
    index by_code(visits);
}

/// Lengths around the room of 63 bytes, and the longest.
const LENGTHS: [usize; 6] = [0, 1, 62, 63, 64, 256];

fn text(number: u64, length: usize) -> String {
    let letter = (b'a' + (number % 26) as u8) as char;
    letter.to_string().repeat(length)
}

/// A page whose texts have a length of `LENGTHS` each, and another one in each round.
fn page(number: u64, round: u64) -> Page {
    let length = |of: u64| LENGTHS[((number + round * (of + 1)) % 6) as usize];
    Page {
        number,
        site: "s".repeat(40),
        visits: round as i64,
        title: text(number, length(0)),
        body: text(number + 1, if length(1) > 64 { 1000 } else { length(1) }),
        author: (length(2) != 1).then(|| text(number + 2, length(2))),
        image: vec![round as u8; 2 * length(3)],
        slug: text(number, length(4).min(100)),
        kind: Char::from(&*text(number, length(5).min(65))),
        code: text(number, length(0).min(64)),
    }
}

fn run<T>(db: &Db, work: impl FnMut(&mut Transaction<'_>) -> namdb::Result<T>) -> T {
    let ended = db.session().transaction(Isolation::Serializable, Retry::default(), work);
    ended.expect("it commits")
}

fn key(number: u64) -> (u64, String) {
    (number, "s".repeat(40))
}

/// Reads the pages by key, in a range and through the index.
fn check(db: &Db, expected: &[Page]) {
    let pages = RecordTable::<Page>::open(db).expect("the table is there");
    let by_code = Page::by_code(db).expect("the index is there");
    run(db, |txn| {
        for page in expected {
            assert_eq!(txn.get(pages, key(page.number))?.as_ref(), Some(page));
            let found = txn.index(by_code).get(page.visits)?;
            assert!(found.contains(page), "{page:?}");
        }
        let all = txn.range(pages, ..).collect::<namdb::Result<Vec<_>>>()?;
        assert_eq!(all, expected);
        namdb::Ok(())
    });
}

#[test]
fn texts_around_their_room_come_back() {
    let db = open(2);
    let pages = RecordTable::<Page>::create(&db, Storage::Tree.into()).expect("it is new");
    for round in 0..7 {
        let mut session = db.session();
        let mut reader = db.session();
        let mut earlier = reader.begin(Isolation::Snapshot).expect("there is a lane");
        run(&db, |txn| {
            for number in 0..12 {
                let page = page(number, round);
                let previous = match number % 2 {
                    0 => txn.upsert(pages, &page)?,
                    _ if round == 0 => txn.insert(pages, &page).map(|()| None)?,
                    _ => txn.update(pages, &page)?,
                };
                assert_eq!(previous, round.checked_sub(1).map(|before| self::page(number, before)));
                assert_eq!(txn.get(pages, key(number))?, Some(page), "its own write");
            }
            namdb::Ok(())
        });
        for number in 0..12 {
            let before = round.checked_sub(1).map(|before| page(number, before));
            assert_eq!(earlier.get(pages, key(number)).expect("readable"), before, "as it was");
        }
        let deleted = session.transaction(Isolation::Snapshot, Retry::default(), |txn| {
            let deleted = txn.delete(pages, key(3))?;
            txn.insert(pages, &page(3, round))?;
            namdb::Ok(deleted)
        });
        assert_eq!(deleted.expect("it commits"), Some(page(3, round)));
        drop(earlier);
        check(&db, &(0..12).map(|number| page(number, round)).collect::<Vec<_>>());
    }
}

#[test]
fn lengths_are_checked_and_keys_are_whole() {
    let schema = Page::schema().expect("the columns are fine");
    let in_row = |name| schema.columns()[schema.position(name).expect("a column")].in_row;
    let found = ["title", "body", "author", "image", "slug", "kind", "code"].map(in_row);
    assert_eq!(found, [Some(63), Some(63), Some(63), Some(100), None, Some(63), None]);
    assert_eq!((in_row("number"), in_row("site")), (None, None));
    let db = open(1);
    let pages = RecordTable::<Page>::create(&db, Default::default()).expect("it is new");
    let too_long = Page { body: "x".repeat(1001), ..page(0, 0) };
    let refused = db
        .session()
        .transaction(Isolation::Snapshot, Retry::NEVER, |txn| txn.insert(pages, &too_long));
    assert_eq!(
        refused.expect_err("a byte too long").to_string(),
        "column body of table page cannot hold this value: it has 1001 bytes, at most 1000 fit"
    );
}

/// In a directory: from the log, from a checkpoint with a log behind it, and from rows that were
/// loaded, over changes between texts in the row and out of line.
#[test]
fn texts_of_every_length_come_back_from_a_directory() {
    let folder = Folder::new("texts");
    let expected = |round| (0..24).map(|number| page(number, round)).collect::<Vec<_>>();
    let put = |db: &Db, round: u64| {
        let pages = RecordTable::<Page>::open(db).expect("the table is there");
        for page in expected(round) {
            run(db, |txn| txn.upsert(pages, &page));
        }
    };
    {
        let db = folder.open(Durability::default());
        RecordTable::<Page>::create(&db, Storage::Tree.into()).expect("it is new");
        put(&db, 0);
        put(&db, 1);
    }
    for round in 1..7 {
        let db = folder.open(Durability::default());
        check(&db, &expected(round));
        if round % 2 == 0 {
            db.checkpoint().expect("the disk works");
        }
        // Only the number changes.
        let pages = RecordTable::<Page>::open(&db).expect("the table is there");
        for page in expected(round) {
            run(&db, |txn| txn.update(pages, &Page { visits: -1, ..page.clone() }));
        }
        put(&db, round + 1);
    }
    check(&folder.open(Durability::default()), &expected(7));
}

/// The same table: with room for short texts, with room for all, and as an index would need it.
mod declared {
    use namdb::record;

    record! {
        pub struct Short in "note" { key { number: u64 } text: String[1000], }
    }

    record! {
        pub struct Whole in "note" { key { number: u64 } text: String[1000, in_row = 1000], }
    }

    record! {
        pub struct Indexed in "indexed" {
            key { number: u64 }
            text: String[50, in_row = 20],
        }
        index by_text(text);
    }
}

/// Memory of a table of 5,000 records with texts of 20 bytes, changed once.
fn bytes_per_row<R: Record>(make: impl Fn(u64, String) -> R) -> u64 {
    let config = Config { server_bytes: 64 << 20, ..Config::default() };
    let db = namdb::open(config).expect("64 MiB can be had");
    let table = RecordTable::<R>::create(&db, Default::default()).expect("it is new");
    for round in 0..2 {
        for first in (0..5000).step_by(500) {
            run(&db, |txn| {
                for number in first..first + 500 {
                    txn.upsert(table, &make(number, text(number + round, 20)))?;
                }
                namdb::Ok(())
            });
        }
    }
    let usage = db.memory_usage().expect("the servers answer");
    usage.iter().map(|table| table.used_bytes).sum::<u64>() / 5000
}

#[test]
fn short_texts_take_little_memory() {
    let short = bytes_per_row(|number, text| declared::Short { number, text });
    let whole = bytes_per_row(|number, text| declared::Whole { number, text });
    assert!(short * 5 < whole, "{short} bytes per row, {whole} with room for the longest text");
}

#[test]
fn a_table_keeps_the_room_that_it_was_created_with() {
    let db = open(1);
    let whole = RecordTable::<declared::Whole>::create(&db, Default::default()).expect("it is new");
    let short = RecordTable::<declared::Short>::open_or_create(&db, Default::default());
    let short = short.expect("it has the same columns");
    for length in LENGTHS {
        let text = text(1, length);
        let record = declared::Short { number: length as u64, text: text.clone() };
        run(&db, |txn| {
            txn.insert(short, &record)?;
            assert_eq!(txn.get(whole, record.number)?.map(|whole| whole.text), Some(text.clone()));
            namdb::Ok(())
        });
    }
}

#[test]
fn an_index_over_such_a_text_is_refused() {
    let refused = RecordTable::<declared::Indexed>::create(&open(1), Default::default());
    let error = refused.expect_err("the index is refused");
    assert!(matches!(error, CatalogError::Design { .. }));
    assert_eq!(
        error.to_string(),
        "table indexed: index by_text: column text may be out of line, and cannot be indexed; \
         create it without in_row, which is 20"
    );
}
