-- case: two primary keys
CREATE TABLE t (a integer PRIMARY KEY, b integer PRIMARY KEY);
-- case: a column twice
CREATE TABLE t (a integer, a integer);
-- case: a table twice
CREATE TABLE t (a integer);
CREATE TABLE t (b integer);
-- case: an unknown type
CREATE TABLE t (a integr);
-- case: an unknown column in a key
CREATE TABLE t (a integer, PRIMARY KEY (b));
-- case: a key column twice
CREATE TABLE t (a integer, PRIMARY KEY (a, a));
-- case: an unknown table in a reference
CREATE TABLE t (a integer REFERENCES nowhere);
-- case: a reference to no key
CREATE TABLE a (x integer PRIMARY KEY, y integer);
CREATE TABLE b (y integer REFERENCES a (y));
-- case: a reference of another type
CREATE TABLE a (x integer PRIMARY KEY);
CREATE TABLE b (y varchar(5) REFERENCES a);
-- case: an index of an unknown table
CREATE INDEX i ON nowhere (a);
-- case: an index of an unknown column
CREATE TABLE t (a integer);
CREATE INDEX i ON t (b);
-- case: an index name twice
CREATE TABLE t (a integer);
CREATE INDEX i ON t (a);
CREATE INDEX i ON t (a);
-- case: a unique hash index
CREATE TABLE t (a integer);
CREATE UNIQUE INDEX i ON t USING hash (a);
-- case: an unknown kind of index
CREATE TABLE t (a integer);
CREATE INDEX i ON t USING tree (a);
-- case: a default of another type
CREATE TABLE t (a integer DEFAULT true);
-- case: a default that cannot be read
CREATE TABLE t (a integer DEFAULT 'five');
-- case: a default of a column
CREATE TABLE t (a integer, b integer DEFAULT a);
-- case: a default with a sub-select
CREATE TABLE t (a integer DEFAULT (SELECT 1));
-- case: a check of another type
CREATE TABLE t (a integer CHECK (a + 1));
-- case: a check of an unknown column
CREATE TABLE t (a integer CHECK (b > 1));
-- case: no closing bracket
CREATE TABLE t (a integer
-- case: a comma too many
CREATE TABLE t (a integer,);
-- case: no type
CREATE TABLE t (a, b integer);
-- case: an unterminated text
CREATE TABLE t (a varchar(5) DEFAULT 'x);
-- case: no semicolon between statements
CREATE TABLE t (a integer) CREATE INDEX i ON t (a);
-- case: a length of zero
CREATE TABLE t (a char(0));
-- case: a length that is no number
CREATE TABLE t (a varchar(many));
-- case: another database's operator
CREATE TABLE t (a integer CHECK (a == 1));
-- case: nothing after default
CREATE TABLE t (a integer DEFAULT, b integer);
-- case: a column of no value
CREATE TABLE t (a void);
-- case: null and not null
CREATE TABLE t (a integer NOT NULL UNIQUE NULL);
-- case: two words behind a key
CREATE TABLE t (a integer PRIMARY KEY b integer);
-- case: two defaults
CREATE TABLE t (a integer DEFAULT 1 DEFAULT 2);
-- case: a word right behind a number
CREATE TABLE t (a integer DEFAULT 1NOT NULL);
-- case: an index without a name that may exist
CREATE TABLE t (a integer); CREATE INDEX IF NOT EXISTS ON t (a);
-- case: a misspelt word of a statement
CREATE TABEL t (a integer);
-- case: a misspelt first word
CRAETE TABLE t (a integer);
-- case: a statement that there is not
CREATE THING t;
-- case: a misspelt word of a constraint
CREATE TABLE t (a integer PRIMRY KEY, b integer NOT NULL);
-- case: errors of two statements
CREATE TABLE t (a intger, b integer);
CREATE INDEX i ON t (c);
CREATE TABLE u (a integer, a integer, b integer DEFAULT true);
