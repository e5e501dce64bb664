//! One run reports all errors of a folder.

use sql::{ERRORS_SHOWN_MAX, WorkloadFolder};
use std::path::PathBuf;

const SCHEMA: &str = "CREATE TABEL lost (id integer PRIMARY KEY);
CREATE TABLE item (
    id serial PRIMARY KEY,
    name text NOT NULL,
    price numeric(8, 2)
);
COMMENT ON TABLE item IS 'things';
CREATE INDEX item_nmae ON item (nmae);
CREATE TABLE note (id integer PRIMARY KEY, about integer REFERENCES lost);
";

const PROCEDURES: &str = "CREATE FUNCTION first(a integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    n integer;
    r recrd; s record;
BEGIN
    SELECT prise INTO n FROM item WHERE id = a;
    IF curent_user = 'x' THEN
        SELCT 1;
    END IF;
    FOR s IN SELECT id, nothing FROM note LOOP
        n := n + s.id;
    END LOOP;
    SELECT id INTO n FROM lost;
    RETURN second(n);
END $$;
CREATE FUNCTION second(b integer) RETURNS integer LANGUAGE sql AS $$ SELECT b + lowr('x') $$;
CREATE FUNCTION third(c integer) RETURNS jsonbb LANGUAGE sql AS $$ SELECT 1 $$;
CREATE FUNCTION fourth(d integer) RETURNS integer LANGUAGE sql AS $$ SELECT prize FROM item WHERE id = d $$;
";

const LOAD: &str = "name = \"shop\"
unit = \"shop\"
units = 1
[tables.lost]
rows = 1
[tables.item]
rows = 10
colums.id = { sequence = [1, 10] }
columns.price = { uniform = [1, 10], decimal = 2 }
columns.weight = { constant = 1 }
[procedures.first]
frequency = 1
arguments.a = { chance = 0.5 }
[procedures.secnd]
frequency = 1
[procedures.third]
frequency = 1
[procedures.fourth]
frequency = -1
";

/// The position of each error, and a part of its message.
const EXPECTED: [(&str, &str); 22] = [
    ("schema.sql:1:1", "is `TABLE` meant?"),
    ("schema.sql:3:8", "serial"),
    ("schema.sql:4:10", "varchar(n)"),
    ("schema.sql:7:1", "COMMENT in a schema"),
    ("schema.sql:8:33", "no column `nmae`"),
    ("procedures.sql:4:7", "there is no type `recrd`"),
    ("procedures.sql:6:12", "`prise`"),
    ("procedures.sql:7:8", "`curent_user`"),
    ("procedures.sql:8:9", "is `SELECT` meant?"),
    ("procedures.sql:10:25", "`nothing`"),
    ("procedures.sql:14:12", "procedures cannot call each other"),
    ("procedures.sql:16:81", "is `lower` meant?"),
    ("procedures.sql:17:42", "there is no type `jsonbb`"),
    ("procedures.sql:18:77", "`prize`"),
    ("workload.toml:8:1", "is `columns` meant?"),
    ("workload.toml:9:38", "is `decimals` meant?"),
    ("workload.toml:10:9", "there is no column `weight`"),
    ("workload.toml:13:15", "integer is required"),
    ("workload.toml:14:13", "no procedure `secnd`"),
    ("workload.toml:14:13", "the parameter `b` has no draw"),
    ("workload.toml:", "no entry for `note`"),
    ("workload.toml:19:13", "a frequency must be at least 0"),
];

fn folder(name: &str, files: [&str; 3]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("namdb-errors-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is room");
    for (file, text) in ["schema.sql", "procedures.sql", "workload.toml"].iter().zip(files) {
        std::fs::write(folder.join(file), text).expect("there is room");
    }
    folder
}

#[test]
fn all_errors_of_a_folder_are_reported_in_one_run() {
    let folder = folder("all", [SCHEMA, PROCEDURES, LOAD]);
    let errors = WorkloadFolder::read(&folder).expect_err("nearly all of it is wrong");
    let told = errors.to_string().replace(&format!("{}/", folder.display()), "");
    for (place, sentence) in EXPECTED {
        let is_told = told.lines().any(|line| line.starts_with(place) && line.contains(sentence));
        assert!(is_told, "{place} {sentence}:\n{told}");
    }
    // Errors that follow from other errors are not reported.
    assert_eq!(errors.iter().count(), EXPECTED.len(), "{told}");
    assert!(told.ends_with("22 errors"), "{told}");
    std::fs::remove_dir_all(folder).expect("it is ours");
}

#[test]
fn a_mended_folder_has_no_error_and_a_long_list_is_bounded() {
    let schema = "CREATE TABLE t (id integer PRIMARY KEY);";
    let procedures = "CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS $$ SELECT 1 $$;";
    let load = "name = \"x\"\nunit = \"x\"\nunits = 1\ntables.t = { rows = 0 }\nprocedures.f = { frequency = 1 }\n";
    let right = folder("right", [schema, procedures, load]);
    WorkloadFolder::read(&right).unwrap_or_else(|error| panic!("{error}"));
    let many: String = (0..150).map(|n| format!("CREATE TABLE t{n} (a intger);\n")).collect();
    let wrong = folder("many", [&many, procedures, load]);
    let errors = WorkloadFolder::read(&wrong).expect_err("no type is right");
    let told = errors.to_string();
    assert_eq!(told.lines().count(), ERRORS_SHOWN_MAX + 1, "{told}");
    // One for each type, and one for the unknown table of the load.
    assert!(told.ends_with("the first 100 are shown") && errors.iter().count() >= 150, "{told}");
    std::fs::remove_dir_all(right).expect("it is ours");
    std::fs::remove_dir_all(wrong).expect("it is ours");
}
