"""Metrics, pure: what the events of a job add to the counters (tally), and the text that Prometheus reads (exposition).

Every label has a closed set of values, so a home with a million jobs has as many series as an empty one.
"""
