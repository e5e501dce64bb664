-- Ten customers with 1,000 cents in savings and 500 in checking.

INSERT INTO accounts SELECT c, 'customer ' || c FROM generate_series(0, 9) c;
INSERT INTO savings SELECT c, 1000 FROM generate_series(0, 9) c;
INSERT INTO checking SELECT c, 500 FROM generate_series(0, 9) c;

DO $$
BEGIN
    ASSERT balance(1) = 1500;
    ASSERT deposit_checking(1, 130) = 630;
    ASSERT balance(1) = 1630;
    ASSERT transact_savings(1, -1000) = 0;
    BEGIN
        PERFORM transact_savings(1, -1);
        ASSERT false, 'there is nothing left';
    EXCEPTION WHEN raise_exception THEN
    END;
    ASSERT send_payment(1, 2, 630) = 0;
    ASSERT balance(2) = 2130;
    BEGIN
        PERFORM send_payment(1, 2, 1);
        ASSERT false, 'there is nothing left';
    EXCEPTION WHEN raise_exception THEN
    END;
    ASSERT write_check(3, 1500) = 1500;
    ASSERT balance(3) = 0;
    ASSERT write_check(3, 500) = 600;
    ASSERT balance(3) = -600;
    ASSERT amalgamate(2, 1) = 2130;
    ASSERT balance(1) = 2130 AND balance(2) = 0;
    ASSERT (SELECT balance FROM checking WHERE customer_id = 1) = 2130;
    BEGIN
        PERFORM balance(10);
        ASSERT false, 'there is no such customer';
    EXCEPTION WHEN raise_exception THEN
    END;
    ASSERT (SELECT sum(balance) FROM (SELECT balance FROM savings UNION ALL SELECT balance FROM checking) b)
        = 15000 + 130 - 1000 - 1500 - 600;
END
$$;
