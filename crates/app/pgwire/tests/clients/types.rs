//! Values of stored types have PostgreSQL's bytes: as results, parameters and data of COPY.

use crate::programs::{Reference, World};
use postgres::types::private::BytesMut;
use postgres::types::{Format, FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, NoTls};
use std::error::Error;
use std::io::{Read, Write};
use std::time::Duration;

type Failure = Box<dyn Error + Sync + Send>;

/// A value as it travels.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Raw(Option<Vec<u8>>);

impl<'r> FromSql<'r> for Raw {
    fn from_sql(_: &Type, raw: &'r [u8]) -> Result<Self, Failure> {
        Ok(Self(Some(raw.to_vec())))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Failure> {
        Ok(Self(None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl ToSql for Raw {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        Ok(match &self.0 {
            Some(bytes) => {
                out.extend_from_slice(bytes);
                IsNull::No
            }
            None => IsNull::Yes,
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Binary
    }

    to_sql_checked!();
}

/// A type, and literals of it.
const VALUES: &[(&str, &[&str])] = &[
    ("mood", &["sad", "it's", "happy"]),
    ("uuid", &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000"]),
    ("bytea", &["\\x00ff10", "", "abc", "\\x0a095c22"]),
    ("real", &["0.1", "-1.5", "1e10", "NaN", "-Infinity"]),
    ("jsonb", &["{\"b\": [1.50, null], \"a\": \"\\u00e9\\n\\\"\"}", "[]", "12e2"]),
    ("json", &[" {\"b\" : 1, \"b\": \"\\t\"} ", "null"]),
    ("jsonb[]", &["{\"{\\\"a\\\": 1}\",NULL}"]),
    ("json[]", &["{1,NULL}"]),
    ("interval", &["1 year 2 mons -3 days 04:05:06.7", "-00:00:01", "0"]),
    ("interval[]", &["{1 day,NULL}"]),
    ("uuid[]", &["{}", "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,NULL}"]),
    ("bytea[]", &["{\"\\\\x00ff\",NULL}"]),
    ("real[]", &["{0.1,NULL,1e10}"]),
    ("int[]", &["{}", "{1,-2,NULL}"]),
    ("bigint[]", &["{9007199254740993}"]),
    ("text[]", &["{a,\"b c\",NULL,\"NULL\",\"\",\"\\\\\",\"x\\ty\"}"]),
    ("varchar(5)[]", &["{abc,NULL}"]),
    ("numeric(6,2)[]", &["{1.5,-2}"]),
    ("boolean[]", &["{t,f}"]),
    ("date[]", &["{2026-01-02,infinity}"]),
    ("timestamptz[]", &["{\"2026-01-02 03:04:05.5+00\"}"]),
];

/// The answers of a server: the bytes of each value, also after the way back, and a table's data in
/// the formats of COPY.
fn answers(mut client: Client) -> Result<Vec<String>, Box<dyn Error>> {
    let mut told = Vec::new();
    client.batch_execute("create type mood as enum ('sad', 'it''s', 'happy')")?;
    for (name, literals) in VALUES {
        let (there, back) = (format!("select $1::text::{name}"), format!("select $1::{name}"));
        for literal in *literals {
            let there = there.replace("$1::text", &format!("'{}'", literal.replace('\'', "''")));
            let raw: Raw = client.query_one(&there, &[])?.get(0);
            let again: Raw = client.query_one(&back, &[&raw])?.get(0);
            told.push(format!("{name} {literal}: {raw:?} {again:?}"));
        }
        let null: Raw = client.query_one(&back, &[&Raw(None)])?.get(0);
        told.push(format!("{name}: {null:?}"));
    }
    for (at, (name, literals)) in VALUES.iter().enumerate() {
        let table = format!("copied{at}");
        client.batch_execute(&format!("create table {table} (id int primary key, v {name})"))?;
        for (id, literal) in literals.iter().enumerate() {
            let literal = literal.replace('\'', "''");
            client.batch_execute(&format!("insert into {table} values ({id}, '{literal}')"))?;
        }
        client.batch_execute(&format!("insert into {table} values (1000, null)"))?;
        for format in ["text", "csv", "binary"] {
            let all =
                format!("copy (select * from {table} order by id) to stdout (format {format})");
            let mut data = Vec::new();
            client.copy_out(&all)?.read_to_end(&mut data)?;
            client.batch_execute(&format!("delete from {table}"))?;
            let mut writer =
                client.copy_in(&format!("copy {table} from stdin (format {format})"))?;
            writer.write_all(&data)?;
            writer.finish()?;
            told.push(format!("{name} as {format}: {data:?}"));
        }
        let rows = client.query(&format!("select v from {table} order by id"), &[])?;
        let values = rows.iter().map(|row| row.get::<_, Raw>(0)).collect::<Vec<_>>();
        told.push(format!("{name} in the table: {values:?}"));
    }
    Ok(told)
}

#[test]
fn values_have_postgresqls_bytes() -> Result<(), Box<dyn Error>> {
    let connect = |config: &mut Config| {
        config.user("me").dbname("postgres").connect_timeout(Duration::from_secs(20)).connect(NoTls)
    };
    let Some(reference) = Reference::start("types") else { return Ok(()) };
    let theirs = answers(connect(Config::new().host_path(reference.folder()))?)?;
    let world = World::new();
    let ours = answers(connect(Config::new().host("127.0.0.1").port(world.port()))?)?;
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours.len(), theirs.len());
    Ok(())
}
