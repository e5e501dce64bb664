-- TPC-C, revision 5.11: the five transactions, each a function that is one transaction.
--
-- Results come in sections, as a terminal's screen has them: a row of a section has nulls in the columns of the others.

-- Clause 2.4. Rows: one for each line, then one for the order.
CREATE FUNCTION new_order(
    home_warehouse smallint,
    home_district smallint,
    customer_number integer,
    items integer[],
    supply_warehouses smallint[],
    quantities smallint[]
) RETURNS TABLE (
    item_name varchar(24),
    item_price numeric(12, 2),
    brand_generic char(1),
    stock_left smallint,
    line_amount numeric(12, 2),
    last_name varchar(16),
    credit char(2),
    discount numeric(4, 4),
    warehouse_tax numeric(4, 4),
    district_tax numeric(4, 4),
    order_number integer,
    entry_date timestamp,
    total_amount numeric(12, 2)
) LANGUAGE plpgsql AS $$
DECLARE
    placed_at timestamp := localtimestamp;
    line_count smallint := cardinality(items);
    all_local smallint := 1;
    supplier smallint;
    remote smallint;
    number_taken integer;
    tax_of_warehouse numeric(4, 4);
    tax_of_district numeric(4, 4);
    item_data varchar(50);
    stock_data varchar(50);
    dist_info char(24);
    amount_sum numeric(12, 2) := 0;
BEGIN
    SELECT w_tax INTO tax_of_warehouse
    FROM warehouse
    WHERE w_id = home_warehouse;

    UPDATE district
    SET d_next_o_id = d_next_o_id + 1
    WHERE d_w_id = home_warehouse AND d_id = home_district
    RETURNING d_next_o_id - 1, d_tax INTO number_taken, tax_of_district;

    FOREACH supplier IN ARRAY supply_warehouses LOOP
        IF supplier <> home_warehouse THEN
            all_local := 0;
        END IF;
    END LOOP;

    INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (home_warehouse, home_district, number_taken, customer_number, placed_at, NULL, line_count, all_local);
    INSERT INTO new_order (no_w_id, no_d_id, no_o_id)
    VALUES (home_warehouse, home_district, number_taken);

    FOR line IN 1..line_count LOOP
        SELECT i_name, i_price, i_data INTO item_name, item_price, item_data
        FROM item
        WHERE i_id = items[line];
        -- One order in a hundred has an item number that nobody uses; what came before is undone (2.4.1.5, 2.4.2.3).
        IF NOT FOUND THEN
            RAISE EXCEPTION 'Item number is not valid';
        END IF;

        remote := 0;
        IF supply_warehouses[line] <> home_warehouse THEN
            remote := 1;
        END IF;
        UPDATE stock
        SET s_quantity = CASE
                WHEN s_quantity - quantities[line] >= 10 THEN s_quantity - quantities[line]
                ELSE s_quantity - quantities[line] + 91
            END,
            s_ytd = s_ytd + quantities[line],
            s_order_cnt = s_order_cnt + 1,
            s_remote_cnt = s_remote_cnt + remote
        WHERE s_w_id = supply_warehouses[line] AND s_i_id = items[line]
        RETURNING s_quantity, s_data, CASE home_district
            WHEN 1 THEN s_dist_01
            WHEN 2 THEN s_dist_02
            WHEN 3 THEN s_dist_03
            WHEN 4 THEN s_dist_04
            WHEN 5 THEN s_dist_05
            WHEN 6 THEN s_dist_06
            WHEN 7 THEN s_dist_07
            WHEN 8 THEN s_dist_08
            WHEN 9 THEN s_dist_09
            ELSE s_dist_10
        END INTO stock_left, stock_data, dist_info;

        line_amount := quantities[line] * item_price;
        amount_sum := amount_sum + line_amount;
        INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
            ol_quantity, ol_amount, ol_dist_info)
        VALUES (home_warehouse, home_district, number_taken, line, items[line], supply_warehouses[line], NULL,
            quantities[line], line_amount, dist_info);

        IF item_data LIKE '%ORIGINAL%' AND stock_data LIKE '%ORIGINAL%' THEN
            brand_generic := 'B';
        ELSE
            brand_generic := 'G';
        END IF;
        RETURN NEXT;
    END LOOP;

    SELECT c_last, c_credit, c_discount INTO last_name, credit, discount
    FROM customer
    WHERE c_w_id = home_warehouse AND c_d_id = home_district AND c_id = customer_number;

    item_name := NULL;
    item_price := NULL;
    brand_generic := NULL;
    stock_left := NULL;
    line_amount := NULL;
    warehouse_tax := tax_of_warehouse;
    district_tax := tax_of_district;
    order_number := number_taken;
    entry_date := placed_at;
    total_amount := round(amount_sum * (1 - discount) * (1 + tax_of_warehouse + tax_of_district), 2);
    RETURN NEXT;
END
$$;

-- Clause 2.5. The customer is given by last name or by number; the other one is not looked at. `history_number` is the
-- hidden key of the history row.
CREATE FUNCTION payment(
    history_number bigint,
    paid_warehouse smallint,
    paid_district smallint,
    customer_warehouse smallint,
    customer_district smallint,
    by_name boolean,
    customer_number integer,
    customer_last varchar(16),
    amount numeric(12, 2)
) RETURNS TABLE (
    warehouse_street_1 varchar(20),
    warehouse_street_2 varchar(20),
    warehouse_city varchar(20),
    warehouse_state char(2),
    warehouse_zip char(9),
    district_street_1 varchar(20),
    district_street_2 varchar(20),
    district_city varchar(20),
    district_state char(2),
    district_zip char(9),
    customer_id integer,
    first_name varchar(16),
    middle_name char(2),
    last_name varchar(16),
    street_1 varchar(20),
    street_2 varchar(20),
    city varchar(20),
    state char(2),
    zip char(9),
    phone char(16),
    since timestamp,
    credit char(2),
    credit_limit numeric(12, 2),
    discount numeric(4, 4),
    balance numeric(12, 2),
    customer_data varchar(200),
    paid_at timestamp
) LANGUAGE plpgsql AS $$
DECLARE
    name_count bigint;
    warehouse_name varchar(10);
    district_name varchar(10);
    all_data varchar(500);
BEGIN
    paid_at := localtimestamp;

    UPDATE warehouse
    SET w_ytd = w_ytd + amount
    WHERE w_id = paid_warehouse
    RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip
    INTO warehouse_name, warehouse_street_1, warehouse_street_2, warehouse_city, warehouse_state, warehouse_zip;

    UPDATE district
    SET d_ytd = d_ytd + amount
    WHERE d_w_id = paid_warehouse AND d_id = paid_district
    RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip
    INTO district_name, district_street_1, district_street_2, district_city, district_state, district_zip;

    customer_id := customer_number;
    IF by_name THEN
        SELECT count(*) INTO name_count
        FROM customer
        WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_last = customer_last;
        -- The one at position n/2, rounded up, counted from 1 (2.5.2.2).
        SELECT c_id INTO customer_id
        FROM customer
        WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_last = customer_last
        ORDER BY c_first
        LIMIT 1 OFFSET (name_count - 1) / 2;
    END IF;

    UPDATE customer
    SET c_balance = c_balance - amount,
        c_ytd_payment = c_ytd_payment + amount,
        c_payment_cnt = c_payment_cnt + 1
    WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = customer_id
    RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit,
        c_credit_lim, c_discount, c_balance
    INTO first_name, middle_name, last_name, street_1, street_2, city, state, zip, phone, since, credit,
        credit_limit, discount, balance;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no such customer';
    END IF;

    IF credit = 'BC' THEN
        UPDATE customer
        SET c_data = left(customer_id::text || ' ' || customer_district::text || ' ' || customer_warehouse::text
            || ' ' || paid_district::text || ' ' || paid_warehouse::text || ' ' || amount::text || ' ' || c_data, 500)
        WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = customer_id
        RETURNING c_data INTO all_data;
        customer_data := left(all_data, 200);
    END IF;

    INSERT INTO history (h_id, h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (history_number, customer_id, customer_district, customer_warehouse, paid_district, paid_warehouse,
        paid_at, amount, warehouse_name || '    ' || district_name);
    RETURN NEXT;
END
$$;

-- Clause 2.6. Rows: one for the customer and the newest order, then one for each of its lines.
CREATE FUNCTION order_status(
    home_warehouse smallint,
    home_district smallint,
    by_name boolean,
    customer_number integer,
    customer_last varchar(16)
) RETURNS TABLE (
    customer_id integer,
    first_name varchar(16),
    middle_name char(2),
    last_name varchar(16),
    balance numeric(12, 2),
    order_number integer,
    entry_date timestamp,
    carrier smallint,
    item_number integer,
    supply_warehouse smallint,
    quantity smallint,
    line_amount numeric(12, 2),
    delivery_date timestamp
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    name_count bigint;
    newest integer;
BEGIN
    IF by_name THEN
        SELECT count(*) INTO name_count
        FROM customer
        WHERE c_w_id = home_warehouse AND c_d_id = home_district AND c_last = customer_last;
        SELECT c_id, c_first, c_middle, c_last, c_balance
        INTO customer_id, first_name, middle_name, last_name, balance
        FROM customer
        WHERE c_w_id = home_warehouse AND c_d_id = home_district AND c_last = customer_last
        ORDER BY c_first
        LIMIT 1 OFFSET (name_count - 1) / 2;
    ELSE
        SELECT c_id, c_first, c_middle, c_last, c_balance
        INTO customer_id, first_name, middle_name, last_name, balance
        FROM customer
        WHERE c_w_id = home_warehouse AND c_d_id = home_district AND c_id = customer_number;
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no such customer';
    END IF;

    SELECT o_id, o_entry_d, o_carrier_id INTO order_number, entry_date, carrier
    FROM orders
    WHERE o_w_id = home_warehouse AND o_d_id = home_district AND o_c_id = customer_id
    ORDER BY o_id DESC
    LIMIT 1;
    newest := order_number;
    RETURN NEXT;

    -- Only in a database smaller than the specification's may a customer have no order yet.
    IF newest IS NOT NULL THEN
        customer_id := NULL;
        first_name := NULL;
        middle_name := NULL;
        last_name := NULL;
        balance := NULL;
        order_number := NULL;
        entry_date := NULL;
        carrier := NULL;
        FOR item_number, supply_warehouse, quantity, line_amount, delivery_date IN
            SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
            FROM order_line
            WHERE ol_w_id = home_warehouse AND ol_d_id = home_district AND ol_o_id = newest
            ORDER BY ol_number
        LOOP
            RETURN NEXT;
        END LOOP;
    END IF;
END
$$;

-- Clause 2.7: all districts in one transaction. Rows: one for each district that had an open order.
CREATE FUNCTION delivery(home_warehouse smallint, carrier smallint)
RETURNS TABLE (delivered_district smallint, delivered_order integer) LANGUAGE plpgsql AS $$
DECLARE
    delivered_at timestamp := localtimestamp;
    buyer integer;
    line_amount numeric(12, 2);
    order_amount numeric(12, 2);
BEGIN
    FOR district_number IN 1..10 LOOP
        delivered_district := district_number;
        SELECT no_o_id INTO delivered_order
        FROM new_order
        WHERE no_w_id = home_warehouse AND no_d_id = delivered_district
        ORDER BY no_o_id
        LIMIT 1
        FOR UPDATE;
        IF FOUND THEN
            DELETE FROM new_order
            WHERE no_w_id = home_warehouse AND no_d_id = delivered_district AND no_o_id = delivered_order;

            UPDATE orders
            SET o_carrier_id = carrier
            WHERE o_w_id = home_warehouse AND o_d_id = delivered_district AND o_id = delivered_order
            RETURNING o_c_id INTO buyer;

            order_amount := 0;
            FOR line_amount IN
                UPDATE order_line
                SET ol_delivery_d = delivered_at
                WHERE ol_w_id = home_warehouse AND ol_d_id = delivered_district AND ol_o_id = delivered_order
                RETURNING ol_amount
            LOOP
                order_amount := order_amount + line_amount;
            END LOOP;

            UPDATE customer
            SET c_balance = c_balance + order_amount,
                c_delivery_cnt = c_delivery_cnt + 1
            WHERE c_w_id = home_warehouse AND c_d_id = delivered_district AND c_id = buyer;
            RETURN NEXT;
        END IF;
    END LOOP;
END
$$;

-- Clause 2.8: how many items of the district's last 20 orders are low in stock.
CREATE FUNCTION stock_level(home_warehouse smallint, home_district smallint, threshold smallint)
RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    next_order integer;
    low_stock bigint;
BEGIN
    SELECT d_next_o_id INTO next_order
    FROM district
    WHERE d_w_id = home_warehouse AND d_id = home_district;

    SELECT count(DISTINCT s_i_id) INTO low_stock
    FROM order_line
    JOIN stock ON s_i_id = ol_i_id
    WHERE ol_w_id = home_warehouse AND ol_d_id = home_district
        AND ol_o_id >= next_order - 20 AND ol_o_id < next_order
        AND s_w_id = home_warehouse AND s_quantity < threshold;
    RETURN low_stock;
END
$$;
