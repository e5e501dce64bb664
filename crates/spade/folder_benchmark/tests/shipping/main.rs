//! Shipped calls return the same rows and errors as calls that the caller executes.

#[path = "../../../../sql/datagen/tests/loaded/small.rs"]
mod small;

use datagen::{Calls, Mix};
use fabric::{CallError as Refusal, Fabric, LocalEnv, run_now};
use folder_benchmark::shipping::{CALL, Host, OPEN, Opening, Shipped, Shipper};
use folder_benchmark::{Callers, Options, Prepared, ShippedFolder, Stored};
use interpreter::{CallError, Retries, Settings};
use layout::NodeId;
use procedure_runtime::{Cell, Results};
use shipping::{Lanes, Ownership};
use small::{path, small};
use spade::design::{Access, Partition};
use sql::SqlType;
use sql::procedure::Returns;
use std::sync::Arc;
use txn::local::{OpenConfig, open};
use txn::{Database, Isolation, Lane};
use workload::{RunTotals, Workload};

/// Number of memory servers, each with a compute server.
const SERVERS: u16 = 3;
/// Memory of all servers in bytes.
const BYTES: u64 = 3 << 30;
const CALLS: usize = 1_000;

fn node(server: u16) -> NodeId {
    NodeId::of_compute_server(server)
}

/// A small workload whose tables are divided by this column, and whose calls with this argument are
/// shipped.
fn stored(workload: &str, column: &str, argument: &str) -> Stored {
    let options = Options {
        units: Some(u64::from(SERVERS)),
        wants_plans: false,
        linked: &[],
        design: None,
        isolation: Isolation::Snapshot,
        seed: 1,
    };
    let stored = Stored::of(&path(workload), small(workload), &options);
    let stored = stored.unwrap_or_else(|error| panic!("{error}"));
    let mut design = stored.design().clone();
    let catalog = &stored.ready().catalog;
    for table in &mut design.tables {
        let of = catalog.table(&table.table).expect("it is in the schema");
        let first = of.primary_key.first().map(|&at| of.columns[at].name.clone());
        if let Some(first) = first.filter(|first| !of.has_hidden_key() && first.ends_with(column)) {
            table.partition = Partition::By { columns: vec![first], group: "all".to_owned() };
        }
    }
    for procedure in &mut design.procedures {
        let all = &stored.ready().procedures;
        let of = all.iter().find(|of| of.routine.name == procedure.procedure);
        let mut inputs = of.expect("it is in the folder").routine.inputs();
        if inputs.any(|(_, variable)| variable.name == argument) {
            (procedure.access, procedure.by) = (Access::Shipped, Some(argument.to_owned()));
        }
    }
    stored.with_design(design).unwrap_or_else(|error| panic!("{error}"))
}

struct Loaded {
    database: Database<LocalEnv>,
    lane: Lane<LocalEnv>,
    callers: Callers,
}

impl Loaded {
    fn new(stored: &Stored) -> Self {
        let server_bytes = BYTES / u64::from(SERVERS);
        let config = OpenConfig { servers: SERVERS, server_bytes, ..OpenConfig::default() };
        let database = open(&config).expect("memory can be mapped");
        run_now(Workload::<LocalEnv>::create_tables(stored, &database)).expect("there is room");
        let mut lane = run_now(database.lane()).expect("lanes are free");
        run_now(stored.load_part(&database, &mut lane, 0, 1, &|_| ())).expect("there is room");
        let name = Workload::<LocalEnv>::name(stored);
        let callers = Callers::open(name, &database, stored.ready(), Settings::default(), &[]);
        let callers = callers.unwrap_or_else(|error| panic!("{error}"));
        Self { database, lane, callers }
    }

    /// The compute servers near the memory servers, all on this thread.
    fn owned(&self) -> (Arc<Lanes>, [Ownership; 2]) {
        let (lanes, world) = (Lanes::new(2), self.database.env().world());
        let host = Host::new(lanes.clone(), || 0, Vec::new());
        for server in 0..SERVERS {
            host.services().into_iter().for_each(|(id, of)| world.register(node(server), id, of));
        }
        let own = Database::open(world.endpoint(), &self.database.root());
        (lanes, [host.ownership(), Lanes::offer(own)])
    }
}

/// The result of a call as text, without times.
fn told(failure: Option<CallError>, results: &Results, returns: &Returns) -> String {
    let types: Vec<&SqlType> = match returns {
        Returns::Nothing => Vec::new(),
        Returns::Value(sql_type) => vec![sql_type],
        Returns::Row(fields) | Returns::Rows(fields) => {
            fields.iter().map(|field| &field.sql_type).collect()
        }
    };
    let cells = results.cells().zip(types.into_iter().cycle());
    let cells: Vec<Cell<'_>> =
        cells.filter(|(_, of)| **of != SqlType::Timestamp(None)).map(|(cell, _)| cell).collect();
    match failure {
        None => format!("{} rows: {cells:?}", results.rows()),
        Some(failure) => format!("{failure:?}"),
    }
}

/// Executes equal calls by owners and by the caller; returns the number of calls that owners
/// executed.
fn ships_alike(stored: &Stored) -> usize {
    let (mut here, mut away) = (Loaded::new(stored), Loaded::new(stored));
    let (_lanes, _ownership) = away.owned();
    assert!(stored.is_shipped(SERVERS.into()));
    let owners = (0..SERVERS).map(|server| Some(node(server))).collect();
    let mut shipper = Shipper::new(stored.owners(owners, false, false));
    let mut calls = Calls::new(stored.population().clone(), 0, 1, Mix::Deck);
    let (mut shipped, mut results) = (0, Results::default());
    for number in 0..CALLS {
        let call = calls.next_call(0);
        let name = stored.procedure_names()[call.procedure];
        let returns = &stored.ready().procedures[call.procedure].routine.returns;
        let (prepared, is_taken) = Prepared::of(call.arguments);
        assert!(is_taken, "{name}");
        let texts = prepared.texts();
        let arguments = prepared.arguments(&texts);
        let made = |loaded: &mut Loaded| {
            let Loaded { lane, callers, .. } = loaded;
            let id = callers.find(name).expect("it is in the folder");
            match run_now(callers.call(lane, id, &arguments)) {
                Ok(rows) => told(None, rows, returns),
                Err(failure) => told(Some(failure), &Results::default(), returns),
            }
        };
        let expected = made(&mut here);
        let given = match shipper.owner(call.procedure, &arguments) {
            None => made(&mut away),
            Some(owner) => {
                shipped += 1;
                let (env, what) = (away.database.env(), (call.procedure, Retries::default()));
                let ended = run_now(shipper.ship(env, owner, what, &arguments, &mut results));
                let Shipped { failure, aborts } = ended.expect("the owner is there");
                assert_eq!(aborts, []);
                told(failure, &results, returns)
            }
        };
        assert_eq!(given, expected, "{name}, call {number}");
    }
    let totals = RunTotals::new(stored.procedure_names().len());
    for loaded in [&mut here, &mut away] {
        let checks = stored.check(&loaded.database, &mut loaded.lane, &totals, false);
        let checks = run_now(checks).unwrap_or_else(|error| panic!("{error}"));
        // It counts order lines behind those of a full-size load.
        let is_of_size = |name: &str| name == "stock counts its lines";
        assert!(checks.iter().all(|check| check.ok || is_of_size(check.name)), "{checks:?}");
    }
    shipped
}

#[test]
fn owners_return_the_same_results_as_callers() {
    assert_eq!(ships_alike(&stored("smallbank", "customer_id", "customer")), CALLS);
    let shipped = ships_alike(&stored("tatp", "s_id", "subscriber_id"));
    assert!((CALLS / 2..CALLS).contains(&shipped), "two find it by another number: {shipped}");
}

#[test]
fn owners_of_warehouses_take_arrays_and_give_lines() {
    let shipped = ships_alike(&stored("tpcc", "w_id", "home_warehouse"));
    assert!(shipped > CALLS / 2, "{shipped}");
}

fn opening(stored: &Stored) -> Opening {
    Opening {
        files: ShippedFolder::of_procedures(&path("smallbank")).expect("it is shipped"),
        name: Workload::<LocalEnv>::name(stored).to_owned(),
        fingerprint: stored.ready().fingerprint(),
        plans_only: false,
        is_dated: false,
        is_serializable: false,
    }
}

fn opened(env: &LocalEnv, opening: &Opening) -> Result<Vec<u8>, Refusal> {
    run_now(env.call(node(0), OPEN, serde_json::to_vec(opening).expect("it is JSON")))
}

#[test]
fn a_host_opens_a_limited_number_of_folders() {
    let stored = stored("smallbank", "customer_id", "customer");
    let database = open(&OpenConfig { server_bytes: 16 << 20, ..OpenConfig::default() });
    let database = database.expect("little memory");
    let env = database.env();
    let host = Host::new(Lanes::new(1), || 0, Vec::new());
    host.services().into_iter().for_each(|(id, of)| env.world().register(node(0), id, of));
    let named = |number: u32| Opening { name: number.to_string(), ..opening(&stored) };
    for number in 0..64_u32 {
        assert_eq!(opened(env, &named(number)), Ok(number.to_le_bytes().to_vec()));
    }
    let refused = opened(env, &named(64)).expect_err("too many").to_string();
    assert!(refused.contains("it already has 64 folders open"), "{refused}");
    assert!(opened(env, &named(3)).is_ok());
}

/// If an owner refuses a call, the caller executes it; no call is lost or executed twice.
#[test]
fn calls_that_owners_refuse_are_executed_by_the_caller() {
    let stored = stored("smallbank", "customer_id", "customer");
    let mut loaded = Loaded::new(&stored);
    let (lanes, ownership) = loaded.owned();
    // Dropping a table waits for lanes that are not at rest.
    run_now(loaded.lane.rest()).expect("the oracle answers");
    let env = loaded.database.env();
    let opening = opening(&stored);
    assert_eq!(opened(env, &opening), Ok(0_u32.to_le_bytes().to_vec()));
    assert_eq!(opened(env, &opening), Ok(0_u32.to_le_bytes().to_vec()), "it is kept");
    let serializable = Opening { is_serializable: true, ..opening.clone() };
    assert_eq!(opened(env, &serializable), Ok(1_u32.to_le_bytes().to_vec()));
    let refusal = |opening: &Opening| opened(env, opening).expect_err("refused").to_string();
    let other = Opening { fingerprint: 1, ..opening.clone() };
    assert!(refusal(&other).contains("its files have changed since"), "{}", refusal(&other));
    let nothing = Opening { files: ShippedFolder::default(), ..opening.clone() };
    assert!(refusal(&nothing).contains("cannot use the folder"), "{}", refusal(&nothing));
    let elsewhere = r#"{"files":{"../evil.sql":"x"},"has_design":false}"#;
    let files = serde_json::from_str(elsewhere).expect("it is JSON");
    let elsewhere = Opening { files, ..opening.clone() };
    assert!(refusal(&elsewhere).contains("which no workload has"), "{}", refusal(&elsewhere));
    for garbage in [&b""[..], b"{}", &[0; 17]] {
        for service in [OPEN, CALL] {
            let answer = run_now(env.call(node(0), service, garbage.to_vec()));
            assert!(answer.is_err(), "{service:?} {garbage:?}");
        }
    }

    // The second compute server does not exist, and the third memory server has no owner.
    let owners = vec![Some(node(0)), Some(node(SERVERS)), None];
    let owners = stored.owners(owners, false, false);
    let mut shipper = Shipper::new(owners);
    let balance = stored.procedure_names().iter().position(|name| *name == "balance");
    let balance = balance.expect("the workload has it");
    let mut results = Results::default();
    let mut ship = |shipper: &mut Shipper, owner: NodeId| {
        let (what, arguments) =
            ((balance, Retries::default()), [procedure_runtime::Argument::Int(7)]);
        run_now(shipper.ship(env, owner, what, &arguments, &mut results))
    };
    let customers = [1, 1_500, 2_900].map(procedure_runtime::Argument::Int);
    let of = customers.map(|customer| shipper.owner(balance, &[customer]));
    assert_eq!(of, [Some(node(0)), Some(node(SERVERS)), None]);
    assert_eq!(ship(&mut shipper, node(SERVERS)), None);
    assert!(ship(&mut shipper, node(0)).is_some_and(|shipped| shipped.failure.is_none()));
    assert_eq!(lanes.count(), 1);

    // The tables are dropped and created again with other numbers, so that procedures must be
    // opened again.
    let names = Workload::<LocalEnv>::table_names(&stored);
    let left = [(), ()].map(|()| lanes.rest::<LocalEnv>());
    assert_eq!(left, [1, 0], "it was at work since");
    run_now(loaded.database.drop_tables(names)).expect("they are there");
    assert_eq!(ship(&mut shipper, node(0)), None, "the tables are gone");
    run_now(Workload::<LocalEnv>::create_tables(&stored, &loaded.database)).expect("there is room");
    let empty =
        ship(&mut Shipper::new(stored.owners(vec![Some(node(0)); 3], false, false)), node(0));
    assert!(matches!(empty, Some(Shipped { failure: Some(CallError::Sql(_)), .. })), "{empty:?}");

    lanes.end();
    assert_eq!(ship(&mut shipper, node(0)), None, "it ends");
    drop(ownership);
    assert!(refusal(&opening).contains("the compute server ends"));
}
