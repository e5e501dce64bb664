-- A library: books with several copies each, and readers who borrow them.
CREATE TABLE book (
    id integer PRIMARY KEY,
    title varchar(40) NOT NULL,
    copies integer NOT NULL,
    lent integer NOT NULL
);

CREATE TABLE reader (
    id integer PRIMARY KEY,
    name varchar(24) NOT NULL,
    books integer NOT NULL
);
