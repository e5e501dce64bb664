//! Concurrent calls of several clients in a simulated world: their effects add up.

use crate::database::ints;
use crate::naive;
use fabric::Env;
use interpreter::{CallError, Procedures, Settings, create, default_design};
use sim::{SimConfig, World};
use sql_value::Value;
use std::cell::Cell;
use std::rc::Rc;
use txn::server::services;
use txn::{Database, DatabaseConfig};

const SCHEMA: &str = "
    CREATE TABLE account (id integer PRIMARY KEY, balance bigint NOT NULL);
    CREATE TABLE log (amount bigint NOT NULL);
";
const PROCEDURES: &str = "
    CREATE FUNCTION fill() RETURNS void LANGUAGE sql AS $$
        INSERT INTO account SELECT g, 100 FROM generate_series(1, 3) g $$;
    CREATE FUNCTION pay(payer integer, payee integer, amount bigint) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE account SET balance = balance - amount WHERE id = payer;
        UPDATE account SET balance = balance + amount WHERE id = payee;
        INSERT INTO log VALUES (amount);
    END $$;
    CREATE FUNCTION sums() RETURNS SETOF numeric LANGUAGE plpgsql AS $$
    BEGIN
        RETURN QUERY SELECT sum(balance) FROM account;
        RETURN QUERY SELECT sum(amount) FROM log;
    END $$;
";
const CLIENTS: u16 = 3;
const CALLS: i64 = 20;

#[test]
fn payments_of_many_clients_add_up() {
    let config = SimConfig::new(7).with_servers(&[16 << 20, 16 << 20]);
    let world = World::new(config);
    let nodes = world.serve(services);
    let admin = world.endpoint(world.compute_node(0));
    let database = Database::create(admin.clone().into_dyn(), nodes, DatabaseConfig::default());
    let database = world.block_on(&admin, database).expect("the servers are empty");
    let workload = naive::workload(SCHEMA, PROCEDURES);
    let paid = Rc::new(Cell::new(0));
    let done = Rc::new(Cell::new(0));
    let sums = world.block_on(&admin, async {
        let design = default_design(&workload, &|_| 100);
        create(&database, &workload.catalog, &design).await.expect("the schema is fine");
        let open = async |database: &Database<_>| {
            Procedures::open(database, &workload, Settings::default()).expect("all is there")
        };
        let mut procedures = open(&database).await;
        let mut lane = database.lane().await.expect("lanes are free");
        let named = |name: &str| procedures.find(name).expect("it is in the file");
        let (fill, pay, told) = (named("fill"), named("pay"), named("sums"));
        procedures.call(&mut lane, fill, &[]).await.expect("the table is empty");
        for client in 0..CLIENTS {
            let mut procedures = open(&database).await;
            let mut lane = database.lane().await.expect("lanes are free");
            let (paid, done) = (paid.clone(), done.clone());
            admin.spawn(async move {
                for n in 0..CALLS {
                    let from = (i64::from(client) + n) % 3;
                    let arguments = ints(&[1 + from, 1 + (from + 1) % 3, 1 + n]);
                    match procedures.call(&mut lane, pay, &arguments).await {
                        Ok(_) => paid.set(paid.get() + 1 + n),
                        Err(CallError::Aborted(_)) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
                done.set(done.get() + 1);
            });
        }
        while done.get() < CLIENTS {
            admin.sleep_ns(1_000_000).await;
        }
        let outcome = procedures.call(&mut lane, told, &[]).await.expect("no error");
        outcome.rows.iter().map(|row| row[0].clone()).collect::<Vec<_>>()
    });
    let decimal = |units| Value::Numeric(sql_value::Decimal { units: i128::from(units), scale: 0 });
    assert_eq!(sums, [decimal(300), decimal(paid.get())]);
    assert!(paid.get() > 0);
}
