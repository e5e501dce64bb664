-- Each line is the list of a SELECT with the parameters a integer, b bigint, s smallint, n numeric(12,2), t text, v varchar(10), c char(5), d date, p timestamp,
-- z timestamptz, f double precision, l boolean, i interval and x integer[].
a + s, a + b, s + s, a * n, n * n, n / 3, a / 2, b % 7, n % 2, -a, -n, +s, a - 1.5, f + n, f * a, f / s, 1 / 3.0, 5 / 2
a = b, a <> s, n < f, t = v, c = v, c = 'x', t >= 'a', d < p, p < z, l = true, a = '5', d > '2020-01-01', a != b, f <= a
a IS NULL, t IS NOT NULL, l IS TRUE, l IS NOT FALSE, a IS DISTINCT FROM b, a IS NOT DISTINCT FROM NULL, NULL IS NULL
l AND a > 1 OR NOT l, NOT a = 1, (a > 1) = l, a BETWEEN 1 AND b, n NOT BETWEEN 1 AND 2.5, d BETWEEN '2020-01-01' AND now()
a IN (1, 2, b), t IN ('a', v), n NOT IN (1, 2.5), a = ANY (x), a <> ALL (x), a IN (SELECT id FROM item), a = ANY (ARRAY[1, 2])
t LIKE 'a%', v NOT LIKE '_b', c LIKE 'x%', t ILIKE 'A', t LIKE v
t || v, c || 'x', 'a' || a, t || n, 'x' || 'y', d || t
CASE WHEN l THEN 1 ELSE 2.5 END, CASE a WHEN 1 THEN 'x' ELSE v END, CASE WHEN l THEN n END, CASE WHEN l THEN NULL ELSE d END
coalesce(n, 0), coalesce(v, 'x'), nullif(a, 0), greatest(a, b, 5), least(d, p), greatest(n, 1.5, f), coalesce(NULL, a), nullif(v, t)
a::bigint, n::integer, CAST(t AS integer), '5'::smallint, a::text, t::varchar(3), f::numeric(6,2), l::integer, a::boolean, n::double precision, d::timestamp, p::date, '2020-01-01'::date, 1.5::numeric(3,1), t::char(4), 5::char(2), NULL::integer, z::timestamp
abs(a), abs(n), abs(f), round(n), round(n, 1), round(f), round(a), trunc(n), floor(n), floor(f), ceil(a), ceiling(n), mod(a, 3), mod(b, a), mod(n, 2), sign(n), sign(a), random()
length(t), length(c), char_length(v), lower(v), upper(c), substr(t, 2), substr(t, 2, 3), substring(t, 1, 2), substring(t FROM 2 FOR 3), substring(t FROM 2), lpad(t, 5), lpad(v, 5, '0'), rpad(t, 3, 'x'), left(t, 2), right(v, 3)
trim(t), trim(BOTH 'x' FROM t), trim(LEADING 'z' FROM t), trim(TRAILING 'y' FROM v), btrim(t, 'xy'), ltrim(t), rtrim(t, 'x'), position('a' IN t), strpos(t, v), replace(t, 'a', 'b'), repeat(t, 3), reverse(v), chr(65), ascii(t), concat(t, a, NULL, n)
to_char(a, '0000'), to_char(b, 'FM00009'), lpad(a::text, 5, '0')
now(), current_timestamp, localtimestamp, current_date, clock_timestamp(), extract(year FROM d), extract(epoch FROM p), extract(second FROM z), extract(dow FROM d), date_trunc('day', p), date_trunc('month', z)
d + 1, 1 + d, d - 1, d - d, p - p, p + i, i + p, d + i, z - i, z - p, i + i, i * 2, 2 * i, i / 2, p - '2020-01-01', p + '1 day', d - '2020-01-01', INTERVAL '3 days', DATE '2020-01-01', TIMESTAMP '2020-01-01 10:00'
x[1], x[a + 1], cardinality(x), array_length(x, 1), array_upper(x, 1), array_lower(x, 1), ARRAY[1, 2, a], ARRAY['a', v], x || 5, x || x, array_append(x, 1), ARRAY(SELECT id FROM item)
a & 1, a | s, b # 5, a << 2, b >> 1
(SELECT count(*) FROM item), (SELECT name FROM item WHERE id = a), EXISTS (SELECT 1 FROM sale WHERE line = s), NOT EXISTS (SELECT * FROM sale)
count(*), count(a), count(DISTINCT id), sum(id), sum(stock), sum(sold), sum(price), sum(weight), min(price), max(name), min(code), avg(id), avg(price), avg(weight), max(made), min(changed), bool_and(is_active), bool_or(is_active), array_agg(id), count(*) FILTER (WHERE stock > 1) FROM item
name, sum(price) + 1, count(*) * 2, upper(name) FROM item GROUP BY name
1, 2147483647, 2147483648, -2147483648, 9223372036854775807, 99999999999999999999, 1.5, .5, 5., 1e3, 1.5e-3, 'text', true, false, NULL
DISTINCT name, stock FROM item ORDER BY stock DESC NULLS LAST, name
item.*, price * 2 AS double FROM item WHERE id = a
i.id, x.amount FROM item i, (SELECT item_id, sum(amount) AS amount FROM sale GROUP BY item_id) x WHERE i.id = x.item_id
id, stock FROM item UNION ALL SELECT item_id, line FROM sale ORDER BY 1 LIMIT 3
id FROM item WHERE id IN (SELECT item_id FROM sale WHERE sale.item_id = item.id AND line = a)
i.id, s.amount FROM item i RIGHT JOIN sale s ON s.item_id = i.id CROSS JOIN note FULL JOIN item j ON j.id = i.id
u FROM unnest(x) AS u
g + 1 FROM generate_series(1, a) g
u.k, u.m FROM unnest(x, ARRAY['a', 'b']) AS u (k, m)
name, price FROM item GROUP BY id ORDER BY price LIMIT 1 OFFSET 2
stock AS s1, count(*) FROM item GROUP BY s1 HAVING count(*) > 1 ORDER BY s1
price FROM item FETCH FIRST 3 ROWS ONLY
id FROM item JOIN (SELECT about AS id FROM note) q USING (id)
item_id, line FROM sale WHERE (item_id = a AND line = s) OR buyer IS NULL FOR UPDATE OF sale
max(id) - min(id) FROM item WHERE made = current_date AND changed < now()
