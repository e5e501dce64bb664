# The program in one guest: a cluster of two memory servers and two compute servers is started, worked on, looked at and ended.
root=$PWD
cd "$(mktemp -d)"
"$NAMDB" doctor || echo "namdb doctor finds problems"
"$NAMDB" cluster up --fabric verbs --memory-servers 2 --memory 64M --compute-servers 2
workloads namdb.toml
# A small bank, tuned, whose procedures are carried out by the compute servers that own their rows.
cp -r "$root/workloads/smallbank" bank
sed -i 's/"100000 \* units"/"100 * units"/; s/4000 \* units/40 * units/g' bank/workload.toml
"$NAMDB" spade tune bank --measurements "$root/crates/spade/spade/measurements/connectx3-fdr.json" --machines 2 --force \
    --out bank/design.json > tuned
bench bank --cluster namdb.toml --seconds 3 --json bank.json
grep '"shipped_percent": [1-9]' bank.json
"$NAMDB" status --cluster namdb.toml
"$NAMDB" cluster down
