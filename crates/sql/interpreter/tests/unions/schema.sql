-- Two tables for unions.
CREATE TABLE seat (
    row_number integer,
    place integer,
    price smallint,
    PRIMARY KEY (row_number, place)
);

CREATE TABLE guest (
    id integer PRIMARY KEY,
    invited integer
);
