//! Sends requests to etcd through its JSON gateway: one at a time, each with a time bound.
//!
//! Decision: docs/decisions/0069-etcd-is-reached-by-json-over-a-blocking-client.md

use crate::clock::{self, Moment};
use crate::cluster_file::{ClusterFile, TlsSettings};
use crate::error::RegistryError;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

/// Timeout per endpoint. etcd responds in milliseconds, except during an election or with a slow
/// disk.
const ATTEMPT_TIME: Duration = Duration::from_secs(1);
/// Pause after all endpoints have failed.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// Maximum size of a response in bytes: a thousand entries take less than one MiB.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

/// The endpoints of an etcd.
pub(crate) struct EtcdGateway {
    agent: Agent,
    endpoints: Vec<String>,
    place: String,
    /// Index of the endpoint that responded last.
    current: AtomicUsize,
}

/// etcd's response to a valid request.
pub(crate) enum Answer {
    Done(Value),
    /// The requested item does not exist, such as a lease that has ended.
    NotFound,
}

impl EtcdGateway {
    pub(crate) fn new(cluster: &ClusterFile) -> Result<Self, RegistryError> {
        let endpoints = cluster.registry.endpoints.clone();
        let tls = cluster.registry.tls.as_ref().or(cluster.tls.as_ref());
        let mut config = Agent::config_builder()
            // Proxies are for the web. Status codes are read below.
            .proxy(None)
            .http_status_as_error(false)
            .max_idle_connections_per_host(1);
        if endpoints.iter().any(|endpoint| endpoint.starts_with("https:")) {
            let tls = tls.ok_or_else(|| RegistryError::File {
                path: "the certificate authority of etcd".to_owned(),
                why: "its path is not set; write `registry.tls`, or use http endpoints".to_owned(),
            })?;
            config = config.tls_config(tls_config(tls)?);
        }
        let place = endpoints.join(", ");
        Ok(Self {
            agent: Agent::new_with_config(config.build()),
            endpoints,
            place,
            current: AtomicUsize::new(0),
        })
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Tries one endpoint after another until one responds, for at most `patience`. A request may
    /// be executed more than once.
    pub(crate) fn ask(
        &self,
        path: &str,
        request: &Value,
        patience: Duration,
    ) -> Result<Answer, RegistryError> {
        let body = request.to_string();
        let deadline = Moment::now() + patience;
        let mut tried = 0;
        loop {
            let current = self.current.load(Ordering::Relaxed);
            let endpoint = &self.endpoints[current % self.endpoints.len()];
            let why = match self.ask_once(&format!("{endpoint}/v3/{path}"), &body, deadline) {
                Ok(answer) => return Ok(answer),
                Err(why) => why,
            };
            let next = current.wrapping_add(1);
            self.current.compare_exchange(current, next, Ordering::Relaxed, Ordering::Relaxed).ok();
            tried += 1;
            if tried % self.endpoints.len() == 0 {
                clock::sleep(RETRY_PAUSE);
            }
            if deadline.is_past() {
                let key = "registry.endpoints";
                return Err(RegistryError::Unreachable { place: self.place.clone(), why, key });
            }
        }
    }

    fn ask_once(&self, url: &str, body: &str, deadline: Moment) -> Result<Answer, String> {
        let left = deadline.left();
        let time = left.clamp(RETRY_PAUSE, ATTEMPT_TIME);
        let request = self.agent.post(url).header("content-type", "application/json");
        let request = request.config().timeout_global(Some(time)).build();
        let mut response = request.send(body).map_err(|error| error.to_string())?;
        let status = response.status().as_u16();
        if status == 404 {
            return Ok(Answer::NotFound);
        }
        let reader = response.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        let text = reader.read_to_string().map_err(|error| error.to_string())?;
        if status != 200 {
            return Err(format!("it answers {status}: {}", text.trim()));
        }
        serde_json::from_str(&text)
            .map(Answer::Done)
            .map_err(|error| format!("its response is not JSON: {error}"))
    }
}

fn tls_config(tls: &TlsSettings) -> Result<TlsConfig, RegistryError> {
    let authorities = certificates(&tls.ca)?;
    let chain = certificates(&tls.certificate)?;
    let key = PrivateKey::from_pem(&read(&tls.key)?).map_err(|error| refuse(&tls.key, &error))?;
    Ok(TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::new_with_certs(&authorities))
        .client_cert(Some(ClientCert::new_with_certs(&chain, key)))
        .build())
}

fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, RegistryError> {
    let mut certificates = Vec::new();
    for item in parse_pem(&read(path)?) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| refuse(path, &error))? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err(refuse(path, &"it contains no PEM certificate"));
    }
    Ok(certificates)
}

fn read(path: &Path) -> Result<Vec<u8>, RegistryError> {
    std::fs::read(path).map_err(|error| refuse(path, &error))
}

fn refuse(path: &Path, why: &dyn std::fmt::Display) -> RegistryError {
    RegistryError::File { path: path.display().to_string(), why: why.to_string() }
}
