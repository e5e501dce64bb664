-- Corner cases of batching, read-ahead and partial reads in generated code. No workload would have them.

-- Nulls inside of expressions that are tested for null.
CREATE FUNCTION null_of_sum(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    IF (x + y) IS NULL THEN
        RETURN 1;
    END IF;
    IF (x > y) IS NOT NULL THEN
        RETURN 2;
    END IF;
    RETURN 3;
END
$$;

CREATE FUNCTION null_of_cast(x integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    IF x::smallint IS NULL THEN
        RETURN 1;
    END IF;
    RETURN 2;
END
$$;

CREATE FUNCTION count_of_sum(of_w smallint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    counted bigint;
BEGIN
    SELECT count(q + r) INTO counted FROM small WHERE w = of_w;
    RETURN counted;
END
$$;

CREATE FUNCTION count_of_quotient(of_w smallint, y integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    counted bigint;
BEGIN
    SELECT count(q / y) INTO counted FROM small WHERE w = of_w;
    RETURN counted;
END
$$;

CREATE FUNCTION sums(of_w smallint, OUT total bigint, OUT fewest integer, OUT most_of integer, OUT counted bigint, OUT kinds bigint)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT sum(r), min(r), max(r), count(r), count(DISTINCT r) INTO total, fewest, most_of, counted, kinds
    FROM small WHERE w = of_w;
END
$$;

-- Errors in unused values.
CREATE FUNCTION unread_quotient(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    unread integer;
BEGIN
    unread := x / y;
    RETURN 1;
END
$$;

CREATE FUNCTION unread_declared(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    unread integer := x / y;
BEGIN
    RETURN 1;
END
$$;

CREATE FUNCTION unread_length(x varchar) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    unread varchar(3);
BEGIN
    unread := x;
    RETURN 1;
END
$$;

CREATE FUNCTION performed(of_w smallint, of_d smallint, y integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    PERFORM q / y FROM small WHERE w = of_w AND d = of_d;
    RETURN 1;
END
$$;

CREATE FUNCTION performed_decimal(of_w smallint, of_d smallint, y integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    PERFORM q / (y * 1.0) FROM small WHERE w = of_w AND d = of_d;
    RETURN 1;
END
$$;

CREATE FUNCTION unread_column(of_w smallint, of_d smallint, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    unread integer;
    given integer;
BEGIN
    SELECT q / y, r INTO unread, given FROM small WHERE w = of_w AND d = of_d;
    RETURN given;
END
$$;

CREATE FUNCTION unread_returning(of_w smallint, of_d smallint, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    unread integer;
BEGIN
    UPDATE small SET q = q + 1 WHERE w = of_w AND d = of_d RETURNING 1000 / (q % y) INTO unread;
    RETURN 1;
END
$$;

-- Keys whose type differs from the column's.
CREATE FUNCTION wide_key(of_w bigint, of_d integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    given integer;
BEGIN
    SELECT q INTO given FROM small WHERE w = of_w AND d = of_d;
    RETURN given;
END
$$;

CREATE FUNCTION wide_range(of_w smallint, low integer, high integer) RETURNS TABLE (found_d smallint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT d FROM small WHERE w = of_w AND d >= low AND d <= high ORDER BY d;
END
$$;

CREATE FUNCTION open_range(of_w smallint, of_d smallint, low bigint, high bigint) RETURNS TABLE (found_n integer)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT n FROM line WHERE w = of_w AND d = of_d AND n > low AND n < high ORDER BY n;
END
$$;

CREATE FUNCTION far_range(low bigint, high bigint) RETURNS TABLE (found_k bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT k FROM big WHERE k > low AND k < high ORDER BY k;
END
$$;

CREATE FUNCTION backwards(of_w smallint, of_d smallint, low integer, most integer, skipped integer)
RETURNS TABLE (found_n integer, found_v integer) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT n, v FROM line WHERE w = of_w AND d = of_d AND n >= low ORDER BY n DESC LIMIT most OFFSET skipped;
END
$$;

CREATE FUNCTION price_of(wanted numeric) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    given integer;
BEGIN
    SELECT v INTO given FROM price WHERE p = wanted;
    RETURN given;
END
$$;

CREATE FUNCTION half_price() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    given integer;
    other integer;
BEGIN
    SELECT v INTO given FROM price WHERE p = 1.5;
    SELECT v INTO other FROM price WHERE p = 2;
    RETURN given * 1000 + other;
END
$$;

CREATE FUNCTION prices_above(wanted numeric(12, 4)) RETURNS TABLE (found_p numeric(10, 2)) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT p FROM price WHERE p > wanted ORDER BY p LIMIT 3;
END
$$;

CREATE FUNCTION by_name(wanted varchar) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    given integer;
BEGIN
    SELECT v INTO given FROM named WHERE name = wanted;
    RETURN given;
END
$$;

CREATE FUNCTION by_code(of_w smallint, wanted char(6)) RETURNS TABLE (found_d smallint, found_code char(6)) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT d, code FROM small WHERE w = of_w AND code = wanted ORDER BY d;
END
$$;

-- Loops.
CREATE FUNCTION counted_wide(last bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    total bigint := 0;
BEGIN
    FOR i IN 1..last LOOP
        total := total + i;
        EXIT WHEN i >= 5;
    END LOOP;
    RETURN total;
END
$$;

CREATE FUNCTION counter_assigned(step integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    total integer := 0;
BEGIN
    FOR i IN 1..5 LOOP
        i := i * step;
        total := total + i;
    END LOOP;
    RETURN total;
END
$$;

CREATE FUNCTION long_loop(last integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer;
    total integer := 0;
BEGIN
    FOR i IN 1..last LOOP
        SELECT a INTO one FROM wide WHERE k = i;
        EXIT WHEN NOT FOUND;
        total := (total + one) % 1000;
        SELECT q INTO one FROM small WHERE w = 1 AND d = i;
        EXIT WHEN NOT FOUND;
        total := (total + one) % 1000;
    END LOOP;
    RETURN total;
END
$$;

CREATE FUNCTION left_early(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer;
    other integer;
BEGIN
    IF y = 0 THEN
        RETURN -1;
    END IF;
    SELECT a INTO one FROM wide WHERE k = x;
    SELECT a INTO other FROM wide WHERE k = x / y;
    RETURN one + other;
END
$$;

CREATE FUNCTION raised_first(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer;
    other integer;
BEGIN
    IF x % 2 = 0 THEN
        RAISE EXCEPTION 'even';
    END IF;
    SELECT a INTO one FROM wide WHERE k = x;
    SELECT a INTO other FROM wide WHERE k = 100 / y;
    RETURN one + other;
END
$$;

CREATE FUNCTION rows_with_errors(of_w smallint, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    total integer := 0;
    found_d smallint;
    unread integer;
BEGIN
    FOR found_d, unread IN SELECT d, 100 / (d - y) FROM small WHERE w = of_w ORDER BY d LOOP
        total := total + found_d;
        IF total > 3 THEN
            RAISE EXCEPTION 'more than three';
        END IF;
    END LOOP;
    RETURN total;
END
$$;

CREATE FUNCTION rows_left_early(of_w smallint, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one record;
BEGIN
    FOR one IN SELECT d, q / (d - y) AS part FROM small WHERE w = of_w ORDER BY d LOOP
        IF one.part > 0 THEN
            RETURN one.d;
        END IF;
    END LOOP;
    RETURN 0;
END
$$;

-- A transaction reads its own writes.
CREATE FUNCTION own_update(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer;
    other integer;
BEGIN
    SELECT a INTO one FROM wide WHERE k = x;
    UPDATE wide SET a = a + 1 WHERE k = y;
    SELECT a INTO other FROM wide WHERE k = x;
    UPDATE wide SET a = (a * 2) % 10000 WHERE k = x;
    SELECT a INTO one FROM wide WHERE k = y;
    RETURN one - other;
END
$$;

CREATE FUNCTION own_insert(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer;
    other integer;
BEGIN
    SELECT v INTO one FROM fresh WHERE a = x AND b = 0;
    INSERT INTO fresh (a, b, v) VALUES (x, y, x + y);
    SELECT v INTO other FROM fresh WHERE a = x AND b = y;
    DELETE FROM fresh WHERE a = x AND b = 0;
    SELECT count(*) INTO one FROM fresh WHERE a = x;
    RETURN coalesce(one, -1) * 100 + coalesce(other, -1);
END
$$;

CREATE FUNCTION own_index(x integer, to_z integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    before bigint;
    after bigint;
BEGIN
    SELECT count(*) INTO before FROM wide WHERE z = to_z;
    UPDATE wide SET z = to_z WHERE k = x;
    SELECT count(*) INTO after FROM wide WHERE z = to_z;
    RETURN after - before;
END
$$;

CREATE FUNCTION own_delete(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer;
BEGIN
    DELETE FROM fresh WHERE a = x AND b = y;
    SELECT v INTO one FROM fresh WHERE a = x AND b = y;
    IF FOUND THEN
        RETURN one;
    END IF;
    INSERT INTO fresh (a, b, v) VALUES (x, y, 1);
    UPDATE fresh SET v = v + 1 WHERE a = x AND b = y;
    SELECT v INTO one FROM fresh WHERE a = x AND b = y;
    DELETE FROM fresh WHERE a = x AND b = y + 1;
    RETURN one;
END
$$;

-- Rows that are read in part.
CREATE FUNCTION in_part(x integer, y integer, of_z integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    one integer;
    other integer;
    counted bigint;
BEGIN
    SELECT a INTO one FROM wide WHERE k = x;
    SELECT b INTO other FROM wide WHERE k = y;
    SELECT count(*) INTO counted FROM wide WHERE z = of_z;
    RETURN counted * 10000 + one + coalesce(other, 7);
END
$$;

CREATE FUNCTION in_part_found(x integer, y integer, of_z integer) RETURNS TABLE (found_k integer, found_tail varchar) LANGUAGE plpgsql AS $$
DECLARE
    one integer;
    other integer;
BEGIN
    SELECT a INTO one FROM wide WHERE k = x;
    SELECT b INTO other FROM wide WHERE k = y;
    RETURN QUERY SELECT k, tail FROM wide WHERE z = of_z ORDER BY k;
    RETURN QUERY SELECT k, tail FROM wide WHERE k = x;
END
$$;

CREATE FUNCTION whole_row(x integer) RETURNS TABLE (found_k integer, found_a integer, found_b integer, found_t varchar, found_pad char, found_z integer, found_tail varchar)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT k, a, b, t, pad, z, tail FROM wide WHERE k = x;
END
$$;

-- Texts that stay in their rows.
CREATE FUNCTION text_before(x integer, y integer) RETURNS varchar LANGUAGE plpgsql AS $$
DECLARE
    before varchar(20);
    after varchar(20);
BEGIN
    SELECT t INTO before FROM wide WHERE k = x;
    IF NOT FOUND THEN
        RETURN 'none';
    END IF;
    UPDATE wide SET t = left(before, 5) || 'x' WHERE k = y;
    SELECT t INTO after FROM wide WHERE k = x;
    IF NOT FOUND THEN
        RETURN 'gone';
    END IF;
    RETURN left(before, 6) || '/' || left(after, 6);
END
$$;

CREATE FUNCTION text_in_branches(x integer, y integer) RETURNS varchar LANGUAGE plpgsql AS $$
DECLARE
    kept char(200);
    other char(200);
BEGIN
    SELECT pad INTO kept FROM wide WHERE k = x;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no row';
    END IF;
    other := kept;
    IF y > 3 THEN
        SELECT pad INTO kept FROM wide WHERE k = y;
        IF NOT FOUND THEN
            kept := 'nothing';
        END IF;
    ELSIF y > 1 THEN
        kept := 'few';
    END IF;
    FOR i IN 1..2 LOOP
        IF i = 2 THEN
            other := kept;
        END IF;
    END LOOP;
    RETURN left(kept, 5) || left(other, 5);
END
$$;

-- Iterations in lockstep.
CREATE FUNCTION rounds(of_g integer, y integer) RETURNS TABLE (found_d integer, given integer, again integer) LANGUAGE plpgsql AS $$
DECLARE
    one integer;
    other integer;
BEGIN
    FOR number IN 1..4 LOOP
        SELECT q INTO one FROM cell WHERE g = of_g AND i = number;
        IF FOUND THEN
            UPDATE cell SET q = (q + y) % 1000 WHERE g = of_g AND i = number;
            SELECT q INTO other FROM cell WHERE g = of_g AND i = number;
            found_d := number;
            given := one;
            again := other;
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;

CREATE FUNCTION rounds_of_texts(of_g integer, y integer) RETURNS TABLE (found_d integer, given varchar, again char) LANGUAGE plpgsql AS $$
DECLARE
    one char(6);
    other integer;
BEGIN
    FOR number IN 1..4 LOOP
        SELECT code INTO one FROM cell WHERE g = of_g AND i = number;
        IF FOUND THEN
            SELECT v INTO other FROM entry WHERE g = of_g AND i = number AND n = y;
            found_d := other;
            given := left(one, 3);
            again := one;
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;

CREATE FUNCTION rounds_raise(of_g integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer;
    part integer;
BEGIN
    FOR number IN 1..4 LOOP
        SELECT q INTO one FROM cell WHERE g = of_g AND i = number;
        part := 100 / (number - y);
        UPDATE cell SET r = part WHERE g = of_g AND i = number;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'round without a row';
        END IF;
    END LOOP;
    RETURN 1;
END
$$;

CREATE FUNCTION rounds_consume(of_g integer, low integer) RETURNS TABLE (found_n integer, left_over bigint) LANGUAGE plpgsql AS $$
DECLARE
    least integer;
BEGIN
    FOR number IN 1..4 LOOP
        SELECT n INTO least FROM entry WHERE g = of_g AND i = number AND n >= low ORDER BY n LIMIT 1;
        IF FOUND THEN
            DELETE FROM entry WHERE g = of_g AND i = number AND n = least;
            SELECT n INTO least FROM entry WHERE g = of_g AND i = number AND n >= low ORDER BY n LIMIT 1;
            found_n := least;
            left_over := low;
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;

CREATE FUNCTION rounds_meet(of_g integer, of_i integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer;
    other integer;
BEGIN
    FOR number IN 1..3 LOOP
        SELECT q INTO one FROM cell WHERE g = of_g AND i = of_i;
        UPDATE cell SET q = (one + number) % 1000 WHERE g = of_g AND i = of_i;
    END LOOP;
    SELECT q INTO other FROM cell WHERE g = of_g AND i = of_i;
    RETURN other;
END
$$;

CREATE FUNCTION rounds_last(of_g integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer := 5;
    other integer;
BEGIN
    FOR number IN 1..3 LOOP
        SELECT q INTO other FROM cell WHERE g = of_g AND i = number;
        IF FOUND THEN
            one := other;
        END IF;
        UPDATE cell SET r = one WHERE g = of_g AND i = number;
    END LOOP;
    RETURN one;
END
$$;

CREATE FUNCTION rounds_of_records(of_g integer, y integer) RETURNS TABLE (given integer, again varchar, third integer) LANGUAGE plpgsql AS $$
DECLARE
    one record;
    part varchar(4);
    other integer;
BEGIN
    FOR number IN 1..4 LOOP
        SELECT q, r, label, code INTO one FROM cell WHERE g = of_g AND i = number;
        CONTINUE WHEN one.q IS NULL;
        given := one.r;
        again := left(one.label, 3);
        RETURN NEXT;
    END LOOP;
    FOR number IN 1..3 LOOP
        SELECT label, r INTO part, other FROM cell WHERE g = of_g AND i = number;
        UPDATE cell SET label = left(part, 3) || 'z', r = y WHERE g = of_g AND i = number;
        SELECT v INTO third FROM entry WHERE g = of_g AND i = number AND n = y;
        given := other;
        again := part;
        RETURN NEXT;
    END LOOP;
END
$$;

CREATE FUNCTION rounds_of_rows(of_g integer, low integer, y integer) RETURNS TABLE (given integer, total bigint) LANGUAGE plpgsql AS $$
DECLARE
    one integer;
    sum_of bigint;
BEGIN
    FOR number IN 1..4 LOOP
        sum_of := 0;
        FOR one IN UPDATE entry SET v = v + y WHERE g = of_g AND i = number AND n >= low AND n < low + 4 RETURNING v LOOP
            sum_of := sum_of + coalesce(one, 0);
        END LOOP;
        UPDATE cell SET q = (q + sum_of) % 1000 WHERE g = of_g AND i = number;
        SELECT q INTO one FROM cell WHERE g = of_g AND i = number;
        given := one;
        total := sum_of;
        RETURN NEXT;
    END LOOP;
END
$$;

CREATE FUNCTION rounds_behind(of_g integer, y integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    one integer;
    total bigint;
BEGIN
    UPDATE cell SET q = y WHERE g = of_g AND i = 2;
    FOR number IN 1..3 LOOP
        SELECT q INTO one FROM cell WHERE g = of_g AND i = number;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'none of %', number;
        END IF;
        UPDATE cell SET r = one + 1 WHERE g = of_g AND i = number;
    END LOOP;
    SELECT sum(r) INTO total FROM cell WHERE g = of_g;
    RETURN total;
END
$$;

CREATE FUNCTION rounds_chained(of_g integer, low integer) RETURNS TABLE (given varchar, again varchar, third integer, fourth integer) LANGUAGE plpgsql AS $$
DECLARE
    least integer;
    kept integer;
    one varchar(12);
    two char(6);
    factor smallint;
BEGIN
    FOR number IN 1..4 LOOP
        factor := number * 2;
        SELECT n, v INTO least, kept FROM entry WHERE g = of_g AND i = number AND n >= low ORDER BY n LIMIT 1;
        IF FOUND THEN
            SELECT label, code INTO one, two FROM cell WHERE g = of_g AND i = least % 5;
            UPDATE entry SET v = coalesce(kept, 0) % 50 + factor WHERE g = of_g AND i = number AND n = least;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'it was there';
            END IF;
            SELECT v INTO third FROM entry WHERE g = of_g AND i = number AND n = least;
            SELECT q INTO fourth FROM cell WHERE g = of_g AND i = (third + number) % 5;
            given := one;
            again := left(two, 4);
            fourth := fourth + kept;
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;

CREATE FUNCTION rounds_of_texts_kept(of_g integer, low integer) RETURNS TABLE (given varchar, again integer) LANGUAGE plpgsql AS $$
DECLARE
    least integer;
    kept integer;
    two char(6);
BEGIN
    FOR number IN 1..4 LOOP
        SELECT n INTO least FROM entry WHERE g = of_g AND i = number AND n > low ORDER BY n DESC LIMIT 1;
        SELECT code, q INTO two, kept FROM cell WHERE g = of_g AND i = least % 4 + 1;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no cell';
        END IF;
        IF kept > 15 THEN
            two := 'many';
        END IF;
        SELECT a INTO again FROM wide WHERE k = kept;
        given := left(two, 5);
        RETURN NEXT;
    END LOOP;
END
$$;

CREATE FUNCTION rounds_that_fail(of_g integer, low integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    least integer;
    kept integer;
BEGIN
    FOR number IN 1..4 LOOP
        SELECT n INTO least FROM entry WHERE g = of_g AND i = number AND n >= low ORDER BY n LIMIT 1;
        kept := 10 / (number - y);
        IF kept = 5 THEN
            RAISE EXCEPTION 'five';
        END IF;
        DELETE FROM entry WHERE g = of_g AND i = number AND n = least + 20;
        SELECT n INTO kept FROM entry WHERE g = of_g AND i = number AND n = least + 20;
        IF FOUND THEN
            RAISE EXCEPTION 'it is still there';
        END IF;
        UPDATE cell SET r = kept WHERE g = of_g AND i = number;
    END LOOP;
    RETURN 1;
END
$$;

CREATE FUNCTION rounds_crossed(of_g integer, low integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    least integer;
    kept integer;
BEGIN
    FOR number IN 1..4 LOOP
        SELECT n, v INTO least, kept FROM entry WHERE g = of_g AND i = number AND n >= low ORDER BY n LIMIT 1;
        UPDATE cell SET r = kept WHERE g = of_g AND i = least % 4 + 1;
        SELECT r INTO kept FROM cell WHERE g = of_g AND i = number;
        UPDATE entry SET v = kept WHERE g = of_g AND i = number AND n = least;
    END LOOP;
    RETURN 1;
END
$$;

-- Keys that depend on conditions.
CREATE FUNCTION settled(x integer, y integer, other integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    key integer;
    one integer;
    two integer;
BEGIN
    key := x;
    IF y > 3 THEN
        key := other;
    ELSIF y > 1 THEN
        key := x / (y - 2);
    END IF;
    SELECT a INTO one FROM wide WHERE k = key;
    SELECT a INTO two FROM wide WHERE k = x;
    key := y;
    SELECT z INTO two FROM wide WHERE k = key;
    RETURN coalesce(one, 0) * 1000 + coalesce(two, 0);
END
$$;

-- Batched inserts.
CREATE FUNCTION inserted_twice(x integer, y integer, other integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO fresh (a, b, v, t) VALUES (x, y, 1, 'one');
    IF other = 0 THEN
        RAISE EXCEPTION 'between';
    END IF;
    INSERT INTO fresh (a, b, v, t) VALUES (x, other, 2, 'two');
    INSERT INTO tag (id, mark) VALUES (x, y);
    RETURN 1;
END
$$;

CREATE FUNCTION inserted_in_rounds(x integer, y integer, last integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO fresh (a, b, v) VALUES (x, -1, 1);
    FOR i IN 1..last LOOP
        INSERT INTO fresh (a, b, v) VALUES (x, i % y, 100 / (i - 4));
    END LOOP;
    RETURN 1;
END
$$;

CREATE FUNCTION marked(x integer, of_mark integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tag (id, mark) VALUES (x, of_mark);
    UPDATE tag SET mark = of_mark + 1 WHERE id = x;
    UPDATE tag SET mark = NULL WHERE id = x + 1;
    DELETE FROM tag WHERE id = x + 2;
    RETURN 1;
END
$$;

CREATE FUNCTION inserted_marks(x integer, of_mark integer, other integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tag (id, mark) VALUES (x, of_mark);
    INSERT INTO tag (id, mark) VALUES (x + 1, other);
    RETURN 1;
END
$$;

CREATE FUNCTION remarked(x integer, of_mark integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tag SET mark = of_mark WHERE id = x;
    RETURN 1;
END
$$;

CREATE FUNCTION by_mark(of_mark integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    given integer;
BEGIN
    SELECT id INTO given FROM tag WHERE mark = of_mark;
    RETURN given;
END
$$;

-- Three-valued logic.
CREATE FUNCTION logic(x integer, y integer, flag boolean, OUT one integer, OUT two integer, OUT three boolean, OUT four integer)
LANGUAGE plpgsql AS $$
BEGIN
    one := CASE WHEN x IN (1, y, 3) THEN 1 WHEN x NOT IN (5, y) THEN 2 ELSE 3 END;
    two := CASE WHEN x BETWEEN y AND 4 THEN 1 WHEN NOT flag THEN 2 WHEN flag IS NOT FALSE THEN 3 END;
    three := (flag OR x > y) = (x < 4 AND y > 1);
    IF flag AND x > 2 THEN
        four := 1;
    ELSIF NOT flag OR x < y THEN
        four := 2;
    END IF;
END
$$;

CREATE FUNCTION arithmetic(x smallint, y smallint, z integer, OUT one smallint, OUT two integer, OUT three integer, OUT four integer)
LANGUAGE plpgsql AS $$
BEGIN
    one := x + y;
    two := -z;
    three := z / y;
    four := coalesce(x % y, z / x);
END
$$;

CREATE FUNCTION decimals(x numeric(8, 3), y integer, OUT one numeric(5, 2), OUT two integer, OUT three numeric, OUT four smallint)
LANGUAGE plpgsql AS $$
BEGIN
    one := x;
    two := x;
    three := x * y - 0.5;
    four := round(x * 10);
END
$$;

CREATE FUNCTION texts(x varchar, y integer, OUT one varchar, OUT two boolean, OUT three varchar(4)) LANGUAGE plpgsql AS $$
BEGIN
    one := left(x, y);
    two := x = 'ab' OR x LIKE '%b %';
    three := left(x, 3) || y;
END
$$;

CREATE FUNCTION elements(list integer[], at integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    total integer := 0;
    element integer;
BEGIN
    FOREACH element IN ARRAY list LOOP
        CONTINUE WHEN element > 5;
        total := total + element;
    END LOOP;
    RETURN total * 100 + coalesce(list[at], -1);
END
$$;

CREATE FUNCTION strict_one(x integer, y integer) RETURNS integer LANGUAGE plpgsql STRICT AS $$
BEGIN
    RETURN x + coalesce(y, 1);
END
$$;

CREATE FUNCTION cased(x integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    given integer;
BEGIN
    CASE x
        WHEN 1, 2 THEN given := 10;
        WHEN 3 THEN given := 20;
    END CASE;
    RETURN given;
END
$$;

CREATE FUNCTION shadowed(x integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer := x;
BEGIN
    DECLARE
        one integer := x + 1;
    BEGIN
        FOR i IN REVERSE 3..1 LOOP
            one := one + i;
            IF one > 8 THEN
                EXIT;
            END IF;
        END LOOP;
        IF one > 7 THEN
            RETURN one;
        END IF;
    END;
    WHILE one < 5 AND one > -50 LOOP
        one := one + 2;
        CONTINUE WHEN one = 3;
        one := one + 1;
    END LOOP;
    RETURN one;
END
$$;

CREATE FUNCTION found_of_loop(of_w smallint, last integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer := 0;
BEGIN
    FOR i IN 1..last % 20 LOOP
        one := i;
    END LOOP;
    IF FOUND THEN
        one := one + 100;
    END IF;
    UPDATE small SET q = q WHERE w = of_w AND d = last;
    IF FOUND AND one > 101 THEN
        RETURN -one;
    END IF;
    RETURN one;
END
$$;

-- Updates of rows that are read, and locks.
CREATE FUNCTION swapped(of_w smallint, of_d smallint, x integer) RETURNS TABLE (new_q integer, new_r integer) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM small WHERE w = of_w AND d = of_d FOR UPDATE;
    UPDATE small SET q = r, r = q, label = NULL WHERE w = of_w AND d = of_d AND q <> x RETURNING q, r INTO new_q, new_r;
    RETURN NEXT;
END
$$;

CREATE FUNCTION relabelled(of_w smallint, x varchar) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    counted bigint;
BEGIN
    UPDATE small SET label = x, code = x WHERE w = of_w AND q % 3 = 0;
    SELECT count(*) INTO counted FROM small WHERE w = of_w AND label = x;
    RETURN counted;
END
$$;

CREATE FUNCTION joined(of_w smallint, of_d smallint) RETURNS TABLE (found_n integer, found_t varchar, found_b integer) LANGUAGE sql AS $$
    SELECT l.n, i.t, i.b FROM line l, wide i WHERE l.w = of_w AND l.d = of_d AND i.k = l.v ORDER BY l.n
$$;

-- Unassigned variables.
CREATE FUNCTION declared_again(x integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    total integer := 0;
BEGIN
    FOR number IN 1..3 LOOP
        DECLARE
            kept integer;
            other integer := number;
        BEGIN
            IF number = x THEN
                kept := 10;
            END IF;
            total := total + coalesce(kept, 1) * other;
            other := 100;
        END;
    END LOOP;
    RETURN total;
END
$$;

CREATE FUNCTION no_rows(x integer, low integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer := 5;
    total integer := 0;
BEGIN
    FOR one IN SELECT n FROM entry WHERE g = x AND i = 1 AND n > low AND n < 8 ORDER BY n LOOP
        total := total + one;
    END LOOP;
    RETURN coalesce(one, -1) * 1000 + total;
END
$$;

CREATE FUNCTION no_elements(list integer[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer := 5;
BEGIN
    FOREACH one IN ARRAY list LOOP
        one := one * 2;
    END LOOP;
    RETURN one;
END
$$;

CREATE FUNCTION never_null(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    kept integer NOT NULL := 1;
    other CONSTANT integer := coalesce(y, 2);
BEGIN
    kept := x;
    RETURN kept + other;
END
$$;

CREATE FUNCTION fewer_columns(of_g integer, of_i integer, OUT one integer, OUT two varchar, OUT three integer) LANGUAGE plpgsql AS $$
BEGIN
    three := 7;
    SELECT q, label INTO one, two FROM cell WHERE g = of_g AND i = of_i;
    IF one > 10 THEN
        RETURN;
    END IF;
    SELECT NULL, r INTO two, three FROM cell WHERE g = of_g AND i = of_i;
END
$$;

-- Numbers at the bounds of their types.
CREATE FUNCTION signs(x integer, y smallint, OUT one integer, OUT two integer, OUT three smallint) LANGUAGE plpgsql AS $$
BEGIN
    one := -x;
    two := abs(x);
    three := -y;
END
$$;

CREATE FUNCTION quotients(x integer, y integer, OUT one integer, OUT two integer, OUT three bigint) LANGUAGE plpgsql AS $$
BEGIN
    one := x / y;
    two := x % y;
    three := x::bigint * x * x / y;
END
$$;

CREATE FUNCTION sums_of_big(low bigint, high bigint, OUT total numeric, OUT most bigint) LANGUAGE plpgsql AS $$
BEGIN
    SELECT sum(v), max(v) INTO total, most FROM big WHERE k >= low AND k <= high;
END
$$;

CREATE FUNCTION prices(wanted numeric(10, 2), OUT one numeric(10, 2), OUT two numeric, OUT three boolean) LANGUAGE plpgsql AS $$
DECLARE
    found_v integer;
BEGIN
    SELECT v INTO found_v FROM price WHERE p = wanted;
    one := wanted * found_v;
    two := round(wanted * 1.05, 2);
    three := wanted < 1.5;
END
$$;

-- Texts with trailing blanks.
CREATE FUNCTION blanks(of_g integer, of_i integer, x varchar, OUT one boolean, OUT two boolean, OUT three varchar(8), OUT four boolean)
LANGUAGE plpgsql AS $$
DECLARE
    padded char(6);
    kept varchar(4);
BEGIN
    SELECT code INTO padded FROM cell WHERE g = of_g AND i = of_i;
    one := padded = 'ab ';
    two := padded LIKE '% %';
    kept := x;
    three := padded || kept;
    four := kept = 'ab';
END
$$;

CREATE FUNCTION set_blanks(of_g integer, of_i integer, x varchar) RETURNS TABLE (new_code char(6), new_label varchar) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE cell SET code = left(x, 5), label = left(x, 8) || 'y' WHERE g = of_g AND i = of_i RETURNING code, label INTO new_code, new_label;
    RETURN NEXT;
END
$$;

-- Inserts whose values are computed late.
CREATE FUNCTION inserted_late(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    total integer := 0;
    kept integer;
BEGIN
    INSERT INTO fresh (a, b, v) VALUES (x, 7, total) RETURNING v INTO kept;
    SELECT q INTO total FROM cell WHERE g = x % 4 AND i = 1;
    INSERT INTO fresh (a, b, v, t) VALUES (x, y, total, left('abcdefgh', y));
    FOR number IN 1..3 LOOP
        total := total + number;
        INSERT INTO fresh (a, b, v) VALUES (x, number + 10, total / (number - y));
    END LOOP;
    RETURN total + kept;
END
$$;

CREATE FUNCTION deleted_all(x integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    counted bigint;
BEGIN
    SELECT count(*) INTO counted FROM fresh WHERE a >= x;
    DELETE FROM fresh WHERE a >= x AND a > 4;
    DELETE FROM tag WHERE id >= x;
    RETURN counted;
END
$$;

CREATE FUNCTION branches_that_fail(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer;
    other integer;
BEGIN
    IF y <> 0 AND x / y > 1 THEN
        SELECT a INTO one FROM wide WHERE k = x / y;
        SELECT a INTO other FROM wide WHERE k = x - y;
    ELSIF y = 0 OR x % y = 1 THEN
        SELECT z INTO one FROM wide WHERE k = x;
        SELECT z INTO other FROM wide WHERE k = y;
    END IF;
    RETURN one * 10 + other;
END
$$;

CREATE FUNCTION locked(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer;
    other integer;
BEGIN
    SELECT a INTO one FROM wide WHERE k = x FOR UPDATE;
    SELECT b INTO other FROM wide WHERE k = y FOR UPDATE;
    UPDATE wide SET b = one WHERE k = y;
    UPDATE wide SET a = coalesce(other, 3) WHERE k = x;
    SELECT a INTO one FROM wide WHERE k = y;
    RETURN one;
END
$$;

-- Names that generated code uses itself.
CREATE FUNCTION names(range integer, v integer, error integer, layout integer, OUT a integer, OUT b bigint, OUT value integer)
LANGUAGE plpgsql AS $$
DECLARE
    call integer := range + 1;
    tables integer := v;
    found_q integer;
BEGIN
    SELECT min(e.v + layout), count(*), max(range) INTO a, b, value FROM entry e WHERE e.g = range AND e.i = call AND e.n > error;
    SELECT q INTO found_q FROM cell WHERE g = range AND i = tables;
    value := value + call + tables + coalesce(found_q, 0);
    INSERT INTO tag (id, mark) VALUES (error, NULL);
END
$$;

CREATE FUNCTION least_sum(of_g integer, of_i integer, OUT one integer, OUT two integer) LANGUAGE plpgsql AS $$
BEGIN
    SELECT min(q + r), max(q / (r - 3)) INTO one, two FROM cell WHERE g = of_g AND i <= of_i;
END
$$;

-- Texts that are most of a row, in rows that are read in part.
CREATE FUNCTION most_of_rows(x integer, y integer, OUT one char(80), OUT two char(80), OUT three char(80)) LANGUAGE plpgsql AS $$
BEGIN
    SELECT b.one, b.two INTO one, two FROM broad b WHERE b.k = x;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no first row';
    END IF;
    SELECT b.one INTO three FROM broad b WHERE b.k = y;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no second row';
    END IF;
END
$$;

CREATE FUNCTION most_of_a_row(x integer, OUT one char(80), OUT two char(80)) LANGUAGE plpgsql AS $$
BEGIN
    SELECT b.one, b.two INTO one, two FROM broad b WHERE b.k = x;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no row';
    END IF;
    PERFORM b.k FROM broad b WHERE b.k = x + 1;
END
$$;
