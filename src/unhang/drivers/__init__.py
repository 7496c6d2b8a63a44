"""Programs that run inside a job and speak an agent's protocol. Standard library only, and nothing of the keeper's.

A driver tells its keeper what its agent does (`voice.py`), and on SIGTERM ends it by the gentlest step that works.
"""
