"""A folder to work in, for every test that starts processes: most of them by a tool, as a session does."""

from tests.tools.bench import bench, processes

__all__ = ["bench", "processes"]
