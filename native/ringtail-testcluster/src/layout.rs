//! What a cluster is made of.

use std::sync::Arc;

use rustls::ServerConfig;

/// How a cluster is laid out.
#[derive(Clone)]
pub struct Layout {
    /// The ring's cluster name.
    pub name: String,
    /// Nodes at the start.
    pub nodes: usize,
    /// Partitions.
    pub ring_size: usize,
    /// Present for https.
    pub tls: Option<Arc<ServerConfig>>,
    /// The host part of endpoints; it must lead to 127.0.0.1.
    pub host: String,
}

impl Default for Layout {
    fn default() -> Self {
        Self { name: "test".into(), nodes: 4, ring_size: 64, tls: None, host: "127.0.0.1".into() }
    }
}
