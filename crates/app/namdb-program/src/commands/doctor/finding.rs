//! Results of checks.

use super::code::Code;
use serde::Serialize;

/// Severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// No fault.
    Ok,
    /// Works, but slower or with less reserve than possible.
    Warning,
    /// A server will not start or not be reachable.
    Problem,
    /// Does not apply here, or cannot be determined.
    NotApplicable,
}

/// The result of a check and the remedy.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// Name of the check.
    pub code: Code,
    /// Severity.
    pub grade: Grade,
    /// The observation; if the check does not apply, the reason.
    pub found: String,
    /// The command that fixes it, or an instruction if no command does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

impl Code {
    pub fn ok(self, found: impl Into<String>) -> Finding {
        self.finding(Grade::Ok, found.into(), None)
    }

    pub fn warning(self, found: impl Into<String>, fix: impl Into<String>) -> Finding {
        self.finding(Grade::Warning, found.into(), Some(fix.into()))
    }

    pub fn problem(self, found: impl Into<String>, fix: impl Into<String>) -> Finding {
        self.finding(Grade::Problem, found.into(), Some(fix.into()))
    }

    pub fn not_applicable(self, reason: impl Into<String>) -> Finding {
        self.finding(Grade::NotApplicable, reason.into(), None)
    }

    fn finding(self, grade: Grade, found: String, fix: Option<String>) -> Finding {
        Finding { code: self, grade, found, fix }
    }
}

impl Grade {
    /// The word printed before a finding.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
            Self::NotApplicable => "-",
        }
    }
}
