//! Tells the epoch up to which a memory server has fenced dead members, once nothing of theirs is
//! under way.
//!
//! Decision: docs/decisions/0313-a-fence-waits-for-a-round-of-the-polling-thread.md

use fabric::tcp::CallsUnderWay;
use namdb::host::{sleep_ms, spawn};
use std::collections::BTreeSet;
use txn::server::FencedEpoch;

/// Between two looks at the calls under way.
const LOOK_MS: u64 = 1;

/// The fences of a memory server.
pub struct Fencing {
    fenced: FencedEpoch,
    /// `None` if calls are answered at once.
    calls: Option<CallsUnderWay>,
}

impl Fencing {
    pub fn new(fenced: FencedEpoch, calls: Option<CallsUnderWay>) -> Self {
        Self { fenced, calls }
    }

    /// Tells that all but these members are fenced in `epoch`, when the calls that others had begun
    /// have ended. The caller goes on meanwhile: a handler may wait for a server that has died, and
    /// learns from the caller that it has.
    pub fn raise(&self, epoch: u64, members: &BTreeSet<u64>) {
        let Some(calls) = self.calls.clone() else { return self.fenced.raise(epoch) };
        let mut begun = calls.of(|caller| !members.contains(&caller));
        if calls.have_ended(&mut begun) {
            return self.fenced.raise(epoch);
        }
        let fenced = self.fenced.clone();
        let awaited = spawn("fence", move || {
            while !calls.have_ended(&mut begun) {
                sleep_ms(LOOK_MS);
            }
            fenced.raise(epoch);
        });
        if let Err(error) = awaited {
            tracing::error!(epoch, "the dead are not fenced: no thread can be started ({error})");
        }
    }
}
