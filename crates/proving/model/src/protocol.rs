//! The model: all processes, one step of one of them at a time.
//!
//! Decision: docs/decisions/0034-the-commit-protocol-is-model-checked-exhaustively.md

use crate::commit;
use crate::config::{Config, SnapshotWay};
use crate::reader::{self, Reader, ReaderMove};
use crate::state::{READER_COUNT, SLOT_COUNT, State};
use crate::writer::{self, Writer, WriterMove};
use stateright::{Model, Property};

/// A protocol and the transactions that run under it.
pub struct Protocol {
    /// The protocol and its transactions.
    pub config: Config,
    properties: Vec<Property<Protocol>>,
}

/// One step of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Writer(usize, WriterMove),
    Reader(usize, ReaderMove),
}

impl Protocol {
    /// The model that checks these properties under a configuration.
    pub fn new(config: Config, properties: Vec<Property<Protocol>>) -> Protocol {
        Protocol { config, properties }
    }

    /// Whether the readers are indistinguishable, so that states may swap them.
    fn readers_are_alike(&self) -> bool {
        !self.config.sessions && self.config.guards.snapshot != SnapshotWay::Mixed
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let config = &self.config;
        let writers = [0, 1].map(|index| Writer::initial(config, index));
        let readers = [0, 1].map(|index| Reader::initial(config, index));
        vec![State::initial(writers, readers)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for index in 0..SLOT_COUNT {
            let mut moves = Vec::new();
            writer::moves(&self.config, state, index, &mut moves);
            actions.extend(moves.into_iter().map(|step| Action::Writer(index, step)));
        }
        for index in 0..READER_COUNT {
            let mut moves = Vec::new();
            reader::moves(&self.config, state, index, &mut moves);
            actions.extend(moves.into_iter().map(|step| Action::Reader(index, step)));
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = *state;
        match action {
            Action::Writer(index, step) => commit::step(&self.config, &mut next, index, step),
            Action::Reader(index, step) => reader::step(&self.config, &mut next, index, step),
        }
        // Indistinguishable readers may swap places, which halves the number of states.
        if self.readers_are_alike() {
            next.readers.sort_unstable();
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Protocol>> {
        self.properties.clone()
    }
}
