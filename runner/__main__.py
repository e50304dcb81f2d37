"""``python -m runner`` does what ``h2h`` does."""

from runner.cli import main

main()
