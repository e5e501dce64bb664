-- An order of any customer: its number is behind those that there are of him, and in the midst of all orders.
CREATE FUNCTION put(of integer, numbered integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO orders VALUES (of, numbered, 1);
END
$$;
CREATE FUNCTION last_orders(of integer) RETURNS SETOF integer LANGUAGE sql AS $$
    SELECT amount FROM orders WHERE customer = of ORDER BY number DESC LIMIT 5
$$;
