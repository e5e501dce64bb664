-- YCSB: what holds whenever nobody writes. Each check gives back the rows that are wrong.

CREATE FUNCTION counters_count_up()
RETURNS TABLE (record_key bigint, counter bigint) LANGUAGE sql STABLE AS $$
    SELECT u.ycsb_key, u.counter
    FROM usertable u
    WHERE u.counter < 0
$$;
