"""Looking at a process tree through /proc and netlink, without touching it.

    cheap.py     counters of the whole tree, on every look          (imports nothing but os, time and the types)
    full.py      everything that explains a silence                 (imported only when it matters)
    tree.py      who is below whom
    threads.py   what one thread waits for          syscalls.py the numbers of two architectures
    files.py     descriptors, pipes, terminals      net.py      sockets, through sock_diag
    locks.py     /proc/locks                        jvm.py      monitors that a JVM waits for
    runtimes.py  the runtime of a language          commons.py  shared memory, System V objects
    connections.py  the connections of one program

Unprivileged, and nothing is changed: no ptrace stop, no signal, no output. A process may vanish between any
two reads, so every read may fail, and a failed read means "not known", never an exception.
"""
