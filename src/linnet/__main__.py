"""`python -m linnet`."""

from linnet.cli import main

main()
