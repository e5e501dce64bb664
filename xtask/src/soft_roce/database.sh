# The program in one guest: a cluster of two memory servers and a compute server is started, worked on, looked at and ended.
# Of what can be measured the first table is enough: operations by verbs, and the same shipped to the compute server.
cd "$(mktemp -d)"
"$NAMDB" doctor || echo "namdb doctor finds problems"
"$NAMDB" cluster up --fabric verbs --memory-servers 2 --memory 64M --compute-servers 1
workloads namdb.toml
echo "namdb-guest: spade measure"
"$NAMDB" spade measure --cluster namdb.toml --quick --seconds 1 --threads 1 --lanes 4 --json measured.json \
    2> progress || [ $? = 3 ] || { cat progress; exit 1; }
grep -q '"shipped"' measured.json
"$NAMDB" status --cluster namdb.toml
"$NAMDB" cluster down
