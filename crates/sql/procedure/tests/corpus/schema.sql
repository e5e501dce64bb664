-- Large and small tables, with and without indexes, with all column types.

CREATE TABLE part (id integer PRIMARY KEY, maker integer NOT NULL, colour integer NOT NULL, name varchar(20) NOT NULL, price numeric(12, 2));
CREATE INDEX part_maker ON part (maker);
CREATE INDEX part_colour ON part (colour);
CREATE TABLE sale (id integer PRIMARY KEY, part integer NOT NULL, amount integer NOT NULL, happened timestamp);
CREATE TABLE maker (id integer PRIMARY KEY, name varchar(20) NOT NULL);

CREATE TABLE item (
    id integer PRIMARY KEY,
    name varchar(24) NOT NULL,
    code char(8),
    price numeric(12, 2) NOT NULL DEFAULT 0,
    stock smallint NOT NULL DEFAULT 10,
    sold bigint NOT NULL DEFAULT 0,
    is_active boolean NOT NULL DEFAULT true,
    weight double precision,
    made date,
    changed timestamp
);
CREATE INDEX item_price ON item (price, stock);
CREATE INDEX item_code ON item USING hash (code);
CREATE UNIQUE INDEX item_name ON item (name);
CREATE INDEX item_made ON item (made);

CREATE TABLE purchase (
    item_id integer NOT NULL REFERENCES item,
    line smallint NOT NULL,
    buyer varchar(16),
    amount numeric(12, 2) NOT NULL CHECK (amount > 0),
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (item_id, line)
);
CREATE INDEX purchase_buyer ON purchase (buyer);

CREATE TABLE note (about integer NOT NULL, said varchar(200));
