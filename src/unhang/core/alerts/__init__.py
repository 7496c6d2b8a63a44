"""Who is told what, and when: the rules of alerts, without any input or output.

`settings` reads alerts.toml, `occasions` says which events are worth an alert, `ledger` decides what is sent now, what
is held back and what is tried again.
"""
