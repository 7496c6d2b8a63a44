"""Interactive agents in tmux: found, watched and, when a call of theirs hangs, freed by the gentlest step that works.

README.md in this folder is the map. `state` decides what to do; the other modules gather facts and carry out steps.
"""
