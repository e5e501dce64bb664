//! The process of a party.

use crate::fabrics::processes::{OVERTIME_NS, PATIENCE_NS, Processes};
use crate::fabrics::rendezvous::Rendezvous;
use crate::party::Party;
use crate::tests;
use std::io::BufRead;

/// Takes part in the test of this name, and reports the outcome to the director by `say`.
pub fn perform<P: Processes>(
    test: &str,
    number: u32,
    place: &Rendezvous,
    say: impl Fn(&str),
) -> Result<(), String> {
    let test = tests::all::<P::Env>().into_iter().find(|known| known.name == test);
    let test = test.ok_or("there is no such test")?;
    let started = || {
        say("started");
        let mut line = String::new();
        // The director sends a line to start the party; without one it has ended.
        if !matches!(std::io::stdin().lock().read_line(&mut line), Ok(1..)) {
            std::process::exit(1);
        }
        end_with_director();
    };
    let (count, rounds, patience_ns) = (test.parties, P::ROUNDS, PATIENCE_NS);
    let report = P::take_part(place, started, |env| {
        (test.play)(Party { env, number, count, rounds, patience_ns, overtime_ns: OVERTIME_NS })
    });
    match report {
        Ok(words) => {
            let words: Vec<String> = words.iter().map(u64::to_string).collect();
            say(&format!("report {}", words.join(" ")));
        }
        Err(sentence) => say(&format!("error {sentence}")),
    }
    Ok(())
}

/// Ends this process when the director closes the standard input.
fn end_with_director() {
    let wait = || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(1);
    };
    if std::thread::Builder::new().spawn(wait).is_err() {
        std::process::exit(1);
    }
}
