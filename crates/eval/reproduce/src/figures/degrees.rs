//! The common part of figure 6 for both protocols: new orders alone, by the share of them that
//! access another warehouse, with and without locality, and the numbers that the text prints [ZB17
//! 7.3].

use crate::experiment::{Run, Steps};
use crate::outcome::{Compared, Role, Series};
use sim::Reach;

const DISTRIBUTION: [u32; 6] = [0, 20, 40, 60, 80, 100];
const DISTRIBUTION_QUICK: [u32; 3] = [0, 50, 100];
/// With locality and without.
const REACHES: [(Reach, &str); 2] =
    [(Reach::CoreButAtomics, "with locality"), (Reach::Card, "without locality")];
/// The numbers that the text prints: the gain by locality, and million new orders per second
/// without it if all are distributed.
const PUBLISHED: [f64; 2] = [1.3, 1.5];
const WHAT: [&str; 2] = [
    "what locality gains, no new order distributed",
    "new orders, all distributed, without locality",
];

/// The results with and without locality.
pub(super) struct Both {
    /// Million new orders per second, with and without locality.
    pub series: Vec<Series>,
    /// The output of `say` for both, with all new orders distributed.
    pub notes: Vec<String>,
}

/// The number of points of [`both`].
pub(super) fn count(run: &Run<'_>) -> usize {
    REACHES.len() * run.quick_or(DISTRIBUTION_QUICK.len(), DISTRIBUTION.len())
}

/// Runs both over all degrees of distribution.
pub(super) fn both<S>(
    run: &mut Run<'_>,
    steps: &mut Steps,
    seen: impl Fn(&Run<'_>, u32, Reach) -> S,
    new_orders_per_s: impl Fn(&S) -> f64,
    say: impl Fn(&S, &str) -> Vec<String>,
) -> Both {
    let degrees: &[u32] = run.quick_or(&DISTRIBUTION_QUICK, &DISTRIBUTION);
    let (mut series, mut notes) = (Vec::new(), Vec::new());
    for (reach, name) in REACHES {
        let mut points = Vec::new();
        for &percent in degrees {
            steps.next(run, &format!("{name}, {percent} % distributed"));
            let seen = seen(run, percent, reach);
            points.push((f64::from(percent), new_orders_per_s(&seen) / 1e6));
            if percent == 100 {
                notes.extend(say(&seen, &format!("{name}, all distributed")));
            }
        }
        series.push(Series { name: name.to_owned(), points, is_published: false });
    }
    Both { series, notes }
}

impl Both {
    /// The printed numbers compared with ours, with an explanation for each in case of a miss.
    pub fn compared(&self, why: [&'static str; 2]) -> Vec<Compared> {
        let first = |series: &Series| series.points.first().map_or(f64::NAN, |point| point.1);
        let last = |series: &Series| series.points.last().map_or(f64::NAN, |point| point.1);
        let ours = [first(&self.series[0]) / first(&self.series[1]), last(&self.series[1])];
        let compare = |place: usize| Compared {
            what: WHAT[place].to_owned(),
            unit: ["x", "M/s"][place],
            published: PUBLISHED[place],
            ours: ours[place],
            role: Role::Prediction,
            why: Some(why[place]),
        };
        vec![compare(0), compare(1)]
    }
}

/// The effect of a change on the printed numbers: a row of four cells behind `name`. `per_s`
/// returns the new orders per second by percentage of distribution and way of memory access.
pub(super) fn row(name: &str, per_s: impl Fn(u32, Reach) -> f64) -> Vec<String> {
    let [local, card] = REACHES.map(|(reach, _)| per_s(0, reach));
    let most = per_s(100, Reach::Card);
    let millions = |per_s: f64| format!("{:.2}", per_s / 1e6);
    vec![
        name.to_owned(),
        format!("{:.2}", local / card),
        millions(local),
        millions(card),
        millions(most),
    ]
}

/// The headers of such rows.
pub(super) const COLUMNS: [&str; 5] = [
    "changed",
    "what locality gains; printed: 1.3",
    "with locality, none distributed, M/s",
    "without, none distributed, M/s",
    "without, all distributed, M/s; printed: more than 1.5",
];
