-- Procedures of a shop. Arguments name existing and missing rows, and sometimes violate checks.

CREATE FUNCTION enrol(p_id integer, p_name varchar, p_country char, p_adviser integer, p_credit numeric(10, 2), p_email varchar)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO customer (id, name, country, advised_by, credit, email)
        VALUES (p_id, p_name, p_country, p_adviser, p_credit, p_email);
END
$$;

-- Updates columns with checks in a row that others reference.
CREATE FUNCTION deposit(p_id integer, p_amount numeric(10, 2)) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    rest numeric(10, 2);
BEGIN
    UPDATE customer SET balance = balance + p_amount WHERE id = p_id RETURNING balance INTO rest;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no customer %', p_id USING ERRCODE = 'P0002';
    END IF;
    RETURN rest;
END
$$;

-- Both checks of the row use the updated columns, and one column may be null.
CREATE FUNCTION allow(p_id integer, p_credit numeric(10, 2), p_balance numeric(10, 2)) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE customer SET credit = p_credit, balance = p_balance WHERE id = p_id;
END
$$;

-- Referenced rows that were read before are not read again.
CREATE FUNCTION buy(p_id integer, p_customer integer, p_skus char(6)[], p_quantities integer[], p_gift integer)
RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    total numeric(10, 2) := 0;
    unit_price numeric(8, 2);
    tax_of_country numeric(4, 2);
    home char(2);
BEGIN
    SELECT country INTO home FROM customer WHERE id = p_customer;
    SELECT tax INTO tax_of_country FROM country WHERE code = home;
    INSERT INTO purchase (id, customer, placed) VALUES (p_id, p_customer, now());
    FOR i IN 1..array_length(p_skus, 1) LOOP
        UPDATE product SET stock = stock - p_quantities[i] WHERE sku = p_skus[i] RETURNING price INTO unit_price;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no such product';
        END IF;
        INSERT INTO line VALUES (p_id, i, p_skus[i], p_quantities[i], unit_price * p_quantities[i], p_gift);
        total := total + unit_price * p_quantities[i];
    END LOOP;
    total := round(total * (100 + coalesce(tax_of_country, 0)) * 0.01, 2);
    RETURN total;
END
$$;

-- A row that references one inserted later.
CREATE FUNCTION too_soon(p_id integer, p_customer integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO line VALUES (p_id, 9, 'A1', 1, 1, NULL);
    INSERT INTO purchase (id, customer, placed) VALUES (p_id, p_customer, now());
END
$$;

CREATE FUNCTION settle(p_id integer, p_paid numeric(10, 2), p_state char) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE purchase SET state = p_state, paid = p_paid WHERE id = p_id;
END
$$;

-- A row that others may reference.
CREATE FUNCTION cancel(p_id integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    whose integer;
BEGIN
    DELETE FROM purchase WHERE id = p_id RETURNING customer INTO whose;
    RETURN whose;
END
$$;

CREATE FUNCTION cancel_all(p_id integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM line WHERE purchase = p_id;
    DELETE FROM purchase WHERE id = p_id;
END
$$;

CREATE FUNCTION leave(p_id integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM customer WHERE id = p_id;
END
$$;

CREATE FUNCTION move_purchase(p_id integer, p_customer integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE purchase SET customer = p_customer WHERE id = p_id;
END
$$;

CREATE FUNCTION regift(p_purchase integer, p_number smallint, p_gift integer, p_sku char) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE line SET gift_for = p_gift, sku = p_sku WHERE purchase = p_purchase AND number = p_number;
END
$$;

CREATE FUNCTION praise(p_id integer, p_purchase integer, p_line smallint, p_stars smallint, p_words varchar)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO review VALUES (p_line, p_purchase, p_stars, p_words, p_id);
END
$$;

CREATE FUNCTION reprice(p_kind char, p_by numeric(4, 2)) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE product SET price = price + p_by WHERE kind = p_kind AND price < 50;
END
$$;

CREATE FUNCTION reserve(p_sku char, p_count integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    present integer;
BEGIN
    UPDATE product SET reserved = p_count WHERE sku = p_sku RETURNING stock INTO present;
    RETURN present;
END
$$;

CREATE FUNCTION restock(p_sku char, p_by integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE product SET stock = stock + p_by WHERE sku = p_sku;
END
$$;

CREATE FUNCTION product_of(p_sku char) RETURNS TABLE (sku char(6), label varchar(24), kind char(3), in_stock integer) LANGUAGE sql AS $$
    SELECT p.sku, p.label, p.kind, p.stock - coalesce(p.reserved, 0) FROM product p WHERE p.sku = p_sku
$$;

CREATE FUNCTION kinds() RETURNS TABLE (kind char(3), products bigint, stock bigint) LANGUAGE sql AS $$
    SELECT p.kind, count(*), sum(p.stock) FROM product p WHERE p.kind BETWEEN 'A' AND 'Z' GROUP BY p.kind ORDER BY p.kind
$$;

CREATE FUNCTION lines_of(p_id integer, p_most integer, p_skipped integer)
RETURNS TABLE (number smallint, sku char(6), amount numeric) LANGUAGE sql AS $$
    SELECT l.number, l.sku, l.amount FROM line l WHERE l.purchase = p_id ORDER BY l.number LIMIT p_most OFFSET p_skipped
$$;

CREATE FUNCTION bought(p_customer integer) RETURNS TABLE (product char(6), quantity bigint, total numeric, gifts bigint) LANGUAGE sql AS $$
    SELECT l.sku, sum(l.quantity), sum(l.amount), count(l.gift_for)
    FROM purchase p JOIN line l ON l.purchase = p.id
    WHERE p.customer = p_customer GROUP BY l.sku ORDER BY l.sku
$$;

CREATE FUNCTION advised(p_customer integer) RETURNS TABLE (id integer, state varchar) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT c.id, CASE WHEN c.credit > 50 THEN 'good' WHEN c.credit IS NULL THEN 'none' ELSE 'low' END::varchar
        FROM customer c WHERE c.advised_by = p_customer AND (c.credit > 10 OR c.balance < 0) ORDER BY c.id;
END
$$;

CREATE FUNCTION texts(p_name varchar(24), p_code char(6), p_list integer[]) RETURNS TABLE (a integer, b varchar, c varchar, d varchar, e integer) LANGUAGE plpgsql AS $$
BEGIN
    a := length(p_name) + length(p_code);
    b := upper(substr(p_name, 2, 3));
    c := lower(p_code) || '-' || right(p_name, 2);
    d := rtrim(p_name);
    e := coalesce(array_length(p_list, 1), 0) + greatest(length(p_name), 3) - coalesce(nullif(cardinality(p_list), 2), 7);
    RETURN NEXT;
END
$$;

CREATE FUNCTION look(p_customer integer, p_sku char, p_seconds smallint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO visit VALUES (p_customer, p_sku, p_seconds);
    INSERT INTO visit VALUES (p_customer, p_sku, p_seconds + 1::smallint);
END
$$;

CREATE FUNCTION forget(p_customer integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM visit WHERE customer = p_customer AND seconds < 50;
END
$$;

CREATE FUNCTION seen(p_customer integer) RETURNS TABLE (sku char(6), visits bigint, longest smallint) LANGUAGE sql AS $$
    SELECT v.sku, count(*), max(v.seconds) FROM visit v WHERE v.customer = p_customer
    GROUP BY v.sku HAVING count(*) > 1 ORDER BY v.sku DESC
$$;

CREATE FUNCTION longest_seen(p_customer integer) RETURNS TABLE (sku char(6), seconds smallint) LANGUAGE sql AS $$
    SELECT v.sku, v.seconds FROM visit v WHERE v.customer = p_customer ORDER BY v.seconds DESC, v.sku LIMIT 3
$$;

CREATE FUNCTION reserved_of(p_kind char) RETURNS TABLE (sku char(6), reserved integer, is_full boolean) LANGUAGE sql AS $$
    SELECT p.sku, p.reserved, p.reserved IS NOT DISTINCT FROM p.stock FROM product p
    WHERE p.kind = p_kind AND p.reserved IS DISTINCT FROM 7 ORDER BY p.reserved DESC NULLS LAST, p.sku
$$;

CREATE FUNCTION skus_seen(p_customer integer) RETURNS TABLE (sku char(6)) LANGUAGE sql AS $$
    SELECT DISTINCT v.sku FROM visit v WHERE v.customer = p_customer ORDER BY v.sku
$$;

CREATE FUNCTION want(p_customer integer, p_sku char, p_strength smallint, OUT is_new boolean, OUT strength_now smallint)
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO wish VALUES (p_customer, p_sku, p_strength) ON CONFLICT DO NOTHING;
    is_new := FOUND;
    IF NOT is_new THEN
        UPDATE wish SET strength = strength + 1 WHERE customer = p_customer AND sku = p_sku;
    END IF;
    SELECT strength INTO strength_now FROM wish WHERE customer = p_customer AND sku = p_sku;
END
$$;

CREATE FUNCTION wants(p_customer integer) RETURNS TABLE (sku char(6), strength smallint) LANGUAGE sql AS $$
    SELECT w.sku, w.strength FROM wish w WHERE w.customer = p_customer ORDER BY w.sku
$$;

-- Loops over one table, updates another, and may end early.
CREATE FUNCTION give_back(p_id integer, p_most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    gone record;
    given integer := 0;
BEGIN
    FOR gone IN SELECT l.number, l.sku, l.quantity FROM line l WHERE l.purchase = p_id ORDER BY l.number LOOP
        EXIT WHEN given >= p_most;
        CONTINUE WHEN gone.quantity = 3;
        UPDATE product SET stock = stock + gone.quantity WHERE sku = gone.sku;
        given := given + 1;
    END LOOP;
    DELETE FROM line WHERE purchase = p_id AND number <= given;
    RETURN given;
END
$$;

-- Inserts into another table in each iteration.
CREATE FUNCTION wish_again(p_customer integer, p_strength smallint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    found_sku char(6);
    added integer := 0;
BEGIN
    FOR found_sku IN SELECT DISTINCT v.sku FROM visit v WHERE v.customer = p_customer ORDER BY v.sku LOOP
        INSERT INTO wish VALUES (p_customer, found_sku, p_strength);
        added := added + 1;
    END LOOP;
    RETURN added;
END
$$;

CREATE FUNCTION unwish(p_customer integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM wish WHERE customer = p_customer;
END
$$;

CREATE FUNCTION labelled(p_kind char) RETURNS TABLE (sku char(6), label varchar(24)) LANGUAGE sql AS $$
    SELECT p.sku, p.label FROM product p WHERE p.kind = p_kind AND p.label NOT LIKE 'b%'
    AND (p.label LIKE 'a%' OR p.label LIKE '%e' OR p.label LIKE '%o%') ORDER BY p.sku
$$;

CREATE FUNCTION mailed(p_adviser integer) RETURNS TABLE (id integer) LANGUAGE sql AS $$
    SELECT c.id FROM customer c WHERE c.advised_by = p_adviser AND c.email NOT LIKE 'a%' ORDER BY c.id
$$;
