//! Workload `corners`, generated from its folder by `namdb spade generate`. Do not edit.
//!
//! Left to the executor of plans:
//!
//! - `performed_decimal`: an unused value that may raise an error
//! - `price_of`: a value of type numeric
//! - `prices_above`: a condition that may fail on rows that are sorted, limited or grouped
//! - `rows_with_errors`: a loop that may end early, over rows that may fail
//! - `rows_left_early`: a loop that may end early, over rows that may fail
//! - `marked`: a unique key that may change more than once
//! - `joined`: a plan with a sort of computed rows
//! - `blanks`: LIKE with blanks that the stored text lacks

pub mod arithmetic;
pub mod backwards;
pub mod branches_that_fail;
pub mod by_code;
pub mod by_mark;
pub mod by_name;
pub mod cased;
pub mod count_of_quotient;
pub mod count_of_sum;
pub mod counted_wide;
pub mod counter_assigned;
pub mod decimals;
pub mod declared_again;
pub mod deleted_all;
pub mod elements;
pub mod far_range;
pub mod fewer_columns;
pub mod found_of_loop;
pub mod half_price;
pub mod in_part;
pub mod in_part_found;
pub mod inserted_in_rounds;
pub mod inserted_late;
pub mod inserted_marks;
pub mod inserted_twice;
pub mod least_sum;
pub mod left_early;
pub mod locked;
pub mod logic;
pub mod long_loop;
pub mod most_of_a_row;
pub mod most_of_rows;
pub mod names;
pub mod never_null;
pub mod no_elements;
pub mod no_rows;
pub mod null_of_cast;
pub mod null_of_sum;
pub mod open_range;
pub mod own_delete;
pub mod own_index;
pub mod own_insert;
pub mod own_update;
pub mod performed;
pub mod prices;
pub mod quotients;
pub mod raised_first;
pub mod relabelled;
pub mod remarked;
pub mod rounds;
pub mod rounds_behind;
pub mod rounds_chained;
pub mod rounds_consume;
pub mod rounds_crossed;
pub mod rounds_last;
pub mod rounds_meet;
pub mod rounds_of_records;
pub mod rounds_of_rows;
pub mod rounds_of_texts;
pub mod rounds_of_texts_kept;
pub mod rounds_raise;
pub mod rounds_that_fail;
pub mod set_blanks;
pub mod settled;
pub mod shadowed;
pub mod signs;
pub mod strict_one;
pub mod sums;
pub mod sums_of_big;
pub mod swapped;
pub mod tables;
pub mod text_before;
pub mod text_in_branches;
pub mod texts;
pub mod unread_column;
pub mod unread_declared;
pub mod unread_length;
pub mod unread_quotient;
pub mod unread_returning;
pub mod whole_row;
pub mod wide_key;
pub mod wide_range;

use fabric::Env;
use procedure_runtime::{Argument, BindError, Call, Generated, Stop};
pub use tables::Tables;
use txn::{Database, Lane};

impl Generated for Tables {
    const WORKLOAD: &'static str = "corners";
    const PROCEDURES: &'static [&'static str] = &[
        "null_of_sum",
        "null_of_cast",
        "count_of_sum",
        "count_of_quotient",
        "sums",
        "unread_quotient",
        "unread_declared",
        "unread_length",
        "performed",
        "unread_column",
        "unread_returning",
        "wide_key",
        "wide_range",
        "open_range",
        "far_range",
        "backwards",
        "half_price",
        "by_name",
        "by_code",
        "counted_wide",
        "counter_assigned",
        "long_loop",
        "left_early",
        "raised_first",
        "own_update",
        "own_insert",
        "own_index",
        "own_delete",
        "in_part",
        "in_part_found",
        "whole_row",
        "text_before",
        "text_in_branches",
        "rounds",
        "rounds_of_texts",
        "rounds_raise",
        "rounds_consume",
        "rounds_meet",
        "rounds_last",
        "rounds_of_records",
        "rounds_of_rows",
        "rounds_behind",
        "rounds_chained",
        "rounds_of_texts_kept",
        "rounds_that_fail",
        "rounds_crossed",
        "settled",
        "inserted_twice",
        "inserted_in_rounds",
        "inserted_marks",
        "remarked",
        "by_mark",
        "logic",
        "arithmetic",
        "decimals",
        "texts",
        "elements",
        "strict_one",
        "cased",
        "shadowed",
        "found_of_loop",
        "swapped",
        "relabelled",
        "declared_again",
        "no_rows",
        "no_elements",
        "never_null",
        "fewer_columns",
        "signs",
        "quotients",
        "sums_of_big",
        "prices",
        "set_blanks",
        "inserted_late",
        "deleted_all",
        "branches_that_fail",
        "locked",
        "names",
        "least_sum",
        "most_of_rows",
        "most_of_a_row",
    ];
    const FINGERPRINT: u32 = 0x1bf8974e;

    fn find<E: Env>(database: &Database<E>) -> Result<Self, BindError> {
        Self::find(database)
    }

    async fn run<E: Env>(
        self,
        call: &mut Call<'_, '_, E>,
        procedure: usize,
        arguments: &[Argument<'_>],
    ) -> Result<(), Stop> {
        match procedure {
            0 => {
                null_of_sum::null_of_sum(call, &self, &null_of_sum::Arguments::bind(arguments)?)
                    .await
            }
            1 => {
                null_of_cast::null_of_cast(call, &self, &null_of_cast::Arguments::bind(arguments)?)
                    .await
            }
            2 => {
                count_of_sum::count_of_sum(call, &self, &count_of_sum::Arguments::bind(arguments)?)
                    .await
            }
            3 => {
                count_of_quotient::count_of_quotient(
                    call,
                    &self,
                    &count_of_quotient::Arguments::bind(arguments)?,
                )
                .await
            }
            4 => sums::sums(call, &self, &sums::Arguments::bind(arguments)?).await,
            5 => {
                unread_quotient::unread_quotient(
                    call,
                    &self,
                    &unread_quotient::Arguments::bind(arguments)?,
                )
                .await
            }
            6 => {
                unread_declared::unread_declared(
                    call,
                    &self,
                    &unread_declared::Arguments::bind(arguments)?,
                )
                .await
            }
            7 => {
                unread_length::unread_length(
                    call,
                    &self,
                    &unread_length::Arguments::bind(arguments)?,
                )
                .await
            }
            8 => performed::performed(call, &self, &performed::Arguments::bind(arguments)?).await,
            9 => {
                unread_column::unread_column(
                    call,
                    &self,
                    &unread_column::Arguments::bind(arguments)?,
                )
                .await
            }
            10 => {
                unread_returning::unread_returning(
                    call,
                    &self,
                    &unread_returning::Arguments::bind(arguments)?,
                )
                .await
            }
            11 => wide_key::wide_key(call, &self, &wide_key::Arguments::bind(arguments)?).await,
            12 => {
                wide_range::wide_range(call, &self, &wide_range::Arguments::bind(arguments)?).await
            }
            13 => {
                open_range::open_range(call, &self, &open_range::Arguments::bind(arguments)?).await
            }
            14 => far_range::far_range(call, &self, &far_range::Arguments::bind(arguments)?).await,
            15 => backwards::backwards(call, &self, &backwards::Arguments::bind(arguments)?).await,
            16 => {
                half_price::half_price(call, &self, &half_price::Arguments::bind(arguments)?).await
            }
            17 => by_name::by_name(call, &self, &by_name::Arguments::bind(arguments)?).await,
            18 => by_code::by_code(call, &self, &by_code::Arguments::bind(arguments)?).await,
            19 => {
                counted_wide::counted_wide(call, &self, &counted_wide::Arguments::bind(arguments)?)
                    .await
            }
            20 => {
                counter_assigned::counter_assigned(
                    call,
                    &self,
                    &counter_assigned::Arguments::bind(arguments)?,
                )
                .await
            }
            21 => long_loop::long_loop(call, &self, &long_loop::Arguments::bind(arguments)?).await,
            22 => {
                left_early::left_early(call, &self, &left_early::Arguments::bind(arguments)?).await
            }
            23 => {
                raised_first::raised_first(call, &self, &raised_first::Arguments::bind(arguments)?)
                    .await
            }
            24 => {
                own_update::own_update(call, &self, &own_update::Arguments::bind(arguments)?).await
            }
            25 => {
                own_insert::own_insert(call, &self, &own_insert::Arguments::bind(arguments)?).await
            }
            26 => own_index::own_index(call, &self, &own_index::Arguments::bind(arguments)?).await,
            27 => {
                own_delete::own_delete(call, &self, &own_delete::Arguments::bind(arguments)?).await
            }
            28 => in_part::in_part(call, &self, &in_part::Arguments::bind(arguments)?).await,
            29 => {
                in_part_found::in_part_found(
                    call,
                    &self,
                    &in_part_found::Arguments::bind(arguments)?,
                )
                .await
            }
            30 => whole_row::whole_row(call, &self, &whole_row::Arguments::bind(arguments)?).await,
            31 => {
                text_before::text_before(call, &self, &text_before::Arguments::bind(arguments)?)
                    .await
            }
            32 => {
                text_in_branches::text_in_branches(
                    call,
                    &self,
                    &text_in_branches::Arguments::bind(arguments)?,
                )
                .await
            }
            33 => rounds::rounds(call, &self, &rounds::Arguments::bind(arguments)?).await,
            34 => {
                rounds_of_texts::rounds_of_texts(
                    call,
                    &self,
                    &rounds_of_texts::Arguments::bind(arguments)?,
                )
                .await
            }
            35 => {
                rounds_raise::rounds_raise(call, &self, &rounds_raise::Arguments::bind(arguments)?)
                    .await
            }
            36 => {
                rounds_consume::rounds_consume(
                    call,
                    &self,
                    &rounds_consume::Arguments::bind(arguments)?,
                )
                .await
            }
            37 => {
                rounds_meet::rounds_meet(call, &self, &rounds_meet::Arguments::bind(arguments)?)
                    .await
            }
            38 => {
                rounds_last::rounds_last(call, &self, &rounds_last::Arguments::bind(arguments)?)
                    .await
            }
            39 => {
                rounds_of_records::rounds_of_records(
                    call,
                    &self,
                    &rounds_of_records::Arguments::bind(arguments)?,
                )
                .await
            }
            40 => {
                rounds_of_rows::rounds_of_rows(
                    call,
                    &self,
                    &rounds_of_rows::Arguments::bind(arguments)?,
                )
                .await
            }
            41 => {
                rounds_behind::rounds_behind(
                    call,
                    &self,
                    &rounds_behind::Arguments::bind(arguments)?,
                )
                .await
            }
            42 => {
                rounds_chained::rounds_chained(
                    call,
                    &self,
                    &rounds_chained::Arguments::bind(arguments)?,
                )
                .await
            }
            43 => {
                rounds_of_texts_kept::rounds_of_texts_kept(
                    call,
                    &self,
                    &rounds_of_texts_kept::Arguments::bind(arguments)?,
                )
                .await
            }
            44 => {
                rounds_that_fail::rounds_that_fail(
                    call,
                    &self,
                    &rounds_that_fail::Arguments::bind(arguments)?,
                )
                .await
            }
            45 => {
                rounds_crossed::rounds_crossed(
                    call,
                    &self,
                    &rounds_crossed::Arguments::bind(arguments)?,
                )
                .await
            }
            46 => settled::settled(call, &self, &settled::Arguments::bind(arguments)?).await,
            47 => {
                inserted_twice::inserted_twice(
                    call,
                    &self,
                    &inserted_twice::Arguments::bind(arguments)?,
                )
                .await
            }
            48 => {
                inserted_in_rounds::inserted_in_rounds(
                    call,
                    &self,
                    &inserted_in_rounds::Arguments::bind(arguments)?,
                )
                .await
            }
            49 => {
                inserted_marks::inserted_marks(
                    call,
                    &self,
                    &inserted_marks::Arguments::bind(arguments)?,
                )
                .await
            }
            50 => remarked::remarked(call, &self, &remarked::Arguments::bind(arguments)?).await,
            51 => by_mark::by_mark(call, &self, &by_mark::Arguments::bind(arguments)?).await,
            52 => logic::logic(call, &self, &logic::Arguments::bind(arguments)?).await,
            53 => {
                arithmetic::arithmetic(call, &self, &arithmetic::Arguments::bind(arguments)?).await
            }
            54 => decimals::decimals(call, &self, &decimals::Arguments::bind(arguments)?).await,
            55 => texts::texts(call, &self, &texts::Arguments::bind(arguments)?).await,
            56 => elements::elements(call, &self, &elements::Arguments::bind(arguments)?).await,
            57 => {
                strict_one::strict_one(call, &self, &strict_one::Arguments::bind(arguments)?).await
            }
            58 => cased::cased(call, &self, &cased::Arguments::bind(arguments)?).await,
            59 => shadowed::shadowed(call, &self, &shadowed::Arguments::bind(arguments)?).await,
            60 => {
                found_of_loop::found_of_loop(
                    call,
                    &self,
                    &found_of_loop::Arguments::bind(arguments)?,
                )
                .await
            }
            61 => swapped::swapped(call, &self, &swapped::Arguments::bind(arguments)?).await,
            62 => {
                relabelled::relabelled(call, &self, &relabelled::Arguments::bind(arguments)?).await
            }
            63 => {
                declared_again::declared_again(
                    call,
                    &self,
                    &declared_again::Arguments::bind(arguments)?,
                )
                .await
            }
            64 => no_rows::no_rows(call, &self, &no_rows::Arguments::bind(arguments)?).await,
            65 => {
                no_elements::no_elements(call, &self, &no_elements::Arguments::bind(arguments)?)
                    .await
            }
            66 => {
                never_null::never_null(call, &self, &never_null::Arguments::bind(arguments)?).await
            }
            67 => {
                fewer_columns::fewer_columns(
                    call,
                    &self,
                    &fewer_columns::Arguments::bind(arguments)?,
                )
                .await
            }
            68 => signs::signs(call, &self, &signs::Arguments::bind(arguments)?).await,
            69 => quotients::quotients(call, &self, &quotients::Arguments::bind(arguments)?).await,
            70 => {
                sums_of_big::sums_of_big(call, &self, &sums_of_big::Arguments::bind(arguments)?)
                    .await
            }
            71 => prices::prices(call, &self, &prices::Arguments::bind(arguments)?).await,
            72 => {
                set_blanks::set_blanks(call, &self, &set_blanks::Arguments::bind(arguments)?).await
            }
            73 => {
                inserted_late::inserted_late(
                    call,
                    &self,
                    &inserted_late::Arguments::bind(arguments)?,
                )
                .await
            }
            74 => {
                deleted_all::deleted_all(call, &self, &deleted_all::Arguments::bind(arguments)?)
                    .await
            }
            75 => {
                branches_that_fail::branches_that_fail(
                    call,
                    &self,
                    &branches_that_fail::Arguments::bind(arguments)?,
                )
                .await
            }
            76 => locked::locked(call, &self, &locked::Arguments::bind(arguments)?).await,
            77 => names::names(call, &self, &names::Arguments::bind(arguments)?).await,
            78 => least_sum::least_sum(call, &self, &least_sum::Arguments::bind(arguments)?).await,
            79 => {
                most_of_rows::most_of_rows(call, &self, &most_of_rows::Arguments::bind(arguments)?)
                    .await
            }
            80 => {
                most_of_a_row::most_of_a_row(
                    call,
                    &self,
                    &most_of_a_row::Arguments::bind(arguments)?,
                )
                .await
            }
            _ => Err(Stop::Deviates),
        }
    }

    fn prefetch<E: Env>(
        &self,
        lane: &Lane<E>,
        procedure: usize,
        arguments: &[Argument<'_>],
    ) -> Result<(), Stop> {
        match procedure {
            8 => performed::prefetch(lane, self, &performed::Arguments::bind(arguments)?),
            9 => unread_column::prefetch(lane, self, &unread_column::Arguments::bind(arguments)?),
            10 => unread_returning::prefetch(
                lane,
                self,
                &unread_returning::Arguments::bind(arguments)?,
            ),
            11 => wide_key::prefetch(lane, self, &wide_key::Arguments::bind(arguments)?),
            16 => half_price::prefetch(lane, self, &half_price::Arguments::bind(arguments)?),
            17 => by_name::prefetch(lane, self, &by_name::Arguments::bind(arguments)?),
            21 => long_loop::prefetch(lane, self, &long_loop::Arguments::bind(arguments)?),
            22 => left_early::prefetch(lane, self, &left_early::Arguments::bind(arguments)?),
            23 => raised_first::prefetch(lane, self, &raised_first::Arguments::bind(arguments)?),
            24 => own_update::prefetch(lane, self, &own_update::Arguments::bind(arguments)?),
            25 => own_insert::prefetch(lane, self, &own_insert::Arguments::bind(arguments)?),
            26 => own_index::prefetch(lane, self, &own_index::Arguments::bind(arguments)?),
            27 => own_delete::prefetch(lane, self, &own_delete::Arguments::bind(arguments)?),
            28 => in_part::prefetch(lane, self, &in_part::Arguments::bind(arguments)?),
            29 => in_part_found::prefetch(lane, self, &in_part_found::Arguments::bind(arguments)?),
            31 => text_before::prefetch(lane, self, &text_before::Arguments::bind(arguments)?),
            32 => text_in_branches::prefetch(
                lane,
                self,
                &text_in_branches::Arguments::bind(arguments)?,
            ),
            33 => rounds::prefetch(lane, self, &rounds::Arguments::bind(arguments)?),
            34 => {
                rounds_of_texts::prefetch(lane, self, &rounds_of_texts::Arguments::bind(arguments)?)
            }
            35 => rounds_raise::prefetch(lane, self, &rounds_raise::Arguments::bind(arguments)?),
            37 => rounds_meet::prefetch(lane, self, &rounds_meet::Arguments::bind(arguments)?),
            38 => rounds_last::prefetch(lane, self, &rounds_last::Arguments::bind(arguments)?),
            39 => rounds_of_records::prefetch(
                lane,
                self,
                &rounds_of_records::Arguments::bind(arguments)?,
            ),
            40 => {
                rounds_of_rows::prefetch(lane, self, &rounds_of_rows::Arguments::bind(arguments)?)
            }
            41 => rounds_behind::prefetch(lane, self, &rounds_behind::Arguments::bind(arguments)?),
            45 => {
                rounds_crossed::prefetch(lane, self, &rounds_crossed::Arguments::bind(arguments)?)
            }
            46 => settled::prefetch(lane, self, &settled::Arguments::bind(arguments)?),
            50 => remarked::prefetch(lane, self, &remarked::Arguments::bind(arguments)?),
            51 => by_mark::prefetch(lane, self, &by_mark::Arguments::bind(arguments)?),
            60 => found_of_loop::prefetch(lane, self, &found_of_loop::Arguments::bind(arguments)?),
            61 => swapped::prefetch(lane, self, &swapped::Arguments::bind(arguments)?),
            67 => fewer_columns::prefetch(lane, self, &fewer_columns::Arguments::bind(arguments)?),
            71 => prices::prefetch(lane, self, &prices::Arguments::bind(arguments)?),
            72 => set_blanks::prefetch(lane, self, &set_blanks::Arguments::bind(arguments)?),
            73 => inserted_late::prefetch(lane, self, &inserted_late::Arguments::bind(arguments)?),
            76 => locked::prefetch(lane, self, &locked::Arguments::bind(arguments)?),
            79 => most_of_rows::prefetch(lane, self, &most_of_rows::Arguments::bind(arguments)?),
            80 => most_of_a_row::prefetch(lane, self, &most_of_a_row::Arguments::bind(arguments)?),
            _ => Ok(()),
        }
    }
}
