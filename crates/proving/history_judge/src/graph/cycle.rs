//! Classifies the cycles of a history as anomalies, and finds the shortest cycle of each.
//!
//! Each kind of anomaly has a pass: the edges that its cycles consist of, and the edge that one of
//! them must have. The pass tries every such edge inside a component and searches for the shortest
//! way back, until a budget of steps is used up: in a history with cycles everywhere the search
//! would otherwise continue long after it has found a witness.

use super::edges::{Edge, Edges};
use super::shortest::Search;
use super::view::{Form, View};
use super::{Components, Relation, Relations};
use crate::anomaly::{Anomaly, Order, Shape};
use std::collections::BTreeMap;

/// The number of edges that the passes of one history may visit.
const BUDGET: u64 = 40_000_000;
/// The initial bound on the length of a cycle; every cycle found lowers it.
const LENGTH_MAX: u32 = u32::MAX - 1;

/// One dependency of a cycle: an edge, or an edge into a hub and one out of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Dependency {
    pub from: u32,
    pub to: u32,
    pub relation: Relation,
    pub key: u32,
    /// The version that `from` wrote or read, for data dependencies.
    pub version: u32,
    /// The version that `to` wrote, if it did.
    pub next: u32,
}

/// The dependencies of a cycle, each beginning where the previous one ends.
pub(crate) type Cycle = Vec<Dependency>;

/// The relations that an order adds to those of the data.
fn of_order(order: Order) -> Relations {
    match order {
        Order::Data => Relations::of(&[]),
        Order::Session => Relations::of(&[Relation::Session]),
        Order::RealTime => Relations::of(&[Relation::Session, Relation::RealTime]),
    }
}

/// All relations under an order.
pub(crate) fn relations(order: Order) -> Relations {
    Relations::WRITES.and(Relations::READS).and(Relations::ANTI).and(of_order(order))
}

/// The weakest order under which a form of the graph has cycles, if any.
pub(crate) fn weakest_cyclic(edges: &Edges, form: Form) -> Option<Order> {
    let is_cyclic = |order: &Order| {
        let view = View::new(edges, form, relations(*order));
        Components::new(&view).has_cycle()
    };
    // Most histories have none, which the strongest order shows at once.
    if !is_cyclic(&Order::RealTime) {
        return None;
    }
    Some([Order::Data, Order::Session].into_iter().find(is_cyclic).unwrap_or(Order::RealTime))
}

/// The cycles that a pass searches for.
struct Pass {
    shape: Shape,
    form: Form,
    /// The relation of the edge that it starts from.
    start: Relation,
    /// The relations of the way back, beside the order's.
    back: Relations,
}

const SNAPSHOT_PASSES: [Pass; 4] = [
    Pass {
        shape: Shape::G0,
        form: Form::Merged,
        start: Relation::WriteWrite,
        back: Relations::WRITES,
    },
    Pass {
        shape: Shape::G1c,
        form: Form::Merged,
        start: Relation::WriteRead,
        back: Relations::WRITES.and(Relations::READS),
    },
    Pass {
        shape: Shape::GSingle,
        form: Form::Split,
        start: Relation::ReadWrite,
        back: Relations::WRITES.and(Relations::READS),
    },
    Pass {
        shape: Shape::GNonadjacent,
        form: Form::Split,
        start: Relation::ReadWrite,
        back: Relations::WRITES.and(Relations::READS).and(Relations::ANTI),
    },
];

const SERIAL_PASS: Pass = Pass {
    shape: Shape::G2,
    form: Form::Merged,
    start: Relation::ReadWrite,
    back: Relations::WRITES.and(Relations::READS).and(Relations::ANTI),
};

/// The shortest cycle of each anomaly, under the weakest orders that have cycles: under stronger
/// orders every history with a cycle has more of them.
pub(crate) fn find(
    edges: &Edges,
    snapshot: Option<Order>,
    serial: Option<Order>,
) -> BTreeMap<Anomaly, Cycle> {
    let mut found = BTreeMap::new();
    for pass in &SNAPSHOT_PASSES {
        if let Some(order) = snapshot {
            pass.run(edges, order, &mut found);
        }
    }
    if let Some(order) = serial {
        SERIAL_PASS.run(edges, order, &mut found);
    }
    found
}

impl Pass {
    fn run(&self, edges: &Edges, order: Order, found: &mut BTreeMap<Anomaly, Cycle>) {
        let back = self.back.and(of_order(order));
        let view = View::new(edges, self.form, back.and(Relations::of(&[self.start])));
        let components = Components::new(&view);
        if !components.has_cycle() {
            return;
        }
        let mut search = Search::new(&view, &components, BUDGET);
        let mut length_max = LENGTH_MAX;
        for (number, edge) in edges.all.iter().enumerate() {
            let (tail, head) = (view.tail(edge), view.head(edge));
            if edge.relation != self.start || !components.are_joined(tail, head) {
                continue;
            }
            let Some(mut way) = search.way(head, tail, back, length_max) else {
                continue;
            };
            way.push(number as u32);
            let cycle = simple(dependencies(edges, &way), self.form);
            let anomaly = classify(&cycle);
            if anomaly.shape == self.shape {
                // The next cycle of this kind must be at least one dependency shorter; the starting
                // edge is not part of the way back.
                length_max = (cycle.len() as u32).saturating_sub(2);
            }
            let shortest = found.entry(anomaly).or_insert_with(|| cycle.clone());
            if cycle.len() < shortest.len() {
                *shortest = cycle;
            }
            if search.budget == 0 || length_max == 0 {
                return;
            }
        }
    }
}

/// Joins the two edges at each hub into one dependency.
fn dependencies(edges: &Edges, cycle: &[u32]) -> Cycle {
    let edge = |number: &u32| edges.all[*number as usize];
    // The walk may begin inside a hub.
    let first = cycle.iter().position(|number| !edges.is_hub(edge(number).from));
    let first = first.expect("no cycle consists of hubs");
    let mut joined: Cycle = Vec::new();
    for number in cycle[first..].iter().chain(&cycle[..first]) {
        let Edge { from, to, relation, version, next, key } = edge(number);
        match joined.last_mut() {
            Some(last) if edges.is_hub(from) => {
                last.to = to;
                last.next = next;
            }
            _ => joined.push(Dependency { from, to, relation, key, version, next }),
        }
    }
    joined
}

/// Shortens a walk that visits a transaction twice, by snapshot and by commit, to a simple cycle.
fn simple(mut cycle: Cycle, form: Form) -> Cycle {
    while form == Form::Split
        && let Some((start, end)) = visited_twice(&cycle)
    {
        let inner: Cycle = cycle[start..end].to_vec();
        let outer: Cycle = [&cycle[..start], &cycle[end..]].concat();
        // One of the two parts has adjacent rw edges at the cut; the other one is shorter, and of
        // the wanted kind.
        cycle = if has_adjacent(&inner) { outer } else { inner };
    }
    cycle
}

/// The positions of two dependencies that begin with the same transaction.
fn visited_twice(cycle: &[Dependency]) -> Option<(usize, usize)> {
    let mut places = BTreeMap::new();
    let mut visits = cycle.iter().enumerate();
    visits.find_map(|(end, visit)| places.insert(visit.from, end).map(|start| (start, end)))
}

fn has_adjacent(cycle: &[Dependency]) -> bool {
    let is_anti = |dependency: &Dependency| dependency.relation == Relation::ReadWrite;
    cycle.len() > 1
        && (0..cycle.len())
            .any(|place| is_anti(&cycle[place]) && is_anti(&cycle[(place + 1) % cycle.len()]))
}

/// The anomaly of a cycle [Adya 1999; Kingsbury and Alvaro 2020].
fn classify(cycle: &[Dependency]) -> Anomaly {
    let has = |relation| cycle.iter().any(|dependency| dependency.relation == relation);
    let is_anti = |dependency: &&Dependency| dependency.relation == Relation::ReadWrite;
    let shape = match cycle.iter().filter(is_anti).count() {
        0 if has(Relation::WriteRead) => Shape::G1c,
        0 => Shape::G0,
        1 => Shape::GSingle,
        _ if has_adjacent(cycle) => Shape::G2,
        _ => Shape::GNonadjacent,
    };
    let order = match () {
        () if has(Relation::RealTime) => Order::RealTime,
        () if has(Relation::Session) => Order::Session,
        () => Order::Data,
    };
    Anomaly { order, shape }
}
