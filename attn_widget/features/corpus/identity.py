"""Identity of kept work: hashes of texts, weights, tokenizers, functions and other values."""

from __future__ import annotations

import dis
import hashlib
import inspect
import json
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attn_widget._version import __version__
from attn_widget.checks import check_several
from attn_widget.errors import InputError
from attn_widget.host.fingerprint import DIGITS, fingerprint, tensor_digest
from attn_widget.model.encoder import Encoder

PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes, range)
# Parts of a class that say nothing about what it does.
UNTOLD = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__firstlineno__"}

# Hashes of tokenizers, for calls that may take the last one.
_known_tokenizers: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def digest_of(texts: Sequence[str]) -> str:
    """A hash of all texts in their order."""
    digest = hashlib.sha256()
    for text in texts:
        encoded = text.encode(errors="surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.hexdigest()


def drawn_together(items: Sequence[object], groups: object) -> NDArray[np.uint64]:
    """A number for each text (or pair): those with the same one are resampled together.

    ``items``: the same ones are drawn together. ``groups``: one entry for each: those of a group, such as a
    template, are drawn together instead. Raises `InputError`, `InputTypeError`: not one entry for each.
    """
    if groups is not None:
        items_of_groups = check_several(groups, "groups", "names")
        if len(items_of_groups) != len(items):
            raise InputError(
                f"groups holds {len(items_of_groups)}, and there are {len(items)} texts.",
                "Give one for each; texts of one template share theirs.",
            )
        items = items_of_groups
    return np.array([text_digest(json.dumps(item, default=str)) for item in items], np.uint64)


def text_digest(text: str) -> int:
    """A hash of one text, below 2**64.

    >>> text_digest("a") == text_digest("a") != text_digest("b")
    True
    """
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def identity_of(encoder: Encoder, *, cached: bool = False) -> dict[str, Any]:
    """Everything but the text that decides what the model gives: one entry for each cause of a difference.

    Work is kept with it, and taken again only where every entry is equal. ``cached`` as in `fingerprint`.
    """
    identity: dict[str, Any] = {
        "model": encoder.name,
        "revision": encoder.revision,
        "weights": fingerprint(encoder.network, cached=cached),
        "tokenizer": tokenizer_digest(encoder.reader, cached=cached),
        "attn_widget": __version__,
    }
    if encoder.heads_off or encoder.patch is not None:
        changed = (encoder.heads_off, encoder.ablation, encoder.patch)
        identity["changed"] = value_digest(changed, "the model")
    return identity


def same_model(encoder: Encoder, stored: Mapping[str, Any], *, cached: bool = False) -> bool:
    """True if work with the identity ``stored`` was made by this model: its weights, tokenizer and changes.

    The name may differ. ``cached`` as in `fingerprint`.
    """
    now = identity_of(encoder, cached=cached)
    return all(now.get(key) == stored.get(key) for key in ("weights", "tokenizer", "changed"))


def tokenizer_digest(tokenizer: Any, *, cached: bool = False) -> str:
    """A hash of a fast tokenizer: its vocabulary, rules and special tokens, not the cutting that a call asks for.

    With ``cached`` the hash of the last call is taken.
    """
    if cached and tokenizer in _known_tokenizers:
        return _known_tokenizers[tokenizer]
    settings = json.loads(tokenizer.backend_tokenizer.to_str())
    settings.pop("truncation", None)
    settings.pop("padding", None)
    packed = json.dumps(settings, sort_keys=True).encode()
    _known_tokenizers[tokenizer] = hashlib.sha256(packed).hexdigest()[:DIGITS]
    return _known_tokenizers[tokenizer]


def value_digest(value: object, name: str) -> str:
    """A hash of a value by its content. Functions count with their code, and with what it refers to.

    ``value``: plain values, arrays, containers, dataclasses, functions, classes, models and objects of the caller's
    classes. ``name``: the value's name, for the message. Raises `InputError`: the value refers to an object whose
    content cannot be read.

    >>> value_digest({"limit": 3}, "options") == value_digest({"limit": 4}, "options")
    False
    """
    return _Digest(name).of(value)


class _Digest:
    """One pass through a value."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.hash = hashlib.sha256()
        self.seen: dict[int, int] = {}
        self.held: list[object] = []  # an id is unique only while its object lives

    def of(self, value: object) -> str:
        self.add(value)
        return self.hash.hexdigest()[:DIGITS]

    def write(self, kind: str, content: bytes = b"") -> None:
        self.hash.update(f"{kind} {len(content)}:".encode() + content)

    def each(self, kind: str, values: Sequence[object]) -> None:
        self.write(f"{kind} of {len(values)}")
        for value in values:
            self.add(value)

    def add(self, value: Any) -> None:
        if isinstance(value, PLAIN):
            self.write(type(value).__name__, repr(value).encode(errors="surrogatepass"))
            return
        if id(value) in self.seen:  # an object that refers to itself
            self.write("again", str(self.seen[id(value)]).encode())
            return
        self.seen[id(value)] = len(self.seen)
        self.held.append(value)
        if isinstance(value, (list, tuple)):
            self.each(type(value).__name__, value)
        elif isinstance(value, Mapping):
            self.each("mapping", [part for item in value.items() for part in item])
        elif isinstance(value, Set):
            self.each("set", sorted(value_digest(item, self.name) for item in value))
        elif isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
            self.write(f"array {value.dtype} {value.shape}", np.ascontiguousarray(value).tobytes())
        elif isinstance(value, CodeType):
            self.write("code", value.co_code)
            self.each("names", [*value.co_names, *value.co_freevars, *value.co_consts])
        elif isinstance(value, (FunctionType, MethodType, partial, type)):
            self.callable(value)
        elif isinstance(value, ModuleType):
            self.module(value)
        else:
            self.object(value)

    def callable(self, value: Any) -> None:
        if isinstance(value, MethodType):
            self.each("method", [value.__func__, value.__self__])
        elif isinstance(value, partial):
            self.each("partial", [value.func, value.args, value.keywords])
        elif _installed(value):
            self.write("named", f"{_place(value)} {_version(value)}".encode())
        elif isinstance(value, type):
            plain = {
                name: _behind(part)
                for name, part in vars(value).items()
                if name not in UNTOLD and not inspect.isdatadescriptor(_behind(part))
            }
            self.each("class", [value.__qualname__, value.__bases__, plain])
        else:
            cells = [cell.cell_contents for cell in value.__closure__ or () if not _empty(cell)]
            used = {
                n: value.__globals__[n] for n in _names(value.__code__) if n in value.__globals__
            }
            own = [value.__code__, value.__defaults__, value.__kwdefaults__, cells, used]
            self.each("function", own)

    def module(self, value: ModuleType) -> None:
        file = str(getattr(value, "__file__", None) or "")
        source = b""
        if file.endswith(".py") and not _of_package(value.__name__.split(".")[0]):
            source = Path(file).read_bytes()  # the caller's own module, which has no version
        version = str(getattr(value, "__version__", ""))
        self.write(f"module {value.__name__} {version}", source)

    def object(self, value: Any) -> None:
        cls = type(value)
        if is_dataclass(value):
            parts = {part.name: getattr(value, part.name) for part in fields(value)}
            self.each("dataclass", [_place(cls), parts])
        elif hasattr(value, "named_parameters") and hasattr(value, "state_dict"):
            self.each("model", [_place(cls), fingerprint(value)])
        elif hasattr(value, "network") and hasattr(value, "reader"):
            self.each("encoder", [identity_of(value)])
        elif cls.__module__.split(".")[0] == "torch" and hasattr(value, "stride"):
            self.write("tensor", tensor_digest(value))
        elif hasattr(value, "pattern") and hasattr(value, "flags"):
            self.each("pattern", [value.pattern, int(value.flags)])
        elif hasattr(value, "__fspath__"):
            self.write("path", str(value).encode(errors="surrogatepass"))
        elif callable(value) and hasattr(value, "__wrapped__"):
            self.each("wrapped", [inspect.unwrap(value)])
        elif callable(value) and hasattr(value, "__name__") and _installed(cls):
            self.write("named", f"{_place(cls)} {_place(value)} {_version(value)}".encode())
        elif not _installed(cls) and hasattr(value, "__dict__"):
            self.each("object", [cls, vars(value)])
        else:
            raise InputError(
                f"{self.name} uses a {cls.__name__}, whose content cannot be compared with that of kept work.",
                "Use plain values, arrays and functions in it, or leave out the folder.",
            )


def _behind(part: Any) -> Any:
    """The functions of a property, static method or class method."""
    if isinstance(part, property):
        return (part.fget, part.fset, part.fdel)
    return part.__func__ if isinstance(part, (staticmethod, classmethod)) else part


def _empty(cell: Any) -> bool:
    try:
        return cell.cell_contents is cell
    except ValueError:  # a name that is bound later
        return True


def _names(code: CodeType) -> Iterator[str]:
    """Global names that a function and the functions in it read, in order."""
    names: dict[str, None] = {}
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            names[str(step.argval)] = None
    for part in code.co_consts:
        if isinstance(part, CodeType):
            names.update(dict.fromkeys(_names(part)))
    yield from names


def _place(value: Any) -> str:
    module = getattr(value, "__module__", None) or ""
    return f"{module}.{getattr(value, '__qualname__', None) or value.__name__}"


def _root(value: Any) -> str:
    return str(getattr(value, "__module__", None) or "builtins").split(".")[0]


def _version(value: Any) -> str:
    return str(getattr(sys.modules.get(_root(value)), "__version__", ""))


def _installed(value: Any) -> bool:
    """True if a function or class is of a package, whose name and version identify it."""
    return _of_package(_root(value))


def _of_package(root: str) -> bool:
    if root == "__main__":
        return False
    if root in sys.stdlib_module_names or root == "attn_widget":
        return True
    file = str(getattr(sys.modules.get(root), "__file__", None) or "")
    return "site-packages" in file or "dist-packages" in file
