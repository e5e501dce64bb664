-- case: types of columns
CREATE TABLE t (
    a smallint, b int2, c integer, d int, e int4, f bigint, g int8, h numeric(12, 2), i decimal(4), j dec(18, 18),
    k char(3), l char, m character(5), n varchar(7), o character varying(9), p timestamp, q timestamp without time zone,
    r timestamptz, s timestamp with time zone, t date, u boolean, v bool, w double precision, x float8, y float, z float(30)
);
-- case: keys inside columns
CREATE TABLE t (a integer PRIMARY KEY, b integer UNIQUE, c integer NOT NULL CONSTRAINT c_key UNIQUE);
-- case: keys of tables
CREATE TABLE t (a integer, b integer, c integer, PRIMARY KEY (b, a), UNIQUE (c), CONSTRAINT both_ UNIQUE (a, c));
-- case: no primary key
CREATE TABLE t (a integer, b varchar(10));
-- case: defaults
CREATE TABLE t (
    a integer DEFAULT 5, b numeric(5, 2) DEFAULT -1.5 NOT NULL, c varchar(5) DEFAULT 'x' || 'y', d timestamp DEFAULT now(),
    e boolean DEFAULT false, f integer DEFAULT NULL, g timestamptz DEFAULT current_timestamp, h date DEFAULT '2020-01-31',
    i integer NOT NULL DEFAULT (2 + 3) * 4, j varchar(9) DEFAULT CAST(7 AS varchar), k integer DEFAULT 0 NULL
);
-- case: references
CREATE TABLE a (x integer PRIMARY KEY, y bigint, z char(3), UNIQUE (y, z));
CREATE TABLE b (
    x integer REFERENCES a, y integer REFERENCES a (x) ON DELETE RESTRICT ON UPDATE NO ACTION, z char(3),
    FOREIGN KEY (y, z) REFERENCES a (y, z), up integer CONSTRAINT up_ REFERENCES a NOT NULL
);
-- case: actions of references
CREATE TABLE a (x integer PRIMARY KEY);
CREATE TABLE b (x integer REFERENCES a ON DELETE CASCADE);
CREATE TABLE c (x integer REFERENCES a ON DELETE SET NULL (x) ON UPDATE SET DEFAULT, y integer);
-- case: a table that refers to itself
CREATE TABLE t (a integer PRIMARY KEY, up integer REFERENCES t (a));
-- case: checks
CREATE TABLE t (a integer CHECK (a > 0), b integer NOT NULL, CONSTRAINT order_ CHECK (a < b AND b IS NOT NULL), CHECK (b IN (1, 2)));
-- case: indexes
CREATE TABLE t (a integer, b integer, c varchar(10));
CREATE INDEX one ON t (a);
CREATE UNIQUE INDEX two ON t USING btree (b, c);
CREATE INDEX three ON t USING hash (c);
CREATE INDEX ON t (c ASC, a);
CREATE INDEX IF NOT EXISTS four ON t (b);
-- case: keys that come later
CREATE TABLE a (x integer NOT NULL, y integer);
CREATE TABLE b (z integer);
ALTER TABLE a ADD PRIMARY KEY (x);
ALTER TABLE ONLY a ADD CONSTRAINT y_once UNIQUE (y);
ALTER TABLE b ADD CONSTRAINT to_a FOREIGN KEY (z) REFERENCES a, ADD CHECK (z > 1);
-- case: names and schemas
CREATE TABLE public.t ("Mixed Case" integer PRIMARY KEY, "select" integer, UPPER integer);
CREATE INDEX lower_is ON public.t (upper, "Mixed Case");
-- case: comments and semicolons
/* one /* inside */ the other */ ;; CREATE TABLE t (a integer); -- the end
-- case: names of tables and columns that are words
CREATE TABLE orders (line integer, name varchar(3), value integer, status smallint, level integer, key integer);
