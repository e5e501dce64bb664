//! Purchases keep the stocks right: a product's stock lacks exactly the sold quantity, except for
//! whole refills.

use baselines::rsi::{self, Ended, Records, timestamp_thread};
use baselines::tpcw::rsi::Places;
use baselines::tpcw::trad_si::Buy;
use baselines::tpcw::{self, Input, STOCK, STOCK_REFILL, Source};
use baselines::trad_si::{Cluster, Snapshots, TransactionOutcome};
use layout::NodeId;
use layout::row::KEY;
use sim::{Endpoint, SimConfig, World};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

const SEEDS: u64 = 12;
const SERVERS: u16 = 3;
const CLIENTS: u16 = 5;
const ORDERS: u64 = 40;
/// So few that clients conflict.
const PRODUCTS_PER_SERVER: u64 = 5;

type Bought = Rc<RefCell<Vec<Input>>>;

fn source(seed: u64, client: u16) -> Source {
    Source::new(seed, client.into(), SERVERS.into(), PRODUCTS_PER_SERVER)
}

/// Compares the stocks with the purchases.
fn assert_kept(bought: &[Input], stock: impl Fn(u64) -> u64, run: &str) {
    assert!(bought.len() >= 20, "{run}: only {} orders", bought.len());
    let sells = |input: &Input, product: u64| {
        let lines = input.products.iter().zip(&input.quantities);
        lines.filter(|line| *line.0 == product).map(|line| line.1).sum::<u64>()
    };
    for product in 0..u64::from(SERVERS) * PRODUCTS_PER_SERVER {
        let sold: u64 = bought.iter().map(|input| sells(input, product)).sum();
        let left = stock(product);
        assert!((left + sold).is_multiple_of(STOCK_REFILL), "{run}: {left} left of {product}");
    }
}

async fn buy_one_sided(env: Endpoint, places: Places, mut source: Source, bought: Bought) {
    let client = rsi::Client::new(env, places.oracle(), Records::Untorn, |_, _| {});
    for _ in 0..ORDERS {
        let input = source.draw();
        let ended = tpcw::rsi::buy(&client, &places, &input).await;
        if let Ended::Committed(_) = ended.expect("the servers are alive") {
            bought.borrow_mut().push(input);
        }
    }
}

#[test]
fn one_sided_buyers_keep_the_books() {
    for seed in 0..SEEDS {
        let places = Places {
            servers: SERVERS.into(),
            products_per_server: PRODUCTS_PER_SERVER,
            clients: CLIENTS.into(),
            orders_per_client: ORDERS,
        };
        let words = [places.server_words(); SERVERS as usize];
        let world = World::new(SimConfig::hostile(seed).named("rsi buys").with_servers(&words));
        let (bought, running) = (Bought::default(), Rc::new(Cell::new(CLIENTS)));
        for client in 0..CLIENTS {
            let env = world.endpoint(world.compute_node(client % 4));
            let buying = buy_one_sided(env.clone(), places, source(seed, client), bought.clone());
            let running = running.clone();
            world.spawn_on(&env, async move {
                buying.await;
                running.set(running.get() - 1);
            });
        }
        let server = world.service_endpoint(NodeId(0));
        let thread =
            timestamp_thread::run(server.clone(), places.oracle(), move || running.get() > 0);
        world.spawn_on(&server, async move { thread.await.expect("its memory is there") });
        assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
        let content = |record: rsi::Record| record.at.add_words(KEY.into());
        let stock = |product| world.peek(content(places.product(product)).add_words(STOCK as u64));
        assert_kept(&bought.borrow(), stock, &world.identity());
        for input in bought.borrow().iter() {
            let line = world.peek_words(content(places.order(input, 1)), 4);
            assert_eq!(line, [input.client, input.order, 1, input.products[0]]);
        }
    }
}

#[test]
fn buyers_by_messages_keep_the_books() {
    for seed in 0..SEEDS {
        let settings = SimConfig { compute_nodes: SERVERS + CLIENTS, ..SimConfig::hostile(seed) };
        let world = World::new(settings.named("trad-si buys").with_servers(&[1024]));
        let nodes: Vec<NodeId> = (0..SERVERS).map(|index| world.compute_node(index)).collect();
        let cluster =
            Cluster { timestamps: nodes[0], servers: nodes, snapshots: Snapshots::default() };
        let cluster = Rc::new(cluster);
        let servers = cluster.start(
            &Arc::new(Buy),
            |_, _| {},
            |node, id, service| world.register(node, id, service),
        );
        tpcw::trad_si::load_products(&servers, PRODUCTS_PER_SERVER);
        let bought = Bought::default();
        for client in 0..CLIENTS {
            let env = world.endpoint(world.compute_node(SERVERS + client));
            let (own, cluster, bought) = (env.clone(), cluster.clone(), bought.clone());
            let mut source = source(seed, client);
            world.spawn_on(&env, async move {
                for _ in 0..ORDERS {
                    let input = source.draw();
                    match tpcw::trad_si::buy(&own, &cluster, &input).await {
                        TransactionOutcome::Committed(_) => bought.borrow_mut().push(input),
                        TransactionOutcome::Aborted => {}
                        outcome => panic!("all servers are alive: {outcome:?}"),
                    }
                }
            });
        }
        assert_eq!(world.run_until_idle(), 0, "{}", world.identity());
        let stock = |number: u64| {
            let key = tpcw::trad_si::product(SERVERS.into(), number);
            let owner = servers[cluster.owner(key.partition)].partition();
            let row = owner.read(key, u64::MAX).expect("nothing is newer");
            tpcw::trad_si::stock(row.expect("it was loaded")).expect("it has a stock")
        };
        assert_kept(&bought.borrow(), stock, &world.identity());
    }
}
