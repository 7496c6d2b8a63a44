"""`unhang top`: the overview in a terminal, with the actions that `unhang web` has, by key."""
