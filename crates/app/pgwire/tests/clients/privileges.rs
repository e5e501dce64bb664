//! Roles and privileges, in PostgreSQL and here: the same rows, tags, messages and SQLSTATEs.

use crate::programs::{Reference, World};

const SCRIPT: &[&str] = &[
    "create role staff",
    "create user bob in role staff",
    "create user eve password 'secret' noinherit",
    "create user boss createrole",
    "create role bob",
    "create role pg_x",
    "create role \"public\"",
    "alter role nobody login",
    "grant nobody to bob",
    "grant staff to bob",
    "grant bob to staff",
    "revoke staff from eve",
    "create table t (id int primary key, v int)",
    "insert into t values (1, 10), (2, 20)",
    "create view few as select id from t where id = 1",
    "create sequence s",
    "create function f() returns int language sql as $$ select 1 $$",
    "create procedure p() language plpgsql as $$ begin insert into t values (9, 9); end $$",
    "select has_table_privilege('bob', 't', 'select'), has_table_privilege('t', 'insert, update')",
    "select has_table_privilege('bob', 't', 'nothing')",
    "select has_table_privilege('bob', 'nothing', 'select')",
    "select pg_has_role('bob', 'staff', 'member'), pg_has_role('eve', 'staff', 'usage')",
    // Privileges for tables.
    "set session authorization bob",
    "select current_user, session_user",
    "select * from t",
    "select count(*) from t",
    "insert into t values (3, 3)",
    "update t set v = 1",
    "delete from t",
    "truncate t",
    "copy t to stdout",
    "copy t from stdin",
    "explain select * from t",
    "lock table t",
    "begin; lock table t in access exclusive mode",
    "rollback",
    "analyze t",
    "select * from few",
    "select nextval('s')",
    "select f()",
    "call p()",
    "create table u (a int)",
    "create view w as select 1 as one",
    "create sequence q",
    "create function g() returns int language sql as $$ select 1 $$",
    "drop table t",
    "drop view few",
    "drop sequence s",
    "drop function f",
    "drop procedure p",
    "alter table t add column c int",
    "alter table t owner to bob",
    "create index i on t (v)",
    "drop index t_pkey",
    "grant select on t to eve",
    "revoke select on t from eve",
    "grant staff to eve",
    "create role x",
    "drop role eve",
    "alter role eve login",
    "alter role bob createrole",
    "set role eve",
    "set role nobody",
    "set session authorization eve",
    "reset session authorization",
    "select current_user",
    // Grants.
    "grant select, update on t to staff with grant option",
    "grant select on t to public with grant option",
    "grant execute on t to bob",
    "grant usage on t to bob",
    "grant nonsense on t to bob",
    "grant select on nothing to bob",
    "grant select on t to nobody",
    "grant select on sequence t to bob",
    "grant all on schema nowhere to bob",
    "grant create on schema public to bob",
    "grant usage on sequence s to bob",
    "grant select on few to bob",
    "revoke execute on function f() from public",
    "select relname, relacl from pg_class where relname in ('t', 'few') order by 1",
    "select grantee, privilege_type, is_grantable from information_schema.table_privileges \
     where table_name = 't' order by 1, 2",
    "select grantee, privilege_type from information_schema.role_table_grants \
     where table_name = 'few' order by 1, 2",
    "select has_table_privilege('bob', 't', 'update with grant option'), \
     has_table_privilege('bob', 't', 'delete')",
    "select has_schema_privilege('bob', 'public', 'create'), \
     has_schema_privilege('eve', 'public', 'create')",
    "set role bob",
    "select * from t order by id",
    "update t set v = v + 1",
    "select * from few",
    "select f()",
    "select nextval('s')",
    "select setval('s', 7)",
    "call p()",
    "grant select on t to eve",
    "grant delete on t to eve",
    "grant select, delete on t to eve",
    "create table u (a int references t, b serial)",
    "create table u (a int, b serial)",
    "insert into u (a) values (1) returning b",
    "create view w as select * from t",
    "grant select on w to eve",
    "set role staff",
    "select * from u",
    "select * from t order by id",
    "reset role",
    "set role eve",
    "select * from w order by id",
    "select * from t order by id",
    "insert into u values (1)",
    "reset role",
    "revoke select on t from staff",
    "revoke select on t from staff cascade",
    "set role eve",
    "select * from w",
    "select * from t",
    "reset role",
    "drop role bob",
    "alter table u owner to eve",
    "alter table u owner to nobody",
    "drop role eve",
    "drop table u cascade",
    "revoke all on t from bob",
    "drop role me",
    "drop role staff, nobody",
    "drop role if exists nobody",
    "set role boss",
    "create role made",
    "create role super superuser",
    "alter role me nologin",
    "drop role me",
    "grant me to made",
    "alter role made rename to done",
    "drop role done",
    "reset role",
    "select rolname, rolsuper, rolinherit, rolcreaterole, rolcanlogin, rolpassword from pg_roles \
     where rolname !~ '^pg_' order by 1",
    "\\dp t",
    "\\dg",
];

/// Lines that differ: places of errors, the statements around them, our warning about hosts that
/// are trusted, and the tag of dropped procedures.
const APART: &[&str] = &[
    "LINE 1:",
    "^",
    "CONTEXT:",
    "PL/pgSQL function",
    "WARNING:  clients of this host",
    "WARNING:  01000",
    "DROP FUNCTION",
    "DROP PROCEDURE",
];

#[test]
fn privileges_are_those_of_postgresql() {
    let Some(reference) = Reference::start("privileges") else { return };
    let world = World::new();
    for verbosity in ["default", "sqlstate"] {
        let begin = format!("\\set VERBOSITY {verbosity}");
        let undo = [
            "drop view if exists w, few",
            "drop table if exists t cascade",
            "drop sequence if exists s",
            "drop function if exists f",
            "drop procedure if exists p",
            "revoke all on schema public from bob",
            "drop role if exists bob, eve, staff, boss",
        ];
        let all: Vec<&str> =
            [&begin[..]].into_iter().chain(SCRIPT.iter().copied()).chain(undo).collect();
        let ours = world.psql(&all).expect("psql is installed with the server");
        let theirs = reference.psql(&all);
        let is_compared = |line: &&str| !APART.iter().any(|apart| line.trim().starts_with(apart));
        let mut ours = ours.lines().filter(is_compared);
        let mut theirs = theirs.lines().filter(is_compared);
        let mut differences = Vec::new();
        loop {
            match (ours.next(), theirs.next()) {
                (None, None) => break,
                (ours, theirs) if ours == theirs => {}
                (ours, theirs) => differences.push(format!("{ours:?}\n  {theirs:?}")),
            }
        }
        assert!(differences.is_empty(), "ours, then PostgreSQL's:\n{}", differences.join("\n"));
    }
}
