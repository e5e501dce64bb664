//! Messages over TCP that no correct caller sends, written by hand.

use crate::fabrics::garbage::garbage;
use crate::fabrics::rendezvous::{Rendezvous, SECRET};
use crate::service::ECHO;
use fabric::Welcome;
use fabric::identity::ANSWER_BYTES;
use fabric::proof::{Purpose, prove};
use fabric::tcp::FRAME_WORDS_MAX;
use layout::NodeId;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// The time within which a server must answer or hang up.
const BOUND: Duration = Duration::from_secs(5);
/// The low half of a frame's first word: the magic number, and the kind.
const BATCH: u64 = 0x0001_6e61;
const CALL: u64 = 0x0002_6e61;
/// A header of an unknown kind.
const NOTHING: u64 = 0x0077_6e61;
/// Number of frames whose verbs are garbage.
const ROUNDS: u64 = 20;

/// Sends garbage instead of a hello. After a hello, sends frames whose length is too long, too
/// short or never reached, frames of unknown kinds, and frames with garbage as verbs and calls.
pub fn send_garbage(place: &Rendezvous) -> Result<(), String> {
    for seed in 0..4 {
        let mut stranger = open_connection(place)?;
        send(&mut stranger, &garbage(seed, 300));
        hangs_up(stranger, "garbage instead of a hello")?;
    }
    let _silent = open_connection(place)?;
    let words = |count: usize| (count as u64) << 32;
    let heads = [
        (BATCH | words(FRAME_WORDS_MAX + 1), "a frame that is too long"),
        (BATCH | words(u32::MAX as usize), "a frame of 32 GiB"),
        (BATCH | words(3), "a frame that is shorter than its header"),
        (BATCH, "a frame of no words"),
        (0, "zeros"),
        (NOTHING | words(8), "a frame of no kind"),
    ];
    for (number, (head, what)) in heads.into_iter().enumerate() {
        let mut guest = open_with_hello(place, 100 + number as u64)?;
        send_words(&mut guest, &frame(place, head, &[0; 4]));
        hangs_up(guest, what)?;
    }
    for round in 0..ROUNDS {
        let mut guest = open_with_hello(place, 200 + round)?;
        let body: Vec<u64> = garbage(round, 4096)
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
            // Addresses outside of every region, so that garbage that happens to be a valid verb
            // does no harm.
            .map(|word| word | 0xff00_0000_0000_0000)
            .collect();
        let kind = if round % 2 == 0 { BATCH } else { CALL };
        send_words(&mut guest, &frame(place, kind | words(4 + body.len()), &body));
        reacts(guest)?;
    }
    // Half a frame, and then silence, on a connection that stays open.
    let mut half = open_with_hello(place, 300)?;
    send_words(&mut half, &frame(place, BATCH | words(1000), &[0; 10]));
    Ok(())
}

/// Sends the same call twice on one connection and a third time on another: each must get the same
/// answer.
pub fn repeat_call(place: &Rendezvous) -> Result<(), String> {
    let request = u64::from_le_bytes([1, 2, 3, 4, 0, 0, 0, 0]);
    let body = [4711, 1, u64::from(ECHO.0) | 4 << 32, request];
    let frame = frame(place, CALL | 8 << 32, &body);
    let mut answers = Vec::new();
    for (endpoint, times) in [(400, 2), (401, 1)] {
        let mut guest = open_with_hello(place, endpoint)?;
        for sequence in 1..=times {
            let mut frame = frame.clone();
            frame[3] = sequence;
            send_words(&mut guest, &frame);
            answers.push(answer(&mut guest)?);
        }
    }
    let first = answers[0].clone();
    match answers.iter().find(|answer| **answer != first) {
        Some(other) => Err(format!("a repeated call was answered {first:?}, then {other:?}")),
        None => Ok(()),
    }
}

/// The words of an answer after its sequence number.
fn answer(stream: &mut TcpStream) -> Result<Vec<u64>, String> {
    let mut word = || {
        let mut bytes = [0; 8];
        stream.read_exact(&mut bytes).map_err(|error| format!("no answer: {error}"))?;
        Ok::<_, String>(u64::from_le_bytes(bytes))
    };
    let count = word()? >> 32;
    let words: Result<Vec<u64>, String> = (1..count).map(|_| word()).collect();
    Ok(words?.split_off(1))
}

fn frame(place: &Rendezvous, head: u64, body: &[u64]) -> Vec<u64> {
    let hello = place.hello(NodeId(0), 0);
    [&[head, hello.epoch, hello.key, 1], body].concat()
}

fn send_words(stream: &mut TcpStream, words: &[u64]) {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    send(stream, &bytes);
}

/// Sends `bytes`. An error means that the server has hung up already, which the tests wait for.
fn send(stream: &mut TcpStream, bytes: &[u8]) {
    let _ = stream.write_all(bytes);
}

/// Opens a connection to server 0 and sends nothing.
fn open_connection(place: &Rendezvous) -> Result<TcpStream, String> {
    let failed = |error: std::io::Error| format!("cannot connect to server 0: {error}");
    let stream = TcpStream::connect(&place.addresses[0]).map_err(failed)?;
    stream.set_read_timeout(Some(BOUND)).map_err(failed)?;
    Ok(stream)
}

/// Opens a connection to server 0 and completes the handshake.
fn open_with_hello(place: &Rendezvous, endpoint: u64) -> Result<TcpStream, String> {
    let mut stream = open_connection(place)?;
    let (hello, mut answer) = (place.hello(NodeId(0), endpoint).encode(), [0; ANSWER_BYTES]);
    prove(&mut stream, &SECRET, Purpose::Verbs, &hello, &mut answer)
        .map_err(|error| format!("no welcome: {error}"))?;
    Welcome::decode(&answer).map_err(|refusal| refusal.to_string())?;
    Ok(stream)
}

/// Waits until the server sends anything, or closes the connection.
fn reacts(mut stream: TcpStream) -> Result<(), String> {
    match stream.read(&mut [0; 8]) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Ok(()),
        Err(error) => Err(format!("the server does not react to a frame of garbage: {error}")),
    }
}

/// Reads until the server closes the connection, and ignores the data.
fn hangs_up(mut stream: TcpStream, what: &str) -> Result<(), String> {
    match std::io::copy(&mut stream, &mut std::io::sink()) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Ok(()),
        Err(error) => Err(format!("after {what} the server does not hang up: {error}")),
    }
}
