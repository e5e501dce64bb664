-- SmallBank [Alomari et al. 2008]: the six transactions, each a function that is one transaction. Amounts are cents.
--
-- Each first looks up the customers' accounts; who is not there cannot be served. A payment that is not covered, and
-- savings that would become negative, end without effect by an exception.

-- Empties one customer's accounts into another's checking; returns how much that was.
CREATE FUNCTION amalgamate(customer bigint, other bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    own_name char(64);
    other_name char(64);
    in_savings bigint;
    in_checking bigint;
BEGIN
    SELECT name INTO own_name FROM accounts WHERE customer_id = customer;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no such customer';
    END IF;
    SELECT name INTO other_name FROM accounts WHERE customer_id = other;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no such customer';
    END IF;
    SELECT balance INTO in_savings FROM savings WHERE customer_id = customer;
    SELECT balance INTO in_checking FROM checking WHERE customer_id = customer;

    UPDATE savings SET balance = 0 WHERE customer_id = customer;
    UPDATE checking SET balance = 0 WHERE customer_id = customer;
    UPDATE checking SET balance = balance + in_savings + in_checking WHERE customer_id = other;
    RETURN in_savings + in_checking;
END
$$;

-- What a customer has in both accounts.
CREATE FUNCTION balance(customer bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    own_name char(64);
    in_savings bigint;
    in_checking bigint;
BEGIN
    SELECT a.name INTO own_name FROM accounts a WHERE a.customer_id = customer;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no such customer';
    END IF;
    SELECT s.balance INTO in_savings FROM savings s WHERE s.customer_id = customer;
    SELECT c.balance INTO in_checking FROM checking c WHERE c.customer_id = customer;
    RETURN in_savings + in_checking;
END
$$;

-- Pays into checking; returns the new balance.
CREATE FUNCTION deposit_checking(customer bigint, amount bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    own_name char(64);
    new_balance bigint;
BEGIN
    SELECT name INTO own_name FROM accounts WHERE customer_id = customer;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no such customer';
    END IF;
    UPDATE checking SET balance = balance + amount WHERE customer_id = customer
    RETURNING balance INTO new_balance;
    RETURN new_balance;
END
$$;

-- Moves money from one customer's checking to another's; returns what the first has left there.
CREATE FUNCTION send_payment(customer bigint, other bigint, amount bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    own_name char(64);
    other_name char(64);
    in_checking bigint;
BEGIN
    SELECT name INTO own_name FROM accounts WHERE customer_id = customer;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no such customer';
    END IF;
    SELECT name INTO other_name FROM accounts WHERE customer_id = other;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no such customer';
    END IF;
    SELECT balance INTO in_checking FROM checking WHERE customer_id = customer;
    IF in_checking < amount THEN
        RAISE EXCEPTION 'There is not enough money';
    END IF;
    UPDATE checking SET balance = balance - amount WHERE customer_id = customer;
    UPDATE checking SET balance = balance + amount WHERE customer_id = other;
    RETURN in_checking - amount;
END
$$;

-- Pays into savings, or takes a negative amount out of it; returns the new balance.
CREATE FUNCTION transact_savings(customer bigint, amount bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    own_name char(64);
    in_savings bigint;
BEGIN
    SELECT name INTO own_name FROM accounts WHERE customer_id = customer;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no such customer';
    END IF;
    SELECT balance INTO in_savings FROM savings WHERE customer_id = customer;
    IF in_savings + amount < 0 THEN
        RAISE EXCEPTION 'There is not enough money';
    END IF;
    UPDATE savings SET balance = in_savings + amount WHERE customer_id = customer;
    RETURN in_savings + amount;
END
$$;

-- Takes a check from checking, with a penalty if both accounts together do not cover it; returns what was taken.
CREATE FUNCTION write_check(customer bigint, amount bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    penalty CONSTANT bigint := 100;
    own_name char(64);
    in_savings bigint;
    in_checking bigint;
    charge bigint := amount;
BEGIN
    SELECT name INTO own_name FROM accounts WHERE customer_id = customer;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no such customer';
    END IF;
    SELECT balance INTO in_savings FROM savings WHERE customer_id = customer;
    SELECT balance INTO in_checking FROM checking WHERE customer_id = customer;
    IF in_savings + in_checking < amount THEN
        charge := amount + penalty;
    END IF;
    UPDATE checking SET balance = in_checking - charge WHERE customer_id = customer;
    RETURN charge;
END
$$;
