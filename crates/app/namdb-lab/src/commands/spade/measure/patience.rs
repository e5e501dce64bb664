//! Measures operations that may be too slow to finish in their time, as on a busy host.

use anyhow::Result;

/// Durations of the attempts relative to the planned one; attempts end once an operation has
/// finished.
const TIMES_AS_LONG: [f64; 3] = [1.0, 2.0, 4.0];

/// Result of a measurement.
#[derive(Debug, PartialEq)]
pub enum Tried<T> {
    /// The measured value.
    Seen(T),
    /// No operation finished.
    Nothing {
        /// Duration of the last attempt in seconds.
        in_s: f64,
    },
    /// The user interrupted it.
    Interrupted,
}

impl<T> Tried<T> {
    /// Continues with the measured value, if there is one.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Result<Tried<U>>) -> Result<Tried<U>> {
        match self {
            Self::Seen(seen) => next(seen),
            Self::Nothing { in_s } => Ok(Tried::Nothing { in_s }),
            Self::Interrupted => Ok(Tried::Interrupted),
        }
    }
}

/// Measures for `seconds`, and longer if no operation finished.
pub fn persist<T>(
    span_s: f64,
    mut measure: impl FnMut(f64) -> Result<Tried<T>>,
) -> Result<Tried<T>> {
    let mut last_s = 0.0;
    for times in TIMES_AS_LONG {
        match measure(times * span_s)? {
            Tried::Nothing { in_s } => last_s = in_s,
            ended => return Ok(ended),
        }
    }
    Ok(Tried::Nothing { in_s: last_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result for operations of this duration, measured for at least a second, and the total
    /// seconds of all attempts.
    fn taking(operation_s: f64) -> (Tried<f64>, f64) {
        let mut spent_s = 0.0;
        let tried = persist(1.0, |span_s| {
            spent_s += span_s;
            Ok(match operation_s <= span_s {
                true => Tried::Seen(span_s),
                false => Tried::Nothing { in_s: span_s },
            })
        });
        (tried.expect("nothing fails"), spent_s)
    }

    #[test]
    fn what_is_slow_is_measured_for_longer_and_not_for_ever() {
        assert_eq!(taking(0.5), (Tried::Seen(1.0), 1.0));
        assert_eq!(taking(1.5), (Tried::Seen(2.0), 3.0));
        assert_eq!(taking(3.0), (Tried::Seen(4.0), 7.0));
        assert_eq!(taking(5.0), (Tried::Nothing { in_s: 4.0 }, 7.0));
    }

    #[test]
    fn what_the_user_has_ended_is_not_measured_again() {
        let mut attempts = 0;
        let tried = persist(1.0, |_| {
            attempts += 1;
            Ok(Tried::<()>::Interrupted)
        });
        assert_eq!((tried.expect("nothing fails"), attempts), (Tried::Interrupted, 1));
    }
}
