-- Transfers money from one account to another, and records the transfer.
CREATE FUNCTION pay(payer integer, payee integer, sum numeric, remark varchar) RETURNS numeric
LANGUAGE plpgsql AS $$
DECLARE
    rest numeric(12, 2);
BEGIN
    UPDATE account SET balance = balance - sum WHERE id = payer RETURNING balance INTO rest;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no account %', payer USING ERRCODE = 'P0002';
    END IF;
    UPDATE account SET balance = balance + sum WHERE id = payee;
    INSERT INTO transfer VALUES (payer, payee, sum, remark);
    RETURN rest;
END
$$;

-- The transfers that an account has sent, found through an index.
CREATE FUNCTION sent(payer integer)
RETURNS TABLE (payee integer, sum numeric, remark varchar) LANGUAGE sql AS $$
    SELECT receiver, amount, note FROM transfer WHERE sender = payer ORDER BY receiver, amount, note
$$;

-- The transfers that an account has received, found by a full scan.
CREATE FUNCTION received(p integer) RETURNS TABLE (transfers bigint, total numeric) LANGUAGE sql AS $$
    SELECT count(*), sum(amount) FROM transfer WHERE receiver = p
$$;

-- Updates rows without using a key.
CREATE FUNCTION rename(payer integer, remark varchar) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    changed integer;
BEGIN
    UPDATE transfer SET note = remark WHERE sender = payer AND note IS NULL;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;

-- Deletes them.
CREATE FUNCTION forget(p integer, bound numeric) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    gone integer;
BEGIN
    DELETE FROM transfer WHERE receiver = p AND amount < bound;
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END
$$;
