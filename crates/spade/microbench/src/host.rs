//! The owner of rows in a real cluster: a compute server that executes operations that others ship
//! to it ([`crate::ship`]).
//!
//! The measuring process makes it the owner of a table by name ([`OWN`]), ships operations on that
//! table ([`SHIPPED`]), and goes on to the next table. All handlers run on one thread, which has
//! the database and the [`Lanes`].

use crate::ship::{self, FOR, SHIPPED, decode};
use crate::subject::Table;
use fabric::{CallError, Env, Reply, Service, ServiceId};
use layout::NodeId;
use shipping::{Lanes, database};
use spade_format::measurement::Operation;
use std::sync::{Arc, Mutex};
use txn::ScanSource;
use workload::TransactionResult;

/// Makes a compute server the owner of a table: the request is the table's name, the response is
/// empty.
pub const OWN: ServiceId = ServiceId(221);

/// The services of a host, with their names.
pub const SERVICES: [(ServiceId, &str); 2] = [(OWN, "own"), (SHIPPED, "shipped")];

/// Executes shipped operations on a compute server.
#[derive(Debug)]
pub struct Host {
    lanes: Arc<Lanes>,
    /// The table that it owns.
    table: Mutex<Option<Table>>,
}

impl Host {
    /// Creates a host that uses these lanes.
    pub fn new(lanes: Arc<Lanes>) -> Arc<Self> {
        Arc::new(Self { lanes, table: Mutex::default() })
    }

    /// Returns its services, for the thread that has database and lanes.
    pub fn services<E: Env>(self: &Arc<Self>) -> [(ServiceId, Arc<dyn Service<E>>); 2] {
        let (own, shipped) = (Own(self.clone()), Shipped(self.clone()));
        [(OWN, Arc::new(own)), (SHIPPED, Arc::new(shipped))]
    }

    async fn own<E: Env>(&self, request: &[u8]) -> Result<Vec<u8>, CallError> {
        let refused = |why: &dyn ToString| CallError::Refused(why.to_string());
        let name =
            std::str::from_utf8(request).map_err(|_| CallError::Malformed("a table's name"))?;
        let database = database::<E>()?;
        database.refresh().await.map_err(|error| refused(&error))?;
        let table = Table::open(&database, name).map_err(|error| refused(&error))?;
        *self.table.lock().expect("no holder panics") = Some(table);
        Ok(Vec::new())
    }

    async fn carry_out<E: Env>(&self, env: &E, request: &[u8]) -> Result<Vec<u8>, CallError> {
        self.lanes.enter()?;
        let task = decode(request).ok_or(CallError::Malformed(FOR))?;
        let table = *self.table.lock().expect("no holder panics");
        let table = table.ok_or_else(|| CallError::Refused("it owns no table yet".to_owned()))?;
        let database = database::<E>()?;
        let source = match table.index.filter(|_| task.by_index) {
            Some(index) => ScanSource::Index(index),
            None => ScanSource::Table(table.id),
        };
        let is_scan = task.operation == Operation::Scan;
        if is_scan && database.is_ordered(source) != Some(true) {
            return Err(CallError::Refused("only trees are scanned".to_owned()));
        }
        let mut lane = self.lanes.take(env, &database).await?;
        let done = ship::carry_out(&mut lane, table, &task).await;
        match &done {
            Ok(done) if done.result != TransactionResult::Unknown => {
                self.lanes.give_back(lane);
            }
            // The lane may be lost.
            _ => self.lanes.lose(lane),
        }
        Ok(done?.answer)
    }
}

struct Own(Arc<Host>);

impl<E: Env> Service<E> for Own {
    fn handle<'a>(&'a self, _env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(self.0.own::<E>(request))
    }
}

struct Shipped(Arc<Host>);

impl<E: Env> Service<E> for Shipped {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(self.0.carry_out(env, request))
    }
}

/// Makes compute servers the owners of the table called `name`.
///
/// # Errors
/// The first server that refuses, and why.
pub async fn own<E: Env>(
    env: &E,
    owners: &[NodeId],
    name: &str,
) -> Result<(), (NodeId, CallError)> {
    for &owner in owners {
        let owned = env.call(owner, OWN, name.as_bytes().to_vec()).await;
        owned.map_err(|error| (owner, error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Task;
    use crate::ship::{encode, outcome};
    use crate::subject::Subject;
    use fabric::{Fabric, LocalEnv, run_now};
    use layout::Storage;
    use shipping::Ownership;
    use spade_format::measurement::{AccessPath, Effort, Parameters, Place, World};
    use txn::Database;
    use txn::local::OpenConfig;

    /// A node that is not a memory server.
    const NODE: NodeId = NodeId::of_compute_server(0);

    /// A point on a tiny table of this storage.
    fn point(storage: Storage) -> Parameters {
        let world = World {
            fabric: "local".to_owned(),
            hardware: "this".to_owned(),
            machines: 1,
            threads: 1,
            lanes: 1,
        };
        let (effort, places) = (Effort::Quick, vec![Place::Shipped]);
        let choice = crate::Choice { world, effort, places, replicates: false };
        let mut points = choice.groups().into_iter().flatten();
        let is_it =
            |point: &Parameters| point.storage == storage && point.path == AccessPath::Primary;
        points.find(is_it).expect("it is measured")
    }

    /// A database with such a table of ten rows.
    fn measured(storage: Storage) -> Database<LocalEnv> {
        let config = OpenConfig { server_bytes: 64 << 20, ..OpenConfig::default() };
        let database = txn::local::open(&config).expect("little memory");
        let subject = Subject::of(&point(storage), 1, 10);
        run_now(database.create_table(subject.spec("measured", None).expect("a row")))
            .expect("there is room");
        let table = Table::open(&database, "measured").expect("it was made");
        let mut lane = run_now(database.lane()).expect("the first");
        run_now(subject.load(&mut lane, table, 0..1, false)).expect("there is room");
        database
    }

    /// Lanes of a host with its own handle of the database, as compute servers have. It runs in the
    /// database's world.
    fn hosted(database: &Database<LocalEnv>, lanes: u32) -> (Arc<Lanes>, Ownership) {
        let (lanes, env) = (Lanes::new(lanes), database.env());
        let own = Database::open(env.world().endpoint(), &database.root());
        run_now(own.refresh()).expect("the catalog is there");
        for (id, service) in Host::new(lanes.clone()).services() {
            env.world().register(NODE, id, service);
        }
        (lanes, Lanes::offer(own))
    }

    fn refusal(answer: Result<Vec<u8>, CallError>) -> String {
        answer.expect_err("refused").to_string()
    }

    fn lookup(keys: &[i64]) -> Vec<u8> {
        let (operation, keys) = (Operation::Lookup, keys.to_vec());
        encode(&Task { operation, by_index: false, keys, limit: 0 })
    }

    #[test]
    fn operations_are_executed_on_the_owned_table() {
        let database = measured(Storage::HashInlined);
        let (lanes, ownership) = hosted(&database, 2);
        let env = database.env();
        let ship = |request: Vec<u8>| run_now(env.call(NODE, SHIPPED, request));
        assert_eq!(refusal(ship(lookup(&[3]))), "it owns no table yet");
        let missing = run_now(own(env, &[NODE], "nothing")).expect_err("there is none");
        assert_eq!(missing.0, NODE);
        assert!(missing.1.to_string().contains("there is no table"), "{}", missing.1);
        run_now(own(env, &[NODE], "measured")).expect("it is there");
        let answer = ship(lookup(&[3])).expect("it is there");
        assert_eq!(outcome(&answer), Ok((TransactionResult::Committed, 0)));
        assert_eq!(answer[..8], 3_i64.to_le_bytes());
        assert!(refusal(ship(lookup(&[77]))).contains("lacks a row"));
        let scan = Task { operation: Operation::Scan, by_index: false, keys: vec![0, 9], limit: 4 };
        assert_eq!(refusal(ship(encode(&scan))), "only trees are scanned");

        ship(lookup(&[3])).expect("it is there");
        assert_eq!(lanes.rest::<LocalEnv>(), 1, "it was at work since");
        assert_eq!(lanes.rest::<LocalEnv>(), 0);
        ship(lookup(&[3])).expect("there is a lane again");
        lanes.end();
        assert_eq!(refusal(ship(lookup(&[3]))), "the compute server ends");
        drop(ownership);
        assert_eq!(
            refusal(run_now(env.call(NODE, OWN, b"measured".to_vec()))),
            "the compute server ends"
        );
    }

    /// The table was dropped: the host notices when it executes the operation.
    #[test]
    fn operations_on_a_table_that_is_gone_are_refused() {
        let database = measured(Storage::Tree);
        let (_lanes, _ownership) = hosted(&database, 2);
        let env = database.env();
        run_now(own(env, &[NODE], "measured")).expect("it is there");
        run_now(database.drop_table("measured")).expect("it is there");
        let scan = Task { operation: Operation::Scan, by_index: false, keys: vec![0, 9], limit: 4 };
        let refused = refusal(run_now(env.call(NODE, SHIPPED, encode(&scan))));
        assert!(refused.contains("there is no table"), "{refused}");
    }

    /// A failure that would also meet the next attempt is reported; its lane, which may be lost, is
    /// not reused.
    #[test]
    fn an_operation_that_cannot_succeed_is_refused_with_the_reason() {
        let database = measured(Storage::HashOutside);
        let (lanes, _ownership) = hosted(&database, 2);
        let env = database.env();
        run_now(own(env, &[NODE], "measured")).expect("it is there");
        let rows = |part: i64| (10 + 1000 * part..10 + 1000 * (part + 1)).collect();
        let mut parts = 0..1000;
        let refused = loop {
            let keys = rows(parts.next().expect("64 MiB hold no million rows"));
            let insert = Task { operation: Operation::Insert, by_index: false, keys, limit: 0 };
            if let Err(refused) = run_now(env.call(NODE, SHIPPED, encode(&insert))) {
                break refused.to_string();
            }
            assert_eq!(lanes.count(), 1);
        };
        assert!(refused.contains("memory servers are full"), "{refused}");
        assert_eq!(lanes.count(), 0);
    }

    #[test]
    fn calls_wait_for_a_lane_no_longer_than_their_callers_for_an_answer() {
        let database = measured(Storage::HashInlined);
        let (_lanes, _ownership) = hosted(&database, 0);
        let env = database.env();
        run_now(own(env, &[NODE], "measured")).expect("it is there");
        let start_ns = env.now_ns();
        let refused = refusal(run_now(env.call(NODE, SHIPPED, lookup(&[3]))));
        assert!(refused.contains("0 lanes became free within 2 s"), "{refused}");
        let waited_ns = env.now_ns() - start_ns;
        assert!((2_000_000_000..4_000_000_000).contains(&waited_ns), "{waited_ns} ns");
    }
}
