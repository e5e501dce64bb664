-- Lends a copy of a book to a reader; returns the number of copies left.
CREATE FUNCTION lend(who integer, what integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    at_hand integer;
BEGIN
    SELECT copies - lent INTO at_hand FROM book WHERE id = what;
    IF at_hand <= 0 THEN
        RAISE EXCEPTION 'No copy is left';
    END IF;
    UPDATE book SET lent = lent + 1 WHERE id = what;
    UPDATE reader SET books = books + 1 WHERE id = who;
    RETURN at_hand - 1;
END
$$;

-- A reader returns a copy; returns the number of books that the reader still has.
CREATE FUNCTION bring_back(who integer, what integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    away integer;
    at_home integer;
BEGIN
    SELECT lent INTO away FROM book WHERE id = what;
    SELECT books INTO at_home FROM reader WHERE id = who;
    IF away <= 0 OR at_home <= 0 THEN
        RAISE EXCEPTION 'Nobody has taken it home';
    END IF;
    UPDATE book SET lent = lent - 1 WHERE id = what;
    UPDATE reader SET books = books - 1 WHERE id = who;
    RETURN at_home - 1;
END
$$;

-- Returns title and counts of a book.
CREATE FUNCTION look_up(what integer)
RETURNS TABLE (title varchar, copies integer, lent integer) LANGUAGE sql AS $$
    SELECT b.title, b.copies, b.lent FROM book b WHERE b.id = what
$$;
