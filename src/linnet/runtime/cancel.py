"""How an abort reaches a thread that is blocked. It is in `tools`, for extensions withdraw questions with it too."""

from linnet.tools.cancel import CancelToken as CancelToken
