//! Tries several connections concurrently, each with a time limit.

use std::io::ErrorKind;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Time limit: twice what a host of any network needs to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Result of an attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Attempt {
    /// A process accepts connections.
    Open,
    /// The host answers, but no process accepts connections.
    Refused,
    /// No answer within the time limit.
    Silent,
    /// The name or the network is unknown.
    Failed(String),
}

/// Tries all addresses, such as `host:7400`.
pub fn connect_all(addresses: &[String]) -> Vec<Attempt> {
    std::thread::scope(|scope| {
        let tries: Vec<_> =
            addresses.iter().map(|address| scope.spawn(move || connect(address))).collect();
        tries.into_iter().map(|attempt| attempt.join().expect("a try does not panic")).collect()
    })
}

fn connect(address: &str) -> Attempt {
    let resolved = match address.to_socket_addrs().map(|mut addresses| addresses.next()) {
        Ok(Some(resolved)) => resolved,
        Ok(None) => return Attempt::Failed("the name has no address".to_owned()),
        Err(error) => return Attempt::Failed(error.to_string()),
    };
    match TcpStream::connect_timeout(&resolved, PATIENCE) {
        Ok(_) => Attempt::Open,
        Err(error) => match error.kind() {
            ErrorKind::ConnectionRefused => Attempt::Refused,
            ErrorKind::TimedOut | ErrorKind::WouldBlock => Attempt::Silent,
            _ => Attempt::Failed(error.to_string()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn whoever_listens_is_reached_and_others_are_told_apart() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let open = listener.local_addr().expect("it has one").to_string();
        let closed = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let refused = closed.local_addr().expect("it has one").to_string();
        drop(closed);
        let attempts = connect_all(&[open, refused, "nowhere.invalid:1".to_owned()]);
        assert_eq!(attempts[..2], [Attempt::Open, Attempt::Refused]);
        assert!(matches!(attempts[2], Attempt::Failed(_)));
    }
}
