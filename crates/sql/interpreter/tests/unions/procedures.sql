-- The first query has one value in two columns, the second does not: plans print both columns alike.
CREATE FUNCTION twice(p integer) RETURNS TABLE (a integer, b integer) LANGUAGE sql AS $$
    SELECT g.id, g.id FROM guest g WHERE g.id <= p
    UNION ALL SELECT s.row_number, s.place FROM seat s WHERE s.row_number = p ORDER BY 2, 1
$$;

CREATE FUNCTION nothing_first(p integer) RETURNS TABLE (a integer, b integer, c integer) LANGUAGE sql AS $$
    SELECT g.id, NULL::integer, NULL::integer FROM guest g WHERE g.id <= p
    UNION ALL SELECT s.row_number, s.place, s.price FROM seat s WHERE s.row_number = p ORDER BY 3 DESC, 1, 2
$$;

CREATE FUNCTION once(p integer) RETURNS TABLE (a integer, b integer, c integer) LANGUAGE sql AS $$
    SELECT g.id, 0, 0 FROM guest g WHERE g.id <= p
    UNION SELECT s.row_number, s.place, s.price FROM seat s WHERE s.row_number <= p ORDER BY 2 DESC, 3, 1 LIMIT 7
$$;

-- A query that groups or sorts by more columns than it returns.
CREATE FUNCTION behind_groups(p integer) RETURNS TABLE (a bigint, b bigint) LANGUAGE sql AS $$
    SELECT g.id::bigint, 0::bigint FROM guest g WHERE g.id <= p
    UNION ALL SELECT DISTINCT s.place::bigint, sum(s.price) FROM seat s GROUP BY s.place ORDER BY 1, 2
$$;

CREATE FUNCTION behind_order(p integer) RETURNS TABLE (a bigint, b bigint) LANGUAGE sql AS $$
    SELECT g.id::bigint, 0::bigint FROM guest g WHERE g.id <= p
    UNION ALL (SELECT s.place::bigint, s.price::bigint FROM seat s WHERE s.row_number = p ORDER BY s.row_number, s.place DESC LIMIT 3)
    ORDER BY 1, 2
$$;

-- Keys from an array, scanned backward.
CREATE FUNCTION of_list(list integer[], most integer) RETURNS TABLE (id integer, invited integer) LANGUAGE sql AS $$
    SELECT g.id, g.invited FROM guest g WHERE g.id = ANY (list) ORDER BY g.id DESC LIMIT most
$$;

CREATE FUNCTION of_lists(list integer[], p integer) RETURNS TABLE (a integer, b integer) LANGUAGE sql AS $$
    SELECT s.row_number, s.place FROM seat s WHERE s.row_number = ANY (list) AND s.place > p ORDER BY s.row_number DESC, s.place DESC
$$;

CREATE FUNCTION share(p integer, q integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    RETURN p / q;
END
$$;
