"""The exit codes, in one table (design: contracts, *Outcomes*, and outputs, *Exit codes of the other verbs*)."""

ACCEPT = CLEAN = 0
REJECT = PROBLEM = 1
USAGE = 2
UNDECIDED = COULD_NOT_LOOK = 3
REFUSED = UNREADABLE = UNWRITABLE = 4
BUG = 5
INTERRUPTED = 130
TERMINATED = 143
