//! The reason against a rejected design: the criterion that decided, in the order of
//! `search::compare`, or else a figure in which it is worse. Reasons are consistent with the
//! figures.

use super::text::count;
use crate::tune::contention::aggregate::{Performance, STAGES};
use crate::tune::model::Plan;
use crate::tune::search::choose::{Decision, Search};
use crate::tune::search::compare::{Figures, RESOLUTION, STEP_MIN};
use crate::tune::{Goal, Objective};

/// Maximal number of decimals for distinguishing two numbers.
const DIGITS_MAX: usize = 6;

/// A plan and its figures.
pub struct ComparedPlan<'p> {
    pub plan: &'p Plan,
    pub figures: Figures,
}

impl Search<'_, '_> {
    /// The reason against a plan that differs in one decision. `beating` is a third plan that beats
    /// it, if any.
    pub fn against(
        &self,
        own: &ComparedPlan<'_>,
        other: &ComparedPlan<'_>,
        decision: Decision,
        beating: Option<&str>,
    ) -> String {
        let (of, to) = (&own.figures, &other.figures);
        if let Some(budget) = self.budget.filter(|budget| to.bytes_each > *budget) {
            let [all, allowed] = [to.bytes_each, budget].map(bytes);
            return format!("needs {all} on each machine, but only {allowed} are allowed");
        }
        let loads = (self.load(own.plan, decision), self.load(other.plan, decision));
        let (Some(of_own), Some(of_other)) = loads else {
            return "its operations were not measured".to_owned();
        };
        if self.goal == Goal::WeightedAverages {
            return self.against_average(of, to);
        }
        let slower = to.first / of.first - 1.0;
        if slower > RESOLUTION {
            return self.slower(of, to, self.stage(&of_own, &of_other, true));
        }
        let as_fast = self.as_fast(of, to);
        if to.rest > of.rest * (1.0 + RESOLUTION)
            && let Some((stage, [ns, was])) = self.stage(&of_own, &of_other, false)
        {
            return format!("{as_fast}, {stage} {ns} ns, not {was}");
        }
        let more = to.bytes_each.saturating_sub(of.bytes_each);
        if more as f64 > RESOLUTION * of.bytes_each as f64 {
            return format!("{as_fast}, but takes {} more", bytes(more));
        }
        if to.rest > of.rest * (1.0 + STEP_MIN) {
            let [ns, was] = apart(to.rest, of.rest);
            return format!("{as_fast}, all stages together {ns} ns, not {was}");
        }
        if more > 0 {
            return format!("{as_fast}, but takes {} more", bytes(more));
        }
        if let Some(better) = beating {
            return format!("{as_fast}, but in no figure better than {better}");
        }
        self.a_little(of, to)
    }

    /// Says that a plan is slower, and which stage takes more.
    fn slower(&self, own: &Figures, other: &Figures, stage: Option<StageChange>) -> String {
        match self.objective {
            Objective::Latency => {
                format!("{} more latency", percent(other.latency_us / own.latency_us - 1.0))
            }
            Objective::Throughput => {
                let fewer = percent(1.0 - other.rate / own.rate);
                let stage = stage.map(|(stage, [ns, was])| format!(": {stage} {ns} ns, not {was}"));
                format!("{fewer} fewer{}", stage.unwrap_or_default())
            }
        }
    }

    /// Describes the speed of a plan that is not measurably slower.
    fn as_fast(&self, own: &Figures, other: &Figures) -> String {
        let faster = own.first / other.first - 1.0;
        match self.objective {
            Objective::Throughput if faster > RESOLUTION => format!("{} more", percent(faster)),
            Objective::Throughput => "as fast".to_owned(),
            Objective::Latency if faster > RESOLUTION => {
                format!("{} less latency", percent(1.0 - other.latency_us / own.latency_us))
            }
            Objective::Latency => "same latency".to_owned(),
        }
    }

    /// The reason against a plan that differs by less than the resolution.
    fn a_little(&self, own: &Figures, other: &Figures) -> String {
        let fewer = || {
            let share = 1.0 - other.rate / own.rate;
            (other.rate < own.rate).then(|| format!("{} fewer", percent(share)))
        };
        let later = || {
            let share = other.latency_us / own.latency_us - 1.0;
            (share > 0.0).then(|| format!("{} more latency", percent(share)))
        };
        let found = match self.objective {
            Objective::Throughput => fewer().or_else(later),
            Objective::Latency => later().or_else(fewer),
        };
        found.unwrap_or_else(|| "the same forecast".to_owned())
    }

    /// The reason against a plan by the paper's averages.
    fn against_average(&self, own: &Figures, other: &Figures) -> String {
        if other.first > own.first {
            return match self.objective {
                Objective::Throughput => format!(
                    "{} operations/s on average instead of {}",
                    count(other.rate),
                    count(own.rate)
                ),
                Objective::Latency => {
                    let [us, was] = apart(other.latency_us, own.latency_us);
                    format!("{us} us on average instead of {was} us")
                }
            };
        }
        if other.bytes_each > own.bytes_each {
            let more = bytes(other.bytes_each - own.bytes_each);
            return format!("the same on average, but takes {more} more");
        }
        self.a_little(own, other)
    }

    /// The stage whose demand grows most, or with `fullest` the bottleneck if its demand grows.
    fn stage(&self, own: &Performance, other: &Performance, fullest: bool) -> Option<StageChange> {
        let (was, is) = (self.model.stages(own), self.model.stages(other));
        let more = |at: usize| is[at] - was[at];
        let grown = |at: &usize| more(*at) > RESOLUTION * was[*at];
        let full = self.model.bottleneck(other).0;
        let full = (0..STAGES.len()).find(|at| fullest && STAGES[*at] == full).filter(grown);
        let most = (0..STAGES.len()).max_by(|one, two| more(*one).total_cmp(&more(*two)));
        let at = full.or(most).filter(|at| more(*at) > 0.0)?;
        Some((STAGES[at], brief(is[at], was[at])))
    }
}

/// A stage with the demands of both plans.
type StageChange = (&'static str, [String; 2]);

/// A share in percent with one decimal, or with as many as show that it is not 0.
pub fn percent(share: f64) -> String {
    let shown = |digits: usize| format!("{:.digits$} %", 100.0 * share);
    let tells = |text: &String| text.contains(|of: char| ('1'..='9').contains(&of));
    (1..DIGITS_MAX).map(shown).find(tells).unwrap_or_else(|| shown(DIGITS_MAX))
}

/// Two numbers with as many decimals as distinguish them.
fn apart(one: f64, other: f64) -> [String; 2] {
    apart_from(0, one, other)
}

fn brief(one: f64, other: f64) -> [String; 2] {
    apart_from(usize::from(one.max(other) < 100.0), one, other)
}

fn apart_from(digits: usize, one: f64, other: f64) -> [String; 2] {
    let shown = |digits: usize| [one, other].map(|number| format!("{number:.digits$}"));
    let found = (digits..DIGITS_MAX).map(shown).find(|[one, other]| one != other);
    found.unwrap_or_else(|| shown(DIGITS_MAX))
}

pub fn bytes(count: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(size, _)| count >= *size) {
        Some((size, unit)) => format!("{:.1} {unit}", count as f64 / size as f64),
        None => format!("{count} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_tell_them_apart() {
        assert_eq!(apart(34_521.2, 34_521.9), ["34521", "34522"]);
        assert_eq!(apart(34_521.26, 34_521.31), ["34521.26", "34521.31"]);
        assert_eq!(brief(14.93, 14.71), ["14.9", "14.7"]);
        assert_eq!(brief(13_945.0, 14_023.0), ["13945", "14023"]);
        assert_eq!([0.0123, 0.000_04, 0.5].map(percent), ["1.2 %", "0.004 %", "50.0 %"]);
    }
}
