//! Lost servers: all operations in flight end within a bound, and none is executed later.

use crate::support::{Server, answer, at, config, engine, patience, secret};
use fabric::identity::{ANSWER_BYTES, HELLO_BYTES};
use fabric::proof::{Purpose, demand, prove};
use fabric::{Batch, Engine, Env, Fabric, FabricError, TcpConfig, TcpTransport, Welcome};
use layout::NodeId;
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::time::Duration;

const GONE: FabricError = FabricError::Unreachable(NodeId(0));

fn read(engine: &Engine<TcpTransport>, node: u16) -> Result<(), FabricError> {
    let mut batch = Batch::new();
    batch.read(at(node, 0), 1);
    engine.block_on(engine.endpoint().execute(batch)).map(drop)
}

/// A server that admits every caller and then runs `then` for each connection.
fn impostor(
    count: usize,
    then: impl Fn(usize, TcpStream) + Send + 'static,
) -> (SocketAddr, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it listens");
    let serve = move || {
        for number in 0..count {
            let (mut stream, _) = listener.accept().expect("somebody connects");
            let mut hello = [0; HELLO_BYTES];
            let proven = demand(&mut stream, &secret(), Purpose::Verbs, &mut hello, || ());
            let proven = proven.expect("somebody says who it is");
            let welcome = Welcome { node: NodeId(0), process: 1, region_bytes: 1 << 20, epoch: 1 };
            let welcome = welcome.encode();
            let seal = proven.seal(&secret(), &welcome);
            stream.write_all(&[&welcome[..], &seal].concat()).expect("somebody reads");
            then(number, stream);
        }
    };
    (address, std::thread::Builder::new().spawn(serve).expect("a thread"))
}

fn impostor_config(address: SocketAddr) -> TcpConfig {
    let server = Server::start(0, 1);
    let mut config = config(&[&server]);
    config.caller.servers[0].address = address;
    config.attempts_max = 2;
    config
}

#[test]
fn a_server_that_ends_is_unreachable_and_others_are_not() {
    let mut servers = [0, 1].map(|node| Some(Server::start(node, 2)));
    let of = |server: &Option<Server>| server.as_ref().expect("it runs").server_address();
    let mut config = config(&[]);
    config.caller.servers = servers.iter().map(of).collect();
    let engine = engine(config);
    assert_eq!(read(&engine, 0), Ok(()));
    servers[0] = None;
    assert_eq!(read(&engine, 0), Err(GONE));
    assert_eq!(read(&engine, 0), Err(GONE));
    assert_eq!(read(&engine, 1), Ok(()));
    let mut both = Batch::new();
    both.write_word(at(1, 5), 1);
    both.write_word(at(0, 5), 1);
    let error = engine.block_on(engine.endpoint().execute(both)).expect_err("one is gone");
    assert_eq!(error, GONE);
    let reason = engine.endpoint().with_transport(|t| t.lost(NodeId(0)).map(str::to_owned));
    assert!(reason.is_some());
}

#[test]
fn a_server_that_does_not_answer_is_lost_in_time() {
    let (address, thread) = impostor(1, |_, stream| {
        // It reads everything and answers nothing.
        let _ = std::io::copy(&mut &stream, &mut std::io::sink());
    });
    let mut config = impostor_config(address);
    config.answer_time_max_ns = 100_000_000;
    let engine = engine(config);
    let main = engine.endpoint();
    let ended = Rc::new(Cell::new(0));
    let start_ns = main.now_ns();
    engine.block_on(async {
        for lane in 0..10 {
            let (env, ended) = (engine.endpoint(), ended.clone());
            main.spawn(async move {
                let mut batch = Batch::new();
                batch.write_word(at(0, lane), 1);
                assert_eq!(env.execute(batch).await.expect_err("nobody answers"), GONE);
                ended.set(ended.get() + 1);
            });
        }
        while ended.get() < 10 {
            main.sleep_ns(1_000_000).await;
        }
    });
    let lasted_ms = (main.now_ns() - start_ns) / 1_000_000;
    assert!((90..2000).contains(&lasted_ms), "{lasted_ms} ms");
    drop(engine);
    thread.join().expect("it has ended");
}

/// It answers one after another, and the last request waits for three times the time-out.
#[test]
fn a_server_that_goes_on_answering_is_not_lost() {
    const READS: u64 = 4;
    let (address, thread) = impostor(1, |_, mut stream| {
        for number in 1..=READS {
            stream.read_exact(&mut [0; 48]).expect("a read");
            std::thread::sleep(Duration::from_millis(300));
            let done = [0x6e61 | 3 << 16 | 3 << 32, number, 10 + number];
            stream.write_all(&crate::support::bytes(&done)).expect("somebody reads");
        }
        let _ = std::io::copy(&mut &stream, &mut std::io::sink());
    });
    let engine = engine(TcpConfig { answer_time_max_ns: 400_000_000, ..impostor_config(address) });
    let (main, seen) = (engine.endpoint(), Rc::new(Cell::new(0)));
    engine.block_on(async {
        for _ in 0..READS {
            let (env, seen) = (engine.endpoint(), seen.clone());
            main.spawn(async move {
                let mut batch = Batch::new();
                let read = batch.read(at(0, 0), 1);
                let batch = env.execute(batch).await.expect("it is answered");
                seen.set(seen.get() + batch.words(read)[0]);
            });
        }
        while seen.get() < 11 + 12 + 13 + 14 {
            main.sleep_ns(1_000_000).await;
        }
    });
    drop((engine, main));
    thread.join().expect("it has ended");
}

#[test]
fn an_engine_that_was_busy_with_other_things_loses_no_server() {
    let server = Server::start(0, 1);
    let config = TcpConfig { answer_time_max_ns: 100_000_000, ..config(&[&server]) };
    let engine = engine(config);
    let (main, lane) = (engine.endpoint(), engine.endpoint());
    let answered = Rc::new(Cell::new(0));
    let counter = answered.clone();
    engine.block_on(async {
        main.spawn(async move {
            for word in 0..3 {
                std::thread::sleep(Duration::from_millis(150));
                let mut batch = Batch::new();
                batch.write_word(at(0, word), 1);
                lane.execute(batch).await.expect("the server is there");
                counter.set(counter.get() + 1);
            }
        });
        while answered.get() < 3 {
            std::thread::sleep(Duration::from_millis(150));
            main.yield_now().await;
        }
    });
}

#[test]
fn answers_that_are_none_end_the_connection() {
    let garbage: [&[u64]; 5] = [
        &[0, 0, 0],
        // No request has this number.
        &[0x6e61 | 3 << 16 | 3 << 32, 7, 0],
        // Too few words, too many, and a call's answer to a batch.
        &[0x6e61 | 3 << 16 | 2 << 32, 1],
        &[0x6e61 | 3 << 16 | 4 << 32, 1, 0, 0],
        &[0x6e61 | 5 << 16 | 3 << 32, 1, 0],
    ];
    for words in garbage {
        let (address, thread) = impostor(1, move |_, mut stream| {
            stream.read_exact(&mut [0; 48]).expect("a read");
            stream.write_all(&crate::support::bytes(words)).expect("somebody reads");
            let _ = std::io::copy(&mut &stream, &mut std::io::sink());
        });
        let engine = engine(impostor_config(address));
        assert_eq!(read(&engine, 0), Err(GONE), "{words:?}");
        drop(engine);
        thread.join().expect("it has ended");
    }
}

#[test]
fn a_server_that_closes_is_connected_to_again_a_bounded_number_of_times() {
    let (address, thread) = impostor(3, |number, mut stream| {
        // The second connection answers one read, with a different word.
        if number == 1 {
            let mut request = [0; 48];
            stream.read_exact(&mut request).expect("a read");
            let done = [0x6e61 | 3 << 16 | 3 << 32, 1, 99];
            stream.write_all(&crate::support::bytes(&done)).expect("somebody reads");
            let _ = stream.read(&mut [0]);
        }
    });
    let mut config = impostor_config(address);
    config.attempts_max = 3;
    let engine = engine(config);
    let env = engine.endpoint();
    let mut results = Vec::new();
    engine.block_on(async {
        for _ in 0..1000 {
            let mut batch = Batch::new();
            let read = batch.read(at(0, 0), 1);
            let result = env.execute(batch).await.map(|batch| batch.words(read)[0]);
            let is_open = result.is_ok();
            results.push(result);
            env.sleep_ns(1_000_000).await;
            if is_open {
                break;
            }
        }
    });
    assert_eq!(results.last(), Some(&Ok(99)), "{results:?}");
    assert!(results[..results.len() - 1].iter().all(|result| *result == Err(GONE)));
    drop((engine, env));
    // It waits for a caller.
    drop(TcpStream::connect(address).map(|mut stream| {
        let (hello, mut answer) = ([0; HELLO_BYTES], [0; ANSWER_BYTES]);
        prove(&mut stream, &secret(), Purpose::Verbs, &hello, &mut answer)
    }));
    thread.join().expect("it has ended");
}

#[test]
fn a_connection_replaces_the_one_of_the_same_name_whose_verbs_do_not_happen_any_more() {
    let server = Server::start(0, 1);
    let mut old = server.raw(50);
    let mut new = server.raw(50);
    // WRITE_WORD of 1 to the region's first word behind its header.
    let body = [3 | 1 << 36, layout::region::HEADER_BYTES, 1];
    let frame = crate::support::request(crate::support::BATCH, &server, 1, &body);
    // The old connection is closed: its words do not arrive.
    let _ = old.write_all(&crate::support::bytes(&frame));
    assert_eq!(answer(&mut old), None);
    let read = [1 | 1 << 36, layout::region::HEADER_BYTES];
    let frame = crate::support::request(crate::support::BATCH, &server, 1, &read);
    new.write_all(&crate::support::bytes(&frame)).expect("the server reads");
    assert_eq!(answer(&mut new).expect("the server answers")[2..], [0]);
}

#[test]
fn an_engine_that_waits_for_nothing_uses_no_processor() {
    let server = Server::start(0, 1);
    let engine =
        Engine::new(TcpTransport::connect(config(&[&server])).expect("it is there"), patience());
    let engine = engine.expect("an engine needs one descriptor");
    assert_eq!(read(&engine, 0), Ok(()));
    let used_ns = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    };
    let before_ns = used_ns();
    engine.block_on(engine.endpoint().sleep_ns(500_000_000));
    let used_ns = used_ns() - before_ns;
    assert!(used_ns < 10_000_000, "{used_ns} ns in half a second");
}

/// A server's failure detector learns who has lost a connection.
#[test]
fn a_listener_gets_the_identity_of_a_caller_whose_connection_ends() {
    let server = Server::start(0, 1);
    let (told, lost) = std::sync::mpsc::channel();
    server.admission.members.on_lost_connection(move |caller| told.send(caller).expect("waits"));
    let config = config(&[&server]);
    let identity = config.caller.identity;
    let caller = engine(config);
    assert_eq!(read(&caller, 0), Ok(()));
    assert!(lost.try_recv().is_err(), "it is connected");
    drop(caller);
    assert_eq!(lost.recv_timeout(Duration::from_secs(20)), Ok(identity));
}
