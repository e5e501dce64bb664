-- SmallBank: what holds whenever nobody writes. Each check gives back the rows that are wrong.

CREATE FUNCTION customers_have_both_accounts()
RETURNS TABLE (customer bigint) LANGUAGE sql STABLE AS $$
    SELECT a.customer_id
    FROM accounts a
    LEFT JOIN savings s ON s.customer_id = a.customer_id
    LEFT JOIN checking c ON c.customer_id = a.customer_id
    WHERE s.customer_id IS NULL OR c.customer_id IS NULL
$$;

CREATE FUNCTION savings_are_not_overdrawn()
RETURNS TABLE (customer bigint, balance bigint) LANGUAGE sql STABLE AS $$
    SELECT s.customer_id, s.balance
    FROM savings s
    WHERE s.balance < 0
$$;
