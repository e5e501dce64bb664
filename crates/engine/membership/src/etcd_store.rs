//! A cluster's state in etcd: one key for the record, and one for each entry, under the cluster's
//! id.
//!
//! A member's lease is an etcd lease to which its entry is bound: etcd removes the entry when the
//! lease ends. On the member's own clock the lease ends earlier, since the member counts from
//! before it sends the request, and etcd from when the request arrives. The margin allows for
//! clocks that run at different speeds.
//!
//! Decision: docs/decisions/0069-etcd-is-reached-by-json-over-a-blocking-client.md

use crate::clock::Moment;
use crate::cluster_file::ClusterFile;
use crate::error::RegistryError;
use crate::etcd_gateway::{Answer, EtcdGateway};
use crate::record::Stored;
use crate::store::{Change, EntryChange, Hold, Renewal};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use std::time::Duration;

/// How long to wait for etcd before giving a request up.
const PATIENCE: Duration = Duration::from_secs(3);
/// The same for renewals, which are repeated anyway.
const RENEWAL_PATIENCE: Duration = Duration::from_secs(1);
/// Fraction of a lease's time that is kept as margin.
const MARGIN_PART: u32 = 10;

/// The keys of one cluster.
pub(crate) struct EtcdStore {
    gateway: EtcdGateway,
    /// Prefix of all keys of the cluster.
    prefix: String,
    lease_seconds: u64,
}

pub(crate) struct EtcdHold {
    /// The lease's number, in decimal digits as in JSON.
    id: String,
}

impl EtcdStore {
    pub(crate) fn new(cluster: &ClusterFile) -> Result<Self, RegistryError> {
        let prefix = format!("{}/{}/", cluster.registry.prefix, cluster.id);
        let gateway = EtcdGateway::new(cluster)?;
        Ok(Self { gateway, prefix, lease_seconds: cluster.lease_seconds })
    }

    pub(crate) fn place(&self) -> &str {
        self.gateway.place()
    }

    /// A single range request reads a consistent state.
    pub(crate) fn read(&self) -> Result<Stored, RegistryError> {
        let mut end = self.prefix.clone().into_bytes();
        *end.last_mut().expect("it ends with /") += 1;
        let request = json!({ "key": self.key(""), "range_end": BASE64.encode(end) });
        let answer = self.ask("kv/range", &request)?;
        let mut stored = Stored { record: None, entries: Vec::new() };
        for pair in answer["kvs"].as_array().into_iter().flatten() {
            let (key, value) = (self.text(&pair["key"])?, self.text(&pair["value"])?);
            match key.strip_prefix(&self.prefix) {
                Some("record") => stored.record = Some(value),
                Some(name) => stored.entries.push((name.to_owned(), value)),
                None => return Err(self.damaged(&format!("an answer has the key `{key}`"))),
            }
        }
        Ok(stored)
    }

    pub(crate) fn change(&self, change: &Change<'_>) -> Result<bool, RegistryError> {
        let record = self.key("record");
        let unchanged = match change.seen {
            Some(seen) => json!({ "key": record, "target": "VALUE", "value": BASE64.encode(seen) }),
            None => json!({ "key": record, "target": "VERSION", "version": "0" }),
        };
        let mut steps = vec![put(&record, change.record, "0")];
        match change.entry {
            EntryChange::Put { name, text, hold: Hold::Etcd(hold) } => {
                steps.push(put(&self.key(name), text, &hold.id));
            }
            EntryChange::Put { hold: Hold::File(_), .. } => unreachable!("a hold is of its store"),
            EntryChange::Remove { name } => {
                steps.push(json!({ "request_delete_range": { "key": self.key(name) } }));
            }
            EntryChange::None => {}
        }
        let request = json!({ "compare": [unchanged], "success": steps });
        match self.gateway.ask("kv/txn", &request, PATIENCE)? {
            Answer::Done(answer) => Ok(answer["succeeded"] == true),
            // The lease ended before the entry was bound to it.
            Answer::NotFound => Ok(false),
        }
    }

    pub(crate) fn hold(&self) -> Result<EtcdHold, RegistryError> {
        let answer = self.ask("lease/grant", &json!({ "TTL": self.lease_seconds.to_string() }))?;
        match answer["ID"].as_str() {
            Some(id) => Ok(EtcdHold { id: id.to_owned() }),
            None => Err(self.damaged("a lease has no number")),
        }
    }

    /// Errors do not matter: the lease ends anyway.
    pub(crate) fn release(&self, hold: &EtcdHold) {
        let _ = self.gateway.ask("lease/revoke", &json!({ "ID": hold.id }), RENEWAL_PATIENCE);
    }

    pub(crate) fn renew(&self, hold: &EtcdHold, name: &str) -> Result<Renewal, RegistryError> {
        let sent = Moment::now();
        let request = json!({ "ID": hold.id });
        let answer = match self.gateway.ask("lease/keepalive", &request, RENEWAL_PATIENCE)? {
            Answer::Done(answer) => answer,
            Answer::NotFound => return Ok(Renewal::Gone),
        };
        // The time left of an ended lease is zero, which JSON omits.
        let granted = answer["result"]["TTL"].as_str().and_then(|seconds| seconds.parse().ok());
        let granted: u64 = granted.unwrap_or(0);
        let request = json!({ "key": self.key(name), "count_only": true });
        let is_there = match self.gateway.ask("kv/range", &request, RENEWAL_PATIENCE)? {
            Answer::Done(answer) => answer["count"] == "1",
            Answer::NotFound => false,
        };
        if granted == 0 || !is_there {
            return Ok(Renewal::Gone);
        }
        Ok(Renewal::Until(Some(lease_end(sent, granted.min(self.lease_seconds)))))
    }

    fn ask(&self, path: &str, request: &Value) -> Result<Value, RegistryError> {
        match self.gateway.ask(path, request, PATIENCE)? {
            Answer::Done(answer) => Ok(answer),
            Answer::NotFound => {
                Err(self.damaged("it does not know the request, so it may not be etcd"))
            }
        }
    }

    fn key(&self, name: &str) -> String {
        BASE64.encode(format!("{}{name}", self.prefix))
    }

    fn text(&self, encoded: &Value) -> Result<String, RegistryError> {
        let bytes = encoded.as_str().and_then(|text| BASE64.decode(text).ok());
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        text.ok_or_else(|| self.damaged("a response has keys or values that are not text"))
    }

    fn damaged(&self, why: &str) -> RegistryError {
        RegistryError::Damaged { place: self.place().to_owned(), why: why.to_owned() }
    }
}

fn put(key: &str, text: &str, lease: &str) -> Value {
    json!({ "request_put": { "key": key, "value": BASE64.encode(text), "lease": lease } })
}

/// Returns when a lease ends on our clock, if the request was sent at `sent`.
fn lease_end(sent: Moment, granted_seconds: u64) -> Moment {
    let granted = Duration::from_secs(granted_seconds);
    sent + (granted - granted / MARGIN_PART)
}
