"""The fleet: the jobs of many machines, over NATS JetStream. docs/fleet.md is the long form.

A publisher beside the keepers (`publisher.py`) reads the logs of a home as a spool; a keeper knows nothing of it. A
viewer (`view.py`) reads what was published; `command_client.py` and `command_server.py` carry a command to the machine
that owns a job. The rules are core/fleet (pure). nats-py is imported in `connection.py` and below it, and only here.
"""
