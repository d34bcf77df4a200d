"""All tables of checks, in the order in which they are shown."""

from linnet.conform.pi import answering as pi_answering
from linnet.conform.pi import commanding, legacy, recovering, running
from linnet.conform.pi import queueing as pi_queueing
from linnet.conform.zot import aborting, answering, hostile, prompting, queueing, starting, telling

ZOT = (answering, telling, prompting, queueing, aborting, starting, hostile)
PI = (pi_answering, running, pi_queueing, recovering, commanding, legacy)
TABLES = tuple(module.TABLE for module in (*ZOT, *PI))
