//! Machines: nodes that share a card and cores, turns on cores, memory of the same machine.

use crate::help::{client, word};
use fabric::{Batch, Env, Fabric};
use layout::NodeId;
use layout::row::{Cover, LINK};
use sim::{Endpoint, Interval, Machines, Network, Reach, SimConfig, World};

const NOTHING: Interval = Interval::new(0, 0);
const CORES: u64 = 16;

/// Memory servers and compute nodes on these machines, in a world where only hardware takes time.
fn world(servers: u16, machines: Machines, network: Network) -> World {
    world_with(servers, machines, network, |settings| settings)
}

fn world_with(
    servers: u16,
    machines: Machines,
    network: Network,
    settings: impl Fn(SimConfig) -> SimConfig,
) -> World {
    World::new(settings(SimConfig {
        server_words: vec![1 << 16; usize::from(servers)],
        compute_nodes: machines.of_nodes.len() as u16 - servers,
        read_ns: NOTHING,
        write_ns: NOTHING,
        atomic_ns: NOTHING,
        answer_ns: NOTHING,
        call_ns: NOTHING,
        wake_ns: NOTHING,
        word_ns: 0,
        network: Some(network),
        machines: Some(machines),
        ..SimConfig::new(1).named("machines")
    }))
}

fn network() -> Network {
    let mut network = Network::connect_ib();
    network.card = network.card.with_ports(1);
    network.core.cores = CORES;
    network
}

/// The time of a batch on an idle machine, whose card has the queue pair in its cache.
fn takes_ns(world: &World, env: &Endpoint, fill: impl Fn(&mut Batch)) -> u64 {
    let mut batch = Batch::new();
    fill(&mut batch);
    world.block_on(env, async {
        let start_ns = env.now_ns();
        env.execute(batch).await.expect("the server is alive");
        env.now_ns() - start_ns
    })
}

#[test]
fn core_time_adds_to_card_time() {
    let costly = network();
    let mut free = costly;
    (free.core.post_ps, free.core.poll_ps, free.core.execute_row_ps) = (0, 0, 0);
    let alone = |network, fill: &dyn Fn(&mut Batch)| {
        let world = world(1, Machines::apart(2), network);
        let env = client(&world, 0);
        let first_ns = takes_ns(&world, &env, fill);
        (first_ns, takes_ns(&world, &env, fill))
    };
    let core = costly.core;
    let one_ps = core.post_ps + core.poll_ps;
    let row_ps = core.execute_row_ps;
    let read = |batch: &mut Batch| {
        batch.read(word(0, 0), 8);
    };
    let read_row = |batch: &mut Batch| {
        batch.read_row(word(0, 0), 8, Cover::All);
    };
    let install = |batch: &mut Batch| {
        let image = batch.put(&[1; 8]);
        batch.install_row(word(0, 0), image, LINK + 1, Cover::All);
    };
    let fills: [&dyn Fn(&mut Batch); 3] = [&read, &read_row, &install];
    for (fill, rows) in fills.into_iter().zip([0, 1, 1]) {
        let expected_ps = one_ps + rows * row_ps;
        let (costly_ns, free_ns) = (alone(costly, fill).1, alone(free, fill).1);
        let more_ns = costly_ns - free_ns;
        assert!(more_ns.abs_diff(expected_ps / 1000) <= 2, "{more_ns} for {expected_ps}");
    }
}

#[test]
fn sixty_tasks_take_turns_on_sixteen_cores() {
    let turns = |tasks: u64| {
        let world = world(1, Machines::apart(2), network());
        let env = client(&world, 0);
        for _ in 0..tasks {
            let own = env.clone();
            world.spawn_on(&env, async move {
                for _ in 0..100 {
                    own.compute_ns(1000);
                    own.sleep_ns(0).await;
                }
            });
        }
        assert_eq!(world.run_until_idle(), 0);
        world.now_ns()
    };
    // Each of them ends with an empty turn.
    assert_eq!(turns(1), 100_000);
    assert_eq!(turns(CORES), 100_000);
    let many_ns = turns(60);
    assert!(many_ns.abs_diff(60 * 100_000 / CORES) <= 2000, "{many_ns}");
}

#[test]
fn the_longest_waiting_task_is_next() {
    let mut network = network();
    network.core.cores = 1;
    let world = world(1, Machines::apart(2), network);
    let env = client(&world, 0);
    for number in 0..5 {
        let own = env.clone();
        world.spawn_on(&env, async move {
            own.sleep_ns(10 + number).await;
            own.compute_ns(1000);
            let mut batch = Batch::new();
            let began_ns = own.now_ns();
            batch.write_word(word(0, number), began_ns);
            own.execute(batch).await.expect("the server is alive");
        });
    }
    assert_eq!(world.run_until_idle(), 0);
    let began_ns = world.peek_words(word(0, 0), 5);
    assert!(began_ns.is_sorted(), "{began_ns:?}");
    // Each posts a word before the next one begins.
    let apart_ns = 1000 + network.core.post_ps / 1000;
    assert!(began_ns[4].abs_diff(1010 + 4 * apart_ns) <= 5, "{began_ns:?}");
}

/// Picoseconds per write when two compute nodes send as much as they can, each to its own server.
fn pace_of_two_ps(machines: Machines) -> u64 {
    const ROUNDS: u64 = 50;
    const WRITES: u64 = 16;
    let mut network = network();
    (network.core.post_ps, network.core.poll_ps) = (0, 0);
    let world = world(2, machines, network);
    for index in 0..2 {
        for _ in 0..8 {
            let env = client(&world, index);
            world.spawn_on(&env.clone(), async move {
                for _ in 0..ROUNDS {
                    let mut batch = Batch::new();
                    for _ in 0..WRITES {
                        let page = batch.reserve(512);
                        batch.write(word(index, 0), page);
                    }
                    env.execute(batch).await.expect("the server is alive");
                }
            });
        }
    }
    world.run_until_idle();
    world.now_ns() * 1000 / (2 * 8 * ROUNDS * WRITES)
}

#[test]
fn two_nodes_of_one_machine_share_its_card() {
    // Each writes to a server of its own: apart, each fills its link; together, each gets half of
    // it.
    let link_ps = network().card.request_ps(4096);
    let apart_ps = pace_of_two_ps(Machines::apart(4));
    assert!(apart_ps.abs_diff(link_ps / 2) * 50 < link_ps, "{apart_ps} for {link_ps}");
    let of_nodes = vec![0, 1, 2, 2];
    let together_ps = pace_of_two_ps(Machines { of_nodes, reach: Reach::Card });
    assert!(together_ps.abs_diff(link_ps) * 50 < link_ps, "{together_ps} for {link_ps}");
}

/// The time of a verb from a compute node that is on the machine of its memory server.
fn within_ns(reach: Reach, fill: impl Fn(&mut Batch)) -> u64 {
    let world = world(1, Machines { of_nodes: vec![0, 0], reach }, network());
    let env = client(&world, 0);
    takes_ns(&world, &env, &fill);
    takes_ns(&world, &env, &fill)
}

#[test]
fn memory_of_the_own_machine_is_near() {
    let read = |batch: &mut Batch| {
        batch.read(word(0, 0), 128);
    };
    let add = |batch: &mut Batch| {
        batch.fetch_and_add(word(0, 0), 1);
    };
    let memory_ns = network().memory.kilobyte_read_ps / 1000;
    assert_eq!(within_ns(Reach::Core, read), memory_ns);
    assert_eq!(within_ns(Reach::CoreButAtomics, read), memory_ns);
    assert_eq!(within_ns(Reach::Core, add), memory_ns);
    // The card's loopback saves the wire and the link, and nothing else.
    let apart = world(1, Machines::apart(2), network());
    let far = |fill: &dyn Fn(&mut Batch)| {
        let env = client(&apart, 0);
        takes_ns(&apart, &env, fill);
        takes_ns(&apart, &env, fill)
    };
    let card = network().card;
    let links_ps =
        |sent, answered| card.request_ps(sent) + card.response_ps(answered) + 2 * card.wire_ps;
    let loopback_ns = within_ns(Reach::CoreButAtomics, add);
    assert!(loopback_ns.abs_diff(far(&add) - links_ps(8, 8) / 1000) <= 2, "{loopback_ns}");
    let loopback_ns = within_ns(Reach::Card, read);
    assert!(loopback_ns.abs_diff(far(&read) - links_ps(0, 1024) / 1000) <= 80, "{loopback_ns}");
}

#[test]
fn a_memory_server_needs_no_card_for_its_own_memory() {
    let takes = |reach, fill: &dyn Fn(&mut Batch)| {
        let world = world(1, Machines { of_nodes: vec![0, 0], reach }, network());
        let env = world.service_endpoint(NodeId(0));
        takes_ns(&world, &env, fill);
        takes_ns(&world, &env, fill)
    };
    let write = |batch: &mut Batch| {
        batch.write_word(word(0, 0), 1);
    };
    let add = |batch: &mut Batch| {
        batch.fetch_and_add(word(0, 0), 1);
    };
    let memory_ns = network().memory.kilobyte_read_ps / 1000;
    for reach in [Reach::Card, Reach::CoreButAtomics, Reach::Core] {
        assert_eq!(takes(reach, &write), memory_ns, "{reach:?}");
    }
    // They must be atomic with those of compute nodes.
    assert_eq!(takes(Reach::Card, &add), within_ns(Reach::Card, add));
    assert!(within_ns(Reach::Card, write) > memory_ns, "a process of its own on that machine");
}

#[test]
fn verbs_behind_a_fence_take_a_core() {
    let fenced = |batch: &mut Batch| {
        batch.read(word(0, 0), 1);
        batch.fence();
        batch.read(word(0, 1), 1);
    };
    let read = |batch: &mut Batch| {
        batch.read(word(0, 0), 1);
    };
    let world = world(1, Machines::apart(2), network());
    let env = client(&world, 0);
    takes_ns(&world, &env, read);
    let (one_ns, two_ns) = (takes_ns(&world, &env, read), takes_ns(&world, &env, fenced));
    assert!(two_ns.abs_diff(2 * one_ns) <= 2, "{one_ns}, {two_ns}");
}

#[test]
fn verbs_behind_a_fence_precede_waiting_tasks() {
    let mut network = network();
    network.core.cores = 1;
    let world = world(1, Machines::apart(2), network);
    let env = client(&world, 0);
    for number in 0..20 {
        let own = env.clone();
        world.spawn_on(&env, async move {
            for _ in 0..20 {
                own.compute_ns(100 + 7 * number);
                let mut batch = Batch::new();
                batch.read(word(0, 0), 1);
                batch.fence();
                batch.read(word(0, 1), 1);
                own.execute(batch).await.expect("the server is alive");
            }
        });
    }
    assert_eq!(world.run_until_idle(), 0);
    let core = network.core;
    let each_ps = 2 * (core.post_ps + core.poll_ps);
    let computed_ps: u64 = (0..20).map(|number| 20 * 1000 * (100 + 7 * number)).sum();
    assert_eq!(world.usage(env.node()).cores_ps, 400 * each_ps + computed_ps);
    // The core is never idle for long.
    let idle_ns = world.now_ns() - world.usage(env.node()).cores_ps / 1000;
    assert!(idle_ns < 5000, "{idle_ns}");
}

/// Reads from two servers by two tasks of a node, each with an endpoint of its own.
fn of_two_servers(settings: impl Fn(SimConfig) -> SimConfig) -> (World, Endpoint) {
    let (network, machines) = (network(), Machines::apart(3));
    let world = world_with(2, machines, network, settings);
    let env = client(&world, 0);
    let batch = |batch: &mut Batch| {
        for number in 0..6 {
            batch.read(word(number % 2, 0), 1);
        }
    };
    for own in [client(&world, 0), env.clone(), client(&world, 0)] {
        takes_ns(&world, &own, batch);
    }
    // A turn ends with the next event.
    world.run_for(1000);
    (world, env)
}

#[test]
fn a_list_is_posted_for_less_than_its_verbs_are() {
    let core = network().core;
    let (world, env) = of_two_servers(|settings| settings);
    let one_by_one_ps = 6 * core.post_ps + core.poll_ps;
    assert_eq!(world.usage(env.node()).cores_ps, 3 * one_by_one_ps);
    let lists = |settings| SimConfig { parts_at_once: true, posts_lists: true, ..settings };
    let (world, env) = of_two_servers(lists);
    let two_lists_ps = 2 * core.post_ps + 4 * core.post_more_ps + core.poll_ps;
    assert_eq!(world.usage(env.node()).cores_ps, 3 * two_lists_ps);
    assert!(two_lists_ps < one_by_one_ps);
}

#[test]
fn endpoints_of_a_node_may_share_queue_pairs() {
    let missed_ps = |queue_pairs| {
        let (world, env) = of_two_servers(|settings| SimConfig { queue_pairs, ..settings });
        world.usage(env.node()).engine_ps
    };
    let (own_ps, shared_ps) = (missed_ps(0), missed_ps(1));
    // Three endpoints have six pairs to two servers, or two.
    assert_eq!(own_ps - shared_ps, 4 * network().card.queue_pair_miss_ps);
}

#[test]
fn how_busy_stages_are_adds_up() {
    let network = network();
    let world = world(1, Machines::apart(2), network);
    let env = client(&world, 0);
    takes_ns(&world, &env, |batch| {
        batch.read(word(0, 0), 128);
    });
    // A turn ends with the next event.
    world.run_for(1000);
    let (client_node, server_node) = (env.node(), NodeId(0));
    let before = [world.usage(client_node), world.usage(server_node)];
    takes_ns(&world, &env, |batch| {
        batch.read(word(0, 0), 128);
        batch.fetch_and_add(word(0, 200), 1);
    });
    world.run_for(1000);
    let (card, core) = (network.card, network.core);
    let (client, server) = (world.usage(client_node), world.usage(server_node));
    assert_eq!(
        client.link_in_ps - before[0].link_in_ps,
        card.response_ps(1024) + card.response_ps(8)
    );
    assert_eq!(server.link_in_ps - before[1].link_in_ps, card.request_ps(0) + card.request_ps(8));
    assert_eq!(server.atomics_ps - before[1].atomics_ps, card.atomic_unit_ps);
    assert_eq!(client.cores_ps - before[0].cores_ps, 2 * core.post_ps + core.poll_ps);
    assert_eq!(server.cores_ps, 0);
    let shares = client.shares(&before[0], 10);
    assert_eq!(shares[6], ("cores", 2.0), "320 ns of 16 times 10");
}

fn with_communicators(communicators: u32, machines: Machines) -> World {
    world_with(1, machines, network(), |settings| SimConfig { communicators, ..settings })
}

#[test]
fn a_communicator_takes_and_gives_back_what_others_post() {
    let read = |batch: &mut Batch| {
        batch.read(word(0, 0), 8);
        batch.read(word(0, 8), 8);
    };
    let [usual_ns, handed_ns] = [0, 1].map(|communicators| {
        let world = with_communicators(communicators, Machines::apart(2));
        let env = client(&world, 0);
        takes_ns(&world, &env, read);
        takes_ns(&world, &env, read)
    });
    // Handed over and taken, and the same on the way back.
    let more_ps = 4 * network().core.hand_over_ps;
    assert!((handed_ns - usual_ns).abs_diff(more_ps / 1000) <= 2, "{handed_ns} and {usual_ns}");
    // An endpoint that accesses its memory without the card hands nothing over.
    let together = Machines { of_nodes: vec![0, 0], reach: Reach::CoreButAtomics };
    let [usual_ns, handed_ns] = [0, 1].map(|communicators| {
        let world = with_communicators(communicators, together.clone());
        takes_ns(&world, &client(&world, 0), read)
    });
    assert_eq!(handed_ns, usual_ns);
}

#[test]
fn communicators_post_one_after_another_and_share_the_work() {
    let core = network().core;
    let (tasks, rounds) = (40, 50);
    let paces = [1, 2].map(|communicators| {
        let world = with_communicators(communicators, Machines::apart(2));
        for _ in 0..tasks {
            let env = world.endpoint(world.compute_node(0));
            world.spawn_on(&env.clone(), async move {
                for _ in 0..rounds {
                    let mut batch = Batch::new();
                    batch.read(word(0, 0), 1);
                    env.execute(batch).await.expect("the server is alive");
                }
            });
        }
        let before = world.usage(world.compute_node(0));
        assert_eq!(world.run_until_idle(), 0);
        let share = world.usage(world.compute_node(0)).shares(&before, world.now_ns())[7];
        assert!(share.0 == "communicators" && share.1 > 0.9, "{share:?}");
        world.now_ns() * 1000 / (tasks * rounds)
    });
    let each_ps = core.post_ps + core.poll_ps + 2 * core.hand_over_ps;
    assert!(paces[0] >= each_ps && paces[0] * 10 <= 11 * each_ps, "{paces:?} for {each_ps}");
    assert!(paces[1] * 2 >= each_ps && paces[1] * 20 <= 12 * each_ps, "{paces:?} for {each_ps}");
}

#[test]
#[should_panic(expected = "16 of 16 cores only communicate")]
fn some_cores_must_execute() {
    with_communicators(CORES as u32, Machines::apart(2));
}

#[test]
fn a_world_gets_other_hardware() {
    let read = |batch: &mut Batch| {
        batch.read(word(0, 0), 128);
    };
    let world = world(1, Machines::apart(2), network());
    let env = client(&world, 0);
    takes_ns(&world, &env, read);
    let far_ns = takes_ns(&world, &env, read);
    let together = Machines { of_nodes: vec![0, 0], reach: Reach::Core };
    world.set_hardware(Some(network()), Some(together));
    assert_eq!(takes_ns(&world, &env, read), network().memory.kilobyte_read_ps / 1000);
    world.set_hardware(Some(network()), Some(Machines::apart(2)));
    takes_ns(&world, &env, read);
    assert_eq!(takes_ns(&world, &env, read), far_ns);
    world.set_hardware(None, None);
    assert_eq!(takes_ns(&world, &env, read), 0);
}

#[test]
#[should_panic(expected = "hardware is changed while nobody uses it")]
fn hardware_that_is_in_use_stays() {
    let world = world(1, Machines::apart(2), network());
    let env = client(&world, 0);
    world.spawn_on(&env.clone(), async move {
        let mut batch = Batch::new();
        batch.read(word(0, 0), 1);
        env.execute(batch).await.expect("the server is alive");
    });
    world.run_for(100);
    world.set_hardware(None, None);
}

#[test]
#[should_panic(expected = "2 of 5 nodes have a machine")]
fn every_node_has_a_machine() {
    World::new(SimConfig {
        network: Some(network()),
        machines: Some(Machines::apart(2)),
        ..SimConfig::new(1)
    });
}
