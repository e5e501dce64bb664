//! Connections that do not prove the cluster's secret: they learn the version of the protocol and
//! nothing else, and keep no member out.

use crate::support::{Server, at, config, engine, secret};
use fabric::guests::GuestLimits;
use fabric::identity::{ANSWER_BYTES, WIRE_VERSION};
use fabric::proof::{self, CHALLENGE_BYTES, Claim, PROOF_BYTES, Purpose, prove, version};
use fabric::{Batch, Fabric, Hello, Secret, TcpTransport};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A member's hello.
fn hello(server: &Server) -> Hello {
    let config = config(&[server]);
    let address = server.server_address();
    Hello {
        node: address.node,
        cluster: config.caller.cluster,
        epoch: config.caller.epoch.load(Relaxed),
        server: address.identity,
        key: address.key,
        caller: 9,
        endpoint: 1,
        process: 1,
        program: config.caller.program,
    }
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
    stream
}

/// Everything that the server sends until it closes the connection.
fn heard(mut stream: TcpStream) -> Vec<u8> {
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).expect("no reset");
    heard
}

/// Everything that a caller hears that goes on sending after the server has answered.
fn heard_after(server: &Server, sent: &[u8]) -> Vec<u8> {
    let mut stream = connect(server);
    stream.write_all(sent).expect("it reads");
    assert_eq!(stream.peek(&mut [0]).expect("an answer"), 1);
    for _ in 0..2 {
        stream.write_all(&[7; 1000]).expect("it discards them");
    }
    heard(stream)
}

/// Opens the connection, and returns it with the server's challenge.
fn opened(server: &Server) -> (TcpStream, [u8; CHALLENGE_BYTES]) {
    let mut stream = connect(server);
    stream.write_all(&proof::opening(&secret())).expect("it reads");
    let mut challenge = [0; CHALLENGE_BYTES];
    stream.read_exact(&mut challenge).expect("it answers");
    (stream, challenge)
}

fn is_served(server: &Server) {
    let mut batch = Batch::new();
    batch.write_word(at(0, 3), 7);
    let engine = engine(config(&[server]));
    engine.block_on(engine.endpoint().execute(batch)).expect("members are served");
}

#[test]
fn first_messages_that_are_no_opening_get_the_version() {
    let server = Server::start(0, 1);
    let mut old = proof::opening(&secret());
    old[8] = 1;
    let mut newer = proof::opening(&secret());
    newer[8..12].copy_from_slice(&(WIRE_VERSION + 1).to_le_bytes());
    let mut old_hello = hello(&server).encode();
    old_hello[..16].copy_from_slice(&old);
    let cases: [(&str, Vec<u8>); 8] = [
        ("an earlier version", old.to_vec()),
        ("a later version", newer.to_vec()),
        ("a whole hello of an earlier version", old_hello.to_vec()),
        ("a hello without an opening", hello(&server).encode().to_vec()),
        ("HTTP", b"GET /status HTTP/1.1\r\nHost: a\r\n\r\n".to_vec()),
        ("TLS", [&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3][..], &[7; 200]].concat()),
        ("zeros", vec![0; 100_000]),
        ("the answer of a server", version().to_vec()),
    ];
    for (name, sent) in cases {
        assert_eq!(heard_after(&server, &sent), version(), "{name}");
    }
    is_served(&server);
}

#[test]
fn proofs_that_do_not_fit_get_the_version() {
    let server = Server::start(0, 1);
    let hello = hello(&server).encode();
    let other = Secret::new([8; 32]);
    type Answer<'a> = Box<dyn Fn(&[u8; CHALLENGE_BYTES]) -> Vec<u8> + 'a>;
    let claim = |challenge: &[u8; CHALLENGE_BYTES], secret: &Secret, purpose, message: &[u8]| {
        let (_, proof) = Claim::to(challenge, secret, purpose, message);
        [&proof[..], &hello].concat()
    };
    let (_, first) = opened(&server);
    let recorded = claim(&first, &secret(), Purpose::Verbs, &hello);
    let cases: [(&str, Answer<'_>); 8] = [
        ("zeros", Box::new(|_| [&[0; PROOF_BYTES][..], &hello].concat())),
        ("another cluster", Box::new(|to| claim(to, &other, Purpose::Verbs, &hello))),
        ("another purpose", Box::new(|to| claim(to, &secret(), Purpose::Work, &hello))),
        ("another message", Box::new(|to| claim(to, &secret(), Purpose::Verbs, &[0; 128]))),
        ("a replay", Box::new(|_| recorded.clone())),
        (
            "the secret itself",
            Box::new(|_| [secret().to_text().trim().as_bytes(), &hello].concat()),
        ),
        ("the challenge, reflected", Box::new(|to| [&to[16..], &to[16..], &hello[..]].concat())),
        (
            "one bit",
            Box::new(|to| {
                let mut sent = claim(to, &secret(), Purpose::Verbs, &hello);
                sent[PROOF_BYTES - 1] ^= 1;
                sent
            }),
        ),
    ];
    for (name, answer) in cases {
        let (mut stream, challenge) = opened(&server);
        stream.write_all(&answer(&challenge)).expect("it reads");
        assert_eq!(heard(stream), version(), "{name}");
    }
    let mut config = config(&[&server]);
    config.caller.secret = other;
    let refused = TcpTransport::connect(config).expect_err("another secret").to_string();
    assert!(refused.contains("does not accept the secret"), "{refused}");
    is_served(&server);
}

/// A program that answers as a server but does not know the secret is not used.
#[test]
fn a_false_server_is_not_believed() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let server = Server::start(0, 1);
    let mut config = config(&[&server]);
    config.caller.servers[0].address = listener.local_addr().expect("bound");
    let connected = std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut caller, _) = listener.accept().expect("somebody connects");
            caller.read_exact(&mut [0; 16]).expect("an opening");
            let (_, challenge) = opened(&server);
            caller.write_all(&challenge).expect("it reads");
            caller.read_exact(&mut [0; PROOF_BYTES + 128]).expect("a proof");
            let welcome = fabric::Welcome {
                node: server.admission.node,
                process: 1,
                region_bytes: 1 << 24,
                epoch: 5,
            };
            caller.write_all(&welcome.encode()).expect("it reads");
            caller.write_all(&[0; 32]).expect("it reads");
        });
        TcpTransport::connect(config).expect_err("it has proven nothing").to_string()
    });
    assert!(connected.contains("does not know the cluster's secret"), "{connected}");
}

#[test]
fn beginnings_that_stay_incomplete_get_nothing_until_their_time_is_over() {
    let server = Server::start(0, 1);
    let hello = hello(&server).encode();
    let (half, _) = opened(&server);
    let (mut cut, challenge) = opened(&server);
    let (_, proof) = Claim::to(&challenge, &secret(), Purpose::Verbs, &hello);
    cut.write_all(&proof).expect("it reads");
    let mut nothing = vec![connect(&server), half, cut];
    let mut begun = connect(&server);
    begun.write_all(&proof::opening(&secret())[..9]).expect("it reads");
    nothing.push(begun);
    let start = Instant::now();
    // Its own limit does not depend on others' traffic; these callers keep the server awake.
    for stream in nothing {
        stream.set_read_timeout(Some(Duration::from_millis(100))).expect("a socket");
        let mut stream = stream;
        loop {
            match stream.read(&mut [0; 64]) {
                Ok(0) => break,
                Ok(count) => panic!("it says {count} bytes"),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => is_served(&server),
                Err(_) => break,
            }
            assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
        }
    }
    assert!(start.elapsed() > Duration::from_secs(4), "{:?}", start.elapsed());
}

#[test]
fn silent_connections_keep_no_member_out_and_are_few() {
    let server = Server::start(0, 1);
    let silent: Vec<TcpStream> =
        (0..600).map_while(|_| TcpStream::connect(server.address).ok()).collect();
    assert!(silent.len() >= 400, "{} connections", silent.len());
    for _ in 0..5 {
        is_served(&server);
    }
    let is_open = |mut stream: &TcpStream| {
        stream.set_nonblocking(true).expect("a socket");
        let read = stream.read(&mut [0]);
        matches!(read, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    };
    let start = Instant::now();
    while silent.iter().filter(|stream| is_open(stream)).count() > GuestLimits::VERBS.per_peer {
        assert!(start.elapsed() < Duration::from_secs(3), "they stay until their time is over");
        is_served(&server);
    }
}

/// Runs `members` during a flood from their own address that is renewed all the time: one half is
/// silent, the other half opens the connection as strangers can. Returns the number of connections
/// of the flood, too.
fn during_a_flood<R>(server: &Server, members: impl FnOnce() -> R) -> (R, u64) {
    let (is_over, opened) = (AtomicBool::new(false), AtomicU64::new(0));
    let flood = |speaks: bool| {
        let mut held = std::collections::VecDeque::new();
        while !is_over.load(Relaxed) {
            if let Ok(mut stream) = TcpStream::connect(server.address) {
                if speaks {
                    let _ = stream.write_all(&proof::opening(&Secret::new([8; 32])));
                }
                held.push_back(stream);
                opened.fetch_add(1, Relaxed);
            }
            if held.len() > 100 {
                held.pop_front();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    std::thread::scope(|scope| {
        for speaks in [false, true] {
            scope.spawn(move || flood(speaks));
        }
        while opened.load(Relaxed) < 200 {
            std::thread::yield_now();
        }
        // The flood would outlive a failure.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(members));
        is_over.store(true, Relaxed);
        match ended {
            Ok(result) => (result, opened.load(Relaxed)),
            Err(failure) => std::panic::resume_unwind(failure),
        }
    })
}

#[test]
fn members_connect_during_a_flood_from_their_own_address() {
    let server = Server::start(0, 1);
    during_a_flood(&server, || (0..20).for_each(|_| is_served(&server)));
}

/// Strangers cannot displace a member whose opening has arrived, however slow it is.
#[test]
fn a_slow_member_outlives_a_flood_from_its_own_address() {
    let server = Server::start(0, 1);
    let hello = hello(&server).encode();
    let (welcome, opened) = during_a_flood(&server, || {
        let (mut stream, challenge) = opened(&server);
        let later = Instant::now() + Duration::from_millis(1500);
        while Instant::now() < later {
            is_served(&server);
        }
        let (_, proof) = Claim::to(&challenge, &secret(), Purpose::Verbs, &hello);
        stream.write_all(&[&proof[..], &hello].concat()).expect("it reads");
        let mut answer = [0; ANSWER_BYTES];
        stream.read_exact(&mut answer).expect("it was not displaced");
        fabric::Welcome::decode(&answer)
    });
    welcome.expect("it is a member");
    assert!(opened > 400, "{opened} connections are no flood");
}

/// Members have places of their own, and their number is limited, too.
#[test]
fn members_beyond_the_limit_are_refused_with_a_sentence() {
    let server = Server::start(0, 1);
    let mut members = Vec::new();
    for endpoint in 0..fabric::tcp::CONNECTIONS_MAX {
        members.push(server.raw(10_000 + endpoint));
    }
    let mut stream = connect(&server);
    let mut answer = [0; ANSWER_BYTES];
    let hello = hello(&server).encode();
    prove(&mut stream, &secret(), Purpose::Verbs, &hello, &mut answer)
        .expect("it knows the secret");
    let refusal = fabric::Welcome::decode(&answer).expect_err("all places are taken").to_string();
    assert!(refusal.contains("has 512 connections, which is its limit"), "{refusal}");
    members.truncate(500);
    // The server notices the ends of connections before it serves others, at the latest soon.
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(5) {
        let mut stream = connect(&server);
        if prove(&mut stream, &secret(), Purpose::Verbs, &hello, &mut answer).is_ok()
            && fabric::Welcome::decode(&answer).is_ok()
        {
            return;
        }
    }
    panic!("places of connections that have ended stay taken");
}
