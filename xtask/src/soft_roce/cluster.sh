# Both of two guests: the file of a cluster whose memory servers and registry are in the first. The processors are
# emulated, so that a lease lasts.
cd "$(mktemp -d)"
cat > cluster.toml <<END
name = "guests"
id = "$(printf %016x 7471)"
fabric = "verbs"
directory = "state"
lease_seconds = 60
allow_unencrypted = true
[detector]
lease_ms = 60000
[registry]
kind = "etcd"
endpoints = ["http://10.9.0.1:2379"]
[[memory]]
listen = "10.9.0.1:7471"
bytes = "64 MiB"
[[memory]]
listen = "10.9.0.1:7472"
bytes = "64 MiB"
END
# Both guests have the same secret.
(umask 077; printf %064x 7471 > cluster.secret)
