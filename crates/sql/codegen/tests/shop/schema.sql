-- A typical shop: foreign keys, checks, fixed-length codes, and nullable columns.

CREATE TABLE country (
    code char(2) PRIMARY KEY,
    name varchar(20) NOT NULL,
    tax numeric(4, 2) DEFAULT 0 NOT NULL CHECK (tax BETWEEN 0 AND 50)
);

CREATE TABLE customer (
    id integer PRIMARY KEY,
    name varchar(24) NOT NULL,
    country char(2) NOT NULL REFERENCES country (code),
    advised_by integer REFERENCES customer (id),
    balance numeric(10, 2) DEFAULT 0 NOT NULL CHECK (balance >= -100),
    credit numeric(10, 2) CHECK (credit > 0),
    email varchar(32) UNIQUE,
    CONSTRAINT within_credit CHECK (credit IS NULL OR balance >= -credit)
);

CREATE INDEX customer_advised_by ON customer (advised_by);

CREATE TABLE product (
    sku char(6) PRIMARY KEY,
    label varchar(24) NOT NULL CHECK (label <> ''),
    kind char(3) NOT NULL CHECK (kind IN ('TOY', 'ART', 'X')),
    price numeric(8, 2) NOT NULL CHECK (price > 0),
    stock integer NOT NULL CHECK (stock >= 0),
    reserved integer,
    CONSTRAINT at_most_stock CHECK (reserved BETWEEN 0 AND stock)
);

CREATE INDEX product_kind ON product (kind, price);

CREATE TABLE purchase (
    id integer PRIMARY KEY,
    customer integer NOT NULL REFERENCES customer,
    state char(1) DEFAULT 'N' NOT NULL,
    placed timestamp NOT NULL,
    paid numeric(10, 2) CHECK (paid >= 0),
    CHECK (state = 'N' OR paid IS NOT NULL)
);

CREATE INDEX purchase_customer ON purchase (customer);

CREATE TABLE line (
    purchase integer NOT NULL REFERENCES purchase,
    number smallint NOT NULL CHECK (number > 0),
    sku char(6) NOT NULL REFERENCES product (sku),
    quantity integer NOT NULL,
    amount numeric(10, 2) NOT NULL,
    gift_for integer REFERENCES customer,
    PRIMARY KEY (purchase, number),
    CHECK (quantity > 0 AND quantity <= 50)
);

CREATE INDEX line_of_purchase ON line (purchase);
CREATE INDEX line_sku ON line (sku);
CREATE INDEX line_gift_for ON line (gift_for);

-- A foreign key of two columns, not in the order of the primary key.
CREATE TABLE review (
    line smallint,
    purchase integer,
    stars smallint NOT NULL,
    words varchar(20),
    id integer PRIMARY KEY,
    FOREIGN KEY (line, purchase) REFERENCES line (number, purchase),
    CONSTRAINT stars_or_words CHECK (stars BETWEEN 1 AND 5 OR NOT (words IS NULL OR words = 'bad'))
);

CREATE INDEX review_line ON review (purchase, line);

-- A table without a primary key.
CREATE TABLE visit (
    customer integer REFERENCES customer,
    sku char(6) NOT NULL,
    seconds smallint NOT NULL CHECK (seconds >= 0)
);

CREATE INDEX visit_customer ON visit (customer);

CREATE TABLE wish (
    customer integer NOT NULL REFERENCES customer,
    sku char(6) NOT NULL REFERENCES product,
    strength smallint DEFAULT 1 NOT NULL CHECK (strength < 10),
    PRIMARY KEY (customer, sku)
);

CREATE INDEX wish_customer ON wish (customer);
