-- TATP: the seven transactions, each a function that is one transaction.
--
-- Some fail by design, because types of facilities and times are drawn without looking: a read fails by finding no
-- row, a write by an exception, or by a duplicate of a primary key.

-- Always succeeds.
CREATE FUNCTION get_subscriber_data(subscriber_id integer) RETURNS TABLE (
    s_id integer, sub_nbr char(15),
    bit_1 smallint, bit_2 smallint, bit_3 smallint, bit_4 smallint, bit_5 smallint, bit_6 smallint,
    bit_7 smallint, bit_8 smallint, bit_9 smallint, bit_10 smallint, hex_1 smallint, hex_2 smallint,
    hex_3 smallint, hex_4 smallint, hex_5 smallint, hex_6 smallint, hex_7 smallint, hex_8 smallint,
    hex_9 smallint, hex_10 smallint, byte2_1 smallint, byte2_2 smallint, byte2_3 smallint, byte2_4 smallint,
    byte2_5 smallint, byte2_6 smallint, byte2_7 smallint, byte2_8 smallint, byte2_9 smallint, byte2_10 smallint,
    msc_location integer, vlr_location integer
) LANGUAGE sql STABLE AS $$
    SELECT s.s_id, s.sub_nbr,
        s.bit_1, s.bit_2, s.bit_3, s.bit_4, s.bit_5, s.bit_6, s.bit_7, s.bit_8, s.bit_9, s.bit_10, s.hex_1,
        s.hex_2, s.hex_3, s.hex_4, s.hex_5, s.hex_6, s.hex_7, s.hex_8, s.hex_9, s.hex_10, s.byte2_1, s.byte2_2,
        s.byte2_3, s.byte2_4, s.byte2_5, s.byte2_6, s.byte2_7, s.byte2_8, s.byte2_9, s.byte2_10,
        s.msc_location, s.vlr_location
    FROM subscriber s
    WHERE s.s_id = subscriber_id
$$;

-- Succeeds in 14.8 of 100 cases at first, where the specification says 23.9: the facility is there, active, and forwards
-- at that time.
CREATE FUNCTION get_new_destination(
    subscriber_id integer,
    facility_type smallint,
    starts smallint,
    ends smallint
) RETURNS TABLE (numberx char(15)) LANGUAGE plpgsql STABLE AS $$
DECLARE
    active smallint;
    ends_at smallint;
BEGIN
    SELECT sf.is_active INTO active
    FROM special_facility sf
    WHERE sf.s_id = subscriber_id AND sf.sf_type = facility_type;
    IF NOT FOUND THEN
        RETURN;
    END IF;

    -- Calls are forwarded from 0, 8 and 16 on: those that begin early enough are looked for by their keys.
    FOR third IN 0..starts / 8 LOOP
        SELECT cf.end_time, cf.numberx INTO ends_at, numberx
        FROM call_forwarding cf
        WHERE cf.s_id = subscriber_id AND cf.sf_type = facility_type AND cf.start_time = (8 * third)::smallint;
        IF FOUND THEN
            IF active = 1 AND ends < ends_at THEN
                RETURN NEXT;
            END IF;
        END IF;
    END LOOP;
END
$$;

-- Succeeds in 62.5 of 100 cases.
CREATE FUNCTION get_access_data(subscriber_id integer, access_type smallint)
RETURNS TABLE (data1 smallint, data2 smallint, data3 char(3), data4 char(5)) LANGUAGE sql STABLE AS $$
    SELECT ai.data1, ai.data2, ai.data3, ai.data4
    FROM access_info ai
    WHERE ai.s_id = subscriber_id AND ai.ai_type = access_type
$$;

-- Succeeds in 62.5 of 100 cases; otherwise the subscriber's bit stays as it was.
CREATE FUNCTION update_subscriber_data(
    subscriber_id integer,
    new_bit smallint,
    facility_type smallint,
    new_data smallint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE subscriber
    SET bit_1 = new_bit
    WHERE s_id = subscriber_id;

    UPDATE special_facility
    SET data_a = new_data
    WHERE s_id = subscriber_id AND sf_type = facility_type;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'The subscriber has no special facility of this type';
    END IF;
END
$$;

-- Always succeeds.
CREATE FUNCTION update_location(subscriber_number char(15), new_location integer)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE subscriber
    SET vlr_location = new_location
    WHERE sub_nbr = subscriber_number;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no such subscriber';
    END IF;
END
$$;

-- Succeeds in 31.25 of 100 cases: the facility is there, and forwards nothing from that time on yet.
CREATE FUNCTION insert_call_forwarding(
    subscriber_number char(15),
    facility_type smallint,
    starts smallint,
    ends smallint,
    destination char(15)
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    subscriber_id integer;
    found_type smallint;
    has_facility boolean := false;
BEGIN
    SELECT s_id INTO subscriber_id
    FROM subscriber
    WHERE sub_nbr = subscriber_number;

    -- All of the subscriber's facilities are looked at, which are of four types.
    FOR kind IN 1..4 LOOP
        SELECT sf_type INTO found_type
        FROM special_facility
        WHERE s_id = subscriber_id AND sf_type = kind::smallint;
        IF FOUND THEN
            IF found_type = facility_type THEN
                has_facility := true;
            END IF;
        END IF;
    END LOOP;
    IF NOT has_facility THEN
        RAISE EXCEPTION 'The subscriber has no special facility of this type';
    END IF;

    INSERT INTO call_forwarding (s_id, sf_type, start_time, end_time, numberx)
    VALUES (subscriber_id, facility_type, starts, ends, destination);
END
$$;

-- Succeeds in 31.25 of 100 cases.
CREATE FUNCTION delete_call_forwarding(
    subscriber_number char(15),
    facility_type smallint,
    starts smallint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    subscriber_id integer;
BEGIN
    SELECT s_id INTO subscriber_id
    FROM subscriber
    WHERE sub_nbr = subscriber_number;

    DELETE FROM call_forwarding
    WHERE s_id = subscriber_id AND sf_type = facility_type AND start_time = starts;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Nothing is forwarded from this time on';
    END IF;
END
$$;
