"""Every event of a run in one's own process, to match on: `from linnet import events`, or `import linnet.events`."""

from linnet.sdk.event_types import *  # noqa: F403
