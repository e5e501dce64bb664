//! Requests for status and metrics without the token of the cluster.

use crate::cluster::{Cluster, Link, PATIENCE};
use fabric::Secret;
use fabric::proof::opening;
use std::io::{Read, Write};
use std::net::TcpStream;

fn asked(address: &str, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    stream.write_all(request).expect("it reads");
    String::from_utf8(Link::Plain(stream).heard()).expect("answers are text")
}

fn get(path: &str, header: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\n{header}\r\n").into_bytes()
}

fn requests(cluster: &Cluster) -> Vec<(&'static str, Vec<u8>)> {
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    let (secret, other) = (&cluster.secret, Secret::new([8; 32]));
    let token = secret.token();
    let posted =
        |method: &str| format!("{method} /status HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes();
    let long = format!("A: {}\r\n", "a".repeat(20_000));
    vec![
        ("status", get("/status", "")),
        ("metrics", get("/metrics", "")),
        ("health", get("/healthz", "")),
        ("a page that is not there", get("/etc/passwd", "")),
        ("a path upwards", get("/../../status", "")),
        ("the token in the path", get(&format!("/status?token={token}"), "")),
        ("another cluster's token", get("/status", &bearer(&other.token()))),
        ("the secret itself", get("/status", &bearer(secret.to_text().trim()))),
        ("part of the token", get("/status", &bearer(&token[..63]))),
        ("more than the token", get("/status", &bearer(&format!("{token}0")))),
        ("an empty token", get("/status", &bearer(""))),
        ("another scheme", get("/status", &format!("Authorization: Basic {token}\r\n"))),
        ("two tokens", get("/status", &(bearer(&token) + &bearer("x")))),
        ("a wrong method", posted("POST")),
        ("a deletion", posted("DELETE")),
        ("a long header", get("/status", &long)),
        ("TLS", vec![22, 3, 1, 2, 0, 1, 0, 1, 252]),
        ("an opening for verbs", opening(secret).to_vec()),
        ("zeros", vec![0; 100]),
    ]
}

#[test]
fn control_ports_tell_holders_of_the_token_only() {
    let cluster = Cluster::up("control", false);
    let token = cluster.run("cluster token");
    assert_eq!(String::from_utf8_lossy(&token.stdout).trim(), cluster.secret.token());
    let header = format!("Authorization: Bearer {}\r\n", cluster.secret.token());
    let mut count = 0;
    for address in cluster.controls() {
        for (name, request) in requests(&cluster) {
            let told = asked(&address, &request);
            let (head, body) = told.split_once("\r\n\r\n").expect("it has a head");
            assert!(head.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{name}: {told}");
            assert!(body.starts_with("namdb, protocol 3: "), "{name}: {told}");
            for word in ["identity", "memory", "compute", "namdb_", "healthy"] {
                assert!(!told.contains(word), "{name}: {told}");
            }
            count += 1;
        }
        assert!(asked(&address, &get("/status", &header)).contains("\"healthy\":true"));
        assert!(asked(&address, &get("/metrics", &header)).contains("namdb_build_info"));
        assert!(asked(&address, &get("/healthz", &header)).ends_with("healthy\n"));
        let missing = asked(&address, &get("/nothing", &header));
        assert!(missing.starts_with("HTTP/1.1 404 "), "{missing}");
    }
    assert_eq!(count, 38);
}

/// The commands of the documentation.
#[test]
fn curl_reads_the_pages_with_the_token() {
    let cluster = Cluster::up("curl", false);
    let has_curl = std::process::Command::new("curl").arg("--version").output();
    if has_curl.is_err() {
        println!("skipped: this host has no curl");
        return;
    }
    let command = format!(
        "curl -sS -H \"Authorization: Bearer $({} cluster token --cluster {})\" http://{}/metrics",
        env!("CARGO_BIN_EXE_namdb"),
        cluster.file.display(),
        cluster.controls()[0]
    );
    let told = std::process::Command::new("sh").args(["-c", &command]).output().expect("a shell");
    assert!(String::from_utf8_lossy(&told.stdout).contains("namdb_build_info"), "{told:?}");
}

/// Silent connections do not keep a scraper out.
#[test]
fn silent_connections_keep_no_scraper_out() {
    let cluster = Cluster::up("scraper", false);
    let address = &cluster.controls()[0];
    let silent: Vec<TcpStream> = (0..400).map_while(|_| TcpStream::connect(address).ok()).collect();
    assert!(silent.len() > 100);
    let header = format!("Authorization: Bearer {}\r\n", cluster.secret.token());
    for _ in 0..5 {
        assert!(asked(address, &get("/status", &header)).contains("\"healthy\":true"));
    }
    let mut oldest = silent.into_iter().next().expect("there are some");
    oldest.set_read_timeout(Some(PATIENCE)).expect("a socket");
    assert!(matches!(oldest.read(&mut [0]), Ok(0) | Err(_)), "it has made room");
}
