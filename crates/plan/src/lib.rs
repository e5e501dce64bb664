//! x
pub mod expression;
