"""Traces for OpenTelemetry: one process follows the logs of a home and sends the spans of its jobs. Never a keeper.

exporter.py   reads the logs from a saved cursor, asks core/spans.py what they mean, sends, saves the cursor
otlp.py       spans → OpenTelemetry's SDK and its OTLP exporter (the extra `otel`)
"""
