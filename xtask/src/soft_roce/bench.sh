# Both workloads with their checks on the cluster of a file, without pictures of progress. Times mean nothing here.
bench() {
    echo "namdb-guest: bench $1"
    "$NAMDB" bench "$@" --threads 1 --lanes 6 --warm-up 0 2> progress || { cat progress; exit 1; }
}
workloads() {
    bench append --cluster "$1" --isolation serializable --lists 12 --seconds 3
    bench tpcc --cluster "$1" --population tiny --warehouses 2 --distribution 50 --seconds 4
}
