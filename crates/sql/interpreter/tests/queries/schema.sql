CREATE TABLE a (
    id integer PRIMARY KEY,
    x integer NOT NULL,
    y integer NOT NULL,
    t varchar(10) NOT NULL
);
CREATE INDEX a_x ON a (x);
CREATE INDEX a_y ON a (y);

CREATE TABLE b (
    id integer PRIMARY KEY,
    x integer NOT NULL,
    z integer NOT NULL
);
CREATE INDEX b_x ON b (x);
