-- case: an unknown table
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN DELETE FROM nowhere; END $$;
-- case: an unknown column
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN DELETE FROM item WHERE colour = 1; END $$;
-- case: a table with letters that have changed places
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN DELETE FROM itme; END $$;
-- case: a column with a letter too many
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN DELETE FROM item WHERE stockk = 1; END $$;
-- case: a column and a variable of one name
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE stock integer := 1; BEGIN UPDATE item SET stock = stock + 1; END $$;
-- case: a column and a column of the result
CREATE FUNCTION f() RETURNS TABLE (id integer) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT id FROM item; END $$;
-- case: a column of two tables
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM id FROM item a, item b; END $$;
-- case: an operator that is not there
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 FROM item WHERE name = 5; END $$;
-- case: a sum of texts
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM sum(name) FROM item; END $$;
-- case: a condition that is a number
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 FROM item WHERE stock; END $$;
-- case: text into a number column
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN UPDATE item SET stock = name; END $$;
-- case: a truth value into a number column
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO note (about) VALUES (true); END $$;
-- case: a literal that cannot be read
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 FROM item WHERE id = 'x'; END $$;
-- case: too many values
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO note (about) VALUES (1, 'x'); END $$;
-- case: rows of different widths
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO note VALUES (1, 'x'), (2); END $$;
-- case: a query without a destination
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN SELECT 1; END $$;
-- case: returning without a destination
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN UPDATE item SET stock = 1 RETURNING id; END $$;
-- case: into without rows
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a integer; BEGIN UPDATE item SET stock = 1 INTO a; END $$;
-- case: an aggregate in where
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 FROM item WHERE count(*) > 1; END $$;
-- case: an aggregate in an aggregate
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM sum(count(*)) FROM item; END $$;
-- case: a column that is not grouped
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM name, count(*) FROM item GROUP BY stock; END $$;
-- case: a column beside an aggregate
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM name, count(*) FROM item; END $$;
-- case: two columns as a value
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM (SELECT id, stock FROM item); END $$;
-- case: values without a common type
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM CASE WHEN true THEN 1 ELSE now() END; END $$;
-- case: a union of different widths
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN FOR r IN SELECT 1 UNION SELECT 1, 2 LOOP NULL; END LOOP; END $$;
-- case: another type in a returned query
CREATE FUNCTION f() RETURNS TABLE (a bigint) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT i.id FROM item i; END $$;
-- case: too few columns in a returned query
CREATE FUNCTION f() RETURNS TABLE (a integer, b integer) LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT 1; END $$;
-- case: a function with other arguments
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM upper(1, 2); END $$;
-- case: a function of another type
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM lower(5); END $$;
-- case: an unknown field of a row
CREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$ DECLARE r item; BEGIN RETURN r.colour; END $$;
-- case: an unknown name in an expression
CREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN a + 1; END $$;
-- case: elements of a number
CREATE FUNCTION f(a integer DEFAULT 1) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN a[1]; END $$;
-- case: a loop over no array
CREATE FUNCTION f(a integer DEFAULT 1) RETURNS void LANGUAGE plpgsql AS $$ DECLARE b integer; BEGIN FOREACH b IN ARRAY a LOOP NULL; END LOOP; END $$;
-- case: a conflict of no key
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO note (about) VALUES (1) ON CONFLICT (about) DO NOTHING; END $$;
-- case: a column assigned twice
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN UPDATE item SET stock = 1, stock = 2; END $$;
-- case: a table twice in from
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 FROM item, item; END $$;
-- case: a remainder of floats
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM weight % 2 FROM item; END $$;
-- case: distinct rows in another order
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM DISTINCT name FROM item ORDER BY stock; END $$;
-- case: a position beyond the columns
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM name FROM item ORDER BY 2; END $$;
-- case: a join that sees another table
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 FROM item, note JOIN sale ON sale.item_id = item.id; END $$;
-- case: a variable with the name of a table
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE item bigint := 1; BEGIN PERFORM 1 FROM item WHERE id = item; END $$;
-- case: a variable with the name of a table further out
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE i bigint := 1; BEGIN PERFORM 1 FROM item i WHERE i.id IN (SELECT n.about FROM note n WHERE n.about = i); END $$;
-- case: a variable with the name of the table that is changed
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE item bigint := 1; BEGIN UPDATE item SET stock = stock + 1 WHERE id = item; END $$;
