//! The server's state of one compute process: its segment, and the calls in it.
//!
//! Decision: docs/decisions/0074-a-call-over-shared-memory-is-a-slot-that-changes-hands.md

use crate::service::{Answer, AnswerRecord, ServiceId};
use crate::shm::conversation::{Conversation, ProtocolError};
use crate::shm::segment::{SLOT_COUNT, Segment};
use rustix::thread::futex;

/// Calls of one compute process.
pub(super) struct Calls {
    segment: Segment,
    conversations: Vec<Conversation>,
    record: AnswerRecord,
}

impl Calls {
    pub fn new(segment: Segment) -> Self {
        let conversations = (0..SLOT_COUNT).map(|_| Conversation::default()).collect();
        Self { segment, conversations, record: AnswerRecord::default() }
    }

    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    /// Serves the posted slots; returns the number of hand-overs.
    #[inline]
    pub fn serve(
        &mut self,
        mut handle: impl FnMut(ServiceId, &[u8]) -> Answer,
    ) -> Result<usize, ProtocolError> {
        if !self.segment.has_posted() {
            return Ok(0);
        }
        let mut posted = self.segment.take_posted();
        let mut served = 0;
        while posted != 0 {
            let index = posted.trailing_zeros();
            posted &= posted - 1;
            let slot = self.segment.slot(index);
            let conversation = &mut self.conversations[index as usize];
            let record = &mut self.record;
            let outcome = conversation.serve(slot, u64::from(index), record, &mut handle)?;
            served += usize::from(outcome.is_some());
            if outcome == Some(true) {
                // It is no error if nothing sleeps there.
                let _ = futex::wake(slot.turn_word(), futex::Flags::empty(), 1);
            }
        }
        Ok(served)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shm::segment::{Head, Kind};
    use proptest::prelude::*;

    fn head(kind: Kind, sequence: u64, piece_bytes: usize, total_bytes: usize) -> Head {
        Head { kind, code: 9, piece_bytes, total_bytes, sequence }
    }

    /// Hands slot 5 over, and serves it.
    fn post(
        calls: &mut Calls,
        turn: u32,
        head: &Head,
        runs: &mut u32,
    ) -> Result<usize, ProtocolError> {
        calls.segment.slot(5).hand_over(turn, head, &vec![7; head.piece_bytes]);
        calls.segment.post(5);
        calls.serve(|service, request| {
            *runs += 1;
            Ok(vec![service.0 as u8, request.len() as u8])
        })
    }

    fn calls() -> Calls {
        Calls::new(Segment::create().expect("memory"))
    }

    #[test]
    fn a_repeated_call_is_answered_once() {
        let (mut calls, mut runs) = (calls(), 0);
        for turn in [1, 3] {
            assert_eq!(post(&mut calls, turn, &head(Kind::Request, 1, 4, 4), &mut runs), Ok(1));
            let slot = calls.segment.slot(5);
            let mut answer = Vec::new();
            let given = slot.head().expect("an answer");
            slot.take_piece(&given, &mut answer);
            assert_eq!((slot.turn(), given.kind, answer), (turn + 1, Kind::Answer, vec![9, 4]));
            assert_eq!(runs, 1);
        }
        assert_eq!(post(&mut calls, 5, &head(Kind::Request, 2, 4, 4), &mut runs), Ok(1));
        assert_eq!(runs, 2);
    }

    #[test]
    fn a_request_in_pieces_is_handled_when_it_is_whole() {
        let (mut calls, mut runs) = (calls(), 0);
        assert_eq!(post(&mut calls, 1, &head(Kind::Request, 1, 100, 150), &mut runs), Ok(1));
        assert_eq!(
            (runs, calls.segment.slot(5).head().map(|head| head.kind)),
            (0, Some(Kind::More))
        );
        assert_eq!(post(&mut calls, 3, &head(Kind::Request, 1, 50, 150), &mut runs), Ok(1));
        assert_eq!(runs, 1);
        // Another call begins and is abandoned, and the next one is not mixed with it.
        assert_eq!(post(&mut calls, 5, &head(Kind::Request, 2, 100, 150), &mut runs), Ok(1));
        assert_eq!(post(&mut calls, 7, &head(Kind::Request, 3, 10, 10), &mut runs), Ok(1));
        assert_eq!(runs, 2);
    }

    #[test]
    fn what_no_working_caller_writes_is_noticed() {
        let cases = [
            (3, head(Kind::Request, 1, 4, 4)),
            (1, head(Kind::Request, 1, 5, 4)),
            (1, head(Kind::Request, 1, 0, 4)),
            (1, head(Kind::Fetch, 1, 0, 0)),
            (1, head(Kind::Answer, 1, 4, 4)),
        ];
        for (turn, head) in cases {
            let mut runs = 0;
            assert_eq!(
                post(&mut calls(), turn, &head, &mut runs),
                Err(ProtocolError),
                "{turn} {head:?}"
            );
            assert_eq!(runs, 0);
        }
        let mut bit_only = calls();
        bit_only.segment.post(6);
        assert_eq!(bit_only.serve(|_, _| unreachable!("nothing was handed over")), Ok(0));
    }

    /// Arbitrary words of a slot, mostly ones that pass the first check.
    fn scribbled() -> impl Strategy<Value = (u32, u32, Vec<u64>)> {
        let piece = prop_oneof![0..40_u64, 4020..4040_u64, any::<u64>()];
        let kind = prop_oneof![1..4_u64, any::<u64>()];
        let total = prop_oneof![0..60_u64, Just(4040), any::<u64>()];
        let sequence = prop_oneof![0..3_u64, any::<u64>()];
        let numbers = (kind, piece, total, sequence).prop_map(|(kind, piece, total, sequence)| {
            vec![kind ^ 9 << 8 ^ piece << 32, total, sequence]
        });
        (0..3_u32, prop_oneof![4 => Just(1_u32), 1 => any::<u32>()], numbers)
    }

    proptest! {
        #[test]
        fn garbage_in_a_segment_harms_nobody(steps in proptest::collection::vec(scribbled(), 1..60)) {
            let mut calls = calls();
            for (slot, turns, words) in steps {
                let at = calls.segment.slot(slot);
                at.scribble(at.turn().wrapping_add(turns), &words);
                calls.segment.post(slot);
                let handled = calls.serve(|_, request| {
                    assert!(request.len() <= 4040, "no more than came");
                    Ok(vec![1; request.len() * 200])
                });
                if handled.is_err() {
                    calls = Calls::new(Segment::create().expect("memory"));
                }
            }
        }
    }
}
