"""A folder to work in, for every test of a tool."""

from tests.tools.bench import bench, processes

__all__ = ["bench", "processes"]
