-- case: text without a bound
CREATE TABLE t (a text);
-- case: varchar without a bound
CREATE TABLE t (a varchar);
-- case: numeric without digits
CREATE TABLE t (a numeric);
-- case: numeric that is too wide
CREATE TABLE t (a numeric(30, 2));
-- case: real
CREATE TABLE t (a real);
-- case: serial
CREATE TABLE t (a serial PRIMARY KEY);
-- case: identity
CREATE TABLE t (a integer GENERATED ALWAYS AS IDENTITY);
-- case: json
CREATE TABLE t (a jsonb);
-- case: bytea
CREATE TABLE t (a bytea);
-- case: an array
CREATE TABLE t (a integer[]);
-- case: an interval
CREATE TABLE t (a interval);
-- case: a precision of timestamps
CREATE TABLE t (a timestamp(3));
-- case: deferred references
CREATE TABLE a (x integer PRIMARY KEY);
CREATE TABLE b (x integer REFERENCES a DEFERRABLE INITIALLY DEFERRED);
-- case: a partial index
CREATE TABLE t (a integer);
CREATE INDEX i ON t (a) WHERE a > 1;
-- case: an index of an expression
CREATE TABLE t (a integer);
CREATE INDEX i ON t ((a + 1));
-- case: an index of a function
CREATE TABLE t (a varchar(3));
CREATE INDEX i ON t (lower(a));
-- case: a descending index
CREATE TABLE t (a integer);
CREATE INDEX i ON t (a DESC);
-- case: an index with further columns
CREATE TABLE t (a integer, b integer);
CREATE INDEX i ON t (a) INCLUDE (b);
-- case: a general index
CREATE TABLE t (a integer);
CREATE INDEX i ON t USING brin (a);
-- case: dropping a table
DROP TABLE IF EXISTS t;
-- case: storage parameters
CREATE TABLE t (a integer) WITH (fillfactor = 70);
-- case: partitions
CREATE TABLE t (a integer) PARTITION BY RANGE (a);
-- case: collations
CREATE TABLE t (a varchar(5) COLLATE "C");
-- case: another change of a table
CREATE TABLE t (a integer);
ALTER TABLE t ADD COLUMN b integer;
-- case: a view
CREATE VIEW v AS SELECT 1 AS one;
-- case: rows
CREATE TABLE t (a integer);
INSERT INTO t VALUES (1);
-- case: another schema
CREATE TABLE pg_temp.t (a integer);
-- case: like another table
CREATE TABLE a (x integer);
CREATE TABLE b (LIKE a);
-- case: a row that is too long
CREATE TABLE t (a char(1000), b char(1000), c char(1000), d char(1000), e char(1000), f char(1000), g char(1000), h char(1000), i char(1000));
-- case: a comment on a table
CREATE TABLE t (a integer);
COMMENT ON TABLE t IS 'of a';
-- case: a setting of the session
SET search_path = public;
-- case: a sequence
CREATE SEQUENCE s;
-- case: an enum
CREATE TYPE mood AS ENUM ('sad', 'ok');
-- case: a materialized view
CREATE MATERIALIZED VIEW v AS SELECT 1 AS one;
-- case: a temporary table
CREATE TEMP TABLE t (a integer);
-- case: a function in the schema
CREATE OR REPLACE FUNCTION f() RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$;
-- case: rights
CREATE TABLE t (a integer);
GRANT SELECT ON t TO public;
-- case: a dropped column
CREATE TABLE t (a integer, b integer);
ALTER TABLE t DROP COLUMN b;
-- case: several columns that are refused
CREATE TABLE t (a text, b serial, c bytea, d jsonb, e real);
