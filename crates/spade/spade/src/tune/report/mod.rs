//! Turns a decision into the report: forecasts, runners-up, reasons, assumptions and warnings.
//! `tuning` has its types; `text`, `html` and `side_by_side` print it, and `design_file` writes the
//! design.

pub mod caveats;
pub mod design_file;
pub mod explain;
pub mod html;
pub mod reasons;
pub mod side_by_side;
pub mod text;
pub mod tuning;
