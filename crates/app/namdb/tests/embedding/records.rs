//! Records: writes and what they return, ranges, indexes, and fields of every type.

use super::open;
use namdb::{
    Bytes, CatalogError, Char, Date, Decimal, Isolation, Record, RecordTable, Retry, Storage, Text,
    Timestamp, Transaction, TransactionError, Value, record,
};
use std::ops::Bound;

record! {
    /// A small enum, stored as its numbers.
    enum Colour { Red = -1, Green = 7, Blue = 300 }
}

record! {
    /// A group of fields.
    struct Place { hall: i16, shelf: Option<String>[6] }
}

record! {
    /// One column of each type.
    struct Sample in "sample" {
        key { small: i16, name: Text<8>, raw: Vec<u8>[4], day: Date, code: Char<3>, place: Place }
        medium: i32,
        large: i64,
        yes: bool,
        rate: f64,
        note: Option<String>[12],
        long: String[5000],
        data: Bytes<6>,
        price: Decimal<2>,
        at: Option<Timestamp>,
        country: Char<2>,
        colour: Colour,
        other: Option<Colour>,
        tiny: i8,
        byte: u8,
        port: u16,
        count: u32,
        hash: u64,
        spare: Place,
        picture: Option<Vec<u8>>[2000],
    }
    index by_colour(other, hash);
}

fn sample() -> Sample {
    Sample {
        small: -3,
        name: "Ada".into(),
        raw: vec![0, 1],
        day: Date(-1),
        code: "a  ".into(),
        place: Place { hall: 1, shelf: None },
        medium: 7,
        large: -(1 << 40),
        yes: true,
        rate: 2.5,
        note: None,
        long: "lang".repeat(1250),
        data: Bytes(vec![9, 0, 9]),
        price: Decimal(-1234),
        at: Some(Timestamp(1)),
        country: "BE".into(),
        colour: Colour::Blue,
        other: None,
        tiny: -128,
        byte: 255,
        port: u16::MAX,
        count: u32::MAX,
        hash: u64::MAX,
        spare: Place { hall: -1, shelf: Some("A".to_owned()) },
        picture: Some(vec![1; 2000]),
    }
}

fn run<T>(db: &namdb::Db, work: impl FnMut(&mut Transaction<'_>) -> namdb::Result<T>) -> T {
    let ended = db.session().transaction(Isolation::Serializable, Retry::default(), work);
    ended.expect("it commits")
}

#[test]
fn every_field_comes_back() {
    let db = open(2);
    let samples = RecordTable::<Sample>::create(&db, Storage::Tree.into()).expect("it is new");
    let by_colour = Sample::by_colour(&db).expect("it was created with the table");
    let first = sample();
    let second = Sample {
        small: -2,
        note: Some("twelve chars".to_owned()),
        other: Some(Colour::Red),
        hash: 0,
        picture: None,
        ..first.clone()
    };
    run(&db, |txn| {
        txn.insert(samples, &first)?;
        txn.insert(samples, &second)
    });
    let (read, by_index) = run(&db, |txn| {
        let place = Place { hall: 1, shelf: None };
        let read = txn.get(samples, (-3, "Ada", &[0, 1], Date(-1), "a ", place))?;
        let by_index = txn.index(by_colour).get((Some(Colour::Red), 0))?;
        assert_eq!(
            txn.index(by_colour).get((None::<Colour>, u64::MAX))?,
            std::slice::from_ref(&first)
        );
        namdb::Ok((read, by_index))
    });
    assert_eq!((read, by_index), (Some(first), vec![second]));
}

#[test]
fn keys_are_those_of_the_schema() {
    let schema = Sample::schema().expect("the columns are fine");
    let values = [
        Value::Int(-3),
        "Ada".into(),
        Value::Bytes(vec![0, 1]),
        Value::Int(-1),
        "a".into(),
        Value::Int(1),
        Value::Null,
    ];
    assert_eq!(sample().own_key().ok(), schema.encode_key(&values).ok());
    assert_eq!(schema.columns()[6].name, "place_shelf");
    assert!(schema.columns()[6].nullable);
}

#[test]
fn a_number_that_no_variant_has_is_an_error() {
    let db = open(2);
    let samples = RecordTable::<Sample>::create(&db, Default::default()).expect("it is new");
    let schema = Sample::schema().expect("the columns are fine");
    let column = schema.position("colour").expect("a column");
    let key = sample().own_key().expect("the key fits");
    let read = db.session().transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
        txn.insert(samples, &sample())?;
        let row = txn.rows().read(samples.id(), &key)?.expect("just inserted");
        txn.rows().update(row).set_int(column, 8);
        txn.rows().record(samples, row)
    });
    let refused = read.expect_err("no colour has number 8").to_string();
    let expected = "column colour of table sample cannot hold this value: the row has 8, which is no number of enum Colour";
    assert!(refused.contains(expected), "{refused}");
}

record! {
    struct City in "city" {
        key { name: String[10] }
        note: String[5],
    }
}

fn city(name: &str, note: &str) -> City {
    City { name: name.to_owned(), note: note.to_owned() }
}

/// A statement on a record that does not fit changes nothing, even if the transaction goes on.
#[test]
fn a_value_that_does_not_fit_leaves_no_trace() {
    let db = open(2);
    let cities = RecordTable::<City>::create(&db, Default::default()).expect("it is new");
    run(&db, |txn| {
        txn.insert(cities, &city("Ghent", "old"))?;
        let refused = [
            txn.insert(cities, &city("Bruges", "longer")).expect_err("the note is too long"),
            txn.update(cities, &city("Ghent", "longer")).expect_err("the note is too long"),
            txn.upsert(cities, &city("Ghent", "longer")).expect_err("the note is too long"),
            txn.upsert(cities, &city("Delft", "longer")).expect_err("the note is too long"),
        ];
        for error in refused {
            let expected =
                "column note of table city cannot hold this value: it has 6 bytes, at most 5 fit";
            assert_eq!((error.to_string(), error.abort()), (expected.to_owned(), None));
        }
        txn.insert(cities, &city("a\0b", "")).expect_err("a key has no NUL");
        namdb::Ok(())
    });
    let left = run(&db, |txn| {
        let names = ["Ghent", "Bruges", "Delft", "a"];
        names.iter().map(|name| txn.get(cities, *name)).collect::<namdb::Result<Vec<_>>>()
    });
    assert_eq!(left, [Some(city("Ghent", "old")), None, None, None]);
}

#[test]
fn an_insert_of_an_existing_key_is_refused_and_names_it() {
    let db = open(2);
    let cities = RecordTable::<City>::create(&db, Default::default()).expect("it is new");
    run(&db, |txn| txn.insert(cities, &city("Ghent", "old")));
    let refused = db.session().transaction(Isolation::Serializable, Retry::default(), |txn| {
        txn.insert(cities, &city("Bruges", ""))?;
        txn.insert(cities, &city("Ghent", "new"))
    });
    let refused = refused.expect_err("Ghent exists");
    assert!(matches!(refused, TransactionError::DuplicateKey(_)));
    let expected = "table city already has a row with name = \"Ghent\"; update it, or use upsert";
    assert_eq!(refused.to_string(), expected);
    let left = run(&db, |txn| {
        let bruges = txn.get(cities, "Bruges")?;
        // The transaction may go on behind the refusal.
        txn.insert(cities, &city("Ghent", "new")).expect_err("Ghent exists");
        let previous = txn.upsert(cities, &city("Ghent", "newer"))?;
        namdb::Ok((bruges, previous, txn.get(cities, "Ghent")?))
    });
    assert_eq!(left, (None, Some(city("Ghent", "old")), Some(city("Ghent", "newer"))));
}

record! {
    struct Entry in "entry" {
        key { shelf: u8, number: u32 }
        half: u32,
    }
    index by_half(half);
    unique by_number(number, shelf);
}

const ENTRIES: u32 = 3_000;

/// More entries of shelf 2 than fit in the largest chunk, and one on either side.
fn entries(db: &namdb::Db) -> RecordTable<Entry> {
    let entries = RecordTable::<Entry>::create(db, Storage::Tree.into()).expect("it is new");
    for begin in (0..ENTRIES).step_by(500) {
        run(db, |txn| {
            (begin..begin + 500).try_for_each(|number| {
                txn.insert(entries, &Entry { shelf: 2, number, half: number / 2 })
            })
        });
    }
    run(db, |txn| {
        txn.insert(entries, &Entry { shelf: 1, number: 7, half: 9_000 })?;
        txn.insert(entries, &Entry { shelf: 3, number: 0, half: 9_001 })
    });
    entries
}

fn numbers(range: impl Iterator<Item = namdb::Result<Entry>>) -> Vec<(u8, u32)> {
    range.map(|entry| entry.map(|entry| (entry.shelf, entry.number)).expect("it is read")).collect()
}

#[test]
fn ranges_have_the_records_between_their_bounds_in_either_direction() {
    let db = open(2);
    let entries = entries(&db);
    let on_two = |numbers: std::ops::Range<u32>| -> Vec<(u8, u32)> {
        numbers.map(|number| (2, number)).collect()
    };
    let reversed = |mut all: Vec<(u8, u32)>| {
        all.reverse();
        all
    };
    let all = [vec![(1, 7)], on_two(0..ENTRIES), vec![(3, 0)]].concat();
    run(&db, |txn| {
        assert_eq!(numbers(txn.range(entries, ..)), all);
        assert_eq!(numbers(txn.range(entries, ..).rev()), reversed(all.clone()));
        // Leading columns bound all keys that begin with them.
        assert_eq!(numbers(txn.range(entries, 2..=2)), on_two(0..ENTRIES));
        assert_eq!(numbers(txn.range(entries, (2,)..(3,))), on_two(0..ENTRIES));
        assert_eq!(numbers(txn.range(entries, ..2)), [(1, 7)]);
        assert_eq!(numbers(txn.range(entries, 3..)), [(3, 0)]);
        assert_eq!(numbers(txn.range(entries, ..=1)), [(1, 7)]);
        let behind_two = (Bound::Excluded(2), Bound::<u8>::Unbounded);
        assert_eq!(numbers(txn.range(entries, behind_two)), [(3, 0)]);
        assert_eq!(numbers(txn.range(entries, (2, 10)..(2, 13))), on_two(10..13));
        assert_eq!(numbers(txn.range(entries, (2, 10)..=(2, 13))), on_two(10..14));
        let exclusive = (Bound::Excluded((2, 10)), Bound::Excluded((2, 13)));
        assert_eq!(numbers(txn.range(entries, exclusive)), on_two(11..13));
        #[expect(clippy::reversed_empty_ranges, reason = "it is empty")]
        let empty = [txn.range(entries, 3..2).count(), txn.range(entries, 0..1).count()];
        assert_eq!(empty, [0, 0]);
        namdb::Ok(())
    });
}

#[test]
fn ranges_are_read_from_both_ends_and_up_to_a_limit() {
    let db = open(2);
    let entries = entries(&db);
    run(&db, |txn| {
        let mut range = txn.range(entries, 2..3);
        let mut from_both = Vec::new();
        while let Some(low) = range.next() {
            from_both.push(low?.number);
            from_both.extend(range.next_back().transpose()?.map(|high| high.number));
        }
        let expected: Vec<u32> =
            (0..ENTRIES / 2).flat_map(|number| [number, ENTRIES - 1 - number]).collect();
        assert_eq!(from_both, expected);
        assert_eq!(numbers(txn.range(entries, ..).limit(2)), [(1, 7), (2, 0)]);
        assert_eq!(numbers(txn.range(entries, ..).limit(2).rev()), [(3, 0), (2, ENTRIES - 1)]);
        assert_eq!(txn.range(entries, ..).limit(1_500).count(), 1_500);
        assert_eq!(txn.range(entries, ..).limit(0).count(), 0);
        namdb::Ok(())
    });
}

#[test]
fn ranges_include_the_transactions_own_writes() {
    let db = open(2);
    let entries = entries(&db);
    let by_half = Entry::by_half(&db).expect("it was created with the table");
    run(&db, |txn| {
        txn.delete(entries, (2, 1))?;
        txn.update(entries, &Entry { shelf: 2, number: 2, half: 8_000 })?;
        txn.insert(entries, &Entry { shelf: 2, number: ENTRIES, half: 1 })?;
        assert_eq!(numbers(txn.range(entries, (2, 0)..(2, 4))), [(2, 0), (2, 2), (2, 3)]);
        assert_eq!(numbers(txn.range(entries, 2..=2).rev().take(1)), [(2, ENTRIES)]);
        assert_eq!(numbers(txn.index(by_half).get(1)?.into_iter().map(Ok)), [(2, 3), (2, ENTRIES)]);
        assert_eq!(numbers(txn.index(by_half).range(8_000..)), [(2, 2), (1, 7), (3, 0)]);
        namdb::Ok(())
    });
}

#[test]
fn indexes_find_records_by_key_and_by_range() {
    let db = open(2);
    let entries = entries(&db);
    let by_half = Entry::by_half(&db).expect("it was created with the table");
    let by_number = Entry::by_number(&db).expect("it was created with the table");
    run(&db, |txn| {
        assert_eq!(numbers(txn.index(by_half).get(5)?.into_iter().map(Ok)), [(2, 10), (2, 11)]);
        assert_eq!(txn.index(by_half).get(8_999)?, []);
        let found = txn.index(by_number).get((7, 1))?.expect("it was inserted");
        assert_eq!((found.half, txn.index(by_number).get((8, 1))?), (9_000, None));
        assert_eq!(numbers(txn.index(by_number).range(7..=7)), [(1, 7), (2, 7)]);
        // Equal keys continue behind a chunk: 32 rows are one.
        assert_eq!(numbers(txn.index(by_half).range(..)).len(), ENTRIES as usize + 2);
        assert_eq!(numbers(txn.index(by_half).range(10..=11).rev()).len(), 4);
        namdb::Ok(())
    });
    let taken = db.session().transaction(Isolation::Serializable, Retry::default(), |txn| {
        let by_number = txn.index(by_number).get((9, 2))?.expect("it was inserted");
        txn.delete(entries, (2, 10))?;
        txn.upsert(entries, &by_number)
    });
    assert!(taken.is_ok(), "its own key is no other's");
}

#[test]
fn errors_are_items_of_a_range() {
    let (db, other) = (open(2), open(2));
    let cities = RecordTable::<City>::create(&db, Default::default()).expect("it is new");
    let refused = |txn: &mut Transaction<'_>, keys: &str| {
        let mut range = txn.range(cities, keys..);
        let error = range.next().expect("an item").expect_err("it cannot be read").to_string();
        assert!(range.next().is_none() && range.next_back().is_none(), "nothing follows");
        error
    };
    let sentences = run(&db, |txn| namdb::Ok([refused(txn, ""), refused(txn, "01234567890")]));
    assert!(sentences[0].contains("table stored as a tree, or a tree index"), "{sentences:?}");
    assert!(sentences[1].contains("it has 11 bytes, at most 10 fit"), "{sentences:?}");
    let foreign = run(&other, |txn| namdb::Ok(refused(txn, "")));
    assert!(foreign.contains("belongs to another database"), "{foreign}");
}

mod earlier {
    use namdb::record;

    record! {
        pub struct Entry in "entry" {
            key { shelf: u8, number: u32 }
            half: u32,
        }
        unique by_half(half);
    }
}

#[test]
fn declared_indexes_are_created_found_and_compared() {
    let db = open(2);
    let missing = Entry::by_half(&db).expect_err("there is no table").to_string();
    assert!(missing.contains("there is no table entry"), "{missing}");
    RecordTable::<earlier::Entry>::create(&db, Storage::Tree.into()).expect("it is new");
    RecordTable::<Entry>::open(&db).expect("its columns are the same");
    let missing = Entry::by_number(&db).expect_err("only the later version has it");
    let expected =
        "there is no index by_number on table entry; `open_or_create` of the table creates it";
    assert_eq!(missing.to_string(), expected);
    let differs = "table entry: the declaration has `index by_half(half)`, and the database has \
                   `unique by_half(half)`; declare it as it was created, or drop it first";
    let refused = [
        Entry::by_half(&db).map(drop).expect_err("it is unique"),
        RecordTable::<Entry>::open_or_create(&db, Default::default()).map(drop).expect_err("it is"),
    ];
    assert!(refused.iter().all(|error| error.to_string() == differs), "{refused:?}");
    db.drop_index("entry", "by_half").expect("nobody uses it");
    let entries = RecordTable::<Entry>::open_or_create(&db, Default::default()).expect("it fits");
    run(&db, |txn| txn.insert(entries, &Entry { shelf: 1, number: 2, half: 3 }));
    let by_half = Entry::by_half(&db).expect("it was created");
    assert_eq!(run(&db, |txn| txn.index(by_half).get(3)).len(), 1);
    let again = RecordTable::<Entry>::create(&db, Default::default()).map(drop);
    assert!(matches!(again, Err(CatalogError::Exists(_))));
}
