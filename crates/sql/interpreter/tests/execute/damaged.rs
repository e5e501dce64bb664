//! Invalid UTF-8: SQL never stores it, but keys may be built of any bytes, and memory may be
//! damaged.

use crate::database::{Calls, ints};
use fabric::{Batch, Fabric, run_now};
use layout::region::HEADER_BYTES;
use layout::{GlobalPtr, KeyBuilder, RegionId, WORD_BYTES};
use sql_value::Value;
use txn::{Isolation, Outcome};

const SCHEMA: &str = "
    CREATE TABLE note (id integer PRIMARY KEY, name varchar(20) NOT NULL, body varchar(5000));
    CREATE TABLE place (code varchar(8) PRIMARY KEY, amount integer NOT NULL);
";
const PROCEDURES: &str = "
    CREATE FUNCTION fill() RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO note VALUES (1, 'a name of its own', 'nothing'),
            (2, 'second', 'a text that is kept elsewhere'), (3, 'fine', 'as well');
        INSERT INTO place VALUES ('fine', 30);
    END $$;
    CREATE FUNCTION name_of(n integer) RETURNS varchar LANGUAGE sql AS $$
        SELECT name FROM note WHERE id = n $$;
    CREATE FUNCTION name_into(n integer) RETURNS varchar LANGUAGE plpgsql AS $$
    DECLARE found varchar := 'a text that is so long that it has memory of its own';
    BEGIN
        SELECT name INTO found FROM note WHERE id = n;
        RETURN found;
    END $$;
    CREATE FUNCTION initial(n integer) RETURNS varchar LANGUAGE sql AS $$
        SELECT left(name, 1) FROM note WHERE id = n $$;
    CREATE FUNCTION named(n integer) RETURNS bigint LANGUAGE sql AS $$
        SELECT count(*) FROM note WHERE name = 'fine' AND n > 0 $$;
    CREATE FUNCTION body_of(n integer) RETURNS varchar LANGUAGE sql AS $$
        SELECT body FROM note WHERE id = n $$;
    CREATE FUNCTION codes() RETURNS SETOF varchar LANGUAGE sql AS $$ SELECT code FROM place $$;
    CREATE FUNCTION amounts() RETURNS bigint LANGUAGE sql AS $$ SELECT sum(amount) FROM place $$;
";

fn filled() -> Calls {
    let mut calls = Calls::new(SCHEMA, PROCEDURES);
    calls.call("fill", &[]).expect("the rows are fine");
    calls
}

/// Overwrites all copies of a text in the only memory server's region, bypassing the engine.
fn damage(calls: &Calls, text: &str, with: &[u8]) {
    assert_eq!(text.len(), with.len());
    const WORDS: u32 = 1 << 17;
    let env = calls.lane.env();
    let bytes = env.world().region_bytes(RegionId(0));
    let mut places = Vec::new();
    for at in (HEADER_BYTES..bytes).step_by(WORDS as usize * WORD_BYTES as usize) {
        let words = ((bytes - at) / WORD_BYTES).min(u64::from(WORDS)) as u32;
        let mut batch = Batch::new();
        let read = batch.read(GlobalPtr::new(RegionId(0), at), words);
        env.execute_now(&mut batch).expect("inside the region");
        let found = batch.words(read);
        if found.iter().all(|word| *word == 0) {
            continue;
        }
        let found: Vec<u8> = found.iter().flat_map(|word| word.to_le_bytes()).collect();
        let found =
            found.windows(text.len()).enumerate().filter(|(_, part)| *part == text.as_bytes());
        places.extend(found.map(|(place, _)| at + place as u64));
    }
    assert!(!places.is_empty(), "{text} is not in the region");
    for (place, byte) in places.iter().flat_map(|place| (*place..).zip(with)) {
        let word = GlobalPtr::new(RegionId(0), place / WORD_BYTES * WORD_BYTES);
        let mut batch = Batch::new();
        let read = batch.read(word, 1);
        env.execute_now(&mut batch).expect("inside the region");
        let mut bytes = batch.words(read)[0].to_le_bytes();
        bytes[(place % WORD_BYTES) as usize] = *byte;
        let mut batch = Batch::new();
        batch.write_word(word, u64::from_le_bytes(bytes));
        env.execute_now(&mut batch).expect("inside the region");
    }
}

/// Asserts that a call fails with PostgreSQL's error for such bytes, which says where they are.
fn refused(calls: &mut Calls, name: &str, arguments: &[Value], bytes: &str, column: &str) {
    let (code, message, detail) = calls.call(name, arguments).expect_err("an error is due");
    assert_eq!(code, "22021", "{name}: {message}");
    assert_eq!(message, format!("invalid byte sequence for encoding \"UTF8\": {bytes}"), "{name}");
    assert_eq!(detail, Some(format!("The value is in {column}.")), "{name}");
}

#[test]
fn a_damaged_text_is_an_error_and_not_an_empty_one() {
    let mut calls = filled();
    assert_eq!(calls.value("name_of", &ints(&[1])), "a name of its own".into());
    assert_eq!(calls.value("body_of", &ints(&[2])), "a text that is kept elsewhere".into());
    damage(&calls, "a name of its own", b"a name \xe2\x28\xa1its own");
    damage(&calls, "a text that is kept elsewhere", b"a text that is kept elsewher\xff");
    let column = "column \"name\" of relation \"note\"";
    for name in ["name_of", "name_into", "initial", "named"] {
        refused(&mut calls, name, &ints(&[1]), "0xe2 0x28 0xa1", column);
    }
    let column = "column \"body\" of relation \"note\"";
    refused(&mut calls, "body_of", &ints(&[2]), "0xff", column);
    // Readers of other rows are not affected.
    assert_eq!(calls.value("name_into", &ints(&[3])), "fine".into());
    assert_eq!(calls.value("body_of", &ints(&[3])), "as well".into());
}

#[test]
fn a_key_of_any_bytes_is_an_error_where_it_is_read_as_text() {
    let mut calls = filled();
    let place = calls.database.table("place").expect("it was made");
    let key = KeyBuilder::new().padded(&[b'a', 0xc3], 8).key();
    let outcome = run_now(async {
        let mut txn = calls.lane.begin(Isolation::Snapshot).await.expect("it begins");
        let row = txn.insert(place, &key).await.expect("it is new");
        txn.update(row).set_int(1, 12);
        txn.commit().await
    });
    assert_eq!(outcome, Outcome::Committed);
    let column = "column \"code\" of relation \"place\"";
    refused(&mut calls, "codes", &[], "0xc3", column);
    assert_eq!(calls.value("amounts", &[]), Value::Int(42), "the text is not looked at");
}
