"""Logs warnings and failures: to the host's handlers if it has any, and otherwise as a line on stderr.

Names and errors of others are in them, so they are spelled out like everything that a terminal may show.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger, LogRecord


def warn(logger: str, sentence: str) -> None:
    """Log a sentence for people."""
    _logger(logger).warning("%s", _spelled_out(sentence), stacklevel=2)


def broke(logger: str, what: str) -> None:
    """Log the exception that is being handled, with its traceback: nobody foresaw it."""
    _logger(logger).error("%s", _spelled_out(what), exc_info=True, stacklevel=2)


def _logger(name: str) -> "Logger":
    import logging  # 5 ms that nothing healthy pays

    logger = logging.getLogger(name)
    if _spell not in logger.filters:
        logger.addFilter(_spell)
    return logger


def _spell(record: "LogRecord") -> bool:
    """Spell out the traceback of a record, which has the words of whoever raised the error. A filter: returns True."""
    if record.exc_info and not record.exc_text:
        from traceback import format_exception

        record.exc_text = _spelled_out("".join(format_exception(record.exc_info[1]))).rstrip("\n")
    return True


def _spelled_out(text: str) -> str:
    from linnet.core.text.terminal_text import spelled_out

    return spelled_out(text)
