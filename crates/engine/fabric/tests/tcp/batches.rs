//! Batches over real sockets, compared with the same batches in a local world.

use crate::support::{Server, at, config, engine};
use fabric::{
    Batch, Counts, Engine, Env, Fabric, FabricError, LocalWorld, ServiceId, SlotGeometry, SlotRead,
    Span, TcpTransport, WorldConfig,
};
use layout::row::Cover;
use layout::{BucketLayout, GlobalPtr, NodeId, RegionId, RowLayout, VersionWord, bucket};

fn execute(engine: &Engine<TcpTransport>, batch: Batch) -> Result<Batch, FabricError> {
    engine.block_on(engine.endpoint().execute(batch))
}

/// Every verb, with results that differ from the arena's previous contents.
fn every_verb(batch: &mut Batch) -> Vec<Span> {
    let words = batch.put(&[1, 2, 3, 4, 5]);
    batch.write(at(0, 0), words);
    batch.write_word(at(0, 5), 6);
    let added = batch.fetch_and_add(at(0, 5), 10);
    let swap = batch.compare_and_swap(at(0, 4), 5, 50);
    let refused = batch.compare_and_swap(at(0, 3), 5, 50);
    let read = batch.read(at(0, 0), 6);
    assert_eq!((batch.found(added), batch.found(swap), batch.found(refused)), (0, 0, 0));
    let mut results = vec![read];
    let image = batch.put(&[7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]);
    for (place, first, cover) in
        [(16, 3, Cover::All), (32, 5, Cover::AllButLink), (48, 12, Cover::All), (64, 1, Cover::All)]
    {
        batch.write_row(at(0, place), image, first, cover);
        results.push(batch.read_row(at(0, place), 12, cover));
    }
    for (place, first, cover) in [(80, 3, Cover::All), (96, 12, Cover::AllButLink)] {
        batch.install_row(at(0, place), image, first, cover);
        results.push(batch.read(at(0, place), 12));
    }
    batch.fence();
    results.push(batch.read(at(0, 0), 128));
    results
}

fn local() -> fabric::LocalEnv {
    let world = LocalWorld::new(&WorldConfig { server_bytes: vec![1 << 20; 2], seed: 1 });
    world.expect("little memory").endpoint()
}

#[test]
fn every_verb_does_what_it_does_in_a_local_world() {
    let server = Server::start(0, 1);
    let engine = engine(config(&[&server]));
    let (mut here, mut there) = (Batch::new(), Batch::new());
    let spans = every_verb(&mut here);
    every_verb(&mut there);
    local().execute_now(&mut here).expect("inside its region");
    let there = execute(&engine, there).expect("inside its region");
    for span in spans {
        assert_eq!(there.words(span), here.words(span));
    }
    assert_eq!(there.arena(), here.arena());
}

/// A bucket of four rows; the third has key 42.
fn fill_bucket(batch: &mut Batch, layout: &BucketLayout) -> GlobalPtr {
    let tags = bucket::with_tag(4, bucket::with_tag(4, 0, 1, 9), 2, 9);
    let mut words = vec![0; layout.words() as usize];
    words[..5].copy_from_slice(&[21, 22, 23, 24, tags]);
    for (index, key) in [(1, 41), (2, 42)] {
        let slot = layout.slot(index) as usize;
        words[slot + 1] = VersionWord::new(layout::SlotId(1), key).word();
        words[slot + layout.key_at as usize] = key;
        words[slot + layout.key_at as usize + 1] = 1000 + key;
    }
    let span = batch.put(&words);
    batch.write(at(0, 0), span);
    at(0, 0)
}

#[test]
fn lookups_deliver_the_slot_or_the_header() {
    let server = Server::start(0, 1);
    let engine = engine(config(&[&server]));
    let layout =
        BucketLayout { slots: 4, overflow_slots: 2, slot_words: 6, key_words: 1, key_at: 3 };
    let mut batch = Batch::new();
    let bucket = fill_bucket(&mut batch, &layout);
    let geometry = SlotGeometry { tag: 9, ..SlotGeometry::bucket(&layout, true, 0) };
    let mut lookup = |key| {
        let key = batch.put(&[key]);
        batch.find_slot(bucket, geometry, key)
    };
    let (found, missing) = (lookup(42), lookup(43));
    let batch = execute(&engine, batch).expect("inside its region");
    let found = batch.words(found);
    assert_eq!(found[SlotRead::INDEX as usize], 2);
    assert_eq!(found[SlotRead::SLOT as usize + 3..][..2], [42, 1042]);
    let header = [21, 22, 23, 24, 0x0009_0900, SlotRead::MISSING];
    assert_eq!(batch.words(missing)[..6], header);
}

#[test]
fn a_batch_to_several_servers_comes_back_whole_and_keeps_its_fences() {
    let servers = [0, 1, 2].map(|node| Server::start(node, 3));
    let engine = engine(config(&[&servers[0], &servers[1], &servers[2]]));
    let mut batch = Batch::new();
    let mut first = Vec::new();
    for round in 0..20 {
        for node in 0..3 {
            let word = at(node, round);
            batch.write_word(word, round * 10 + u64::from(node));
            first.push((batch.read(word, 1), round * 10 + u64::from(node)));
        }
    }
    batch.fence();
    let second: Vec<_> = (0..3).map(|node| batch.fetch_and_add(at(node, 19), 1)).collect();
    batch.fence();
    let third: Vec<_> = (0..3).map(|node| batch.read(at(node, 19), 1)).collect();
    let batch = execute(&engine, batch).expect("inside their regions");
    first.iter().for_each(|(span, expected)| assert_eq!(batch.words(*span), [*expected]));
    for node in 0..3 {
        assert_eq!(batch.found(second[node]), 190 + node as u64);
        assert_eq!(batch.words(third[node]), [191 + node as u64]);
    }
    for server in servers {
        assert_eq!(server.served(), 4, "a handshake, and a message for each part between fences");
    }
}

#[test]
fn a_batch_to_one_server_is_one_message_fences_included() {
    let server = Server::start(0, 1);
    let engine = engine(config(&[&server]));
    let mut batch = Batch::new();
    for word in 0..500 {
        batch.write_word(at(0, word), word);
        batch.fence();
    }
    let read = batch.read(at(0, 0), 500);
    let batch = execute(&engine, batch).expect("inside its region");
    assert!(batch.words(read).iter().zip(0..).all(|(word, expected)| *word == expected));
    assert_eq!(server.served(), 2, "a handshake and the batch");
}

#[test]
fn batches_that_fit_into_no_frame_go_out_in_several() {
    const WORDS: u32 = 400_000;
    let server = Server::start(0, 1);
    let engine = engine(config(&[&server]));
    let mut batch = Batch::new();
    let mut reads = Vec::new();
    for round in 0..5 {
        let span = batch.reserve(WORDS);
        batch.words_mut(span).iter_mut().zip(round * 7..).for_each(|(word, value)| *word = value);
        batch.write(at(0, round), span);
        reads.push((batch.read(at(0, round), WORDS), round * 7));
    }
    let batch = execute(&engine, batch).expect("inside its region");
    for (span, first) in reads {
        assert!(batch.words(span).iter().zip(first..).all(|(word, expected)| *word == expected));
    }
    let mut huge = Batch::new();
    huge.read(at(0, 0), fabric::tcp::FRAME_WORDS_MAX as u32);
    let refused = execute(&engine, huge).expect_err("no frame holds it");
    assert!(matches!(refused, FabricError::OutOfRange { .. }), "{refused:?}");
}

#[test]
fn addresses_that_are_in_no_region_or_not_aligned_are_refused() {
    let servers = [0, 1].map(|node| Server::start(node, 2));
    let engine = engine(config(&[&servers[0], &servers[1]]));
    let end = crate::support::REGION_BYTES;
    let wrong = [
        (GlobalPtr::new(RegionId(0), end), 1),
        (GlobalPtr::new(RegionId(1), end - 8), 2),
        (GlobalPtr::new(RegionId(1), (1 << 48) - 8), 1000),
        (GlobalPtr::new(RegionId(2), 64), 1),
        (GlobalPtr::new(RegionId(u16::MAX), 64), 1),
        (GlobalPtr::from_word(at(0, 1).word() + 4), 1),
    ];
    for (at_wrong, words) in wrong {
        let mut batch = Batch::new();
        batch.write_word(at(0, 9), at_wrong.word());
        batch.read(at_wrong, words);
        batch.write_word(at(0, 10), at_wrong.word());
        let error = execute(&engine, batch).expect_err("it is wrong");
        assert_eq!(error, FabricError::OutOfRange { at: at_wrong, words });
    }
    let mut batch = Batch::new();
    let read = batch.read(at(0, 9), 2);
    let batch = execute(&engine, batch).expect("the connection is still there");
    assert_ne!(batch.words(read)[0], 0, "what stood before the wrong verb was carried out");
}

#[test]
fn lanes_of_one_engine_share_messages() {
    const LANES: u64 = 32;
    const ROUNDS: u64 = 200;
    let server = Server::start(0, 1);
    let engine = engine(config(&[&server]));
    let main = engine.endpoint();
    let before = main.counters().counts();
    engine.block_on(async {
        let done = std::rc::Rc::new(std::cell::Cell::new(0));
        for _ in 0..LANES {
            let (lane, done) = (engine.endpoint(), done.clone());
            main.spawn(async move {
                for _ in 0..ROUNDS {
                    let mut batch = Batch::new();
                    batch.fetch_and_add(at(0, 3), 1);
                    lane.execute(batch).await.expect("inside its region");
                }
                done.set(done.get() + 1);
            });
        }
        while done.get() < LANES {
            main.sleep_ns(100_000).await;
        }
    });
    assert_eq!(main.counters().counts() - before, Counts::default(), "lanes count for themselves");
    let mut batch = Batch::new();
    let sum = batch.read(at(0, 3), 1);
    assert_eq!(execute(&engine, batch).expect("inside its region").words(sum), [LANES * ROUNDS]);
}

#[test]
fn who_stops_waiting_leaves_the_batch_to_the_fabric() {
    use std::future::Future;
    use std::task::{Context, Poll, Waker};
    let server = Server::start(0, 1);
    let engine = engine(config(&[&server]));
    let env = engine.endpoint();
    engine.block_on(async {
        for word in 0..50 {
            let mut batch = Batch::new();
            batch.write_word(at(0, word), 1);
            let mut dropped = Box::pin(env.execute(batch));
            let mut context = Context::from_waker(Waker::noop());
            assert!(matches!(dropped.as_mut().poll(&mut context), Poll::Pending));
        }
        let mut batch = Batch::new();
        let read = batch.read(at(0, 0), 50);
        let batch = env.execute(batch).await.expect("inside its region");
        assert_eq!(batch.words(read), [1; 50]);
    });
}

#[test]
fn rows_of_a_table_fit() {
    // The widest row that a schema allows, through every row verb.
    let server = Server::start(0, 1);
    let engine = engine(config(&[&server]));
    let layout = RowLayout { key_words: 8, payload_words: 1024, checksummed: false };
    let words = layout.words();
    let mut batch = Batch::new();
    let image = batch.reserve(words);
    batch.words_mut(image).iter_mut().zip(5..).for_each(|(word, value)| *word = value);
    batch.install_row(at(0, 0), image, 3, Cover::All);
    let read = batch.read_row(at(0, 0), words, Cover::All);
    let batch = execute(&engine, batch).expect("inside its region");
    assert_eq!(batch.words(read), batch.words(image));
}

/// The main property of a cheap round trip: a batch sends one message to each of its servers,
/// however many verbs it has.
#[test]
fn a_batch_is_one_message_to_each_server() {
    let servers = [Server::start(0, 2), Server::start(1, 2)];
    let engine = engine(config(&servers.each_ref()));
    let env = engine.endpoint();
    let messages_of = |batch: Batch| {
        let before = env.counters().counts().messages;
        engine.block_on(env.execute(batch)).expect("inside their regions");
        env.counters().counts().messages - before
    };
    let mut to_one = Batch::new();
    let mut to_both = Batch::new();
    for place in 0..100 {
        to_one.write_word(at(1, 8 + place), place);
        to_both.write_word(at((place % 2) as u16, 8 + place), place);
    }
    let mut in_turns = Batch::new();
    in_turns.write_word(at(0, 8), 1);
    in_turns.write_word(at(1, 8), 1);
    in_turns.fence();
    in_turns.write_word(at(1, 9), 1);
    assert_eq!((messages_of(to_one), messages_of(to_both), messages_of(in_turns)), (1, 2, 3));
    let before = env.counters().counts().messages;
    // No service has this number; the error is an answer too.
    let _ = engine.block_on(env.call(NodeId(1), ServiceId(9), vec![1]));
    assert_eq!(env.counters().counts().messages - before, 1);
}

#[test]
fn servers_may_be_named_after_the_configuration_was_made() {
    let servers = [0, 1].map(|node| Server::start(node, 2));
    let mut config = config(&[&servers[0]]);
    config.caller.servers.push(servers[1].server_address());
    let engine = engine(config);
    let mut batch = Batch::new();
    batch.write_word(at(1, 0), 7);
    let read = batch.read(at(1, 0), 1);
    let batch = execute(&engine, batch).expect("both are connected");
    assert_eq!(batch.words(read), [7]);
}
