-- TATP: what holds whenever nobody writes. Each check gives back the rows that are wrong. How often procedures succeed is
-- expected by workload.toml.

CREATE FUNCTION access_is_of_a_subscriber()
RETURNS TABLE (subscriber_id integer, access_type smallint) LANGUAGE sql STABLE AS $$
    SELECT a.s_id, a.ai_type
    FROM access_info a
    LEFT JOIN subscriber s ON s.s_id = a.s_id
    WHERE s.s_id IS NULL OR a.ai_type < 1 OR a.ai_type > 4
$$;

CREATE FUNCTION facilities_are_of_a_subscriber()
RETURNS TABLE (subscriber_id integer, facility_type smallint) LANGUAGE sql STABLE AS $$
    SELECT f.s_id, f.sf_type
    FROM special_facility f
    LEFT JOIN subscriber s ON s.s_id = f.s_id
    WHERE s.s_id IS NULL OR f.sf_type < 1 OR f.sf_type > 4
$$;

CREATE FUNCTION forwarding_is_of_a_facility()
RETURNS TABLE (subscriber_id integer, facility_type smallint, starts smallint) LANGUAGE sql STABLE AS $$
    SELECT c.s_id, c.sf_type, c.start_time
    FROM call_forwarding c
    LEFT JOIN special_facility f ON f.s_id = c.s_id AND f.sf_type = c.sf_type
    WHERE f.s_id IS NULL OR c.start_time NOT IN (0, 8, 16)
$$;

CREATE FUNCTION subscribers_have_one_to_four_of_each()
RETURNS TABLE (subscriber_id integer, accesses bigint) LANGUAGE sql STABLE AS $$
    SELECT s.s_id, count(a.ai_type)
    FROM subscriber s
    LEFT JOIN access_info a ON a.s_id = s.s_id
    GROUP BY s.s_id
    HAVING count(a.ai_type) < 1 OR count(a.ai_type) > 4
$$;

CREATE FUNCTION numbers_are_those_of_their_subscribers()
RETURNS TABLE (subscriber_id integer, subscriber_number char(15)) LANGUAGE sql STABLE AS $$
    SELECT s.s_id, s.sub_nbr
    FROM subscriber s
    WHERE s.sub_nbr::bigint <> s.s_id
$$;
