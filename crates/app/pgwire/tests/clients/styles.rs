//! Results have the zone and the forms that the client has set.

use crate::programs::{Reference, World};

const STATEMENTS: [&str; 12] = [
    "set timezone = 'America/New_York'",
    "show timezone",
    "\\echo :ENCODING",
    "create table at (id int primary key, z timestamptz, b bytea, f double precision)",
    "insert into at values (1, '2024-07-01 12:00', '\\x4100', 0.1::float8 + 0.2)",
    "select * from at",
    "set bytea_output = 'escape'; set extra_float_digits = 0; set time zone 'Asia/Kolkata'",
    "select * from at where z = '2024-07-01 21:30'",
    "copy at to stdout",
    "select z::text, z at time zone 'UTC', array[z], to_jsonb(f) from at",
    "reset all",
    "select z at time zone 'UTC', b, f from at",
];

#[test]
fn psql_prints_values_as_with_postgresql() {
    let Some(reference) = Reference::start("styles") else { return };
    let theirs = reference.psql(&STATEMENTS);
    let ours = World::new().psql(&STATEMENTS).expect("psql is installed");
    assert!(ours.contains("2024-07-01 21:30:00+05:30"), "{ours}");
    assert_eq!(ours, theirs);
}
