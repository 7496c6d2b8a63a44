"""Interactive agents in tmux: found, watched and, when a call of theirs hangs, freed by the gentlest step that works."""
