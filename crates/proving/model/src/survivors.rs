//! Checks that the survivors of a crash make progress: every process that runs alone terminates.
//!
//! A process that does not run alone can only be refused, or have to retry, because of the progress
//! of others. So the check covers every state with a dead writer, for each process.

use crate::commit;
use crate::protocol::Protocol;
use crate::reader;
use crate::snapshot::Taking;
use crate::state::State;
use crate::writer::{self, Phase, WriterMove, own_version};

/// The bound on the steps of a process that runs alone; a transaction has about forty.
const ALONE_STEP_COUNT_MAX: usize = 64;

/// Whether, after a writer's death, every live process terminates when it runs alone; and whether a
/// process that begins only now is refused only rows that the dead writer had locked.
pub fn alone_ends(protocol: &Protocol, state: &State) -> bool {
    let Some(dead) = state.writers.iter().position(|writer| writer.crashed) else {
        return true;
    };
    (0..state.readers.len()).all(|index| reader_ends(protocol, state, index))
        && (0..state.writers.len())
            .filter(|index| *index != dead)
            .all(|index| writer_ends(protocol, state, index, dead))
}

fn reader_ends(protocol: &Protocol, state: &State, index: usize) -> bool {
    let mut state = *state;
    for _ in 0..ALONE_STEP_COUNT_MAX {
        if state.readers[index].is_finished() {
            return true;
        }
        if !reader_steps(protocol, &mut state, index) && !freezer_steps(protocol, &mut state) {
            return false;
        }
    }
    false
}

fn writer_ends(protocol: &Protocol, state: &State, index: usize, dead: usize) -> bool {
    let begins_now = matches!(state.writers[index].phase, Phase::Taking(_));
    let mut state = *state;
    for _ in 0..ALONE_STEP_COUNT_MAX {
        if state.writers[index].is_finished() {
            return !begins_now || is_refused_by_the_dead(&state, index, dead);
        }
        if !writer_steps(protocol, &mut state, index) && !freezer_steps(protocol, &mut state) {
            return false;
        }
    }
    false
}

/// Lets a live process that holds the freezing lock take a step. The try-lock is the only place
/// where a process waits for another, so the holder must run as well.
fn freezer_steps(protocol: &Protocol, state: &mut State) -> bool {
    let reader = state
        .readers
        .iter()
        .position(|reader| matches!(reader.phase, reader::Phase::Taking(Taking::Freezing { .. })));
    let writer = state
        .writers
        .iter()
        .position(|writer| matches!(writer.phase, Phase::Taking(Taking::Freezing { .. })));
    reader.is_some_and(|index| reader_steps(protocol, state, index))
        || writer.is_some_and(|index| writer_steps(protocol, state, index))
}

fn reader_steps(protocol: &Protocol, state: &mut State, index: usize) -> bool {
    let mut moves = Vec::new();
    reader::moves(&protocol.config, state, index, &mut moves);
    let Some(next) = moves.first() else {
        return false;
    };
    reader::step(&protocol.config, state, index, *next);
    true
}

fn writer_steps(protocol: &Protocol, state: &mut State, index: usize) -> bool {
    let mut moves = Vec::new();
    writer::moves(&protocol.config, state, index, &mut moves);
    let Some(next) = moves.iter().find(|next| **next != WriterMove::Crash) else {
        return false;
    };
    commit::step(&protocol.config, state, index, *next);
    true
}

/// Whether a writer that was refused was refused because of a row that the dead writer had locked.
fn is_refused_by_the_dead(state: &State, index: usize, dead: usize) -> bool {
    let Phase::Aborted { row } = state.writers[index].phase else {
        return true;
    };
    let of_the_dead = own_version(dead, state.writers[dead].counter);
    state.rows[row].place_of(of_the_dead).is_some()
}
