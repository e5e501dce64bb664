//! What a check found.

use super::code::Code;
use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// As it should be.
    Ok,
    /// It works, but slower or with less room than it could.
    Warning,
    /// A server will not start, or not be reached.
    Problem,
    /// It does not matter here, or cannot be found out.
    NotApplicable,
}

/// What a check found, and what to do.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// Which check.
    pub code: Code,
    /// How bad it is.
    pub grade: Grade,
    /// What was found; if the check does not apply, why.
    pub found: String,
    /// The command that fixes it, or what to do if there is none.
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
    /// The word in front of a finding.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
            Self::NotApplicable => "-",
        }
    }
}
