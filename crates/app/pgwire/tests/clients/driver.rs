//! The PostgreSQL driver of Rust, which uses the extended protocol with binary values.

use crate::programs::World;
use postgres::{Client, NoTls};
use std::error::Error;
use std::time::Duration;

fn connect(world: &World) -> Client {
    let mut config = postgres::Config::new();
    config.host("127.0.0.1").port(world.port()).user("me").dbname("postgres");
    config.connect_timeout(Duration::from_secs(20)).connect(NoTls).expect("it is accepted")
}

#[test]
fn values_travel_in_binary_format() -> Result<(), Box<dyn Error>> {
    let world = World::new();
    let mut client = connect(&world);
    client.batch_execute(
        "create table sample (id int primary key, small smallint, large bigint, real8 double \
         precision, truth boolean, name varchar(20), code char(4), note text)",
    )?;
    let insert = "insert into sample values ($1, $2, $3, $4, $5, $6, $7, $8)";
    let inserted = client.execute(
        insert,
        &[&1i32, &-2i16, &(1i64 << 40), &1.5f64, &true, &"Ghent", &"ab", &Some("n\u{f6}te")],
    )?;
    assert_eq!(inserted, 1);
    let nulls: Option<&str> = None;
    let none = (None::<i16>, None::<i64>, None::<f64>, None::<bool>);
    client.execute(insert, &[&2i32, &none.0, &none.1, &none.2, &none.3, &nulls, &nulls, &nulls])?;
    let row = client.query_one("select * from sample where id = $1", &[&1i32])?;
    assert_eq!(row.get::<_, i16>("small"), -2);
    assert_eq!(row.get::<_, i64>("large"), 1 << 40);
    assert!((row.get::<_, f64>("real8") - 1.5).abs() < f64::EPSILON && row.get::<_, bool>("truth"));
    assert_eq!((row.get::<_, &str>("name"), row.get::<_, &str>("code")), ("Ghent", "ab  "));
    assert_eq!(row.get::<_, Option<&str>>("note"), Some("n\u{f6}te"));
    let row = client.query_one("select * from sample where id = 2", &[])?;
    assert_eq!(row.get::<_, Option<&str>>("name"), None);
    Ok(())
}

#[test]
fn transactions_errors_and_portals_work() -> Result<(), Box<dyn Error>> {
    let world = World::new();
    let mut client = connect(&world);
    client.batch_execute("create table t (id int primary key)")?;
    let mut transaction = client.transaction()?;
    let insert = transaction.prepare("insert into t select * from generate_series(1, $1)");
    drop(insert);
    transaction.rollback()?;
    let mut transaction = client.transaction()?;
    let insert = transaction.prepare("insert into t values ($1)")?;
    for id in 0..10i32 {
        transaction.execute(&insert, &[&id])?;
    }
    let portal = transaction.bind("select id from t order by id", &[])?;
    let parts =
        [4, 4, 4].map(|rows| transaction.query_portal(&portal, rows).map(|rows| rows.len()));
    assert_eq!(parts.map(Result::unwrap_or_default), [4, 4, 2]);
    transaction.commit()?;
    let twice = client.execute("insert into t values (3)", &[]).expect_err("it is there");
    assert_eq!(twice.code().map(|code| code.code()), Some("23505"));
    let count: i64 = client.query_one("select count(*) from t", &[])?.get(0);
    assert_eq!(count, 10);
    let mut transaction = client.transaction()?;
    transaction.execute("delete from t where id = 1", &[])?;
    assert!(transaction.execute("insert into t values (2)", &[]).is_err());
    let refused = transaction.query("select id from t", &[]).expect_err("the transaction failed");
    assert_eq!(refused.code().map(|code| code.code()), Some("25P02"));
    transaction.rollback()?;
    assert_eq!(client.query_one("select count(*) from t", &[])?.get::<_, i64>(0), 10);
    Ok(())
}

#[test]
fn rows_are_copied_by_the_driver() -> Result<(), Box<dyn Error>> {
    use std::io::{Read, Write};
    let world = World::new();
    let mut client = connect(&world);
    client.batch_execute("create table t (id int primary key, name text)")?;
    let mut writer = client.copy_in("copy t from stdin")?;
    (0..1000).try_for_each(|id| writeln!(writer, "{id}\tname {id}"))?;
    assert_eq!(writer.finish()?, 1000);
    let mut copied = String::new();
    client.copy_out("copy t to stdout")?.read_to_string(&mut copied)?;
    assert_eq!(copied.lines().count(), 1000);
    Ok(())
}

#[test]
fn rows_are_copied_in_the_binary_format() -> Result<(), postgres::Error> {
    use postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutIter};
    use postgres::fallible_iterator::FallibleIterator;
    use postgres::types::Type;
    use std::io::{Read, Write};
    let world = World::new();
    let mut client = connect(&world);
    client.batch_execute(
        "create table t (id int primary key, name varchar(8), much numeric(6, 2), at timestamp)",
    )?;
    let types = [Type::INT4, Type::VARCHAR, Type::FLOAT8];
    client.batch_execute("create table u (id int primary key, name varchar(8), f float8)")?;
    let writer = client.copy_in("copy u from stdin (format binary)")?;
    let mut writer = BinaryCopyInWriter::new(writer, &types);
    for id in 0..1000_i32 {
        let (name, number) = (format!("n {id}"), f64::from(id) / 4.0);
        let name = (id % 7 != 0).then_some(&name);
        writer.write(&[&id, &name, &number])?;
    }
    assert_eq!(writer.finish()?, 1000);
    let reader = client.copy_out("copy (select * from u order by id) to stdout (format binary)")?;
    let rows: Vec<_> = BinaryCopyOutIter::new(reader, &types).collect()?;
    assert_eq!(rows.len(), 1000);
    let row = &rows[9];
    assert_eq!((row.get::<i32>(0), row.get::<&str>(1), row.get::<f64>(2)), (9, "n 9", 2.25));
    assert_eq!(rows[7].get::<Option<&str>>(1), None);
    // Lengths are checked, and the session goes on.
    let writer = client.copy_in("copy u from stdin (format binary)")?;
    let mut writer = BinaryCopyInWriter::new(writer, &types);
    writer.write(&[&5000_i32, &"nine letters", &1.0_f64])?;
    let refused = writer.finish().expect_err("it is too long");
    assert_eq!(refused.code().map(postgres::error::SqlState::code), Some("22001"));
    // The server reads its own data again.
    client.batch_execute(
        "insert into t values (1, 'x', 1.5, '2026-01-02 03:04:05'), (2, null, null, null)",
    )?;
    let mut data = Vec::new();
    client.copy_out("copy t to stdout (format binary)")?.read_to_end(&mut data).expect("it is all");
    client.batch_execute("truncate t")?;
    let mut writer = client.copy_in("copy t from stdin (format binary)")?;
    writer.write_all(&data).expect("it is taken");
    assert_eq!(writer.finish()?, 2);
    let text = "select much::text || ' ' || at::text as t from t where id = 1";
    assert_eq!(client.query_one(text, &[])?.get::<_, &str>(0), "1.50 2026-01-02 03:04:05");
    Ok(())
}
