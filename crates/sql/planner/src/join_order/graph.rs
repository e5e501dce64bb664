//! The join graph: which units conditions connect.

use super::Mask;
use crate::path::Conditions;
use crate::problem::Unit;
use crate::set::RelationSet;

#[derive(Default)]
pub(super) struct Graph {
    /// For each unit the units with which it shares a condition.
    adjacent: Vec<Mask>,
    /// The sets of units that conditions connect, also indirectly.
    components: Vec<Mask>,
}

impl Graph {
    /// Builds the graph of units. A unit that is a right side, or a function of columns, is
    /// connected with the units that it requires.
    pub fn new(units: &[Unit], conditions: &[&Conditions]) -> Self {
        let of_set = |set: RelationSet| -> Mask {
            let inside = units.iter().enumerate().filter(|(_, unit)| unit.relations.meets(set));
            inside.fold(0, |mask, (at, _)| mask | 1 << at)
        };
        let mut adjacent = vec![0; units.len()];
        let mut connect = |mask: Mask| {
            for (at, own) in adjacent.iter_mut().enumerate() {
                if mask & (1 << at) != 0 {
                    *own |= mask & !(1 << at);
                }
            }
        };
        for condition in conditions.iter().flat_map(|conditions| conditions.iter()) {
            connect(of_set(condition.relations));
        }
        for (at, unit) in units.iter().enumerate() {
            connect(of_set(unit.required) | if unit.required.is_empty() { 0 } else { 1 << at });
        }
        let mut graph = Self { adjacent, components: Vec::new() };
        let mut rest: Mask = (1 << units.len()) - 1;
        while rest != 0 {
            let mut component = rest & rest.wrapping_neg();
            loop {
                let grown = component | graph.neighbours(component);
                if grown == component {
                    break;
                }
                component = grown;
            }
            rest &= !component;
            graph.components.push(component);
        }
        graph
    }

    /// The units that a condition connects with one of `mask`.
    pub fn neighbours(&self, mask: Mask) -> Mask {
        let own = self.adjacent.iter().enumerate().filter(|(at, _)| mask & (1 << at) != 0);
        own.fold(0, |found, (_, adjacent)| found | adjacent)
    }

    pub fn are_connected(&self, one: Mask, other: Mask) -> bool {
        self.neighbours(one) & other != 0
    }

    /// Whether the units are whole components, which only a cross product joins.
    pub fn are_components(&self, mask: Mask) -> bool {
        self.components
            .iter()
            .all(|component| mask & component == 0 || mask & component == *component)
    }
}
