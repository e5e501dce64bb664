-- YCSB [Cooper et al. 2010]: one table of records with ten fields. Every update counts its record up, so that lost
-- updates show in the sum of the counters.

CREATE TABLE usertable (
    ycsb_key bigint NOT NULL,
    counter bigint NOT NULL,
    field0 varchar(100) NOT NULL,
    field1 varchar(100) NOT NULL,
    field2 varchar(100) NOT NULL,
    field3 varchar(100) NOT NULL,
    field4 varchar(100) NOT NULL,
    field5 varchar(100) NOT NULL,
    field6 varchar(100) NOT NULL,
    field7 varchar(100) NOT NULL,
    field8 varchar(100) NOT NULL,
    field9 varchar(100) NOT NULL,
    PRIMARY KEY (ycsb_key)
);
