"""Why is a tree of processes quiet? Pure rules over samples of it.

    counters.py   the small sample: counters that only grow
    samples.py    the full sample: what each thread sits in, and on which descriptors
    progress.py   two small samples -> whether the tree moved                        (every look)
    prompt.py     one full sample   -> whether it waits for a person's input
    waits.py, syscalls.py, descriptors.py     one thread -> what it waits for
    screen.py     the last line that was printed
    wait_graph.py which waits form a ring, which is a deadlock
    activity.py   two full samples  -> CPU, bytes, births
    standstill.py two full samples  -> the proof that nothing can go on, and its root
    rules.py      two full samples  -> hung, alive or unsure; the cause; one sentence
    assemble.py   a finding         -> the diagnosis: evidence, and a line for each process
    verdict.py    the shape of the diagnosis
    causes.py     every cause: whether another attempt may help, why not, and the advice
    suggest.py    a diagnosis       -> what to do about it, in a face's own words

The one promise: a live job is never called hung. `hung` therefore needs proof that nothing in the tree can go on by
itself; everything less is `unsure`, with the cause named all the same.

To add a cause: a row in `causes.py`, a rule that names it, and its line in docs/diagnosis.md.
"""
