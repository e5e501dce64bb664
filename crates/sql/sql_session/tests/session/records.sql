-- Functions that return records, and bodies with doubled quotes.
CREATE TABLE line (o int, n int, amount numeric(6, 2), PRIMARY KEY (o, n));
INSERT INTO line SELECT o, n, o + n FROM generate_series(1, 3) o, generate_series(1, 3) n;
CREATE TABLE orders (id int PRIMARY KEY, customer int);
INSERT INTO orders SELECT i, i * 100 FROM generate_series(1, 5) i;
CREATE FUNCTION lines(low_id int) RETURNS SETOF record LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN FOR r IN SELECT o, amount FROM line WHERE o >= low_id ORDER BY o, n LOOP RETURN NEXT r; END LOOP; END $$;
SELECT * FROM lines(3) AS (o int, amount numeric);
SELECT total.a FROM lines(2) AS total (a int, b numeric) WHERE b > 5;
SELECT * FROM lines(3) AS (o bigint, amount numeric);
CREATE FUNCTION records() RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT id, customer FROM orders WHERE id < 3 ORDER BY id; RETURN QUERY SELECT 0, 0; END $$;
SELECT a, b FROM records() AS (a int, b int);
CREATE FUNCTION quotes(a text) RETURNS text AS 'BEGIN RETURN a || '' it''''s '' || $x$''$x$; END' LANGUAGE 'plpgsql';
SELECT quotes('x');
CREATE FUNCTION one_quote() RETURNS text LANGUAGE sql AS 'SELECT ''a''::text';
SELECT one_quote();
