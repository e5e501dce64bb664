# The program in one guest: a cluster of two memory servers and a compute server is started, worked on, looked at and ended.
cd "$(mktemp -d)"
"$NAMDB" doctor || echo "namdb doctor finds problems"
"$NAMDB" cluster up --fabric verbs --memory-servers 2 --memory 64M --compute-servers 1
workloads namdb.toml
"$NAMDB" status --cluster namdb.toml
"$NAMDB" cluster down
