-- 100 subscribers; subscriber s has access types 1 to s % 4 + 1, facilities likewise, and every facility of an even
-- type forwards from 0 to 6 and from 8 to 12 o'clock.

INSERT INTO subscriber
SELECT s, lpad(s::text, 15, '0'), 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 255, 77, 88
FROM generate_series(1, 100) s;
INSERT INTO access_info SELECT s, t, 1, 2, 'abc', 'abcde' FROM generate_series(1, 100) s, generate_series(1, s % 4 + 1) t;
INSERT INTO special_facility
SELECT s, t, CASE WHEN s % 10 = 0 THEN 0 ELSE 1 END, 0, 5, 'abcde' FROM generate_series(1, 100) s, generate_series(1, s % 4 + 1) t;
INSERT INTO call_forwarding
SELECT s_id, sf_type, start, CASE start WHEN 0 THEN 6 ELSE 12 END, lpad(start::text, 15, '0')
FROM special_facility, unnest(ARRAY[0, 8]) start WHERE sf_type % 2 = 0;

DO $$
DECLARE
    data record;
BEGIN
    SELECT * INTO STRICT data FROM get_subscriber_data(42);
    ASSERT (data.s_id, data.sub_nbr, data.bit_2, data.hex_10, data.byte2_10, data.msc_location, data.vlr_location)
        = (42, '000000000000042', 1, 10, 255, 77, 88), data::text;
    ASSERT (SELECT count(*) FROM get_subscriber_data(101)) = 0;

    ASSERT (SELECT string_agg(numberx, ' ') FROM get_new_destination(43, 2::smallint, 8::smallint, 9::smallint)) = '000000000000008';
    ASSERT (SELECT count(*) FROM get_new_destination(43, 2::smallint, 16::smallint, 5::smallint)) = 2;
    ASSERT (SELECT count(*) FROM get_new_destination(43, 1::smallint, 8::smallint, 9::smallint)) = 0;
    ASSERT (SELECT count(*) FROM get_new_destination(50, 2::smallint, 8::smallint, 9::smallint)) = 0, 'it is not active';

    ASSERT (SELECT (data1, data2, data3, data4) = (1, 2, 'abc', 'abcde') FROM get_access_data(43, 4::smallint));
    ASSERT (SELECT count(*) FROM get_access_data(44, 4::smallint)) = 0;
END
$$;

DO $$
BEGIN
    PERFORM update_subscriber_data(43, 1::smallint, 3::smallint, 200::smallint);
    ASSERT (SELECT bit_1 FROM subscriber WHERE s_id = 43) = 1;
    ASSERT (SELECT data_a FROM special_facility WHERE s_id = 43 AND sf_type = 3) = 200;
    BEGIN
        PERFORM update_subscriber_data(44, 1::smallint, 3::smallint, 200::smallint);
        ASSERT false, 'there is no such facility';
    EXCEPTION WHEN raise_exception THEN
        ASSERT (SELECT bit_1 FROM subscriber WHERE s_id = 44) = 0, 'the bit stays';
    END;

    PERFORM update_location('000000000000043', 123456);
    ASSERT (SELECT vlr_location FROM subscriber WHERE s_id = 43) = 123456;

    PERFORM insert_call_forwarding('000000000000043', 2::smallint, 16::smallint, 20::smallint, '123456789012345');
    ASSERT (SELECT (end_time, numberx) = (20, '123456789012345') FROM call_forwarding WHERE s_id = 43 AND sf_type = 2 AND start_time = 16);
    BEGIN
        PERFORM insert_call_forwarding('000000000000043', 2::smallint, 16::smallint, 20::smallint, '123456789012345');
        ASSERT false, 'it is there';
    EXCEPTION WHEN unique_violation THEN
    END;
    BEGIN
        PERFORM insert_call_forwarding('000000000000044', 2::smallint, 16::smallint, 20::smallint, '123456789012345');
        ASSERT false, 'there is no such facility';
    EXCEPTION WHEN raise_exception THEN
    END;

    PERFORM delete_call_forwarding('000000000000043', 2::smallint, 16::smallint);
    ASSERT NOT EXISTS (SELECT FROM call_forwarding WHERE s_id = 43 AND sf_type = 2 AND start_time = 16);
    BEGIN
        PERFORM delete_call_forwarding('000000000000043', 2::smallint, 16::smallint);
        ASSERT false, 'it is gone';
    EXCEPTION WHEN raise_exception THEN
    END;
END
$$;
