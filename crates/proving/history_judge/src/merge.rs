//! Merges the separately recorded histories of sessions into one.
//!
//! A session that records for itself needs no lock. Its events are in order, and all have the time
//! of one clock; the times determine the merged order. A clock that is read after a transaction has
//! ended, and before another begins, may show the same time for both, although the end came first;
//! so the order of events of equal time does not matter.

use crate::history::{
    Action, Ended, Event, History, HistoryBuilder, KeyId, MixedKinds, Step, TransactionId,
};

/// A beginning or an end in one of the parts.
#[derive(Clone, Copy)]
struct Happening {
    time_ns: i64,
    part: usize,
    id: TransactionId,
    is_end: bool,
}

/// Merges histories by their clocks. An event without a time comes before all others.
pub fn merge(parts: &[History]) -> Result<History, MixedKinds> {
    let mut builder = HistoryBuilder::new();
    let keys: Vec<Vec<KeyId>> = parts
        .iter()
        .map(|part| {
            let names = (0..part.key_count()).map(|key| part.key_name(KeyId(key as u32)));
            names.map(|name| builder.key(name)).collect()
        })
        .collect();
    let mut begun: Vec<_> =
        parts.iter().map(|part| vec![None; part.transactions().len()]).collect();
    for Happening { time_ns, part, id, is_end } in happenings(parts) {
        let event = builder.event(Some(time_ns));
        if is_end {
            let invoked = begun[part][id.index()].take();
            add(&mut builder, &parts[part], &keys[part], id, (invoked, Some(event)))?;
        } else {
            begun[part][id.index()] = Some(event);
        }
    }
    for (part, history) in parts.iter().enumerate() {
        for id in history.ids().filter(|id| history.transaction(*id).completed_ns.is_none()) {
            let invoked = begun[part][id.index()].take();
            add(&mut builder, history, &keys[part], id, (invoked, None))?;
        }
    }
    Ok(builder.finish())
}

/// All events by time; those of one part stay in its order.
fn happenings(parts: &[History]) -> Vec<Happening> {
    let mut all = Vec::new();
    for (part, history) in parts.iter().enumerate() {
        let first = all.len();
        for id in history.ids() {
            let transaction = history.transaction(id);
            let begin = transaction.invoked_ns.map(|time_ns| (transaction.invoked, time_ns, false));
            let end =
                transaction.completed_ns.map(|time_ns| (transaction.completed, time_ns, true));
            for (position, time_ns, is_end) in begin.into_iter().chain(end) {
                all.push((position, Happening { time_ns, part, id, is_end }));
            }
        }
        all[first..].sort_by_key(|&(position, _)| position);
    }
    all.sort_by_key(|(_, happening)| happening.time_ns);
    all.into_iter().map(|(_, happening)| happening).collect()
}

fn add(
    builder: &mut HistoryBuilder,
    part: &History,
    keys: &[KeyId],
    id: TransactionId,
    (invoked, completed): (Option<Event>, Option<Event>),
) -> Result<(), MixedKinds> {
    let transaction = part.transaction(id);
    builder.begin(transaction.outcome);
    let versions = part.versions(id);
    for (place, operation) in part.operations(id).iter().enumerate() {
        let step = match operation.action {
            Action::Append(value) => Step::Append(value),
            Action::Write(value) => Step::Write(value),
            Action::ReadList(read) => Step::ReadList(part.list(operation.key, read)),
            Action::ReadValue(value) => Step::ReadValue(value),
            Action::ReadInitial => Step::ReadInitial,
            Action::Unread => Step::Unread,
        };
        let version = versions.get(place).copied().flatten();
        builder.step(keys[operation.key.index()], step, version)?;
    }
    let process = transaction.session.map(|session| part.sessions()[session as usize]);
    builder.end(Ended { process, invoked, completed, line: 0 });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{read_edn, write_edn};

    #[test]
    fn events_are_put_together_by_time() {
        let read = |text: &str| read_edn(text.as_bytes()).expect("it is EDN");
        let parts = [
            read(
                "{:type :invoke :process 0 :time 10 :value [[:append 5 1]]}
                 {:type :ok :process 0 :time 40 :value [[:append 5 1]]}
                 {:type :invoke :process 0 :time 40 :value [[:append 5 3]]}",
            ),
            read(
                "{:type :invoke :process 1 :time 20 :value [[:r 7 nil] [:append 5 2]]}
                 {:type :ok :process 1 :time 30 :value [[:r 7 nil] [:append 5 2]]}
                 {:type :invoke :process 1 :time 40 :value [[:r 5 nil]]}
                 {:type :fail :process 1 :time 50 :value [[:r 5 nil]]}",
            ),
        ];
        let mut text = Vec::new();
        write_edn(&merge(&parts).expect("both are of lists"), &mut text).expect("a vector");
        let expected = "\
{:type :invoke, :f :txn, :value [[:append 5 1]], :process 0, :time 10, :index 0}
{:type :invoke, :f :txn, :value [[:r 7 nil] [:append 5 2]], :process 1, :time 20, :index 1}
{:type :ok, :f :txn, :value [[:r 7 nil] [:append 5 2]], :process 1, :time 30, :index 2}
{:type :ok, :f :txn, :value [[:append 5 1]], :process 0, :time 40, :index 3}
{:type :invoke, :f :txn, :value [[:append 5 3]], :process 0, :time 40, :index 4}
{:type :invoke, :f :txn, :value [[:r 5 nil]], :process 1, :time 40, :index 5}
{:type :fail, :f :txn, :value [[:r 5 nil]], :process 1, :time 50, :index 6}
";
        assert_eq!(String::from_utf8_lossy(&text), expected);
    }
}
