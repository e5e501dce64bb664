-- 100 records.

INSERT INTO usertable SELECT k, 0, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j' FROM generate_series(0, 99) k;

DO $$
DECLARE
    seen record;
BEGIN
    SELECT * INTO STRICT seen FROM read_record(7);
    ASSERT (seen.ycsb_key, seen.counter, seen.field0, seen.field9) = (7, 0, 'a', 'j'), seen::text;
    ASSERT (SELECT count(*) FROM read_record(100)) = 0;

    FOR field IN 0..9 LOOP
        ASSERT update_record(7, field, 'new ' || field) = field + 1;
    END LOOP;
    ASSERT update_record(100, 0, 'new') IS NULL;
    SELECT * INTO STRICT seen FROM read_record(7);
    ASSERT (seen.counter, seen.field0, seen.field4, seen.field9) = (10, 'new 0', 'new 4', 'new 9'), seen::text;
    BEGIN
        PERFORM update_record(7, 10, 'new');
        ASSERT false, 'there are ten fields';
    EXCEPTION WHEN raise_exception THEN
        ASSERT sqlerrm = 'A record has no field 10';
    END;

    PERFORM insert_record(100, ARRAY['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    SELECT * INTO STRICT seen FROM read_record(100);
    ASSERT (seen.counter, seen.field0, seen.field9) = (0, '0', '9'), seen::text;

    ASSERT (SELECT string_agg(ycsb_key::text, ' ') FROM scan_records(97, 3)) = '97 98 99';
    ASSERT (SELECT count(*) FROM scan_records(99, 10)) = 2;

    ASSERT multi_operation(ARRAY[1, 2, 1000, 3], ARRAY[true, false, true, true], 'many') = 3;
    ASSERT (SELECT string_agg(counter || field0, ' ' ORDER BY ycsb_key) FROM usertable WHERE ycsb_key BETWEEN 1 AND 3)
        = '1many 0a 1many';
END
$$;
