//! Callers that send garbage, or do not read: they lose their own connection, and no other caller
//! notices.

use crate::support::{
    BATCH, DONE, OUT_OF_RANGE, REFUSED, Server, answer, at, bytes, config, engine, kind, request,
};
use fabric::random::SplitMix64;
use fabric::{Batch, Engine, Fabric, TcpTransport};
use layout::region::HEADER_BYTES;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Random frames and parts of frames.
struct Random(SplitMix64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    fn next(&mut self) -> u64 {
        self.0.draw()
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Mostly small, sometimes at a limit, sometimes arbitrary.
    fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => self.next(),
            1 => [0, 1, u64::MAX, 1 << 28, (1 << 28) - 1, 1 << 20, 1 << 32][self.below(7) as usize],
            _ => self.below(16),
        }
    }

    /// An address in the region, near its end, or elsewhere.
    fn address(&mut self) -> u64 {
        match self.below(8) {
            0 => self.next(),
            1 => crate::support::REGION_BYTES - 8 * self.below(16),
            2 => HEADER_BYTES + self.below(64),
            _ => HEADER_BYTES + 8 * self.below(64),
        }
    }

    /// An almost correct verb.
    fn verb(&mut self, to: &mut Vec<u64>) {
        let (verb, cover) = (self.below(12), self.below(3));
        let (first, words) = (self.number() & 0xfff_ffff, self.number() & 0xfff_ffff);
        let code = verb | cover << 4 | first << 8 | words << 36;
        to.extend([code, self.address()]);
        match verb {
            2 | 7 | 8 => {
                let count = (words.min(20) + self.below(3)).saturating_sub(self.below(3));
                (0..count).for_each(|_| to.push(self.number()));
            }
            9 => {
                let geometry = [self.below(10), self.below(4), self.below(4), self.below(3)];
                let geometry = geometry.iter().rev().fold(0, |word, byte| word << 8 | byte);
                to.push(geometry | self.below(12) << 32 | self.below(3) << 48);
                (0..self.below(4)).for_each(|_| to.push(self.number()));
            }
            _ => (0..self.below(3)).for_each(|_| to.push(self.number())),
        }
    }

    fn frame(&mut self, server: &Server, sequence: u64) -> Vec<u64> {
        let mut body = Vec::new();
        for _ in 0..self.below(6) {
            self.verb(&mut body);
        }
        let kind = if self.below(8) == 0 { self.below(8) } else { BATCH };
        let mut frame = request(kind, server, sequence, &body);
        // Some frames have a flipped bit.
        if self.below(4) == 0 {
            let word = self.below(frame.len() as u64) as usize;
            frame[word] ^= 1 << self.below(64);
        }
        frame
    }
}

fn is_served(engine: &Engine<TcpTransport>, round: u64) {
    let mut batch = Batch::new();
    let word = at(0, 100_000 + round % 1000);
    batch.write_word(word, round);
    let read = batch.read(word, 1);
    let batch = engine.block_on(engine.endpoint().execute(batch)).expect("others are served");
    assert_eq!(batch.words(read), [round]);
}

/// Sends `sent` and reads all answers; returns whether the server kept the connection to the end.
fn send(server: &Server, endpoint: u64, sent: &[u8]) -> bool {
    let mut stream = server.raw(endpoint);
    let _ = stream.write_all(sent);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answers = Vec::new();
    let is_closed_in_order = stream.read_to_end(&mut answers).is_ok();
    // All complete output consists of frames.
    let mut left: &[u8] = &answers;
    let mut last = None;
    while let Some(head) = left.first_chunk::<8>() {
        let head = u64::from_le_bytes(*head);
        assert_eq!(head & 0xffff, 0x6e61);
        last = Some(head >> 16 & 0xff);
        left = left.get((head >> 32) as usize * 8..).unwrap_or_default();
    }
    is_closed_in_order && last != Some(REFUSED)
}

#[test]
fn random_and_damaged_frames_end_their_own_connection_only() {
    let server = Server::start(0, 1);
    let engine = engine(config(&[&server]));
    let mut random = Random::new(0x7463_7021);
    let (mut kept, mut ended) = (0, 0);
    for round in 0..3000 {
        let mut sent = Vec::new();
        for sequence in 1..=1 + random.below(8) {
            sent.extend(bytes(&random.frame(&server, sequence)));
        }
        // Some streams end within a frame.
        if random.below(8) == 0 {
            sent.truncate(random.below(sent.len() as u64) as usize);
        }
        match send(&server, round % 7, &sent) {
            true => kept += 1,
            false => ended += 1,
        }
        if round % 50 == 0 {
            is_served(&engine, round);
        }
    }
    is_served(&engine, 1);
    assert!(kept > 100 && ended > 100, "{kept} connections lived, {ended} were ended");
}

#[test]
fn bytes_that_are_no_frames_end_their_own_connection_only() {
    let server = Server::start(0, 1);
    let engine = engine(config(&[&server]));
    let mut random = Random::new(5);
    for round in 0..300 {
        let sent: Vec<u8> = (0..random.below(2000)).map(|_| random.next() as u8).collect();
        assert!(!send(&server, 1, &sent) || sent.len() < 8);
        // The same before the handshake.
        let mut stream = TcpStream::connect(server.address).expect("the server listens");
        let _ = stream.write_all(&sent);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty() || answer == fabric::proof::version());
        is_served(&engine, round);
    }
}

#[test]
fn frames_that_are_too_large_or_too_small_are_refused() {
    let server = Server::start(0, 1);
    for words in [0, 3, (1 << 20) + 1, u64::from(u32::MAX)] {
        let mut stream = server.raw(1);
        let mut frame = request(BATCH, &server, 1, &[]);
        frame[0] = frame[0] & 0xffff_ffff | words << 32;
        stream.write_all(&bytes(&frame)).expect("the server reads");
        let answer = answer(&mut stream).expect("the server says why");
        assert_eq!(kind(&answer), REFUSED, "{words} words");
        assert_eq!(stream.read(&mut [0]).ok(), Some(0), "it closes");
    }
}

#[test]
fn verbs_to_another_servers_region_are_out_of_range() {
    const WRITE_WORD: u64 = 3 | 1 << 36;
    let server = Server::start(0, 2);
    let mut stream = server.raw(1);
    let inside = at(0, 9).word();
    // Each would write to the server's own region if only the offset, or only whole words of it,
    // counted.
    for (number, target) in [at(1, 9).word(), at(77, 9).word(), inside + 1].into_iter().enumerate()
    {
        let body = [WRITE_WORD, inside, 5, WRITE_WORD, target, 6];
        let frame = request(BATCH, &server, number as u64, &body);
        stream.write_all(&bytes(&frame)).expect("the server reads");
        let answer = answer(&mut stream).expect("it is answered");
        assert_eq!((kind(&answer), &answer[2..]), (OUT_OF_RANGE, &[target, 1][..]));
    }
    let frame = request(BATCH, &server, 9, &[1 | 1 << 36, inside]);
    stream.write_all(&bytes(&frame)).expect("the server reads");
    let answer = answer(&mut stream).expect("the connection is as good as before");
    assert_eq!((kind(&answer), &answer[2..]), (DONE, &[5][..]));
}

#[test]
fn verbs_that_would_take_much_memory_are_refused() {
    let server = Server::start(0, 1);
    let many = (1_u64 << 28) - 1;
    // A row without words, many reads of 2^20 words each, a bucket without slots.
    let row = vec![7 | many << 8 | many << 36, HEADER_BYTES, 0];
    let reads = [1 | 1 << 56, HEADER_BYTES].repeat(1000);
    let bucket = vec![9, HEADER_BYTES, 0x0100_0000, 0];
    for body in [row, reads, bucket] {
        let mut stream = server.raw(1);
        let frame = request(BATCH, &server, 1, &body);
        stream.write_all(&bytes(&frame)).expect("the server reads");
        assert_eq!(kind(&answer(&mut stream).expect("the server says why")), REFUSED);
    }
    is_served(&engine(config(&[&server])), 1);
}

#[test]
fn tags_that_name_slots_beyond_the_bucket_harm_nobody() {
    let server = Server::start(0, 1);
    let engine = engine(config(&[&server]));
    let end = layout::GlobalPtr::new(layout::RegionId(0), crate::support::REGION_BYTES - 8 * 11);
    let mut batch = Batch::new();
    // A bucket of two slots at the end of the region, with eight matching tags.
    let words = batch.put(&[0, 0, 0, 0, 0x0707_0707_0707_0707, 1, 1, 1, 1, 1, 1]);
    batch.write(end, words);
    let geometry = fabric::SlotGeometry {
        slots: 2,
        key_words: 1,
        key_at: 1,
        tag: 7,
        slot_words: 3,
        rows: false,
    };
    let results: Vec<_> = (0..2)
        .map(|_| {
            let key = batch.put(&[5]);
            batch.find_slot(end, geometry, key)
        })
        .collect();
    let batch = engine.block_on(engine.endpoint().execute(batch)).expect("inside its region");
    for result in results {
        let index = batch.words(result)[fabric::SlotRead::INDEX as usize];
        assert_eq!(index, fabric::SlotRead::MISSING);
    }
}

#[test]
fn who_does_not_read_its_answers_is_not_served_further_until_it_does() {
    const REQUESTS: u64 = 200;
    const WORDS: u64 = 100_000;
    let server = Server::start(0, 1);
    let engine = engine(config(&[&server]));
    let mut stream = server.raw(1);
    let served = || server.shared.1.requests.load(Relaxed);
    let before = served();
    let frames: Vec<u8> = (1..=REQUESTS)
        .flat_map(|number| {
            bytes(&request(BATCH, &server, number, &[1 | WORDS << 36, HEADER_BYTES]))
        })
        .collect();
    stream.write_all(&frames).expect("requests are short");
    // Other callers are served meanwhile.
    (0..200).for_each(|round| is_served(&engine, round));
    let carried_out = served() - before - 200;
    assert!(carried_out < REQUESTS / 2, "{carried_out} of {REQUESTS} requests were carried out");
    for number in 1..=REQUESTS {
        let answer = answer(&mut stream).expect("the server goes on");
        assert_eq!((kind(&answer), answer[1], answer.len() as u64), (DONE, number, 2 + WORDS));
    }
    is_served(&engine, 1);
}

#[test]
fn a_server_that_sleeps_wakes_when_its_slow_reader_reads() {
    // Answers within the limit of a connection that do not fit into the system's buffers.
    const WORDS: u64 = 60_000;
    let server = Server::start(0, 1);
    let mut stream = server.raw(1);
    let read = |number| bytes(&request(BATCH, &server, number, &[1 | WORDS << 36, HEADER_BYTES]));
    let start = std::time::Instant::now();
    for round in 0..10 {
        for number in 0..20 {
            stream.write_all(&read(round * 20 + number + 1)).expect("requests are short");
        }
        // It has served all that it can by now, and sleeps.
        std::thread::sleep(Duration::from_millis(20));
        for number in 0..20 {
            let answer = answer(&mut stream).expect("the server goes on");
            assert_eq!((answer[1], answer.len() as u64), (round * 20 + number + 1, 2 + WORDS));
        }
    }
    // Without a wake-up, it would poll once a minute.
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
}
