-- Tables large and small, with and without indexes, for plans of every kind of node.

CREATE TABLE part (id integer PRIMARY KEY, maker integer NOT NULL, colour integer NOT NULL, name varchar(20) NOT NULL, price numeric(12, 2));
CREATE INDEX part_maker ON part (maker);
CREATE INDEX part_colour ON part (colour);
CREATE TABLE sale (id integer PRIMARY KEY, part integer NOT NULL, amount integer NOT NULL, happened timestamp);
CREATE TABLE maker (id integer PRIMARY KEY, name varchar(20) NOT NULL);
