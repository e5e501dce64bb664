//! All batches under way. Batches use the same places one after another.

use super::Flight;

/// All flights. A place is empty only while its flight is being processed.
#[derive(Default)]
pub(crate) struct Flights {
    pub(super) places: Vec<Option<Box<Flight>>>,
    free: Vec<u32>,
}

impl Flights {
    #[inline]
    pub(crate) fn take(&mut self, flight: u32) -> Box<Flight> {
        self.places[flight as usize].take().expect("nobody else works on this flight")
    }

    #[inline]
    pub(crate) fn put(&mut self, place: u32, flight: Box<Flight>) {
        self.places[place as usize] = Some(flight);
    }

    pub(super) fn get(&mut self, flight: u32) -> &mut Flight {
        self.places[flight as usize].as_mut().expect("nobody else works on this flight")
    }

    /// Returns a place and an empty flight for it, reusing the memory of an earlier one.
    pub(super) fn begin(&mut self) -> (u32, Box<Flight>) {
        let Some(place) = self.free.pop() else {
            self.places.push(None);
            return ((self.places.len() - 1) as u32, Box::new(Flight::new()));
        };
        let mut flight = self.take(place);
        let (mut verbs, mut landing) =
            (std::mem::take(&mut flight.verbs), std::mem::take(&mut flight.landing));
        verbs.clear();
        landing.clear();
        *flight = Flight { verbs, landing, ..Flight::new() };
        (place, flight)
    }

    pub(super) fn end(&mut self, place: u32) {
        self.get(place).is_over = true;
        self.end_if_over(place);
    }

    /// Frees a place when its owner is gone and all atomics have taken effect.
    pub(crate) fn end_if_over(&mut self, place: u32) {
        let flight = self.get(place);
        if flight.is_over && flight.atomics == 0 {
            flight.batch = None;
            self.free.push(place);
        }
    }

    /// The flights between posting and completion.
    pub(super) fn under_way(&mut self) -> impl Iterator<Item = &mut Flight> {
        let flights = self.places.iter_mut().flatten().map(|flight| &mut **flight);
        flights.filter(|flight| flight.batch.is_some() && !flight.is_done)
    }

    pub(crate) fn count(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
