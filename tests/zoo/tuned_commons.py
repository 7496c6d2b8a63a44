# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Locks in shared memory and System V's objects: those that only the job shares, and the traps beside them."""

from __future__ import annotations

import subprocess

from tests.zoo.scenario import Scenario, Stage
from tests.zoo.third_compiled import C_HEAD

R = b"READY"
NEEDS = ("cc", "ipcrm")

# Each tells the number of what it made, so that it can be removed. It is made a while after the job began: the kernel
# keeps that moment in whole seconds, and what is not surely younger than the job may have been made outside.
TELL = """static void tell(char *path, int number) { char made[256]; FILE *f; snprintf(made, 256, "%s.new", path);
  f = fopen(made, "w"); fprintf(f, "%d", number); fclose(f); rename(made, path); }
"""
SEMAPHORES = """int main(int n, char **v) { struct sembuf a = {0, -1, 0}, b = {1, -1, 0}; int s; (void)n; sleep(2);
  tell(v[1], s = semget(IPC_PRIVATE, 2, 0600)); if (fork() == 0) { semop(s, &a, 1); b.sem_op = 1; semop(s, &b, 1); _exit(0); }
  ready(); semop(s, &b, 1); a.sem_op = 1; semop(s, &a, 1); wait(0); }"""
QUEUE = """int main(int n, char **v) { struct { long t; char c; } x; int q; (void)n; sleep(2);
  tell(v[1], q = msgget(IPC_PRIVATE, 0600)); ready(); msgrcv(q, &x, 1, 0, 0); }"""
# One program in two roles: an outsider makes the set and gives after a while what the job waits for.
GIVEN = """int main(int n, char **v) { struct sembuf up = {0, 1, 0}, down = {0, -1, 0}; int s;
  if (n == 2) { ready(); return semop(atoi(v[1]), &down, 1); }
  tell(v[1], s = semget(IPC_PRIVATE, 1, 0600)); sleep(80); return semop(s, &up, 1); }"""
# Both map the file, and then it has no name any more: all the same an outsider holds what is waited for.
MAPPED = """int main(int n, char **v) { int hold = n > 2, fd = open(v[1], O_RDWR|O_CREAT, 0600); ftruncate(fd, 4096); pthread_mutex_t *m = shared(fd, hold);
  if (hold) { close(fd); pthread_mutex_lock(m); close(open(v[2], O_CREAT, 0600)); sleep(100); pthread_mutex_unlock(m); return 0; }
  unlink(v[1]); ready(); pthread_mutex_lock(m); }"""


def _removed(stage: Stage, kind: str, told: str) -> None:
    """Remove an object of System V, which outlives the processes that use it."""
    path = stage.dir / told
    if path.exists():
        subprocess.run(["ipcrm", kind, path.read_text()], capture_output=True, check=False)


def _made(stage: Stage, source: str, kind: str) -> list[str]:
    stage.endings.append(lambda: _removed(stage, kind, "made"))
    return [stage.cc(C_HEAD + TELL + source), str(stage.dir / "made")]


def _given(stage: Stage) -> list[str]:
    actor = stage.cc(C_HEAD + TELL + GIVEN)
    up = stage.outsider(f"exec {actor} $UP gives")
    stage.endings.append(lambda: _removed(stage, "-s", "up0"))
    return ["sh", "-c", f"{up}; exec {actor} $(cat {stage.dir}/up0)"]


def _unlinked(stage: Stage) -> list[str]:
    actor = stage.cc(C_HEAD + MAPPED)
    held = stage.outsider(f"exec {actor} {stage.dir}/mutex $UP")
    return ["sh", "-c", f"{held}; exec {actor} {stage.dir}/mutex"]


COMMONS = (
    Scenario("c-semaphores-made-inside", "hung", ("deadlock",), lambda s: _made(s, SEMAPHORES, "-s"), ready=R, needs=NEEDS),
    # Was "hung": no other process of the job knows its number, and one outside may have been told it.
    Scenario("c-message-queue-made-inside", "ambiguous", ("deadlock", "idle", "unknown"), lambda s: _made(s, QUEUE, "-q"), ready=R, needs=NEEDS),
    Scenario("c-semaphore-of-an-outsider", "alive", ("lock", "deadlock"), _given, ready=R, needs=NEEDS),
    Scenario("c-shared-mutex-without-a-name-held-outside", "alive", ("lock", "deadlock"), _unlinked, ready=R, needs=NEEDS),
)  # fmt: skip
