//! A wire between members and an etcd, which can be cut and can lose responses.

use etcd_process::Etcd;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Forwards bytes until the test ends.
pub struct Wire {
    /// The port that members connect to.
    pub port: u16,
    faults: Arc<Faults>,
}

#[derive(Default)]
struct Faults {
    is_cut: AtomicBool,
    /// Text in the next request that is executed without a response.
    unanswered: Mutex<Option<String>>,
}

impl Wire {
    pub fn to(etcd: &Etcd) -> Self {
        let faults = Arc::new(Faults::default());
        let listener = TcpListener::bind("127.0.0.1:0").expect("some port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let (faulty, target) = (faults.clone(), etcd.port());
        spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if let Ok(server) = TcpStream::connect(("127.0.0.1", target)) {
                    connect(client, server, &faulty);
                }
            }
        });
        Self { port, faults }
    }

    /// Drops everything sent from now on, without closing connections.
    pub fn cut(&self) {
        self.faults.is_cut.store(true, Ordering::SeqCst);
    }

    /// Forwards the next request that contains these words, and drops its response.
    pub fn lose_answer_to(&self, words: &str) {
        *self.faults.unanswered.lock().expect("nobody panics") = Some(words.to_owned());
    }

    /// Whether a response was dropped since [`Wire::lose_answer_to`].
    pub fn has_lost_answer(&self) -> bool {
        self.faults.unanswered.lock().expect("nobody panics").is_none()
    }
}

fn connect(client: TcpStream, server: TcpStream, faults: &Arc<Faults>) {
    let clone = |stream: &TcpStream| stream.try_clone().expect("it is open");
    let (requests, answers) = ((clone(&client), clone(&server)), (server, client));
    let is_deaf = Arc::new(AtomicBool::new(false));
    let (deafened, at_fault) = (is_deaf.clone(), faults.clone());
    spawn(move || {
        pass(requests.0, requests.1, |bytes| {
            let mut unanswered = at_fault.unanswered.lock().expect("nobody panics");
            let request = String::from_utf8_lossy(bytes);
            if unanswered.as_ref().is_some_and(|words| request.contains(words)) {
                *unanswered = None;
                deafened.store(true, Ordering::SeqCst);
            }
            !at_fault.is_cut.load(Ordering::SeqCst)
        });
    });
    let at_fault = faults.clone();
    spawn(move || {
        pass(answers.0, answers.1, |_| {
            !is_deaf.load(Ordering::SeqCst) && !at_fault.is_cut.load(Ordering::SeqCst)
        });
    });
}

/// Forwards bytes while `arrives` says so, until one end is closed.
fn pass(mut from: TcpStream, mut to: TcpStream, mut arrives: impl FnMut(&[u8]) -> bool) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if arrives(&bytes[..count]) && to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // The end may be closed already.
    let _ = to.shutdown(Shutdown::Write);
}

#[expect(clippy::disallowed_methods, reason = "tests of real processes have real threads")]
fn spawn(body: impl FnOnce() + Send + 'static) {
    std::thread::spawn(body);
}
