CREATE TABLE member (
    id integer PRIMARY KEY,
    country smallint NOT NULL,
    credit bigint NOT NULL
);
CREATE INDEX member_country ON member (country);
CREATE TABLE item (
    id integer PRIMARY KEY,
    category integer NOT NULL,
    ends integer NOT NULL,
    top bigint NOT NULL
);
CREATE INDEX item_category ON item (category, ends);
CREATE INDEX item_ends ON item (ends);
CREATE TABLE watch (
    member integer NOT NULL REFERENCES member (id),
    item integer NOT NULL REFERENCES item (id),
    since integer NOT NULL,
    PRIMARY KEY (member, item)
);
