//! Tells the epoch up to which a memory server has fenced dead members, once nothing of theirs is
//! under way. A fence that fails is repeated: recovery waits for it.
//!
//! Decision: docs/decisions/0313-a-fence-waits-for-a-round-of-the-polling-thread.md

use fabric::tcp::CallsUnderWay;
use membership::ClusterMap;
use namdb::host::{sleep_ms, spawn};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use txn::server::FencedEpoch;

/// Between two looks at the calls under way.
const LOOK_MS: u64 = 1;
/// Pause before a fence that has failed is repeated.
const REPEAT_MS: u64 = 500;

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

/// Fences the members with these identities off the region, from the epoch of this map on. Returns
/// whether nothing of theirs takes effect any more; may be repeated.
type Attempt = Box<dyn FnMut(&ClusterMap, &[u64]) -> bool + Send>;

/// Fences the dead, and repeats that while it fails: with each death and on a timer. The pause of
/// this process may be the only reason for a failure.
pub struct Fences(Arc<Mutex<FencesState>>);

struct FencesState {
    attempt: Attempt,
    fencing: Fencing,
    unfenced: Option<Unfenced>,
}

/// A fence that has failed.
struct Unfenced {
    /// The newest map.
    map: ClusterMap,
    dead: Vec<u64>,
}

impl Fences {
    pub fn new(
        fencing: Fencing,
        attempt: impl FnMut(&ClusterMap, &[u64]) -> bool + Send + 'static,
    ) -> Self {
        let attempt = Box::new(attempt);
        Self(Arc::new(Mutex::new(FencesState { attempt, fencing, unfenced: None })))
    }

    /// Takes over a map after which nothing new is fenced.
    pub fn note(&self, map: &ClusterMap) {
        let mut state = lock(&self.0);
        match &mut state.unfenced {
            Some(unfenced) => unfenced.map = map.clone(),
            None => state.fencing.raise(map.epoch, &members(map)),
        }
    }

    /// Fences the members with these identities, which this map lacks.
    pub fn fence(&self, map: &ClusterMap, dead: Vec<u64>) {
        let mut state = lock(&self.0);
        let before = state.unfenced.take();
        let is_repeated = before.is_some();
        let before = before.map(|unfenced| unfenced.dead).unwrap_or_default();
        state.unfenced = Some(Unfenced { map: map.clone(), dead: [before, dead].concat() });
        if state.try_again() || is_repeated {
            return;
        }
        let fences = Arc::downgrade(&self.0);
        if let Err(error) = spawn("fence again", move || repeat(&fences)) {
            tracing::error!("a fence is repeated at the next death only: no thread ({error})");
        }
    }
}

impl FencesState {
    /// Tries the fence that has failed; returns whether there is none any more.
    fn try_again(&mut self) -> bool {
        let Some(unfenced) = &self.unfenced else { return true };
        if !(self.attempt)(&unfenced.map, &unfenced.dead) {
            return false;
        }
        self.fencing.raise(unfenced.map.epoch, &members(&unfenced.map));
        self.unfenced = None;
        true
    }
}

/// Repeats a fence until it succeeds, or the server has ended.
fn repeat(fences: &Weak<Mutex<FencesState>>) {
    loop {
        sleep_ms(REPEAT_MS);
        let Some(fences) = fences.upgrade() else { return };
        if lock(&fences).try_again() {
            tracing::info!("the dead are fenced after all");
            return;
        }
    }
}

fn lock(fences: &Mutex<FencesState>) -> MutexGuard<'_, FencesState> {
    fences.lock().expect("no holder panics")
}

fn members(map: &ClusterMap) -> BTreeSet<u64> {
    map.members.iter().map(|member| member.identity).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use membership::ClusterId;
    use namdb::host::Moment;

    fn map(epoch: u64) -> ClusterMap {
        let (left, (evicted, drained)) = Default::default();
        let members = Vec::new();
        ClusterMap { cluster: ClusterId(1), epoch, members, left, evicted, root: None, drained }
    }

    #[test]
    fn a_fence_that_fails_is_repeated_without_a_new_map() {
        let fenced = FencedEpoch::default();
        let tried = Arc::<Mutex<Vec<(u64, Vec<u64>)>>>::default();
        let told = tried.clone();
        let fences = Fences::new(Fencing::new(fenced.clone(), None), move |map, dead| {
            let mut tried = told.lock().expect("no holder panics");
            tried.push((map.epoch, dead.to_vec()));
            tried.len() > 2
        });
        fences.note(&map(6));
        assert_eq!(fenced.get(), 6, "nothing is to be fenced");
        fences.fence(&map(7), vec![1]);
        fences.fence(&map(8), vec![2]);
        fences.note(&map(9));
        assert_eq!(fenced.get(), 6, "both fences have failed");
        let began = Moment::now();
        while fenced.get() < 9 {
            assert!(began.elapsed_s() < 60.0, "the fence is not repeated");
            sleep_ms(1);
        }
        let tried = tried.lock().expect("no holder panics").clone();
        assert_eq!(tried, [(7, vec![1]), (8, vec![1, 2]), (9, vec![1, 2])]);
        fences.fence(&map(10), vec![3]);
        assert_eq!(fenced.get(), 10);
    }
}
