//! Keys that cannot be used.

/// Unusable keys.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A text is not a PEM file of the expected kind.
    #[error("the {0} cannot be read as PEM: {1}")]
    Pem(&'static str, String),
    /// Certificate and key do not match, or their kind is not supported.
    #[error("certificate and key cannot be used: {0}")]
    Keys(String),
    /// The certificate is not one with which this process can prove its identity now.
    #[error("the certificate {0}")]
    Certificate(String),
    /// The program has no code for encryption.
    #[error(
        "the cluster is encrypted, and this program was built without TLS; build it with the feature `tls` of `namdb`"
    )]
    NotBuilt,
}
