"""A zygote: an interpreter that has imported Fairlead and forks whatever program the tests ask for,
so that hundreds of services and commands do not import the same modules again.

    tests ── Forked ──┐   words, folder, environment; stdin, stdout, stderr
    docs' shell ── ask ┴─► zygote ── fork ──► the program        (a socket for each program)
                     ◄── its process ── ... ── its status ◄──┘

What runs is what `python -m MODULE ...` runs: a process of its own with that folder, environment,
pipes, signals and exit code. A command that starts others has some in reserve, forked beside it.
What differs is that its modules are there before it begins, and that its parent is the zygote.
Tests of imports, of an installation, of the first moments of a program or of a terminal start a
real one.
"""
