//! Checks for figures that no measurement can produce, since files may be edited by hand or
//! damaged.

use super::{
    Demand, Measured, MeasurementError, Measurements, Moved, Parameters, Point, Service, Spread,
};

/// Upper bound of times in ns, rates and counts of an operation: 1e15 ns are 12 days.
const FIGURE_MAX: f64 = 1e15;

impl Measurements {
    /// Returns the measurements if the tuner can use them. `namdb spade measure` continues others,
    /// too.
    ///
    /// # Errors
    /// A point has a time or rate that is not positive or is above 1e15, or a cluster without
    /// machines.
    pub fn sound(self) -> Result<Self, MeasurementError> {
        match self.points().iter().find_map(|point| Some((point, damage(point)?))) {
            Some((point, what)) => Err(MeasurementError::Damaged { point: name(point), what }),
            None => Ok(self),
        }
    }
}

fn damage(point: &Point) -> Option<&'static str> {
    let Parameters { world, rows, replicas, .. } = &point.parameters;
    let Measured { alone, loaded, service } = &point.measured;
    let counts = [
        (u32::from(world.machines), "0 machines"),
        (world.threads, "0 threads"),
        (world.lanes, "0 lanes"),
        (*rows, "0 rows"),
        (*replicas, "0 replicas"),
    ];
    let positive = [
        (alone.median_ns, "a median latency alone of 0 ns or less"),
        (alone.p99_ns, "a 99th percentile alone of 0 ns or less"),
        (loaded.operations_per_s, "a throughput of 0 operations/s or less"),
        (loaded.median_ns, "a median latency under load of 0 ns or less"),
        (loaded.p99_ns, "a 99th percentile under load of 0 ns or less"),
    ];
    let is_spread = |of: &Spread| of.min <= of.median && of.median <= of.max;
    let missing = counts.into_iter().find(|(count, _)| *count == 0).map(|(_, what)| what);
    missing
        .or_else(|| positive.iter().find(|(of, _)| of.median <= 0.0).map(|(_, what)| *what))
        .or_else(|| {
            let is_mixed = positive.iter().any(|(of, _)| !is_spread(of));
            is_mixed.then_some("a median that is not between its minimum and maximum")
        })
        .or_else(|| {
            taken(service).any(|figure| figure < 0.0).then_some("a negative service figure")
        })
        .or_else(|| {
            let most = positive.iter().map(|(of, _)| of.max).chain(taken(service));
            most.into_iter().any(|of| of > FIGURE_MAX).then_some("a figure above 1e15")
        })
        .or_else(|| {
            let is_no_share = |of: Moved| !(0.0..=1.0).contains(&of.share) || of.again_ns <= 0.0;
            loaded
                .moved
                .is_some_and(is_no_share)
                .then_some("an invalid share of moved old versions")
        })
}

/// All service demands of an operation.
fn taken(service: &Service) -> impl Iterator<Item = f64> {
    let counts = [service.verbs, service.bytes, service.round_trips, service.calls];
    let parties = [Some(service.requester), service.owner, service.others];
    let times = parties.into_iter().flatten().flat_map(|of: Demand| {
        let Demand { core_ns, engine_ns, atomics_ns, link_out_ns, link_in_ns, .. } = of;
        [
            core_ns,
            engine_ns,
            atomics_ns,
            link_out_ns,
            link_in_ns,
            of.from_memory_ns,
            of.to_memory_ns,
        ]
    });
    counts.into_iter().chain(service.card_requests).chain(times)
}

/// Describes a point for a message.
fn name(point: &Point) -> String {
    let Parameters { world, operation, path, place, row_bytes, .. } = &point.parameters;
    format!(
        "{operation}, {path}, {place}, rows of {row_bytes} bytes, on {} ({}, machines: {})",
        world.hardware, world.fabric, world.machines
    )
}
