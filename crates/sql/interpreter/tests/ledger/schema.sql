-- Accounts, and the transfers between them: an append-only table without a primary key.
CREATE TABLE account (
    id integer PRIMARY KEY,
    owner varchar(24) NOT NULL,
    balance numeric(12, 2) NOT NULL CHECK (balance >= 0)
);

CREATE TABLE transfer (
    sender integer NOT NULL REFERENCES account (id),
    receiver integer NOT NULL REFERENCES account (id),
    amount numeric(12, 2) NOT NULL CHECK (amount > 0),
    note varchar(12),
    CONSTRAINT between_two CHECK (sender <> receiver)
);

CREATE INDEX transfer_sender ON transfer (sender);
