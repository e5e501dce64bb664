//! The results of a batch's verbs, as the body of an answer.
//!
//! ```text
//! READ, READ_ROW | the words
//! SWAP, ADD      | what the word held
//! FIND_SLOT      | index; behind MISSING the header of the bucket, else the slot
//! others         | nothing
//! ```
//!
//! Decision: docs/decisions/0076-a-batch-is-one-message-each-way-and-the-server-rebuilds-it.md

use crate::tcp::request::Malformed;
use crate::verb::{SlotRead, Verb};
use layout::bucket;

/// Appends the result of `verb`, which is in `arena`.
#[inline]
pub(super) fn encode(verb: &Verb, arena: &[u64], to: &mut Vec<u64>) {
    match *verb {
        Verb::Read { at, words, .. } | Verb::ReadRow { at, words, .. } => {
            to.extend_from_slice(&arena[at as usize..(at + words) as usize]);
        }
        Verb::CompareAndSwap { at, .. } | Verb::FetchAndAdd { at, .. } => {
            to.push(arena[at as usize])
        }
        Verb::FindSlot { geometry, at, .. } => {
            let result = &arena[at as usize..];
            let index = result[SlotRead::INDEX as usize];
            to.push(index);
            let slot = SlotRead::SLOT as usize;
            to.extend_from_slice(match index {
                SlotRead::MISSING => &result[..bucket::SLOTS as usize],
                _ => &result[slot..slot + usize::from(geometry.slot_words)],
            });
        }
        _ => {}
    }
}

/// Puts the result of `verb`, with which `body` begins, into `arena`, and advances `body`.
#[inline]
pub(super) fn decode(verb: &Verb, arena: &mut [u64], body: &mut &[u64]) -> Result<(), Malformed> {
    match *verb {
        Verb::Read { at, words, .. } | Verb::ReadRow { at, words, .. } => {
            copy(body, arena, at, words)?;
        }
        Verb::CompareAndSwap { at, .. } | Verb::FetchAndAdd { at, .. } => copy(body, arena, at, 1)?,
        Verb::FindSlot { geometry, at, .. } => {
            let index = *body.first().ok_or(Malformed)?;
            copy(body, arena, at + SlotRead::INDEX, 1)?;
            match index {
                SlotRead::MISSING => copy(body, arena, at, bucket::SLOTS)?,
                _ if index >= u64::from(geometry.slots) => return Err(Malformed),
                _ => copy(body, arena, at + SlotRead::SLOT, u32::from(geometry.slot_words))?,
            }
        }
        _ => {}
    }
    Ok(())
}

#[inline]
fn copy(body: &mut &[u64], arena: &mut [u64], at: u32, words: u32) -> Result<(), Malformed> {
    let (taken, rest) = body.split_at_checked(words as usize).ok_or(Malformed)?;
    arena[at as usize..(at + words) as usize].copy_from_slice(taken);
    *body = rest;
    Ok(())
}
