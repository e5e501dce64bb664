//! `namdb trace`: the verbs of each type.

use crate::support::{namdb, text};

#[test]
fn a_trace_shows_the_verbs_of_each_type() {
    let output = namdb("trace smallbank --records 100 --memory 64M");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let traces = text(&output.stdout);
    for kind in ["amalgamate", "balance", "send_payment", "write_check"] {
        assert!(traces.lines().any(|line| line == kind), "no {kind} in\n{traces}");
    }
    assert!(traces.contains("round trip") && traces.contains("CompareAndSwap"));
}
