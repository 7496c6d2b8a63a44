# PID 1 of the second kernel, read by the init that machine.py writes (which sets PYTHON, MAIN, and the like).
# It mounts what a job needs, then does what it is told on its second console, one line after the other.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs -o mode=755 tmp /run
mkdir -p /dev/pts /dev/shm /run/disk /run/tmp
mount -t devpts devpts /dev/pts
chmod 1777 /run/tmp
[ "$CGROUPS" = yes ] && mount -t cgroup2 none /sys/fs/cgroup
[ -n "$DISK" ] && mount -t ext4 /dev/ubda /run/disk
ip link set lo up 2>/dev/null
export HOME=/run/disk TMPDIR=/run/tmp UNHANG_HOME=/run/disk/state
cd /run

unhang() { "$PYTHON" -I -S -c "$MAIN" "$@"; }

# Until the machine goes down; says each id when `start` has said it.
start_one_after_the_other() {
  while :; do
    id=$(unhang start --idle off --hard off --stall off -- sleep 1002) &&
      echo "{\"id\": \"$id\", \"kind\": \"silent\", \"command\": [\"sleep\", \"1002\"], \"at\": $(date +%s.%N)}"
  done
}

# All that changed in the file systems is on the disk, and no process that could change them is left.
power_off() {
  kill -TERM -1
  sleep 1
  kill -KILL -1
  umount /run/disk
  sync
  echo o >/proc/sysrq-trigger
}

stty raw -echo </dev/tty1
stty raw -echo </dev/tty2
exec 3<>/dev/tty1
# The record separator ends an answer, with the exit code behind it; the first one says that the machine is up.
printf '\036%s\n' 0 >&3
while IFS= read -r line <&3; do
  eval "$line" </dev/null >&3 2>&3
  printf '\036%s\n' $? >&3
done
# whoever booted this machine is gone
echo o >/proc/sysrq-trigger
sleep 60
