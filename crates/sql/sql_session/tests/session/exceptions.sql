-- Blocks with EXCEPTION.
CREATE TABLE account (id int PRIMARY KEY, owner text UNIQUE, balance int NOT NULL CHECK (balance >= 0));
CREATE TABLE transfer (n serial PRIMARY KEY, sender int REFERENCES account, amount int);
CREATE TABLE log (entry text);
INSERT INTO account VALUES (1, 'ada', 100), (2, 'bob', 20), (3, 'cyd', 0);

-- Conditions by name, by code, by class
CREATE FUNCTION try_insert(i int, o text, b int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN INSERT INTO account VALUES (i, o, b); RETURN 'inserted'; EXCEPTION WHEN unique_violation THEN RETURN 'unique ' || SQLSTATE || ' ' || SQLERRM; WHEN not_null_violation OR check_violation THEN RETURN 'null or check ' || SQLSTATE || ' ' || SQLERRM; END $$;
SELECT try_insert(1, 'x', 1);
SELECT try_insert(9, 'ada', 1);
SELECT try_insert(9, 'x', -1);
SELECT try_insert(9, 'x', NULL);
SELECT try_insert(NULL, 'x', 1);
SELECT try_insert(4, 'dan', 5);
SELECT * FROM account ORDER BY id;
CREATE FUNCTION divides(a int, b int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE x int; BEGIN x := a / b; RETURN x; EXCEPTION WHEN SQLSTATE '22012' THEN RETURN SQLERRM; END $$;
SELECT divides(7, 2);
SELECT divides(7, 0);
CREATE FUNCTION by_class(n int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN CASE n WHEN 1 THEN INSERT INTO account VALUES (1, 'q', 0); WHEN 2 THEN INSERT INTO transfer (sender, amount) VALUES (77, 1); WHEN 3 THEN PERFORM 1 / (n - 3); WHEN 4 THEN PERFORM 'x'::text::int; WHEN 5 THEN DELETE FROM account WHERE id = 1; WHEN 6 THEN RAISE EXCEPTION 'own'; ELSE RETURN 'none'; END CASE; RETURN 'ok'; EXCEPTION WHEN integrity_constraint_violation THEN RETURN 'class 23: ' || SQLSTATE; WHEN data_exception THEN RETURN 'class 22: ' || SQLSTATE; WHEN plpgsql_error THEN RETURN 'class P0: ' || SQLSTATE || ' ' || SQLERRM; END $$;
SELECT by_class(1);
SELECT by_class(2);
SELECT by_class(3);
SELECT by_class(4);
SELECT by_class(5);
SELECT by_class(6);
SELECT by_class(7);
INSERT INTO transfer (sender, amount) VALUES (1, 10);
SELECT by_class(5);
CREATE FUNCTION others(n int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN IF n = 1 THEN ASSERT false, 'asserted'; ELSIF n = 2 THEN RAISE query_canceled; ELSIF n = 3 THEN RAISE SQLSTATE 'ZX999' USING MESSAGE = 'mine'; ELSIF n = 4 THEN RAISE division_by_zero; END IF; RETURN 'nothing'; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM; END $$;
SELECT others(0);
SELECT others(1);
SELECT others(2);
SELECT others(3);
SELECT others(4);
CREATE FUNCTION named(n int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN IF n = 1 THEN ASSERT false, 'asserted'; ELSIF n = 2 THEN RAISE query_canceled; END IF; RETURN 'nothing'; EXCEPTION WHEN assert_failure THEN RETURN 'a ' || SQLERRM; WHEN query_canceled THEN RETURN 'c ' || SQLERRM; END $$;
SELECT named(1);
SELECT named(2);
CREATE FUNCTION zeros() RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 / 0; RETURN 'no'; EXCEPTION WHEN SQLSTATE '00000' THEN RETURN 'others'; END $$;
SELECT zeros();
CREATE FUNCTION two_codes(n int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN IF n = 1 THEN RAISE SQLSTATE '22004'; END IF; RAISE SQLSTATE '39004'; EXCEPTION WHEN null_value_not_allowed THEN RETURN SQLSTATE; END $$;
SELECT two_codes(1);
SELECT two_codes(2);
CREATE FUNCTION unknown_condition() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 1; EXCEPTION WHEN no_such_condition THEN RETURN 2; END $$;
CREATE FUNCTION bad_code() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 1; EXCEPTION WHEN SQLSTATE '123' THEN RETURN 2; END $$;
CREATE FUNCTION no_handler() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 1; EXCEPTION END $$;
CREATE FUNCTION warned() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 1; EXCEPTION WHEN successful_completion THEN RETURN 2; END $$;

-- The changes of a block are undone, variables keep their values
CREATE FUNCTION undone() RETURNS text LANGUAGE plpgsql AS $$ DECLARE v int := 1; r text := ''; BEGIN INSERT INTO log VALUES ('kept'); BEGIN v := 2; INSERT INTO log VALUES ('lost'); UPDATE account SET balance = 55 WHERE id = 2; DELETE FROM account WHERE id = 3; v := v + 10; INSERT INTO account VALUES (10, 'new', 1); PERFORM 1 / 0; v := 99; EXCEPTION WHEN division_by_zero THEN r := v || ' ' || (SELECT count(*) FROM log) || ' ' || (SELECT balance FROM account WHERE id = 2) || ' ' || (SELECT count(*) FROM account); INSERT INTO log VALUES ('handled'); END; RETURN r || ' ' || v; END $$;
SELECT undone();
SELECT * FROM log ORDER BY entry;
SELECT * FROM account ORDER BY id;
CREATE FUNCTION again() RETURNS text LANGUAGE plpgsql AS $$ DECLARE n int := 0; BEGIN FOR i IN 1 .. 6 LOOP BEGIN INSERT INTO account VALUES (100 + i % 3, 'n' || i, i); n := n + 1; EXCEPTION WHEN unique_violation THEN UPDATE account SET balance = balance + 100 WHERE id = 100 + i % 3; END; END LOOP; RETURN n; END $$;
SELECT again();
SELECT * FROM account WHERE id >= 100 ORDER BY id;
CREATE FUNCTION same_row() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text := ''; b int; BEGIN FOR i IN 1 .. 5 LOOP BEGIN UPDATE account SET balance = balance + 1 WHERE id = 1; IF i % 2 = 0 THEN RAISE EXCEPTION 'even'; END IF; EXCEPTION WHEN raise_exception THEN r := r || i; END; SELECT balance INTO b FROM account WHERE id = 1; r := r || ':' || b || ' '; END LOOP; RETURN r; END $$;
SELECT same_row();
CREATE FUNCTION both_lost() RETURNS text LANGUAGE plpgsql AS $$ BEGIN BEGIN INSERT INTO log VALUES ('inner'); EXCEPTION WHEN OTHERS THEN NULL; END; RAISE EXCEPTION 'outer'; EXCEPTION WHEN OTHERS THEN RETURN (SELECT count(*) FROM log WHERE entry = 'inner'); END $$;
SELECT both_lost();
CREATE FUNCTION inner_lost2() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text := ''; l record; BEGIN INSERT INTO log VALUES ('o1'); BEGIN INSERT INTO log VALUES ('i1'); PERFORM 1 / 0; EXCEPTION WHEN OTHERS THEN INSERT INTO log VALUES ('h1'); END; INSERT INTO log VALUES ('o2'); FOR l IN SELECT entry FROM log WHERE length(entry) = 2 ORDER BY entry LOOP r := r || l.entry || ','; END LOOP; RETURN r; END $$;
SELECT inner_lost2();

-- Nested blocks
CREATE FUNCTION nested(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text := ''; BEGIN BEGIN BEGIN IF n = 1 THEN PERFORM 1 / 0; ELSIF n = 2 THEN RAISE EXCEPTION 'two'; ELSIF n = 3 THEN INSERT INTO account VALUES (1); END IF; r := r || 'a'; EXCEPTION WHEN division_by_zero THEN r := r || 'b'; END; r := r || 'c'; EXCEPTION WHEN raise_exception THEN r := r || 'd'; END; RETURN r || 'e'; EXCEPTION WHEN OTHERS THEN RETURN r || 'f' || SQLSTATE; END $$;
SELECT nested(0);
SELECT nested(1);
SELECT nested(2);
SELECT nested(3);
CREATE FUNCTION in_handler(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text := ''; BEGIN BEGIN PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN r := SQLSTATE || ' '; BEGIN IF n = 1 THEN RAISE EXCEPTION 'inner'; ELSIF n = 2 THEN PERFORM 'x'::text::int; END IF; r := r || 'fine '; EXCEPTION WHEN raise_exception THEN r := r || SQLERRM || ' '; END; r := r || SQLERRM; END; RETURN r; EXCEPTION WHEN OTHERS THEN RETURN r || 'outside ' || SQLSTATE; END $$;
SELECT in_handler(0);
SELECT in_handler(1);
SELECT in_handler(2);
CREATE FUNCTION handler_fails() RETURNS text LANGUAGE plpgsql AS $$ BEGIN BEGIN PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN INSERT INTO log VALUES ('before'); INSERT INTO account VALUES (1, 'z', 1); WHEN OTHERS THEN RETURN 'not this one'; END; RETURN 'no'; EXCEPTION WHEN unique_violation THEN RETURN 'outer ' || (SELECT count(*) FROM log WHERE entry = 'before'); END $$;
SELECT handler_fails();
CREATE FUNCTION declared() RETURNS text LANGUAGE plpgsql AS $$ DECLARE a int := 1; BEGIN DECLARE b int := a / 0; BEGIN RETURN b; EXCEPTION WHEN OTHERS THEN RETURN 'inner'; END; EXCEPTION WHEN division_by_zero THEN RETURN 'outer'; END $$;
SELECT declared();
CREATE FUNCTION block_variable() RETURNS text LANGUAGE plpgsql AS $$ BEGIN DECLARE b int := 5; BEGIN b := 6; RAISE EXCEPTION 'x'; EXCEPTION WHEN OTHERS THEN b := b * 10; RETURN b; END; END $$;
SELECT block_variable();

-- RAISE again
CREATE FUNCTION reraise(n int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN BEGIN RAISE EXCEPTION 'first' USING ERRCODE = 'ZZ001', HINT = 'a hint', DETAIL = 'a detail'; EXCEPTION WHEN OTHERS THEN IF n = 1 THEN RAISE; END IF; BEGIN RAISE EXCEPTION 'second'; EXCEPTION WHEN raise_exception THEN IF n = 2 THEN RAISE; END IF; END; RAISE; END; RETURN 'no'; EXCEPTION WHEN SQLSTATE 'ZZ001' THEN RETURN 'got ' || SQLERRM; WHEN OTHERS THEN RETURN 'other ' || SQLERRM; END $$;
SELECT reraise(1);
SELECT reraise(2);
SELECT reraise(3);
CREATE FUNCTION reraise_out() RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 / 0; RETURN 1; EXCEPTION WHEN OTHERS THEN INSERT INTO log VALUES ('gone'); RAISE; END $$;
SELECT reraise_out();
SELECT count(*) FROM log WHERE entry = 'gone';
CREATE FUNCTION reraise_nothing() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE; END $$;
SELECT reraise_nothing();
CREATE FUNCTION reraise_behind() RETURNS text LANGUAGE plpgsql AS $$ BEGIN BEGIN PERFORM 1 / 0; EXCEPTION WHEN OTHERS THEN NULL; END; RAISE; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM; END $$;
SELECT reraise_behind();
CREATE FUNCTION raise_code(c text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'with %', c USING ERRCODE = c; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM; END $$;
SELECT raise_code('unique_violation');
SELECT raise_code('22012');
SELECT raise_code('no_such_condition');
SELECT raise_code(NULL);
CREATE FUNCTION raise_only_code(c text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = c; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM; END $$;
SELECT raise_only_code('unique_violation');
SELECT raise_only_code('U0001');
CREATE FUNCTION raise_constant_code() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'check_violation'; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM; END $$;
SELECT raise_constant_code();
CREATE FUNCTION raise_caught() RETURNS text LANGUAGE plpgsql AS $$ BEGIN BEGIN INSERT INTO account VALUES (1, 'q', 1); EXCEPTION WHEN OTHERS THEN RAISE EXCEPTION 'wrapped: %', SQLERRM USING ERRCODE = SQLSTATE; END; RETURN 'no'; EXCEPTION WHEN unique_violation THEN RETURN SQLERRM; END $$;
SELECT raise_caught();

-- Diagnostics
CREATE FUNCTION diagnosed(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE a text; b text; c text; d text; e text; f text; g text; h text; i text; BEGIN IF n = 1 THEN INSERT INTO account VALUES (1, 'q', 1); ELSIF n = 2 THEN INSERT INTO account VALUES (50, 'ada', 1); ELSIF n = 3 THEN INSERT INTO account VALUES (50, 'q', NULL); ELSIF n = 4 THEN INSERT INTO account VALUES (50, 'q', -1); ELSIF n = 5 THEN INSERT INTO transfer (sender, amount) VALUES (99, 1); ELSIF n = 6 THEN DELETE FROM account WHERE id = 1; ELSIF n = 7 THEN RAISE EXCEPTION 'm % %', 1, 'x' USING DETAIL = 'de', HINT = 'hi', ERRCODE = 'AB123'; ELSE PERFORM 1 / 0; END IF; RETURN 'no'; EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS a = RETURNED_SQLSTATE, b = MESSAGE_TEXT, c = PG_EXCEPTION_DETAIL, d = PG_EXCEPTION_HINT, e = CONSTRAINT_NAME, f := TABLE_NAME, g = COLUMN_NAME, h = SCHEMA_NAME, i = PG_DATATYPE_NAME; RETURN concat(a, '|', b, '|', c, '|', d, '|', e, '|', f, '|', g, '|', h, '|', i); END $$;
SELECT diagnosed(1);
SELECT diagnosed(2);
SELECT diagnosed(3);
SELECT diagnosed(4);
SELECT diagnosed(5);
SELECT diagnosed(6);
SELECT diagnosed(7);
SELECT diagnosed(8);
CREATE FUNCTION diagnosed_late() RETURNS text LANGUAGE plpgsql AS $$ DECLARE m text; s varchar(3); BEGIN BEGIN RAISE EXCEPTION 'outer'; EXCEPTION WHEN OTHERS THEN BEGIN RAISE EXCEPTION 'inner' USING ERRCODE = 'QQ001'; EXCEPTION WHEN SQLSTATE 'QQ001' THEN NULL; END; GET STACKED DIAGNOSTICS m = MESSAGE_TEXT; END; RETURN m; END $$;
SELECT diagnosed_late();
CREATE FUNCTION diagnosed_nothing() RETURNS text LANGUAGE plpgsql AS $$ DECLARE m text; BEGIN GET STACKED DIAGNOSTICS m = MESSAGE_TEXT; RETURN m; END $$;
SELECT diagnosed_nothing();
CREATE FUNCTION wrong_item() RETURNS text LANGUAGE plpgsql AS $$ DECLARE m int; BEGIN RETURN 1; EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS m = ROW_COUNT; END $$;
CREATE FUNCTION wrong_item2() RETURNS text LANGUAGE plpgsql AS $$ DECLARE m text; BEGIN GET DIAGNOSTICS m = MESSAGE_TEXT; RETURN m; END $$;
CREATE FUNCTION assigns_state() RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 / 0; RETURN 1; EXCEPTION WHEN OTHERS THEN SQLSTATE := 'x'; RETURN 2; END $$;

-- Errors of STRICT, FOUND and ROW_COUNT
CREATE FUNCTION strict(low int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE v int := -1; n int; BEGIN UPDATE account SET balance = balance WHERE id < 3; BEGIN SELECT balance INTO STRICT v FROM account WHERE id >= low AND id < 4; RETURN v || ' ' || FOUND; EXCEPTION WHEN no_data_found THEN GET DIAGNOSTICS n = ROW_COUNT; RETURN concat('none ', v, ' ', FOUND, ' ', n); WHEN too_many_rows THEN RETURN concat('many ', FOUND); END; END $$;
SELECT strict(3);
SELECT strict(1);
SELECT strict(9);
CREATE FUNCTION strict_key(k int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE v int; BEGIN PERFORM 1; SELECT balance INTO STRICT v FROM account WHERE id = k; RETURN v; EXCEPTION WHEN no_data_found THEN RETURN concat(FOUND, ' ', SQLERRM); END $$;
SELECT strict_key(2);
SELECT strict_key(22);
CREATE FUNCTION counts() RETURNS text LANGUAGE plpgsql AS $$ DECLARE n int; r text := ''; BEGIN UPDATE account SET balance = balance WHERE id < 4; BEGIN INSERT INTO account VALUES (1, 'x', 1); EXCEPTION WHEN OTHERS THEN NULL; END; GET DIAGNOSTICS n = ROW_COUNT; r := n || ' ' || FOUND; UPDATE account SET balance = balance WHERE id = 77; BEGIN UPDATE account SET balance = -1 WHERE id = 1; EXCEPTION WHEN OTHERS THEN NULL; END; GET DIAGNOSTICS n = ROW_COUNT; RETURN r || ' ' || n || ' ' || FOUND; END $$;
SELECT counts();
CREATE FUNCTION many_returned() RETURNS text LANGUAGE plpgsql AS $$ DECLARE v int; BEGIN UPDATE account SET balance = 1 WHERE id < 3 RETURNING id INTO v; RETURN v; EXCEPTION WHEN too_many_rows THEN RETURN 'many ' || FOUND || (SELECT balance FROM account WHERE id = 2); END $$;
SELECT many_returned();
CREATE FUNCTION no_case(n int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN CASE n WHEN 1 THEN RETURN 'one'; END CASE; EXCEPTION WHEN case_not_found THEN RETURN SQLSTATE; END $$;
SELECT no_case(1);
SELECT no_case(2);
CREATE FUNCTION null_assigned() RETURNS text LANGUAGE plpgsql AS $$ DECLARE v int NOT NULL := 1; BEGIN v := NULL; RETURN v; EXCEPTION WHEN null_value_not_allowed THEN RETURN 'kept ' || v; END $$;
SELECT null_assigned();
CREATE FUNCTION no_return(n int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN IF n = 1 THEN RETURN 1; END IF; EXCEPTION WHEN OTHERS THEN RETURN 'caught'; END $$;
SELECT no_return(1);
SELECT no_return(2);
CREATE FUNCTION return_fails() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1 / 0; EXCEPTION WHEN OTHERS THEN RETURN -1; END $$;
SELECT return_fails();

-- RETURN, EXIT and CONTINUE out of blocks
CREATE FUNCTION leaves() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text := ''; BEGIN <<outside>> FOR i IN 1 .. 9 LOOP BEGIN IF i = 2 THEN CONTINUE; END IF; IF i = 4 THEN RAISE EXCEPTION 'four'; END IF; IF i = 7 THEN EXIT outside; END IF; r := r || i; EXCEPTION WHEN raise_exception THEN r := r || 'x'; CONTINUE outside; END; r := r || '.'; END LOOP; BEGIN PERFORM 1 / 0; EXCEPTION WHEN OTHERS THEN r := r || '!'; END; RETURN r; END $$;
SELECT leaves();
CREATE FUNCTION leaves_handler() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text := ''; BEGIN FOR i IN 1 .. 5 LOOP BEGIN PERFORM 1 / (i - 3); r := r || i; EXCEPTION WHEN division_by_zero THEN EXIT; END; END LOOP; BEGIN RAISE; EXCEPTION WHEN OTHERS THEN r := r || SQLSTATE; END; RETURN r; END $$;
SELECT leaves_handler();
CREATE FUNCTION labelled() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text := ''; BEGIN <<b>> BEGIN r := r || '1'; BEGIN r := r || '2'; EXIT b; EXCEPTION WHEN OTHERS THEN r := r || 'h'; END; r := r || '3'; EXCEPTION WHEN OTHERS THEN r := r || 'H'; END b; <<c>> BEGIN PERFORM 1 / 0; EXCEPTION WHEN OTHERS THEN r := r || '4'; EXIT c; r := r || '5'; END c; RETURN r; END $$;
SELECT labelled();
CREATE FUNCTION keeps_changes(n int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN BEGIN UPDATE account SET balance = n WHERE id = 3; RETURN 'returned'; EXCEPTION WHEN OTHERS THEN RETURN 'failed'; END; END $$;
SELECT keeps_changes(31);
SELECT balance FROM account WHERE id = 3;
SELECT keeps_changes(-1);
SELECT balance FROM account WHERE id = 3;
CREATE FUNCTION loops_inside() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text := ''; a record; BEGIN FOR k IN 1 .. 2 LOOP BEGIN FOR a IN SELECT id, balance FROM account WHERE id < 4 ORDER BY id LOOP r := r || a.id; IF a.id = k THEN PERFORM 1 / 0; END IF; END LOOP; EXCEPTION WHEN division_by_zero THEN r := r || '-'; END; END LOOP; FOR a IN SELECT id, balance FROM account WHERE id < 4 ORDER BY id LOOP BEGIN UPDATE account SET balance = balance - 25 WHERE id = a.id; r := r || 'u'; EXCEPTION WHEN check_violation THEN r := r || 'c'; END; END LOOP; RETURN r; END $$;
SELECT loops_inside();
SELECT * FROM account WHERE id < 4 ORDER BY id;
CREATE FUNCTION loop_found() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text; BEGIN PERFORM 1 FROM account WHERE id = 77; BEGIN FOR i IN 1 .. 3 LOOP PERFORM 1 / (2 - i); END LOOP; EXCEPTION WHEN OTHERS THEN r := FOUND; END; RETURN r; END $$;
SELECT loop_found();

-- Rows that are returned before the error
CREATE FUNCTION gives(n int) RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1 .. 5 LOOP RETURN NEXT i; IF i = n THEN RAISE EXCEPTION 'stop'; END IF; END LOOP; EXCEPTION WHEN raise_exception THEN RETURN NEXT -1; END $$;
SELECT * FROM gives(3);
SELECT * FROM gives(9);
CREATE FUNCTION gives_query(n int) RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT 100 / (n - s) FROM generate_series(1, 5) s; RETURN NEXT 0; EXCEPTION WHEN division_by_zero THEN RETURN NEXT -1; END $$;
SELECT * FROM gives_query(4);
SELECT * FROM gives_query(9);
CREATE FUNCTION gives_table(n int) RETURNS TABLE (a int, b text) LANGUAGE plpgsql AS $$ BEGIN a := 1; b := 'one'; RETURN NEXT; a := 2; PERFORM 1 / n; RETURN NEXT; EXCEPTION WHEN OTHERS THEN b := SQLSTATE; RETURN NEXT; END $$;
SELECT * FROM gives_table(1);
SELECT * FROM gives_table(0);
CREATE FUNCTION outputs(n int, OUT a int, OUT b text) LANGUAGE plpgsql AS $$ BEGIN a := 1; b := 'x'; a := 10 / n; EXCEPTION WHEN division_by_zero THEN b := b || ' caught'; END $$;
SELECT * FROM outputs(5);
SELECT * FROM outputs(0);

-- Calls of other routines
CREATE FUNCTION inner_fails(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log VALUES ('inner ' || n); PERFORM 1 FROM account WHERE id = 77; RETURN 10 / n; END $$;
CREATE FUNCTION outer_catches(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE v int := 7; k int; BEGIN UPDATE account SET balance = balance WHERE id < 3; BEGIN v := inner_fails(n); EXCEPTION WHEN division_by_zero THEN GET DIAGNOSTICS k = ROW_COUNT; RETURN concat(v, ' ', FOUND, ' ', k, ' ', (SELECT count(*) FROM log WHERE entry LIKE 'inner%')); END; RETURN v || ' ' || FOUND; END $$;
SELECT outer_catches(0);
SELECT outer_catches(5);
CREATE FUNCTION inner_catches(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 10 / n; EXCEPTION WHEN division_by_zero THEN RETURN -1; END $$;
CREATE FUNCTION calls_catching(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text := ''; BEGIN FOR i IN 0 .. n LOOP r := r || inner_catches(i) || ' '; IF inner_catches(i) < 0 THEN CONTINUE; END IF; r := r || '. '; END LOOP; RETURN r; END $$;
SELECT calls_catching(3);
CREATE FUNCTION inner_reraises() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE; END $$;
CREATE FUNCTION calls_in_handler() RETURNS text LANGUAGE plpgsql AS $$ DECLARE v int; r text; BEGIN BEGIN PERFORM 1 / 0; EXCEPTION WHEN OTHERS THEN BEGIN v := inner_reraises(); EXCEPTION WHEN OTHERS THEN r := SQLSTATE; END; r := r || ' ' || SQLSTATE; v := inner_catches(0); RAISE; END; RETURN r; EXCEPTION WHEN OTHERS THEN RETURN r || ' ' || SQLERRM || v; END $$;
SELECT calls_in_handler();
CREATE FUNCTION inner_rows(n int) RETURNS TABLE (k int) LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1 .. 3 LOOP k := 6 / (n - i); RETURN NEXT; END LOOP; EXCEPTION WHEN division_by_zero THEN k := 0; RETURN NEXT; END $$;
CREATE FUNCTION sums_rows(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE a int; b int; BEGIN SELECT count(*), sum(r.k) INTO a, b FROM inner_rows(n) r; RETURN a || ' ' || b; END $$;
SELECT sums_rows(3);
SELECT sums_rows(9);
CREATE PROCEDURE moves(a int, b int, n int) LANGUAGE plpgsql AS $$ BEGIN UPDATE account SET balance = balance + n WHERE id = b; UPDATE account SET balance = balance - n WHERE id = a; EXCEPTION WHEN check_violation THEN INSERT INTO log VALUES ('refused ' || a || b || n); END $$;
CALL moves(1, 2, 10);
CALL moves(3, 1, 1000);
SELECT * FROM account WHERE id < 4 ORDER BY id;
SELECT entry FROM log WHERE entry LIKE 'refused%' ORDER BY entry;
CREATE PROCEDURE moves_all() LANGUAGE plpgsql AS $$ BEGIN CALL moves(1, 3, 5); CALL moves(2, 3, 5000); CALL moves(1, 2, 1); END $$;
CALL moves_all();
SELECT * FROM account WHERE id < 4 ORDER BY id;

-- In a transaction block
BEGIN;
SELECT try_insert(1, 'x', 1);
SELECT try_insert(20, 'tom', 1);
SAVEPOINT s;
SELECT try_insert(21, 'uma', 1);
SELECT try_insert(21, 'uma', 1);
ROLLBACK TO s;
SELECT try_insert(21, 'uma', 2);
SELECT divides(1, 0);
SELECT reraise_out();
SELECT 1;
ROLLBACK TO s;
SELECT try_insert(20, 'zoe', 2);
COMMIT;
SELECT * FROM account WHERE id BETWEEN 20 AND 30;

-- Records and conditions of assignment
CREATE FUNCTION record_in_handler(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN SELECT id, owner INTO r FROM account WHERE id = 1; BEGIN PERFORM 1 / n; EXCEPTION WHEN OTHERS THEN SELECT id, owner INTO r FROM account WHERE id = 2; END; RETURN r.owner; END $$;
SELECT record_in_handler(1);
SELECT record_in_handler(0);
CREATE FUNCTION empty_body() RETURNS text LANGUAGE plpgsql AS $$ BEGIN BEGIN EXCEPTION WHEN OTHERS THEN NULL; END; RETURN 'fine'; END $$;
SELECT empty_body();
CREATE FUNCTION sequence_kept() RETURNS text LANGUAGE plpgsql AS $$ DECLARE a int; BEGIN BEGIN INSERT INTO transfer (sender, amount) VALUES (1, 1); PERFORM 1 / 0; EXCEPTION WHEN OTHERS THEN NULL; END; INSERT INTO transfer (sender, amount) VALUES (1, 1) RETURNING n INTO a; RETURN a; END $$;
SELECT sequence_kept();
SELECT count(*) FROM transfer;
CREATE FUNCTION updates_key() RETURNS text LANGUAGE plpgsql AS $$ BEGIN UPDATE account SET id = 500, owner = 'moved' WHERE id = 2; UPDATE account SET owner = 'ada' WHERE id = 500; RETURN 'no'; EXCEPTION WHEN unique_violation THEN RETURN (SELECT concat(id, owner) FROM account WHERE id = 2) || (SELECT count(*) FROM account WHERE id = 500) || (SELECT count(*) FROM account WHERE owner = 'moved'); END $$;
SELECT updates_key();
SELECT count(*) FROM account WHERE owner = 'bob';
CREATE FUNCTION upserts() RETURNS text LANGUAGE plpgsql AS $$ BEGIN INSERT INTO account VALUES (1, 'ada', 5) ON CONFLICT (id) DO UPDATE SET balance = -5; RETURN 'no'; EXCEPTION WHEN check_violation THEN RETURN (SELECT balance FROM account WHERE id = 1) > 0; END $$;
SELECT upserts();
CREATE FUNCTION deep_rows(n int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE c int := 0; BEGIN FOR i IN 1 .. n LOOP BEGIN INSERT INTO log VALUES ('deep'); IF i % 3 = 0 THEN RAISE EXCEPTION 'third'; END IF; EXCEPTION WHEN raise_exception THEN c := c + 1; END; END LOOP; RETURN c; END $$;
SELECT deep_rows(300);
SELECT count(*) FROM log WHERE entry = 'deep';
-- A row that is read by key into variables.
CREATE TABLE kept (id int PRIMARY KEY, v int);
INSERT INTO kept VALUES (1, 0);
CREATE FUNCTION kept_strict() RETURNS text LANGUAGE plpgsql AS $$ DECLARE x int := -1; BEGIN SELECT v INTO STRICT x FROM kept WHERE id = 99; RETURN 'no'; EXCEPTION WHEN no_data_found THEN RETURN coalesce(x::text, 'NULL'); END $$;
SELECT kept_strict();
CREATE FUNCTION kept_first() RETURNS int LANGUAGE plpgsql AS $$ DECLARE a int := 7; b int; BEGIN SELECT v, 10 / v INTO a, b FROM kept WHERE id = 1; RETURN 0; EXCEPTION WHEN division_by_zero THEN RETURN a; END $$;
SELECT kept_first();
