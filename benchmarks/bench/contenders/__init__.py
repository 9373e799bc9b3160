"""What is measured: every function prepares one task.

A module may import a package of its own at the top: it is imported only in the process that
measures it. Modules whose tasks are commands import nothing large, because the peak memory of a
child process includes that of its parent at the start.
"""
