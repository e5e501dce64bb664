//! The full structural check of a tree.

use super::Tree;
use super::descend::read_root;
use super::node::read_node;
use super::root::{TreeRoot, inner_layout};
use super::view::LeafView;
use crate::error::IndexError;
use fabric::{Batch, Env, Note};
use layout::{GlobalPtr, Key, LeafLayout};
use std::collections::{BTreeMap, BTreeSet};

/// Result of a full check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TreeReport {
    pub height: u32,
    pub inner_nodes: u64,
    pub leaves: u64,
    pub entries: u64,
    /// Locked leaves: a transaction holds them, or a dead lane has left them.
    pub locked: Vec<GlobalPtr>,
    /// The first word of every entry's value: in a database, the address of its row.
    pub leads_to: Vec<GlobalPtr>,
    /// Inner nodes that lack a change of leaves: the process died before the call. Readers find
    /// their leaves nevertheless, and the first reader that loses time over it settles it.
    pub unsettled: Vec<String>,
    /// Structural errors, in words.
    pub errors: Vec<String>,
}

impl TreeReport {
    /// Share of used entries of all leaves, in percent.
    pub fn fill_percent(&self, layout: &LeafLayout) -> f64 {
        100.0 * self.entries as f64 / (self.leaves * u64::from(layout.entries)) as f64
    }
}

/// A node visited by the check.
#[derive(Clone, Debug)]
struct Met {
    ptr: GlobalPtr,
    low: Key,
    high: Option<Key>,
    children: Vec<(Key, GlobalPtr)>,
}

impl Met {
    fn covers(&self, key: &Key) -> bool {
        self.low <= *key && self.high.is_none_or(|high| *key < high)
    }
}

/// Reads every node and checks: fences meet, keys rise strictly between them, no visited node is
/// dead, each level reached over `next` is the one reached from the level above, counts match.
/// Meant for an idle tree; under load it may report changes in progress.
pub async fn check<E: Env>(env: &E, tree: &Tree) -> Result<TreeReport, IndexError> {
    let mut report = TreeReport::default();
    let (_, block) = read_root(env, Batch::new(), tree.root).await?;
    if block.layout != tree.layout {
        report.errors.push("the root block describes leaves of another shape".to_owned());
        return Ok(report);
    }
    report.height = block.height as u32;
    let leaves = read_level(env, &mut report, tree.layout, block.first_leaf, 0).await?;
    report.leaves = leaves.len() as u64;
    let inner = inner_layout(tree.layout);
    let mut above: Option<Vec<Met>> = None;
    let mut first = block.top;
    for level in (1..=block.height as u8).rev() {
        let nodes = read_level(env, &mut report, inner, first, level).await?;
        report.inner_nodes += nodes.len() as u64;
        match &above {
            None if nodes.len() > 1 => report.unsettled.push("the top has a neighbour".to_owned()),
            None => {}
            Some(above) => check_inner_children(&mut report, above, &nodes),
        }
        let Some((_, child)) = nodes.first().and_then(|node| node.children.first()) else {
            break;
        };
        first = *child;
        above = Some(nodes);
    }
    if first != block.first_leaf {
        report.errors.push("the inner nodes do not lead to the first leaf".to_owned());
    }
    check_leaf_entries(&mut report, above.as_deref().unwrap_or(&[]), &leaves);
    check_spare_nodes(env, &mut report, &block).await?;
    Ok(report)
}

/// All nodes of a level from `first` to the right.
async fn read_level<E: Env>(
    env: &E,
    report: &mut TreeReport,
    layout: LeafLayout,
    first: GlobalPtr,
    level: u8,
) -> Result<Vec<Met>, IndexError> {
    let mut batch = Batch::new();
    let mut nodes: Vec<Met> = Vec::new();
    let mut ptr = first;
    let mut bound = Key::lowest(layout.key_words);
    while !ptr.is_null() {
        let span;
        (batch, span) = read_node(env, batch, layout, ptr).await?;
        let node = LeafView::new(layout, batch.words(span));
        if !node.is_live(level) {
            report.errors.push(format!("the node at {ptr:?} is no live node of level {level}"));
            break;
        }
        if node.low() != bound.words() {
            report
                .errors
                .push(format!("the node at {ptr:?} does not begin where its neighbour ends"));
            break;
        }
        check_entries(report, &node, ptr);
        if level == 0 {
            env.note(|| Note::Reaches { at: ptr });
            report.entries += u64::from(node.count());
            let leads_to =
                (0..node.count()).map(|index| GlobalPtr::from_word(node.value(index)[0]));
            report.leads_to.extend(leads_to);
            if node.insert_word().is_locked() {
                report.locked.push(ptr);
            }
        }
        nodes.push(met(&node, ptr, level));
        let high = node.high_key();
        ptr = node.next();
        match high {
            Some(high) if high > bound => bound = high,
            Some(_) => {
                report.errors.push(format!("fences do not rise before {ptr:?}"));
                break;
            }
            None if !ptr.is_null() => {
                report.errors.push(format!("a node without upper fence leads on to {ptr:?}"));
                break;
            }
            None => {}
        }
        batch.reset();
    }
    if nodes.last().is_none_or(|node| node.high.is_some()) {
        report.errors.push(format!("level {level} ends before the last key"));
    }
    Ok(nodes)
}

fn met(node: &LeafView<'_>, ptr: GlobalPtr, level: u8) -> Met {
    let entry = |index| (Key::from_words(node.key(index)), node.child(index));
    let children = if level == 0 { Vec::new() } else { (0..node.count()).map(entry).collect() };
    Met { ptr, low: Key::from_words(node.low()), high: node.high_key(), children }
}

fn check_entries(report: &mut TreeReport, node: &LeafView<'_>, ptr: GlobalPtr) {
    let count = node.count();
    if !(1..count).all(|index| node.key(index - 1) < node.key(index)) {
        report.errors.push(format!("keys do not rise in {ptr:?}"));
    }
    if !(0..count).all(|index| node.covers(node.key(index))) {
        report.errors.push(format!("a key in {ptr:?} lies outside its fences"));
    }
    if node.shape().level > 0 && (count == 0 || node.key(0) != node.low()) {
        report.errors.push(format!("the inner node {ptr:?} does not begin with its low fence"));
    }
}

/// Above level 1 every entry points to the node that begins at its key.
fn check_inner_children(report: &mut TreeReport, above: &[Met], nodes: &[Met]) {
    let entries: BTreeMap<Key, GlobalPtr> =
        above.iter().flat_map(|node| node.children.iter().copied()).collect();
    for node in nodes {
        match entries.get(&node.low) {
            Some(ptr) if *ptr == node.ptr => {}
            Some(_) => report.errors.push(format!("an entry leads past inner node {:?}", node.ptr)),
            None => report.unsettled.push(format!("no entry leads to inner node {:?}", node.ptr)),
        }
    }
    let lows: BTreeSet<Key> = nodes.iter().map(|node| node.low).collect();
    for (key, ptr) in entries.iter().filter(|(key, _)| !lows.contains(key)) {
        report
            .errors
            .push(format!("no inner node begins at {key:?}, although an entry puts {ptr:?} there"));
    }
}

/// On level 1 an entry points to the leaf that begins at its key or, if it is a loan, covers it.
fn check_leaf_entries(report: &mut TreeReport, level_one: &[Met], leaves: &[Met]) {
    let by_low: BTreeMap<Key, &Met> = leaves.iter().map(|leaf| (leaf.low, leaf)).collect();
    let mut reached = BTreeSet::new();
    for node in level_one {
        for (index, (key, ptr)) in node.children.iter().enumerate() {
            let covering = by_low.range(..=*key).next_back().map(|(_, leaf)| *leaf);
            let Some(leaf) = covering.filter(|leaf| leaf.covers(key)) else {
                continue;
            };
            let exact = leaf.low == *key;
            if leaf.ptr == *ptr && (exact || index == 0) {
                reached.insert(leaf.low);
            } else {
                let unsettled =
                    format!("entry {key:?} leads to {ptr:?}, its leaf is {:?}", leaf.ptr);
                report.unsettled.push(unsettled);
            }
        }
    }
    for leaf in leaves.iter().filter(|leaf| !reached.contains(&leaf.low)) {
        report.unsettled.push(format!("no entry leads to leaf {:?}", leaf.ptr));
    }
}

async fn check_spare_nodes<E: Env>(
    env: &E,
    report: &mut TreeReport,
    block: &TreeRoot,
) -> Result<(), IndexError> {
    if block.inner_count != report.inner_nodes {
        let counted = report.inner_nodes;
        report.errors.push(format!(
            "found {counted} inner nodes, but the root counts {}",
            block.inner_count
        ));
    }
    let layout = inner_layout(block.layout);
    let mut batch = Batch::new();
    let mut seen = BTreeSet::new();
    let mut ptr = block.spare;
    while !ptr.is_null() {
        let span;
        (batch, span) = read_node(env, batch, layout, ptr).await?;
        let node = LeafView::new(layout, batch.words(span));
        if !seen.insert(ptr) || !node.shape().dead {
            report.errors.push(format!("the spare node {ptr:?} is in use or linked twice"));
            break;
        }
        ptr = node.next();
        batch.reset();
    }
    Ok(())
}
