CREATE FUNCTION bid(which integer) RETURNS bigint LANGUAGE sql AS $$
    UPDATE item SET top = top + 1 WHERE id = which RETURNING top
$$;
-- An index that begins with another column than the key, gone through in order for one value of that.
CREATE FUNCTION newest(of integer) RETURNS TABLE (id integer, top bigint) LANGUAGE sql AS $$
    SELECT i.id, i.top FROM item i WHERE i.category = of ORDER BY i.category DESC, i.ends DESC LIMIT 10
$$;
-- A row that refers to two others. An item's watcher is drawn, and nearly never has it already.
CREATE FUNCTION watch_it(who integer, what integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO watch VALUES (who, what, 1);
END
$$;
-- An index that ranges go through without a value that divides it.
CREATE FUNCTION closing(before integer) RETURNS SETOF integer LANGUAGE sql AS $$
    SELECT i.id FROM item i WHERE i.ends < before ORDER BY i.ends DESC LIMIT 10
$$;
