//! Random, truncated and hostile messages: the server answers or closes, and goes on.

use crate::world::{World, bind, execute, parse, query};
use pgwire::message::frontend::{Frontend, Target};
use pgwire::message::startup::{Packet, Startup, VERSION_3_0};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// A small generator: the same inputs in each run.
struct Random(u64);

impl Random {
    fn next(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

fn startup() -> Vec<u8> {
    let parameters = vec![("user".to_owned(), "ada".to_owned())];
    let mut bytes = Vec::new();
    Packet::Startup(Startup { version: VERSION_3_0, parameters }).write(&mut bytes);
    bytes
}

/// Sends bytes, ends the sending side, and reads up to the end. The server must close the
/// connection.
fn exchange(world: &World, bytes: &[u8]) -> Vec<u8> {
    let mut socket = TcpStream::connect(world.server.address()).expect("it is accepted");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("it is a socket");
    // The server may close before it has read everything.
    let _ = socket.write_all(bytes);
    let _ = socket.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    match socket.read_to_end(&mut answer) {
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
        read => _ = read.expect("the server answers or closes within 20 s"),
    }
    answer
}

fn valid_session() -> Vec<u8> {
    let mut bytes = startup();
    for message in [
        Frontend::Query("rows 3"),
        parse("s", "echo", &[23, 25]),
        bind("p", "s", &[Some(b"1"), Some(b"x")], 0),
        Frontend::Describe(Target::Portal("p")),
        execute("p", 1),
        Frontend::Sync,
        Frontend::Query("copyin"),
        Frontend::CopyData(b"1\n"),
        Frontend::CopyDone,
        Frontend::Close(Target::Statement("s")),
        Frontend::Flush,
        Frontend::Sync,
        Frontend::Query("copyout 3"),
    ] {
        message.write(&mut bytes);
    }
    bytes
}

/// After the abuse, a decent client is served.
fn still_serves(world: &World) {
    let mut client = world.client();
    assert_eq!(query(&mut client, "insert 1"), ["complete INSERT 0 1", "ready I"]);
}

#[test]
fn a_session_may_end_after_every_byte() {
    let world = World::new();
    let bytes = valid_session();
    for end in 0..bytes.len() {
        exchange(&world, &bytes[..end]);
    }
    still_serves(&world);
}

#[test]
fn changed_bytes_do_no_harm() {
    let world = World::new();
    let (valid, mut random) = (valid_session(), Random(0x9e37_79b9_7f4a_7c15));
    for _ in 0..1500 {
        let mut bytes = valid.clone();
        for _ in 0..=random.next(4) {
            let at = random.next(bytes.len());
            bytes[at] = match random.next(3) {
                0 => 0xff,
                1 => 0,
                _ => random.next(256) as u8,
            };
        }
        exchange(&world, &bytes);
    }
    still_serves(&world);
}

#[test]
fn random_bytes_after_the_start_do_no_harm() {
    let world = World::new();
    let mut random = Random(7);
    for _ in 0..500 {
        let mut bytes = startup();
        let length = random.next(200);
        bytes.extend((0..length).map(|_| random.next(256) as u8));
        exchange(&world, &bytes);
        // A message type with a plausible length and a random body.
        let mut bytes = startup();
        bytes.push(b"QPBDCEFHSdcfpX"[random.next(14)]);
        let length = random.next(60);
        bytes.extend((length as u32 + 4).to_be_bytes());
        bytes.extend((0..length).map(|_| random.next(4) as u8));
        exchange(&world, &bytes);
    }
    still_serves(&world);
}

#[test]
fn other_protocols_get_an_answer() {
    let world = World::new();
    let answer = exchange(&world, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(String::from_utf8_lossy(&answer).contains("invalid startup packet"));
    let answer = exchange(&world, &[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]);
    assert!(answer.is_empty() || answer[0] == b'E', "a TLS client without SSLRequest");
}

#[test]
fn a_message_beyond_the_limit_is_refused_before_it_is_sent() {
    let world = World::new();
    let mut bytes = startup();
    bytes.extend(b"Q\x7f\xff\xff\xff");
    let answer = exchange(&world, &bytes);
    let text = String::from_utf8_lossy(&answer);
    assert!(text.contains("invalid message length") && text.contains("08P01"), "{text}");
}

#[test]
fn requests_for_encryption_are_answered_with_no() {
    let world = World::new();
    let mut bytes = Vec::new();
    Packet::Gss.write(&mut bytes);
    Packet::Ssl.write(&mut bytes);
    bytes.extend(startup());
    let answer = exchange(&world, &bytes);
    assert_eq!(&answer[..3], b"NNR");
    let mut endless = Vec::new();
    (0..10).for_each(|_| Packet::Ssl.write(&mut endless));
    assert!(exchange(&world, &endless).len() <= 3, "nobody needs to ask ten times");
}

#[test]
fn a_cancel_request_with_a_wrong_key_is_ignored() {
    let world = World::new();
    let client = world.client();
    let mut bytes = Vec::new();
    Packet::Cancel { process: 1, secret: vec![0; 4] }.write(&mut bytes);
    assert!(exchange(&world, &bytes).is_empty());
    assert_eq!(world.server.gauges().counts().cancels, 0);
    client.canceller().and_then(|canceller| canceller.cancel()).expect("the server reads");
    for _ in 0..1000 {
        if world.server.gauges().counts().cancels == 1 {
            return;
        }
        crate::toy::pgwire_sleep(2);
    }
    panic!("the valid key was not recognised");
}

#[test]
fn a_newer_protocol_is_negotiated_down() {
    let world = World::new();
    let parameters =
        vec![("user".to_owned(), "ada".to_owned()), ("_pq_.report".to_owned(), "x".to_owned())];
    let mut bytes = Vec::new();
    Packet::Startup(Startup { version: VERSION_3_0 + 2, parameters }).write(&mut bytes);
    let answer = exchange(&world, &bytes);
    assert_eq!(answer[0], b'v');
    assert!(String::from_utf8_lossy(&answer).contains("_pq_.report"));
    let old = Startup { version: 2 << 16, parameters: vec![] };
    let mut bytes = Vec::new();
    Packet::Startup(old).write(&mut bytes);
    assert!(String::from_utf8_lossy(&exchange(&world, &bytes)).contains("unsupported frontend"));
}
