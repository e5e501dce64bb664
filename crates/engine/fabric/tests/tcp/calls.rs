//! Calls are answered once, for every length of request and answer.

use crate::support::{ANSWERED, CALL, Server, answer, bytes, config, engine, kind, request};
use fabric::service::Reply;
use fabric::tcp::CALL_BYTES_MAX;
use fabric::{CallError, Fabric, LocalEnv, Service, ServiceId};
use layout::NodeId;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const COUNT: ServiceId = ServiceId(7);

/// Counts its calls, and answers with the count repeated as often as the request's first eight
/// bytes say.
#[derive(Default)]
struct Count(AtomicU64);

impl Service<LocalEnv> for Count {
    fn handle<'a>(&'a self, _env: &'a LocalEnv, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let number = self.0.fetch_add(1, Relaxed);
            let first = request.first_chunk().ok_or(CallError::Malformed("count"))?;
            match u64::from_le_bytes(*first) {
                u64::MAX => Err(CallError::Refused("as it was asked to".to_owned())),
                bytes => Ok(vec![number as u8; bytes as usize]),
            }
        })
    }
}

fn server() -> Server {
    Server::start_with(0, 1, &[(COUNT, Arc::new(Count::default()))])
}

#[test]
fn calls_are_answered_whatever_their_length() {
    let server = server();
    let engine = engine(config(&[&server]));
    let env = engine.endpoint();
    for (number, length) in [0, 1, 7, 8, 9, 1000, 100_000, CALL_BYTES_MAX].into_iter().enumerate() {
        let mut request = (length as u64).to_le_bytes().to_vec();
        request.resize(length.max(8), 1);
        let answer = engine.block_on(env.call(NodeId(0), COUNT, request));
        assert_eq!(answer, Ok(vec![number as u8; length]));
    }
}

#[test]
fn what_goes_wrong_with_a_call_is_told() {
    let server = server();
    let engine = engine(config(&[&server]));
    let env = engine.endpoint();
    let call = |node, service, request| engine.block_on(env.call(NodeId(node), service, request));
    assert_eq!(
        call(0, ServiceId(8), vec![]),
        Err(CallError::NoSuchService(NodeId(0), ServiceId(8)))
    );
    assert_eq!(call(1, COUNT, vec![]), Err(CallError::Unreachable(NodeId(1))));
    assert!(matches!(call(0, COUNT, vec![1]), Err(CallError::Malformed(_))));
    let refused = call(0, COUNT, u64::MAX.to_le_bytes().to_vec());
    assert_eq!(refused, Err(CallError::Refused("as it was asked to".to_owned())));
    for too_long in
        [vec![0; CALL_BYTES_MAX + 1], (CALL_BYTES_MAX as u64 + 1).to_le_bytes().to_vec()]
    {
        let Err(CallError::Refused(sentence)) = call(0, COUNT, too_long) else {
            panic!("no message holds it")
        };
        assert!(sentence.contains("at most"), "{sentence}");
    }
}

#[test]
fn a_repeated_call_is_answered_once_also_on_another_connection() {
    let server = server();
    let body = |sequence: u64| [9, sequence, u64::from(COUNT.0) | 8 << 32, 1];
    let mut first = server.raw(1);
    let call = |connection: &mut std::net::TcpStream, number, sequence| {
        let frame = request(CALL, &server, number, &body(sequence));
        connection.write_all(&bytes(&frame)).expect("the server reads");
        answer(connection).expect("the server answers")
    };
    let one = call(&mut first, 1, 1);
    assert_eq!((kind(&one), one[1], one[3]), (ANSWERED, 1, 0));
    assert_eq!(call(&mut first, 2, 1)[2..], one[2..], "from the record");
    let mut second = server.raw(2);
    assert_eq!(call(&mut second, 1, 1)[2..], one[2..], "from the record");
    let next = call(&mut second, 2, 2);
    assert_eq!(next[3], 1, "the handler has run once before");
    let stale = call(&mut first, 3, 1);
    assert_eq!(stale[2] as u32, 4, "the session has called since");
}

#[test]
fn calls_and_batches_share_a_connection() {
    use crate::support::at;
    use fabric::{Batch, Env};
    let server = server();
    let engine = engine(config(&[&server]));
    let main = engine.endpoint();
    engine.block_on(async {
        let done = std::rc::Rc::new(std::cell::Cell::new(0));
        for lane in 0..16_u64 {
            let (env, done) = (engine.endpoint(), done.clone());
            main.spawn(async move {
                for round in 0..50 {
                    let length = round * 100 + lane;
                    let answer = env.call(NodeId(0), COUNT, length.to_le_bytes().to_vec()).await;
                    assert_eq!(answer.expect("it is answered").len() as u64, length);
                    let mut batch = Batch::new();
                    batch.write_word(at(0, lane), length);
                    let read = batch.read(at(0, lane), 1);
                    let batch = env.execute(batch).await.expect("inside its region");
                    assert_eq!(batch.words(read), [length]);
                }
                done.set(done.get() + 1);
            });
        }
        while done.get() < 16 {
            main.yield_now().await;
        }
    });
}
