//! Callers that expect another server, or are no longer members, are refused: at the handshake and
//! with every message.

use crate::support::{Server, at, config, engine};
use fabric::{Batch, Caller, Env, Fabric, FabricError, ServerAddress, TcpConfig, TcpTransport};
use layout::NodeId;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

fn refused(config: TcpConfig) -> String {
    TcpTransport::connect(config).expect_err("it does not fit").to_string()
}

#[test]
fn a_handshake_that_does_not_fit_is_refused_with_the_reason() {
    let server = Server::start(0, 1);
    let good = config(&[&server]);
    let caller = |change: &dyn Fn(&mut Caller)| {
        let mut config = good.clone();
        change(&mut config.caller);
        refused(config)
    };
    assert!(caller(&|caller| caller.cluster = 1).contains("belongs to cluster 0x1"));
    assert!(caller(&|caller| caller.epoch = Arc::new(4.into())).contains("is of epoch 4"));
    assert!(caller(&|caller| caller.program = "0.0.9".to_owned()).contains("is namdb 0.0.9"));
    let changed =
        |change: &dyn Fn(&mut ServerAddress)| caller(&|caller| change(&mut caller.servers[0]));
    assert!(changed(&|server| server.key += 1).contains("was started again"));
    assert!(changed(&|server| server.identity += 1).contains("was started again"));
    let nobody = changed(&|server| server.address = "127.0.0.1:1".parse().expect("an address"));
    assert!(nobody.starts_with("memory server 0 at 127.0.0.1:1 cannot be reached: "), "{nobody}");
    let wrong_number = Server::start(1, 2);
    let mut config = good.clone();
    config.caller.servers[0].address = wrong_number.address;
    assert!(refused(config).contains("wants memory server 0, this is memory server 1"));
    TcpTransport::connect(good).expect("this one fits");
}

#[test]
fn messages_of_an_old_epoch_are_refused_until_the_caller_knows_the_new_one() {
    let server = Server::start(0, 1);
    let config = config(&[&server]);
    let epoch = config.caller.epoch.clone();
    let engine = engine(config);
    let env = engine.endpoint();
    let write = |value| {
        let mut batch = Batch::new();
        batch.write_word(at(0, 0), value);
        engine.block_on(env.execute(batch)).map(drop)
    };
    assert_eq!(write(1), Ok(()));
    server.admission.epoch.store(6, SeqCst);
    assert_eq!(write(2), Err(FabricError::Unreachable(NodeId(0))));
    let reason = env.with_transport(|transport| transport.lost(NodeId(0)).map(str::to_owned));
    assert!(reason.expect("it is lost").contains("is of epoch 5"));
    assert_eq!(write(3), Err(FabricError::Unreachable(NodeId(0))), "a refusal is not tried again");
    engine.block_on(env.sleep_ns(50_000_000));
    assert_eq!(write(4), Err(FabricError::Unreachable(NodeId(0))));
    epoch.store(6, SeqCst);
    env.with_transport(|transport| transport.set_server(server.server_address()));
    engine.block_on(async {
        while env.with_transport(|transport| transport.lost(NodeId(0)).is_some()) {
            env.sleep_ns(1_000_000).await;
        }
    });
    let mut batch = Batch::new();
    let read = batch.read(at(0, 0), 1);
    let batch = engine.block_on(env.execute(batch)).expect("the caller knows the epoch");
    assert_eq!(batch.words(read), [1], "nothing of the old epoch was carried out");
    assert_eq!(write(5), Ok(()));
}

/// A member is removed; the remaining ones may or may not have read the new map.
#[test]
fn members_that_have_not_heard_of_an_epoch_go_on_and_others_do_not() {
    let server = Server::start(0, 1);
    let member = config(&[&server]);
    let mut gone = member.clone();
    gone.caller.identity += 1;
    let engines = [engine(member.clone()), engine(gone.clone())];
    let write = |which: usize| {
        let mut batch = Batch::new();
        batch.write_word(at(0, 0), 1);
        engines[which].block_on(engines[which].endpoint().execute(batch)).map(drop)
    };
    assert_eq!((write(0), write(1)), (Ok(()), Ok(())));
    server.admission.advance(6, BTreeSet::from([member.caller.identity]));
    assert_eq!((write(0), write(1)), (Ok(()), Err(FabricError::Unreachable(NodeId(0)))));
    assert!(refused(gone).contains("in which it is not a member"));
    let mut again = member;
    again.caller.endpoint += 1;
    TcpTransport::connect(again).expect("a member may connect");
}

#[test]
fn a_caller_may_be_of_a_later_epoch_than_the_server_has_heard_of() {
    let server = Server::start(0, 1);
    let config = config(&[&server]);
    config.caller.epoch.store(9, SeqCst);
    let engine = engine(config);
    let mut batch = Batch::new();
    batch.write_word(at(0, 0), 1);
    engine.block_on(engine.endpoint().execute(batch)).expect("it is not old");
}
