#!/bin/busybox sh
# The first program of a guest: makes a Soft-RoCE device, puts the host's files below a layer that lives in
# memory, and runs one script. The kernel hands its unknown options on as variables: guest, device, exchange.
export PATH=/bin
/bin/busybox --install -s /bin

fail() {
    echo "namdb-guest: cannot begin: $*"
    poweroff -f
}

mount -t proc proc /proc || fail "no /proc"
for module in $(cat /modules/order); do
    insmod "/modules/$module.ko" || fail "module $module"
done

ulimit -l unlimited
ip link set lo up
ip addr add "10.9.0.$guest/24" dev "$device" || fail "no network device $device"
ip link set "$device" up

mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro host /lower || fail "no files of the host"
mount -t tmpfs -o size=75% tmpfs /scratch
mkdir /scratch/upper /scratch/work
mount -t overlay -o lowerdir=/lower,upperdir=/scratch/upper,workdir=/scratch/work overlay /whole || fail "no layer"
mount -t proc proc /whole/proc
mount -t sysfs sysfs /whole/sys
mount -t devtmpfs devtmpfs /whole/dev
mkdir -p /whole/dev/shm
mount -t tmpfs tmpfs /whole/dev/shm
mkdir -p "/whole$exchange"
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=none exchange "/whole$exchange" || fail "no exchange"

chroot /whole /usr/bin/rdma link add rxe0 type rxe netdev "$device" || fail "no Soft-RoCE device"
echo 1 > /whole/sys/devices/system/cpu/cpu1/online || fail "no second processor"
echo "namdb-guest: ready after $(cut -d ' ' -f 1 /proc/uptime) s"
chroot /whole /bin/sh "$exchange/guest$guest"
echo "namdb-guest: ended with $?"
poweroff -f
