//! Tests for every registry, under the same names: files, and a real etcd.

mod child;
mod etcd;
mod etcd_only;
mod file_only;
mod suite;
mod wire;
mod world;

macro_rules! in_every_world {
    ($($test:ident)*) => {
        mod in_files {
            $(#[test]
            fn $test() {
                crate::suite::$test(&crate::world::World::file());
            })*
        }

        mod in_etcd {
            $(#[test]
            fn $test() {
                if let Some(world) = crate::world::World::with_etcd() {
                    crate::suite::$test(&world);
                }
            })*
        }
    };
}

in_every_world! {
    members_join_and_leave_and_every_change_is_an_epoch
    whoever_restarts_is_somebody_else
    one_of_many_gets_a_number
    a_number_is_waited_for
    a_killed_member_is_taken_out_and_its_number_is_free
    epochs_only_grow_under_concurrent_bumps
    the_root_is_set_once
    a_database_goes_with_its_memory_servers
    memory_servers_are_waited_for
    followers_learn_of_every_change
    other_versions_are_refused
    clusters_never_mix
}
