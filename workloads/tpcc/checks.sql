-- TPC-C, revision 5.11, clause 3.3.2: what holds whenever nobody writes. Each check gives back the rows that are wrong.
-- Condition 11 counts what only the load leaves behind, and is not among them.

-- Condition 1.
CREATE FUNCTION warehouse_has_the_sum_of_its_districts()
RETURNS TABLE (warehouse smallint, year_to_date numeric(12, 2), districts numeric) LANGUAGE sql STABLE AS $$
    SELECT w.w_id, w.w_ytd, sum(d.d_ytd)
    FROM warehouse w
    LEFT JOIN district d ON d.d_w_id = w.w_id
    GROUP BY w.w_id, w.w_ytd
    HAVING w.w_ytd <> coalesce(sum(d.d_ytd), 0)
$$;

-- Condition 2, for orders.
CREATE FUNCTION districts_number_their_orders()
RETURNS TABLE (warehouse smallint, district smallint, next_order integer, last_order integer) LANGUAGE sql STABLE AS $$
    SELECT d.d_w_id, d.d_id, d.d_next_o_id, max(o.o_id)
    FROM district d
    LEFT JOIN orders o ON o.o_w_id = d.d_w_id AND o.o_d_id = d.d_id
    GROUP BY d.d_w_id, d.d_id, d.d_next_o_id
    HAVING d.d_next_o_id - 1 <> coalesce(max(o.o_id), 0) OR d.d_next_o_id - 1 <> count(o.o_id)
$$;

-- Condition 2, for new orders, where there are any, and condition 3.
CREATE FUNCTION new_orders_are_the_last_ones()
RETURNS TABLE (warehouse smallint, district smallint, next_order integer, last_order integer, orders bigint)
LANGUAGE sql STABLE AS $$
    SELECT d.d_w_id, d.d_id, d.d_next_o_id, max(n.no_o_id), count(*)
    FROM district d
    JOIN new_order n ON n.no_w_id = d.d_w_id AND n.no_d_id = d.d_id
    GROUP BY d.d_w_id, d.d_id, d.d_next_o_id
    HAVING d.d_next_o_id - 1 <> max(n.no_o_id) OR max(n.no_o_id) - min(n.no_o_id) + 1 <> count(*)
$$;

-- Conditions 4 and 6. That no line is without its order follows from the sums over districts.
CREATE FUNCTION orders_have_their_lines()
RETURNS TABLE (warehouse smallint, district smallint, order_number integer, line_count smallint, lines bigint)
LANGUAGE sql STABLE AS $$
    SELECT o.o_w_id, o.o_d_id, o.o_id, o.o_ol_cnt, count(l.ol_number)
    FROM orders o
    LEFT JOIN order_line l ON l.ol_w_id = o.o_w_id AND l.ol_d_id = o.o_d_id AND l.ol_o_id = o.o_id
    GROUP BY o.o_w_id, o.o_d_id, o.o_id, o.o_ol_cnt
    HAVING count(l.ol_number) <> o.o_ol_cnt
$$;

CREATE FUNCTION lines_have_their_order()
RETURNS TABLE (warehouse smallint, district smallint, order_number integer, line smallint) LANGUAGE sql STABLE AS $$
    SELECT l.ol_w_id, l.ol_d_id, l.ol_o_id, l.ol_number
    FROM order_line l
    LEFT JOIN orders o ON o.o_w_id = l.ol_w_id AND o.o_d_id = l.ol_d_id AND o.o_id = l.ol_o_id
    WHERE o.o_id IS NULL
$$;

-- Condition 5: orders that wait have no carrier, and only those.
CREATE FUNCTION orders_wait_or_have_a_carrier()
RETURNS TABLE (warehouse smallint, district smallint, order_number integer, carrier smallint) LANGUAGE sql STABLE AS $$
    SELECT o.o_w_id, o.o_d_id, o.o_id, o.o_carrier_id
    FROM orders o
    LEFT JOIN new_order n ON n.no_w_id = o.o_w_id AND n.no_d_id = o.o_d_id AND n.no_o_id = o.o_id
    WHERE (o.o_carrier_id IS NULL) <> (n.no_o_id IS NOT NULL)
$$;

-- Condition 7.
CREATE FUNCTION lines_are_delivered_with_their_order()
RETURNS TABLE (warehouse smallint, district smallint, order_number integer, line smallint) LANGUAGE sql STABLE AS $$
    SELECT l.ol_w_id, l.ol_d_id, l.ol_o_id, l.ol_number
    FROM order_line l
    JOIN orders o ON o.o_w_id = l.ol_w_id AND o.o_d_id = l.ol_d_id AND o.o_id = l.ol_o_id
    WHERE (l.ol_delivery_d IS NULL) <> (o.o_carrier_id IS NULL)
$$;

-- Condition 8.
CREATE FUNCTION warehouse_has_the_sum_of_its_payments()
RETURNS TABLE (warehouse smallint, year_to_date numeric(12, 2), payments numeric) LANGUAGE sql STABLE AS $$
    SELECT w.w_id, w.w_ytd, sum(h.h_amount)
    FROM warehouse w
    LEFT JOIN history h ON h.h_w_id = w.w_id
    GROUP BY w.w_id, w.w_ytd
    HAVING w.w_ytd <> coalesce(sum(h.h_amount), 0)
$$;

-- Condition 9.
CREATE FUNCTION district_has_the_sum_of_its_payments()
RETURNS TABLE (warehouse smallint, district smallint, year_to_date numeric(12, 2), payments numeric)
LANGUAGE sql STABLE AS $$
    SELECT d.d_w_id, d.d_id, d.d_ytd, sum(h.h_amount)
    FROM district d
    LEFT JOIN history h ON h.h_w_id = d.d_w_id AND h.h_d_id = d.d_id
    GROUP BY d.d_w_id, d.d_id, d.d_ytd
    HAVING d.d_ytd <> coalesce(sum(h.h_amount), 0)
$$;

-- Conditions 10 and 12 together: what a customer has paid is in the history and in C_YTD_PAYMENT.
CREATE FUNCTION customers_have_the_sum_of_their_payments()
RETURNS TABLE (warehouse smallint, district smallint, customer integer, year_to_date numeric(12, 2), payments numeric)
LANGUAGE sql STABLE AS $$
    SELECT c.c_w_id, c.c_d_id, c.c_id, c.c_ytd_payment, sum(h.h_amount)
    FROM customer c
    LEFT JOIN history h ON h.h_c_w_id = c.c_w_id AND h.h_c_d_id = c.c_d_id AND h.h_c_id = c.c_id
    GROUP BY c.c_w_id, c.c_d_id, c.c_id, c.c_ytd_payment, c.c_payment_cnt
    HAVING c.c_ytd_payment <> coalesce(sum(h.h_amount), 0) OR c.c_payment_cnt <> count(h.h_id)
$$;

-- Condition 12.
CREATE FUNCTION balances_are_what_was_delivered_and_not_paid()
RETURNS TABLE (warehouse smallint, district smallint, customer integer, balance numeric(12, 2), delivered numeric)
LANGUAGE sql STABLE AS $$
    SELECT c.c_w_id, c.c_d_id, c.c_id, c.c_balance, sum(l.ol_amount)
    FROM customer c
    LEFT JOIN orders o ON o.o_w_id = c.c_w_id AND o.o_d_id = c.c_d_id AND o.o_c_id = c.c_id
    LEFT JOIN order_line l ON l.ol_w_id = o.o_w_id AND l.ol_d_id = o.o_d_id AND l.ol_o_id = o.o_id
        AND l.ol_delivery_d IS NOT NULL
    GROUP BY c.c_w_id, c.c_d_id, c.c_id, c.c_balance, c.c_ytd_payment
    HAVING c.c_balance + c.c_ytd_payment <> coalesce(sum(l.ol_amount), 0)
$$;

-- Not in the specification: stock counts the lines of orders that came after the load.
CREATE FUNCTION stock_counts_its_lines()
RETURNS TABLE (warehouse smallint, item integer, year_to_date integer, sold bigint) LANGUAGE sql STABLE AS $$
    SELECT s.s_w_id, s.s_i_id, s.s_ytd, sum(l.ol_quantity)
    FROM stock s
    LEFT JOIN order_line l ON l.ol_supply_w_id = s.s_w_id AND l.ol_i_id = s.s_i_id AND l.ol_o_id > 3000
    GROUP BY s.s_w_id, s.s_i_id, s.s_ytd, s.s_order_cnt
    HAVING s.s_ytd <> coalesce(sum(l.ol_quantity), 0) OR s.s_order_cnt <> count(l.ol_o_id)
$$;
