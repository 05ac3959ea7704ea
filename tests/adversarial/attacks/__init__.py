"""The attacks on the sandbox, a module for each family of them, and what they have in common.

A family is a tuple, `ATTACKS`: programs, what has to be seen of them, and the controls that hold them. Above it stands what
several of its programs begin with, and what some need of the host besides being run. `attack` says what an attack is,
`stage` where it is played, and `expected` what may be asked of its job.
"""
