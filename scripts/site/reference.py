"""The API reference: a page for every public name of `attn_widget` and `attn_widget.features.tasks`, in the README's groups.

Docstrings say everything; the pages written here only name what Sphinx is to read.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from operator import attrgetter
from typing import Any

from traitlets import HasTraits, TraitType

from scripts.site.kept import write
from scripts.site.places import SOURCE

FOLDER = "reference"
HIDDEN = ("_", "check_")  # beginnings of names that are for the package alone


@dataclass(frozen=True)
class Group:
    """Public names of one subject.

    Attributes
    ----------
    title, about : str
        Heading, and one sentence below it.
    names : tuple of str
    module : str
        Where the names are imported from.
    """

    title: str
    about: str
    names: tuple[str, ...]
    module: str = "attn_widget"


GROUPS = (
    Group(
        "Show and analyze",
        "A text in, a widget or its figures out.",
        ("show", "analyze", "from_attentions", "AttentionWidget", "Analysis", "close_all"),
    ),
    Group(
        "What matters",
        "What each word and each head contributes to one number of the model, and how far tests support that.",
        ("target", "Target", "corpus.agreement", "corpus.faithfulness", "corpus.head_means"),
    ),
    Group(
        "Similar texts",
        "Embeddings, late interaction and rerankers: why two texts are similar, and why a passage comes first.",
        ("similarity", "Similarity", "Ranking"),
    ),
    Group(
        "Two runs",
        "Two texts or two models, aligned and subtracted.",
        ("compare", "Comparison", "compare.many", "ManyComparisons"),
    ),
    Group(
        "Many texts",
        "The figures of every head over a corpus, and its words in context.",
        ("profile", "Profile", "corpus.index", "WordIndex", "surprisals"),
    ),
    Group(
        "Classifiers",
        "Fine-tune a classifier, score it, and look inside. Needs the extra ``tasks``.",
        (
            "fit_classifier", "FittedClassifier", "load_classifier", "read_csv", "from_dataset", "Dataset", "Split",
            "load_films", "load_amazon", "load_editorials", "load_tweets", "rated_sentences", "RatedSentences", "stars",
            "score", "Metrics", "lexicon", "LexiconBaseline",
        ),
        "attn_widget.features.tasks",
    ),
    Group("Without a kernel", "Pages that stay alive in a browser alone.", ("to_html", "as_html", "report")),
    Group("Models", "What can be run, and what is kept in memory.", ("load", "unload", "Encoder")),
    Group("Errors", "Every error says what was given, what was expected and what to do next.", ("AttnWidgetError",)),
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One public name and the page about it."""

    name: str
    module: str

    @cached_property
    def value(self) -> Any:
        """The object itself."""
        return attrgetter(self.name)(import_module(self.module))

    @property
    def full_name(self) -> str:
        """Name with its module, as users import it."""
        return f"{self.module}.{self.name}"

    @property
    def document(self) -> str:
        """Path of the page below the source folder, without its ending.

        ``Target`` and ``target`` would be one file where a file system ignores case, and ``index`` is the first page.
        """
        kind = "class-" if inspect.isclass(self.value) else "function-"
        return f"{FOLDER}/{kind}{self.full_name.removeprefix('attn_widget.').lower()}"

    @property
    def summary(self) -> str:
        """First sentence of the docstring."""
        text = inspect.getdoc(self.value) or ""
        return " ".join(text.split("\n\n")[0].split())


def entries(group: Group) -> list[Entry]:
    """The names of a group, in its order."""
    return [Entry(name, group.module) for name in group.names]


def all_entries() -> Iterator[Entry]:
    """Every public name."""
    for group in GROUPS:
        yield from entries(group)


def members(cls: type) -> tuple[list[str], list[str]]:
    """Public attributes and public methods that this package gives a class, in alphabetical order.

    Left out: overrides of ipywidgets' own methods, and commands that the page alone sends.
    """
    attributes: list[str] = []
    methods: list[str] = []
    foreign = {name for base in cls.__mro__ if base not in ours(cls) for name in vars(base)}
    for name in sorted({name for base in ours(cls) for name in vars(base)}):
        value = inspect.getattr_static(cls, name)
        if name.startswith(HIDDEN) or name.isupper() or inspect.isclass(value):
            continue
        if name in foreign or getattr(value, "_anywidget_command", False):
            continue
        if callable(value) or isinstance(value, (classmethod, staticmethod)):
            if inspect.getdoc(getattr(cls, name)):
                methods.append(name)
        elif isinstance(value, TraitType) or inspect.getdoc(value):
            attributes.append(name)
    return attributes, methods


def ours(cls: type) -> list[type]:
    """The class and those of its bases that are defined in this package."""
    return [base for base in cls.__mro__ if base.__module__.split(".")[0] == "attn_widget"]


def page(entry: Entry) -> str:
    """The page of one name, in reStructuredText."""
    lines = [entry.name, "=" * len(entry.name), "", f".. py:currentmodule:: {entry.module}", ""]
    if not inspect.isclass(entry.value):
        return "\n".join([*lines, f".. autofunction:: {entry.full_name}", ""])
    attributes, methods = members(entry.value)
    lines += [f".. autoclass:: {entry.full_name}{constructor(entry.value)}", ""]
    if issubclass(entry.value, Exception):
        return "\n".join([*lines, *subclasses(entry.value)])
    documented = set(own_section(entry.value, "Attributes"))
    attributes = [name for name in attributes if name not in documented]
    for title, names, directive in (
        ("Attributes", attributes, "autoattribute"),
        ("Methods", methods, "automethod"),
    ):
        if not names:
            continue
        lines += [title, "-" * len(title), ""]
        lines += summary_table([f"{entry.name}.{name}" for name in names])
        for name in names:
            static = inspect.getattr_static(entry.value, name)
            kind = "autoproperty" if isinstance(static, property) else directive
            lines += [f".. {kind}:: {entry.full_name}.{name}"]
            lines += ["   :no-value:", ""] if kind == "autoattribute" else [""]
    return "\n".join(lines)


def constructor(cls: type) -> str:
    """Arguments of a widget as the page gives them: traitlets hides them. Sphinx finds those of other classes.

    Examples
    --------
    >>> class Shown(HasTraits):
    ...     def __init__(self, run: int, **traits: int) -> None: ...
    >>> constructor(Shown)
    '(run, **traits)'
    """
    if not issubclass(cls, HasTraits):
        return ""
    _, *parameters = inspect.signature(cls.__init__).parameters.values()
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
    return str(inspect.Signature(bare))


def own_section(cls: type, title: str) -> Iterator[str]:
    """Names that a section of the class's docstring describes.

    Examples
    --------
    >>> class Fitted:
    ...     '''A line.
    ...
    ...     Attributes
    ...     ----------
    ...     model, tokenizer : object
    ...         Two things.
    ...     classes : tuple of str
    ...     '''
    >>> list(own_section(Fitted, "Attributes"))
    ['model', 'tokenizer', 'classes']
    """
    lines = (inspect.getdoc(cls) or "").splitlines()
    start = next(
        (i for i, line in enumerate(lines[:-1]) if line == title and set(lines[i + 1]) == {"-"}),
        None,
    )
    for line in [] if start is None else lines[start + 2 :]:
        if set(line) == {"-"}:
            return  # the next section; its title had no names in it
        if line and not line.startswith(" ") and " : " in line:
            yield from line.split(" : ")[0].split(", ")


def summary_table(names: list[str]) -> list[str]:
    """A table of names with the first sentence of each."""
    return [".. autosummary::", "   :nosignatures:", "", *(f"   ~{name}" for name in names), ""]


def subclasses(error: type) -> list[str]:
    """All errors below the common one."""
    import attn_widget.errors as module

    names = [
        name
        for name, value in sorted(vars(module).items())
        if inspect.isclass(value) and issubclass(value, error) and value is not error
    ]
    lines = ["Subclasses", "----------", ""]
    for name in names:
        lines += [f".. autoclass:: attn_widget.errors.{name}", "   :show-inheritance:", ""]
    return lines


def index() -> str:
    """The first page of the reference: every name with its sentence, by group."""
    lines = [
        "API reference",
        "=============",
        "",
        "``import attn_widget as aw`` gives all names but those of `attn_widget.features.tasks`. "
        "Everything else in the package is private and may change.",
        "",
    ]
    for group in GROUPS:
        lines += [group.title, "-" * len(group.title), "", group.about, ""]
        if group.module != "attn_widget":
            lines += [f"``from {group.module.rpartition('.')[0]} import tasks``", ""]
        lines += [".. list-table::", "   :class: names", "   :widths: 30 70", ""]
        for entry in entries(group):
            lines += [f"   * - :doc:`{entry.name} </{entry.document}>`", f"     - {entry.summary}"]
        lines += ["", ".. toctree::", "   :hidden:", f"   :caption: {group.title}", ""]
        lines += [f"   {entry.name} </{entry.document}>" for entry in entries(group)]
        lines += [""]
    return "\n".join(lines)


def write_reference() -> None:
    """Write all pages below the source folder."""
    write(SOURCE / FOLDER / "index.rst", index())
    for entry in all_entries():
        write(SOURCE / f"{entry.document}.rst", page(entry))
