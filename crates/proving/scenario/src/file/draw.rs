//! Draws the open values of a scenario for a seed.

use super::Scenario;
use super::choice::Choice;
use super::hostility::HostilityPlan;
use super::plans::{ClientPlan, ClusterPlan, DatabasePlan, DesignPlan, NetworkPlan};
use super::workloads::WorkloadPlan;
use workload::Random;

/// The random stream of these draws.
const DRAW_STREAM: u32 = 300;

impl Scenario {
    /// The scenario of one seed: one value is drawn for each choice.
    pub fn drawn(&self, seed: u64) -> Self {
        let mut drawn = self.clone();
        let mut random = Random::stream(seed, DRAW_STREAM, 0);
        drawn.cluster.draw(&mut random);
        drawn.database.draw(&mut random);
        drawn.clients.draw(&mut random);
        drawn.workload.draw(&mut random);
        if drawn.workload.has_open_design() {
            drawn.design.get_or_insert_with(DesignPlan::default).draw(&mut random);
        }
        drawn.hostility.draw(&mut random);
        drawn.cluster.draw_hardware(&mut random);
        drawn
    }
}

macro_rules! draw {
    ($of:ident, $random:ident, $($field:ident),+ $(,)?) => {{
        $($of.$field.draw($random);)+
    }};
}

impl ClusterPlan {
    fn draw(&mut self, random: &mut Random) {
        draw!(self, random, memory_servers, compute_servers, placement, carrier);
    }

    fn draw_hardware(&mut self, random: &mut Random) {
        draw!(self, random, cores, core_cost_ns);
        if let Some(network) = &mut self.network {
            network.draw(random);
        }
    }
}

impl NetworkPlan {
    fn draw(&mut self, random: &mut Random) {
        let times = [&mut self.issue_ns, &mut self.serve_read_ns, &mut self.serve_write_ns];
        let rest = [&mut self.serve_atomic_ns, &mut self.latency_ns];
        let sizes = [&mut self.gigabits_per_second, &mut self.header_bytes];
        for choice in times.into_iter().chain(rest).chain(sizes) {
            draw_if_any(choice, random);
        }
    }
}

impl DatabasePlan {
    fn draw(&mut self, random: &mut Random) {
        draw!(self, random, oracle, isolation, lanes, transaction_time_max_ns);
        draw_if_any(&mut self.counters_left, random);
    }
}

impl ClientPlan {
    fn draw(&mut self, random: &mut Random) {
        draw!(self, random, count, transactions, think_ns, borrows_lanes);
        draw_if_any(&mut self.patience_ns, random);
    }
}

impl DesignPlan {
    fn draw(&mut self, random: &mut Random) {
        draw!(self, random, storage, neighbourhood, versions_beside, size_hint, node_bytes);
    }
}

impl HostilityPlan {
    fn draw(&mut self, random: &mut Random) {
        draw_if_any(&mut self.tearing, random);
        draw_if_any(&mut self.in_posting_order, random);
        draw_if_any(&mut self.atomic_window_ns, random);
        draw_if_any(&mut self.late_completion_one_in, random);
        draw_if_any(&mut self.late_completion_ns, random);
        draw_if_any(&mut self.word_ns, random);
        draw_if_any(&mut self.slow_verb_one_in, random);
        draw_if_any(&mut self.slow_verb_factor, random);
        draw_if_any(&mut self.duplicate_call_one_in, random);
        draw_if_any(&mut self.reach_delay_one_in, random);
        draw_if_any(&mut self.reach_delay_ns, random);
    }
}

fn draw_if_any<T: Copy>(choice: &mut Option<Choice<T>>, random: &mut Random) {
    if let Some(choice) = choice {
        choice.draw(random);
    }
}

impl WorkloadPlan {
    fn draw(&mut self, random: &mut Random) {
        match self {
            Self::Append(plan) => draw!(plan, random, lists, elements, operations, read_percent),
            Self::Register(plan) => {
                draw!(plan, random, registers, operations, read_percent, long_percent, pause_ns);
            }
            Self::Bank(plan) => draw!(plan, random, accounts, audit_percent),
            Self::Cycle(plan) => draw!(plan, random, rows, walk_percent),
            Self::Smallbank(plan) => draw!(plan, random, customers, hot_customers, hot_percent),
            Self::Tatp(plan) => draw!(plan, random, subscribers),
            Self::Tpcc(plan) => draw!(plan, random, warehouses, districts, customers, items),
            Self::Churn(plan) => {
                draw!(plan, random, rows, groups, tags, operations, survey_percent);
                draw!(plan, random, delete_percent, group_index, tag_index, tide);
            }
            Self::Passing(plan) => draw!(plan, random, tables, change_percent),
        }
    }
}
