-- Edge cases of types and of nested statements. No workload would have them.

-- Nested loops with EXIT and CONTINUE by label.
CREATE FUNCTION left_by_name(x integer, y integer, OUT total integer, OUT seen_a integer, OUT was boolean) LANGUAGE plpgsql AS $$
BEGIN
    total := 0;
    <<outer_loop>>
    FOR one IN 1..4 LOOP
        FOR two IN REVERSE 4..1 LOOP
            UPDATE pair SET v = coalesce(v, 0) + one WHERE a = x AND b = two;
            CONTINUE outer_loop WHEN NOT FOUND;
            SELECT v INTO seen_a FROM pair WHERE a = x AND b = two;
            total := total + seen_a;
            EXIT outer_loop WHEN total > 40;
            EXIT WHEN two = y;
        END LOOP;
        total := total + 1;
    END LOOP;
    was := FOUND;
END
$$;

CREATE FUNCTION found_after(x integer, y integer) RETURNS TABLE (step integer, was boolean) LANGUAGE plpgsql AS $$
DECLARE
    one integer;
BEGIN
    step := 1; was := FOUND; RETURN NEXT;
    SELECT v INTO one FROM pair WHERE a = x AND b = y;
    step := 2; was := FOUND; RETURN NEXT;
    one := 3;
    UPDATE pair SET v = one WHERE a = x AND b = y + 1;
    step := 3; was := FOUND; RETURN NEXT;
    PERFORM 1 FROM pair WHERE a = y;
    step := 4; was := FOUND; RETURN NEXT;
    SELECT count(*) INTO one FROM pair WHERE a = 99;
    step := 5; was := FOUND; RETURN NEXT;
    DELETE FROM pair WHERE a = x AND b = 77;
    step := 6; was := FOUND; RETURN NEXT;
    INSERT INTO pair VALUES (x, 77, NULL, 1);
    step := 7; was := FOUND; RETURN NEXT;
    FOR one IN SELECT b FROM pair WHERE a = y AND b < 3 LOOP
        UPDATE pair SET v = v WHERE a = -1;
    END LOOP;
    step := 8; was := FOUND; RETURN NEXT;
    RETURN QUERY SELECT b, v IS NULL FROM pair WHERE a = x AND b > 2 ORDER BY b;
    step := 9; was := FOUND; RETURN NEXT;
    DELETE FROM pair WHERE a = x AND b = 77;
    INSERT INTO pair VALUES (x, 1, 0, 0) ON CONFLICT DO NOTHING;
    step := 10; was := FOUND; RETURN NEXT;
    FOR i IN 1..y LOOP
        EXIT WHEN i > 1;
    END LOOP;
    step := 11; was := FOUND; RETURN NEXT;
END
$$;

CREATE FUNCTION counted_rows(x integer, y integer, OUT one bigint, OUT two bigint, OUT three bigint, OUT four bigint, OUT five bigint)
LANGUAGE plpgsql AS $$
DECLARE
    kept integer;
BEGIN
    UPDATE pair SET v = y WHERE a = x;
    GET DIAGNOSTICS one = ROW_COUNT;
    SELECT v INTO kept FROM pair WHERE a = x AND b > y ORDER BY b LIMIT 1;
    GET DIAGNOSTICS two = ROW_COUNT;
    INSERT INTO pair (a, b, w) VALUES (x, 60, 1) ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS three = ROW_COUNT;
    DELETE FROM pair WHERE a = x AND b >= 60;
    GET DIAGNOSTICS four = ROW_COUNT;
    PERFORM b FROM pair WHERE a = x AND b < y;
    kept := kept + 1;
    GET DIAGNOSTICS five = ROW_COUNT;
END
$$;

-- Errors after changes.
CREATE FUNCTION raised_behind(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    kept integer;
BEGIN
    UPDATE acct SET grp = grp + 1 WHERE id = x;
    DELETE FROM pair WHERE a = x AND b = 1;
    INSERT INTO pair (a, b, v, w) VALUES (x, 1, y, 3);
    SELECT v INTO kept FROM pair WHERE a = x AND b = 1;
    IF kept % 2 = 0 THEN
        RAISE EXCEPTION 'x is % of %, %%', kept, x USING ERRCODE = 'P0007';
    ELSIF kept IS NULL THEN
        RAISE EXCEPTION USING MESSAGE = 'nothing for ' || x, ERRCODE = '22000';
    END IF;
    RETURN kept;
END
$$;

CREATE FUNCTION raised_values(x numeric(8, 2), y date, z boolean, u char(6)) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    IF z THEN
        RAISE EXCEPTION '% % % %', x, y, z, u;
    END IF;
    RAISE NOTICE 'it is %', x;
    RAISE unique_violation USING MESSAGE = 'twice', DETAIL = 'told';
END
$$;

-- Rows that the call itself has written.
CREATE FUNCTION again_inserted(x integer, y integer, OUT one integer, OUT two integer, OUT three bigint) LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM pair WHERE a = x AND b = 1 RETURNING v INTO one;
    INSERT INTO pair (a, b, v, w) VALUES (x, 1, y, 2);
    DELETE FROM pair WHERE a = x AND b = 1;
    INSERT INTO pair (a, b, v, w) VALUES (x, 1, one, 4) RETURNING v + y INTO two;
    UPDATE pair SET w = 5 WHERE a = x AND b = 1;
    SELECT count(*) INTO three FROM pair WHERE w = 5 AND a = x;
END
$$;

CREATE FUNCTION again_by_index(x integer, to_grp integer) RETURNS TABLE (found_id integer, found_grp integer) LANGUAGE plpgsql AS $$
DECLARE
    of_grp integer;
BEGIN
    SELECT grp INTO of_grp FROM acct WHERE id = x;
    UPDATE acct SET grp = to_grp WHERE id = x;
    RETURN QUERY SELECT id, grp FROM acct WHERE grp = of_grp ORDER BY id;
    RETURN QUERY SELECT id, grp FROM acct WHERE grp = to_grp ORDER BY id DESC LIMIT 3;
    UPDATE acct SET grp = of_grp WHERE grp = to_grp AND id > x;
    RETURN QUERY SELECT id, grp FROM acct WHERE grp = of_grp ORDER BY id LIMIT 2 OFFSET 1;
    DELETE FROM acct WHERE id = 1000 + x;
    INSERT INTO acct (id, grp, kind, bal, name, seen) VALUES (1000 + x, to_grp, 1, 1, 'new', '2020-02-29');
    RETURN QUERY SELECT id, grp FROM acct WHERE grp = to_grp AND id >= 1000 ORDER BY id;
    DELETE FROM acct WHERE grp = to_grp AND id > 1000;
    RETURN QUERY SELECT id, grp FROM acct WHERE grp = to_grp AND id >= 1000 ORDER BY id;
END
$$;

CREATE FUNCTION changed_in_loop(x integer, y integer) RETURNS TABLE (found_a integer, found_b integer, found_v integer) LANGUAGE plpgsql AS $$
DECLARE
    one record;
BEGIN
    FOR one IN SELECT a, b, v FROM pair WHERE a = x ORDER BY b LOOP
        UPDATE pair SET v = one.v + y WHERE a = x AND b = one.b + 1;
        DELETE FROM pair WHERE a = x AND b = one.b + 2 AND one.b = 2;
        INSERT INTO pair (a, b, v, w) VALUES (x, one.b + 20, one.v, 9) ON CONFLICT DO NOTHING;
        found_a := one.a; found_b := one.b; found_v := one.v;
        RETURN NEXT;
    END LOOP;
    RETURN QUERY SELECT a, b, v FROM pair WHERE a = x ORDER BY b;
    DELETE FROM pair WHERE a = x AND b > 10;
    INSERT INTO pair (a, b, v, w) VALUES (x, 4, y, 1) ON CONFLICT DO NOTHING;
END
$$;

CREATE FUNCTION nested_queries(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one record;
    two record;
    total integer := 0;
BEGIN
    FOR one IN SELECT id, grp, bal FROM acct WHERE grp = x ORDER BY id LOOP
        FOR two IN SELECT b, v FROM pair WHERE a = one.grp % 5 ORDER BY b DESC LOOP
            CONTINUE WHEN two.v IS NULL;
            EXIT WHEN two.v > y;
            UPDATE pair SET v = two.v + 1 WHERE a = one.grp % 5 AND b = two.b;
            total := total + two.v;
            IF total > 60 THEN
                RETURN -total;
            END IF;
        END LOOP;
        UPDATE acct SET bal = bal + 0.01 WHERE id = one.id;
    END LOOP;
    RETURN total;
END
$$;

CREATE FUNCTION returned_many(x integer, y integer) RETURNS TABLE (one integer, two numeric, three char) LANGUAGE sql AS $$
    UPDATE acct SET bal = bal + y, note = name WHERE grp = x AND id < 40 RETURNING id, bal * 2, name
$$;

CREATE FUNCTION returned_one(x integer, y integer, OUT one integer, OUT two numeric(8, 2), OUT three bigint) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE acct SET kind = kind + 1, fee = bal / 7 WHERE id = x AND kind < y RETURNING kind, fee INTO one, two;
    GET DIAGNOSTICS three = ROW_COUNT;
    UPDATE acct SET kind = 0 WHERE id = x AND kind > 5;
END
$$;

CREATE FUNCTION returned_too_many(x integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    kept integer;
BEGIN
    UPDATE pair SET v = 1 WHERE a = x AND b < 3 RETURNING b INTO kept;
    RETURN kept;
END
$$;

CREATE FUNCTION strictly(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    kept integer;
BEGIN
    SELECT v INTO STRICT kept FROM pair WHERE a = x AND b >= y;
    RETURN kept;
END
$$;

CREATE FUNCTION strictly_changed(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    kept integer;
BEGIN
    UPDATE pair SET v = y WHERE a = x AND b = y RETURNING b INTO STRICT kept;
    RETURN kept;
END
$$;

CREATE FUNCTION mixed_results(x integer, y integer) RETURNS SETOF pair LANGUAGE plpgsql AS $$
DECLARE
    one pair;
BEGIN
    RETURN QUERY SELECT * FROM pair WHERE a = x AND b <= y ORDER BY b;
    FOR one IN SELECT * FROM pair WHERE a = y ORDER BY b DESC LOOP
        one.v := coalesce(one.v, x);
        IF one.b = 2 THEN
            CONTINUE;
        END IF;
        RETURN NEXT one;
    END LOOP;
    IF FOUND THEN
        RETURN;
    END IF;
    one.a := x;
    RETURN NEXT one;
END
$$;

CREATE FUNCTION one_row(x integer, y integer) RETURNS pair LANGUAGE plpgsql AS $$
DECLARE
    one pair%ROWTYPE;
BEGIN
    SELECT * INTO one FROM pair WHERE a = x AND b = y;
    one.v := one.w + one.v;
    RETURN one;
END
$$;

-- Nulls wherever they are allowed.
CREATE FUNCTION nulls_compared(x integer, y integer, z varchar, OUT one boolean, OUT two integer, OUT three boolean, OUT four varchar, OUT five integer)
LANGUAGE plpgsql AS $$
BEGIN
    one := x IN (1, NULL, y);
    two := CASE x WHEN y THEN 1 WHEN NULL THEN 2 END;
    three := x IS DISTINCT FROM y;
    four := z || NULL;
    five := greatest(x, y, NULL) - least(x, y) + coalesce(NULL, nullif(x, y), 100);
END
$$;

CREATE FUNCTION nulls_logic(x boolean, y boolean, OUT one boolean, OUT two boolean, OUT three boolean, OUT four integer) LANGUAGE plpgsql AS $$
BEGIN
    one := x AND y;
    two := x OR NOT y;
    three := (x IS TRUE) <> (y IS NOT TRUE);
    IF NOT (x AND y) THEN
        four := 1;
    ELSIF x THEN
        four := 2;
    ELSE
        four := 3;
    END IF;
    WHILE x LOOP
        four := four + 1;
        EXIT WHEN NOT y;
        x := y AND four < 6;
    END LOOP;
END
$$;

CREATE FUNCTION nulls_stored(x integer, y integer, z numeric) RETURNS TABLE (found_id integer, found_fee numeric, found_note varchar, found_ok boolean)
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE acct SET fee = z, note = NULL, ok = y > 2, born = NULL WHERE id = x;
    RETURN QUERY SELECT id, fee, note, ok FROM acct WHERE id = x AND (fee IS NULL OR fee > 1);
    RETURN QUERY SELECT id, fee, note, ok FROM acct WHERE grp = y AND note IS NULL AND id < 40 ORDER BY id;
    UPDATE acct SET note = 'n' || y WHERE id = x;
    UPDATE acct SET name = NULL WHERE id = x AND y = 5;
END
$$;

CREATE FUNCTION null_bounds(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    total integer := 0;
BEGIN
    FOR i IN x..y LOOP
        total := total + i;
        EXIT WHEN i - x > 5;
    END LOOP;
    RETURN total;
END
$$;

CREATE FUNCTION stepped(x integer, y integer, step integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    total integer := 0;
BEGIN
    FOR i IN x..y BY step LOOP
        total := total + 1;
        EXIT WHEN total > 5;
    END LOOP;
    FOR i IN REVERSE y..x BY step LOOP
        total := total + 10;
        EXIT WHEN total > 100;
    END LOOP;
    RETURN total;
END
$$;

CREATE FUNCTION null_keys(x integer, y integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    one bigint;
    two bigint;
BEGIN
    SELECT count(*) INTO one FROM pair WHERE a = x AND b = nullif(y, 3);
    UPDATE pair SET v = 7 WHERE a = nullif(x, 2) AND b = y;
    SELECT count(v) INTO two FROM pair WHERE a = x AND b >= nullif(y, 1);
    DELETE FROM pair WHERE a = x AND b = nullif(y, y);
    INSERT INTO pair (a, b, w) VALUES (x, nullif(y, 4), 0) ON CONFLICT DO NOTHING;
    RETURN one * 100 + two;
END
$$;

-- Arrays.
CREATE FUNCTION arrays(list integer[], at integer, OUT one integer, OUT two integer, OUT three integer, OUT four boolean, OUT five integer)
LANGUAGE plpgsql AS $$
DECLARE
    element integer;
BEGIN
    one := list[at];
    two := cardinality(list);
    three := array_length(list, 1);
    four := at = ANY (list);
    five := 0;
    FOREACH element IN ARRAY list LOOP
        CONTINUE WHEN element IS NULL;
        five := five + element;
        EXIT WHEN element = at;
    END LOOP;
    IF FOUND THEN
        five := five + 1000;
    END IF;
END
$$;

CREATE FUNCTION array_rows(list integer[], x integer) RETURNS TABLE (at integer, found_v integer) LANGUAGE plpgsql AS $$
DECLARE
    kept integer;
BEGIN
    FOR i IN 1..coalesce(array_length(list, 1), 0) LOOP
        SELECT v INTO kept FROM pair WHERE a = x AND b = list[i];
        at := i;
        found_v := CASE WHEN FOUND THEN kept ELSE -1 END;
        RETURN NEXT;
        UPDATE pair SET v = list[i + 1] WHERE a = x AND b = list[i];
    END LOOP;
END
$$;

CREATE FUNCTION array_any(list integer[], x integer) RETURNS TABLE (found_b integer, found_v integer) LANGUAGE sql AS $$
    SELECT b, v FROM pair WHERE a = x AND b = ANY (list) ORDER BY b
$$;

CREATE FUNCTION array_changed(list integer[], at integer, x integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    own integer[];
    total integer := 0;
    element integer;
BEGIN
    own := list;
    IF cardinality(own) > 0 AND at BETWEEN 1 AND 40 THEN
        own[at] := x;
    END IF;
    FOREACH element IN ARRAY own LOOP
        total := total * 3 + coalesce(element, 1);
    END LOOP;
    RETURN total;
END
$$;

CREATE FUNCTION array_texts(list varchar[], x varchar, OUT one varchar(3), OUT two boolean, OUT three char(4)) LANGUAGE plpgsql AS $$
BEGIN
    one := list[1];
    two := x = ANY (list);
    three := list[2];
END
$$;

-- Casts and values out of range.
CREATE FUNCTION casts(x numeric, OUT one smallint, OUT two integer, OUT three bigint, OUT four numeric(5, 2), OUT five double precision)
LANGUAGE plpgsql AS $$
BEGIN
    five := x;
    four := x % 1000;
    three := x;
    two := x;
    one := x;
END
$$;

CREATE FUNCTION casts_of_double(x double precision, OUT one bigint, OUT two integer, OUT three smallint, OUT four numeric(7, 3))
LANGUAGE plpgsql AS $$
BEGIN
    one := x;
    two := x;
    three := x / 4;
    four := x;
END
$$;

CREATE FUNCTION casts_of_text(x varchar, OUT one integer, OUT two numeric(6, 2)) LANGUAGE plpgsql AS $$
BEGIN
    two := left(x, 20);
    one := x;
END
$$;

CREATE FUNCTION casts_to_text(x integer, y numeric, z boolean, u date, OUT one varchar, OUT two varchar(5), OUT three char(3), OUT four varchar)
LANGUAGE plpgsql AS $$
BEGIN
    one := x || '/' || y || '/' || z;
    four := u;
    two := y;
    three := x;
END
$$;

CREATE FUNCTION explicit_casts(x integer, y numeric, z varchar, OUT one varchar, OUT two char(3), OUT three integer, OUT four smallint, OUT five numeric)
LANGUAGE plpgsql AS $$
BEGIN
    one := z::varchar(3);
    two := z::char(2);
    three := y::integer + (x > 2)::integer;
    five := y::numeric(6, 1) / x;
    four := x::smallint;
END
$$;

CREATE FUNCTION stored_edges(x bigint, y bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    kept bigint;
BEGIN
    UPDATE edge SET b = b + y WHERE k = x;
    UPDATE edge SET i = i + 1 WHERE k = x AND y = 2;
    UPDATE edge SET s = s - s + y WHERE k = x AND y > 2;
    UPDATE edge SET i = i - i + y WHERE k = x AND y < 0;
    SELECT b - s INTO kept FROM edge WHERE k = x;
    UPDATE edge SET b = b - y WHERE k = x;
    RETURN kept;
END
$$;

CREATE FUNCTION edges_found(x bigint, y numeric) RETURNS TABLE (found_k bigint, found_s smallint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT k, s FROM edge WHERE k >= x AND k < y ORDER BY k;
    RETURN QUERY SELECT k, s FROM edge WHERE k = x * 2;
    RETURN QUERY SELECT k, s FROM edge WHERE k <= x AND i > s ORDER BY k DESC LIMIT 2;
END
$$;

CREATE FUNCTION bits(x integer, y smallint, z bigint, OUT one integer, OUT two bigint, OUT three smallint, OUT four bigint) LANGUAGE plpgsql AS $$
BEGIN
    one := x & 7 | y;
    two := z % (y + 1) + sign(z)::bigint;
    four := abs(z) * x;
    three := abs(y) * 2;
END
$$;

CREATE FUNCTION whole_quotients(x bigint, y bigint, z smallint, OUT one bigint, OUT two bigint, OUT three integer) LANGUAGE plpgsql AS $$
BEGIN
    one := x / y;
    two := x % y;
    three := z / y;
END
$$;

-- Decimals.
CREATE FUNCTION decimal_scales(x numeric(8, 2), y numeric(6, 3), OUT one numeric, OUT two numeric, OUT three numeric(8, 1), OUT four numeric, OUT five numeric)
LANGUAGE plpgsql AS $$
BEGIN
    one := x * y;
    two := x + y - 1;
    three := x - y;
    four := round(x * y, 1);
    five := x / nullif(round(y, 3), 0);
END
$$;

CREATE FUNCTION decimal_functions(x numeric, y integer, OUT one numeric, OUT two numeric, OUT three numeric, OUT four numeric, OUT five numeric)
LANGUAGE plpgsql AS $$
BEGIN
    one := round(x, least(y, 9));
    two := trunc(x, 1);
    three := floor(x) + ceil(x);
    four := mod(x, 0.7);
    five := abs(x) * sign(x);
END
$$;

CREATE FUNCTION decimal_stored(x integer, y numeric) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    kept numeric;
BEGIN
    UPDATE acct SET bal = y WHERE id = x RETURNING bal INTO kept;
    UPDATE acct SET fee = y / 3, bal = bal - kept WHERE id = x;
    SELECT sum(fee) INTO kept FROM acct WHERE grp = 2 AND id < 40;
    RETURN kept;
END
$$;

CREATE FUNCTION decimal_keys(x numeric, y integer) RETURNS TABLE (found_k numeric, found_v numeric, found_s numeric) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT k, v, s FROM dec WHERE k = x;
    RETURN QUERY SELECT k, v, s FROM dec WHERE k = y;
    RETURN QUERY SELECT k, v, s FROM dec WHERE k BETWEEN x AND y ORDER BY k LIMIT 2;
    UPDATE dec SET v = v * 10 + y, s = x / 100 WHERE k = x;
    UPDATE dec SET v = 1 WHERE v > 1000000000000000;
END
$$;

CREATE FUNCTION decimal_compared(x numeric, y integer, z double precision, OUT one boolean, OUT two boolean, OUT three boolean) LANGUAGE plpgsql AS $$
BEGIN
    one := x = y;
    two := x < z;
    three := z >= y;
END
$$;

-- Padded texts.
CREATE FUNCTION padded(x varchar, y char(6), OUT one boolean, OUT two boolean, OUT three integer, OUT four varchar(9), OUT five boolean)
LANGUAGE plpgsql AS $$
DECLARE
    own char(5);
BEGIN
    own := left(x, 5);
    one := own = y;
    two := own = x;
    three := length(own) + length(y) * 10 + length(x) * 100;
    four := own || '|' || left(y, 2);
    five := y < own OR y LIKE 'a%';
END
$$;

CREATE FUNCTION padded_keys(x varchar, y varchar) RETURNS TABLE (found_c char, found_v varchar, found_n integer) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT c, v, n FROM txt WHERE c = x AND v = y;
    RETURN QUERY SELECT c, v, n FROM txt WHERE c = x::char(4) AND v = y;
    RETURN QUERY SELECT c, v, n FROM txt WHERE c = x::char(4) AND v > y ORDER BY v LIMIT 2;
    INSERT INTO txt (c, v, n) VALUES (x, y, length(x)) ON CONFLICT DO NOTHING;
    UPDATE txt SET n = n + 1 WHERE c = 'ab' AND v = y;
    RETURN QUERY SELECT c, v, n FROM txt WHERE c = 'ab' AND v = y;
    DELETE FROM txt WHERE c = x::char(4) AND v = y AND n > 5;
END
$$;

CREATE FUNCTION text_functions(x varchar, y integer, OUT one varchar, OUT two varchar, OUT three varchar, OUT four integer, OUT five varchar)
LANGUAGE plpgsql AS $$
BEGIN
    one := upper(left(x, y)) || lower(right(x, greatest(y, -9)));
    two := substr(x, y, 2) || substring(x FROM 2);
    three := lpad(x, 5, '*') || rpad(x, y, 'ab');
    four := position('b' IN x) + strpos(x, ' ') * 10;
    five := trim(x) || replace(x, 'b', '') || repeat('-', y);
END
$$;

CREATE FUNCTION texts_ordered(x varchar) RETURNS TABLE (found_id integer, found_name char, found_note varchar) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT id, name, note FROM acct WHERE id < 40 AND name >= x AND grp < 5 ORDER BY name DESC, id LIMIT 3;
    RETURN QUERY SELECT id, name, note FROM acct WHERE id < 40 AND note IS NOT NULL ORDER BY note, id LIMIT 3;
    RETURN QUERY SELECT id, name, note FROM acct WHERE id < 40 ORDER BY note DESC, id LIMIT 3;
    RETURN QUERY SELECT id, name, note FROM acct WHERE id < 40 AND note LIKE left(x, 1) || '_%' ORDER BY id LIMIT 3;
    RETURN QUERY SELECT id, name, note FROM acct WHERE id < 40 AND (name LIKE '%b%' OR name IN ('ab', x)) ORDER BY id LIMIT 3;
END
$$;

CREATE FUNCTION texts_stored(x integer, y varchar) RETURNS varchar LANGUAGE plpgsql AS $$
DECLARE
    kept acct.name%TYPE;
    other acct.note%TYPE;
BEGIN
    SELECT name, note INTO kept, other FROM acct WHERE id = x;
    UPDATE acct SET name = left(y, 6), note = left(y, 6) WHERE id = x;
    SELECT note || '<' || name || '>' INTO other FROM acct WHERE id = x;
    UPDATE acct SET name = kept WHERE id = x;
    RETURN other;
END
$$;

-- Dates and times.
CREATE FUNCTION dates(x date, y integer, OUT one date, OUT two integer, OUT three date, OUT four boolean, OUT five integer) LANGUAGE plpgsql AS $$
BEGIN
    one := x + y;
    two := x - '2000-03-01'::date;
    three := x - y;
    four := x < '2000-02-29' OR x = '1999-12-31';
    five := extract(year FROM x) * 10000 + extract(month FROM x) * 100 + extract(day FROM x);
END
$$;

CREATE FUNCTION moments(x timestamp, y date, OUT one timestamp, OUT two date, OUT three boolean, OUT four integer, OUT five varchar)
LANGUAGE plpgsql AS $$
BEGIN
    one := date_trunc('hour', x);
    two := x;
    three := x > y;
    four := extract(hour FROM x) * 3600 + extract(minute FROM x) * 60;
    five := 'at ' || x;
END
$$;

CREATE FUNCTION days_found(x date, y integer) RETURNS TABLE (found_d date, found_n integer, found_m varchar) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT d, n, ('at ' || moment)::varchar(40) FROM days WHERE d = x ORDER BY n;
    RETURN QUERY SELECT d, n, ('at ' || moment)::varchar(40) FROM days WHERE d >= x - y AND d < x + y ORDER BY d DESC, n LIMIT 3;
    RETURN QUERY SELECT d, n, ('at ' || moment)::varchar(40) FROM days WHERE d = '2000-01-01'::date + y AND n >= 1 ORDER BY n;
    INSERT INTO days VALUES (x, y, x) ON CONFLICT DO NOTHING;
    UPDATE days SET moment = d WHERE d = x AND n = y - 1;
    DELETE FROM days WHERE d = x AND n = y AND y > 3;
END
$$;

CREATE FUNCTION oldest(x integer, OUT one date, OUT two date, OUT three timestamp, OUT four bigint) LANGUAGE sql AS $$
    SELECT min(born), max(born), max(seen), count(DISTINCT born) FROM acct WHERE grp = x AND id < 40
$$;

-- Aggregates of no rows, and of few.
CREATE FUNCTION sums_of_few(x integer, y integer, OUT one numeric, OUT two numeric, OUT three numeric, OUT four bigint, OUT five double precision, OUT six bigint)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT sum(bal), avg(fee), max(bal) - min(bal), sum(kind), min(ratio), count(ok) INTO one, two, three, four, five, six
    FROM acct WHERE grp = x AND id < y;
END
$$;

CREATE FUNCTION averages(x integer, y integer, OUT one numeric, OUT two numeric, OUT three numeric(8, 2), OUT four integer) LANGUAGE plpgsql AS $$
BEGIN
    SELECT avg(v), avg(w), avg(v * w), sum(w) INTO one, two, three, four FROM pair WHERE a = x AND b >= y;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is always one';
    END IF;
END
$$;

CREATE FUNCTION truths(x integer, OUT one boolean, OUT two boolean, OUT three bigint, OUT four bigint) LANGUAGE sql AS $$
    SELECT bool_and(ok), bool_or(ok), count(*) FILTER (WHERE ok), count(DISTINCT kind) FROM acct WHERE grp = x AND id < 40
$$;

CREATE FUNCTION extremes(x integer, OUT one char(8), OUT two varchar, OUT three integer, OUT four numeric) LANGUAGE plpgsql AS $$
BEGIN
    SELECT min(name), max(note), min(id), max(fee) INTO one, two, three, four FROM acct WHERE grp = x AND id < 40;
END
$$;

CREATE FUNCTION grouped(x integer) RETURNS TABLE (found_kind smallint, counted bigint, total numeric, mean numeric) LANGUAGE sql AS $$
    SELECT kind, count(fee), sum(bal), round(avg(bal), 3) FROM acct WHERE grp <= x AND id < 40 GROUP BY kind HAVING count(*) > 1 ORDER BY kind DESC
$$;

CREATE FUNCTION distinct_ones(x integer) RETURNS TABLE (found_kind smallint, found_note varchar) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT DISTINCT kind, left(note, 1)::varchar FROM acct WHERE grp = x AND id < 40 ORDER BY 1 DESC, 2;
END
$$;

-- Limits and order.
CREATE FUNCTION limits(x integer, y bigint, z bigint) RETURNS TABLE (found_b integer) LANGUAGE plpgsql AS $$
DECLARE
    kept integer;
BEGIN
    RETURN QUERY SELECT b FROM pair WHERE a = x ORDER BY b LIMIT 0;
    RETURN QUERY SELECT b FROM pair WHERE a = x ORDER BY b DESC LIMIT y;
    RETURN QUERY SELECT b FROM pair WHERE a = x ORDER BY b LIMIT y OFFSET z;
    SELECT b INTO kept FROM pair WHERE a = x ORDER BY b LIMIT 0;
    IF FOUND THEN
        RAISE EXCEPTION 'a row of none';
    END IF;
    found_b := kept;
    RETURN NEXT;
END
$$;

CREATE FUNCTION ties(x integer, y integer) RETURNS TABLE (found_id integer, found_kind smallint) LANGUAGE plpgsql AS $$
DECLARE
    kept integer;
BEGIN
    RETURN QUERY SELECT id, kind FROM acct WHERE grp = x AND id < 40 ORDER BY kind DESC, id DESC LIMIT y;
    SELECT id INTO kept FROM acct WHERE grp = x AND id < 40 ORDER BY fee DESC NULLS LAST, id LIMIT 1;
    found_id := kept;
    SELECT id, kind INTO kept, found_kind FROM acct WHERE grp = x AND id < 40 ORDER BY fee NULLS FIRST, id LIMIT 1;
    found_id := found_id * 100 + kept;
    RETURN NEXT;
END
$$;

CREATE FUNCTION lists(x integer, y integer) RETURNS TABLE (found_b integer, found_v integer) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT b, v FROM pair WHERE a = x AND b IN (1, y, 3, y) ORDER BY b;
    RETURN QUERY SELECT b, v FROM pair WHERE a = x AND b NOT IN (1, y) ORDER BY b;
    RETURN QUERY SELECT b, v FROM pair WHERE a IN (x, y) AND b BETWEEN 2 AND y ORDER BY a, b;
    RETURN QUERY SELECT b, v FROM pair WHERE a = x AND (b = y OR v = y) ORDER BY b;
    UPDATE pair SET v = 3 WHERE a = x AND b IN (y, 2);
    DELETE FROM pair WHERE a = x AND b IN (y + 50, 52);
END
$$;

CREATE FUNCTION sub_selects(x integer, y integer, OUT one integer, OUT two boolean, OUT three bigint, OUT four integer) LANGUAGE plpgsql AS $$
BEGIN
    one := (SELECT v FROM pair WHERE a = x AND b = y);
    two := EXISTS (SELECT 1 FROM pair WHERE a = x AND b > y);
    SELECT count(*) INTO three FROM acct WHERE id < 40 AND grp IN (SELECT b FROM pair WHERE a = x);
    UPDATE pair SET v = (SELECT max(v) FROM pair WHERE a = x) WHERE a = x AND b = y;
    SELECT (SELECT count(*) FROM pair p WHERE p.a = q.a AND p.b < q.b) INTO four FROM pair q WHERE q.a = x AND q.b = y;
END
$$;

CREATE FUNCTION case_without_else(x integer, y varchar, OUT one integer, OUT two varchar(4), OUT three numeric(6, 2)) LANGUAGE plpgsql AS $$
BEGIN
    one := CASE WHEN x > 3 THEN 1 WHEN x / (x - 1) > 1 THEN 2 END;
    two := CASE y WHEN 'ab' THEN 'first' WHEN 'x' THEN NULL ELSE y END;
    CASE
        WHEN x > 1 AND y = 'ab' THEN three := 1.005;
        WHEN x IS NULL THEN NULL;
        WHEN x < 100 THEN three := x / 3.0;
    END CASE;
END
$$;

CREATE FUNCTION booleans(x boolean, y integer) RETURNS TABLE (found_a boolean, found_k integer, found_b boolean) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT a, k, b FROM yes WHERE a = x AND k = y;
    RETURN QUERY SELECT a, k, b FROM yes WHERE a AND k < y ORDER BY k;
    RETURN QUERY SELECT a, k, b FROM yes WHERE NOT a AND b IS NOT TRUE ORDER BY k DESC;
    UPDATE yes SET b = NOT b WHERE a = x AND k = y;
    INSERT INTO yes VALUES (x, y, x) ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT a, k, b FROM yes WHERE b = x AND k >= y ORDER BY a, k LIMIT 2;
    DELETE FROM yes WHERE k = y AND k > 4;
END
$$;

CREATE FUNCTION doubles(x double precision, y integer, OUT one double precision, OUT two double precision, OUT three boolean, OUT four double precision)
LANGUAGE plpgsql AS $$
BEGIN
    one := x * 3 + y;
    three := x = y OR x > 1e10;
    SELECT ratio + x INTO four FROM acct WHERE id = y;
    UPDATE acct SET ratio = x WHERE id = y;
    two := x / y;
END
$$;

CREATE FUNCTION assigned_in_turn(x integer, y integer, OUT one integer, OUT two integer) LANGUAGE plpgsql AS $$
DECLARE
    kept integer := y;
BEGIN
    SELECT a, b, v INTO one, two, kept FROM pair WHERE a = x AND b = kept;
    SELECT kept, one INTO one, kept;
    LOOP
        two := two + 1;
        BEGIN
            IF two IS NULL OR two % 4 = 0 THEN
                EXIT;
            END IF;
            CONTINUE WHEN two % 3 = 0;
            one := coalesce(one, 0) + two;
        END;
    END LOOP;
    UPDATE pair SET v = two, w = v WHERE a = x AND b = 3 AND v BETWEEN -100 AND 100;
END
$$;

CREATE FUNCTION kept_of_last(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one pair;
    total integer := 0;
BEGIN
    FOR i IN 0..y LOOP
        SELECT * INTO one FROM pair WHERE a = x AND b = i;
        IF one.a IS NULL THEN
            total := total + 100;
        ELSE
            total := total + coalesce(one.v, 1) % 10;
        END IF;
        EXIT WHEN i > 5;
    END LOOP;
    RETURN total;
END
$$;

CREATE FUNCTION moved_keys(x integer, y integer) RETURNS TABLE (found_b integer, found_v integer) LANGUAGE plpgsql AS $$
DECLARE
    kept integer;
BEGIN
    UPDATE pair SET w = y WHERE a = x AND b = 2;
    FOR kept IN SELECT b FROM pair WHERE w = y ORDER BY a, b LOOP
        UPDATE pair SET w = w + 1 WHERE a = x AND b = kept;
    END LOOP;
    RETURN QUERY SELECT a, b FROM pair WHERE w = y + 1 ORDER BY a, b;
    UPDATE pair SET w = 3 WHERE w = y + 1 AND a = x;
END
$$;

CREATE PROCEDURE no_result(x integer, INOUT y integer) LANGUAGE plpgsql AS $$
BEGIN
    IF x = y THEN
        RETURN;
    END IF;
    y := y + x;
    UPDATE pair SET v = y WHERE a = x AND b = 1;
END
$$;

CREATE FUNCTION without_return(x integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    UPDATE pair SET v = v WHERE a = x;
    IF FOUND THEN
        RETURN 1;
    END IF;
END
$$;

CREATE FUNCTION with_defaults(x integer, y integer DEFAULT 4, z varchar DEFAULT 'ab') RETURNS varchar LANGUAGE plpgsql AS $$
DECLARE
    one integer DEFAULT x + y;
    two varchar(4) := z || one;
BEGIN
    <<inner_block>>
    BEGIN
        IF one > 6 THEN
            EXIT inner_block;
        END IF;
        two := two || '!';
    END;
    RETURN two;
END
$$;

CREATE FUNCTION set_twice(x integer, y integer) RETURNS TABLE (found_grp integer, found_bal numeric, found_name char) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE acct SET bal = bal * 2, grp = bal WHERE id = x;
    UPDATE acct SET bal = bal / 2, name = left(name, 3) || y WHERE id = x;
    RETURN QUERY SELECT grp, bal, name FROM acct WHERE id = x;
    UPDATE acct SET grp = y WHERE id = x;
END
$$;

CREATE FUNCTION by_kind(x smallint, low numeric, high numeric) RETURNS TABLE (found_id integer, found_bal numeric) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT id, bal FROM acct WHERE kind = x AND bal > low AND bal <= high AND id < 40 ORDER BY bal, id;
    UPDATE acct SET bal = bal + 1 WHERE kind = x AND bal < low AND id < 40;
    RETURN QUERY SELECT id, bal FROM acct WHERE kind = x AND bal >= low AND id < 40 ORDER BY bal DESC, id LIMIT 3;
END
$$;

-- Supported by the generator: rows that are updated, and found again by their indexes.
CREATE FUNCTION item_moved(x integer, to_grp integer) RETURNS TABLE (step integer, found_id integer, counted bigint) LANGUAGE plpgsql AS $$
DECLARE
    of_grp integer;
BEGIN
    SELECT grp INTO of_grp FROM item WHERE id = x;
    step := 0; found_id := of_grp;
    SELECT count(*) INTO counted FROM item WHERE grp = of_grp;
    RETURN NEXT;
    UPDATE item SET grp = to_grp WHERE id = x;
    SELECT count(*) INTO counted FROM item WHERE grp = of_grp;
    step := 1;
    RETURN NEXT;
    SELECT count(*) INTO counted FROM item WHERE grp = to_grp;
    step := 2;
    RETURN NEXT;
    UPDATE item SET grp = of_grp WHERE id = x + 1;
    UPDATE item SET grp = NULL WHERE id = x + 2;
    SELECT count(grp) INTO counted FROM item WHERE grp = of_grp;
    step := 3;
    RETURN NEXT;
    RETURN QUERY SELECT tag::integer, id, qty FROM item WHERE grp = to_grp ORDER BY id;
END
$$;

CREATE FUNCTION item_replaced(x integer, to_grp integer) RETURNS TABLE (found_id integer, found_label varchar) LANGUAGE plpgsql AS $$
DECLARE
    kept varchar(8);
BEGIN
    SELECT label INTO kept FROM item WHERE id = x;
    DELETE FROM item WHERE id = x;
    INSERT INTO item (id, grp, tag, rate, label, code, active) VALUES (x, to_grp, 1, 0.5, 'again', 'c', FALSE);
    RETURN QUERY SELECT id, label FROM item WHERE grp = to_grp ORDER BY id;
    UPDATE item SET label = kept, grp = to_grp + 1 WHERE id = x;
    RETURN QUERY SELECT id, label FROM item WHERE grp = to_grp + 1 ORDER BY id;
    IF x % 2 = 0 THEN
        DELETE FROM item WHERE id = x;
    END IF;
    RETURN QUERY SELECT id, label FROM item WHERE grp = to_grp + 1 ORDER BY id;
    RETURN QUERY SELECT id, label FROM item WHERE id = x;
END
$$;

CREATE FUNCTION item_twice(x integer, y integer, OUT one integer, OUT two integer, OUT three bigint) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO item (id, grp, tag, qty, rate, code, active) VALUES (x + 100, y, 1, x + 1000, 0.5, 'c', TRUE);
    DELETE FROM item WHERE id = x + 100;
    INSERT INTO item (id, grp, tag, qty, rate, code, active) VALUES (x + 100, y + 1, 2, x + 1000, 0.25, 'd', TRUE);
    UPDATE item SET tag = tag + 1 WHERE id = x + 100;
    SELECT tag, grp INTO one, two FROM item WHERE id = x + 100;
    SELECT count(*) INTO three FROM item WHERE grp = y + 1;
    DELETE FROM item WHERE id = x + 100;
    DELETE FROM item WHERE id = x + 100;
    IF FOUND THEN
        RAISE EXCEPTION 'deleted twice';
    END IF;
END
$$;

CREATE FUNCTION item_unique(x integer, y integer, q bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    kept bigint;
BEGIN
    SELECT qty INTO kept FROM one_of WHERE id = x;
    UPDATE one_of SET qty = NULL WHERE id = x;
    UPDATE one_of SET qty = kept WHERE id = y;
    UPDATE one_of SET qty = q WHERE id = x;
    SELECT id INTO kept FROM one_of WHERE qty = q;
    RETURN kept;
END
$$;

CREATE FUNCTION item_unique_freed(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    kept bigint;
    given integer;
BEGIN
    SELECT qty INTO kept FROM one_of WHERE id = x;
    DELETE FROM one_of WHERE id = x;
    INSERT INTO one_of (id, qty, v) VALUES (x, kept, 3);
    UPDATE one_of SET qty = qty WHERE id = y;
    SELECT id INTO given FROM one_of WHERE qty = kept;
    RETURN given;
END
$$;

CREATE FUNCTION item_found(x integer, y integer) RETURNS TABLE (step integer, was boolean) LANGUAGE plpgsql AS $$
DECLARE
    one integer;
    total bigint;
BEGIN
    step := 1; was := FOUND; RETURN NEXT;
    SELECT grp INTO one FROM item WHERE id = x;
    step := 2; was := FOUND; RETURN NEXT;
    one := y;
    IF FOUND THEN
        UPDATE item SET stale = NOT active WHERE id = y AND tag > 2;
    END IF;
    step := 3; was := FOUND; RETURN NEXT;
    SELECT count(*) INTO total FROM item WHERE grp = -7;
    step := 4; was := FOUND; RETURN NEXT;
    DELETE FROM item WHERE id = -y - 1;
    step := 5; was := FOUND; RETURN NEXT;
    FOR i IN 1..y LOOP
        SELECT grp INTO one FROM item WHERE id = i + 38;
        EXIT WHEN NOT FOUND;
    END LOOP;
    step := 6; was := FOUND; RETURN NEXT;
    PERFORM 1 FROM item WHERE grp = x;
    step := 7; was := FOUND; RETURN NEXT;
    WHILE one < 3 LOOP
        one := one + 1;
    END LOOP;
    step := 8; was := FOUND; RETURN NEXT;
    FOR one IN SELECT id FROM item WHERE grp = y ORDER BY id LOOP
        PERFORM 1 FROM item WHERE id = -1;
    END LOOP;
    step := 9; was := FOUND; RETURN NEXT;
    RETURN QUERY SELECT id, active FROM item WHERE grp = x ORDER BY id;
    step := 10; was := FOUND; RETURN NEXT;
END
$$;

CREATE FUNCTION item_nested(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer;
    total integer := 0;
BEGIN
    <<rows>>
    FOR i IN 1..x LOOP
        EXIT WHEN i > 6;
        FOR j IN REVERSE y..i LOOP
            SELECT grp INTO one FROM item WHERE id = j;
            CONTINUE rows WHEN NOT FOUND;
            UPDATE item SET grp = (grp + i) % 8 WHERE id = j + 1;
            IF NOT FOUND THEN
                total := total + 1;
                CONTINUE;
            END IF;
            total := total + coalesce(one, 3);
            EXIT rows WHEN total > 30;
            EXIT WHEN total % 5 = 4;
        END LOOP;
        total := total + 1;
    END LOOP;
    RETURN total;
END
$$;

CREATE FUNCTION item_until(x integer, y integer) RETURNS TABLE (found_id integer, found_grp integer) LANGUAGE plpgsql AS $$
BEGIN
    found_id := x;
    LOOP
        SELECT grp INTO found_grp FROM item WHERE id = found_id;
        EXIT WHEN NOT FOUND OR found_grp = y;
        RETURN NEXT;
        UPDATE item SET grp = y WHERE id = found_id AND id % 3 = 0;
        found_id := found_id + 1;
        IF found_id > x + 4 THEN
            RETURN;
        END IF;
    END LOOP;
    found_grp := -1;
    RETURN NEXT;
END
$$;

CREATE FUNCTION item_raised(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer;
BEGIN
    UPDATE item SET grp = y WHERE id = x;
    DELETE FROM item WHERE id = x + 1;
    INSERT INTO item (id, tag, rate, code, active) VALUES (x + 200, y, 0.1, 'z', TRUE);
    FOR i IN 0..2 LOOP
        SELECT tag INTO one FROM item WHERE id = x + i;
        IF NOT FOUND THEN
            one := 7;
        END IF;
        IF one = y THEN
            RAISE EXCEPTION 'undone' USING ERRCODE = 'P0099';
        END IF;
    END LOOP;
    DELETE FROM item WHERE id = x + 200;
    INSERT INTO item (id, grp, tag, rate, code, active) VALUES (x + 1, x, 5, 0.7, 'back', TRUE);
    RETURN one;
END
$$;

-- Decimals of known scale.
CREATE FUNCTION item_priced(x integer, y integer, OUT one numeric(8, 2), OUT two numeric(10, 4), OUT three integer, OUT four boolean) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE item SET price = price + 1.5 - rate WHERE id = x RETURNING price, price * rate INTO one, two;
    three := one;
    SELECT price > 2.005 OR rate < 0.5 INTO four FROM item WHERE id = x;
    UPDATE item SET price = price * y WHERE id = x + 1;
    UPDATE item SET price = 2.345 WHERE id = x + 2 AND price > y;
    IF one > two AND y > 3 THEN
        UPDATE item SET price = 999999.99 WHERE id = x;
    END IF;
END
$$;

CREATE FUNCTION item_rated(x integer, y integer) RETURNS TABLE (one numeric(9, 4), two numeric(9, 1), three integer, four numeric(4, 0)) LANGUAGE plpgsql AS $$
DECLARE
    kept numeric(8, 3);
    other numeric(4, 0);
BEGIN
    SELECT rate * 3, price INTO kept, other FROM item WHERE id = x;
    one := kept * other; two := kept - other; three := kept + y; four := other + y;
    RETURN NEXT;
    UPDATE item SET rate = rate * y WHERE id = x;
    SELECT rate, price INTO one, two FROM item WHERE id = x;
    UPDATE item SET rate = 0.12345 WHERE id = x;
    RETURN NEXT;
    kept := 99999.9995 - y;
    one := kept;
    RETURN NEXT;
END
$$;

CREATE FUNCTION item_sums(x integer, OUT one numeric, OUT two numeric, OUT three bigint, OUT four numeric, OUT five bigint, OUT six bigint, OUT seven integer)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT sum(price), max(rate), sum(tag), sum(qty), max(qty), count(price), min(id) INTO one, two, three, four, five, six, seven
    FROM item WHERE grp = x;
END
$$;

CREATE FUNCTION item_tags(x smallint, low numeric(8, 2), high numeric(8, 2)) RETURNS TABLE (found_id integer, found_price numeric(8, 2)) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT id, price FROM item WHERE tag = x AND price >= low AND price < high ORDER BY id;
    RETURN QUERY SELECT tag::integer, price FROM item WHERE tag = x AND price > low ORDER BY price LIMIT 3;
    RETURN QUERY SELECT tag::integer, price FROM item WHERE tag = x AND price <= high ORDER BY price DESC LIMIT 2;
    RETURN QUERY SELECT tag::integer, price FROM item WHERE tag = x ORDER BY price DESC LIMIT 2;
    RETURN QUERY SELECT id, price FROM item WHERE tag = x AND price IS NULL ORDER BY id;
    RETURN QUERY SELECT tag::integer, price FROM item WHERE tag = x ORDER BY price LIMIT 2;
END
$$;

CREATE FUNCTION item_repriced(x smallint, p numeric(8, 2)) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    one bigint;
    two bigint;
BEGIN
    UPDATE item SET price = price - price + p WHERE tag = x AND price < p;
    SELECT count(*) INTO one FROM item WHERE tag = x AND price = p;
    UPDATE item SET tag = tag + 1 WHERE tag = x AND id > 30 AND tag < 5;
    SELECT count(*) INTO two FROM item WHERE tag = x + 1 AND price >= p;
    UPDATE item SET tag = 1 WHERE id > 36;
    RETURN one * 100 + two;
END
$$;

-- Integers.
CREATE FUNCTION item_counted(x integer, q bigint, OUT one integer, OUT two bigint, OUT three smallint, OUT four bigint) LANGUAGE plpgsql AS $$
BEGIN
    SELECT qty * tag, qty + q INTO one, two FROM item WHERE id = x;
    three := q;
    four := q % x;
    UPDATE item SET tag = tag + q WHERE id = x;
    UPDATE item SET tag = tag - q WHERE id = x;
END
$$;

CREATE FUNCTION whole_casts(x bigint, y integer, z smallint, OUT one integer, OUT two smallint, OUT three bigint, OUT four integer) LANGUAGE plpgsql AS $$
BEGIN
    three := x * y;
    four := z * y;
    one := x;
    two := y - z;
END
$$;

CREATE FUNCTION whole_signs(x bigint, y integer, z smallint, OUT one bigint, OUT two integer, OUT three smallint, OUT four bigint) LANGUAGE plpgsql AS $$
BEGIN
    one := -x;
    two := abs(y);
    three := abs(z);
    four := x % -1 + y % -1;
    two := y / -1;
END
$$;

-- Texts of known length.
CREATE FUNCTION item_labelled(x integer, t varchar(9), c char(7)) RETURNS TABLE (one varchar, two boolean, three boolean, four boolean) LANGUAGE plpgsql AS $$
DECLARE
    kept varchar(8);
    padded char(6);
BEGIN
    UPDATE item SET label = left(t, 7), code = c WHERE id = x;
    SELECT label, code INTO kept, padded FROM item WHERE id = x;
    one := kept; two := padded = c; three := kept = t; four := padded = 'ab' OR kept = 'ab ';
    RETURN NEXT;
    kept := padded;
    one := kept; two := kept < padded; three := padded <> 'x'; four := t IS NULL;
    RETURN NEXT;
    RETURN QUERY SELECT label, label = t, code = c, code > 'b' FROM item WHERE grp = x ORDER BY id;
    UPDATE item SET label = NULL, code = '' WHERE id = x;
    SELECT label, code = '', code = ' ' INTO one, two, three FROM item WHERE id = x;
    RETURN NEXT;
END
$$;

CREATE FUNCTION item_named(x integer, t varchar(4)) RETURNS TABLE (one bigint, two integer, three bigint) LANGUAGE plpgsql AS $$
BEGIN
    SELECT sum(id), min(id), count(label) INTO one, two, three FROM item WHERE grp = x AND label = t;
    RETURN NEXT;
    SELECT sum(id), max(tag), count(*) INTO one, two, three FROM item WHERE grp = x AND label LIKE '%a%';
    RETURN NEXT;
    SELECT sum(id), min(id), count(DISTINCT tag) INTO one, two, three FROM item WHERE grp = x AND (label = 'a' OR label = 'ab' OR label = t);
    RETURN NEXT;
    SELECT sum(id), min(id), count(*) INTO one, two, three FROM item WHERE grp = x AND label IS NULL;
    RETURN NEXT;
    SELECT sum(id), min(id), count(*) INTO one, two, three FROM item WHERE grp = x AND (code = t OR label > t);
    RETURN NEXT;
    SELECT sum(id), min(id), count(*) INTO one, two, three FROM item WHERE grp = x AND NOT (code <> 'ab' AND label < 'b');
    RETURN NEXT;
END
$$;

CREATE FUNCTION item_joined(x integer, y integer) RETURNS varchar LANGUAGE plpgsql AS $$
DECLARE
    kept varchar(8);
    other varchar(3);
    padded char(6);
BEGIN
    SELECT label, code INTO kept, padded FROM item WHERE id = x;
    other := left(kept, 3);
    kept := other || '<' || left(padded, y) || 'z';
    UPDATE item SET label = kept WHERE id = x AND label <> kept;
    IF NOT FOUND THEN
        kept := padded;
    END IF;
    UPDATE item SET label = other, code = other || '!' WHERE id = x;
    RETURN kept || '|' || padded || '|';
END
$$;

-- Dates and booleans.
CREATE FUNCTION item_days(x integer, d date, e date) RETURNS TABLE (one bigint, two bigint, late boolean, found_day date) LANGUAGE plpgsql AS $$
BEGIN
    SELECT count(*), sum(id) INTO one, two FROM item WHERE grp = x AND (day >= d OR day = e);
    UPDATE item SET day = d WHERE id = x;
    SELECT day < e, day INTO late, found_day FROM item WHERE id = x;
    RETURN NEXT;
    UPDATE item SET day = e WHERE id = x AND day > e;
    IF FOUND AND d > e THEN
        found_day := e;
    END IF;
    RETURN NEXT;
END
$$;

CREATE FUNCTION item_truths(x integer, t boolean) RETURNS TABLE (one bigint, two bigint, three boolean, four boolean) LANGUAGE plpgsql AS $$
BEGIN
    SELECT count(*), sum(id) INTO one, two FROM item WHERE grp = x AND active = t AND stale IS NOT TRUE;
    SELECT active AND stale, NOT stale OR t INTO three, four FROM item WHERE id = x;
    RETURN NEXT;
    UPDATE item SET stale = active = t, active = NOT active WHERE id = x;
    SELECT count(stale), count(*) INTO one, two FROM item WHERE grp = x AND (stale IS NULL OR active OR NOT t);
    SELECT stale, stale = active INTO three, four FROM item WHERE id = x;
    RETURN NEXT;
END
$$;

-- Arrays of keys.
CREATE FUNCTION item_list(list integer[], y integer) RETURNS TABLE (found_id integer, found_grp integer) LANGUAGE plpgsql AS $$
DECLARE
    element integer;
BEGIN
    FOREACH element IN ARRAY list LOOP
        SELECT id, grp INTO found_id, found_grp FROM item WHERE id = element;
        IF FOUND THEN
            UPDATE item SET grp = y WHERE id = element;
        ELSE
            found_grp := element;
        END IF;
        RETURN NEXT;
    END LOOP;
    found_id := list[1]; found_grp := list[y];
    RETURN NEXT;
END
$$;

CREATE FUNCTION item_pairs(list integer[], other integer[], y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    kept integer;
    total integer := 0;
BEGIN
    FOR i IN 1..y LOOP
        SELECT tag INTO kept FROM item WHERE id = list[i];
        UPDATE item SET tag = other[i] WHERE id = list[i];
        IF FOUND THEN
            total := total + kept * other[i];
        END IF;
        EXIT WHEN list[i] IS NULL;
    END LOOP;
    RETURN total;
END
$$;

CREATE FUNCTION item_inserted(list integer[], y integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    counted bigint;
BEGIN
    FOR i IN 1..4 LOOP
        INSERT INTO item (id, grp, tag, rate, code, active) VALUES (list[i] + 300, 90 + y, i, 0.25, 'z', TRUE);
    END LOOP;
    SELECT count(*) INTO counted FROM item WHERE grp = 90 + y;
    DELETE FROM item WHERE grp = 90 + y AND tag < 3;
    SELECT counted * 10 + count(*) INTO counted FROM item WHERE grp = 90 + y;
    DELETE FROM item WHERE grp = 90 + y;
    RETURN counted;
END
$$;

-- Nested rows.
CREATE FUNCTION item_of_groups(x integer) RETURNS TABLE (found_id integer, inner_id integer, counted bigint) LANGUAGE plpgsql AS $$
DECLARE
    one record;
    two record;
BEGIN
    FOR one IN SELECT id, grp, tag FROM item WHERE grp = x ORDER BY id LOOP
        found_id := one.id;
        inner_id := NULL;
        FOR two IN SELECT id, grp FROM item WHERE grp = one.tag ORDER BY id LOOP
            inner_id := two.id;
            SELECT count(*) INTO counted FROM item WHERE grp = two.grp;
        END LOOP;
        IF NOT FOUND THEN
            counted := -1;
        END IF;
        RETURN NEXT;
    END LOOP;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'nothing';
    END IF;
END
$$;

CREATE FUNCTION item_firsts(x integer, y integer) RETURNS TABLE (one integer, two integer, three bigint) LANGUAGE plpgsql AS $$
BEGIN
    SELECT id INTO one FROM item WHERE grp = x ORDER BY id LIMIT 1;
    SELECT id INTO two FROM item WHERE id > y AND id < 60 ORDER BY id DESC LIMIT 1;
    SELECT qty INTO three FROM item WHERE id >= one ORDER BY id LIMIT 1 OFFSET 2;
    RETURN NEXT;
    IF three < 500 THEN
        UPDATE item SET qty = three + 500 WHERE id = one;
    END IF;
    DELETE FROM item WHERE id = 61;
    INSERT INTO item (id, grp, tag, rate, code, active) VALUES (61, x, 1, 0.1, 'z', TRUE);
    SELECT id INTO one FROM item WHERE grp = x ORDER BY id DESC LIMIT 1;
    SELECT id INTO two FROM item WHERE id > y ORDER BY id DESC LIMIT 1;
    DELETE FROM item WHERE id = 61;
    SELECT id INTO three FROM item WHERE id > y ORDER BY id DESC LIMIT 1;
    RETURN NEXT;
END
$$;

CREATE FUNCTION item_cases(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    kept integer;
    given integer;
BEGIN
    SELECT grp INTO kept FROM item WHERE id = x;
    CASE kept
        WHEN 1, y THEN UPDATE item SET grp = 2 WHERE id = x;
        WHEN 2 THEN given := 100 / (y - 2);
        WHEN 5, 6 THEN NULL;
        ELSE
            DELETE FROM item WHERE id = -1;
    END CASE;
    IF FOUND THEN
        given := CASE WHEN y > 3 THEN kept WHEN kept / y > 0 THEN y ELSE -1 END;
    END IF;
    CASE WHEN given > 2 THEN
        given := given + 1;
    WHEN given IS NULL THEN
        given := -5;
    END CASE;
    RETURN given;
END
$$;

CREATE FUNCTION item_assigned(x integer, y integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    one integer := 1;
    two integer := 2;
    three integer;
BEGIN
    SELECT grp, tag INTO two, one FROM item WHERE id = x;
    SELECT grp, one INTO one, three FROM item WHERE id = y;
    one := coalesce(one, two);
    IF one = two THEN
        SELECT tag INTO one FROM item WHERE id = one;
    END IF;
    UPDATE item SET tag = 1 + one % 3, grp = tag WHERE id = x AND grp = two;
    SELECT grp * 10 + tag INTO two FROM item WHERE id = x;
    three := coalesce(three, -1);
    RETURN two + three;
END
$$;

-- Decimals of varying scale.
CREATE FUNCTION digits_of_case(x integer, y integer, OUT one numeric, OUT two integer) LANGUAGE plpgsql AS $$
BEGIN
    SELECT CASE WHEN tag > 2 THEN rate ELSE 1 END INTO one FROM item WHERE id = x;
    two := y;
END
$$;

CREATE FUNCTION digits_of_loop(x integer, y integer) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    total numeric := 0;
    kept numeric(6, 4);
BEGIN
    FOR i IN x..y LOOP
        SELECT rate INTO kept FROM item WHERE id = i;
        EXIT WHEN NOT FOUND OR i > x + 3;
        total := total + kept;
    END LOOP;
    RETURN total;
END
$$;

CREATE FUNCTION digits_of_sum(x integer, y integer) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    total numeric;
BEGIN
    SELECT sum(CASE WHEN tag > y THEN rate ELSE 0 END) INTO total FROM item WHERE grp = x;
    RETURN total;
END
$$;

CREATE FUNCTION digits_as_text(x integer, y integer) RETURNS varchar LANGUAGE plpgsql AS $$
DECLARE
    total numeric := 2;
    told varchar(30);
BEGIN
    IF y > 2 THEN
        SELECT rate * 2 INTO total FROM item WHERE id = x;
    END IF;
    told := total || '!';
    RETURN told;
END
$$;

-- Decimals of varying scale in variables of declared scale.
CREATE FUNCTION digits_declared(x integer, y integer, OUT one integer, OUT two boolean, OUT three integer) LANGUAGE plpgsql AS $$
DECLARE
    total numeric := 0;
    kept numeric(8, 2);
BEGIN
    SELECT CASE WHEN tag > 2 THEN rate ELSE 1 END INTO kept FROM item WHERE id = x;
    IF y > 3 THEN
        total := kept * 2;
    END IF;
    UPDATE item SET price = total WHERE id = x;
    one := total + kept;
    two := total > 1.5;
    SELECT sum(CASE WHEN tag > y THEN rate ELSE 0 END) INTO three FROM item WHERE grp = x;
END
$$;

-- Texts in variables while their rows change.
CREATE FUNCTION text_kept(x integer, y integer) RETURNS TABLE (one varchar, two varchar, three char) LANGUAGE plpgsql AS $$
DECLARE
    kept varchar(8);
    padded char(6);
BEGIN
    SELECT label, code INTO kept, padded FROM item WHERE id = x;
    UPDATE item SET label = 'zz', code = 'yy' WHERE grp = y;
    SELECT label INTO two FROM item WHERE id = x;
    one := kept; three := padded;
    RETURN NEXT;
    UPDATE item SET label = kept, code = padded WHERE id = x + 1;
    SELECT label, code INTO two, three FROM item WHERE id = x + 1;
    RETURN NEXT;
    RETURN QUERY SELECT label, kept, code FROM item WHERE grp = y ORDER BY id;
END
$$;

CREATE FUNCTION text_of_loop(x integer, y integer) RETURNS TABLE (one varchar, two varchar, three integer) LANGUAGE plpgsql AS $$
DECLARE
    kept varchar(8);
    seen record;
BEGIN
    FOR seen IN SELECT id, label, code FROM item WHERE grp = x ORDER BY id LOOP
        one := kept;
        kept := seen.label;
        two := left(seen.code, 2);
        three := seen.id;
        RETURN NEXT;
    END LOOP;
    UPDATE item SET label = 'loop' WHERE id = three;
    two := kept;
    SELECT label INTO one FROM item WHERE id = three;
    RETURN NEXT;
    UPDATE item SET label = two WHERE id = y;
    SELECT label INTO one FROM item WHERE id = y;
    RETURN NEXT;
END
$$;

-- Texts that a cast truncates and that are then used as text.
CREATE FUNCTION cut_texts(x varchar, y integer, OUT one text, OUT two text, OUT three bigint, OUT four boolean, OUT five text, OUT six text, OUT seven text)
LANGUAGE plpgsql AS $$
BEGIN
    one := x::varchar(2)::text;
    two := x::varchar(2) || '|' || y::varchar(1);
    three := length(x::varchar(3)::text);
    four := x::varchar(2) LIKE '%b' OR x::varchar(2) IN ('ab', 'A_');
    five := upper((x::varchar(3))::varchar);
    six := nullif(x::varchar(2), 'ab') || x::char(3)::text || (x::char(3))::varchar(2)::text;
    seven := substr(x::varchar(3), 2) || lpad(x::varchar(2), 4, '*');
END
$$;

CREATE FUNCTION cut_labels(x integer, y integer) RETURNS TABLE (found_id integer, cut text, found_length bigint) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE item SET label = label::varchar(2) || '-' || y::varchar(1) WHERE id = x;
    RETURN QUERY SELECT id, (label::varchar(3))::text, length(label::varchar(2))::bigint FROM item WHERE id = x;
    RETURN QUERY SELECT id, label::varchar(1)::text, length(code::varchar(2))::bigint FROM item WHERE id = y AND label::varchar(2) = 'ab';
END
$$;
