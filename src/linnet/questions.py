"""What an agent asks, as types: `from linnet import questions`, or `import linnet.questions`."""

from linnet.core.questions import *  # noqa: F403
