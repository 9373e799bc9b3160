"""``make bench``: the speed and memory of dpfair beside those of others.

Every contender runs in a process of its own (:mod:`.process`), and the contenders of a section take
turns in every round (:mod:`.rounds`). :mod:`.report` writes docs/performance.md.

A contender is one function in :mod:`.contenders` and one line in :mod:`.sections`. The function
gets the :class:`~.inputs.Inputs`, imports and warms up what it needs, and returns a
:class:`~.task.Call` or a :class:`~.task.Command`. If its package is missing, it is skipped and the
page says so. Work of other processes is counted if they end within the call; their memory is
counted only for commands.
"""
