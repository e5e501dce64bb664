//! Foreign keys hold when calls by generated code conflict: these calls are serializable, like
//! those of the interpreter.

#[path = "../../../../sql/codegen/tests/shop/code/mod.rs"]
#[allow(unused, clippy::all, reason = "a program has written it")]
mod shop;
#[path = "../../../../sql/datagen/tests/loaded/small.rs"]
mod small;

use datagen::{Batches, Population, Scale, load_part};
use fabric::{Env, LocalEnv, run_now};
use interpreter::{CallError, Settings, create, default_design};
use procedure::Workload;
use procedure_runtime::{Argument, BindError, Call, Caller, Counts, Generated, Stop};
use small::{path, small};
use std::cell::RefCell;
use txn::local::{OpenConfig, open};
use txn::{Database, Lane};

const SERVER_BYTES: u64 = 256 << 20;
/// Rows per transaction of the load.
const BATCH_ROWS: usize = 50;
/// A customer without references, and an existing purchase.
const CUSTOMER: i64 = 77;
const PURCHASE: i64 = 3;

thread_local! {
    static MEANWHILE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// Generated code that runs another call once before its own commit.
#[derive(Clone, Copy)]
struct Held(shop::Tables);

impl Generated for Held {
    const WORKLOAD: &'static str = <shop::Tables as Generated>::WORKLOAD;
    const PROCEDURES: &'static [&'static str] = <shop::Tables as Generated>::PROCEDURES;
    const FINGERPRINT: u32 = <shop::Tables as Generated>::FINGERPRINT;

    fn find<E: Env>(database: &Database<E>) -> Result<Self, BindError> {
        shop::Tables::find(database).map(Self)
    }

    async fn run<E: Env>(
        self,
        call: &mut Call<'_, '_, E>,
        procedure: usize,
        arguments: &[Argument<'_>],
    ) -> Result<(), Stop> {
        let ended = self.0.run(call, procedure, arguments).await;
        if let Some(meanwhile) = MEANWHILE.take() {
            meanwhile();
        }
        ended
    }
}

/// A lane with the shop's procedures.
struct Client {
    lane: Lane<LocalEnv>,
    caller: Caller<Held>,
}

impl Client {
    fn open(database: &Database<LocalEnv>, workload: &Workload) -> Self {
        let lane = run_now(database.lane()).expect("lanes are free");
        let caller = Caller::open(database, workload, Settings::default());
        Self { lane, caller: caller.unwrap_or_else(|error| panic!("{error}")) }
    }

    /// Executes a call; returns the code of its error, if any.
    fn call(&mut self, name: &str, arguments: &[Argument<'_>]) -> Option<String> {
        let procedure = self.caller.find(name).expect("there is such a procedure");
        match run_now(self.caller.call(&mut self.lane, procedure, arguments)) {
            Ok(_) => None,
            Err(CallError::Sql(error)) => Some(error.sqlstate.to_string()),
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

fn two_clients() -> [Client; 2] {
    let folder = small("shop");
    let scale = Scale { units: 1, seed: 1, now_us: 0 };
    let population = Population::new(&folder.program, &folder.load, scale);
    let population = population.unwrap_or_else(|error| panic!("{error}"));
    let workload = Workload::read(&path("shop")).unwrap_or_else(|error| panic!("{error}"));
    let config = OpenConfig { servers: 1, server_bytes: SERVER_BYTES, ..OpenConfig::default() };
    let database = open(&config).expect("memory can be mapped");
    let design = default_design(&workload, &|_| 1_000);
    run_now(create(&database, &workload.catalog, &design)).expect("the tables are new");
    let mut lane = run_now(database.lane()).expect("lanes are free");
    for table in 0..population.tables().count() {
        let loaded = load_part(
            &population,
            &database,
            &mut lane,
            table,
            (0, 1),
            Batches::of(BATCH_ROWS),
            &|_| {},
        );
        run_now(loaded).unwrap_or_else(|error| panic!("{error}"));
    }
    [Client::open(&database, &workload), Client::open(&database, &workload)]
}

fn enrol(client: &mut Client) {
    let (id, null) = (Argument::Int(CUSTOMER), Argument::Null);
    let arguments = [id, Argument::Text(b"new"), Argument::Text(b"DE"), null, null, null];
    assert_eq!(client.call("enrol", &arguments), None);
}

#[test]
fn a_delete_of_a_row_being_referred_to_conflicts() {
    let [mut one, mut other] = two_clients();
    enrol(&mut one);
    let before = one.caller.counts();
    let leaves = move || assert_eq!(other.call("leave", &[Argument::Int(CUSTOMER)]), None);
    MEANWHILE.set(Some(Box::new(leaves)));
    let arguments = [Argument::Int(PURCHASE), Argument::Int(CUSTOMER)];
    assert_eq!(one.call("move_purchase", &arguments).as_deref(), Some("23503"));
    let Counts { deviated, retries, .. } = one.caller.counts();
    // After the conflict, the row was missing, and the interpreter reported it.
    assert_eq!((deviated, retries), (before.deviated + 1, before.retries + 1));
}

#[test]
fn an_insert_that_refers_to_a_row_being_deleted_conflicts() {
    let [mut one, mut other] = two_clients();
    enrol(&mut one);
    let refers = move || {
        let arguments = [Argument::Int(PURCHASE), Argument::Int(CUSTOMER)];
        assert_eq!(other.call("move_purchase", &arguments), None);
    };
    MEANWHILE.set(Some(Box::new(refers)));
    assert_eq!(one.call("leave", &[Argument::Int(CUSTOMER)]).as_deref(), Some("23503"));
}
