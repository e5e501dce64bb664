CREATE TABLE customer (
    id integer PRIMARY KEY,
    orders integer NOT NULL
);
CREATE TABLE orders (
    customer integer NOT NULL,
    number integer NOT NULL,
    amount integer NOT NULL,
    PRIMARY KEY (customer, number)
);
