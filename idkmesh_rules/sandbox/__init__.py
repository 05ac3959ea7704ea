"""Where a candidate's code runs, and the only place of this package that starts anything.

Invariants: a job gets exactly the bytes, descriptors and limits that its spec names; whatever bounds it is either enforced
by the kernel or absent from the list of enforced controls; what is measured is measured from outside (design: grading,
*Local broker*).
"""
