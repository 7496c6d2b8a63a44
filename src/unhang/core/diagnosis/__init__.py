"""Why is it quiet? Pure rules over samples of a process tree.

    progress.py   two cheap samples  -> did it move?                      (every look)
    prompt.py     one full sample    -> does it wait for somebody's input?
    waits.py, blocked.py, descriptors.py      one thread -> what it waits for, in words
    screen.py     the last line that was printed
    graph.py      who waits for whom; a ring is a deadlock
    activity.py   two full samples   -> CPU, bytes, births
    rules.py      two full samples   -> hung, alive or unsure; the cause; one sentence
    verdict.py    the shape of the answer
    suggest.py    what to do about it

The one promise: a live job is never called hung. `hung` therefore needs proof that nothing in the tree can go
on by itself; everything less is `unsure`, with the cause named all the same.
"""
