//! The calls of a client: which procedure, with which arguments.
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

/// The streams of clients' calls begin here.
const CALL_STREAM: u32 = 3 << 28;
/// The streams of clients' decks begin here.
const DECK_STREAM: u32 = 4 << 28;
/// Most cards of a deck.
const DECK_CARDS_MAX: f64 = 10_000.0;
/// How far a number of cards may be from a whole one.
const CARD_TOLERANCE: f64 = 1e-6;

/// How procedures are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mix {
    /// Each call anew, by frequency.
    Drawn,
    /// From a deck that is shuffled when it is used up and has each procedure as often as its frequency says, so that
    /// shares are exact [TPC-C 5.2.4.2].
    Deck,
}

/// A call that is to be made.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The procedure, counted from 0 in the order of `procedures.sql`.
    pub procedure: usize,
    /// A value for each `IN` parameter.
    pub arguments: Vec<Value>,
}

/// What is said of a drawn argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// It is wanted.
    Wanted,
    /// Another is to be drawn.
    Another,
    /// It is to stay although it is not wanted.
    Stay,
}

/// The calls of one client, one after the other. They follow from the seed, the client and how many there are.
pub struct Calls<P> {
    population: P,
    orders: Orders,
    client: u64,
    clients: u64,
    /// A generator for each call.
    generators: Items,
    /// How many calls there were.
    number: u64,
    /// How many there were of each procedure.
    counts: Vec<u64>,
    shares: Shares,
    /// Procedures in the order in which they are called; empty if they are drawn one by one.
    deck: Vec<u32>,
    /// The same in order: each round is shuffled from it.
    ordered: Vec<u32>,
    /// How often it was shuffled, and the card that comes next.
    round: u64,
    card: usize,
}

impl Population {
    /// The calls of client `client` of `clients`, counted from 0. What comes in sequences differs between clients.
    ///
    /// # Panics
    /// If there is no such client.
    pub fn calls(&self, client: u64, clients: u64, mix: Mix) -> Calls<&Self> {
        Calls::new(self, client, clients, mix)
    }

    /// Each procedure as often as its frequency says: the fewest cards with exact shares, or about a thousand.
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
    /// As [`Population::calls`], for who keeps the population and the calls.
    ///
    /// # Panics
    /// As there.
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

    /// The next call, at a time in microseconds since 2000-01-01.
    pub fn next_call(&mut self, now_us: i64) -> Call {
        let mut arguments = Arguments::default();
        let procedure = self.next_into(now_us, &mut arguments);
        Call { procedure, arguments: std::mem::take(arguments.whole()) }
    }

    /// As [`Calls::next_call`], with its arguments where others were before: answers the procedure.
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

    /// Draws the arguments of the last call, which is of this procedure, again and again until `judge` leaves the one at
    /// `position` as it is; answers whether it is wanted. What comes in sequences is as it was.
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
            // What comes behind it is drawn for those only that stay.
            if judgement != Judgement::Another {
                let all = of.arguments.len();
                population.draw_further(of, all, &mut site, &mut self.orders, arguments);
                return judgement == Judgement::Wanted;
            }
        }
    }

    /// The next procedure of the deck.
    #[inline]
    fn next_card(&mut self) -> usize {
        if self.card == self.deck.len() {
            // Shuffled from the same order each time, so that the round alone decides.
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

/// Where the arguments of a client's call are drawn that comes behind so many others of its procedure.
#[inline]
fn site(random: Random, count: u64, client: (u64, u64), now_us: i64) -> Site<'static> {
    Site { random, count, group: 0, client: Some(client), now_us, parent: &[] }
}
