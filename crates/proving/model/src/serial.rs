//! Checks whether the finished transactions have a serial order: their dependencies have no cycle.

use crate::protocol::Protocol;
use crate::reader;
use crate::state::{READER_COUNT, ROW_COUNT, SLOT_COUNT, State, Version};
use crate::writer::own_version;

const TRANSACTION_COUNT: usize = SLOT_COUNT + READER_COUNT;

/// `graph[a][b]`: transaction `a` comes before `b` in every serial order.
type Graph = [[bool; TRANSACTION_COUNT]; TRANSACTION_COUNT];

/// Whether some serial order explains the reads of every finished transaction, reader or writer.
pub fn is_serializable(protocol: &Protocol, state: &State) -> bool {
    let mut graph = Graph::default();
    for transaction in 0..TRANSACTION_COUNT {
        for row in 0..ROW_COUNT {
            if let Some(version) = version_read(protocol, state, transaction, row) {
                add_dependencies(state, transaction, row, version, &mut graph);
            }
        }
    }
    close(&mut graph);
    (0..TRANSACTION_COUNT).all(|transaction| !graph[transaction][transaction])
}

/// The version of a row that a finished transaction has read.
fn version_read(
    protocol: &Protocol,
    state: &State,
    transaction: usize,
    row: usize,
) -> Option<Version> {
    match transaction.checked_sub(SLOT_COUNT) {
        None => {
            let program = protocol.config.writers[transaction];
            let writer = &state.writers[transaction];
            let is_read = writer.is_beyond_return() && (program.reads[row] || program.writes[row]);
            is_read.then_some(writer.version_read[row])
        }
        Some(index) => {
            let reader = &state.readers[index];
            let got = reader.got[row].filter(|_| reader.phase == reader::Phase::Finished);
            got.map(|got| got.version)
        }
    }
}

/// A reader comes after the writer of the version it read and before the writer that displaced that
/// version; a writer of a row has read it, so this orders writers as well.
fn add_dependencies(
    state: &State,
    transaction: usize,
    row: usize,
    version: Version,
    graph: &mut Graph,
) {
    let order = &state.rows[row].order;
    let place = state.rows[row].place_of(version).expect("only versions in the order are read");
    if let Some(writer) = committed_writer(state, version) {
        graph[writer][transaction] = true;
    }
    let displacing = order.get(place + 1).copied().flatten();
    if let Some(writer) = displacing.and_then(|version| committed_writer(state, version)) {
        graph[transaction][writer] |= writer != transaction;
    }
}

fn committed_writer(state: &State, version: Version) -> Option<usize> {
    (0..SLOT_COUNT).find(|index| {
        let writer = &state.writers[*index];
        writer.is_beyond_return() && own_version(*index, writer.counter) == version
    })
}

fn close(graph: &mut Graph) {
    for middle in 0..TRANSACTION_COUNT {
        for first in 0..TRANSACTION_COUNT {
            for last in 0..TRANSACTION_COUNT {
                graph[first][last] |= graph[first][middle] && graph[middle][last];
            }
        }
    }
}
