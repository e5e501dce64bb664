-- Queries with plans of every shape: all kinds of joins, groups, sets, sub-selects, and limits over an
-- inner order. Each is called with different `k`, while other procedures change the tables.

CREATE FUNCTION bitmap_of_either(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, a.y::bigint FROM a WHERE a.x = k OR a.y = k + 2;
END
$$;

CREATE FUNCTION bitmap_of_both(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, a.y::bigint FROM a WHERE a.x = k AND a.y = 5;
END
$$;

CREATE FUNCTION listed(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, a.y::bigint FROM a WHERE a.x IN (1, 4, k) AND a.id > 5;
END
$$;

CREATE FUNCTION full_join(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT (coalesce(a.id, -7))::bigint, (coalesce(b.z, -3))::bigint FROM a FULL JOIN b ON a.id = b.id;
END
$$;

CREATE FUNCTION full_join_unmatched(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT (coalesce(a.id, -7))::bigint, (coalesce(b.z, -3))::bigint FROM a FULL JOIN b ON a.id = b.id AND
        a.x = b.x WHERE a.id IS NULL OR b.id IS NULL;
END
$$;

CREATE FUNCTION right_join(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT (coalesce(a.id, -7))::bigint, b.z::bigint FROM a RIGHT JOIN b ON a.x = b.x AND a.y = k;
END
$$;

CREATE FUNCTION left_join(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, (coalesce(b.z, -3))::bigint FROM a LEFT JOIN b ON a.x = b.x AND b.z > k;
END
$$;

CREATE FUNCTION left_join_filtered(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, (coalesce(b.z, -3))::bigint FROM a LEFT JOIN b ON a.id = b.id WHERE coalesce(b.z,
        9) > k;
END
$$;

CREATE FUNCTION merged_first(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, b.z::bigint FROM a JOIN b ON a.id = b.id ORDER BY a.id LIMIT 17;
END
$$;

CREATE FUNCTION semi_join(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, a.y::bigint FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.x = a.x AND b.z > a.y);
END
$$;

CREATE FUNCTION anti_join(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, a.y::bigint FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.x = a.x AND b.z > a.y);
END
$$;

CREATE FUNCTION in_select(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, a.y::bigint FROM a WHERE a.y IN (SELECT b.z FROM b WHERE b.x = k);
END
$$;

CREATE FUNCTION scalar_each(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, (coalesce((SELECT max(b.z) FROM b WHERE b.x = a.x AND b.id < a.id), -9))::bigint
        FROM a;
END
$$;

CREATE FUNCTION scalar_once(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, a.y::bigint FROM a WHERE a.x = (SELECT min(b.x) FROM b WHERE b.z > 3);
END
$$;

CREATE FUNCTION united(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.x::bigint, a.y::bigint FROM a UNION SELECT b.x::bigint, b.z::bigint FROM b;
END
$$;

CREATE FUNCTION united_all(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.x::bigint, a.y::bigint FROM a WHERE a.id < 20 + k UNION ALL SELECT b.x::bigint, b.z::bigint
        FROM b WHERE b.id > 3;
END
$$;

CREATE FUNCTION merged_sorted(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT u.p::bigint, u.q::bigint FROM ((SELECT a.id AS p, a.x AS q FROM a) UNION ALL (SELECT b.id, b.x
        FROM b) ORDER BY 1, 2 LIMIT 33 OFFSET 4) u;
END
$$;

CREATE FUNCTION groups_hashed(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT (a.x % 4)::bigint, (count(*)::integer)::bigint FROM a GROUP BY a.x % 4;
END
$$;

CREATE FUNCTION groups_having(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.x::bigint, (sum(a.y)::integer)::bigint FROM a GROUP BY a.x HAVING count(*) > k ORDER BY a.x;
END
$$;

CREATE FUNCTION distinct_pairs(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT DISTINCT a.x::bigint, (a.y % 3)::bigint FROM a;
END
$$;

CREATE FUNCTION counted_distinct(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.x::bigint, (count(DISTINCT a.y % 3)::integer)::bigint FROM a GROUP BY a.x;
END
$$;

CREATE FUNCTION counted_filtered(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.x::bigint, (count(*) FILTER (WHERE a.y > k)::integer)::bigint FROM a GROUP BY a.x;
END
$$;

CREATE FUNCTION of_values(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT v.k::bigint, a.y::bigint FROM (VALUES (1, 2), (3, 4), (5, 9)) AS v(k, m) JOIN a ON a.id = v.k AND
        a.y <> v.m;
END
$$;

CREATE FUNCTION of_elements(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT u.e::bigint, a.y::bigint FROM unnest(ARRAY[3, 9, k, 500]) AS u(e) LEFT JOIN a ON a.id = u.e WHERE
        u.e < 100;
END
$$;

CREATE FUNCTION of_series(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT g.n::bigint, (coalesce(a.y, -1))::bigint FROM generate_series(50, 60 + k) AS g(n) LEFT JOIN a ON
        a.id = g.n;
END
$$;

CREATE FUNCTION crossed(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, b.z::bigint FROM a CROSS JOIN b WHERE a.id < b.id - 90 - k;
END
$$;

CREATE FUNCTION with_itself(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT s.id::bigint, t.y::bigint FROM a s JOIN a t ON t.x = s.x AND t.id <> s.id AND t.y < s.y WHERE s.x
        = k;
END
$$;

CREATE FUNCTION three_joined(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, c.z::bigint FROM a JOIN b ON b.id = a.id JOIN b c ON c.x = b.x AND c.z > 8;
END
$$;

CREATE FUNCTION first_backwards(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT s.p::bigint, s.q::bigint FROM (SELECT a.id AS p, a.y AS q FROM a WHERE a.x = k ORDER BY a.y DESC,
        a.id LIMIT 4) s;
END
$$;

CREATE FUNCTION after_some(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT s.p::bigint, s.q::bigint FROM (SELECT a.id AS p, a.x AS q FROM a ORDER BY a.id DESC LIMIT 5
        OFFSET k) s;
END
$$;

CREATE FUNCTION texts_alike(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, (length(a.t))::bigint FROM a WHERE a.t LIKE 'k%1_' OR a.t ILIKE '%9';
END
$$;

CREATE FUNCTION nulls_grouped(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT (coalesce(nullif(a.x, 3), -5))::bigint, (count(nullif(a.y, 4))::integer)::bigint FROM a GROUP BY
        nullif(a.x, 3);
END
$$;

CREATE FUNCTION all_true(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.x::bigint, (CASE WHEN bool_and(a.y > 2) THEN 1 ELSE 0 END)::bigint FROM a GROUP BY a.x;
END
$$;

CREATE FUNCTION groups_joined(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT w.p::bigint, w.q::bigint FROM (SELECT a.x AS p, a.y AS q, count(*) AS n FROM a GROUP BY a.x, a.y)
        w JOIN b ON b.x = w.p AND b.z = w.q WHERE w.n >= 1;
END
$$;

CREATE FUNCTION cases(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, (CASE a.x WHEN 1 THEN 10 WHEN k THEN 20 ELSE a.y END)::bigint FROM a WHERE CASE
        WHEN a.x > 2 THEN a.y > 3 ELSE a.id < 30 END;
END
$$;

CREATE FUNCTION averages(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.x::bigint, ((avg(a.y) * 1000)::integer)::bigint FROM a GROUP BY a.x;
END
$$;

CREATE FUNCTION any_of_array(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, a.y::bigint FROM a WHERE a.id = ANY (ARRAY[4, 8, 15, 16, 23, 42, 42, k]);
END
$$;

CREATE FUNCTION not_listed(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, a.y::bigint FROM a WHERE a.x NOT IN (1, k) AND NOT (a.y BETWEEN 2 AND 7);
END
$$;

CREATE FUNCTION last_five_summed(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT (count(*))::bigint, (coalesce(sum(s.p * 31 + s.q), 0))::bigint FROM (SELECT a.id AS p, a.x AS q
        FROM a ORDER BY a.id DESC LIMIT 5) s;
END
$$;

CREATE FUNCTION last_below_summed(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT (count(*))::bigint, (coalesce(sum(s.p * 31 + s.q), 0))::bigint FROM (SELECT a.id AS p, a.x AS q
        FROM a WHERE a.id < 60 + k ORDER BY a.id DESC LIMIT 5) s;
END
$$;

CREATE FUNCTION first_of_group_summed(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT (count(*))::bigint, (coalesce(sum(s.p), 0))::bigint FROM (SELECT a.id AS p FROM a WHERE a.x > k
        ORDER BY a.x DESC, a.id LIMIT 5) s;
END
$$;

CREATE FUNCTION last_filtered_summed(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT (count(*))::bigint, (coalesce(sum(s.p), 0))::bigint FROM (SELECT a.id AS p FROM a WHERE a.y > k
        ORDER BY a.id DESC LIMIT 5) s;
END
$$;

CREATE FUNCTION last_joined(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT s.p::bigint, b.z::bigint FROM (SELECT a.id AS p, a.x AS q FROM a ORDER BY a.id DESC LIMIT 50) s
        JOIN b ON b.id = s.p;
END
$$;

CREATE FUNCTION last_of_each(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT b.id::bigint, (coalesce((SELECT a.y FROM a WHERE a.x = b.x ORDER BY a.id DESC LIMIT 1),
        -1))::bigint FROM b WHERE b.x < 6;
END
$$;

CREATE FUNCTION last_but_some(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT b.id::bigint, b.z::bigint FROM b WHERE b.id = (SELECT a.id FROM a ORDER BY a.id DESC LIMIT 1
        OFFSET 3);
END
$$;

CREATE FUNCTION among_the_last(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT b.id::bigint, b.z::bigint FROM b WHERE b.id IN (SELECT a.id FROM a ORDER BY a.id DESC LIMIT 7);
END
$$;

CREATE FUNCTION largest_groups_summed(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT (count(*))::bigint, (coalesce(sum(s.p * 31 + s.q), 0))::bigint FROM (SELECT a.x AS p, max(a.y) AS
        q FROM a GROUP BY a.x ORDER BY a.x DESC LIMIT 3) s;
END
$$;

CREATE FUNCTION last_distinct_summed(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT (count(*))::bigint, (coalesce(sum(s.p), 0))::bigint FROM (SELECT DISTINCT a.x AS p FROM a ORDER
        BY a.x DESC LIMIT 3) s;
END
$$;

CREATE FUNCTION last_pairs_summed(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT (count(*))::bigint, (coalesce(sum(s.p * 31 + s.q), 0))::bigint FROM (SELECT a.id AS p, b.z AS q
        FROM a JOIN b ON b.id = a.id ORDER BY a.id DESC LIMIT 9) s;
END
$$;

CREATE FUNCTION ordered_inside(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT s.p::bigint, s.q::bigint FROM (SELECT a.id AS p, a.y AS q FROM a WHERE a.x = k ORDER BY a.id
        DESC) s LIMIT 3;
END
$$;

CREATE FUNCTION last_of_both(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT (count(*))::bigint, (coalesce(sum(u.p), 0))::bigint FROM ((SELECT a.id AS p FROM a ORDER BY a.id
        DESC LIMIT 3) UNION ALL (SELECT b.id FROM b ORDER BY b.id DESC LIMIT 4)) u;
END
$$;

CREATE FUNCTION extremes(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT (min(a.y))::bigint, (max(a.y))::bigint FROM a WHERE a.id > 40;
END
$$;

CREATE FUNCTION dividing(k integer) RETURNS TABLE (first bigint, second bigint) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
        SELECT a.id::bigint, (60 / (a.x - k))::bigint FROM a WHERE a.y = 3 ORDER BY a.id;
END
$$;

CREATE FUNCTION raise_matching(k integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    changed integer;
BEGIN
    UPDATE a SET y = a.y % 11 + b.z FROM b WHERE b.id = a.id AND b.z > k;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

CREATE FUNCTION set_to_largest(k integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    changed integer;
BEGIN
    UPDATE a SET y = coalesce((SELECT max(b.z) FROM b WHERE b.x = a.x), 1) WHERE a.x IN (2, k);
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

CREATE FUNCTION turn_groups(k integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    changed integer;
BEGIN
    UPDATE a SET x = a.x % 7 + 1 WHERE a.x = k;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

CREATE FUNCTION set_where_there(k integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    changed integer;
BEGIN
    UPDATE a SET y = k WHERE a.y > 9 AND EXISTS (SELECT 1 FROM b WHERE b.id = a.id);
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

CREATE FUNCTION forget_the_last(k integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    changed integer;
BEGIN
    DELETE FROM a WHERE a.id IN (SELECT v.id FROM a v WHERE v.x = k ORDER BY v.id DESC LIMIT 2);
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

CREATE FUNCTION forget_matching(k integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    changed integer;
BEGIN
    DELETE FROM a USING b WHERE b.id = a.id AND b.z = k AND a.y = 4;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

CREATE FUNCTION forget_either(k integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    changed integer;
BEGIN
    DELETE FROM a WHERE a.id > 400 AND (a.x = k OR a.y = 4);
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

CREATE FUNCTION fill_up(k integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    changed integer;
BEGIN
    INSERT INTO a SELECT b.id + 100 * (k % 3), b.x, b.z, 'k0001' FROM b ORDER BY b.z DESC, b.id LIMIT 10 + k ON
    CONFLICT DO NOTHING;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

CREATE FUNCTION set_the_last(k integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    changed integer;
BEGIN
    UPDATE a SET y = 11 WHERE a.id = (SELECT v.id FROM a v WHERE v.x = 3 ORDER BY v.id DESC LIMIT 1);
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

CREATE FUNCTION fill_gaps(k integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    changed integer;
BEGIN
    INSERT INTO a SELECT g.n, g.n % 7 + 1, g.n % 11 + 1, 'k9' FROM generate_series(1, 40) AS g(n) ON CONFLICT DO
    NOTHING;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

CREATE FUNCTION cut_texts(k integer) RETURNS TABLE (one text, two text, three bigint, four text, five boolean) LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY SELECT a.t::varchar(2)::text, a.id::varchar(1) || '|' || a.t::varchar(1), length(a.t::varchar(2))::bigint,
        lpad(a.t::varchar(3), 5, '*') || substr(a.t::varchar(2), 2), a.t::varchar(1) BETWEEN '1' AND '3'
        FROM a WHERE a.t::varchar(1) = k::varchar(1);
    RETURN QUERY SELECT min(a.t::varchar(2))::text, a.t::varchar(1)::text, count(DISTINCT a.t::varchar(2)),
        max(greatest(a.t::varchar(2), '4'))::text, a.t::varchar(1) LIKE '_'
        FROM a WHERE a.x <> k GROUP BY a.t::varchar(1)::text, a.t::varchar(1) LIKE '_';
END
$$;
