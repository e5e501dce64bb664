//! Makes calls with arguments that the load never draws: nulls, bounds of types, too long texts,
//! arrays of unequal lengths.

use datagen::Call;
use fabric::random::Random;
use sql::{Program, SqlType};
use sql_value::{Decimal, Value};
use std::sync::Arc;

/// Changes the arguments of about one call in `one_in`.
pub fn make_strange(calls: &mut [Call], program: &Program, one_in: u64, seed: u64) {
    let random = &mut Random::new(seed);
    for call in calls {
        if random.below(one_in) > 0 {
            continue;
        }
        let inputs = program.procedures[call.procedure].inputs();
        for ((_, variable), argument) in inputs.zip(&mut call.arguments) {
            if random.below(3) == 0 {
                *argument = strange(&variable.sql_type, random);
            }
        }
    }
}

fn strange(sql_type: &SqlType, random: &mut Random) -> Value {
    if random.below(4) == 0 {
        return Value::Null;
    }
    match sql_type {
        SqlType::Bool => Value::Bool(random.below(2) == 0),
        SqlType::Int2 => {
            Value::Int(pick(&[0, -1, 1, 2, 4, 9, 25, i16::MAX.into(), i16::MIN.into()], random))
        }
        SqlType::Int4 => {
            Value::Int(pick(&[0, -1, 1, 121, 1001, i32::MAX.into(), i32::MIN.into()], random))
        }
        SqlType::Int8 => Value::Int(pick(&[0, -1, 1, 1999, 1 << 53, i64::MAX, i64::MIN], random)),
        SqlType::Numeric(_) => {
            let (units, scale) = pick(
                &[
                    (0, 0),
                    (-5, 1),
                    (12_345, 4),
                    (999_999_999_999, 2),
                    (10_i128.pow(12), 0),
                    (1, 18),
                ],
                random,
            );
            Value::Numeric(Decimal { units, scale })
        }
        SqlType::Array(element) => {
            let length = pick(&[0, 1, 4, 5, 16], random);
            Value::Array(Arc::from(
                (0..length).map(|_| strange(element, random)).collect::<Vec<_>>(),
            ))
        }
        SqlType::Timestamp(_) => Value::Timestamp(pick(&[0, -1, 1_000_001], random)),
        SqlType::Date => Value::Date(pick(&[0, -1, 59, 36_584, -36_466, -730_119], random)),
        SqlType::Float8 => {
            Value::Float(pick(&[0.0, -0.5, 1.5, 0.1, 1e15, 2e-9, 600_000_000_000_000.2], random))
        }
        _ if random.below(8) == 0 => Value::text(&"0123456789".repeat(60)),
        _ => Value::Text(
            pick(
                &[
                    "",
                    "x",
                    "\u{e9} blanks  ",
                    "BARBARBAR",
                    "000000000000001",
                    "o'k \\ %_",
                    "a text of more than fifteen characters",
                ],
                random,
            )
            .into(),
        ),
    }
}

fn pick<T: Copy>(from: &[T], random: &mut Random) -> T {
    from[random.below(from.len() as u64) as usize]
}
