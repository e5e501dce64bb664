-- Access by key, by index, by range, by several of them.
SELECT b FROM t WHERE k = p
SELECT b FROM t WHERE k = q AND a > 3
SELECT b FROM t WHERE s = r
SELECT b FROM t WHERE a = p AND b = q
SELECT b FROM t WHERE a = p AND b BETWEEN q AND 7
SELECT b FROM t WHERE k > p AND k <= q
SELECT b FROM t WHERE k = 1 OR a = p AND b > 3
SELECT b FROM t WHERE k IN (1, p, 3)
SELECT b FROM t WHERE k = ANY (l)
SELECT b FROM t WHERE b = 1
SELECT b FROM t WHERE n = 1.5 AND f
SELECT z FROM u WHERE z = p
SELECT b FROM t WHERE k = p AND p > 3
SELECT b FROM t WHERE random() < 0.5 AND k = p
-- Order, limit, extremes, groups.
SELECT y FROM u WHERE x = p ORDER BY y LIMIT 3
SELECT y FROM u WHERE x = p ORDER BY y DESC
SELECT a FROM t ORDER BY a, b LIMIT 3
SELECT a FROM t ORDER BY a DESC, b DESC LIMIT 3
SELECT a FROM t ORDER BY a DESC, b DESC NULLS LAST LIMIT 3
SELECT max(a), min(k) FROM t
SELECT a, count(*) FROM t GROUP BY a HAVING count(*) > 1 ORDER BY 2
SELECT DISTINCT a, b FROM t ORDER BY b
SELECT a FROM t WHERE k < 5 UNION SELECT k FROM v ORDER BY 1
SELECT x.k FROM (SELECT k, a + 1 AS c FROM t) x WHERE x.c = p AND x.k = 3
SELECT k FROM t WHERE n > 3.5 ORDER BY n FOR UPDATE
-- Sub-selects.
SELECT b FROM t WHERE b NOT IN (SELECT y FROM u)
SELECT b FROM t WHERE a NOT IN (SELECT y FROM u)
SELECT b FROM t WHERE k IN (SELECT z FROM u WHERE x = p)
SELECT b FROM t WHERE a > 3 AND EXISTS (SELECT 1 FROM u WHERE u.x = t.a AND u.y > t.k)
SELECT b FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.x = t.a AND u.y > t.k)
SELECT k FROM t WHERE a = (SELECT max(z) FROM u WHERE u.x = t.k)
SELECT k FROM t WHERE k = (SELECT max(z) FROM u)
-- Joins.
SELECT t.b, u.z FROM t JOIN u ON u.x = t.k WHERE t.s = r
SELECT t.b, u.z FROM t JOIN u ON u.z = t.a
SELECT t.b, u.z FROM t LEFT JOIN u ON u.x = t.k AND u.y = 3 WHERE t.a = 4
SELECT t.b, u.z FROM t LEFT JOIN u ON u.x = t.k WHERE u.z = 3
SELECT t.b, u.z FROM t LEFT JOIN u ON u.x = t.k WHERE u.z IS NULL AND t.k = p
SELECT t.b, u.z FROM t FULL JOIN u ON u.x = t.k WHERE coalesce(t.a, 1) = 1
SELECT t.b, u.z, v.k FROM t, u, v WHERE u.x = t.k AND v.t = t.k AND t.k = p
SELECT t.b FROM t LEFT JOIN (u JOIN v ON v.k = u.z) ON u.x = t.k WHERE t.k = p
-- Changes.
UPDATE t SET a = a + 1 WHERE k = p
UPDATE t SET b = u.z FROM u WHERE u.x = t.k AND u.y = p AND t.a = 3
DELETE FROM t USING v WHERE v.t = t.k AND v.k = p
DELETE FROM t WHERE k IN (SELECT z FROM u WHERE x = 1)
INSERT INTO v VALUES (p, 1)
INSERT INTO v VALUES (p, 1), (p + 1, (SELECT max(x) FROM u)) ON CONFLICT DO NOTHING
INSERT INTO u SELECT k, a, 1 FROM t WHERE a = p
