"""Finds the programs that linnet runs for itself: in PATH, and never in the folder that is worked on."""

import os
import sys

MOST_LINKS = 40  # As the kernel.

# Where linnet is installed.
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The package is not imported, only its modules: with what it imports, a program would be half as large again. What
# follows the folder of the package are the program's own words.
BOOT = (
    "import sys; linnet = sys.modules['linnet'] = type(sys)('linnet'); linnet.__path__ = [sys.argv.pop(1)]; "
    "from linnet.{module} import main; main(sys.argv[1:])"
)


def installed(name: str, path: str, cwd: str) -> str | None:
    """Return the first program of this name in `path`, or None.

    Entries that are relative are passed over, and so are programs in the working folder and those that a link there
    leads to: whoever wrote that folder would choose what is run.
    """
    work = os.path.realpath(cwd)
    for folder in path.split(os.pathsep):
        place = os.path.join(folder, name)
        usable = os.path.isabs(place) and os.path.isfile(place) and os.access(place, os.X_OK)
        if usable and not leads_through(place, work):
            return place
    return None


def leads_through(place: str, folder: str) -> bool:
    """Return whether an absolute path, or a link on its way, lies in this folder, which is a real path.

    True also if there are too many links to tell.
    """
    at, todo, links = "/", place.split("/"), 0
    while todo:
        name = todo.pop(0)
        if name in ("", "."):
            continue
        at = os.path.dirname(at) if name == ".." else os.path.join(at, name)
        if within(at, folder):
            return True
        if os.path.islink(at):
            links += 1
            if links > MOST_LINKS:
                return True
            target = os.readlink(at)
            at = "/" if os.path.isabs(target) else os.path.dirname(at)
            todo = [*target.split("/"), *todo]
    return False


def within(path: str, folder: str) -> bool:
    """Return whether a path is this folder or below it, by their names alone."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def own_program(module: str, *words: str) -> list[str]:
    """Return the command line that runs `main(words)` of one of linnet's modules in a small process of its own."""
    return [sys.executable, "-I", "-S", "-c", BOOT.format(module=module), PACKAGE, *words]
