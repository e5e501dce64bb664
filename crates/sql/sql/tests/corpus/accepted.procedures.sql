-- case: the shortest
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
-- case: attributes
CREATE OR REPLACE FUNCTION public.f(a integer) RETURNS integer AS $body$ BEGIN RETURN a; END; $body$
    LANGUAGE 'plpgsql' STABLE STRICT PARALLEL SAFE COST 10 SECURITY INVOKER LEAKPROOF;
-- case: more attributes
CREATE FUNCTION f(a integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE CALLED ON NULL INPUT NOT LEAKPROOF AS 'BEGIN RETURN a; END';
-- case: strict in many words
CREATE FUNCTION f(a integer) RETURNS integer RETURNS NULL ON NULL INPUT LANGUAGE sql AS $$ SELECT a $$;
-- case: parameters
CREATE FUNCTION f(integer, b double precision, IN c character varying(5), OUT d numeric(5, 2), INOUT e integer, timestamp without time zone)
    LANGUAGE plpgsql AS $$ BEGIN d := b; e := $1 + e; END $$;
-- case: defaults of parameters
CREATE FUNCTION f(a integer, b integer DEFAULT 5, c varchar = 'x', d timestamptz DEFAULT now()) RETURNS integer
    LANGUAGE sql AS $$ SELECT a + b $$;
-- case: parameters without names
CREATE FUNCTION f(integer, numeric) RETURNS numeric LANGUAGE sql AS $$ SELECT $1 * $2 $$;
-- case: a procedure
CREATE PROCEDURE f(a integer, INOUT b integer) LANGUAGE plpgsql AS $$ BEGIN b := a; RETURN; END $$;
-- case: types of declarations
CREATE FUNCTION f(a item.price%TYPE) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    b integer; c CONSTANT integer := 3; d integer NOT NULL DEFAULT 4; e item.name%TYPE = 'x'; f_ item%ROWTYPE; g record;
    h integer[]; i numeric(6, 2)[] := ARRAY[1.5, 2]; j b%TYPE; k item; l char(3) := 'ab'; m ALIAS FOR $1;
    o text; p varchar; q timestamp := '2020-01-01'; r date; s boolean := true; t interval := '3 days';
BEGIN
END $$;
-- case: assignments
CREATE FUNCTION f(a integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE b integer; c integer[]; d item; e numeric(5, 2); t text; u boolean;
BEGIN
    b := a + 1; b = 2; c[1] := 5; c[a + 1] := b; d.name := 'x'; d.price = 1.239; f.a := 5; e := '1.5'; t := 17; b := '12';
    t := now(); e := a / 2; u := 1; b := t; $1 := 7;
    RETURN c[1] + d.stock;
END $$;
-- case: select into
CREATE FUNCTION f(a integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE n varchar(24); p numeric; r record; w item%ROWTYPE; c bigint;
BEGIN
    SELECT name, price INTO n, p FROM item WHERE id = a;
    SELECT name INTO STRICT n FROM item WHERE id = a;
    SELECT INTO n, p name, price FROM item WHERE id = a;
    SELECT name FROM item WHERE id = a INTO n;
    SELECT * INTO r FROM item WHERE id = a;
    SELECT * INTO w FROM item WHERE id = a FOR UPDATE;
    SELECT count(*) INTO c FROM item;
    SELECT id, name INTO a FROM item LIMIT 1;
    RETURN r.stock + w.stock + c;
END $$;
-- case: writing
CREATE FUNCTION f(a integer, n varchar) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE s smallint; r record; rows bigint; more integer;
BEGIN
    INSERT INTO item (id, name) VALUES (a, n);
    INSERT INTO item (id, name, price, stock) VALUES (a, n, 1, DEFAULT), (a + 1, 'x', a * 2, 5 + 3);
    INSERT INTO item VALUES (a, 'z');
    INSERT INTO note SELECT id, name FROM item WHERE price > 5;
    INSERT INTO item (id, name) VALUES (a, n) ON CONFLICT DO NOTHING;
    INSERT INTO item (id, name) VALUES (a, n) ON CONFLICT (id) DO NOTHING RETURNING stock INTO s;
    UPDATE item SET stock = stock - 1, name = upper(item.name), price = DEFAULT WHERE item.id = a RETURNING item.stock INTO s;
    UPDATE item AS i SET (stock, price) = (i.stock + 1, 5) WHERE i.id = a RETURNING * INTO r;
    UPDATE item SET sold = sold + 1 FROM sale WHERE item.id = sale.item_id AND sale.line = a;
    DELETE FROM sale WHERE item_id = a;
    DELETE FROM sale USING item WHERE item.id = sale.item_id AND item.stock < a RETURNING sale.line INTO s;
    GET DIAGNOSTICS rows = ROW_COUNT;
    GET CURRENT DIAGNOSTICS rows := ROW_COUNT, more = ROW_COUNT;
    IF NOT FOUND THEN RETURN NULL; END IF;
    RETURN s;
END $$;
-- case: branches
CREATE FUNCTION f(a integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF a = 1 THEN RETURN 'one'; ELSIF a = 2 THEN NULL; ELSEIF a IS NULL THEN RETURN 'none'; ELSE RETURN 'many'; END IF;
    IF (SELECT count(*) FROM item) > a THEN RETURN 'few'; END IF;
    CASE a WHEN 1, 2 THEN RETURN 'low'; WHEN 3 + 4 THEN NULL; ELSE RETURN 'high'; END CASE;
    CASE WHEN a > 1 THEN NULL; WHEN a IS NULL THEN RETURN 'x'; END CASE;
    RETURN CASE a WHEN 1 THEN 'a' WHEN 2 THEN 'b' END || CASE WHEN a > 3 THEN 'c' ELSE NULL END;
END $$;
-- case: loops
CREATE FUNCTION f(a integer, b integer[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE n integer := 0; r record; x smallint; i item;
BEGIN
    LOOP n := n + 1; EXIT WHEN n > 3; END LOOP;
    WHILE n < 10 LOOP n := n + 1; CONTINUE WHEN n = 7; END LOOP;
    FOR i IN 1..10 LOOP n := n + i; END LOOP;
    FOR i IN REVERSE a..1 BY 2 LOOP n := n + i; END LOOP;
    FOR i IN 1 .. cardinality(b) LOOP n := n + b[i]; END LOOP;
    FOR r IN SELECT id, stock FROM item ORDER BY id DESC LOOP n := n + r.stock; END LOOP;
    FOR i IN SELECT * FROM item LOOP n := n + i.id; END LOOP;
    FOR n, x IN SELECT id, stock FROM item WHERE stock > a LIMIT 5 LOOP EXIT; END LOOP;
    FOR x IN (SELECT stock FROM item) LOOP NULL; END LOOP;
    FOR r IN UPDATE item SET stock = 1 RETURNING id, stock LOOP NULL; END LOOP;
    FOREACH x IN ARRAY b LOOP n := n + x; END LOOP;
    <<outer>>
    FOR k IN 1..3 LOOP
        <<inner>>
        LOOP EXIT outer WHEN k = 2; CONTINUE outer; END LOOP inner;
    END LOOP outer;
    RETURN n;
END $$;
-- case: blocks
CREATE FUNCTION f(a integer) RETURNS integer LANGUAGE plpgsql AS $$
<<top>>
DECLARE n integer := 1;
BEGIN
    <<low>>
    DECLARE n integer := top.n + a;
    BEGIN
        n := n + 1; top.n := low.n; EXIT low; 
    END low;
    BEGIN NULL; END;
    RETURN n;
END top $$;
-- case: rows by next
CREATE FUNCTION f(a integer) RETURNS TABLE (b integer, c varchar(5)) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..a LOOP b := i; c := 'x'; RETURN NEXT; END LOOP;
    RETURN;
END $$;
-- case: rows by query
CREATE FUNCTION f(a integer) RETURNS TABLE (b integer, c varchar) LANGUAGE plpgsql AS $$
BEGIN RETURN QUERY SELECT i.id, i.name FROM item i WHERE i.stock > a; RETURN QUERY SELECT 1, 'x'::varchar; END $$;
-- case: rows of one value
CREATE FUNCTION f() RETURNS SETOF integer LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT 5; RETURN QUERY SELECT id FROM item; RETURN; END $$;
-- case: rows of a table
CREATE FUNCTION f() RETURNS SETOF item LANGUAGE plpgsql AS $$
DECLARE r item; BEGIN FOR r IN SELECT * FROM item LOOP RETURN NEXT r; END LOOP; RETURN QUERY SELECT * FROM item; END $$;
-- case: one row of a table
CREATE FUNCTION f() RETURNS item LANGUAGE plpgsql AS $$ DECLARE r item; BEGIN SELECT * INTO r FROM item; RETURN r; END $$;
-- case: a record with output parameters
CREATE FUNCTION f(OUT a integer, OUT b text) RETURNS record LANGUAGE plpgsql AS $$ BEGIN a := 1; b := 'x'; END $$;
-- case: rows with output parameters
CREATE FUNCTION f(OUT a integer, OUT b text) RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN a := 1; RETURN NEXT; END $$;
-- case: messages
CREATE FUNCTION f(a integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE 'plain'; RAISE DEBUG 'a % b % %%', a, now(); RAISE LOG 'x'; RAISE INFO '%', a + 1; RAISE WARNING 'w';
    RAISE EXCEPTION 'no % here', a USING ERRCODE = 'unique_violation', HINT = 'try ' || a, DETAIL = 'd';
    RAISE 'x' USING ERRCODE = '22012'; RAISE division_by_zero; RAISE SQLSTATE '22012'; RAISE EXCEPTION USING MESSAGE = 'm' || a;
    RAISE unique_violation USING MESSAGE = 'double';
END $$;
-- case: performing
CREATE FUNCTION f(a integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN PERFORM 1 FROM item WHERE id = a; PERFORM name, stock FROM item LIMIT 1; PERFORM abs(a); RETURN FOUND; END $$;
-- case: bodies in sql
CREATE FUNCTION f(a integer) RETURNS varchar LANGUAGE sql AS $$
    INSERT INTO note (about, said) VALUES (a, 'x'); SELECT name FROM item WHERE id = f.a; $$;
-- case: columns before parameters in sql
CREATE FUNCTION f(id integer) RETURNS integer LANGUAGE sql AS $$ SELECT id FROM item WHERE item.id = f.id $$;
-- case: rows in sql
CREATE FUNCTION f(a integer) RETURNS TABLE (id integer, price numeric) LANGUAGE sql AS $$ SELECT id, price FROM item WHERE stock > a $$;
-- case: nothing in sql
CREATE FUNCTION f(a integer) RETURNS void LANGUAGE sql AS $$ UPDATE item SET stock = a; DELETE FROM note $$;
-- case: returning in sql
CREATE FUNCTION f(a integer) RETURNS integer LANGUAGE sql AS $$ UPDATE item SET stock = stock + 1 WHERE id = a RETURNING stock $$;
-- case: words as names
CREATE FUNCTION f(value integer, status text, level integer, line integer, name varchar) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE type integer; row_count integer; notice integer; "select" integer; query integer; log integer; reverse integer := 2;
BEGIN type := value; row_count := level; "select" := line; query := 5; log := 2; notice := 1; RETURN type + query + "select"; END $$;
-- case: variables in every clause
CREATE FUNCTION f(a integer, n varchar, l bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE c bigint; t text;
BEGIN
    SELECT count(*), max(i.name) INTO c, t FROM item i JOIN sale s ON s.item_id = i.id AND s.line = a LEFT JOIN note ON note.about = i.id
    WHERE i.name LIKE n || '%' AND i.price BETWEEN a AND a + 5 AND i.stock IN (a, 2, 3) AND s.amount > (SELECT avg(amount) FROM sale WHERE line < a)
    GROUP BY i.stock, i.stock + a HAVING sum(i.price) > a ORDER BY count(*) DESC, 1 LIMIT l OFFSET a;
    RETURN c;
END $$;
-- case: a variable hides one further out
CREATE FUNCTION f(a integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE a integer := 5; BEGIN RETURN a + f.a; END $$;
-- case: comments inside
CREATE FUNCTION f(a integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN -- one
    /* two */ RETURN /* three */ a -- four
    ; END; -- five
$$;
-- case: an empty array
CREATE FUNCTION f() RETURNS integer[] LANGUAGE plpgsql AS $$
DECLARE a integer[] := '{}'; b integer[] := ARRAY[]::integer[];
BEGIN a := array_append(a, 5); a := a || 6; a := a || b; a := array_cat(a, b); RETURN a; END $$;
-- case: texts returned as the kind they are converted to
CREATE FUNCTION f(a integer) RETURNS TABLE (b varchar, c text) LANGUAGE plpgsql AS $$
BEGIN RETURN QUERY SELECT ('x' || a)::varchar, i.name::text FROM item i; RETURN QUERY SELECT left(i.name, 1)::varchar, CAST(i.name AS text) FROM item i; END $$;
-- case: several bodies
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
CREATE FUNCTION g() RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$
-- case: a record of all branches
CREATE FUNCTION f(a integer) RETURNS varchar LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN IF a > 0 THEN SELECT * INTO r FROM item i WHERE i.id = 1; ELSIF a < 0 THEN RETURN ''; ELSE SELECT * INTO r FROM item i WHERE i.id = 1; END IF; RETURN r.name; END $$;
-- case: a record of a case without else
CREATE FUNCTION f(a integer) RETURNS varchar LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN CASE a WHEN 1 THEN SELECT * INTO r FROM item i WHERE i.id = 1; WHEN 2 THEN RAISE EXCEPTION 'x'; END CASE; RETURN r.name; END $$;
-- case: a record of a loop
CREATE FUNCTION f(a integer) RETURNS varchar LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN LOOP SELECT * INTO r FROM item i WHERE i.id = 1; EXIT WHEN a > 0; a := a + 1; END LOOP; RETURN r.name; END $$;
-- case: a record of a loop over rows, which has nulls if there are none
CREATE FUNCTION f(a integer) RETURNS varchar LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM item LOOP CONTINUE WHEN a > 0; a := a + 1; END LOOP; RETURN r.name; END $$;
-- case: a record behind a block that is left by those who have it
CREATE FUNCTION f(a integer) RETURNS varchar LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN <<b>> BEGIN SELECT * INTO r FROM item i WHERE i.id = 1; IF a > 0 THEN EXIT b; END IF; a := 2; END; RETURN r.name; END $$;
-- case: a record where nothing comes by
CREATE FUNCTION f(a integer) RETURNS varchar LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN RETURN ''; IF a > 0 THEN SELECT * INTO r FROM item i WHERE i.id = 1; END IF; RETURN r.name; END $$;
-- case: a whole record that may have no row
CREATE FUNCTION f(a integer) RETURNS item LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN IF a > 0 THEN SELECT * INTO r FROM item i WHERE i.id = 1; END IF; IF r IS NULL THEN RETURN NULL; END IF; RETURN r; END $$;
-- case: slices
CREATE FUNCTION f(a integer[]) RETURNS integer[] LANGUAGE plpgsql AS $$ BEGIN RETURN a[1:2]; END $$;
-- case: an array as text
CREATE FUNCTION f(i integer) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN (array_append(ARRAY[i], i))::text; END $$;
