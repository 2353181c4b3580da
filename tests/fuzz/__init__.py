"""Hostile calls over every public name, drawn by a seed: ``python -m tests.fuzz --calls 10000 --seed 0``.

It also sends messages of the page, opens damaged files and runs command lines: ``--messages``, ``--files``, ``--lines``.

A call begins as one that works: each argument is drawn from `GOOD` by its name. Then one or two
arguments become something of `HOSTILE`, or the call gets one argument too many. The names are found, not listed:
``dir(attn_widget)``, ``dir(attn_widget.features.tasks)``, and every public method, property and trait that the
package gives the objects which these return. A parameter that `GOOD` does not know fails the test of
`tests/unit/test_fuzz.py`, so that new ones are thought of.

The rule. A call may return, or raise

- an `AttnWidgetError`, or a `traitlets.TraitError` of a trait: in words of at most `LONGEST` characters;
- the `TypeError` that Python itself raises at a call which does not fit the signature;
- what a function that was given raises.

Anything else is a bare traceback: a fault. So is a result that cannot print itself, a call that takes
more than `SECONDS` of the processor, and a reply to the page that is no reply.
"""

from tests.fuzz.run import run, why_bare
from tests.fuzz.targets import unknown_parameters

__all__ = ["run", "unknown_parameters", "why_bare"]
