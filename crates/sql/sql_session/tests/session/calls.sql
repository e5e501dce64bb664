-- Routines that call others.
CREATE TABLE account (id int PRIMARY KEY, owner text NOT NULL, balance numeric(12, 2) NOT NULL);
CREATE TABLE log (n serial PRIMARY KEY, entry text);
INSERT INTO account VALUES (1, 'ada', 100), (2, 'bob', 20), (3, 'cyd', 0);

-- Three deep, with defaults and names of arguments
CREATE FUNCTION twice(n int) RETURNS int IMMUTABLE LANGUAGE sql AS $$ SELECT n * 2 $$;
CREATE FUNCTION plus(a int, b int DEFAULT 5, c int DEFAULT 100) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN a + twice(b) + c; END $$;
CREATE FUNCTION deep(a int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE x int := plus(a); BEGIN x := x + plus(a, 1) * plus(a, b => 2, c => 3); RETURN plus(x, c => 0); END $$;
SELECT deep(1);
SELECT deep(NULL);
CREATE FUNCTION nested(a int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN twice(twice(twice(a)) + twice(1)); END $$;
SELECT nested(3);
CREATE FUNCTION in_public(a int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN public.twice(a); END $$;
SELECT in_public(4);

-- FOUND and ROW_COUNT are those of each routine
CREATE FUNCTION finds(n int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN IF FOUND THEN RAISE EXCEPTION 'found is kept'; END IF; PERFORM 1 FROM account WHERE id = n; RETURN FOUND; END $$;
CREATE FUNCTION keeps(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r text := ''; f bool; k int; BEGIN UPDATE account SET balance = balance WHERE id < 3; f := finds(n); GET DIAGNOSTICS k = ROW_COUNT; r := r || f || FOUND || k; UPDATE account SET balance = balance WHERE id = 99; f := finds(n); GET DIAGNOSTICS k = ROW_COUNT; RETURN r || f || FOUND || k; END $$;
SELECT keeps(1);
SELECT keeps(77);
CREATE FUNCTION performs() RETURNS bool LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 FROM account WHERE id = 99; PERFORM finds(99); RETURN FOUND; END $$;
SELECT performs();
CREATE FUNCTION counts_none() RETURNS int LANGUAGE plpgsql AS $$ DECLARE k int; BEGIN GET DIAGNOSTICS k = ROW_COUNT; RETURN k; END $$;
CREATE FUNCTION counts() RETURNS text LANGUAGE plpgsql AS $$ DECLARE a int; b int; BEGIN UPDATE account SET balance = balance; a := counts_none(); GET DIAGNOSTICS b = ROW_COUNT; RETURN a || ' ' || b; END $$;
SELECT counts();
CREATE FUNCTION rows_of(n int) RETURNS TABLE (k int, v int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (entry) VALUES ('r'); FOR i IN 1 .. n LOOP k := i; v := i * i; RETURN NEXT; END LOOP; END $$;
CREATE FUNCTION filters(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE s int; BEGIN SELECT sum(r.v) INTO s FROM rows_of(n) r WHERE r.k > 1 AND r.v < 20; RETURN s; END $$;
SELECT filters(6);

-- RETURN inside of loops and blocks
CREATE FUNCTION first_over(low numeric) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM account ORDER BY id LOOP FOR i IN 1 .. 3 LOOP IF r.balance >= low AND i = 2 THEN RETURN r.owner || i; END IF; END LOOP; END LOOP; RETURN 'nobody'; END $$;
CREATE FUNCTION over() RETURNS text LANGUAGE plpgsql AS $$ DECLARE s text := ''; BEGIN FOR i IN 0 .. 4 LOOP s := s || ' ' || first_over(i * 30); END LOOP; RETURN s; END $$;
SELECT over();
CREATE FUNCTION all_over() RETURNS text LANGUAGE plpgsql AS $$ DECLARE s text := ''; BEGIN FOR i IN 0 .. 4 LOOP s := s || ' ' || first_over(i * 30); END LOOP; RETURN s; END $$;
SELECT all_over();
CREATE FUNCTION early(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN <<outside>> BEGIN IF n > 3 THEN EXIT outside; END IF; RETURN 1; END; RETURN 2; END $$;
CREATE FUNCTION earlies() RETURNS int LANGUAGE plpgsql AS $$ BEGIN <<outside>> LOOP IF early(5) = 2 THEN EXIT outside; END IF; END LOOP; RETURN early(1) * 10 + early(4); END $$;
SELECT earlies();

-- The end of a function without RETURN
CREATE FUNCTION ends(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF n > 0 THEN RETURN n; END IF; END $$;
CREATE FUNCTION calls_ends(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN ends(n) + 1; END $$;
SELECT calls_ends(1);
SELECT calls_ends(0);

-- STRICT
CREATE FUNCTION strictly(a int, b int) RETURNS int STRICT LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (entry) VALUES ('strictly'); RETURN a + b; END $$;
CREATE FUNCTION calls_strictly(a int, b int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE x int; n int; BEGIN x := strictly(a, b); SELECT count(*) INTO n FROM log; RETURN concat(x, '/', n); END $$;
SELECT calls_strictly(1, NULL);
SELECT calls_strictly(1, 2);
SELECT calls_strictly(NULL, 2);

-- Outputs
CREATE FUNCTION halves(n int, OUT low int, OUT high int) LANGUAGE plpgsql AS $$ BEGIN low := n / 2; IF n = 0 THEN RETURN; END IF; high := n - low; END $$;
CREATE FUNCTION split(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE a int; b int; r record; BEGIN SELECT * INTO a, b FROM halves(n); SELECT h.high, h.low INTO r FROM halves(n + 1) AS h; RETURN concat(a, ' ', b, ' ', r.high, ' ', r.low); END $$;
SELECT split(7);
SELECT split(0);
CREATE FUNCTION whole(n int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN r := halves(n); RETURN r.low * 10 + r.high; END $$;
SELECT whole(9);
CREATE FUNCTION one_out(n int, OUT m int) LANGUAGE plpgsql AS $$ BEGIN m := n + 1; END $$;
CREATE FUNCTION calls_one_out() RETURNS int LANGUAGE plpgsql AS $$ DECLARE a int; b int; BEGIN a := one_out(1); SELECT m INTO b FROM one_out(a * 10); RETURN b + one_out(0); END $$;
SELECT calls_one_out();
CREATE PROCEDURE swap(INOUT a int, INOUT b int, IN add int DEFAULT 0) LANGUAGE plpgsql AS $$ DECLARE c int := a; BEGIN a := b + add; b := c + add; END $$;
CREATE FUNCTION swaps(x int, y int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN CALL swap(x, y); CALL swap(x, y, add => 100); RETURN concat(x, ' ', y); END $$;
SELECT swaps(1, 2);
CREATE PROCEDURE outs(n int, OUT m int, OUT t text) LANGUAGE plpgsql AS $$ BEGIN m := n * n; t := 'square of ' || n; END $$;
CREATE FUNCTION calls_outs(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE m bigint; t text; BEGIN CALL outs(n, m, t); RETURN t || ' is ' || m; END $$;
SELECT calls_outs(12);
CREATE OR REPLACE FUNCTION calls_outs(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE m int; t varchar(100); BEGIN CALL outs(n, m, t); RETURN t; END $$;
SELECT calls_outs(12);
CREATE OR REPLACE FUNCTION calls_outs(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE m int; t text; r record; BEGIN CALL outs(n, m, t); t := t || ' is ' || m; SELECT 1 AS a, 'x' AS b INTO r; CALL outs(3, r.a, r.b); RETURN t || r.a || r.b; END $$;
SELECT calls_outs(12);
CREATE OR REPLACE FUNCTION calls_outs(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE m int; BEGIN CALL outs(n, m); RETURN m; END $$;
SELECT calls_outs(12);
CREATE OR REPLACE FUNCTION calls_outs(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE m int; BEGIN CALL swap(n, m, 1, 2); RETURN m; END $$;
SELECT calls_outs(12);
CREATE OR REPLACE FUNCTION calls_outs(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE m int := 4; BEGIN CALL swap(b => m, a => n); RETURN m || ' ' || n; END $$;
SELECT calls_outs(12);
CREATE PROCEDURE notes(t text) LANGUAGE sql AS $$ INSERT INTO log (entry) VALUES (t); DELETE FROM log WHERE entry = 'strictly' $$;
CREATE PROCEDURE notes_twice(t text) LANGUAGE plpgsql AS $$ BEGIN CALL notes(t); CALL notes(t || '!'); END $$;
CALL notes_twice('hello');
SELECT entry FROM log ORDER BY n;
CREATE FUNCTION calls_missing() RETURNS int LANGUAGE plpgsql AS $$ BEGIN CALL nobody(1); RETURN 1; END $$;
SELECT calls_missing();
CREATE FUNCTION calls_function() RETURNS int LANGUAGE plpgsql AS $$ BEGIN CALL twice(1); RETURN 1; END $$;
SELECT calls_function();
CREATE FUNCTION selects_procedure() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM notes('x'); RETURN 1; END $$;
SELECT selects_procedure();

-- Own writes are visible on both sides
CREATE FUNCTION move_to(payer int, payee int, amount numeric) RETURNS numeric LANGUAGE plpgsql AS $$ DECLARE rest numeric; BEGIN UPDATE account SET balance = balance - amount WHERE id = payer RETURNING balance INTO rest; IF rest < 0 THEN RAISE EXCEPTION 'account % is overdrawn by %', payer, -rest; END IF; UPDATE account SET balance = balance + amount WHERE id = payee; RETURN rest; END $$;
CREATE FUNCTION round_trip(amount numeric) RETURNS text LANGUAGE plpgsql AS $$ DECLARE a numeric; s numeric; BEGIN UPDATE account SET balance = balance + 1 WHERE id = 1; a := move_to(1, 2, amount); SELECT balance INTO s FROM account WHERE id = 2; RETURN a || ' ' || s || ' ' || move_to(2, 3, amount); END $$;
SELECT round_trip(10);
SELECT round_trip(1000);
SELECT * FROM account ORDER BY id;
CREATE FUNCTION insert_result(k int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE n int; BEGIN INSERT INTO account VALUES (plus(k), 'new', move_to(1, 2, 1)); SELECT count(*) INTO n FROM account; DELETE FROM account WHERE id > 100; RETURN n; END $$;
SELECT insert_result(3);
SELECT * FROM account ORDER BY id;

-- IF, ELSIF, CASE
CREATE FUNCTION logged(t text, b bool) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (entry) VALUES (t); RETURN b; END $$;
CREATE FUNCTION chooses(n int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN IF logged('if', n = 1) THEN RETURN 'one'; ELSIF n = 2 THEN RETURN 'two'; ELSIF logged('elsif', n = 3) THEN RETURN 'three'; ELSIF logged('last', n = 4) THEN RETURN 'four'; ELSE RETURN 'other'; END IF; END $$;
DELETE FROM log;
SELECT chooses(1);
SELECT chooses(2);
SELECT chooses(3);
SELECT chooses(4);
SELECT chooses(5);
SELECT entry FROM log ORDER BY n;
DELETE FROM log;
CREATE FUNCTION cases(n int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN CASE n WHEN 1 THEN RETURN 'one'; WHEN twice(1), twice(2) THEN RETURN 'two or four'; WHEN 3 THEN RETURN 'three'; END CASE; END $$;
SELECT cases(1);
SELECT cases(2);
SELECT cases(3);
SELECT cases(4);
SELECT cases(5);
CREATE FUNCTION searched(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE s text := ''; BEGIN CASE WHEN logged('a', n = 1) THEN s := 'a'; WHEN logged('b', n = 2) THEN s := 'b'; ELSE s := 'c'; END CASE; RETURN s; END $$;
SELECT searched(1);
SELECT searched(2);
SELECT searched(3);
SELECT entry FROM log ORDER BY n;
DELETE FROM log;
CREATE FUNCTION operand(n int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN CASE plus(n, 0, 0) WHEN 1 THEN RETURN 'one'; ELSE RETURN 'other'; END CASE; END $$;
SELECT operand(1);
SELECT operand(2);

-- AND, OR, CASE and coalesce run what they need
CREATE FUNCTION ands(a bool, b bool) RETURNS bool LANGUAGE plpgsql AS $$ DECLARE r bool; BEGIN r := logged('left', a) AND logged('right', b); RETURN r; END $$;
SELECT ands(true, true);
SELECT ands(true, false);
SELECT ands(false, true);
SELECT ands(null, false);
SELECT entry FROM log ORDER BY n;
DELETE FROM log;
CREATE FUNCTION ors(a bool, b bool) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN IF logged('left', a) OR logged('right', b) THEN RETURN true; END IF; RETURN false; END $$;
SELECT ors(true, true);
SELECT ors(false, true);
SELECT ors(null, false);
SELECT entry FROM log ORDER BY n;
DELETE FROM log;
CREATE FUNCTION parts(n int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN CASE WHEN logged('first', n = 1) THEN 'one' WHEN n = 2 THEN 'two' || logged('two', true) WHEN logged('third', n = 3) THEN 'three' ELSE coalesce(CASE WHEN n = 4 THEN 'four' END, 'else' || logged('else', true)) END; END $$;
SELECT parts(1);
SELECT parts(2);
SELECT parts(3);
SELECT parts(4);
SELECT parts(5);
SELECT entry FROM log ORDER BY n;
DELETE FROM log;
CREATE FUNCTION positive(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF n <= 0 THEN RAISE EXCEPTION '% is not positive', n; END IF; RETURN n; END $$;
CREATE FUNCTION guarded(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN CASE WHEN n > 0 THEN 100 / positive(n) ELSE 0 END; END $$;
SELECT guarded(7);
SELECT guarded(-7);
CREATE FUNCTION in_subquery(n int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RETURN EXISTS (SELECT 1 FROM account WHERE id = n) AND positive(n - 1) > 0; END $$;
SELECT in_subquery(2);
SELECT in_subquery(1);
SELECT in_subquery(0);

CREATE FUNCTION one_positive(n int) RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN IF n < 0 THEN RAISE EXCEPTION 'negative'; END IF; IF n > 0 THEN RETURN NEXT n; END IF; END $$;
CREATE FUNCTION in_exists(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE k int; BEGIN IF n < 100 AND EXISTS (SELECT 1 FROM one_positive(n) p WHERE p < 50) THEN RETURN 'exists'; END IF; k := (SELECT positive(n)) + (SELECT sum(p) FROM one_positive(n) AS p); RETURN k || CASE WHEN k IN (SELECT positive(n) * 2) THEN ' twice' ELSE '' END; END $$;
SELECT in_exists(1);
SELECT in_exists(70);
SELECT in_exists(-1);
SELECT in_exists(0);

-- Loops
CREATE FUNCTION count_down(n int) RETURNS text LANGUAGE plpgsql AS $$ DECLARE s text := ''; BEGIN WHILE logged('while', n > 0) LOOP n := n - 1; CONTINUE WHEN plus(n, 0, 0) = 1; s := s || n; EXIT WHEN logged('exit', n < -5); END LOOP; RETURN s; END $$;
SELECT count_down(4);
SELECT entry FROM log ORDER BY n;
DELETE FROM log;
CREATE FUNCTION bounds() RETURNS text LANGUAGE plpgsql AS $$ DECLARE s text := ''; BEGIN FOR i IN twice(1) .. twice(4) BY plus(1, 0, 1) LOOP s := s || i || ' '; END LOOP; FOR i IN REVERSE twice(2) .. twice(1) LOOP s := s || i || ' '; END LOOP; RETURN s; END $$;
SELECT bounds();
CREATE FUNCTION arrays(n int) RETURNS int[] LANGUAGE plpgsql AS $$ BEGIN RETURN ARRAY[n, n + 1, n + 2]; END $$;
CREATE FUNCTION each() RETURNS int LANGUAGE plpgsql AS $$ DECLARE x int; s int := 0; a int[]; BEGIN FOREACH x IN ARRAY arrays(3) LOOP s := s + x; END LOOP; a := arrays(1); a[twice(1)] := 50; RETURN s + a[2] + (arrays(7))[1]; END $$;
SELECT each();
CREATE FUNCTION again() RETURNS text LANGUAGE plpgsql AS $$ DECLARE s text := ''; BEGIN FOR i IN 1 .. 3 LOOP DECLARE a int := i; b int; c int := plus(a, 0, 0) + coalesce(b, 0); d int := c + twice(c); BEGIN b := 7; s := s || d || ' '; END; END LOOP; RETURN s; END $$;
SELECT again();

-- Initial values, NOT NULL and CONSTANT
CREATE FUNCTION initial(n int) RETURNS int LANGUAGE plpgsql AS $$ <<top>> DECLARE a CONSTANT int := twice(n); b int NOT NULL := strictly(a, n); c int := a + b; BEGIN IF c > 100 THEN EXIT top; END IF; RETURN c; END $$;
SELECT initial(2);
SELECT initial(NULL);

-- Messages
CREATE FUNCTION says(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'twice % is %', n, twice(n) USING DETAIL = 'detail ' || twice(1), ERRCODE = '22012'; END $$;
SELECT says(3);

-- Functions that return rows
CREATE FUNCTION rich(low numeric) RETURNS TABLE (id int, owner text) STABLE LANGUAGE sql AS $$ SELECT a.id, a.owner FROM account a WHERE a.balance >= low ORDER BY a.id $$;
CREATE FUNCTION owners(low numeric) RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; s text := ''; n int; BEGIN FOR r IN SELECT * FROM rich(low) LOOP s := s || r.id || r.owner || ' '; END LOOP; SELECT count(*) INTO n FROM rich(low) WHERE id > 1; RETURN s || n; END $$;
SELECT owners(0);
SELECT owners(50);
SELECT owners(5000);
CREATE FUNCTION evens(n int) RETURNS SETOF int LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1 .. n LOOP IF i % 2 = 0 THEN RETURN NEXT i; END IF; END LOOP; RETURN QUERY SELECT a.id * 100 FROM account a WHERE a.id < 3 ORDER BY 1; END $$;
CREATE FUNCTION sum_of_evens(n int) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE s bigint; x int; BEGIN s := 0; FOR x IN SELECT evens FROM evens(n) LOOP s := s + x; END LOOP; RETURN s * 1000 + (SELECT sum(a.id) FROM account a); END $$;
SELECT sum_of_evens(7);
CREATE FUNCTION out_rows(n int, OUT a int, OUT b text) RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1 .. n LOOP a := i; b := 'row ' || i; RETURN NEXT; END LOOP; END $$;
CREATE FUNCTION joined(n int) RETURNS TABLE (a int, b text, c text) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT o.a, o.b, x.owner FROM account x JOIN rich(0) r ON r.id = x.id, unnest(ARRAY[1]) u, rich(1) q, rich(0) AS p(k, l) CROSS JOIN LATERAL (SELECT 1 AS a, 'b' AS b) o WHERE x.id = p.k AND q.id = x.id ORDER BY x.id; END $$;
SELECT * FROM joined(2);
CREATE FUNCTION all_rows(n int) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT o.a || o.b FROM out_rows(n) o WHERE o.a > 1; RETURN NEXT 'end'; END $$;
SELECT * FROM all_rows(3);
CREATE FUNCTION accounts() RETURNS SETOF account STABLE LANGUAGE plpgsql AS $$ DECLARE r account%ROWTYPE; BEGIN FOR r IN SELECT * FROM account ORDER BY id DESC LOOP RETURN NEXT r; END LOOP; END $$;
CREATE FUNCTION first_account() RETURNS account STABLE LANGUAGE sql AS $$ SELECT * FROM account ORDER BY id LIMIT 1 $$;
CREATE FUNCTION of_accounts() RETURNS text LANGUAGE plpgsql AS $$ DECLARE r record; s text := ''; f account; BEGIN FOR r IN SELECT * FROM accounts() LOOP s := s || r.owner; END LOOP; f := first_account(); SELECT * INTO r FROM first_account(); RETURN s || ' ' || f.owner || r.id; END $$;
SELECT of_accounts();

-- Bodies in sql
CREATE FUNCTION of_sql(a int) RETURNS int LANGUAGE sql AS $$ SELECT plus(a, 1, 1) + twice(a) $$;
SELECT of_sql(5);
CREATE FUNCTION writes_sql(t text) RETURNS int LANGUAGE sql AS $$ INSERT INTO log (entry) VALUES (t || twice(4)); SELECT n FROM log WHERE entry LIKE t || '%' AND twice(1) = 2 $$;
CREATE FUNCTION calls_sql(t text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM writes_sql(t); RETURN (SELECT count(*) FROM log WHERE entry LIKE 'sql%'); END $$;
SELECT calls_sql('sql2');
CREATE FUNCTION none_sql() RETURNS int LANGUAGE sql AS $$ SELECT id FROM account WHERE id = -1 $$;
CREATE FUNCTION calls_none() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce(none_sql()::text, 'none'); END $$;
SELECT calls_none();
CREATE FUNCTION returning_sql(t text) RETURNS text LANGUAGE sql AS $$ INSERT INTO log (entry) VALUES (t), (t || t) RETURNING entry $$;
CREATE FUNCTION calls_returning() RETURNS text LANGUAGE plpgsql AS $$ DECLARE n int; t text; BEGIN t := returning_sql('ab'); SELECT count(*) INTO n FROM log WHERE entry IN ('ab', 'abab'); RETURN t || n; END $$;
SELECT calls_returning();
CREATE FUNCTION rows_of_sql(low numeric) RETURNS SETOF text LANGUAGE sql AS $$ SELECT r.owner || '-' || twice(3) FROM rich(low) r $$;
SELECT * FROM rows_of_sql(1);
CREATE FUNCTION of_nothing(a int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (entry) VALUES ('nothing ' || a); IF a > 1 THEN RETURN; END IF; INSERT INTO log (entry) VALUES ('one'); END $$;
CREATE FUNCTION calls_nothing() RETURNS int LANGUAGE plpgsql AS $$ BEGIN DELETE FROM log; PERFORM of_nothing(1); PERFORM of_nothing(2); RETURN (SELECT count(*) FROM log); END $$;
SELECT calls_nothing();

-- Conditions and values of statements
CREATE FUNCTION stable_id(t text) RETURNS int STABLE LANGUAGE sql AS $$ SELECT id FROM account WHERE owner = t $$;
CREATE FUNCTION changes(t text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE b numeric; k int; BEGIN UPDATE account SET balance = balance + twice(5) WHERE id = stable_id(t) RETURNING balance INTO b; DELETE FROM log WHERE n > twice(0) AND entry = 'x'; SELECT count(*) INTO k FROM account WHERE id <= stable_id(t) AND balance > twice(1); RETURN concat(b, ' ', k); END $$;
SELECT changes('bob');
SELECT changes('nobody');

-- Routines that do not exist, change and go
CREATE FUNCTION later() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN not_there(1, 'x'); END $$;
SELECT later();
CREATE FUNCTION not_there(a int, b text) RETURNS int LANGUAGE sql AS $$ SELECT a + length(b) $$;
SELECT later();
CREATE OR REPLACE FUNCTION not_there(a int, b text) RETURNS int LANGUAGE sql AS $$ SELECT a + 10 * length(b) $$;
SELECT later();
DROP FUNCTION not_there(int, text);
SELECT later();
CREATE FUNCTION later_sql() RETURNS int LANGUAGE sql AS $$ SELECT not_there(1, 'x') $$;
CREATE FUNCTION wrong_arguments() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN twice('a', 1); END $$;
SELECT wrong_arguments();
CREATE FUNCTION wrong_type() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN twice(now()); END $$;
SELECT wrong_type();

-- Assertions
CREATE FUNCTION asserts(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN ASSERT n > 0; ASSERT n < 10, 'too large: ' || twice(n); RETURN n; END $$;
SELECT asserts(3);
SELECT asserts(0);
SELECT asserts(30);
SELECT asserts(NULL);
