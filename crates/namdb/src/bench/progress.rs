//! Progress on the error stream: a bar on a terminal, a line per phase elsewhere.

use super::text;
use indicatif::{ProgressBar, ProgressStyle};
use namdb::host::Moment;
use std::cell::OnceCell;
use std::io::IsTerminal;

/// The progress of one phase. The thread that owns it draws it; there is no thread behind it.
pub struct Progress {
    bar: Option<ProgressBar>,
    name: &'static str,
    start: Moment,
    /// When it was first shown, and at which step: the time left follows from the pace since.
    first_shown: OnceCell<(Moment, u64)>,
}

impl Progress {
    /// Begins a phase of `length` steps.
    pub fn begin(name: &'static str, length: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let template = "  {prefix:9} [{bar:32}] {percent:>3} %  {msg}";
            let style =
                ProgressStyle::with_template(template).expect("the template is well formed");
            let bar = ProgressBar::new(length).with_style(style.progress_chars("=> "));
            bar.with_prefix(name)
        });
        Self { bar, name, start: Moment::now(), first_shown: OnceCell::new() }
    }

    /// Moves to a step, with what there is to say.
    pub fn show(&self, step: u64, message: &str) {
        let Some(bar) = &self.bar else { return };
        bar.set_message(format!("{message}{}", self.time_left(bar, step)));
        bar.set_position(step);
        bar.tick();
    }

    fn time_left(&self, bar: &ProgressBar, step: u64) -> String {
        let (since, first_step) = *self.first_shown.get_or_init(|| (Moment::now(), step));
        let length = bar.length().unwrap_or(0);
        if step <= first_step || step >= length {
            return String::new();
        }
        let left = since.elapsed_s() * (length - step) as f64 / (step - first_step) as f64;
        format!(", {:.0} s left", left.ceil())
    }

    /// Ends the phase with a sentence of what was done.
    pub fn finish(self, summary: &str) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let seconds = text::duration_us(self.start.elapsed_s() * 1e6);
        eprintln!("  {:9} {summary} ({seconds})", self.name);
    }
}
