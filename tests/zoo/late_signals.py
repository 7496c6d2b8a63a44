# ruff: noqa: E501 - one scenario a line reads as the table it is
"""Programs whose next step a signal brings (`kill -HUP`: read your settings again), or a part of the kernel that few know."""

from __future__ import annotations

from tests.zoo.scenario import Scenario, Stage
from tests.zoo.third_compiled import C_HEAD

R = b"READY"
LATER = 80
TOLD = "f = open(sys.argv[1] + '.new', 'w'); f.write(str(os.getpid())); f.close(); os.rename(sys.argv[1] + '.new', sys.argv[1])"
# A daemon's main thread: the work is done by what the handlers start.
PY_HUP = f"import os, signal, sys, threading; stop = threading.Event(); signal.signal(signal.SIGHUP, lambda *a: print('reloaded')); signal.signal(signal.SIGTERM, lambda *a: stop.set()); {TOLD}; print('READY'); stop.wait()"
PERL_HUP = "$SIG{HUP} = sub { print qq(reloaded\\n) }; open(F, '>', qq($ARGV[0].new)); print F $$; close F; rename(qq($ARGV[0].new), $ARGV[0]); print qq(READY\\n); sleep while 1;"
GO_HUP = """func main() { c := make(chan os.Signal, 1); signal.Notify(c, syscall.SIGHUP); os.WriteFile(os.Args[1]+".new", []byte(fmt.Sprint(os.Getpid())), 0600)
  os.Rename(os.Args[1]+".new", os.Args[1]); fmt.Println("READY"); for range c { fmt.Println("reloaded") } }"""
SHELL_TELLS = "echo $$ > $1.new; mv $1.new $1; echo READY"
SH_HUP = f"trap 'echo reloaded' HUP; {SHELL_TELLS}; while :; do sleep infinity & wait; done"
BASH_EXIT = f"trap 'rm -f $1' EXIT; trap 'echo reloaded' USR1; {SHELL_TELLS}; sleep infinity & wait; wait"
BASH_CLEANS = "trap 'rm -f $0.tmp' EXIT; echo READY; cat"
RUBY_USR1 = "trap('USR1') { puts 'reloaded' }; File.write(ARGV[0] + '.new', $$.to_s); File.rename(ARGV[0] + '.new', ARGV[0]); puts 'READY'; sleep"


def _sent(stage: Stage, argv: list[str], name: str) -> list[str]:
    """The program writes its pid into the file that it is given; long after the looks it gets its signal."""
    pid = stage.dir / "pid"
    stage.outsider(f"until [ -e {pid} ]; do sleep 0.05; done; sleep {LATER}; kill -{name} $(cat {pid})")
    return [*argv, str(pid)]


def _shell(stage: Stage, shell: str, script: str, name: str) -> list[str]:
    return _sent(stage, [shell, "-c", script, shell], name)


# The kernel itself writes to the eventfd, once the peer outside has said something.
AIO_POLL = """
#include <linux/aio_abi.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <arpa/inet.h>
#include <string.h>
#include <poll.h>
int main(int n, char **v) { aio_context_t c = 0; struct iocb b, *l = &b; struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(v[1]))}; long x; int s = socket(AF_INET, SOCK_STREAM, 0), e = eventfd(0, 0); (void)n;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK); if (connect(s, (void *)&a, sizeof a)) return 1; if (syscall(SYS_io_setup, 8, &c)) return 2; memset(&b, 0, sizeof b);
  b.aio_fildes = s; b.aio_lio_opcode = IOCB_CMD_POLL; b.aio_buf = POLLIN; b.aio_flags = IOCB_FLAG_RESFD; b.aio_resfd = e; if (syscall(SYS_io_submit, c, 1, &l) != 1) return 3; ready(); read(e, &x, 8); }
"""
# A container's shim: what it runs has forked away from it and comes back to it as to a subreaper.
SHIM = """
#include <sys/prctl.h>
int main(void) { prctl(PR_SET_CHILD_SUBREAPER, 1); if (fork() == 0) { if (fork() == 0) { setsid(); sleep(90); _exit(0); } _exit(0); } wait(0); ready(); wait(0); }
"""
# A supervisor outside answers for the kernel: what the program asked for is not done before that.
NOTIFIED = """
#include <linux/seccomp.h>
#include <linux/filter.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/syscall.h>
#include <stddef.h>
#include <string.h>
int main(int n, char **v) { struct sockaddr_un a = {.sun_family = AF_UNIX}; int s = socket(AF_UNIX, SOCK_STREAM, 0), fd, p[2]; char b[CMSG_SPACE(sizeof fd)], x = 1;
  chdir(v[1]); strcpy(a.sun_path, "s"); struct iovec i = {&x, 1}; struct msghdr m = {.msg_iov = &i, .msg_iovlen = 1, .msg_control = b, .msg_controllen = sizeof b};
  if (n > 2) { bind(s, (void *)&a, sizeof a); listen(s, 1); int c = accept(s, 0, 0); recvmsg(c, &m, 0); close(c); close(s); sleep(90); return 0; }
  while (connect(s, (void *)&a, sizeof a)) usleep(20000);
  struct sock_filter f[] = { BPF_STMT(BPF_LD|BPF_W|BPF_ABS, offsetof(struct seccomp_data, nr)), BPF_JUMP(BPF_JMP|BPF_JEQ|BPF_K, SYS_read, 0, 1), BPF_STMT(BPF_RET|BPF_K, SECCOMP_RET_USER_NOTIF), BPF_STMT(BPF_RET|BPF_K, SECCOMP_RET_ALLOW) };
  struct sock_fprog g = {4, f}; prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &g); if (fd < 0) return 1;
  struct cmsghdr *h = CMSG_FIRSTHDR(&m); h->cmsg_level = SOL_SOCKET; h->cmsg_type = SCM_RIGHTS; h->cmsg_len = CMSG_LEN(sizeof fd); memcpy(CMSG_DATA(h), &fd, sizeof fd); sendmsg(s, &m, 0); close(fd); close(s);
  pipe(p); ready(); read(p[0], &x, 1); }
"""


def _notified(stage: Stage) -> list[str]:
    actor = stage.cc(C_HEAD + NOTIFIED)
    stage.outsiders.append([actor, str(stage.dir), "answers"])
    return [actor, str(stage.dir)]


NAMESPACE_LOCK = "unshare -Urpf --mount-proc sh -c 'flock $0 sh -c \"touch $0.held; sleep 80; true\" & until [ -e $0.held ]; do sleep 0.05; done; echo READY; flock $0 true' $1"


def _locked_in_a_namespace(stage: Stage) -> list[str]:
    where = stage.scratch()
    return ["sh", "-c", NAMESPACE_LOCK, "sh", str(where / "lock")]


CC = ("cc",)
RELOADS = (
    Scenario("python-event-and-a-reload-on-hup", "alive", ("idle", "deadlock"), lambda s: _sent(s, s.py(PY_HUP), "HUP"), ready=R),
    Scenario("perl-sleeps-and-reloads-on-hup", "alive", ("idle",), lambda s: _sent(s, s.perl(PERL_HUP), "HUP"), ready=R, needs=("perl",)),
    Scenario("go-reloads-on-hup", "alive", ("idle", "deadlock"), lambda s: _sent(s, s.go(GO_HUP, "fmt", "os", "os/signal", "syscall"), "HUP"), ready=R, needs=("go",)),
    Scenario("sh-reloads-on-hup", "alive", ("idle",), lambda s: _shell(s, "dash", SH_HUP, "HUP"), ready=R, needs=("dash",)),
    Scenario("bash-cleans-up-and-reloads-on-usr1", "alive", ("idle",), lambda s: _shell(s, "bash", BASH_EXIT, "USR1"), ready=R, needs=("bash",)),
    Scenario("bash-cleans-up-around-a-cat", "hung", ("input",), lambda _: ["bash", "-c", BASH_CLEANS], io="pipe", ready=R, needs=("bash",)),
    Scenario("ruby-sleeps-and-reloads-on-usr1", "alive", ("idle", "deadlock"), lambda s: _sent(s, s.ruby(RUBY_USR1), "USR1"), ready=R, needs=("ruby",)),
    Scenario("aio-poll-into-an-eventfd", "alive", ("network", "unknown", "deadlock"), lambda s: [s.cc(C_HEAD + AIO_POLL), str(s.server("silent"))], ready=R, needs=CC),
    Scenario("shim-reaps-what-forked-away", "alive", ("timer",), lambda s: [s.cc(C_HEAD + SHIM)], ready=R, needs=CC),
    Scenario("a-supervisor-outside-answers-its-call", "alive", ("unknown", "deadlock"), _notified, ready=R, needs=CC),
    Scenario("flock-inside-a-pid-namespace", "alive", ("lock", "timer"), _locked_in_a_namespace, ready=R, needs=("unshare", "flock"), nobody=True),
)  # fmt: skip
