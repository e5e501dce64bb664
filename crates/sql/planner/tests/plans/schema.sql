CREATE TABLE t (k integer PRIMARY KEY, a integer NOT NULL, b bigint, s varchar(8), n numeric(6,2), f boolean NOT NULL);
CREATE INDEX t_a ON t (a, b);
CREATE UNIQUE INDEX t_s ON t (s);
CREATE TABLE u (x integer, y integer, z integer, PRIMARY KEY (x, y));
CREATE INDEX u_z ON u USING hash (z);
CREATE TABLE v (k integer PRIMARY KEY, t integer NOT NULL);
