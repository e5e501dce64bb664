//! The definition of a test.

use crate::party::Party;
use sim::BrokenPromises;
use std::future::Future;
use std::pin::Pin;

/// The words that a party reports, or the error that it found.
pub type Report = Result<Vec<u64>, String>;

/// The future of a party's work.
pub type Play = Pin<Box<dyn Future<Output = Report>>>;

/// The properties that a fabric must have for a test to be meaningful.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// A batch that takes time, so that its caller can stop waiting for it.
    Waiting,
    /// Memory that is coherent with the processors that read it.
    CoherentMemory,
    /// Servers that execute all verbs, one after another.
    ServersCarry,
    /// A device whose failed swaps write nothing, as on all cards.
    QuietSwaps,
}

/// A disturbance of a test by the stage, from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disturbance {
    /// Kills memory server 1 while the parties work.
    KillServer,
    /// Loses batches to memory server 1, which lives on: it stands still for longer than callers
    /// wait for an answer.
    LoseBatches,
    /// Kills party 1 while it works.
    KillParty,
    /// Kills memory server 1 while the parties work, and starts it again at the same address, as
    /// another server with another key: a caller that takes it for the first is refused with the
    /// reason, and one that knows the new key gets an endpoint.
    RestartServer,
    /// A caller with one wrong property tries to open an endpoint, and must be refused with the
    /// reason; then a legitimate caller tries, and must get one.
    Knock(Wrong),
    /// Sends input to server 0 that no correct caller sends, before and after the handshake.
    SendGarbage,
    /// Sends the same call to server 0 three times.
    RepeatCall,
    /// The servers learn of a later epoch than that of the parties.
    RaiseEpoch,
}

/// The wrong property of a caller that tries to open an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// The key of the server's region, or of its earlier life.
    Key,
    /// An epoch that has ended.
    Epoch,
    /// Another cluster.
    Cluster,
    /// Another version of the program.
    Program,
}

impl Wrong {
    /// A part of the refusal's message.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Key => "was started again since the caller learned of it",
            Self::Epoch => "the caller is of epoch 0",
            Self::Cluster => "the caller belongs to cluster",
            Self::Program => "the caller is namdb",
        }
    }
}

/// One test, for all fabrics.
pub struct Test<E> {
    /// The name, the same on every fabric.
    pub name: &'static str,
    /// The promise of the fabric that it tests.
    pub promise: &'static str,
    /// The fault that makes the test fail.
    pub falls_if: &'static str,
    /// The simulator's switches that break the promise, each alone.
    pub broken: &'static [BrokenPromises],
    pub parties: u32,
    /// The properties that the fabric must have.
    pub needs: &'static [Need],
    /// The disturbance from outside.
    pub disturbance: Option<Disturbance>,
    /// The work of a party.
    pub play: fn(Party<E>) -> Play,
    /// Judges the reports of all parties, in the order of their numbers; the report of a killed
    /// party is empty. Returns how often the tested event happened, or the error.
    pub judge: fn(&[Vec<u64>]) -> Result<u64, String>,
    /// The event that is counted, if a test without a single one proves nothing.
    pub seen: &'static str,
    /// Whether the event may never happen: then the count is for information only.
    pub is_information: bool,
}

impl<E: 'static> Test<E> {
    /// A test of one party that judges itself; the caller fills in the rest.
    pub fn of_one() -> Self {
        Self {
            name: "",
            promise: "",
            falls_if: "",
            broken: &[],
            parties: 1,
            needs: &[],
            disturbance: None,
            play: |_| Box::pin(async { Ok(Vec::new()) }),
            judge: sum,
            seen: "",
            is_information: false,
        }
    }

    /// As [`Test::of_one`], of two.
    pub fn of_two() -> Self {
        Self { parties: 2, ..Self::of_one() }
    }
}

/// Adds up all reported words: for tests whose parties count events.
pub fn sum(reports: &[Vec<u64>]) -> Result<u64, String> {
    Ok(reports.iter().flatten().sum())
}
