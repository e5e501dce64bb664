# The program in one guest: two memory servers, and workloads with their checks. Times mean nothing here.
cd "$(mktemp -d)"
"$NAMDB" doctor || echo "namdb doctor finds problems"
"$NAMDB" cluster up --fabric verbs --memory-servers 2 --memory 64M
on="--cluster namdb.toml --threads 1 --lanes 6 --warm-up 0"
"$NAMDB" bench append $on --isolation serializable --lists 6 --seconds 4
"$NAMDB" bench tpcc $on --population tiny --warehouses 2 --distribution 50 --seconds 6
"$NAMDB" status --cluster namdb.toml
"$NAMDB" cluster down
