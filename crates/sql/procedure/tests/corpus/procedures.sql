-- A statement for each kind of node, access, join and sub-select.

CREATE FUNCTION index_scan(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT name FROM part WHERE id = a
$$;
CREATE FUNCTION index_only(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT count(*) FROM part WHERE maker = a
$$;
CREATE FUNCTION backward(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT id FROM part WHERE id < a ORDER BY id DESC LIMIT 3
$$;
CREATE FUNCTION index_range(a integer, b integer) RETURNS void LANGUAGE sql AS $$
    SELECT name FROM part WHERE id BETWEEN a AND b AND price IS NOT NULL
$$;
CREATE FUNCTION bitmap_or(a integer, b integer) RETURNS void LANGUAGE sql AS $$
    SELECT name FROM part WHERE maker = a OR colour = b
$$;
CREATE FUNCTION bitmap_and(a integer, b integer) RETURNS void LANGUAGE sql AS $$
    SELECT name FROM part WHERE maker = a AND colour = b
$$;
CREATE FUNCTION any_element(a integer[]) RETURNS void LANGUAGE sql AS $$
    SELECT name FROM part WHERE id = ANY (a)
$$;
CREATE FUNCTION any_listed(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT name FROM part WHERE id IN (1, 2, 77)
$$;
CREATE FUNCTION any_listed_open(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT name FROM part WHERE id IN (a, a + 1)
$$;
CREATE FUNCTION any_ordered(a integer[]) RETURNS void LANGUAGE sql AS $$
    SELECT id, name FROM part WHERE id = ANY (a) ORDER BY id
$$;
CREATE FUNCTION sequential(a text) RETURNS void LANGUAGE sql AS $$
    SELECT id FROM part WHERE name LIKE a
$$;
CREATE FUNCTION nested_loop(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT p.name FROM sale s JOIN part p ON p.id = s.part WHERE s.id = a
$$;
CREATE FUNCTION left_join(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT s.id, p.name FROM sale s LEFT JOIN part p ON p.id = s.part AND p.colour = 3 WHERE s.id = a
$$;
CREATE FUNCTION hash_join() RETURNS void LANGUAGE sql AS $$
    SELECT s.id FROM sale s JOIN sale r ON r.part = s.amount AND r.id <> s.id
$$;
CREATE FUNCTION hash_left() RETURNS void LANGUAGE sql AS $$
    SELECT s.id, r.id FROM sale s LEFT JOIN sale r ON r.part = s.amount AND r.id <> s.id WHERE r.id IS NULL OR r.amount > 3
$$;
CREATE FUNCTION full_join() RETURNS void LANGUAGE sql AS $$
    SELECT s.id, r.id FROM sale s FULL JOIN sale r ON r.part = s.amount
$$;
CREATE FUNCTION merge_join() RETURNS void LANGUAGE sql AS $$
    SELECT s.id FROM sale s JOIN part p ON p.id = s.id ORDER BY s.id
$$;
CREATE FUNCTION semi_join(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT m.name FROM maker m WHERE m.id = a AND EXISTS (SELECT FROM part p WHERE p.maker = m.id AND p.colour = 1)
$$;
CREATE FUNCTION semi_in(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT m.name FROM maker m WHERE m.id IN (SELECT p.maker FROM part p WHERE p.colour = a)
$$;
CREATE FUNCTION anti_join(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT m.name FROM maker m WHERE m.id = a AND NOT EXISTS (SELECT FROM sale s WHERE s.part = m.id)
$$;
CREATE FUNCTION three_tables(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT m.name, p.name, s.amount FROM sale s JOIN part p ON p.id = s.part JOIN maker m ON m.id = p.maker AND m.id <> s.amount WHERE s.id < a
$$;
CREATE FUNCTION sort(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT name FROM part WHERE maker = a ORDER BY name DESC, price
$$;
CREATE FUNCTION incremental_sort() RETURNS void LANGUAGE sql AS $$
    SELECT maker, name FROM part ORDER BY maker, name LIMIT 10
$$;
CREATE FUNCTION limit_offset(a integer, b bigint) RETURNS void LANGUAGE sql AS $$
    SELECT id FROM part WHERE maker = a ORDER BY name LIMIT 1 OFFSET (b - 1) / 2
$$;
CREATE FUNCTION limit_alone(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT id FROM part WHERE maker = a LIMIT 1
$$;
CREATE FUNCTION sorted_groups(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT maker, sum(price) FROM part WHERE maker > a GROUP BY maker HAVING count(*) > 2 ORDER BY maker
$$;
CREATE FUNCTION hashed_groups(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT maker % 7, count(*) FROM part WHERE maker > a GROUP BY maker % 7
$$;
CREATE FUNCTION groups_above(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT colour, sum(price) * 2 AS doubled FROM part WHERE maker = a GROUP BY colour ORDER BY sum(price) * 2 DESC, colour LIMIT 5
$$;
CREATE FUNCTION distinct_count(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT count(DISTINCT colour) FILTER (WHERE price > 1) FROM part WHERE maker = a
$$;
CREATE FUNCTION plain_groups(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT maker FROM part WHERE maker > a GROUP BY maker ORDER BY maker
$$;
CREATE FUNCTION distinct_rows(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT DISTINCT maker FROM part WHERE maker > a ORDER BY maker
$$;
CREATE FUNCTION extremes() RETURNS void LANGUAGE sql AS $$
    SELECT min(id), max(id) FROM part
$$;
CREATE FUNCTION extreme_where(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT max(id) FROM part WHERE maker = a
$$;
CREATE FUNCTION averages(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT avg(price), avg(id), sum(id), bool_or(price > 5), array_agg(id) FROM part WHERE maker = a
$$;
CREATE FUNCTION plain_result(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT a + 1, now()
$$;
CREATE FUNCTION one_time_filter(l boolean, a integer) RETURNS void LANGUAGE sql AS $$
    SELECT name FROM part WHERE l AND id = a
$$;
CREATE FUNCTION never(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT name FROM part WHERE false
$$;
CREATE FUNCTION value_list(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT v.a FROM (VALUES (1, 2), (3, value_list.a)) AS v (a, b) WHERE v.b > 1
$$;
CREATE FUNCTION append(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT id FROM part WHERE id = a UNION ALL SELECT id FROM sale WHERE id = a
$$;
CREATE FUNCTION append_types(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT id, price FROM part WHERE id = a UNION ALL SELECT sold, stock FROM item WHERE id = a
$$;
CREATE FUNCTION united(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT maker FROM part WHERE id = a UNION SELECT amount FROM sale WHERE id = a ORDER BY 1
$$;
CREATE FUNCTION merge_append() RETURNS void LANGUAGE sql AS $$
    (SELECT id FROM part) UNION ALL (SELECT id FROM sale) ORDER BY id
$$;
CREATE FUNCTION united_limit(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT u.k FROM (SELECT id AS k FROM part WHERE maker = a UNION ALL SELECT part FROM sale WHERE id = a) u WHERE u.k > 7
$$;
CREATE FUNCTION materialized() RETURNS void LANGUAGE sql AS $$
    SELECT m.id FROM maker m JOIN maker n ON n.name <> m.name
$$;
CREATE FUNCTION memoized() RETURNS void LANGUAGE sql AS $$
    SELECT m.id FROM maker m JOIN sale s ON s.amount < m.id
$$;
CREATE FUNCTION insert_row(a integer, t text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO maker (id, name) VALUES (a, t)
$$;
CREATE FUNCTION insert_rows(a integer, t text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO maker (id, name) VALUES (a, t), (a + 1, t) ON CONFLICT (id) DO NOTHING
$$;
CREATE FUNCTION update_row(a integer, b integer) RETURNS void LANGUAGE sql AS $$
    UPDATE part SET colour = colour + b, name = CASE WHEN price > 5 THEN 'dear' ELSE name END WHERE id = a RETURNING name
$$;
CREATE FUNCTION delete_row(a integer) RETURNS void LANGUAGE sql AS $$
    DELETE FROM part WHERE id = a
$$;
CREATE FUNCTION lock_row(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT name FROM part WHERE id = a FOR UPDATE
$$;
CREATE FUNCTION lock_shared(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT name FROM part WHERE id = a FOR SHARE
$$;
CREATE FUNCTION lock_joined(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT p.name FROM sale s JOIN part p ON p.id = s.part WHERE s.id = a FOR UPDATE
$$;
CREATE FUNCTION lock_some(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT p.name FROM part p WHERE p.id = a AND EXISTS (SELECT FROM sale s WHERE s.id = p.maker) FOR UPDATE
$$;
CREATE FUNCTION init_plan() RETURNS void LANGUAGE sql AS $$
    SELECT id FROM sale WHERE id = (SELECT min(id) FROM part)
$$;
CREATE FUNCTION init_two(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT id FROM sale WHERE part = (SELECT count(*) FROM maker) AND amount > (SELECT avg(price) FROM part WHERE maker = a)
$$;
CREATE FUNCTION sub_plan(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT id, EXISTS (SELECT FROM sale s WHERE s.id = p.id) AS sold FROM part p WHERE id = a
$$;
CREATE FUNCTION sub_scalar(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT p.id, (SELECT s.amount FROM sale s WHERE s.id = p.maker) FROM part p WHERE p.maker = a ORDER BY (SELECT s.amount FROM sale s WHERE s.id = p.maker)
$$;
CREATE FUNCTION sub_joined(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT s.id, (SELECT count(*) FROM item i WHERE i.stock = p.colour AND i.sold = s.amount) FROM sale s JOIN part p ON p.id = s.part WHERE s.id = a
$$;
CREATE FUNCTION sub_array(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT m.name, ARRAY(SELECT p.id FROM part p WHERE p.maker = m.id ORDER BY p.name) FROM maker m WHERE m.id = a
$$;
CREATE FUNCTION sub_inside(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT m.id, (SELECT count(*) FROM part p WHERE p.maker = m.id AND EXISTS (SELECT FROM sale s WHERE s.id = p.id AND s.amount > m.id)) FROM maker m WHERE m.id < a
$$;
CREATE FUNCTION sub_limit(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT m.id, (SELECT p.name FROM part p WHERE p.maker = m.id ORDER BY p.name LIMIT 1) FROM maker m WHERE m.id = a
$$;
CREATE FUNCTION not_in() RETURNS void LANGUAGE sql AS $$
    SELECT id FROM maker WHERE id NOT IN (SELECT part FROM sale)
$$;
CREATE FUNCTION in_related(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT p.id FROM part p WHERE p.colour IN (SELECT s.amount FROM sale s WHERE s.part = p.id) OR p.id = a
$$;
CREATE FUNCTION exists_alone(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT EXISTS (SELECT FROM part WHERE maker = a)
$$;
CREATE FUNCTION exists_else(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT CASE WHEN EXISTS (SELECT FROM part WHERE maker = a) THEN 1 ELSE (SELECT max(id) FROM maker) END
$$;
CREATE FUNCTION subquery(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT first.id, first.name FROM (SELECT id, name FROM part WHERE maker = a ORDER BY name LIMIT 5) AS first WHERE first.name LIKE 'a%'
$$;
CREATE FUNCTION subquery_plain(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT i.id, x.total FROM item i, (SELECT item_id, sum(amount) AS total FROM purchase GROUP BY item_id) x WHERE i.id = x.item_id AND i.id = a
$$;
CREATE FUNCTION elements(a integer[]) RETURNS void LANGUAGE sql AS $$
    SELECT p.name FROM unnest(a) AS wanted (id) JOIN part p ON p.id = wanted.id
$$;
CREATE FUNCTION elements_two(a integer[], b text[]) RETURNS void LANGUAGE sql AS $$
    SELECT u.k, u.m FROM unnest(a, b) AS u (k, m) WHERE u.k > 3
$$;
CREATE FUNCTION series(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT g + 1 FROM generate_series(1, a) g WHERE g <> 4
$$;
CREATE FUNCTION key_small(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT amount FROM purchase WHERE item_id = 7 AND line = a
$$;
CREATE FUNCTION key_smaller(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT amount FROM purchase WHERE item_id = 7 AND line > a AND line < 5
$$;
CREATE FUNCTION key_wide(a bigint) RETURNS void LANGUAGE sql AS $$
    SELECT name FROM part WHERE id >= a AND id <= a + 10 ORDER BY id
$$;
CREATE FUNCTION key_decimal(n numeric) RETURNS void LANGUAGE sql AS $$
    SELECT id FROM item WHERE price = n AND stock = 3
$$;
CREATE FUNCTION key_decimals(n numeric) RETURNS void LANGUAGE sql AS $$
    SELECT id FROM item WHERE price > n AND price < 10.005
$$;
CREATE FUNCTION key_text(t text) RETURNS void LANGUAGE sql AS $$
    SELECT id FROM item WHERE name = t
$$;
CREATE FUNCTION key_char(t char(8)) RETURNS void LANGUAGE sql AS $$
    SELECT id FROM item WHERE code = t
$$;
CREATE FUNCTION key_date(d date, p timestamp) RETURNS void LANGUAGE sql AS $$
    SELECT id FROM item WHERE made >= d AND made < p
$$;
CREATE FUNCTION key_buyer(v varchar(16)) RETURNS void LANGUAGE sql AS $$
    SELECT item_id FROM purchase WHERE buyer = v OR buyer IS NULL
$$;
CREATE FUNCTION either_key(a integer, s smallint) RETURNS void LANGUAGE sql AS $$
    SELECT item_id, line FROM purchase WHERE (item_id = a AND line = s) OR buyer IS NULL FOR UPDATE OF purchase
$$;
CREATE FUNCTION insert_defaults(a integer, n varchar) RETURNS void LANGUAGE sql AS $$
    INSERT INTO item (id, name) VALUES (a, n) RETURNING stock, price + 1
$$;
CREATE FUNCTION insert_more(a integer, n varchar) RETURNS void LANGUAGE sql AS $$
    INSERT INTO item (id, name, price, stock) VALUES (a, n, 1, DEFAULT), (a + 1, 'x', a * 2, 5 + 3)
$$;
CREATE FUNCTION insert_few(a integer) RETURNS void LANGUAGE sql AS $$
    INSERT INTO item VALUES (a, 'z')
$$;
CREATE FUNCTION insert_query() RETURNS void LANGUAGE sql AS $$
    INSERT INTO note SELECT id, name FROM item WHERE price > 5
$$;
CREATE FUNCTION insert_query_few(a integer) RETURNS void LANGUAGE sql AS $$
    INSERT INTO item (id, name, price) SELECT p.id, p.name, s.amount FROM part p JOIN sale s ON s.part = p.id WHERE s.id = a
$$;
CREATE FUNCTION insert_query_limit(a integer) RETURNS void LANGUAGE sql AS $$
    INSERT INTO note (about) SELECT id FROM item ORDER BY price LIMIT a
$$;
CREATE FUNCTION insert_asked(a integer) RETURNS void LANGUAGE sql AS $$
    INSERT INTO note (about, said) VALUES ((SELECT max(about) + 1 FROM note), 'new')
$$;
CREATE FUNCTION insert_any_conflict(a integer, n varchar) RETURNS void LANGUAGE sql AS $$
    INSERT INTO item (id, name) VALUES (a, n) ON CONFLICT DO NOTHING
$$;
CREATE FUNCTION insert_named_conflict(a integer, n varchar) RETURNS void LANGUAGE sql AS $$
    INSERT INTO item (id, name) VALUES (a, n) ON CONFLICT (id) DO NOTHING RETURNING stock
$$;
CREATE FUNCTION update_all(a integer) RETURNS void LANGUAGE sql AS $$
    UPDATE item SET stock = stock - 1, name = upper(item.name), price = DEFAULT WHERE item.id = a RETURNING item.stock
$$;
CREATE FUNCTION update_alias(a integer) RETURNS void LANGUAGE sql AS $$
    UPDATE item AS i SET (stock, price) = (i.stock + 1, 5) WHERE i.id = a RETURNING *
$$;
CREATE FUNCTION update_from(a integer) RETURNS void LANGUAGE sql AS $$
    UPDATE item SET sold = sold + 1 FROM purchase WHERE item.id = purchase.item_id AND purchase.line = a
$$;
CREATE FUNCTION update_from_value(a integer) RETURNS void LANGUAGE sql AS $$
    UPDATE item SET price = purchase.amount FROM purchase WHERE item.id = purchase.item_id AND purchase.item_id = a AND purchase.line = 1 RETURNING item.price, purchase.buyer
$$;
CREATE FUNCTION update_self(a integer) RETURNS void LANGUAGE sql AS $$
    UPDATE item SET sold = other.sold FROM item other WHERE item.id = a AND other.id = item.stock
$$;
CREATE FUNCTION update_asked(a integer) RETURNS void LANGUAGE sql AS $$
    UPDATE item SET sold = (SELECT count(*) FROM purchase p WHERE p.item_id = item.id) WHERE id = a
$$;
CREATE FUNCTION update_in(a integer) RETURNS void LANGUAGE sql AS $$
    UPDATE item SET is_active = false WHERE id IN (SELECT item_id FROM purchase WHERE buyer = 'x') AND stock < a
$$;
CREATE FUNCTION delete_many(a integer) RETURNS void LANGUAGE sql AS $$
    DELETE FROM purchase WHERE item_id = a
$$;
CREATE FUNCTION delete_using(a integer) RETURNS void LANGUAGE sql AS $$
    DELETE FROM purchase USING item WHERE item.id = purchase.item_id AND item.stock < a RETURNING purchase.line
$$;
CREATE FUNCTION delete_hidden(a integer) RETURNS void LANGUAGE sql AS $$
    DELETE FROM note WHERE about = a
$$;
CREATE FUNCTION clauses(a integer, n varchar, l bigint) RETURNS void LANGUAGE sql AS $$
    SELECT count(*), max(i.name) FROM item i JOIN purchase s ON s.item_id = i.id AND s.line = a LEFT JOIN note ON note.about = i.id WHERE i.name LIKE n || '%' AND i.price BETWEEN a AND a + 5 AND i.stock IN (a, 2, 3) AND s.amount > (SELECT avg(amount) FROM purchase WHERE line < a) GROUP BY i.stock, i.stock + a HAVING sum(i.price) > a ORDER BY count(*) DESC, 1 LIMIT l OFFSET a
$$;
CREATE FUNCTION right_join(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT i.id, s.amount FROM item i RIGHT JOIN purchase s ON s.item_id = i.id CROSS JOIN note
$$;
CREATE FUNCTION using_join() RETURNS void LANGUAGE sql AS $$
    SELECT id FROM item JOIN (SELECT about AS id FROM note) q USING (id)
$$;
CREATE FUNCTION key_groups() RETURNS void LANGUAGE sql AS $$
    SELECT name, price FROM item GROUP BY id ORDER BY price LIMIT 1 OFFSET 2
$$;
CREATE FUNCTION distinct_nulls() RETURNS void LANGUAGE sql AS $$
    SELECT DISTINCT name, stock FROM item ORDER BY stock DESC NULLS LAST, name
$$;
CREATE FUNCTION fetch_first() RETURNS void LANGUAGE sql AS $$
    SELECT price FROM item FETCH FIRST 3 ROWS ONLY
$$;
CREATE FUNCTION today() RETURNS void LANGUAGE sql AS $$
    SELECT max(id) - min(id) FROM item WHERE made = current_date AND changed < now()
$$;
CREATE FUNCTION operators(a integer, b bigint, n numeric, t text) RETURNS void LANGUAGE sql AS $$
    SELECT a + stock, sold % b, -price, n / 3, weight * a, t || name, name || code, stock & 1, stock << 2, NOT is_active, is_active IS NOT FALSE, price IS DISTINCT FROM n FROM item WHERE id = a
$$;
CREATE FUNCTION functions(a integer, t text) RETURNS void LANGUAGE sql AS $$
    SELECT abs(price), round(price, 1), floor(weight), mod(stock, 3::smallint), length(name), lower(name), substr(name, 2, 3), substring(name FROM 2 FOR 3), substring(name, 2), lpad(name, 5, '0'), left(name, 2), trim(name), trim(LEADING 'z' FROM name), position('a' IN name), replace(name, 'a', 'b'), concat(name, stock, NULL), to_char(id, '0000'), greatest(stock, sold, 5), coalesce(code, 'x'), nullif(stock, 0) FROM item WHERE id = a
$$;
CREATE FUNCTION number_as_text(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT to_char(stock, '0000') FROM item WHERE id = a
$$;
CREATE FUNCTION times(a integer, i interval) RETURNS void LANGUAGE sql AS $$
    SELECT made + 1, made - made, changed + i, changed - '2020-01-01', extract(year FROM made), date_trunc('day', changed), made::timestamp, changed::date, INTERVAL '3 days', DATE '2020-01-01', localtimestamp FROM item WHERE id = a
$$;
CREATE FUNCTION conversions(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT sold::integer, price::integer, name::varchar(3), weight::numeric(6, 2), stock::text, is_active::integer, '5'::smallint, 1.5::numeric(3, 1), CAST(id AS double precision), NULL::integer FROM item WHERE id = a
$$;
CREATE FUNCTION choices(a integer) RETURNS void LANGUAGE sql AS $$
    SELECT CASE stock WHEN 1 THEN 'x' WHEN 2 THEN name END, CASE WHEN is_active THEN price ELSE 0 END, name LIKE 'a%', name NOT LIKE '_b', name ILIKE 'A', stock BETWEEN 1 AND a, stock NOT IN (1, 2), id <> ALL (ARRAY[1, a]) FROM item WHERE id = a
$$;
CREATE FUNCTION arrays(x integer[]) RETURNS void LANGUAGE sql AS $$
    SELECT x[1], cardinality(x), array_length(x, 1), x || 5, ARRAY[1, 2, id], array_append(x, id) FROM item WHERE id = x[2]
$$;

-- Expressions of PL/pgSQL that have plans, and fields of records.
CREATE FUNCTION formulas(a integer) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    total numeric(12, 2) := (SELECT sum(price) FROM part WHERE maker = a);
    seen record;
    name_of varchar(5);
BEGIN
    IF EXISTS (SELECT FROM sale WHERE id = a) THEN
        name_of := (SELECT name FROM maker WHERE id = a);
    END IF;
    FOR seen IN SELECT id, stock FROM item WHERE stock > a LOOP
        UPDATE item SET sold = seen.stock WHERE id = seen.id;
    END LOOP;
    RETURN (SELECT count(*) FROM item) + 1;
END $$;
