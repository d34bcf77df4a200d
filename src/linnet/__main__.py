"""`python -m linnet`."""

from linnet.entry_points import main

main()
