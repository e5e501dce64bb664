# The second of two guests works on the memory of the first.
until "$NAMDB" status --cluster cluster.toml; do sleep 1; done
workloads cluster.toml
touch "$EXCHANGE/served"
