"""What users give, checked: one check for each kind of argument.

Indices, heads, slices, counts, seeds, yes or no, names, choices, functions, arrays, paths. Whatever a message
says of a value goes through `shown`: a value may be huge, nested without end, or unable to print.
"""

from __future__ import annotations

import difflib
import errno
import operator
import os
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from reprlib import Repr
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget.errors import InputError, InputTypeError

LARGEST_SEED = 2**32 - 1  # numpy and scikit-learn take no larger one
LARGEST_COUNT = 1_000_000  # of anything that somebody counts by hand
MOST_SHOWN = 80  # characters of a value in a message
MOST_NAMED = 10  # choices in a message
LONGEST_WORD = 100  # characters that are compared with names


class _Short(Repr):
    """`repr` that looks at the beginning of a value alone."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxlong = 2, MOST_SHOWN
        self.maxstring = self.maxother = 3 * MOST_SHOWN

    def repr_int(self, x: int, level: int) -> str:  # noqa: ARG002
        if abs(x) >= 10**MOST_SHOWN:  # Python refuses to write some of these
            return f"an int of {x.bit_length():,} bits"
        return repr(x)

    def repr_instance(self, x: Any, level: int) -> str:  # noqa: ARG002
        try:
            return repr(x)
        except Exception:
            return f"<{type(x).__name__}>"


_short = _Short()


def shown(value: Any) -> str:
    """``value`` as a message writes it: `repr`, in at most `MOST_SHOWN` characters.

    Examples
    --------
    >>> shown("no"), shown(10**5000), len(shown("a" * 100_000))
    ("'no'", 'an int of 16,610 bits', 80)
    """
    text = _short.repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"


def first_line(error: BaseException) -> str:
    """What an error of another library says, in one line; its class where it says nothing."""
    said = str(error).strip().partition("\n")[0]
    return said[:200].rstrip(".") or type(error).__name__


def nearest(name: Any, known: Iterable[str]) -> str:
    """The question whether a known name was meant, where one is near; else empty.

    Examples
    --------
    >>> nearest("layre", ("layer", "head"))
    "Did you mean 'layer'?"
    """
    found = difflib.get_close_matches(str(name)[:LONGEST_WORD], [*known], n=1)
    return f"Did you mean {found[0]!r}?" if found else ""


def index_in(value: Any, size: int, name: str) -> int:
    """``value`` as an index of something of ``size`` parts.

    Raises
    ------
    InputError
        No integer, or not in 0 .. size - 1.

    Examples
    --------
    >>> index_in(2, 3, "layer")
    2
    """
    try:
        index = operator.index(value)
    except TypeError:
        index = None
    if index is None or isinstance(value, bool):
        raise InputError(f"{name} is {shown(value)}, expected an int.")
    if not 0 <= index < size:
        raise InputError(f"{name} is {shown(index)}, expected 0 to {size - 1} (0-based).")
    return index


def is_mean(head: Any) -> bool:
    """Whether ``head`` is ``"mean"``; an array is not, whatever it compares itself with."""
    return isinstance(head, str) and head == "mean"


def slice_in(value: Any, size: int, name: str) -> slice:
    """``value`` as a slice of ``size`` positions that holds at least one; None is all of them.

    Raises
    ------
    InputTypeError
        No slice.
    InputError
        None of the positions.

    Examples
    --------
    >>> slice_in(None, 8, "rows"), slice_in(slice(2, 5), 8, "rows")
    (slice(None, None, None), slice(2, 5, None))
    """
    if value is None:
        return slice(None)
    held = None
    if isinstance(value, slice):
        try:
            held = range(size)[value]
        except (TypeError, ValueError):  # no int, or a step of 0
            held = None
    if held is None or held.step < 0:  # tensors have none that go backwards
        raise InputTypeError(f"{name} is {shown(value)}, expected a slice.", f"{name}=slice(2, 5)")
    if not held:
        raise InputError(f"{name} is {shown(value)}, which holds none of the {size} positions.")
    return value


def indices_in(values: Any, size: int, name: str) -> list[int]:
    """``values`` as indices of something of ``size`` parts.

    Raises
    ------
    InputTypeError
        Not several.
    InputError
        As `index_in`.
    """
    found = check_several(values, name, "int")
    return [index_in(value, size, f"an entry of {name}") for value in found]


def as_array(values: Any, name: str, dtype: Any = None) -> NDArray[Any]:
    """``values`` as an array: of numpy, lists, or tensors of any library, sparse ones made dense.

    Raises
    ------
    InputTypeError
        Rows of different lengths, a tensor without data (of the device "meta"), or (with ``dtype``)
        something else than numbers.
    """
    try:
        return np.asarray(_from_torch(values), dtype=dtype)
    except Exception as error:  # whatever the conversion of an object raises
        raise InputTypeError(
            f"{name} cannot be read as an array: {first_line(error)}.",
            "Give numbers, as many in each row.",
        ) from None


def is_half(given: Any) -> bool:
    """Whether a tensor, or the first of several, has 16-bit floats."""
    first = given[0] if isinstance(given, (list, tuple)) and given else given
    return str(getattr(first, "dtype", "")).removeprefix("torch.") in ("float16", "bfloat16")


def _from_torch(given: Any) -> Any:
    """A tensor of torch as numpy has it; anything else as it is. torch is not imported."""
    if not (hasattr(given, "detach") and hasattr(given, "cpu")):
        return given
    if getattr(given, "is_meta", False):
        raise TypeError("a tensor of the device 'meta' has no numbers")
    dense = given.detach().to_dense() if "strided" not in str(given.layout) else given.detach()
    dense = dense.float() if is_half(dense) else dense
    return dense.cpu().resolve_conj().resolve_neg().numpy()


def is_iterable(given: object) -> bool:
    """Whether a loop takes it: not so an array without a dimension, which says that it is iterable."""
    try:
        iter(given)  # pyright: ignore[reportArgumentType, reportCallIssue]
    except TypeError:
        return False
    return True


def check_several(values: Any, name: str, what: str) -> list[Any]:
    """``values`` as a list; ``what`` says of what.

    Raises
    ------
    InputTypeError
        One str, or nothing that holds several.
    """
    if isinstance(values, (str, bytes)) or not is_iterable(values):
        raise InputTypeError(
            f"{name} is {shown(values)}, expected several {what}.",
            f"Put it into a list: {name}=[...].",
        )
    return listed(values, name)


def listed(values: Any, name: str) -> list[Any]:
    """The entries of what is iterable: an iterator without end is refused.

    Raises
    ------
    InputError
    """
    found = list(islice(values, LARGEST_COUNT + 1))
    if len(found) > LARGEST_COUNT:
        raise InputError(f"{name} holds more than {LARGEST_COUNT:,} entries.", "Give fewer.")
    return found


def check_characters(text: str, name: str) -> str:
    """``text``, if it can be written: a lone surrogate is half of a character.

    Raises
    ------
    InputError
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{name} has a lone surrogate, U+{ord(text[error.start]):04X}, at character {error.start}: "
            "half of a character, which no tokenizer can read.",
            'Repair it with text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").',
        ) from None
    return text


def check_count(value: Any, name: str, low: int, high: int = LARGEST_COUNT, hint: str = "") -> int:
    """``value`` as an int from ``low`` to ``high``; ``hint`` goes into what is raised.

    Raises
    ------
    InputTypeError
        No int.
    InputError
        Out of range.

    Examples
    --------
    >>> check_count(3, "top_k", 1, 5)
    3
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputTypeError(f"{name} is a {type(value).__name__}, expected an int.", hint)
    if not low <= value <= high:
        raise InputError(f"{name} is {shown(int(value))}, expected {low} to {high:,}.", hint)
    return int(value)


def check_number(value: Any, name: str, low: float, high: float, hint: str = "") -> float:
    """``value`` as a float from ``low`` to ``high``, which NaN is not.

    Raises
    ------
    InputTypeError
        No number.
    InputError
        Out of range.

    Examples
    --------
    >>> check_number(2, "scale", 0.5, 8)
    2.0
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise InputTypeError(f"{name} is a {type(value).__name__}, expected a number.", hint)
    if not low <= value <= high:
        raise InputError(f"{name} is {shown(value)}, expected {low:g} to {high:g}.", hint)
    return float(value)


def check_seed(seed: Any) -> int:
    """``seed`` as an int that every generator of random numbers takes.

    Raises
    ------
    InputTypeError
        No int.
    InputError
        Not in 0 .. 2**32 - 1.
    """
    return check_count(seed, "seed", 0, LARGEST_SEED, "For example seed=0.")


def check_flag(value: Any, name: str) -> bool:
    """``value`` as a bool; ``"no"`` would count as yes.

    Raises
    ------
    InputTypeError
        Something else.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise InputTypeError(
            f"{name} is {shown(value)}, expected True or False.",
            f"Pass {name}=True or leave it out.",
        )
    return bool(value)


def check_name(value: Any, name: str, what: str = "a str") -> str:
    """``value`` as a str; ``what`` says of what.

    Raises
    ------
    InputTypeError
    """
    if not isinstance(value, str):
        raise InputTypeError(
            f"{name} is {shown(value)}, expected {what}.", f"For example {name}='a name'."
        )
    return value


def check_callable(value: Any, name: str) -> None:
    """Refuse what is neither a function nor None.

    Raises
    ------
    InputTypeError
    """
    if value is not None and not callable(value):
        raise InputTypeError(
            f"{name} is {shown(value)}, expected a function or None.", f"Leave {name} out."
        )


def check_kind(value: Any, kind: type[Any], name: str, hint: str) -> None:
    """Refuse what is no ``kind``, a class of this package or of a library.

    Raises
    ------
    InputTypeError
    """
    if not isinstance(value, kind):
        what = kind.__name__
        raise InputTypeError(
            f"{name} is {shown(value)}, expected {'an' if what[0] in 'AEIO' else 'a'} {what}.", hint
        )


def check_choice(value: Any, name: str, choices: Iterable[str]) -> str:
    """``value``, if it is one of ``choices``; the nearest one is named.

    Raises
    ------
    InputTypeError
        No str.
    InputError
        Another one.

    Examples
    --------
    >>> check_choice("masked", "mode", ("as_is", "masked"))
    'masked'
    """
    known = list(choices)
    named = ", ".join(map(repr, known[:MOST_NAMED])) + (", ..." if len(known) > MOST_NAMED else "")
    if not isinstance(value, str):
        raise InputTypeError(f"{name} is {shown(value)}, expected one of {named}.")
    if value not in known:
        raise InputError(
            f"{name} is {shown(value)}, expected one of {named}.", nearest(value, known)
        )
    return value


def check_keywords(given: Iterable[str], known: Iterable[str], of: str) -> None:
    """Refuse keywords that ``of`` does not know, naming the nearest one.

    Raises
    ------
    InputTypeError
    """
    options = list(known)
    for name in given:
        if name not in options:
            listed = f"Options: {', '.join(options)}."
            raise InputTypeError(
                f"{of} has no option {shown(name)}.", nearest(name, options) or listed
            )


def stands_at(path: Path) -> str:
    """``"folder"``, ``"file"`` or, where there is none, ``""``: also for a name that no disk takes."""
    try:
        return "folder" if path.is_dir() else "file" if path.is_file() else ""
    except OSError:
        return ""


def check_title(title: object) -> None:
    """Refuse what no page can have as its title; None is no title.

    Raises
    ------
    InputTypeError
        No str.
    InputError
        A lone surrogate, which has no place in a file.
    """
    if title is None:
        return
    if not isinstance(title, str):
        raise InputTypeError(
            f"title is a {type(title).__name__}, expected a str.", "title='a title'"
        )
    check_characters(title, "title")


def check_path(value: Any, name: str) -> Path:
    """``value`` as a path that a disk can have, ``~`` expanded.

    Raises
    ------
    InputTypeError
        No str and no path.
    InputError
        Characters that no name can have, a name that is too long, ``~`` of nobody.
    """
    try:
        given = os.fspath(value)
    except TypeError:
        given = None
    if not isinstance(given, str):
        raise InputTypeError(
            f"{name} is a {type(value).__name__}, expected a str or a path.",
            f"{name}='folder/name'",
        )
    try:
        os.fsencode(given)
    except UnicodeEncodeError:
        raise InputError(
            f"The path {shown(given)} has characters that no file's name can have here.",
            "Give another name.",
        ) from None
    if "\0" in given:
        raise InputError(f"The path {shown(given)} has a NUL character.", "Leave it out.")
    try:
        path = Path(given).expanduser()
    except RuntimeError as error:  # ~name of nobody
        raise InputError(
            f"The home folder in {shown(given)} is not known.", "Write it out."
        ) from error
    try:
        path.lstat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(
                f"The path {given[:40]!r}... has {len(given):,} characters, more than the disk takes.",
                "Give a shorter name.",
            ) from None
    return path
