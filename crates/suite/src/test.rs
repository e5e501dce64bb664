//! What a test is made of.

use crate::party::Party;
use sim::BrokenPromises;
use std::future::Future;
use std::pin::Pin;

/// The words that a party reports, or what it found wrong.
pub type Report = Result<Vec<u64>, String>;

/// A party at its work.
pub type Play = Pin<Box<dyn Future<Output = Report>>>;

/// What a fabric must have for a test to say anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// A batch that takes time, so that somebody can stop waiting for it.
    Waiting,
    /// Memory that is coherent with the processors that see it.
    CoherentMemory,
    /// Servers that carry out all verbs, one after another.
    ServersCarry,
    /// A device that leaves alone what a failed swap found, as all cards do.
    QuietSwaps,
}

/// What the stage does to a play from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disturbance {
    /// Kills memory server 1 while the parties are at work.
    KillServer,
    /// Kills party 1 while it is at work.
    KillParty,
    /// Kills memory server 1 while the parties are at work, and starts it again at the same address, as another one
    /// with another key: whoever takes it for the first is told so, and who knows of it gets an endpoint.
    RestartServer,
    /// Somebody with whom something is wrong tries to get an endpoint, and must be told why not; then somebody who
    /// belongs here does, and must get one.
    Knock(Wrong),
    /// Sends what no caller ever sends, before and behind the handshake, to server 0.
    SendGarbage,
    /// Sends the same call to server 0 three times.
    RepeatCall,
    /// The servers learn of a later epoch than that of the parties.
    RaiseEpoch,
}

/// What is wrong with somebody who tries to get an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// The key of the server's region, or of its earlier life.
    Key,
    /// An epoch that is over.
    Epoch,
    /// Another cluster.
    Cluster,
    /// Another version of the program.
    Program,
}

impl Wrong {
    /// What the refusal has to say.
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
    /// Its name, the same on every fabric.
    pub name: &'static str,
    /// What the fabric promises.
    pub promise: &'static str,
    /// What would break the test.
    pub falls_if: &'static str,
    /// The simulator's switches that break the promise, each alone.
    pub broken: &'static [BrokenPromises],
    /// How many take part.
    pub parties: u32,
    /// What the fabric must have.
    pub needs: &'static [Need],
    /// What is done from outside.
    pub disturbance: Option<Disturbance>,
    /// What a party does.
    pub play: fn(Party<E>) -> Play,
    /// Looks at the reports of all parties, in their order; those of a party that was killed are empty. Answers
    /// how often that happened which the test is about, or what is wrong.
    pub judge: fn(&[Vec<u64>]) -> Result<u64, String>,
    /// What it is that happened so often, if a test during which it never did has shown nothing.
    pub seen: &'static str,
    /// Whether it may never happen: then the number is for information only.
    pub is_information: bool,
}

impl<E: 'static> Test<E> {
    /// A test of one party that is judged by that party alone; the rest is said by whoever makes it.
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

/// Adds up all words reported: for plays whose parties count what they saw.
pub fn sum(reports: &[Vec<u64>]) -> Result<u64, String> {
    Ok(reports.iter().flatten().sum())
}
