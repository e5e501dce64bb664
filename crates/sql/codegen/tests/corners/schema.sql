-- Tables for the corner cases of batching, read-ahead and partial reads in generated code.

CREATE TABLE wide (
    k integer NOT NULL,
    a integer NOT NULL,
    b integer,
    t varchar(20) NOT NULL,
    pad char(200) NOT NULL,
    z integer NOT NULL,
    tail varchar(12),
    PRIMARY KEY (k)
);

CREATE INDEX wide_z ON wide (z);

CREATE TABLE small (
    w smallint NOT NULL,
    d smallint NOT NULL,
    q integer NOT NULL,
    r integer,
    label varchar(12),
    code char(6) NOT NULL,
    PRIMARY KEY (w, d)
);

CREATE TABLE line (
    w smallint NOT NULL,
    d smallint NOT NULL,
    n integer NOT NULL,
    v integer,
    PRIMARY KEY (w, d, n)
);

CREATE TABLE price (
    p numeric(10, 2) NOT NULL,
    v integer NOT NULL,
    PRIMARY KEY (p)
);

CREATE TABLE big (
    k bigint NOT NULL,
    v bigint NOT NULL,
    PRIMARY KEY (k)
);

CREATE TABLE named (
    name varchar(10) NOT NULL,
    v integer NOT NULL,
    PRIMARY KEY (name)
);

CREATE TABLE fresh (
    a integer NOT NULL,
    b integer NOT NULL,
    v integer,
    t varchar(5),
    PRIMARY KEY (a, b)
);

CREATE TABLE tag (
    id integer NOT NULL,
    mark integer,
    PRIMARY KEY (id)
);

CREATE UNIQUE INDEX tag_mark ON tag (mark);

CREATE TABLE cell (
    g integer NOT NULL,
    i integer NOT NULL,
    q integer NOT NULL,
    r integer,
    label varchar(12),
    code char(6) NOT NULL,
    PRIMARY KEY (g, i)
);

CREATE TABLE entry (
    g integer NOT NULL,
    i integer NOT NULL,
    n integer NOT NULL,
    v integer,
    PRIMARY KEY (g, i, n)
);

CREATE TABLE broad (
    k integer NOT NULL,
    one char(80) NOT NULL,
    two char(80) NOT NULL,
    three char(80) NOT NULL,
    PRIMARY KEY (k)
);
