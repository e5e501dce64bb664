-- The number of lent copies equals the number of books that readers have at home.
CREATE FUNCTION lent_is_at_home() RETURNS TABLE (away bigint, at_home bigint)
LANGUAGE sql STABLE AS $$
    SELECT b.away, r.at_home
    FROM (SELECT sum(lent) AS away FROM book) b, (SELECT sum(books) AS at_home FROM reader) r
    WHERE b.away <> r.at_home
$$;

-- No book has more lent copies than copies.
CREATE FUNCTION no_copy_is_lent_twice() RETURNS TABLE (id integer)
LANGUAGE sql STABLE AS $$
    SELECT id FROM book WHERE lent < 0 OR lent > copies
$$;
