//! Progress on standard error: a bar on a terminal; elsewhere a line every 10 s and one per phase,
//! or nothing.

use super::text;
use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use namdb::host::Moment;
use std::cell::Cell;
use std::io::IsTerminal;

/// Without a terminal, delay of a phase's first line.
const FIRST_LINE_S: f64 = 2.0;
/// Without a terminal, interval of the following lines.
const LINE_S: f64 = 10.0;
/// Share of the steps from which on the pace is used to estimate the remaining time.
const TELLING: f64 = 0.01;

/// The progress of one phase, drawn by the thread that owns it.
pub struct Progress {
    display: Display,
    name: &'static str,
    length: u64,
    start: Moment,
    /// Time and step of the first display; the remaining time follows from the pace since then.
    first_shown: Cell<Option<(Moment, u64)>>,
    /// Time of the next line, in seconds since the start.
    next_line_s: Cell<f64>,
}

/// How a phase is displayed.
enum Display {
    /// A bar on a terminal.
    Bar(ProgressBar),
    /// Lines, which stay visible.
    Lines,
    /// Nothing, and the clock is not read.
    Nothing,
}

impl Progress {
    /// Begins a phase of `length` steps.
    pub fn begin(name: &'static str, length: u64) -> Self {
        Self::shown_by(bar(name, length).map_or(Display::Lines, Display::Bar), name, length)
    }

    /// Begins a phase that is displayed on a terminal only: for programs whose instructions are
    /// counted, and must not depend on the time they take.
    pub fn begin_on_terminal(name: &'static str, length: u64) -> Self {
        Self::shown_by(bar(name, length).map_or(Display::Nothing, Display::Bar), name, length)
    }

    fn shown_by(display: Display, name: &'static str, length: u64) -> Self {
        Self {
            display,
            name,
            length,
            start: Moment::now(),
            first_shown: Cell::new(None),
            next_line_s: Cell::new(FIRST_LINE_S),
        }
    }

    /// Moves to a step and displays a message.
    pub fn show(&self, step: u64, message: &str) {
        match &self.display {
            Display::Bar(bar) => {
                bar.set_message(format!("{message}{}", self.time_left(step)));
                bar.set_position(step);
                bar.tick();
            }
            Display::Lines => {
                // The pace counts from the first displayed step, not from the first line.
                let left = self.time_left(step);
                if self.is_line_due() {
                    let percent = (100 * step).checked_div(self.length).unwrap_or(0).min(100);
                    output::say(&format!("  {:9} {percent:>3} %  {message}{left}", self.name));
                }
            }
            Display::Nothing => {}
        }
    }

    /// Displays what happens before the first step, and restarts the measurement of the pace.
    pub fn announce(&self, message: &str) {
        self.first_shown.set(None);
        match &self.display {
            Display::Bar(bar) => {
                bar.set_message(message.to_owned());
                bar.tick();
            }
            Display::Lines if self.is_line_due() => {
                output::say(&format!("  {:9} {message}", self.name));
            }
            Display::Lines | Display::Nothing => {}
        }
    }

    fn is_line_due(&self) -> bool {
        let is_due = self.start.elapsed_s() >= self.next_line_s.get();
        if is_due {
            self.next_line_s.set(self.start.elapsed_s() + LINE_S);
        }
        is_due
    }

    fn time_left(&self, step: u64) -> String {
        let first_shown = self.first_shown.get().unwrap_or_else(|| (Moment::now(), step));
        self.first_shown.set(Some(first_shown));
        let (since, first_step) = first_shown;
        if step <= first_step || step >= self.length {
            return String::new();
        }
        // A slow first step says nothing about the others.
        let (done, took_s) = ((step - first_step) as f64, since.elapsed_s());
        if done < TELLING * self.length as f64 {
            return String::new();
        }
        let left = took_s * (self.length - step) as f64 / done;
        format!(", {:.0} s left", left.ceil())
    }

    /// Ends the phase with a summary.
    pub fn finish(self, summary: &str) {
        match &self.display {
            Display::Bar(bar) => bar.finish_and_clear(),
            Display::Lines => {}
            Display::Nothing => return,
        }
        let seconds = text::duration_us(self.start.elapsed_s() * 1e6);
        output::say(&format!("  {:9} {summary} ({seconds})", self.name));
    }
}

/// The bar of a phase, if standard error is a terminal.
fn bar(name: &'static str, length: u64) -> Option<ProgressBar> {
    std::io::stderr().is_terminal().then(|| {
        let template = "  {prefix:9} [{bar:32}] {percent:>3} %  {msg}";
        let style = ProgressStyle::with_template(template).expect("the template is well formed");
        let bar = ProgressBar::new(length).with_style(style.progress_chars("=> "));
        bar.with_prefix(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_step_that_was_long_in_coming_tells_no_time_left() {
        let progress = Progress::shown_by(Display::Nothing, "loading", 10_000);
        assert_eq!(progress.time_left(0), "");
        assert_eq!(progress.time_left(1), "", "minutes by one step of ten thousand");
        assert!(progress.time_left(5_000).contains("s left"));
        assert_eq!(progress.time_left(10_000), "");
    }
}
