-- The tables of each schedule.
DROP TABLE IF EXISTS c; DROP TABLE IF EXISTS p; DROP TABLE IF EXISTS t
CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL, name text UNIQUE)
INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c')
CREATE TABLE p (id int PRIMARY KEY, v int)
CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p (id))
INSERT INTO p VALUES (1, 0), (2, 0)

# each statement sees what was committed before it
1: BEGIN
1: SELECT v FROM t WHERE id = 1
2: UPDATE t SET v = 11 WHERE id = 1
1: SELECT v FROM t WHERE id = 1
1: UPDATE t SET v = v + 1 WHERE id = 1
1: SELECT v FROM t WHERE id = 1
2: SELECT v FROM t WHERE id = 1
1: COMMIT
2: SELECT v FROM t WHERE id = 1

# a repeatable snapshot does not
1: BEGIN ISOLATION LEVEL REPEATABLE READ
1: SELECT v FROM t WHERE id = 1
2: UPDATE t SET v = 11 WHERE id = 1
1: SELECT v FROM t WHERE id = 1
1: UPDATE t SET v = v + 1 WHERE id = 1
1: COMMIT
2: SELECT v FROM t WHERE id = 1

# no update is lost
1: BEGIN
2: BEGIN
1: UPDATE t SET v = v + 1 WHERE id = 1
2: UPDATE t SET v = v + 1 WHERE id = 1
1: COMMIT
2: SELECT v FROM t WHERE id = 1
2: COMMIT
1: SELECT v FROM t WHERE id = 1

# the waiting update goes on after a rollback
1: BEGIN
1: UPDATE t SET v = 100 WHERE id = 1
2: UPDATE t SET v = v + 1 WHERE id = 1
1: ROLLBACK
2: SELECT v FROM t WHERE id = 1

# a repeatable snapshot fails after the wait
1: BEGIN
2: BEGIN ISOLATION LEVEL REPEATABLE READ
2: SELECT v FROM t WHERE id = 2
1: UPDATE t SET v = 100 WHERE id = 1
2: UPDATE t SET v = v + 1 WHERE id = 1
1: COMMIT
2: ROLLBACK

# and goes on after a rollback
1: BEGIN
2: BEGIN ISOLATION LEVEL REPEATABLE READ
2: SELECT v FROM t WHERE id = 2
1: UPDATE t SET v = 100 WHERE id = 1
2: UPDATE t SET v = v + 1 WHERE id = 1
1: ROLLBACK
2: COMMIT
1: SELECT v FROM t WHERE id = 1

# a condition is evaluated on the newest version
1: BEGIN
2: BEGIN
1: UPDATE t SET v = 5 WHERE id = 1
2: DELETE FROM t WHERE v = 10
1: COMMIT
2: COMMIT
1: SELECT id, v FROM t ORDER BY id

# a row that was deleted is not updated
1: BEGIN
1: DELETE FROM t WHERE id = 1
2: UPDATE t SET v = 7 WHERE id = 1
1: COMMIT
2: SELECT count(*) FROM t

# writers of different rows do not wait, and skew
1: BEGIN
2: BEGIN
1: SELECT sum(v) FROM t WHERE id < 3
2: SELECT sum(v) FROM t WHERE id < 3
1: UPDATE t SET v = 0 WHERE id = 1
2: UPDATE t SET v = 0 WHERE id = 2
1: COMMIT
2: COMMIT
1: SELECT sum(v) FROM t WHERE id < 3

# select for update waits and returns the newest version
1: BEGIN
2: BEGIN
1: UPDATE t SET v = 11 WHERE id = 1
2: SELECT v FROM t WHERE id = 1 FOR UPDATE
1: COMMIT
2: UPDATE t SET v = v + 1 WHERE id = 1
2: COMMIT
1: SELECT v FROM t WHERE id = 1

# sharers share
1: BEGIN
2: BEGIN
1: SELECT v FROM t WHERE id = 1 FOR SHARE
2: SELECT v FROM t WHERE id = 1 FOR SHARE
3: UPDATE t SET v = 0 WHERE id = 1
1: COMMIT
2: UPDATE t SET v = 1 WHERE id = 2
2: COMMIT
3: SELECT id, v FROM t ORDER BY id

# two sharers that update the row
1: BEGIN
2: BEGIN
1: SELECT v FROM t WHERE id = 1 FOR SHARE
2: SELECT v FROM t WHERE id = 1 FOR SHARE
1: UPDATE t SET v = 1 WHERE id = 1
2: ROLLBACK
1: COMMIT

# nowait
1: BEGIN
1: UPDATE t SET v = 1 WHERE id = 1
2: BEGIN
2: SELECT v FROM t WHERE id = 2 FOR UPDATE NOWAIT
2: SELECT v FROM t WHERE id = 1 FOR UPDATE NOWAIT
2: ROLLBACK
1: COMMIT

# skip locked takes the next ones
1: BEGIN
1: SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
2: BEGIN
2: SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
3: BEGIN
3: SELECT id FROM t ORDER BY id FOR UPDATE SKIP LOCKED
1: ROLLBACK
2: ROLLBACK
3: ROLLBACK

# lock_timeout
1: BEGIN
1: UPDATE t SET v = 1 WHERE id = 1
2: SET lock_timeout = '200ms'
2: UPDATE t SET v = 2 WHERE id = 1
1: COMMIT
2: UPDATE t SET v = 2 WHERE id = 1

# statement_timeout ends a wait
1: BEGIN
1: UPDATE t SET v = 1 WHERE id = 1
2: SET statement_timeout = '200ms'
2: UPDATE t SET v = 2 WHERE id = 1
1: COMMIT

# rollback to a savepoint releases the locks behind it
1: BEGIN
1: UPDATE t SET v = 1 WHERE id = 1
1: SAVEPOINT s
1: UPDATE t SET v = 2 WHERE id = 2
2: UPDATE t SET v = v + 1 WHERE id = 2
1: ROLLBACK TO s
3: UPDATE t SET v = v + 1 WHERE id = 1
1: COMMIT
1: SELECT id, v FROM t ORDER BY id

# a failed transaction holds nothing
1: BEGIN
1: UPDATE t SET v = 1 WHERE id = 1
1: SELECT 1 / 0
2: UPDATE t SET v = v + 1 WHERE id = 1
1: ROLLBACK
2: SELECT v FROM t WHERE id = 1

# the second insert of a key waits and fails
1: BEGIN
1: INSERT INTO t VALUES (4, 40, 'd')
2: INSERT INTO t VALUES (4, 41, 'e')
1: COMMIT
2: SELECT v FROM t WHERE id = 4

# or succeeds after a rollback
1: BEGIN
1: INSERT INTO t VALUES (4, 40, 'd')
2: INSERT INTO t VALUES (4, 41, 'e')
1: ROLLBACK
2: SELECT v FROM t WHERE id = 4

# the same for a unique key
1: BEGIN
1: INSERT INTO t VALUES (4, 40, 'd')
2: INSERT INTO t VALUES (5, 50, 'd')
1: COMMIT
2: SELECT count(*) FROM t

# on conflict updates the newest version
1: BEGIN
1: INSERT INTO t VALUES (4, 40, 'd')
2: INSERT INTO t VALUES (4, 1, 'e') ON CONFLICT (id) DO UPDATE SET v = t.v + excluded.v
1: COMMIT
2: SELECT v, name FROM t WHERE id = 4

# on conflict does nothing
1: BEGIN
1: INSERT INTO t VALUES (4, 40, 'd')
2: INSERT INTO t VALUES (4, 1, 'e') ON CONFLICT DO NOTHING
1: COMMIT
2: SELECT v, name FROM t WHERE id = 4

# a parent is not deleted under a child that is being inserted
1: BEGIN
1: INSERT INTO c VALUES (1, 1)
2: DELETE FROM p WHERE id = 1
1: COMMIT
2: SELECT count(*) FROM p

# and is deleted after the child's rollback
1: BEGIN
1: INSERT INTO c VALUES (1, 1)
2: DELETE FROM p WHERE id = 1
1: ROLLBACK
2: SELECT count(*) FROM p

# a child is not inserted under a parent that is being deleted
1: BEGIN
1: DELETE FROM p WHERE id = 1
2: INSERT INTO c VALUES (1, 1)
1: COMMIT
2: SELECT count(*) FROM c

# an update of a parent does not keep children away
1: BEGIN
2: BEGIN
1: UPDATE p SET v = v + 1 WHERE id = 1
2: INSERT INTO c VALUES (1, 1)
2: COMMIT
1: COMMIT
1: SELECT v FROM p WHERE id = 1

# children of one parent do not wait for each other
1: BEGIN
2: BEGIN
1: INSERT INTO c VALUES (1, 1)
2: INSERT INTO c VALUES (2, 1)
1: COMMIT
2: COMMIT
1: SELECT count(*) FROM c

# foreign keys are changed in the middle of a transaction
1: BEGIN
1: UPDATE t SET v = 0 WHERE id = 1
1: SELECT v FROM t WHERE id = 2
2: UPDATE t SET v = 21 WHERE id = 2
1: INSERT INTO c VALUES (1, 2)
1: SELECT v FROM t WHERE id = 2
1: COMMIT

# waits are first come first served
1: BEGIN
1: UPDATE t SET v = 1 WHERE id = 1
2: BEGIN
2: UPDATE t SET v = v * 2 WHERE id = 1
3: UPDATE t SET v = v + 10 WHERE id = 1
1: COMMIT
2: COMMIT
3: SELECT v FROM t WHERE id = 1

# a cursor keeps its snapshot
1: BEGIN
1: DECLARE k CURSOR FOR SELECT id, v FROM t ORDER BY id
1: FETCH 1 FROM k
2: UPDATE t SET v = 0
1: SELECT sum(v) FROM t
1: FETCH 2 FROM k
1: COMMIT

# a deadlock has one victim, and the other one goes on
1: BEGIN
2: BEGIN
1: UPDATE t SET v = 1 WHERE id = 1
2: UPDATE t SET v = 2 WHERE id = 2
1: UPDATE t SET v = 1 WHERE id = 2
2: UPDATE t SET v = 2 WHERE id = 1
2: ROLLBACK
1: COMMIT
1: SELECT id, v FROM t ORDER BY id

# a deadlock of three
1: BEGIN
2: BEGIN
3: BEGIN
1: UPDATE t SET v = 1 WHERE id = 1
2: UPDATE t SET v = 2 WHERE id = 2
3: UPDATE t SET v = 3 WHERE id = 3
1: UPDATE t SET v = 1 WHERE id = 2
2: UPDATE t SET v = 2 WHERE id = 3
3: UPDATE t SET v = 3 WHERE id = 1
3: ROLLBACK
2: COMMIT
1: COMMIT
1: SELECT id, v FROM t ORDER BY id

# a child and an update of its parent both commit
1: BEGIN ISOLATION LEVEL REPEATABLE READ
1: INSERT INTO c VALUES (1, 1)
2: UPDATE p SET v = v + 1 WHERE id = 1
1: COMMIT
1: SELECT c.id, p.v FROM c JOIN p ON p.id = c.p

# so they do if the update came before the check
1: BEGIN ISOLATION LEVEL REPEATABLE READ
1: SELECT count(*) FROM c
2: UPDATE p SET v = v + 1 WHERE id = 1
1: INSERT INTO c VALUES (1, 1)
1: COMMIT
1: SELECT c.id, p.v FROM c JOIN p ON p.id = c.p

# a share and an update do not
1: BEGIN
1: SELECT id FROM p WHERE id = 1 FOR SHARE
2: UPDATE p SET v = v + 1 WHERE id = 1
1: COMMIT
1: SELECT v FROM p WHERE id = 1

# a foreign key does not wait behind a waiting deletion
1: BEGIN
1: INSERT INTO c VALUES (1, 1)
2: DELETE FROM p WHERE id = 1
3: INSERT INTO c VALUES (2, 1)
1: COMMIT
1: SELECT count(*) FROM c

# sharers do not wait behind a waiting updater
1: BEGIN
1: SELECT id FROM p WHERE id = 1 FOR SHARE
2: UPDATE p SET v = v + 1 WHERE id = 1
3: BEGIN
3: SELECT id FROM p WHERE id = 1 FOR SHARE
1: COMMIT
3: COMMIT
1: SELECT v FROM p WHERE id = 1

# a deadlock around a deletion that waits for two checks is none
1: BEGIN
1: INSERT INTO c VALUES (1, 1)
2: DELETE FROM p WHERE id = 1
3: BEGIN
3: UPDATE t SET v = 0 WHERE id = 1
3: INSERT INTO c VALUES (2, 1)
1: UPDATE t SET v = 1 WHERE id = 1
3: COMMIT
1: COMMIT
1: SELECT count(*) FROM c

# an insert of a key that is held for a foreign key fails at once
1: BEGIN
1: INSERT INTO c VALUES (1, 1)
2: INSERT INTO p VALUES (1, 5)
2: INSERT INTO p VALUES (1, 5) ON CONFLICT DO NOTHING
2: INSERT INTO p VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET v = 5
1: COMMIT
1: SELECT v FROM p WHERE id = 1

# an insert waits for a deletion that gives its unique value up
1: BEGIN
1: DELETE FROM t WHERE id = 1
2: INSERT INTO t VALUES (4, 40, 'a')
1: COMMIT
2: SELECT id FROM t WHERE name = 'a'

# and for an update, and fails if that is rolled back
1: BEGIN
1: UPDATE t SET name = 'd' WHERE id = 1
2: INSERT INTO t VALUES (4, 40, 'a')
1: ROLLBACK
2: SELECT id FROM t WHERE name = 'a'

# so does an update
1: BEGIN
1: UPDATE t SET name = 'd' WHERE id = 1
2: UPDATE t SET name = 'a' WHERE id = 2
1: COMMIT
2: SELECT id, name FROM t ORDER BY id

# rows that go with their parent are locked until then
1: CREATE TABLE cc (id int PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE, v int)
1: INSERT INTO cc VALUES (1, 1, 0), (2, 2, 0)
1: BEGIN
1: DELETE FROM p WHERE id = 1
2: UPDATE cc SET v = 1 WHERE id = 1
1: COMMIT
2: SELECT * FROM cc
2: DROP TABLE cc

# a parent waits for a change of a row that goes with it
1: CREATE TABLE cc (id int PRIMARY KEY, p int REFERENCES p ON DELETE SET NULL, v int)
1: INSERT INTO cc VALUES (1, 1, 0), (2, 2, 0)
1: BEGIN
1: UPDATE cc SET v = 5 WHERE id = 1
2: DELETE FROM p WHERE id = 1
1: COMMIT
2: SELECT * FROM cc ORDER BY id
2: DROP TABLE cc

# a child that is inserted meanwhile goes, too
1: CREATE TABLE cc (id int PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE, v int)
1: BEGIN
1: INSERT INTO cc VALUES (3, 1, 0)
2: DELETE FROM p WHERE id = 1
1: COMMIT
2: SELECT * FROM cc
2: DROP TABLE cc

# FOR UPDATE OF locks the rows of that table alone
1: BEGIN
1: SELECT t.v FROM p JOIN t ON t.id = p.id WHERE p.id = 1 FOR UPDATE OF t
2: UPDATE p SET v = 1 WHERE id = 1
2: UPDATE t SET v = 7 WHERE id = 1
1: COMMIT
2: SELECT v FROM t WHERE id = 1

# whichever table is read first
1: BEGIN
1: SELECT t.v FROM p JOIN t ON t.id = p.id WHERE p.id = 1 FOR UPDATE OF p
2: UPDATE t SET v = 7 WHERE id = 1
2: UPDATE p SET v = 1 WHERE id = 1
1: COMMIT
2: SELECT v FROM p WHERE id = 1

# FOR UPDATE of a join locks the rows of all its tables
1: BEGIN
1: SELECT t.v FROM p JOIN t ON t.id = p.id WHERE p.id = 1 FOR UPDATE
2: SELECT v FROM t WHERE id = 1 FOR UPDATE NOWAIT
2: SELECT v FROM p WHERE id = 1 FOR UPDATE NOWAIT
2: SELECT v FROM p WHERE id = 2 FOR UPDATE NOWAIT
1: COMMIT

# and reads them again when they have changed
1: BEGIN
1: UPDATE t SET v = 77 WHERE id = 1
2: SELECT t.v FROM p JOIN t ON t.id = p.id WHERE p.id = 1 FOR UPDATE
1: COMMIT

# FOR UPDATE of a view locks the rows of its table
1: CREATE VIEW tv AS SELECT id, v FROM t WHERE v > 0
1: BEGIN
1: SELECT v FROM tv WHERE id = 1 FOR UPDATE
2: UPDATE t SET v = v - 3 WHERE id = 1
1: UPDATE t SET v = 50 WHERE id = 1
1: COMMIT
2: SELECT v FROM t WHERE id = 1
2: DROP VIEW tv

# and so does that of a sub-select
1: BEGIN
1: SELECT v FROM (SELECT id, v FROM t WHERE id < 3) s WHERE id = 1 FOR UPDATE
2: SELECT v FROM t WHERE id = 1 FOR UPDATE NOWAIT
2: SELECT v FROM t WHERE id = 3 FOR UPDATE NOWAIT
1: COMMIT

# but not that of a WITH query
1: BEGIN
1: WITH w AS (SELECT id, v FROM t) SELECT w.v FROM w JOIN p ON p.id = w.id WHERE w.id = 1 FOR UPDATE
2: SELECT v FROM t WHERE id = 1 FOR UPDATE NOWAIT
2: SELECT v FROM p WHERE id = 1 FOR UPDATE NOWAIT
1: COMMIT

# a table that is locked must be there
1: SELECT 1 FROM t FOR UPDATE OF p
1: SELECT 1 FROM t AS u FOR UPDATE OF t
1: WITH w AS (SELECT 1) SELECT 1 FROM w, t FOR UPDATE OF w
1: SELECT 1 FROM generate_series(1, 2) g, t WHERE t.id = 1 FOR UPDATE OF g
1: SELECT p.id FROM p LEFT JOIN t ON t.id = p.id FOR UPDATE
1: SELECT p.id FROM p LEFT JOIN t ON t.id = p.id WHERE p.id = 1 FOR UPDATE OF p

# the storage of a referenced table stays
1: BEGIN
1: INSERT INTO c VALUES (1, 1)
2: ALTER TABLE p ALTER COLUMN v TYPE bigint
1: INSERT INTO c VALUES (2, 1)
1: COMMIT
2: DELETE FROM p WHERE id = 1

# and that of a table with locked rows
1: BEGIN
1: SELECT v FROM t WHERE id = 1 FOR UPDATE
2: TRUNCATE t
1: COMMIT
2: SELECT count(*) FROM t

# and that of one whose rows would reference a deleted one
1: BEGIN
1: DELETE FROM p WHERE id = 1
2: ALTER TABLE c ALTER COLUMN p TYPE bigint
1: COMMIT
2: INSERT INTO c VALUES (5, 1)

# inserts of routines wait for the same key
1: CREATE TABLE journal (id int PRIMARY KEY, v int)
1: CREATE PROCEDURE note(n int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO journal VALUES (n, 0); END $$
1: BEGIN
1: CALL note(1)
2: INSERT INTO journal VALUES (1, 9)
1: COMMIT
2: SELECT * FROM journal
2: DROP TABLE journal; DROP PROCEDURE note

# a block does not catch the error of a row that was locked before it
1: CREATE FUNCTION lk() RETURNS int LANGUAGE plpgsql AS $$ DECLARE x int; BEGIN SELECT v INTO x FROM t WHERE id = 1 FOR UPDATE; BEGIN PERFORM 1; EXCEPTION WHEN OTHERS THEN NULL; END; RETURN x; END $$
1: BEGIN ISOLATION LEVEL REPEATABLE READ
1: SELECT count(*) FROM t
2: UPDATE t SET v = 99 WHERE id = 1
1: SELECT lk()
1: ROLLBACK
2: DROP FUNCTION lk

# RETURN is inside of its block
1: CREATE PROCEDURE pr() LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET v = v + 1 WHERE id = 1; RETURN; EXCEPTION WHEN serialization_failure THEN UPDATE t SET v = v + 1 WHERE id = 2; END $$
1: BEGIN ISOLATION LEVEL REPEATABLE READ
1: SELECT count(*) FROM t
2: UPDATE t SET v = 99 WHERE id = 1
1: CALL pr()
1: COMMIT
2: SELECT id, v FROM t ORDER BY id
2: DROP PROCEDURE pr

# a failed transaction holds no table and no advisory lock
1: BEGIN
1: SELECT pg_advisory_xact_lock(41)
1: INSERT INTO t VALUES (4, 40, 'd')
1: SELECT 1 / 0
2: SELECT pg_advisory_xact_lock(41)
2: ALTER TABLE t ALTER COLUMN v TYPE bigint
1: ROLLBACK
2: SELECT count(*) FROM t

# nor does a failed part of one
1: BEGIN
1: SELECT pg_advisory_xact_lock(42)
1: INSERT INTO p VALUES (7, 7)
1: SAVEPOINT s
1: SELECT pg_advisory_xact_lock(43)
1: INSERT INTO t VALUES (4, 40, 'd')
1: SELECT 1 / 0
2: SELECT pg_advisory_xact_lock(43)
2: BEGIN
2: LOCK TABLE t
2: COMMIT
3: SELECT pg_advisory_xact_lock(42)
1: ROLLBACK TO s
1: INSERT INTO t VALUES (5, 50, 'e')
1: COMMIT
2: SELECT id FROM t ORDER BY id

# rollback to a savepoint releases the locks of tables and numbers behind it
1: BEGIN
1: SAVEPOINT s
1: LOCK TABLE t
1: SELECT pg_advisory_xact_lock(44)
1: SELECT pg_advisory_lock(45)
2: UPDATE t SET v = 1 WHERE id = 1
1: ROLLBACK TO s
2: SELECT pg_advisory_xact_lock(44)
3: SELECT pg_try_advisory_lock(45)
1: COMMIT
1: SELECT pg_advisory_unlock(45)

# on conflict do nothing waits for a deletion
1: BEGIN
1: DELETE FROM t WHERE id = 1
2: INSERT INTO t VALUES (1, 99, 'new') ON CONFLICT DO NOTHING
1: COMMIT
2: SELECT v, name FROM t WHERE id = 1

# and does nothing if that is rolled back
1: BEGIN
1: DELETE FROM t WHERE id = 1
2: INSERT INTO t VALUES (1, 99, 'new') ON CONFLICT DO NOTHING
1: ROLLBACK
2: SELECT v, name FROM t WHERE id = 1

# it waits for an update that gives a unique value up
1: BEGIN
1: UPDATE t SET name = 'z' WHERE id = 1
2: INSERT INTO t VALUES (9, 99, 'a') ON CONFLICT DO NOTHING
1: COMMIT
2: SELECT id FROM t WHERE name = 'a'

# and leaves the row free
2: BEGIN
2: INSERT INTO t VALUES (1, 99, 'new') ON CONFLICT DO NOTHING
3: DELETE FROM t WHERE id = 1
2: COMMIT

# a lock without a change is none for a repeatable snapshot
2: BEGIN ISOLATION LEVEL REPEATABLE READ
2: SELECT count(*) FROM c
1: BEGIN
1: SELECT * FROM p WHERE id = 1 FOR UPDATE
2: INSERT INTO c VALUES (1, 1)
1: COMMIT
2: COMMIT

# nor is a row that was locked and then left alone
2: BEGIN ISOLATION LEVEL REPEATABLE READ
2: SELECT count(*) FROM t
1: BEGIN
1: UPDATE t SET v = 0 WHERE id = 1 AND v = 77
2: UPDATE t SET v = 5 WHERE id = 1
1: COMMIT
2: COMMIT
