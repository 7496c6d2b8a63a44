"""The rules of the fleet, without a network: names and subjects, messages, the chain of a job's log, presence, rows.

Nothing of this is loaded on the way of `unhang run`.
"""
