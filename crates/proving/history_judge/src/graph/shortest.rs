//! The shortest path from one node to another inside a component.

use super::view::{OWN, View};
use super::{Components, Relations};
use std::collections::VecDeque;

/// A breadth-first search that can be repeated without clearing its arrays.
pub(super) struct Search<'a> {
    view: &'a View<'a>,
    components: &'a Components,
    /// The number of the search that has reached each node, and the position and node from which.
    reached: Vec<u32>,
    distances: Vec<u32>,
    from: Vec<(u32, u32)>,
    search: u32,
    queue: VecDeque<u32>,
    /// Edges that all searches together may still visit.
    pub budget: u64,
}

impl<'a> Search<'a> {
    pub(super) fn new(view: &'a View<'a>, components: &'a Components, budget: u64) -> Self {
        let nodes = view.node_count();
        Self {
            view,
            components,
            reached: vec![0; nodes],
            distances: vec![0; nodes],
            from: vec![(0, 0); nodes],
            search: 0,
            queue: VecDeque::new(),
            budget,
        }
    }

    /// The edges of the shortest path by these relations, if one has at most `length_max`
    /// dependencies. A hub and a transaction's own step cost nothing.
    pub(super) fn way(
        &mut self,
        source: u32,
        target: u32,
        relations: Relations,
        length_max: u32,
    ) -> Option<Vec<u32>> {
        self.search += 1;
        self.queue.clear();
        self.queue.push_back(source);
        self.reached[source as usize] = self.search;
        self.distances[source as usize] = 0;
        let mut is_settled = false;
        while let Some(node) = self.queue.pop_front() {
            if node == target {
                is_settled = true;
                break;
            }
            self.expand(node, target, relations, length_max);
        }
        is_settled.then(|| self.walk_back(source, target))
    }

    fn expand(&mut self, node: u32, target: u32, relations: Relations, length_max: u32) {
        let distance = self.distances[node as usize];
        let places = self.view.range(node);
        self.budget = self.budget.saturating_sub(places.len() as u64);
        for place in places {
            let (head, reason) = (self.view.head_at(place), self.view.reason_at(place));
            if !self.components.are_joined(head, target) {
                continue;
            }
            let cost = match self.view.edges.all.get(reason as usize) {
                None => 0,
                Some(edge) if !relations.has(edge.relation) => continue,
                Some(edge) => u32::from(!self.view.edges.is_hub(edge.from)),
            };
            let length = distance + cost;
            let is_known = self.reached[head as usize] == self.search
                && self.distances[head as usize] <= length;
            if is_known || length > length_max {
                continue;
            }
            self.reached[head as usize] = self.search;
            self.distances[head as usize] = length;
            self.from[head as usize] = (node, place as u32);
            if cost == 0 {
                self.queue.push_front(head);
            } else {
                self.queue.push_back(head);
            }
        }
    }

    fn walk_back(&self, source: u32, target: u32) -> Vec<u32> {
        let mut way = Vec::new();
        let mut node = target;
        while node != source {
            let (before, place) = self.from[node as usize];
            let reason = self.view.reason_at(place as usize);
            if reason != OWN {
                way.push(reason);
            }
            node = before;
        }
        way.reverse();
        way
    }
}
