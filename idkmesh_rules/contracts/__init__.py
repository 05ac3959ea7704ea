"""Bytes → documents: the strict JSON reader, schemas, canonical digests, typed documents and how they bind each other.

Invariants: nothing untyped leaves this package as a document; every violation of a document is reported in one go; no
input makes it raise anything but the package's own errors.
"""
