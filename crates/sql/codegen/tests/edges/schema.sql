-- Tables for the edge cases of types and of nested statements.

CREATE TABLE acct (
    id integer NOT NULL,
    grp integer NOT NULL,
    kind smallint NOT NULL,
    bal numeric(8, 2) NOT NULL,
    fee numeric(6, 3),
    name char(8) NOT NULL,
    note varchar(8),
    born date,
    seen timestamp NOT NULL,
    ratio double precision,
    ok boolean,
    PRIMARY KEY (id)
);

CREATE INDEX acct_grp ON acct (grp, id);
CREATE INDEX acct_kind ON acct (kind, bal);

CREATE TABLE pair (
    a integer NOT NULL,
    b integer NOT NULL,
    v integer,
    w smallint NOT NULL,
    PRIMARY KEY (a, b)
);

CREATE INDEX pair_w ON pair (w);

CREATE TABLE txt (
    c char(4) NOT NULL,
    v varchar(6) NOT NULL,
    n integer,
    PRIMARY KEY (c, v)
);

CREATE TABLE days (
    d date NOT NULL,
    n integer NOT NULL,
    moment timestamp,
    PRIMARY KEY (d, n)
);

CREATE TABLE dec (
    k numeric(6, 2) NOT NULL,
    v numeric(18, 0),
    s numeric(4, 4),
    PRIMARY KEY (k)
);

CREATE TABLE edge (
    k bigint NOT NULL,
    s smallint NOT NULL,
    i integer NOT NULL,
    b bigint NOT NULL,
    f double precision NOT NULL,
    PRIMARY KEY (k)
);

CREATE TABLE yes (
    a boolean NOT NULL,
    k integer NOT NULL,
    b boolean,
    PRIMARY KEY (a, k)
);

CREATE TABLE item (
    id integer NOT NULL,
    grp integer,
    tag smallint NOT NULL,
    qty bigint,
    price numeric(8, 2),
    rate numeric(6, 4) NOT NULL,
    label varchar(8),
    code char(6) NOT NULL,
    active boolean NOT NULL,
    stale boolean,
    day date,
    PRIMARY KEY (id)
);

CREATE INDEX item_grp ON item (grp);
CREATE INDEX item_tag ON item (tag, price);

CREATE TABLE one_of (
    id integer NOT NULL,
    qty bigint,
    v integer NOT NULL,
    PRIMARY KEY (id)
);

CREATE UNIQUE INDEX one_of_qty ON one_of (qty);
