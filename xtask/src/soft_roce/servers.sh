# The first of two guests: registry and memory servers, until the second has been served.
etcd --data-dir etcd --listen-client-urls http://10.9.0.1:2379 --advertise-client-urls http://10.9.0.1:2379 \
    2> etcd.log &
until busybox wget -q -O /dev/null http://10.9.0.1:2379/health; do sleep 1; done
"$NAMDB" memory-server --cluster cluster.toml --number 0 &
first=$!
"$NAMDB" memory-server --cluster cluster.toml --number 1 &
second=$!
until [ -e "$EXCHANGE/served" ]; do
    kill -0 $first
    kill -0 $second
    sleep 1
done
kill $first $second
wait $first
wait $second
