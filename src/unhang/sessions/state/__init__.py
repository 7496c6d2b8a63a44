"""One interactive session of an agent, as a machine that is told facts and the time, and returns what to do.

    facts.py            what it can be told: a hook, the status, growth of the transcript, a look at a pane or tree
    actions.py          what it can ask for: an event, a look, a step
    limits.py           how long a tool, a turn and the API may take; budgets and pauses
    calls.py            the tool calls that are open
    known.py            what is known of the session: idle, busy, waiting, background, unknown, gone
    clocks.py           which limits run now, when they warn and when they are reached
    screen.py           what the text of a pane shows
    traffic.py          what its connections show: a model that writes, a peer that is silent
    answer_progress.py  is an answer being written, on the screen or on the wire
    check.py            the look before a warning
    model_messages.py   what the model is told after a step
    budget.py           how many steps may be taken in an hour
    rescue.py           one hang: the gentlest step first, and each verified before the next
    aftercare.py        what is in the input box after a step; the context cleared where that is allowed
    machine.py          the machine itself

`tell` records a fact, `wake` judges: all facts of a turn are known before the first judgement. Every time is monotonic,
so that setting the wall clock does not look like silence. Nothing here can touch a pane.
"""
