//! Tests for every registry, under the same names: files, and a real etcd.

mod child;
mod etcd_only;
mod evictions;
mod file_only;
mod suite;
mod wire;
mod world;

macro_rules! in_every_world {
    ($($module:ident { $($test:ident)* })*) => {
        mod in_files {
            $($(#[test]
            fn $test() {
                crate::$module::$test(&crate::world::World::file());
            })*)*
        }

        mod in_etcd {
            $($(#[test]
            fn $test() {
                if let Some(world) = crate::world::World::with_etcd() {
                    crate::$module::$test(&world);
                }
            })*)*
        }
    };
}

in_every_world! {
    suite {
        members_join_and_leave_and_every_change_is_an_epoch
        a_restarted_server_is_a_new_member
        one_of_many_gets_a_number
        a_number_is_waited_for
        a_killed_member_is_taken_out_and_its_number_is_free
        epochs_only_grow_under_concurrent_bumps
        the_root_is_set_once
        a_database_goes_with_its_memory_servers
        a_database_is_published_when_all_have_marked_what_they_have
        a_database_with_replicas_outlives_a_memory_server
        a_memory_server_that_returns_is_filled_if_nobody_dies_meanwhile
        a_silent_memory_server_with_the_last_replica_of_a_region_stays
        a_server_that_was_evicted_evicts_nobody
        a_member_that_has_not_drained_is_evicted_for_it
        memory_servers_are_waited_for
        followers_learn_of_every_change
        other_versions_are_refused
        clusters_never_mix
    }
    evictions {
        a_killed_process_is_evicted_at_once
        a_suspended_process_is_evicted_after_its_lease_and_learns_why
        a_suspended_memory_server_is_suspected_and_stays
        of_many_evictions_one_succeeds
    }
}
