"""``python -m dpfair`` is the ``dpfair`` command."""

from dpfair.cli import main

main()
