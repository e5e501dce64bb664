//! Runs the model to its end, or to a counterexample.

use model::config::Config;
use model::possibilities::possibilities;
use model::properties::{named, promises};
use model::protocol::{Action, Protocol};
use model::state::State;
use stateright::{Checker, Model, Property};

/// Visits every state and asserts every promise of our protocol in each of them, and that the runs
/// reach the situations that the promises are about.
pub fn assert_promises(name: &str, config: Config) {
    let mut properties = promises(&config);
    properties.extend(possibilities(&config));
    assert_all(name, config, properties);
}

/// Visits every state, and asserts these properties.
pub fn assert_all(name: &str, config: Config, properties: Vec<Property<Protocol>>) {
    let checker = Protocol::new(config, properties).checker().spawn_bfs().join();
    println!("{name}: {} states, depth {}", checker.unique_state_count(), checker.max_depth());
    assert!(checker.is_done());
    checker.assert_properties();
}

/// Finds a shortest run after which the property does not hold, prints it, and returns its last
/// state.
pub fn counterexample(name: &str, config: Config, property: &'static str) -> State {
    let checker = Protocol::new(config, vec![named(property)]).checker().spawn_bfs().join();
    let state_count = checker.unique_state_count();
    let path = checker.discovery(property).expect("the anomaly is reachable");
    let end = *path.last_state();
    let actions: Vec<Action> = path.into_actions();
    println!("{name}: not \"{property}\" after {} steps, {state_count} states", actions.len());
    for action in actions {
        println!("    {action:?}");
    }
    end
}
