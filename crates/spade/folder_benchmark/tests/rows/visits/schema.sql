-- Who is in a house, and which rooms it has.
CREATE TABLE visit (id bigint PRIMARY KEY, room integer NOT NULL);
CREATE TABLE room (id integer PRIMARY KEY, beds integer NOT NULL);
