//! Calls: each is answered once, completely, and by its own answer.

use crate::breakage::ANSWERED;
use crate::party::{Party, unless, word};
use crate::service::{ECHO, HANDLED, REFUSAL, REFUSE};
use crate::test::{Disturbance, Need, Report, Test};
use fabric::{CallError, Env, ServiceId};
use layout::NodeId;

const SERVERS: [NodeId; 2] = [NodeId(0), NodeId(1)];
/// Bytes of the longest request and of the longest answer: the size that a schema may need.
const LONG_BYTES: usize = 60_000;

pub fn tests<E: Env>() -> Vec<Test<E>> {
    vec![
        Test {
            name: "calls-answered",
            promise: "a call returns its handler's answer of any length, and its errors",
            falls_if: "answers are cut or mixed up, or errors are lost",
            parties: 2,
            play: |party| Box::pin(answered(party)),
            ..Test::of_one()
        },
        Test {
            name: "calls-answered-once",
            promise: "a call is handled once, also if it arrives twice",
            falls_if: "a repeated request runs its handler again",
            broken: &[ANSWERED],
            parties: 3,
            play: |party| Box::pin(answered_once(party)),
            ..Test::of_one()
        },
        Test {
            name: "calls-repeated",
            promise: "a call that is sent again, also over another connection, is answered from the record",
            falls_if: "the record of answers belongs to a connection, or there is none",
            disturbance: Some(Disturbance::RepeatCall),
            play: |party| Box::pin(beside_a_repeated_call(party)),
            ..Test::of_one()
        },
        Test {
            name: "calls-given-up",
            promise: "a caller that gives up waiting for an answer gets no part of it with the next",
            falls_if: "a late answer is taken for that of the next call",
            needs: &[Need::Waiting],
            play: |party| Box::pin(given_up(party)),
            seen: "calls that were given up",
            ..Test::of_one()
        },
    ]
}

async fn call<E: Env>(party: &Party<E>, node: NodeId, request: Vec<u8>) -> Result<Vec<u8>, String> {
    let answer = party.env.call(node, ECHO, request).await;
    answer.map_err(|error| format!("party {}: {error}", party.number))
}

async fn answered<E: Env>(party: Party<E>) -> Report {
    party.meet(0).await?;
    for round in 0..party.rounds.min(200) {
        for node in SERVERS {
            let request = vec![party.number as u8, 3, round as u8, node.0 as u8];
            let answer = call(&party, node, request.clone()).await?;
            party.expect(answer == request.repeat(3), || format!("{request:?} got {answer:?}"))?;
        }
    }
    for bytes in [1, 255, 4096, LONG_BYTES] {
        let mut request = vec![5; bytes];
        request.iter_mut().skip(1).take(1).for_each(|copies| *copies = 1);
        let answer = call(&party, SERVERS[1], request.clone()).await?;
        party
            .expect(answer == request, || format!("{bytes} bytes came back as {}", answer.len()))?;
    }
    let answer = call(&party, SERVERS[0], [9, 200].repeat(LONG_BYTES / 400)).await?;
    let is_whole = answer.len() == LONG_BYTES && answer.chunks(2).all(|two| two == [9, 200]);
    party.expect(is_whole, || format!("an answer of {LONG_BYTES} bytes has {}", answer.len()))?;
    let refused = party.env.call(SERVERS[0], ECHO, vec![REFUSE]).await;
    let refusal = Err(CallError::Refused(REFUSAL.to_owned()));
    party.expect(refused == refusal, || format!("a refusal arrives as {refused:?}"))?;
    let missing = party.env.call(SERVERS[1], ServiceId(9), vec![1]).await;
    let none = Err(CallError::NoSuchService(SERVERS[1], ServiceId(9)));
    party.expect(missing == none, || format!("a service that there is not: {missing:?}"))?;
    Ok(Vec::new())
}

async fn answered_once<E: Env>(party: Party<E>) -> Report {
    party.meet(0).await?;
    let rounds = party.rounds.min(1000);
    for round in 0..rounds {
        let request = vec![party.number as u8, 1, round as u8];
        let answer = call(&party, SERVERS[0], request.clone()).await?;
        party.expect(answer == request, || format!("{request:?} got {answer:?}"))?;
    }
    party.meet(1).await?;
    // A repeated request may arrive after the last answer.
    party.env.sleep_ns(1_000_000).await;
    let handled = party.read(word(0, HANDLED)).await?;
    let calls = rounds * u64::from(party.count);
    party.expect(handled == calls, || format!("{calls} calls were handled {handled} times"))?;
    Ok(Vec::new())
}

/// The repeated call is handled once.
async fn beside_a_repeated_call<E: Env>(party: Party<E>) -> Report {
    party.wait_for(word(0, HANDLED), 1).await?;
    // By then all repetitions have arrived.
    party.env.sleep_ns(300_000_000).await;
    let handled = party.read(word(0, HANDLED)).await?;
    party.expect(handled == 1, || format!("a repeated call was handled {handled} times"))?;
    Ok(Vec::new())
}

async fn given_up<E: Env>(party: Party<E>) -> Report {
    let mut count = 0;
    for round in 0..party.rounds.min(500) {
        let patience_ns = party.env.random() % 20_000;
        let given_up = party.env.call(SERVERS[0], ECHO, vec![0xee; 3]);
        count += u64::from(unless(given_up, party.env.sleep_ns(patience_ns)).await.is_none());
        let request = vec![1, 2, round as u8];
        let answer = call(&party, SERVERS[0], request.clone()).await?;
        party.expect(answer == request.repeat(2), || format!("{request:?} got {answer:?}"))?;
    }
    Ok(vec![count])
}
