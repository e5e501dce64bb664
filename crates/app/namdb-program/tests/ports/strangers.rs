//! First messages and proofs that do not fit, at every port for verbs, calls and work.

use crate::cluster::{Cluster, Door};
use fabric::Secret;
use fabric::identity::{ANSWER_BYTES, WIRE_VERSION};
use fabric::proof::{CHALLENGE_BYTES, Claim, PROOF_BYTES, Purpose, opening, prove, version};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

type Challenge = [u8; CHALLENGE_BYTES];
type Answer<'a> = Box<dyn Fn(&Challenge) -> Vec<u8> + 'a>;

/// The bytes that a stranger sends: at once, or after the server's challenge.
enum Sent<'a> {
    First(Vec<u8>),
    Proof(Answer<'a>),
}

/// The proof of this secret, with the message of another one behind it if there is one.
fn proof(
    to: &Challenge,
    secret: &Secret,
    purpose: Purpose,
    message: &[u8],
    sent: &[u8],
) -> Vec<u8> {
    let (_, proof) = Claim::to(to, secret, purpose, message);
    [&proof[..], sent].concat()
}

/// Everything that gets the version and nothing else.
fn strangers<'a>(door: &'a Door, secret: &'a Secret) -> Vec<(&'static str, Sent<'a>)> {
    let changed = |at: usize, to: u8| {
        let mut bytes = opening(secret);
        bytes[at] = to;
        bytes.to_vec()
    };
    let message = &door.message;
    let other = Secret::new([8; 32]);
    let other_purpose = match door.purpose {
        Purpose::Verbs => Purpose::Work,
        Purpose::Work => Purpose::Verbs,
    };
    let recorded = {
        let (_link, challenge) = door.opened();
        proof(&challenge, secret, door.purpose, message, message)
    };
    let random: Vec<u8> =
        (0..70_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    vec![
        ("HTTP", Sent::First(b"GET /status HTTP/1.1\r\nHost: a\r\n\r\n".to_vec())),
        ("TLS", Sent::First([&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3][..], &[9; 300]].concat())),
        (
            "a line of JSON",
            Sent::First(b"{\"Greeting\":{\"program\":\"0.1.0\",\"cluster\":1}}\n".to_vec()),
        ),
        ("zeros", Sent::First(vec![0; 4096])),
        ("random bytes", Sent::First(random)),
        ("an earlier version", Sent::First(changed(8, WIRE_VERSION as u8 - 1))),
        ("a later version", Sent::First(changed(8, WIRE_VERSION as u8 + 1))),
        ("a hello of an earlier version", Sent::First([&changed(8, 1)[..], &[1; 112]].concat())),
        ("a member's message without a proof", Sent::First([&message[..], &[7; 16]].concat())),
        ("no secret", Sent::Proof(Box::new(|_| [&[0; PROOF_BYTES][..], message].concat()))),
        (
            "the secret of another cluster",
            Sent::Proof(Box::new(move |to| proof(to, &other, door.purpose, message, message))),
        ),
        (
            "a proof for another port",
            Sent::Proof(Box::new(move |to| proof(to, secret, other_purpose, message, message))),
        ),
        (
            "a proof for another message",
            Sent::Proof(Box::new(|to| proof(to, secret, door.purpose, b"other", message))),
        ),
        ("a recorded greeting", Sent::Proof(Box::new(move |_| recorded.clone()))),
        (
            "the server's nonce",
            Sent::Proof(Box::new(|to| [&to[16..], &to[16..], &message[..]].concat())),
        ),
        (
            "the secret in clear",
            Sent::Proof(Box::new(|_| [secret.to_text().trim().as_bytes(), message].concat())),
        ),
        (
            "the token of the control pages",
            Sent::Proof(Box::new(|_| [secret.token().as_bytes(), message].concat())),
        ),
    ]
}

/// The number of strangers. All have heard the version and nothing else.
fn judge(cluster: &Cluster) -> usize {
    let mut count = 0;
    for door in cluster.doors() {
        for (name, sent) in strangers(&door, &cluster.secret) {
            let link = match sent {
                Sent::First(bytes) => {
                    let mut link = door.connect();
                    link.send(&bytes);
                    link
                }
                Sent::Proof(answer) => {
                    let (mut link, challenge) = door.opened();
                    link.send(&answer(&challenge));
                    link
                }
            };
            assert_eq!(link.heard(), version(), "{name} at {}", door.name);
            count += 1;
        }
    }
    count
}

#[test]
fn at_plain_ports_strangers_learn_the_version_and_nothing_else() {
    let cluster = Cluster::up("strangers", false);
    assert_eq!(judge(&cluster), 51);
    cluster.serves_members();
}

/// A certificate of the cluster does not replace its secret.
#[test]
fn at_encrypted_ports_strangers_learn_the_version_and_nothing_else() {
    let cluster = Cluster::up("strangers", true);
    assert_eq!(judge(&cluster), 51);
    for door in cluster.doors() {
        let mut plain = door.knock();
        plain.write_all(&opening(&cluster.secret)).expect("it reads");
        let mut heard = Vec::new();
        plain.read_to_end(&mut heard).expect("no reset");
        assert_eq!(heard[..3], [21, 3, 3], "an alert of TLS at {}", door.name);
        assert_eq!(heard.len(), 7, "and nothing else");
    }
    cluster.serves_members();
}

/// Beginnings that stop: nothing is said, and they end in time. All wait at the same time.
fn ends_silent_connections(cluster: &Cluster) {
    let mut waiting = Vec::new();
    for door in cluster.doors() {
        let (half, challenge) = door.opened();
        let (mut cut, _) = door.opened();
        let whole = proof(&challenge, &cluster.secret, door.purpose, &door.message, &door.message);
        cut.send(&whole[..PROOF_BYTES - 1]);
        let mut begun = door.connect();
        begun.send(&opening(&cluster.secret)[..9]);
        let silent = [("nothing", door.connect()), ("half an opening", begun)];
        let opened = [("an opening", half), ("half a proof", cut)];
        waiting.extend(silent.into_iter().chain(opened).map(|it| (door.name, it)));
        if door.is_encrypted() {
            let silent = crate::cluster::Link::Plain(door.knock());
            waiting.push((door.name, ("no handshake of TLS", silent)));
        }
    }
    let start = Instant::now();
    for (door, (name, link)) in waiting {
        assert_eq!(link.heard(), b"", "{name} at {door}");
    }
    assert!(start.elapsed() < Duration::from_secs(12), "{:?}", start.elapsed());
}

#[test]
fn plain_connections_that_stop_speaking_hear_nothing_and_end_in_time() {
    ends_silent_connections(&Cluster::up("silent", false));
}

#[test]
fn encrypted_connections_that_stop_speaking_hear_nothing_and_end_in_time() {
    ends_silent_connections(&Cluster::up("silent", true));
}

/// Behind a right proof, a hello that does not fit is refused with a sentence, and an oversized
/// length ends the connection.
#[test]
fn members_that_send_nonsense_lose_their_connection_only() {
    for is_encrypted in [false, true] {
        let cluster = Cluster::up("nonsense", is_encrypted);
        for door in cluster.doors().into_iter().filter(|door| door.purpose == Purpose::Verbs) {
            let told = |at: usize, to: &[u8]| {
                let (mut message, mut answer) = (door.message.clone(), [0; ANSWER_BYTES]);
                message[at..at + to.len()].copy_from_slice(to);
                let (secret, mut link) = (&cluster.secret, door.connect());
                let proven = prove(&mut link, secret, Purpose::Verbs, &message, &mut answer);
                proven.expect("it knows the secret");
                let refusal = fabric::Welcome::decode(&answer).expect_err("it does not fit");
                assert_eq!(link.heard(), b"");
                refusal.to_string()
            };
            assert!(told(24, &[1; 8]).contains("belongs to cluster"), "another cluster's id");
            assert!(told(76, &[255; 4]).contains("is not text"), "an oversized length");
            assert!(told(76, &[0; 4]).contains("the caller is namdb"), "no version");
            assert!(told(40, &[1; 8]).contains("was started again"), "another server");
            let (mut answer, mut link) = ([0; ANSWER_BYTES], door.connect());
            let proven =
                prove(&mut link, &cluster.secret, Purpose::Verbs, &door.message, &mut answer);
            proven.expect("it knows the secret");
            fabric::Welcome::decode(&answer).expect("it is a member's");
            // A frame of 32 GiB.
            let head = 0x6e61_u64 | 1 << 16 | u64::from(u32::MAX) << 32;
            link.send(&[&head.to_le_bytes()[..], &[0; 64]].concat());
            let heard = link.heard();
            let said = String::from_utf8_lossy(&heard);
            assert!(said.contains("the message is not a valid request"), "{said}");
        }
        cluster.serves_members();
    }
}
