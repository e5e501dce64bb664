//! How calls end: by errors that their procedures raise on purpose, with any code, or by unexpected
//! errors.

use datagen::Call;
use fabric::{LocalEnv, run_now};
use folder_benchmark::{Callee, Options, Stored};
use sql_value::Value;
use std::path::Path;
use txn::local::{OpenConfig, open};
use txn::{Isolation, Lane};
use workload::{TransactionResult, Workload};

const SCHEMA: &str = "CREATE TABLE seat (id integer PRIMARY KEY);";
/// The second procedure raises nothing, and the third raises a code that the engine uses, too. None
/// reads rows, so none needs a plan.
const PROCEDURES: &str = "
CREATE FUNCTION refuses(n integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    RAISE WARNING 'the code of a warning ends nothing' USING ERRCODE = '22012';
    CASE n
        WHEN 1 THEN
            FOR i IN 1 .. n LOOP
                IF i = 1 THEN
                    RAISE EXCEPTION 'no seat %', i USING ERRCODE = 'P0042';
                END IF;
            END LOOP;
        WHEN 2 THEN RAISE EXCEPTION 'no seats';
        WHEN 3 THEN RAISE EXCEPTION 'too many seats' USING ERRCODE = 'insufficient_resources';
        ELSE RETURN 1 / n;
    END CASE;
    RETURN n;
END
$$;
CREATE FUNCTION divides(n integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN 1 / n; END $$;
CREATE FUNCTION raises_as_the_engine_does(n integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    IF n = 0 THEN
        RAISE EXCEPTION 'not by %', n USING ERRCODE = '22012';
    END IF;
    RETURN 1 / n;
END
$$;
";
const LOAD: &str = "
name = \"ends\"
unit = \"10 seats\"
units = 1
[tables.seat]
rows = \"10 * units\"
columns.id = { sequence = [1, \"seat.rows\"] }
[procedures.refuses]
frequency = 1
arguments.n = { uniform = [0, 9] }
[procedures.divides]
frequency = 1
arguments.n = { uniform = [0, 9] }
[procedures.raises_as_the_engine_does]
frequency = 1
arguments.n = { uniform = [0, 9] }
";

fn stored() -> Stored {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ends");
    std::fs::create_dir_all(folder.join("plans")).expect("the folder is cargo's");
    for (file, text) in
        [("schema.sql", SCHEMA), ("procedures.sql", PROCEDURES), ("workload.toml", LOAD)]
    {
        std::fs::write(folder.join(file), text).expect("the folder is cargo's");
    }
    let options = Options {
        units: None,
        wants_plans: true,
        linked: &[],
        design: None,
        isolation: Isolation::Snapshot,
        seed: 1,
    };
    Stored::read(&folder, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// How a call of a procedure, given by position, ends.
fn end(
    (callee, lane): (&mut Callee, &mut Lane<LocalEnv>),
    procedure: usize,
    n: i64,
) -> Result<TransactionResult, String> {
    let ready = callee.ready(Call { procedure, arguments: vec![Value::Int(n)] });
    let ended = run_now(callee.carry_out(lane, &ready));
    ended.map(|finished| finished.result).map_err(|error| error.to_string())
}

#[test]
fn raised_exceptions_are_expected_and_errors_of_the_engine_are_not() {
    let stored = stored();
    let database = open(&OpenConfig { server_bytes: 256 << 20, ..OpenConfig::default() });
    let database = database.expect("memory can be mapped");
    let made = Workload::<LocalEnv>::create_tables(&stored, &database);
    run_now(made).unwrap_or_else(|error| panic!("{error}"));
    let mut lane = run_now(database.lane()).expect("lanes are free");
    let mut callee = stored.callee(&database).unwrap_or_else(|error| panic!("{error}"));
    let mut ends = |procedure, n| end((&mut callee, &mut lane), procedure, n);
    for n in [1, 2, 3] {
        assert!(matches!(ends(0, n), Ok(TransactionResult::RolledBack)), "{n}");
    }
    assert!(matches!(ends(0, 4), Ok(TransactionResult::Committed)));
    for procedure in [0, 1] {
        let told = ends(procedure, 0).expect_err("nobody divides by zero");
        assert!(told.contains("(0) ended with SQLSTATE 22012: division by zero"), "{told}");
    }
    assert!(matches!(ends(2, 0), Ok(TransactionResult::RolledBack)));
    assert!(stored.rules().are_kept(0, "P0042") && !stored.rules().are_kept(1, "P0042"));
}
