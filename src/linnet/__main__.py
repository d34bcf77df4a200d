"""`python -m linnet`. Python looks for modules in the current folder first; nothing more is to be found there."""

import sys

if sys.path and not sys.flags.safe_path:
    del sys.path[0]

if sys.argv[1:2] == ["attach"]:  # It does without all that the others need.
    from linnet.attach.main import main as attach

    attach()

from linnet.cli.main import main

main()
