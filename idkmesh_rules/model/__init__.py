"""Frozen values that every layer above speaks in.

Invariants: nothing here reads a file, a clock or the environment; every value is immutable and compares by content;
where an enum has a natural zero it is the inconclusive one, so that a forgotten assignment can't become a pass.
"""
