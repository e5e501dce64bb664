//! Procedures with one-sided access, and shipped ones.

use crate::support::{PRICES, Prices, Subject, options};
use spade::design::Access;
use spade::tune::{Goal, Options, Tuning};

fn accesses(tuning: &Tuning) -> Vec<(String, Access, Option<String>)> {
    let each = tuning.design.procedures.iter();
    each.map(|of| (of.procedure.clone(), of.access, of.by.clone())).collect()
}

#[test]
fn expensive_messages_are_not_sent() {
    let prices = Prices { call: 1e6, ..PRICES };
    let tuning = Subject::shipped("tatp").tuned(&prices.measured(), &options());
    assert!(accesses(&tuning).iter().all(|(_, access, _)| *access == Access::OneSided));
}

#[test]
fn expensive_verbs_lead_to_shipping_if_an_argument_determines_the_owner() {
    let prices = Prices { verb: 2000.0, ..PRICES };
    let options = Options { remote_calls: 1.0, ..options() };
    let tuning = Subject::shipped("tatp").tuned(&prices.measured(), &options);
    for (procedure, access, by) in accesses(&tuning) {
        let is_found_by_number =
            ["update_location", "insert_call_forwarding", "delete_call_forwarding"];
        match is_found_by_number.contains(&procedure.as_str()) {
            true => {
                assert_eq!((access, by), (Access::OneSided, None), "{procedure}");
                let of = tuning
                    .procedures
                    .iter()
                    .find(|of| of.procedure == procedure)
                    .expect("it is there");
                assert!(
                    of.candidates[1].reason.contains("no argument determines the owner"),
                    "{of:?}"
                );
            }
            // A row of an inlined table takes one verb; a message takes one verb as well.
            false if ["get_access_data", "get_subscriber_data"].contains(&procedure.as_str()) => {
                assert_eq!((access, by.as_deref()), (Access::OneSided, Some("subscriber_id")));
            }
            false => assert_eq!(
                (access, by.as_deref()),
                (Access::Shipped, Some("subscriber_id")),
                "{procedure}"
            ),
        }
    }
}

#[test]
fn orders_go_to_their_home_warehouse() {
    let prices = Prices { verb: 1000.0, ..PRICES };
    let tuning = Subject::shipped("tpcc").tuned(&prices.measured(), &options());
    for (procedure, access, by) in accesses(&tuning) {
        assert_eq!(access, Access::Shipped, "{procedure}");
        let by = by.expect("an argument tells the warehouse");
        assert!(by.ends_with("_warehouse"), "{procedure} by {by}");
    }
}

#[test]
fn the_papers_averages_compare_operations_one_by_one() {
    let options = Options { goal: Goal::WeightedAverages, ..options() };
    let dear = |prices: Prices| {
        let tuning = Subject::shipped("tatp").tuned(&prices.measured(), &options);
        let other =
            tuning.procedures[3].candidates.iter().find(|of| of.access != accesses(&tuning)[3].1);
        let reason = &other.expect("there are two").reason;
        assert!(reason.contains(" operations/s on average instead of "), "{reason}");
        accesses(&tuning)[3].clone()
    };
    let (procedure, access, _) = dear(Prices { verb: 5000.0, ..PRICES });
    assert_eq!((procedure.as_str(), access), ("update_subscriber_data", Access::Shipped));
    assert_eq!(dear(Prices { call: 1e6, ..PRICES }).1, Access::OneSided);
}

#[test]
fn with_one_machine_nothing_is_remote() {
    let one = Options { machines: Some(1), ..options() };
    let tuning = Subject::shipped("tatp").tuned(&PRICES.measured(), &one);
    assert!(tuning.procedures.iter().all(|of| of.local == 1.0 && of.access == Access::OneSided));
    let reasons = tuning.procedures.iter().flat_map(|of| &of.candidates).map(|of| &of.reason);
    assert!(reasons.clone().count() > 0);
    assert!(reasons.into_iter().all(|reason| reason.contains("no other machine")));
}

#[test]
fn a_procedure_that_is_never_called_is_decided_alone() {
    let prices = Prices { verb: 3000.0, ..PRICES };
    let subject = Subject::shipped("tatp").only("get_access_data");
    let tuning = subject.tuned(&prices.measured(), &options());
    let of = accesses(&tuning);
    assert_eq!((of[3].0.as_str(), of[3].1), ("update_subscriber_data", Access::Shipped));
    let prices = Prices { call: 1e6, ..PRICES };
    assert_eq!(accesses(&subject.tuned(&prices.measured(), &options()))[3].1, Access::OneSided);
}
