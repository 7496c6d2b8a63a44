"""Which limits a command gets, and why.

Pure: text and numbers in, a `Resolution` out. The way in is `resolve.resolve`; nothing is imported here,
because every start of the program pays for what this package pulls in.
"""
