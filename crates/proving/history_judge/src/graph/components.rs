//! Strongly connected components by Tarjan's algorithm, without recursion: linear in nodes and
//! edges.

use super::view::View;

/// The component of a node that is on no cycle.
const ALONE: u32 = u32::MAX;
/// The value of a node that is not yet visited.
const UNSEEN: u32 = 0;

/// The strongly connected components: which nodes lie on cycles with each other.
pub(crate) struct Components {
    of_node: Vec<u32>,
    count: u32,
}

impl Components {
    /// Finds the components of a view.
    pub(crate) fn new(view: &View<'_>) -> Self {
        let nodes = view.node_count();
        let mut finder = Finder {
            view,
            numbers: vec![UNSEEN; nodes],
            lows: vec![0; nodes],
            is_waiting: vec![false; nodes],
            waiting: Vec::new(),
            path: Vec::new(),
            next_number: 1,
            found: Self { of_node: vec![ALONE; nodes], count: 0 },
        };
        for node in 0..nodes as u32 {
            if finder.numbers[node as usize] == UNSEEN {
                finder.visit(node);
            }
        }
        finder.found
    }

    /// Whether there is any cycle.
    pub(crate) fn has_cycle(&self) -> bool {
        self.count > 0
    }

    /// Whether both nodes lie on one cycle, not necessarily a simple one.
    pub(crate) fn are_joined(&self, a: u32, b: u32) -> bool {
        let component = self.of_node[a as usize];
        component != ALONE && component == self.of_node[b as usize]
    }
}

struct Finder<'a> {
    view: &'a View<'a>,
    numbers: Vec<u32>,
    lows: Vec<u32>,
    is_waiting: Vec<bool>,
    /// Visited nodes that are not yet in a component.
    waiting: Vec<u32>,
    /// The nodes from the first one to the current one, with the position of the next edge of each.
    path: Vec<(u32, usize)>,
    next_number: u32,
    found: Components,
}

impl Finder<'_> {
    fn enter(&mut self, node: u32) {
        self.numbers[node as usize] = self.next_number;
        self.lows[node as usize] = self.next_number;
        self.next_number += 1;
        self.waiting.push(node);
        self.is_waiting[node as usize] = true;
        self.path.push((node, self.view.range(node).start));
    }

    fn visit(&mut self, first: u32) {
        self.enter(first);
        while let Some((node, place)) = self.path.last_mut() {
            let node = *node;
            if *place < self.view.range(node).end {
                let head = self.view.head_at(*place);
                *place += 1;
                if self.numbers[head as usize] == UNSEEN {
                    self.enter(head);
                } else if self.is_waiting[head as usize] {
                    self.lower(node, self.numbers[head as usize]);
                }
            } else {
                self.leave(node);
            }
        }
    }

    fn lower(&mut self, node: u32, low: u32) {
        let lowest = &mut self.lows[node as usize];
        *lowest = (*lowest).min(low);
    }

    fn leave(&mut self, node: u32) {
        self.path.pop();
        if let Some(&(parent, _)) = self.path.last() {
            self.lower(parent, self.lows[node as usize]);
        }
        if self.lows[node as usize] < self.numbers[node as usize] {
            return;
        }
        let is_cycle = self.waiting.last() != Some(&node);
        while let Some(member) = self.waiting.pop() {
            self.is_waiting[member as usize] = false;
            if is_cycle {
                self.found.of_node[member as usize] = self.found.count;
            }
            if member == node {
                break;
            }
        }
        self.found.count += u32::from(is_cycle);
    }
}
