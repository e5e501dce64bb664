//! How far a forecast may be off because repetitions of the measurements were apart.
//!
//! Each measured point that a forecast goes by is taken to be off by as much as its repetitions were from their median, one point at a
//! time, and the forecast is made anew. What several points change adds up in quadrature, since repetitions of one know nothing of those of
//! another. What one point changes wherever it is used adds up as it stands, and so does what cancels out where it is subtracted again.

use super::model::Model;
use std::cell::RefCell;

/// Figures with their intervals: least, middle, most of each. `figures` gives as many of every model.
pub fn intervals(model: &Model<'_>, figures: &dyn Fn(&Model<'_>) -> Vec<f64>) -> Vec<[f64; 3]> {
    let alone = model.surface.forgetful();
    let middle = figures(&on(model, &alone));
    let mut squares = vec![0.0; middle.len()];
    for sway in alone.sways() {
        let off = figures(&on(model, &alone.swayed(sway)));
        for (square, (off, middle)) in squares.iter_mut().zip(off.iter().zip(&middle)) {
            *square += (off - middle) * (off - middle);
        }
    }
    let around = |(middle, square): (f64, f64)| {
        let by = libm::sqrt(square);
        [(middle - by).max(0.0), middle, middle + by]
    };
    middle.into_iter().zip(squares).map(around).collect()
}

/// The same model by other measurements.
fn on<'a>(model: &Model<'a>, surface: &'a super::surface::Surface) -> Model<'a> {
    Model {
        surface,
        calls: model.calls.clone(),
        declared: model.declared.clone(),
        meetings: model.meetings.clone(),
        crowds: model.crowds.clone(),
        known: RefCell::default(),
        ..*model
    }
}
