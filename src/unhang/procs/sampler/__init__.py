"""Looking at a process tree without touching it.

    cheap.py        counters of the whole tree, on every look
    full.py         everything that explains a silence; imported only when it matters
    connections.py  the network connections of a program, with what came in on each

A process may vanish at any time, so what cannot be read is not known, and never an exception.
"""
