"""`python -m linnet`."""

from linnet.start import main

main()
