"""What an auditor asks of a finished run: why, what would have had to differ, does it follow, and what would other rules say.

Invariants: values in, values out; a result directory is untrusted, so whatever is read back from one was held against the
declared kinds and schemas first; nothing here decides, it asks `policy.decide` (design: facts-and-policy, *For the
auditor*).
"""
