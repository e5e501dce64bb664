-- YCSB [Cooper et al. 2010]: its operations, each a function that is one transaction, and a transaction of several.

-- Delivers a record.
CREATE FUNCTION read_record(record_key bigint) RETURNS TABLE (
    ycsb_key bigint, counter bigint, field0 varchar(100), field1 varchar(100), field2 varchar(100),
    field3 varchar(100), field4 varchar(100), field5 varchar(100), field6 varchar(100), field7 varchar(100),
    field8 varchar(100), field9 varchar(100)
) LANGUAGE sql STABLE AS $$
    SELECT u.ycsb_key, u.counter, u.field0, u.field1, u.field2, u.field3, u.field4, u.field5, u.field6, u.field7,
        u.field8, u.field9
    FROM usertable u
    WHERE u.ycsb_key = record_key
$$;

-- Counts a record up and rewrites one of its fields, 0 to 9; returns the new count, or null if there is no such record.
CREATE FUNCTION update_record(record_key bigint, field integer, content varchar(100))
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    new_counter bigint;
BEGIN
    CASE field
        WHEN 0 THEN
            UPDATE usertable SET counter = counter + 1, field0 = content WHERE ycsb_key = record_key
            RETURNING counter INTO new_counter;
        WHEN 1 THEN
            UPDATE usertable SET counter = counter + 1, field1 = content WHERE ycsb_key = record_key
            RETURNING counter INTO new_counter;
        WHEN 2 THEN
            UPDATE usertable SET counter = counter + 1, field2 = content WHERE ycsb_key = record_key
            RETURNING counter INTO new_counter;
        WHEN 3 THEN
            UPDATE usertable SET counter = counter + 1, field3 = content WHERE ycsb_key = record_key
            RETURNING counter INTO new_counter;
        WHEN 4 THEN
            UPDATE usertable SET counter = counter + 1, field4 = content WHERE ycsb_key = record_key
            RETURNING counter INTO new_counter;
        WHEN 5 THEN
            UPDATE usertable SET counter = counter + 1, field5 = content WHERE ycsb_key = record_key
            RETURNING counter INTO new_counter;
        WHEN 6 THEN
            UPDATE usertable SET counter = counter + 1, field6 = content WHERE ycsb_key = record_key
            RETURNING counter INTO new_counter;
        WHEN 7 THEN
            UPDATE usertable SET counter = counter + 1, field7 = content WHERE ycsb_key = record_key
            RETURNING counter INTO new_counter;
        WHEN 8 THEN
            UPDATE usertable SET counter = counter + 1, field8 = content WHERE ycsb_key = record_key
            RETURNING counter INTO new_counter;
        WHEN 9 THEN
            UPDATE usertable SET counter = counter + 1, field9 = content WHERE ycsb_key = record_key
            RETURNING counter INTO new_counter;
        ELSE
            RAISE EXCEPTION 'A record has no field %', field;
    END CASE;
    RETURN new_counter;
END
$$;

-- Adds a record with ten fields.
CREATE FUNCTION insert_record(record_key bigint, contents varchar(100)[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO usertable (ycsb_key, counter, field0, field1, field2, field3, field4, field5, field6, field7, field8, field9)
    VALUES (record_key, 0, contents[1], contents[2], contents[3], contents[4], contents[5],
        contents[6], contents[7], contents[8], contents[9], contents[10]);
END
$$;

-- Delivers the records from a key on.
CREATE FUNCTION scan_records(first_key bigint, length integer) RETURNS TABLE (
    ycsb_key bigint, counter bigint, field0 varchar(100), field1 varchar(100), field2 varchar(100),
    field3 varchar(100), field4 varchar(100), field5 varchar(100), field6 varchar(100), field7 varchar(100),
    field8 varchar(100), field9 varchar(100)
) LANGUAGE sql STABLE AS $$
    SELECT u.ycsb_key, u.counter, u.field0, u.field1, u.field2, u.field3, u.field4, u.field5, u.field6, u.field7,
        u.field8, u.field9
    FROM usertable u
    WHERE u.ycsb_key >= first_key
    ORDER BY u.ycsb_key
    LIMIT length
$$;

-- Reads several records and counts some of them up; returns how many were there.
CREATE FUNCTION multi_operation(record_keys bigint[], is_update boolean[], content varchar(100))
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    seen usertable%ROWTYPE;
    found_count integer := 0;
BEGIN
    FOR operation IN 1..cardinality(record_keys) LOOP
        SELECT * INTO seen FROM usertable WHERE ycsb_key = record_keys[operation];
        IF FOUND THEN
            found_count := found_count + 1;
            IF is_update[operation] THEN
                UPDATE usertable SET counter = seen.counter + 1, field0 = content
                WHERE ycsb_key = record_keys[operation];
            END IF;
        END IF;
    END LOOP;
    RETURN found_count;
END
$$;
