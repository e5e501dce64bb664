//! Workload `edges`, generated from its folder by `namdb spade generate`. Do not edit.
//!
//! Left to the executor of plans:
//!
//! - `found_after`: a loop over rows of a table that it changes
//! - `counted_rows`: GET DIAGNOSTICS
//! - `raised_values`: RAISE other than EXCEPTION
//! - `again_by_index`: '2020-02-29 00:00:00' as timestamp without time zone
//! - `changed_in_loop`: a loop over rows of a table that it changes
//! - `nested_queries`: a loop over rows of a table that it changes
//! - `returned_one`: division of decimals
//! - `strictly`: INTO STRICT
//! - `strictly_changed`: INTO STRICT
//! - `mixed_results`: a loop that may end early, over rows that may fail
//! - `one_row`: RETURN of a row
//! - `nulls_compared`: the function greatest() of no numbers
//! - `nulls_logic`: an assignment to an input parameter
//! - `nulls_stored`: a value of type numeric
//! - `stepped`: FOR with BY
//! - `arrays`: this kind of expression
//! - `array_any`: this kind of expression
//! - `array_changed`: a variable that is an array
//! - `array_texts`: this kind of expression
//! - `casts`: a value of type numeric
//! - `casts_of_double`: a conversion from double precision to bigint
//! - `casts_of_text`: a conversion from text to numeric
//! - `casts_to_text`: a value of type numeric
//! - `explicit_casts`: a value of type numeric
//! - `stored_edges`: a change of rows that a join finds
//! - `edges_found`: a value of type numeric
//! - `bits`: the operator &
//! - `decimal_scales`: a value of type numeric
//! - `decimal_functions`: a value of type numeric
//! - `decimal_stored`: a value of type numeric
//! - `decimal_keys`: a value of type numeric
//! - `decimal_compared`: a value of type numeric
//! - `padded_keys`: a text range without a bound
//! - `text_functions`: a text that is padded to a computed length
//! - `texts_ordered`: LIKE with a computed pattern
//! - `dates`: arithmetic of times
//! - `moments`: the function date_trunc()
//! - `days_found`: an unsupported computed column
//! - `oldest`: an SQL function that returns one row
//! - `sums_of_few`: the aggregate avg(...)
//! - `averages`: the aggregate avg(...)
//! - `truths`: an SQL function that returns one row
//! - `extremes`: an aggregate of values other than numbers
//! - `grouped`: the aggregate avg(...)
//! - `distinct_ones`: a sort key that may fail, or is a float
//! - `lists`: this kind of expression
//! - `sub_selects`: an expression with a sub-select
//! - `case_without_else`: division of decimals
//! - `booleans`: a scan of a whole table, or by several keys
//! - `doubles`: a conversion from integer to double precision
//! - `assigned_in_turn`: a row with values that depend on its targets
//! - `moved_keys`: a loop over rows of a table that it changes
//! - `no_result`: an assignment to an input parameter
//! - `with_defaults`: a block with a label
//! - `set_twice`: division of decimals
//! - `by_kind`: a value of type numeric
//! - `item_unique`: a unique key that may change more than once
//! - `item_unique_freed`: a unique key that may change more than once
//! - `item_rated`: a decimal whose scale varies
//! - `item_tags`: a value of type numeric
//! - `item_repriced`: a value of type numeric
//! - `item_assigned`: a row with values that depend on its targets
//! - `digits_of_case`: a decimal whose scale varies
//! - `digits_of_loop`: a decimal whose scale varies
//! - `digits_of_sum`: a decimal whose scale varies
//! - `digits_as_text`: a decimal whose scale varies

pub mod again_inserted;
pub mod array_rows;
pub mod cut_labels;
pub mod cut_texts;
pub mod digits_declared;
pub mod item_cases;
pub mod item_counted;
pub mod item_days;
pub mod item_firsts;
pub mod item_found;
pub mod item_inserted;
pub mod item_joined;
pub mod item_labelled;
pub mod item_list;
pub mod item_moved;
pub mod item_named;
pub mod item_nested;
pub mod item_of_groups;
pub mod item_pairs;
pub mod item_priced;
pub mod item_raised;
pub mod item_replaced;
pub mod item_sums;
pub mod item_truths;
pub mod item_twice;
pub mod item_until;
pub mod kept_of_last;
pub mod left_by_name;
pub mod limits;
pub mod null_bounds;
pub mod null_keys;
pub mod padded;
pub mod raised_behind;
pub mod returned_many;
pub mod returned_too_many;
pub mod tables;
pub mod text_kept;
pub mod text_of_loop;
pub mod texts_stored;
pub mod ties;
pub mod whole_casts;
pub mod whole_quotients;
pub mod whole_signs;
pub mod without_return;

use fabric::Env;
use procedure_runtime::{Argument, BindError, Call, Generated, Stop};
pub use tables::Tables;
use txn::{Database, Lane};

impl Generated for Tables {
    const WORKLOAD: &'static str = "edges";
    const PROCEDURES: &'static [&'static str] = &[
        "left_by_name",
        "raised_behind",
        "again_inserted",
        "returned_many",
        "returned_too_many",
        "null_bounds",
        "null_keys",
        "array_rows",
        "whole_quotients",
        "padded",
        "texts_stored",
        "limits",
        "ties",
        "kept_of_last",
        "without_return",
        "item_moved",
        "item_replaced",
        "item_twice",
        "item_found",
        "item_nested",
        "item_until",
        "item_raised",
        "item_priced",
        "item_sums",
        "item_counted",
        "whole_casts",
        "whole_signs",
        "item_labelled",
        "item_named",
        "item_joined",
        "item_days",
        "item_truths",
        "item_list",
        "item_pairs",
        "item_inserted",
        "item_of_groups",
        "item_firsts",
        "item_cases",
        "digits_declared",
        "text_kept",
        "text_of_loop",
        "cut_texts",
        "cut_labels",
    ];
    const FINGERPRINT: u32 = 0x71b406e4;

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
                left_by_name::left_by_name(call, &self, &left_by_name::Arguments::bind(arguments)?)
                    .await
            }
            1 => {
                raised_behind::raised_behind(
                    call,
                    &self,
                    &raised_behind::Arguments::bind(arguments)?,
                )
                .await
            }
            2 => {
                again_inserted::again_inserted(
                    call,
                    &self,
                    &again_inserted::Arguments::bind(arguments)?,
                )
                .await
            }
            3 => {
                returned_many::returned_many(
                    call,
                    &self,
                    &returned_many::Arguments::bind(arguments)?,
                )
                .await
            }
            4 => {
                returned_too_many::returned_too_many(
                    call,
                    &self,
                    &returned_too_many::Arguments::bind(arguments)?,
                )
                .await
            }
            5 => {
                null_bounds::null_bounds(call, &self, &null_bounds::Arguments::bind(arguments)?)
                    .await
            }
            6 => null_keys::null_keys(call, &self, &null_keys::Arguments::bind(arguments)?).await,
            7 => {
                array_rows::array_rows(call, &self, &array_rows::Arguments::bind(arguments)?).await
            }
            8 => {
                whole_quotients::whole_quotients(
                    call,
                    &self,
                    &whole_quotients::Arguments::bind(arguments)?,
                )
                .await
            }
            9 => padded::padded(call, &self, &padded::Arguments::bind(arguments)?).await,
            10 => {
                texts_stored::texts_stored(call, &self, &texts_stored::Arguments::bind(arguments)?)
                    .await
            }
            11 => limits::limits(call, &self, &limits::Arguments::bind(arguments)?).await,
            12 => ties::ties(call, &self, &ties::Arguments::bind(arguments)?).await,
            13 => {
                kept_of_last::kept_of_last(call, &self, &kept_of_last::Arguments::bind(arguments)?)
                    .await
            }
            14 => {
                without_return::without_return(
                    call,
                    &self,
                    &without_return::Arguments::bind(arguments)?,
                )
                .await
            }
            15 => {
                item_moved::item_moved(call, &self, &item_moved::Arguments::bind(arguments)?).await
            }
            16 => {
                item_replaced::item_replaced(
                    call,
                    &self,
                    &item_replaced::Arguments::bind(arguments)?,
                )
                .await
            }
            17 => {
                item_twice::item_twice(call, &self, &item_twice::Arguments::bind(arguments)?).await
            }
            18 => {
                item_found::item_found(call, &self, &item_found::Arguments::bind(arguments)?).await
            }
            19 => {
                item_nested::item_nested(call, &self, &item_nested::Arguments::bind(arguments)?)
                    .await
            }
            20 => {
                item_until::item_until(call, &self, &item_until::Arguments::bind(arguments)?).await
            }
            21 => {
                item_raised::item_raised(call, &self, &item_raised::Arguments::bind(arguments)?)
                    .await
            }
            22 => {
                item_priced::item_priced(call, &self, &item_priced::Arguments::bind(arguments)?)
                    .await
            }
            23 => item_sums::item_sums(call, &self, &item_sums::Arguments::bind(arguments)?).await,
            24 => {
                item_counted::item_counted(call, &self, &item_counted::Arguments::bind(arguments)?)
                    .await
            }
            25 => {
                whole_casts::whole_casts(call, &self, &whole_casts::Arguments::bind(arguments)?)
                    .await
            }
            26 => {
                whole_signs::whole_signs(call, &self, &whole_signs::Arguments::bind(arguments)?)
                    .await
            }
            27 => {
                item_labelled::item_labelled(
                    call,
                    &self,
                    &item_labelled::Arguments::bind(arguments)?,
                )
                .await
            }
            28 => {
                item_named::item_named(call, &self, &item_named::Arguments::bind(arguments)?).await
            }
            29 => {
                item_joined::item_joined(call, &self, &item_joined::Arguments::bind(arguments)?)
                    .await
            }
            30 => item_days::item_days(call, &self, &item_days::Arguments::bind(arguments)?).await,
            31 => {
                item_truths::item_truths(call, &self, &item_truths::Arguments::bind(arguments)?)
                    .await
            }
            32 => item_list::item_list(call, &self, &item_list::Arguments::bind(arguments)?).await,
            33 => {
                item_pairs::item_pairs(call, &self, &item_pairs::Arguments::bind(arguments)?).await
            }
            34 => {
                item_inserted::item_inserted(
                    call,
                    &self,
                    &item_inserted::Arguments::bind(arguments)?,
                )
                .await
            }
            35 => {
                item_of_groups::item_of_groups(
                    call,
                    &self,
                    &item_of_groups::Arguments::bind(arguments)?,
                )
                .await
            }
            36 => {
                item_firsts::item_firsts(call, &self, &item_firsts::Arguments::bind(arguments)?)
                    .await
            }
            37 => {
                item_cases::item_cases(call, &self, &item_cases::Arguments::bind(arguments)?).await
            }
            38 => {
                digits_declared::digits_declared(
                    call,
                    &self,
                    &digits_declared::Arguments::bind(arguments)?,
                )
                .await
            }
            39 => text_kept::text_kept(call, &self, &text_kept::Arguments::bind(arguments)?).await,
            40 => {
                text_of_loop::text_of_loop(call, &self, &text_of_loop::Arguments::bind(arguments)?)
                    .await
            }
            41 => cut_texts::cut_texts(call, &self, &cut_texts::Arguments::bind(arguments)?).await,
            42 => {
                cut_labels::cut_labels(call, &self, &cut_labels::Arguments::bind(arguments)?).await
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
            36 => item_firsts::prefetch(lane, self, &item_firsts::Arguments::bind(arguments)?),
            _ => Ok(()),
        }
    }
}
