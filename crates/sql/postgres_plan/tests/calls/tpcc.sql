-- A population of two warehouses with 30 customers and 200 items, then calls of the five transactions, and what they
-- must have returned and done. ASSERT is part of PL/pgSQL, so that a failure names its line.

INSERT INTO warehouse
SELECT w, 'ware' || w, 'street 1', 'street 2', 'city', 'WA', '123411111', 0.1, 300.00 FROM generate_series(1, 2) w;
INSERT INTO district
SELECT w, d, 'dist' || d, 'street 1', 'street 2', 'city', 'WA', '123411111', 0.05, 300.00, 31
FROM generate_series(1, 2) w, generate_series(1, 10) d;
INSERT INTO customer
SELECT w, d, c, 'first' || lpad((31 - c)::text, 2, '0'), 'OE', (ARRAY['BARBARBAR', 'BARBAROUGHT', 'BARBARABLE'])[c % 3 + 1],
    'street 1', 'street 2', 'city', 'WA', '123411111', '0123456789012345', '2000-01-01',
    CASE WHEN c = 7 THEN 'BC' ELSE 'GC' END, 50000, 0.1, -10, 10, 1, 0, repeat('x', 490)
FROM generate_series(1, 2) w, generate_series(1, 10) d, generate_series(1, 30) c;
INSERT INTO orders
SELECT w, d, o, o, '2000-01-01', CASE WHEN o <= 21 THEN 1 END, 5, 1
FROM generate_series(1, 2) w, generate_series(1, 10) d, generate_series(1, 30) o;
INSERT INTO new_order
SELECT w, d, o FROM generate_series(1, 2) w, generate_series(1, 10) d, generate_series(22, 30) o;
INSERT INTO order_line
SELECT w, d, o, n, o * 5 + n, w, CASE WHEN o <= 21 THEN timestamp '2000-01-01' END, 5,
    CASE WHEN o <= 21 THEN 0 ELSE 1.5 END, repeat('d', 24)
FROM generate_series(1, 2) w, generate_series(1, 10) d, generate_series(1, 30) o, generate_series(1, 5) n;
INSERT INTO item
SELECT i, i, 'item' || i, 10.25, CASE WHEN i = 1 THEN 'an ORIGINAL' ELSE 'data' END FROM generate_series(1, 200) i;
INSERT INTO stock
SELECT w, i, CASE WHEN i % 2 = 0 THEN 12 ELSE 60 END, repeat('1', 24), repeat('2', 24), repeat('3', 24), repeat('4', 24),
    repeat('5', 24), repeat('6', 24), repeat('7', 24), repeat('8', 24), repeat('9', 24), repeat('0', 24), 0, 0, 0,
    CASE WHEN i = 1 THEN 'ORIGINAL stock' ELSE 'data' END
FROM generate_series(1, 2) w, generate_series(1, 200) i;

DO $$
DECLARE
    line record;
    lines integer := 0;
BEGIN
    FOR line IN SELECT * FROM new_order(1::smallint, 3::smallint, 5, ARRAY[1, 2], ARRAY[1, 2]::smallint[], ARRAY[4, 5]::smallint[]) LOOP
        lines := lines + 1;
        IF lines = 1 THEN
            ASSERT (line.item_name, line.item_price, line.brand_generic, line.stock_left, line.line_amount)
                = ('item1', 10.25, 'B', 56, 41.00), line::text;
            ASSERT line.total_amount IS NULL AND line.last_name IS NULL;
        ELSIF lines = 2 THEN
            ASSERT (line.brand_generic, line.stock_left, line.line_amount) = ('G', 98, 51.25), line::text;
        ELSE
            ASSERT (line.last_name, line.credit, line.discount, line.warehouse_tax, line.district_tax, line.order_number)
                = ('BARBARABLE', 'GC', 0.1, 0.1, 0.05, 31), line::text;
            -- 92.25 * 0.9 * 1.15 = 95.47875.
            ASSERT line.total_amount = 95.48 AND line.item_name IS NULL, line::text;
            ASSERT line.entry_date = localtimestamp;
        END IF;
    END LOOP;
    ASSERT lines = 3;
    ASSERT (SELECT (o_c_id, o_carrier_id, o_ol_cnt, o_all_local) IS NOT DISTINCT FROM (5, NULL, 2, 0)
        FROM orders WHERE o_w_id = 1 AND o_d_id = 3 AND o_id = 31);
    ASSERT (SELECT d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = 3) = 32;
    ASSERT EXISTS (SELECT FROM new_order WHERE no_w_id = 1 AND no_d_id = 3 AND no_o_id = 31);
    ASSERT (SELECT string_agg(concat_ws(' ', ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info), '; ' ORDER BY ol_number)
        FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id = 31)
        = '1 1 1 4 41.00 333333333333333333333333; 2 2 2 5 51.25 333333333333333333333333';
    ASSERT (SELECT (s_quantity, s_ytd, s_order_cnt, s_remote_cnt) = (56, 4, 1, 0) FROM stock WHERE s_w_id = 1 AND s_i_id = 1);
    ASSERT (SELECT (s_quantity, s_ytd, s_order_cnt, s_remote_cnt) = (98, 5, 1, 1) FROM stock WHERE s_w_id = 2 AND s_i_id = 2);

    BEGIN
        PERFORM new_order(1::smallint, 3::smallint, 5, ARRAY[4, 201], ARRAY[1, 1]::smallint[], ARRAY[4, 5]::smallint[]);
        ASSERT false, 'an unused item is accepted';
    EXCEPTION WHEN raise_exception THEN
        ASSERT sqlerrm = 'Item number is not valid';
    END;
    ASSERT (SELECT s_ytd FROM stock WHERE s_w_id = 1 AND s_i_id = 4) = 0;
    ASSERT (SELECT d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = 3) = 32;
END
$$;

DO $$
DECLARE
    paid record;
BEGIN
    -- By name: 10 customers 3, 6, 9 ... 30 of the same name, whose first names descend; the fifth is customer 18.
    SELECT * INTO STRICT paid FROM payment(1, 1::smallint, 2::smallint, 2::smallint, 4::smallint, true, NULL, 'BARBARBAR', 12.50);
    ASSERT (paid.customer_id, paid.first_name, paid.balance, paid.customer_data) IS NOT DISTINCT FROM (18, 'first13', -22.50, NULL), paid::text;
    ASSERT (paid.warehouse_zip, paid.district_city, paid.credit_limit, paid.since) = ('123411111', 'city', 50000.00, '2000-01-01'), paid::text;
    ASSERT (SELECT w_ytd FROM warehouse WHERE w_id = 1) = 312.50;
    ASSERT (SELECT d_ytd FROM district WHERE d_w_id = 1 AND d_id = 2) = 312.50;
    ASSERT (SELECT (c_ytd_payment, c_payment_cnt) = (22.50, 2) FROM customer WHERE c_w_id = 2 AND c_d_id = 4 AND c_id = 18);
    ASSERT (SELECT (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_amount, h_data) = (18, 4, 2, 2, 1, 12.50, 'ware1    dist2') FROM history WHERE h_id = 1);

    -- By number, with bad credit.
    SELECT * INTO STRICT paid FROM payment(2, 1::smallint, 2::smallint, 1::smallint, 2::smallint, false, 7, NULL, 3.05);
    ASSERT paid.customer_data = '7 2 1 2 1 3.05 ' || repeat('x', 185), paid::text;
    ASSERT (SELECT length(c_data) = 500 AND c_data LIKE '7 2 1 2 1 3.05 xxx%' FROM customer WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 7);

    BEGIN
        PERFORM payment(3, 1::smallint, 2::smallint, 1::smallint, 2::smallint, true, NULL, 'NOBODY', 3.05);
        ASSERT false, 'nobody pays';
    EXCEPTION WHEN raise_exception THEN
        ASSERT sqlerrm = 'There is no such customer';
    END;
    ASSERT (SELECT w_ytd FROM warehouse WHERE w_id = 1) = 315.55;
END
$$;

DO $$
DECLARE
    line record;
    lines integer := 0;
BEGIN
    FOR line IN SELECT * FROM order_status(1::smallint, 3::smallint, false, 5, NULL) LOOP
        lines := lines + 1;
        IF lines = 1 THEN
            ASSERT (line.customer_id, line.last_name, line.balance, line.order_number, line.carrier, line.item_number)
                IS NOT DISTINCT FROM (5, 'BARBARABLE', -10.00, 31, NULL, NULL), line::text;
        ELSE
            ASSERT (line.customer_id, line.item_number, line.supply_warehouse, line.quantity)
                IS NOT DISTINCT FROM (NULL, lines - 1, lines - 1, lines + 2), line::text;
        END IF;
    END LOOP;
    ASSERT lines = 3;
    SELECT * INTO line FROM order_status(1::smallint, 3::smallint, true, NULL, 'BARBARBAR') LIMIT 1;
    ASSERT (line.customer_id, line.order_number, line.carrier) = (18, 18, 1), line::text;
    ASSERT (SELECT count(*) FROM order_status(1::smallint, 3::smallint, true, NULL, 'BARBARBAR')) = 6;
END
$$;

DO $$
BEGIN
    DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 9;
    ASSERT (SELECT string_agg(delivered_district || ':' || delivered_order, ' ') FROM delivery(2::smallint, 6::smallint))
        = '1:22 2:22 3:22 4:22 5:22 6:22 7:22 8:22 10:22';
    ASSERT NOT EXISTS (SELECT FROM new_order WHERE no_w_id = 2 AND no_o_id = 22);
    ASSERT (SELECT o_carrier_id FROM orders WHERE o_w_id = 2 AND o_d_id = 8 AND o_id = 22) = 6;
    ASSERT (SELECT count(ol_delivery_d) FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 8 AND ol_o_id = 22) = 5;
    ASSERT (SELECT (c_balance, c_delivery_cnt) = (-2.50, 1) FROM customer WHERE c_w_id = 2 AND c_d_id = 8 AND c_id = 22);
END
$$;

DO $$
BEGIN
    -- Orders 12 to 31 of district 3: those of the load have items 61 to 155, whose 47 even ones have a stock of 12, and so
    -- has item 2 of the newest order.
    ASSERT stock_level(1::smallint, 3::smallint, 20::smallint) = 48, stock_level(1::smallint, 3::smallint, 20::smallint)::text;
    ASSERT stock_level(1::smallint, 3::smallint, 10::smallint) = 0;
END
$$;
