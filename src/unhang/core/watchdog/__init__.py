"""The watchdog: facts and the time go in, actions come out."""
