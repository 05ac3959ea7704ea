"""The only code that touches the candidate: bounded, link-proof, reporting states instead of raising.

Invariants: no path component is followed through a link; nothing blocks, is executed, written or connected to; a file is
read once and hashed once; what can't be looked at is reported as such.
"""
