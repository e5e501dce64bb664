//! Batches and calls in flight: one entry for each between posting and completion.

use crate::remote::transport::{Outcome, Ticket};
use std::task::{Context, Poll, Waker};

/// All entries in flight, or complete and not yet fetched.
#[derive(Default)]
pub(super) struct Flights {
    places: Vec<Flight>,
    free: Vec<u32>,
}

enum Flight {
    Free,
    /// In flight; the waker of the waiting task, if it has polled.
    Waiting(Option<Waker>),
    /// In flight without a waiting task: the outcome is discarded.
    Abandoned,
    Complete(Outcome),
}

impl Flights {
    /// A ticket for the next batch or call.
    pub(super) fn start(&mut self) -> Ticket {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Flight::Free);
            (self.places.len() - 1) as u32
        });
        self.places[place as usize] = Flight::Waiting(None);
        Ticket(place)
    }

    /// Stores an outcome, and wakes the waiting task.
    pub(super) fn complete(&mut self, ticket: Ticket, outcome: Outcome) {
        let place = &mut self.places[ticket.0 as usize];
        match std::mem::replace(place, Flight::Complete(outcome)) {
            Flight::Waiting(Some(waker)) => waker.wake(),
            Flight::Waiting(None) => {}
            Flight::Abandoned => self.free(ticket),
            Flight::Free | Flight::Complete(_) => unreachable!("a ticket completes once"),
        }
    }

    /// Fetches the outcome if it is there; otherwise its arrival wakes the context's task.
    pub(super) fn poll(&mut self, ticket: Ticket, context: &Context<'_>) -> Poll<Outcome> {
        let place = &mut self.places[ticket.0 as usize];
        match place {
            Flight::Waiting(Some(waker)) => waker.clone_from(context.waker()),
            Flight::Waiting(waker) => *waker = Some(context.waker().clone()),
            Flight::Complete(_) => {
                let complete = std::mem::replace(place, Flight::Free);
                self.free.push(ticket.0);
                let Flight::Complete(outcome) = complete else { unreachable!("it was just seen") };
                return Poll::Ready(outcome);
            }
            Flight::Free | Flight::Abandoned => unreachable!("a future that is done is not polled"),
        }
        Poll::Pending
    }

    /// Marks the ticket as no longer awaited.
    pub(super) fn abandon(&mut self, ticket: Ticket) {
        let place = &mut self.places[ticket.0 as usize];
        match place {
            Flight::Waiting(_) => *place = Flight::Abandoned,
            Flight::Complete(_) => self.free(ticket),
            Flight::Free | Flight::Abandoned => unreachable!("a future is dropped once"),
        }
    }

    fn free(&mut self, ticket: Ticket) {
        self.places[ticket.0 as usize] = Flight::Free;
        self.free.push(ticket.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;

    fn outcome() -> Outcome {
        Outcome::Batch(Ok(Batch::new()), 1)
    }

    #[test]
    fn places_are_used_again_only_after_completion() {
        let mut flights = Flights::default();
        let context = Context::from_waker(Waker::noop());
        let (first, second) = (flights.start(), flights.start());
        assert!(flights.poll(first, &context).is_pending());
        flights.abandon(first);
        assert_ne!(flights.start(), first, "its buffer is still under way");
        flights.complete(first, outcome());
        assert_eq!(flights.start(), first);
        flights.complete(second, outcome());
        assert!(flights.poll(second, &context).is_ready());
        assert_eq!(flights.start(), second);
    }

    #[test]
    fn an_outcome_nobody_fetches_is_dropped_with_its_future() {
        let mut flights = Flights::default();
        let ticket = flights.start();
        flights.complete(ticket, outcome());
        flights.abandon(ticket);
        assert_eq!(flights.start(), ticket);
    }
}
