//! The inputs of transactions: the mix, and the inputs of each type [TATP].

use super::config::TatpConfig;
use super::keys::{Number, number_of};
use super::nurand::Subscribers;
use super::population::{START_TIMES, TYPES, digits};
use super::schema::NUMBER_DIGITS;
use crate::random::Random;

/// The seven transactions, by the names of the procedures in `workloads/tatp/procedures.sql`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Reads all columns of a subscriber.
    GetSubscriberData,
    /// Reads the destination of forwarded calls.
    GetNewDestination,
    /// Reads a type of access.
    GetAccessData,
    /// Changes a subscriber and a special facility.
    UpdateSubscriberData,
    /// Changes a subscriber's location.
    UpdateLocation,
    /// Begins to forward calls.
    InsertCallForwarding,
    /// Ends it.
    DeleteCallForwarding,
}

impl Kind {
    /// All of them with their percentages [TATP].
    pub const MIX: [(Self, u32); 7] = [
        (Self::GetSubscriberData, 35),
        (Self::GetNewDestination, 10),
        (Self::GetAccessData, 35),
        (Self::UpdateSubscriberData, 2),
        (Self::UpdateLocation, 14),
        (Self::InsertCallForwarding, 2),
        (Self::DeleteCallForwarding, 2),
    ];

    /// Draws one according to the mix.
    #[inline]
    pub fn draw(random: &mut Random) -> Self {
        HUNDREDTHS[random.below(100) as usize]
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::GetSubscriberData => "get_subscriber_data",
            Self::GetNewDestination => "get_new_destination",
            Self::GetAccessData => "get_access_data",
            Self::UpdateSubscriberData => "update_subscriber_data",
            Self::UpdateLocation => "update_location",
            Self::InsertCallForwarding => "insert_call_forwarding",
            Self::DeleteCallForwarding => "delete_call_forwarding",
        }
    }
}

/// The type of each hundredth of the mix.
const HUNDREDTHS: [Kind; 100] = {
    let mut kinds = [Kind::GetSubscriberData; 100];
    let (mut at, mut index) = (0, 0);
    while index < Kind::MIX.len() {
        let end = at + Kind::MIX[index].1 as usize;
        while at < end {
            kinds[at] = Kind::MIX[index].0;
            at += 1;
        }
        index += 1;
    }
    assert!(at == 100, "the shares make 100 percent");
    kinds
};

/// One transaction with all its inputs, so that a retry does the same. Each type uses the inputs
/// that its procedure has parameters for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Input {
    pub kind: Kind,
    /// S_ID of the subscriber. Types that have the subscriber's number do not use it.
    pub s_id: i32,
    /// Type of access or special facility.
    pub sort: i16,
    pub starts: i16,
    pub ends: i16,
    /// New value of BIT_1.
    pub bit: i16,
    /// New value of DATA_A.
    pub data: i16,
    /// New value of VLR_LOCATION.
    pub location: i32,
    pub number: Number,
    /// The destination of forwarded calls.
    pub destination: Number,
}

#[derive(Clone, Debug)]
pub struct InputSource {
    subscribers: Subscribers,
    random: Random,
}

impl InputSource {
    /// A source with this generator.
    pub fn new(config: &TatpConfig, random: Random) -> Self {
        Self { subscribers: Subscribers::new(config.subscribers), random }
    }

    #[inline]
    pub fn draw(&mut self) -> Input {
        let kind = Kind::draw(&mut self.random);
        let s_id = self.subscribers.draw(&mut self.random);
        Input::draw(kind, s_id, &mut self.random)
    }
}

impl Input {
    /// Draws the inputs of a transaction of this kind except the subscriber.
    #[inline]
    pub fn draw(kind: Kind, s_id: i32, random: &mut Random) -> Self {
        let mut input = Self {
            kind,
            s_id,
            sort: 1,
            starts: 0,
            ends: 0,
            bit: 0,
            data: 0,
            location: 0,
            number: [b'0'; NUMBER_DIGITS],
            destination: [b'0'; NUMBER_DIGITS],
        };
        match kind {
            Kind::GetSubscriberData => {}
            Kind::GetAccessData => input.sort = draw_type(random),
            Kind::GetNewDestination => {
                input.sort = draw_type(random);
                input.starts = draw_start(random);
                input.ends = draw_end(random);
            }
            Kind::UpdateSubscriberData => {
                input.sort = draw_type(random);
                input.bit = random.uniform(0, 1) as i16;
                input.data = random.uniform(0, 255) as i16;
            }
            Kind::UpdateLocation => {
                input.number = number_of(input.s_id);
                input.location = random.uniform(1, i64::from(i32::MAX)) as i32;
            }
            Kind::InsertCallForwarding => {
                input.number = number_of(input.s_id);
                input.sort = draw_type(random);
                input.starts = draw_start(random);
                input.ends = draw_end(random);
                input.destination = digits(random);
            }
            Kind::DeleteCallForwarding => {
                input.number = number_of(input.s_id);
                input.sort = draw_type(random);
                input.starts = draw_start(random);
            }
        }
        input
    }
}

#[inline]
fn draw_type(random: &mut Random) -> i16 {
    1 + random.below(TYPES as u64) as i16
}

#[inline]
fn draw_start(random: &mut Random) -> i16 {
    START_TIMES[random.below(START_TIMES.len() as u64) as usize]
}

#[inline]
fn draw_end(random: &mut Random) -> i16 {
    random.uniform(1, 24) as i16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_and_the_ranges_are_kept() {
        let config = TatpConfig::new(1000);
        let mut source = InputSource::new(&config, Random::new(3));
        let inputs: Vec<Input> = (0..100_000).map(|_| source.draw()).collect();
        for (kind, percent) in Kind::MIX {
            let count = inputs.iter().filter(|input| input.kind == kind).count() as i64;
            // Six standard deviations of the largest share.
            assert!((count - i64::from(percent) * 1000).abs() < 910, "{} {count}", kind.name());
        }
        for input in inputs {
            assert!((1..=1000).contains(&input.s_id) && (1..=4).contains(&input.sort));
            match input.kind {
                Kind::UpdateLocation => {
                    assert_eq!(input.number, number_of(input.s_id));
                    assert!(input.location > 0);
                }
                Kind::InsertCallForwarding => {
                    assert!(input.destination.iter().all(u8::is_ascii_digit));
                    assert!((1..=24).contains(&input.ends) && input.starts % 8 == 0);
                }
                _ => assert!((0..=16).contains(&input.starts)),
            }
        }
    }
}
