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

CREATE TABLE sale (
    item_id integer NOT NULL REFERENCES item,
    line smallint NOT NULL,
    buyer varchar(16),
    amount numeric(12, 2) NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (item_id, line)
);

CREATE INDEX sale_buyer ON sale (buyer);

CREATE TABLE note (
    about integer NOT NULL,
    said varchar(200)
);
