//! A wire between members and an etcd, which can be cut and can lose answers.

use crate::etcd::Etcd;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Passes bytes on. It lasts until the test ends.
pub struct Wire {
    /// Where members connect to.
    pub port: u16,
    faults: Arc<Faults>,
}

#[derive(Default)]
struct Faults {
    is_cut: AtomicBool,
    /// What the next request contains that is carried out and never answered.
    unanswered: Mutex<Option<String>>,
}

impl Wire {
    pub fn to(etcd: &Etcd) -> Self {
        let faults = Arc::new(Faults::default());
        let listener = TcpListener::bind("127.0.0.1:0").expect("some port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let (faulty, target) = (faults.clone(), etcd.port);
        spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if let Ok(server) = TcpStream::connect(("127.0.0.1", target)) {
                    connect(client, server, &faulty);
                }
            }
        });
        Self { port, faults }
    }

    /// From now on whatever is sent vanishes, and nobody is told.
    pub fn cut(&self) {
        self.faults.is_cut.store(true, Ordering::SeqCst);
    }

    /// The next request with these words arrives, and its answer does not.
    pub fn lose_answer_to(&self, words: &str) {
        *self.faults.unanswered.lock().expect("nobody panics") = Some(words.to_owned());
    }

    /// Whether an answer was lost since it was asked for.
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

/// Passes on what `arrives`, until one of the ends is closed.
fn pass(mut from: TcpStream, mut to: TcpStream, mut arrives: impl FnMut(&[u8]) -> bool) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if arrives(&bytes[..count]) && to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    // An end that is closed already is as good.
    let _ = to.shutdown(Shutdown::Write);
}

#[expect(clippy::disallowed_methods, reason = "tests of real processes have real threads")]
fn spawn(body: impl FnOnce() + Send + 'static) {
    std::thread::spawn(body);
}
