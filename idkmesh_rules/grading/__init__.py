"""Protected grading, the host's side: what exported values are worth, who said so, and that nothing runs twice.

Invariants: nothing of a candidate runs here, and nothing that it prints or returns is believed; what isn't signed by the
pinned broker is no observation; constructing any object touches no file (design: grading).
"""
