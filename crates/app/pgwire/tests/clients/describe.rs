//! psql's commands about tables print the same as in PostgreSQL.

use crate::programs::{Reference, World};

const TABLES: [&str; 30] = [
    "create table town (id int primary key, name varchar(30) not null, \
     since date, wealth numeric(12,2) default 0, note char(5) default 'x')",
    "create unique index town_by_name on town (name)",
    "create table citizen (town int references town, number bigint, name text, \
     seen timestamptz, is_mayor boolean not null default false, primary key (town, number))",
    "create index on citizen (name, number)",
    "create table account (id int primary key, email text, a int, b int)",
    "create unique index on account (lower(email))",
    "create index account_sum on account ((a + b), id, upper(email))",
    "create unique index account_some on account (lower(email), a) where a > 1",
    "alter table account add c boolean",
    "create index account_flag on account (a) where c",
    "create view rich as select id, name, wealth * 2 as twice from town where wealth > 10 and name <> 'Ghent'",
    "create view crowd (town, people) as select t.name, count(*) from town t \
     left join citizen c on c.town = t.id group by t.name order by count(*) desc limit 5",
    "create view all_towns as select * from town",
    "alter table town rename column since to founded",
    "create table moved (a int, b int check (b > 0), c text default 'x')",
    "create view of_moved as select c, b + 1 as more from moved m where b is not null or c like 'x%'",
    "create view of_view as select * from of_moved",
    "alter table moved add column d bigint not null default 7",
    "alter table moved drop column a",
    "alter table moved rename c to e",
    "create table typed (id uuid primary key default '00000000-0000-0000-0000-000000000001', \
     data bytea default '\\x00', r real default 1.5, doc jsonb default '{}', raw json, \
     tags text[] not null default '{}', prices numeric(6, 2)[], names varchar(5)[], span interval default '1 day')",
    "comment on table town is 'where people live'",
    "comment on column town.name is 'first'",
    "comment on column town.name is 'as on the sign'",
    "comment on view rich is 'few'",
    "comment on column rich.twice is 'of the wealth'",
    "comment on index town_by_name is 'no two alike'",
    "comment on constraint citizen_town_fkey on citizen is 'no nomads'",
    "comment on column moved.b is 'gone soon'",
    "comment on column moved.b is null",
];

/// Commands with equal output, apart from what namdb does not have.
const COMMANDS: [&str; 45] = [
    "\\d",
    "\\d town",
    "\\d citizen",
    "\\d+ citizen",
    "\\d citizen_pkey",
    "\\d town_by_name",
    "\\d account",
    "\\d account_sum",
    "\\d account_flag",
    "select indexrelid::regclass, pg_get_expr(indpred, indrelid) from pg_index where indpred is not null order by 1",
    "select indexname, indexdef from pg_indexes where tablename = 'account' order by 1",
    "select indkey, indnatts, pg_get_expr(indexprs, indrelid) from pg_index where indexrelid = 'account_sum'::regclass",
    "\\dt",
    "\\dt to*",
    "\\dt+ nothing",
    "\\di",
    "\\ds",
    "\\dv",
    "\\d crowd",
    "\\d+ crowd",
    "\\d+ all_towns",
    "\\d+ rich",
    "\\d+ moved",
    "\\d of_view",
    "\\d+ typed",
    "select * from information_schema.columns where table_name in ('town', 'citizen', 'typed') \
     order by table_name, ordinal_position",
    "\\d+ of_moved",
    "select viewname, viewowner from pg_views where schemaname = 'public' order by viewname",
    "select table_name, table_type from information_schema.tables where table_schema = 'public' order by 1",
    "\\df",
    "\\dT",
    "\\dp",
    "\\db",
    "\\dy",
    "\\dm",
    "\\det",
    "\\des",
    "\\dD",
    "\\d+ town",
    "\\dt+ town",
    "\\dv+",
    "select obj_description('town'::regclass), obj_description('town'::regclass, 'pg_class'), \
     obj_description('town'::regclass, 'pg_proc'), col_description('town'::regclass, 2)",
    "select c.relname, d.objsubid, d.description from pg_description d join pg_class c on c.oid = d.objoid \
     where c.relnamespace = 2200 order by 1, 2",
    "comment on table rich is 'a view'",
    "comment on column town.nothing is 'x'",
];

#[test]
fn psqls_commands_print_what_they_print_in_postgresql() {
    let Some(reference) = Reference::start("describe") else { return };
    let world = World::new();
    reference.psql(&TABLES);
    world.psql(&TABLES).expect("psql is installed with the server");
    let mut differences = String::new();
    for command in COMMANDS {
        let theirs = reference.psql(&[command]);
        let ours = world.psql(&[command]).expect("it has just run");
        if ours != theirs {
            differences += &format!("{command}\n{ours}\nPostgreSQL:\n{theirs}\n");
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

const SCHEMAS: [&str; 14] = [
    "create schema s",
    "create schema \"Other One\"",
    "create table t (id int primary key, a text)",
    "create table s.t (id serial primary key, a text not null default 'x' check (id > 0))",
    "create table s.u (id int primary key, t int references s.t on delete cascade, p int references t)",
    "create index on s.u (p)",
    "create view s.v as select t.a, p.a as other from s.t left join t p on p.id = t.id",
    "create view v as select a from s.t where id > 1",
    "create sequence s.q",
    "create function s.f(n int) returns int language sql as 'select n'",
    "create table \"Other One\".\"T t\" (id int)",
    "comment on table s.t is 'of s'",
    "comment on schema s is 'a schema'",
    "alter table \"Other One\".\"T t\" rename to plain",
];

/// Commands with equal output, once with each path.
const OF_SCHEMAS: [&str; 25] = [
    "\\dn",
    "\\dn+ s",
    "\\dn s",
    "\\d",
    "\\dt",
    "\\dt *.t",
    "\\dt s.*",
    "\\dt+ s.u",
    "\\d t",
    "\\d s.t",
    "\\d+ s.u",
    "\\d s.v",
    "\\d+ s.v",
    "\\d+ v",
    "\\di s.*",
    "\\ds s.*",
    "\\dv s.*",
    "\\df s.*",
    "\\d \"Other One\".plain",
    "select 's.t'::regclass, to_regclass('t'), 's.u_pkey'::regclass, to_regclass('s.none'), to_regnamespace('s')",
    "select current_schema(), current_schemas(false), current_schemas(true)",
    "select table_schema, table_name, table_type from information_schema.tables \
     where table_schema not in ('pg_catalog', 'information_schema') order by 1, 2",
    "select schemaname, tablename, indexname, indexdef from pg_indexes where schemaname <> 'pg_catalog' order by 1, 2, 3",
    "select n.nspname, c.relname, c.relkind from pg_class c join pg_namespace n on n.oid = c.relnamespace \
     where n.nspname in ('s', 'public', 'Other One') order by 1, 2, 3",
    "select conname, connamespace::regnamespace, conrelid::regclass, confrelid::regclass, pg_get_constraintdef(oid) \
     from pg_constraint where contype <> 'c' and connamespace in ('s'::regnamespace, 'public'::regnamespace) order by 1, 3",
];

#[test]
fn schemas_are_shown_as_in_postgresql() {
    let Some(reference) = Reference::start("schemas") else { return };
    let world = World::new();
    reference.psql(&SCHEMAS);
    let created = world.psql(&SCHEMAS).expect("psql is installed with the server");
    assert!(!created.contains("ERROR"), "{created}");
    let mut differences = String::new();
    for path in ["public", "s, public", "public, s", "''"] {
        let path = format!("set search_path = {path}");
        for command in OF_SCHEMAS {
            // Either may have a cast that fails, with the same error.
            let theirs = reference.psql(&[&path, command]);
            let ours = world.psql(&[&path, command]).expect("it has just run");
            if ours != theirs {
                differences += &format!("{path}; {command}\n{ours}\nPostgreSQL:\n{theirs}\n");
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

const ENUMS: [&str; 9] = [
    "create schema s",
    "create type mood as enum ('sad', 'it''s', 'happy')",
    "create type s.\"Odd Type\" as enum ('x', 'y')",
    "alter type mood add value 'ok' before 'happy'",
    "comment on type mood is 'a mood'",
    "create table t (id int primary key, m mood default 'ok' not null, a mood[] default '{sad}', \
     o s.\"Odd Type\" default 'x')",
    "create view v as select id, 'sad'::mood as m, 'y'::s.\"Odd Type\" as o from t where m < 'happy'",
    "create function f(m mood, o s.\"Odd Type\") returns mood language sql as 'select m'",
    "create type empty as enum ()",
];

const OF_ENUMS: [&str; 13] = [
    "\\dT",
    "\\dT+ mood",
    "\\dT+ s.*",
    "\\dT nosuch",
    "\\d t",
    "\\d+ v",
    "\\df f",
    "select t.typname, e.enumlabel from pg_enum e join pg_type t on t.oid = e.enumtypid \
     order by 1, e.enumsortorder",
    "select typname, typlen, typbyval, typtype, typcategory, typelem::regtype, typarray::regtype, typinput \
     from pg_type where typtype = 'e' or typname in ('_mood', '_Odd Type') order by 1",
    "select column_name, data_type, udt_schema, udt_name, column_default from information_schema.columns \
     where table_name = 't' order by ordinal_position",
    "select attname, format_type(atttypid, atttypmod), attlen from pg_attribute \
     where attrelid = 't'::regclass and attnum > 0 order by attnum",
    "select to_regtype('mood'), to_regtype('s.\"Odd Type\"'), to_regtype('mood[]'), 'mood'::regtype = to_regtype('public.mood')",
    "select n.nspname, t.typname, array_agg(e.enumlabel order by e.enumsortorder) from pg_type t \
     join pg_enum e on t.oid = e.enumtypid join pg_namespace n on n.oid = t.typnamespace group by 1, 2 order by 1, 2",
];

#[test]
fn enumerated_types_are_shown_as_in_postgresql() {
    let Some(reference) = Reference::start("enums") else { return };
    let world = World::new();
    reference.psql(&ENUMS);
    let created = world.psql(&ENUMS).expect("psql is installed with the server");
    assert!(!created.contains("ERROR"), "{created}");
    let mut differences = String::new();
    for command in OF_ENUMS {
        let theirs = reference.psql(&[command]);
        let ours = world.psql(&[command]).expect("it has just run");
        if ours != theirs {
            differences += &format!("{command}\n{ours}\nPostgreSQL:\n{theirs}\n");
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn drivers_find_types_tables_and_settings() {
    let world = World::new();
    let Some(created) = world.psql(&TABLES) else { return };
    assert!(!created.contains("ERROR"), "{created}");
    world.psql(&["create table counted (id int generated always as identity, n serial)"]);
    let one = |query: &str| world.psql(&["\\pset format unaligned", "\\pset tuples_only", query]);
    let answer = |query: &str| {
        let text = one(query).expect("psql has run before");
        text.lines().skip(2).map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    for (query, expected) in [
        ("select 'town'::regclass::oid = to_regclass('public.town')", "t"),
        ("select to_regtype('numeric'), to_regtype('hstore') is null", "numeric|t"),
        (
            "select typname from pg_type t join pg_namespace n on t.typnamespace = n.oid \
             where t.oid = any (array[23, 25]) order by 1",
            "int4\ntext",
        ),
        (
            "select column_name, data_type, is_nullable from information_schema.columns \
             where table_schema = 'public' and table_name = 'town' order by ordinal_position limit 2",
            "id|integer|NO\nname|character varying|NO",
        ),
        (
            "select relname, count(*) from pg_class c join pg_index i on i.indrelid = c.oid \
             group by relname having count(*) > 1 order by 2 desc, 1",
            "account|5\ncitizen|2\ntown|2",
        ),
        (
            "select a.attname from pg_index i join pg_attribute a on a.attrelid = i.indrelid \
             and a.attnum = any (i.indkey) where i.indrelid = 'citizen'::regclass and i.indisprimary \
             order by array_position(i.indkey, a.attnum)",
            "town\nnumber",
        ),
        ("select setting from pg_settings where name = 'server_encoding'", "UTF8"),
        (
            "select attname, attidentity, atthasdef from pg_attribute \
             where attrelid = 'counted'::regclass and attnum > 0 order by attnum",
            "id|a|f\nn||t",
        ),
        (
            "select column_name, is_identity, identity_generation from information_schema.columns \
             where table_name = 'counted' order by ordinal_position",
            "id|YES|ALWAYS\nn|NO|",
        ),
        (
            "select nspname from pg_namespace where nspname !~ '^pg_' order by nspname",
            "information_schema\npublic",
        ),
        ("select current_schemas(true)", "{pg_catalog,public}"),
        (
            "select string_agg(conname, ',' order by conname) from pg_constraint",
            "account_pkey,citizen_pkey,citizen_town_fkey,moved_b_check,town_pkey,typed_pkey",
        ),
        ("select count(*) from pg_catalog.pg_inherits union all select 7", "0\n7"),
    ] {
        assert_eq!(answer(query), expected, "{query}");
    }
}

#[test]
fn windows_patterns_and_fields_are_those_of_postgresql() {
    let world = World::new();
    let Some(created) = world.psql(&TABLES) else { return };
    assert!(!created.contains("ERROR"), "{created}");
    for (query, expected) in [
        (
            "select relname, row_number() over (partition by relkind order by relname desc) as n
             from pg_class where relkind in ('r', 'i') and relname like 't%' order by n, relname",
            "town|2",
        ),
        (
            "select relname from pg_class where relname like 'pg!_am%' escape '!' order by 1",
            "pg_am",
        ),
        (
            "select (k).x, (k).n from (select information_schema._pg_expandarray(conkey) as k
          from pg_constraint where contype = 'f') t",
            "1|1",
        ),
    ] {
        let Some(told) = world.psql(&["\\t", "\\a", query]) else { return };
        assert!(told.lines().any(|line| line == expected), "{query}: {told}");
    }
}

#[test]
fn what_the_catalog_cannot_answer_is_an_error_with_a_reason() {
    let world = World::new();
    for (query, sqlstate) in [
        ("select 'nothing'::regclass", "42P01"),
        ("select nothing from pg_class", "42703"),
        ("select pg_nothing(oid) from pg_class", "0A000"),
        ("select rank() over () from pg_class", "0A000"),
        ("select relname ~ '(' from pg_class", "2201B"),
        ("select oid::int / 0 from pg_class where relname = $1", "42P02"),
    ] {
        let Some(told) = world.psql(&["\\set VERBOSITY verbose", query]) else { return };
        assert!(told.contains(sqlstate), "{query}: {told}");
    }
}
