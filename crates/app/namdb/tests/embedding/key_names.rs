//! Errors that name a key: as the program writes it, and not as it is stored.

use super::open;
use namdb::{
    CatalogError, Column, ColumnType, Date, Decimal, IndexDesign, Isolation, Record, RecordTable,
    Retry, Schema, TableSpec, Text, TransactionError, record,
};

record! {
    enum Kind { Current = 1, Savings = 2 }
}

record! {
    struct Number { branch: u64, account: u8 }
}

record! {
    struct Account in "account" {
        key { number: Number, opened: Date, owner: String[12] }
        iban: u64,
        kind: Kind,
        limit: Option<Decimal<2>>,
        remark: Option<String>[100],
    }
    unique by_iban(iban, kind);
    unique by_limit(limit, owner);
}

record! {
    struct Counter in "counter" { key { id: u64 } n: i64, }
}

record! {
    struct Town in "town" { key { name: Text<10>, code: Vec<u8>[4] } n: i64, }
}

fn account(branch: u64, iban: u64) -> Account {
    Account {
        number: Number { branch, account: 3 },
        opened: Date::from_ymd(2026, 2, 28).expect("a day"),
        owner: "O'Hara".to_owned(),
        iban,
        kind: Kind::Savings,
        limit: None,
        remark: None,
    }
}

fn refused<R: Record>(db: &namdb::Db, record: &R) -> TransactionError {
    let table = RecordTable::<R>::open_or_create(db, Default::default()).expect("its columns");
    let mut session = db.session();
    let mut insert =
        || session.transaction(Isolation::Snapshot, Retry::NEVER, |txn| txn.insert(table, record));
    insert().expect("it is new");
    insert().expect_err("it exists")
}

#[test]
fn a_duplicate_key_is_shown_as_it_was_written() {
    let db = open(1);
    for (id, told) in [(7, "id = 7"), (0, "id = 0"), (u64::MAX, "id = 18446744073709551615")] {
        let expected =
            format!("table counter already has a row with {told}; update it, or use upsert");
        assert_eq!(refused(&db, &Counter { id, n: 1 }).to_string(), expected);
    }
    let told = |error: TransactionError| match error {
        TransactionError::DuplicateKey(duplicate) => duplicate.key,
        other => panic!("{other}"),
    };
    assert_eq!(
        told(refused(&db, &account(9, 1))),
        "number = Number { branch: 9, account: 3 }, opened = 2026-02-28, owner = \"O'Hara\""
    );
    let town = Town { name: "Ghent".into(), code: vec![0, 255], n: 1 };
    assert_eq!(told(refused(&db, &town)), "name = Text(\"Ghent\"), code = [0, 255]");
    // By columns too.
    let counters = RecordTable::<Counter>::open(&db).expect("it is there");
    let key = Counter { id: 7, n: 0 }.own_key().expect("it fits");
    let twice = db.session().transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
        txn.rows().insert(counters.id(), &key).map(drop)
    });
    assert_eq!(told(twice.expect_err("it exists")), "id = 7");
    let many = db.session().transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
        let fresh = Counter { id: 8, n: 0 }.own_key()?;
        txn.rows().insert_many(&[(counters.id(), fresh), (counters.id(), key)], &mut Vec::new())
    });
    assert_eq!(told(many.expect_err("the second exists")), "id = 7");
}

#[test]
fn a_key_of_a_unique_index_is_shown_as_it_was_written() {
    let db = open(2);
    let accounts = RecordTable::<Account>::create(&db, Default::default()).expect("it is new");
    let mut session = db.session();
    let mut insert = |account: &Account| {
        session.transaction(Isolation::Snapshot, Retry::NEVER, |txn| txn.insert(accounts, account))
    };
    let limited = |branch, iban| Account { limit: Some(Decimal(1_050)), ..account(branch, iban) };
    insert(&limited(1, 42)).expect("it is new");
    let by_iban = insert(&account(2, 42)).expect_err("the number is taken");
    assert_eq!(
        by_iban.to_string(),
        "the transaction was aborted: table account already holds a row with iban = 42, \
         kind = Savings, and index by_iban is unique"
    );
    let by_limit = insert(&limited(3, 43)).expect_err("the limit is taken");
    assert!(by_limit.to_string().contains("limit = Some(10.50), owner = \"O'Hara\", and"));
    // After a commit of the caller's own.
    let mut txn = session.begin(Isolation::Snapshot).expect("there is a lane");
    txn.insert(accounts, &account(4, 42)).expect("the commit finds out");
    txn.commit().expect_err("the number is taken");
    let violation = session.last_unique_violation().expect("it has just been");
    assert_eq!(violation.key, "iban = 42, kind = Savings");
    // An index that the record does not declare, and one over a part of a field.
    let unique = |name: &str, column: &str| {
        let schema = Account::schema().expect("the columns are fine");
        let columns = vec![schema.position(column).expect("a column")];
        let (name, unique) = (name.to_owned(), true);
        IndexDesign { name, columns, unique, ..IndexDesign::default() }
    };
    session
        .transaction(Isolation::Snapshot, Retry::NEVER, |txn| txn.insert(accounts, &account(5, 50)))
        .expect("it is new");
    for column in ["kind", "number_account"] {
        let error = db.create_index("account", unique("undeclared", column));
        let Err(CatalogError::Duplicate(violation)) = error else { panic!("{error:?}") };
        let stored = if column == "kind" { "kind = 2" } else { "number_account = 3" };
        assert_eq!(violation.key, stored, "the declaration does not have it");
    }
    db.drop_index("account", "by_iban").expect("it is there");
    session
        .transaction(Isolation::Snapshot, Retry::NEVER, |txn| txn.insert(accounts, &account(6, 42)))
        .expect("the index is gone");
    let index = Account::indexes().swap_remove(0);
    let error = db.create_index("account", index).expect_err("two rows share a key");
    assert!(error.to_string().contains("several rows with iban = 42, kind = Savings"), "{error}");
}

/// A table of the same name with other columns: its keys are shown by its own columns.
#[test]
fn a_table_with_other_columns_is_not_shown_as_the_dropped_one() {
    let db = open(1);
    RecordTable::<Counter>::create(&db, Default::default()).expect("it is new");
    db.drop_table("counter").expect("it is there");
    let columns = vec![Column::new("a", ColumnType::Int8), Column::new("b", ColumnType::Int8)];
    let schema = Schema::new("counter", columns, &[0]).expect("the columns are fine");
    let spec = TableSpec { schema, design: Default::default(), indexes: Vec::new() };
    let table = db.create_table(spec).expect("it is new");
    let key = namdb::KeyBuilder::new().int8(-1).key();
    let twice = db.session().transaction(Isolation::Snapshot, Retry::NEVER, |txn| {
        txn.rows().insert(table, &key)?;
        txn.rows().insert(table, &key).map(drop)
    });
    assert!(twice.expect_err("it exists").to_string().contains("with a = -1;"));
}
