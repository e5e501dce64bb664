-- case: a block with exception
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN NULL; EXCEPTION WHEN OTHERS THEN NULL; END $$;
-- case: commit
CREATE PROCEDURE f() LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$;
-- case: rollback
CREATE PROCEDURE f() LANGUAGE plpgsql AS $$ BEGIN ROLLBACK; END $$;
-- case: execute
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'SELECT 1'; END $$;
-- case: a loop over execute
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN FOR r IN EXECUTE 'SELECT 1' LOOP NULL; END LOOP; END $$;
-- case: a cursor
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE c CURSOR FOR SELECT 1; BEGIN END $$;
-- case: call
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CALL g(); END $$;
-- case: a definition
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CREATE TABLE x (a integer); END $$;
-- case: truncate
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN TRUNCATE item; END $$;
-- case: assert
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN ASSERT 1 = 1; END $$;
-- case: raise again
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE; END $$;
-- case: assignment of slices
CREATE FUNCTION f(a integer[]) RETURNS void LANGUAGE plpgsql AS $$ BEGIN a[1:2] := a; END $$;
-- case: foreach with slices
CREATE FUNCTION f(a integer[]) RETURNS void LANGUAGE plpgsql AS $$ DECLARE b integer[]; BEGIN FOREACH b SLICE 1 IN ARRAY a LOOP NULL; END LOOP; END $$;
-- case: two dimensions
CREATE FUNCTION f(a integer[][]) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
-- case: a window function
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM rank() OVER (ORDER BY id) FROM item; END $$;
-- case: with
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a integer; BEGIN WITH x AS (SELECT 1 AS one) SELECT one INTO a FROM x; END $$;
-- case: a write inside with
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a integer; BEGIN WITH x AS (DELETE FROM note RETURNING about) SELECT about INTO a FROM x; END $$;
-- case: on conflict do update
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO item (id, name) VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET stock = 1; END $$;
-- case: distinct on
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM DISTINCT ON (name) name FROM item; END $$;
-- case: lateral
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 FROM item, LATERAL (SELECT item.id) x; END $$;
-- case: natural join
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 FROM item NATURAL JOIN sale; END $$;
-- case: intersect
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a integer; BEGIN SELECT 1 INTO a INTERSECT SELECT 1; END $$;
-- case: grouping sets
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM count(*) FROM item GROUP BY ROLLUP (name); END $$;
-- case: similar to
CREATE FUNCTION f() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN 'a' SIMILAR TO 'b'; END $$;
-- case: regular expressions
CREATE FUNCTION f() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN 'a' ~ 'b'; END $$;
-- case: powers
CREATE FUNCTION f() RETURNS double precision LANGUAGE plpgsql AS $$ BEGIN RETURN 2 ^ 3; END $$;
-- case: time zones
CREATE FUNCTION f() RETURNS timestamp LANGUAGE plpgsql AS $$ BEGIN RETURN now() AT TIME ZONE 'UTC'; END $$;
-- case: an unknown function
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM md5('x'); END $$;
-- case: a sequence
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('x'); END $$;
-- case: another function of the file
CREATE FUNCTION g() RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$;
CREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN g(); END $$;
-- case: a second function of the name
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
CREATE FUNCTION f(a integer) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
-- case: a record without columns
CREATE FUNCTION f() RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN END $$;
-- case: a row as a parameter
CREATE FUNCTION f(a item) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
-- case: variadic
CREATE FUNCTION f(VARIADIC a integer[]) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
-- case: a record of two shapes
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN SELECT 1 AS a INTO r; SELECT 1 AS a, 2 AS b INTO r; END $$;
-- case: a record before its columns
CREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN RETURN r.a; END $$;
-- case: a whole record in a query
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE r item; BEGIN PERFORM r FROM note; END $$;
-- case: a query as an expression
CREATE FUNCTION f() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN count(*) FROM item; END $$;
-- case: stacked diagnostics
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a text; BEGIN GET STACKED DIAGNOSTICS a = MESSAGE_TEXT; END $$;
-- case: other diagnostics
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a text; BEGIN GET DIAGNOSTICS a = PG_CONTEXT; END $$;
-- case: a body without quotes
CREATE FUNCTION f() RETURNS integer LANGUAGE sql RETURN 1;
-- case: a setting
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql SET search_path = public AS $$ BEGIN END $$;
-- case: security definer
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN END $$;
-- case: another language
CREATE FUNCTION f() RETURNS void LANGUAGE internal AS 'int4pl';
-- case: doubled quotes
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS 'BEGIN RAISE NOTICE ''x''; END';
-- case: another statement
SET search_path = public;
-- case: a format of to_char
CREATE FUNCTION f() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN to_char(5, 'S9.99'); END $$;
-- case: a column of a raise
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'x' USING COLUMN = 'y'; END $$;
-- case: a type that is not here
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a xml; BEGIN END $$;
-- case: an assignment of a whole row
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN UPDATE item SET (stock, price) = (SELECT 1, 2); END $$;
-- case: a row in a condition
CREATE FUNCTION f() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN (1, 2) = (1, 2); END $$;
-- case: a record of one branch
CREATE FUNCTION f(a integer) RETURNS varchar LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN IF a > 0 THEN SELECT * INTO r FROM item i WHERE i.id = 1; END IF; RETURN r.name; END $$;
-- case: a record of all branches but one
CREATE FUNCTION f(a integer) RETURNS varchar LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN IF a > 0 THEN SELECT * INTO r FROM item i WHERE i.id = 1; ELSIF a < 0 THEN NULL; ELSE SELECT * INTO r FROM item i WHERE i.id = 1; END IF; RETURN r.name; END $$;
-- case: a record of a loop that may not begin
CREATE FUNCTION f(a integer) RETURNS varchar LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN WHILE a > 0 LOOP SELECT * INTO r FROM item i WHERE i.id = 1; a := a - 1; END LOOP; RETURN r.name; END $$;
-- case: a record that a loop is left before
CREATE FUNCTION f(a integer) RETURNS varchar LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN LOOP EXIT WHEN a > 0; SELECT * INTO r FROM item i WHERE i.id = 1; EXIT; END LOOP; RETURN r.name; END $$;
-- case: a record that a block is left before
CREATE FUNCTION f(a integer) RETURNS varchar LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN <<b>> BEGIN IF a > 0 THEN EXIT b; END IF; SELECT * INTO r FROM item i WHERE i.id = 1; END; RETURN r.name; END $$;
-- case: a field of a record that may have no row
CREATE FUNCTION f(a integer) RETURNS varchar LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN IF a > 0 THEN SELECT * INTO r FROM item i WHERE i.id = 1; END IF; r.name := 'x'; RETURN ''; END $$;
-- case: a row of a record that may have none
CREATE FUNCTION f(a integer) RETURNS SETOF item LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN IF a > 0 THEN SELECT * INTO r FROM item i WHERE i.id = 1; END IF; RETURN NEXT r; END $$;
-- case: a record of another one that may have no row
CREATE FUNCTION f(a integer) RETURNS varchar LANGUAGE plpgsql AS $$ DECLARE r record; q record; BEGIN IF a > 0 THEN SELECT * INTO r FROM item i WHERE i.id = 1; END IF; q := r; RETURN q.name; END $$;
-- case: a function with named arguments
CREATE FUNCTION f(a integer) RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RETURN now() + make_interval(days => a); END $$;
-- case: the user
CREATE FUNCTION f() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN current_user; END $$;
-- case: a time with a zone
CREATE FUNCTION f() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN current_time; END $$;
-- case: a function of the file as rows
CREATE FUNCTION g() RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$;
CREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$ DECLARE n integer; BEGIN SELECT count(*) INTO n FROM g(); RETURN n; END $$;
-- case: errors of several statements
CREATE FUNCTION f(a integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN IF md5('x') = 'y' THEN PERFORM pg_sleep(1); END IF; COMMIT; RETURN a; END $$;
