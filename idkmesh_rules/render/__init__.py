"""Results as text and JSON for people and programs. Invariant: rendering decides nothing and adds nothing."""
