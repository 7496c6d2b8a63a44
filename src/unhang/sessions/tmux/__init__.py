"""tmux: bounded calls, and what a pane shows."""
