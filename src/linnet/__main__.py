"""`python -m linnet`. Python looks for modules in the current folder first; nothing more is to be found there."""

import sys

if sys.path and not sys.flags.safe_path:
    del sys.path[0]

from linnet.cli.main import main

main()
