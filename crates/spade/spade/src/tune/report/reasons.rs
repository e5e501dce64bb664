//! What speaks against a design beside the one that was chosen: what has decided, in the order in which `prefer` does, or else a figure in which it is
//! worse. No reason says what the figures do not.

use super::text::count;
use crate::tune::contention::aggregate::{Load, STAGES};
use crate::tune::model::Plan;
use crate::tune::search::choose::{Decision, Judge};
use crate::tune::search::compare::{Figures, RESOLUTION, STEP_MIN};
use crate::tune::{Goal, Objective};

/// Digits behind the point that tell two numbers apart, at most.
const DIGITS_MAX: usize = 6;

/// A plan with what is known of it.
pub struct Side<'p> {
    /// How everything is stored.
    pub plan: &'p Plan,
    /// By what it is compared.
    pub figures: Figures,
}

impl Judge<'_, '_> {
    /// What speaks against another plan, of which this decision is another one. `beating` is a third one that is better than the other in all that
    /// counts, if there is any.
    pub fn against(
        &self,
        own: &Side<'_>,
        other: &Side<'_>,
        decision: Decision,
        beating: Option<&str>,
    ) -> String {
        let (of, to) = (&own.figures, &other.figures);
        if let Some(budget) = self.budget.filter(|budget| to.bytes_each > *budget) {
            let [all, allowed] = [to.bytes_each, budget].map(bytes);
            return format!("takes {all} of each machine, and {allowed} are allowed");
        }
        let loads = (self.load(own.plan, decision), self.load(other.plan, decision));
        let (Some(of_own), Some(of_other)) = loads else {
            return "nothing like it was measured".to_owned();
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
            return format!("{as_fast}, but in nothing better than {better}");
        }
        self.a_little(of, to)
    }

    /// That a plan is slower, and which stage takes more.
    fn slower(&self, own: &Figures, other: &Figures, stage: Option<Told>) -> String {
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

    /// How fast a plan is that is no slower than can be told.
    fn as_fast(&self, own: &Figures, other: &Figures) -> String {
        let faster = own.first / other.first - 1.0;
        match self.objective {
            Objective::Throughput if faster > RESOLUTION => format!("{} more", percent(faster)),
            Objective::Throughput => "as fast".to_owned(),
            Objective::Latency if faster > RESOLUTION => {
                format!("{} less latency", percent(1.0 - other.latency_us / own.latency_us))
            }
            Objective::Latency => "as soon".to_owned(),
        }
    }

    /// What speaks against a plan that differs by less than what decides.
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
        found.unwrap_or_else(|| {
            "the same in all that is forecast, and one of them is enough".to_owned()
        })
    }

    /// What speaks against an average.
    fn against_average(&self, own: &Figures, other: &Figures) -> String {
        if other.first > own.first {
            return match self.objective {
                Objective::Throughput => format!(
                    "{} operations/s on the average instead of {}",
                    count(other.rate),
                    count(own.rate)
                ),
                Objective::Latency => {
                    let [us, was] = apart(other.latency_us, own.latency_us);
                    format!("{us} us on the average instead of {was} us")
                }
            };
        }
        if other.bytes_each > own.bytes_each {
            let more = bytes(other.bytes_each - own.bytes_each);
            return format!("the same on the average, but takes {more} more");
        }
        self.a_little(own, other)
    }

    /// The stage that takes most more, or, if that is asked for, the fullest one if that takes more.
    fn stage(&self, own: &Load, other: &Load, fullest: bool) -> Option<Told> {
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

/// A stage with what it takes and what it took.
type Told = (&'static str, [String; 2]);

/// A share in percent, with a digit behind the point, or as many as show that it is more than nothing.
pub fn percent(share: f64) -> String {
    let shown = |digits: usize| format!("{:.digits$} %", 100.0 * share);
    let tells = |text: &String| text.contains(|of: char| ('1'..='9').contains(&of));
    (1..DIGITS_MAX).map(shown).find(tells).unwrap_or_else(|| shown(DIGITS_MAX))
}

/// Two numbers with as many digits behind the point as show that they are not the same.
fn apart(one: f64, other: f64) -> [String; 2] {
    apart_from(0, one, other)
}

/// Nanoseconds with the digits that matter.
fn brief(one: f64, other: f64) -> [String; 2] {
    apart_from(usize::from(one.max(other) < 100.0), one, other)
}

fn apart_from(digits: usize, one: f64, other: f64) -> [String; 2] {
    let shown = |digits: usize| [one, other].map(|number| format!("{number:.digits$}"));
    let found = (digits..DIGITS_MAX).map(shown).find(|[one, other]| one != other);
    found.unwrap_or_else(|| shown(DIGITS_MAX))
}

/// Bytes in words.
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
