"""What the zot protocol's lines are made of, as types: `from linnet import frames`, or `import linnet.frames`."""

from linnet.wire.zot.frames import *  # noqa: F403
