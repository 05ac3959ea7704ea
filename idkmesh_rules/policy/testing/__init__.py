"""Tests of rule bundles: cases over facts, what they show of a bundle, and what would go unnoticed without them.

Invariants: a case is decided by the same code as a candidate; a run without cases, an edit that touches nothing and a fact
that can't exist are mistakes, never passes (design: facts-and-policy, *Bundle tests*).
"""
