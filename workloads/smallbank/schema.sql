-- SmallBank [Alomari et al. 2008]: customers with a savings and a checking account. Balances are cents.

CREATE TABLE accounts (
    customer_id bigint NOT NULL,
    name char(64) NOT NULL,
    PRIMARY KEY (customer_id)
);

CREATE TABLE savings (
    customer_id bigint NOT NULL,
    balance bigint NOT NULL,
    PRIMARY KEY (customer_id)
);

CREATE TABLE checking (
    customer_id bigint NOT NULL,
    balance bigint NOT NULL,
    PRIMARY KEY (customer_id)
);
