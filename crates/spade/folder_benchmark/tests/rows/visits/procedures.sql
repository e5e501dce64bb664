-- Somebody comes.
CREATE FUNCTION come(visitor bigint, place integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO visit VALUES (visitor, place);
END
$$;

-- Two come together, with numbers below 0.
CREATE FUNCTION come_in_pairs(visitor bigint, place integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO visit VALUES (-2 * visitor, place);
    INSERT INTO visit VALUES (-2 * visitor - 1, place);
END
$$;

-- One of the first visitors leaves.
CREATE FUNCTION leave(visitor bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM visit WHERE id = visitor;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no visitor %', visitor;
    END IF;
END
$$;

-- A room gets another bed; gives nothing where there is none.
CREATE FUNCTION add_bed(place integer) RETURNS SETOF integer LANGUAGE sql AS $$
    UPDATE room SET beds = beds + 1 WHERE id = place RETURNING beds
$$;
