//! The calls of a client: procedure and arguments.
//!
//! Decisions:
//! - docs/decisions/0167-procedures-receive-their-inputs-as-arguments.md
//! - docs/decisions/0182-clients-divide-the-range-of-a-sequence.md

use crate::arguments::Arguments;
use crate::draw::Shares;
use crate::order::Orders;
use crate::population::Population;
use crate::sample::Site;
use fabric::random::{Items, Random};
use sql_value::Value;
use std::ops::Deref;

/// The first random stream of the clients' calls.
const CALL_STREAM: u32 = 3 << 28;
/// The first random stream of the clients' decks.
const DECK_STREAM: u32 = 4 << 28;
/// Maximum number of cards in a deck.
const DECK_CARDS_MAX: f64 = 10_000.0;
/// Maximum deviation of a number of cards from an integer.
const CARD_TOLERANCE: f64 = 1e-6;

/// How the next procedure is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mix {
    /// Independently at random, by frequency.
    Drawn,
    /// From a shuffled deck that has each procedure in proportion to its frequency, so that shares
    /// are exact [TPC-C 5.2.4.2].
    Deck,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// Position of the procedure in `procedures.sql`, from 0.
    pub procedure: usize,
    /// A value for each `IN` parameter.
    pub arguments: Vec<Value>,
}

/// The caller's decision about a drawn argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judgement {
    Wanted,
    /// Draw another one.
    Another,
    /// Keep it although it does not match.
    Stay,
}

/// The sequence of calls of one client. It follows from the seed, the client and the number of
/// clients.
pub struct Calls<P> {
    population: P,
    orders: Orders,
    client: u64,
    clients: u64,
    /// Returns a random generator for each call.
    generators: Items,
    /// Number of calls so far.
    number: u64,
    /// Number of calls so far, by procedure.
    counts: Vec<u64>,
    shares: Shares,
    /// Procedures in the order of their calls; empty with [`Mix::Drawn`].
    deck: Vec<u32>,
    /// The sorted deck, from which each round is shuffled.
    ordered: Vec<u32>,
    /// Number of shuffles so far, and the next card.
    round: u64,
    card: usize,
}

impl Population {
    /// The calls of client number `client` of `clients`, from 0. Clients draw different numbers of
    /// a sequence.
    ///
    /// # Panics
    /// `client` is not less than `clients`.
    pub fn calls(&self, client: u64, clients: u64, mix: Mix) -> Calls<&Self> {
        Calls::new(self, client, clients, mix)
    }

    /// A deck with each procedure in proportion to its frequency: the smallest deck with exact
    /// shares, or one of about 1000 cards.
    fn deck(&self) -> Vec<u32> {
        let frequencies = self.procedures.iter().map(|procedure| procedure.frequency);
        let used = frequencies.clone().filter(|frequency| *frequency > 0.0);
        let (least, sum) = (used.clone().fold(f64::INFINITY, f64::min), used.clone().sum::<f64>());
        let is_whole = |scale: &f64| {
            used.clone().all(|frequency| {
                let cards = frequency * scale;
                (cards - cards.round()).abs() < CARD_TOLERANCE
            })
        };
        let scales = (1..=100_u32).map(|cards| f64::from(cards) / least);
        let scale = scales.take_while(|scale| sum * scale <= DECK_CARDS_MAX).find(is_whole);
        let scale = scale.unwrap_or((1.0 / least).max(1000.0 / sum).min(DECK_CARDS_MAX / sum));
        let cards = |(procedure, frequency): (usize, f64)| {
            let cards = (frequency * scale).round() as usize;
            std::iter::repeat_n(procedure as u32, cards.max(usize::from(frequency > 0.0)))
        };
        frequencies.enumerate().flat_map(cards).collect()
    }
}

impl<P: Deref<Target = Population>> Calls<P> {
    /// As [`Population::calls`], for a caller that stores the population together with the calls.
    ///
    /// # Panics
    /// As [`Population::calls`].
    pub fn new(population: P, client: u64, clients: u64, mix: Mix) -> Self {
        assert!(client < clients, "clients are counted from 0");
        let deck = match mix {
            Mix::Drawn => Vec::new(),
            Mix::Deck => population.deck(),
        };
        let frequencies = population.procedures.iter().map(|procedure| procedure.frequency);
        let mut ordered = deck.clone();
        ordered.sort_unstable();
        let stream = CALL_STREAM.wrapping_add(client as u32);
        let generators = Items::new(population.scale.seed ^ (client >> 32), stream);
        Self {
            orders: population.orders(),
            client,
            clients,
            number: 0,
            counts: vec![0; population.procedures.len()],
            shares: Shares::new(frequencies),
            card: deck.len(),
            round: 0,
            deck,
            ordered,
            generators,
            population,
        }
    }

    /// The next call; `now_us` is the time in microseconds since 2000-01-01.
    pub fn next_call(&mut self, now_us: i64) -> Call {
        let mut arguments = Arguments::default();
        let procedure = self.next_into(now_us, &mut arguments);
        Call { procedure, arguments: std::mem::take(arguments.whole()) }
    }

    /// As [`Calls::next_call`], but reuses `arguments`; returns the procedure.
    pub fn next_into(&mut self, now_us: i64, arguments: &mut Arguments) -> usize {
        let mut random = self.generators.item(self.number);
        let procedure = match self.deck.is_empty() {
            true => self.shares.draw(&mut random),
            false => self.next_card(),
        };
        let client = (self.client, self.clients);
        let mut site = site(random, self.counts[procedure], client, now_us);
        let population = &*self.population;
        let of = &population.procedures[procedure];
        population.draw_arguments(of, &mut site, &mut self.orders, arguments);
        self.number += 1;
        self.counts[procedure] += 1;
        procedure
    }

    /// Draws the arguments of the last call, a call of `procedure`, again until `judge` accepts the
    /// argument at `position`; returns whether it matches. Sequences do not advance.
    pub fn redraw_into(
        &mut self,
        now_us: i64,
        (procedure, position): (usize, usize),
        arguments: &mut Arguments,
        mut judge: impl FnMut(&Value) -> Judgement,
    ) -> bool {
        let population = &*self.population;
        let of = &population.procedures[procedure];
        let (count, client) = (self.counts[procedure] - 1, (self.client, self.clients));
        loop {
            let mut site = site(self.generators.item(self.number), count, client, now_us);
            self.number += 1;
            arguments.clear();
            population.draw_further(of, position + 1, &mut site, &mut self.orders, arguments);
            let judgement = judge(&arguments.values()[position]);
            // The arguments after `position` are drawn only once it is accepted.
            if judgement != Judgement::Another {
                let all = of.arguments.len();
                population.draw_further(of, all, &mut site, &mut self.orders, arguments);
                return judgement == Judgement::Wanted;
            }
        }
    }

    #[inline]
    fn next_card(&mut self) -> usize {
        if self.card == self.deck.len() {
            // Shuffled from the sorted deck, so that the order depends only on the round.
            self.deck.copy_from_slice(&self.ordered);
            let stream = DECK_STREAM.wrapping_add(self.client as u32);
            let seed = self.population.scale.seed;
            Random::stream(seed, stream, self.round).shuffle(&mut self.deck);
            self.round += 1;
            self.card = 0;
        }
        self.card += 1;
        self.deck[self.card - 1] as usize
    }
}

/// The context for drawing the arguments of a client's call; `count` calls of the procedure precede
/// it.
#[inline]
fn site(random: Random, count: u64, client: (u64, u64), now_us: i64) -> Site<'static> {
    Site { random, count, group: 0, client: Some(client), now_us, parent: &[] }
}
