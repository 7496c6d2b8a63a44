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
mount -t ext4 /dev/ubda /run/disk
ip link set lo up 2>/dev/null
export HOME=/run/disk TMPDIR=/run/tmp UNHANG_HOME=/run/disk/state
cd /run

unhang() { "$PYTHON" -I -S -c "$MAIN" "$@"; }

# Until the machine goes down; says each id when `start` has said it.
start_one_after_the_other() {
  while :; do
    id=$(unhang start --idle off --hard off --stall off -- sleep 1002) &&
      echo "{\"id\": \"$id\", \"kind\": \"silent\", \"command\": [\"sleep\", \"1002\"]}"
  done
}

# An ordinary user's unhang. The interpreter and the source may stand below folders that only root may enter: they are
# mounted where everybody may.
make_user() {
  mkdir -p /run/python /run/source /run/disk/user
  mount --bind "$PYTHON_PREFIX" /run/python
  mount --bind "$SOURCE" /run/source
  chown 1000:1000 /run/disk/user
}
as_user() {
  setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all env HOME=/run/disk/user \
    UNHANG_HOME=/run/disk/user/state LD_LIBRARY_PATH=/run/python/lib "$@"
}
users_unhang() { as_user "/run/python/$PYTHON_NAME" -I -S -c "$USERS_MAIN" "$@"; }

# Root without a single capability: still the owner of root's files, but a stranger to processes that have some.
without_capabilities() { setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all "$@"; }

# Waits until a process has exited (not until its parent has noticed); fails after so many seconds.
wait_gone() {
  "$PYTHON" -I -S -c 'import os, select, sys
try: fd = os.pidfd_open(int(sys.argv[1]))
except ProcessLookupError: sys.exit(0)
sys.exit(not select.select([fd], [], [], float(sys.argv[2]))[0])' "$1" "$2"
}

# How many processes have this (a regular expression; dots for spaces) in their command lines.
count() { cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0\n' ' \n' | grep -o "[${1%"${1#?}"}]${1#?}" | wc -l; }

# As an init does: everybody is asked to end and has a moment for it; then nobody is left and the disk is unmounted.
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
