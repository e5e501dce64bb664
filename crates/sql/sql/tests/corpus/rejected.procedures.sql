-- case: no language
CREATE FUNCTION f() RETURNS void AS $$ BEGIN END $$;
-- case: no body
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql;
-- case: no result
CREATE FUNCTION f() LANGUAGE plpgsql AS $$ BEGIN END $$;
-- case: two languages
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql LANGUAGE sql AS $$ BEGIN END $$;
-- case: two parameters of one name
CREATE FUNCTION f(a integer, a integer) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
-- case: a default missing
CREATE FUNCTION f(a integer DEFAULT 1, b integer) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
-- case: an unknown type of a parameter
CREATE FUNCTION f(a integr) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
-- case: output parameters that disagree
CREATE FUNCTION f(OUT a integer) RETURNS text LANGUAGE plpgsql AS $$ BEGIN END $$;
-- case: a procedure with a result
CREATE PROCEDURE f() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN END $$;
-- case: a stable procedure
CREATE PROCEDURE f() LANGUAGE plpgsql STABLE AS $$ BEGIN END $$;
-- case: no end
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN $$;
-- case: no begin
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ NULL; END $$;
-- case: no semicolon
CREATE FUNCTION f(a integer) RETURNS void LANGUAGE plpgsql AS $$ BEGIN a := 1 END $$;
-- case: text after the end
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN END; NULL; $$;
-- case: a variable that is not declared
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN a := 1; END $$;
-- case: a variable declared twice
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a integer; a text; BEGIN END $$;
-- case: an unknown type
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a integr; BEGIN END $$;
-- case: a constant assigned
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a CONSTANT integer := 1; BEGIN a := 2; END $$;
-- case: not null without a value
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a integer NOT NULL; BEGIN END $$;
-- case: a type of nothing
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a nothing.column%TYPE; BEGIN END $$;
-- case: if without then
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF true NULL; END IF; END $$;
-- case: if without end
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF true THEN NULL; END; END $$;
-- case: an empty condition
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF THEN NULL; END IF; END $$;
-- case: a loop without end
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN LOOP NULL; END; END $$;
-- case: a wrong label at the end
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN <<a>> LOOP NULL; END LOOP b; END $$;
-- case: a label that was not given
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN LOOP NULL; END LOOP b; END $$;
-- case: exit outside a loop
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXIT; END $$;
-- case: continue at a block
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN LOOP <<a>> BEGIN CONTINUE a; END; END LOOP; END $$;
-- case: exit to an unknown label
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN LOOP EXIT a; END LOOP; END $$;
-- case: a loop over rows without a variable
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN FOR r IN SELECT 1 LOOP NULL; END LOOP; END $$;
-- case: reverse over rows
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN FOR r IN REVERSE SELECT 1 LOOP NULL; END LOOP; END $$;
-- case: a value of a function without one
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;
-- case: no value of a function with one
CREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN; END $$;
-- case: a value beside output parameters
CREATE FUNCTION f(OUT a integer) LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;
-- case: next in a function of one value
CREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT 1; END $$;
-- case: next with a value beside output parameters
CREATE FUNCTION f() RETURNS TABLE (a integer) LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT 1; END $$;
-- case: query in a function of one value
CREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN QUERY SELECT 1; END $$;
-- case: too few values of a message
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '% %', 1; END $$;
-- case: too many values of a message
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'x', 1; END $$;
-- case: an unknown option of raise
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'x' USING COLOUR = 'red'; END $$;
-- case: an unknown condition
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE no_such_condition; END $$;
-- case: a short code
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE '123'; END $$;
-- case: into twice
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a integer; BEGIN SELECT 1 INTO a INTO a; END $$;
-- case: into an unknown variable
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN SELECT 1 INTO a; END $$;
-- case: into a constant
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a CONSTANT integer := 1; BEGIN SELECT 1 INTO a; END $$;
-- case: into an element
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a integer[]; BEGIN SELECT 1 INTO a[1]; END $$;
-- case: into a record and more
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a record; b integer; BEGIN SELECT 1, 2 INTO a, b; END $$;
-- case: an unknown item of diagnostics
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE a integer; BEGIN GET DIAGNOSTICS a = COLUMN_COUNT; END $$;
-- case: an unknown statement
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PRINT 'x'; END $$;
-- case: a case without when
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CASE 1 ELSE NULL; END CASE; END $$;
-- case: a query that is none
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN UPDATE item stock = 1; END $$;
-- case: an expression that is none
CREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN 1 +; END $$;
-- case: a bracket too many
CREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN (1)); END $$;
-- case: a bracket too few
CREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN ((1); END $$;
-- case: a comparison of a comparison
CREATE FUNCTION f(a integer) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN 1 < a < 5; END $$;
-- case: an unknown table in sql
CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS $$ SELECT a FROM nowhere $$;
-- case: an unknown column in sql
CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS $$ SELECT colour FROM item $$;
-- case: another type in sql
CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS $$ SELECT name FROM item $$;
-- case: two columns in sql
CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS $$ SELECT id, stock FROM item $$;
-- case: no result in sql
CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS $$ DELETE FROM note $$;
-- case: an unterminated body
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN END;
-- case: another database's limit
CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS $$ SELECT id FROM item LIMIT 1, 2 $$;
-- case: another database's insert
CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ INSERT IGNORE INTO note (about) VALUES (1) $$;
-- case: another database's replace
CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ REPLACE INTO note (about) VALUES (1) $$;
-- case: a parameter with the name of a type
CREATE FUNCTION f(timestamp integer) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
-- case: a procedure with the name of a type
CREATE FUNCTION timestamp(a integer) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
-- case: a table called by a text
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 FROM item 'i'; END $$;
-- case: a column called by a text
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 AS 'one' FROM item; END $$;
-- case: a column of a text
CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ UPDATE item SET 'stock' = 1 $$;
-- case: another name of a table without as
CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ INSERT INTO note n (about, said) VALUES (1, 'x') $$;
-- case: a star in brackets
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM id, (*) FROM item; END $$;
-- case: not null behind a value
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 FROM item WHERE name NOT NULL; END $$;
-- case: a column of the result with the name of a type
CREATE FUNCTION f() RETURNS TABLE (a integer, varchar varchar) LANGUAGE plpgsql AS $$ BEGIN END $$;
-- case: a reserved word assigned
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ DECLARE "select" integer; BEGIN select := 5; END $$;
-- case: a misspelt statement
CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN UPDAET item SET stock = 1; END $$;
-- case: a misspelt clause
CREATE FUNCTION f() RETURNS SETOF bigint LANGUAGE sql AS $$ SELECT id FROM item WHRE id = 1 ODER BY id $$;
-- case: a misspelt kind of routine
CREATE FUNCTOIN f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$;
-- case: a misspelt function
CREATE FUNCTION f() RETURNS text LANGUAGE sql AS $$ SELECT lowr('A') $$;
-- case: a function that there is not
CREATE FUNCTION f() RETURNS text LANGUAGE sql AS $$ SELECT frobnicate('A') $$;
-- case: errors of two statements of one body
CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS $$ SELECT nme FROM item; SELECT stok FROM item $$;
