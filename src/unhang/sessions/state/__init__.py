"""One interactive session of an agent, as a machine that is told facts and the time, and says what to do.

    facts.py     what can be told: a hook, the status file, growth of the transcript, a look at the pane or at a tree
    actions.py   what can be asked for: an event, a look, a step
    limits.py    how long a tool, a turn and the API may take; budgets and pauses
    calls.py     the tool calls that are open
    known.py     what is known of the session: idle, busy, waiting, background, unknown, gone
    clocks.py    which limits run now, when they warn and when they are over
    screen.py    what the text of a pane shows
    budget.py    how many steps an hour may have
    ladder.py    one hang: from the gentlest step on, each verified before the next
    aftercare.py what is in the input box after a step; the context cleared where that is allowed
    session.py   the machine itself

`tell` writes down, `wake` judges: all facts of a turn are known before the first judgement. Every time that is told
or asked for is monotonic; a wall clock that jumps is nobody's silence. Nothing here can touch a pane.
"""
