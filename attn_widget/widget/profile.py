"""The widget of a profile: the Heads view over many texts, with no text, tokens or weights."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import anywidget
import numpy as np
import traitlets as t
from anywidget.experimental import command
from ipywidgets.widgets.widget import widget_serialization

from attn_widget.checks import check_kind
from attn_widget.corpus.profile import Profile
from attn_widget.errors import InputError, NotAvailableError, NotPickled
from attn_widget.figures import metrics, patterns, specialization
from attn_widget.figures.roles import Roles
from attn_widget.protocol import answer as protocol
from attn_widget.protocol.built import later_views
from attn_widget.protocol.pack import pack
from attn_widget.protocol.request import Request, integer
from attn_widget.protocol.slices import MAX_SEED, Answer, Arrays, describe_roles
from attn_widget.widget.code import PageCode, page_code
from attn_widget.widget.display import DisplayOnce, saved_outputs
from attn_widget.widget.exports import Exports
from attn_widget.widget.traits import CheckedTraits, check_traits
from attn_widget.widget.widget import LARGEST_HEIGHT, SHADES, THEMES

OPTIONS = ("layer", "head", "metric", "view", "theme", "height", "chrome")
TOKEN_COLUMNS = ("text", "surface", "before", "id", "start", "end", "segment", "special")


def profile_paint(profile: Profile) -> bytes:
    """Pack the figures of a profile (``docs/architecture.md``, "Pack").

    For each key: ``metric:`` (mean over the texts that have it), ``low:``, ``high:`` (95% interval of
    that mean), ``sd:`` float32 [L, H] and ``count:`` int32 [L, H].
    """
    arrays: Arrays = {}
    for key in profile.keys:
        low, high = profile.interval[key]
        arrays[f"metric:{key}"] = profile.mean[key]
        arrays[f"low:{key}"], arrays[f"high:{key}"] = low, high
        arrays[f"sd:{key}"] = profile.sd[key]
        arrays[f"count:{key}"] = profile.count[key].astype(np.int32)
    meta = {
        "version": 1,
        "model": {
            "name": profile.model,
            "family": None,
            "n_layers": profile.n_layers,
            "n_heads": profile.n_heads,
            **dict.fromkeys(("head_dim", "hidden_size", "vocab_size", "max_length"), 0),
            "revision": profile.meta.get("revision"),
            "has": dict.fromkeys(("mlm", "nsp", "classifier", "scores", "qkv"), False),
        },
        "text": "",
        "text_pair": None,
        "truncated": None,
        "tokens": {column: [] for column in TOKEN_COLUMNS},
        "masked": [],
        "profile": {
            "n_texts": profile.n_texts,
            "n_tokens": int(profile.n_tokens.sum()),
            "seed": profile.seed,
            "tagger": profile.meta.get("tagger"),
            "keys": list(profile.keys),
        },
        "metrics": {"keys": _held(profile, metrics.KEYS), "tau": metrics.TAU},
        "thumb": 0,
        "predictions": None,
        "selected": None,
        "versions": {"attn_widget": profile.meta.get("attn_widget", "")},
    }
    return pack(meta, arrays)


def _held(profile: Profile, keys: tuple[str, ...]) -> list[str]:
    """Those of ``keys`` that the profile has: one of an older version may lack some."""
    return [key for key in keys if key in profile.keys]


class ProfileAnswers:
    """Answers the page's questions about a profile."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.lock = threading.RLock()
        self._roles: dict[int, Roles] = {}

    def metrics(self, request: Request) -> Answer:
        tau = request.get("tau", metrics.TAU)
        if tau != metrics.TAU:
            raise NotAvailableError(
                f"The profile was counted with tau = {metrics.TAU}, not with {str(tau)[:80]}.",
                "Sparsity with another threshold can be had of one text: analyze(text).metrics_at(tau).",
            )
        keys = _held(self.profile, metrics.KEYS)
        return {"tau": tau, "keys": keys}, {f"metric:{key}": self.profile.mean[key] for key in keys}

    def specialization(self, _request: Request) -> Answer:
        keys = _held(self.profile, specialization.KEYS)
        arrays: Arrays = {}
        reasons: dict[str, str] = {}
        notes: list[str] = []
        texts = self.profile.n_texts
        for key in keys:
            mean = self.profile.mean[key]
            arrays[f"raw:{key}"] = mean
            arrays[f"scaled:{key}"] = specialization.scale_by_layer(mean)
            arrays[f"z:{key}"] = specialization.standardize(mean)
            count = int(self.profile.count[key].max())
            if count == 0:
                reasons[key] = f"None of the {texts} texts has it."
            elif count < texts:
                notes.append(f"{key}: mean over the {count} of {texts} texts that have it.")
        data = {"keys": keys, "chance": dict.fromkeys(keys), "reasons": reasons, "notes": notes}
        return data, arrays

    def patterns(self, _request: Request) -> Answer:
        keys = _held(self.profile, patterns.KEYS)
        if not keys:
            raise NotAvailableError(
                "This profile was made before positional patterns were measured.",
                "Run profile(texts) again.",
            )
        arrays: Arrays = {f"pattern:{key}": self.profile.mean[key] for key in keys}
        return {"keys": keys, "chance": None}, arrays

    def roles(self, request: Request) -> Answer:
        seed = integer({"seed": request.get("seed", self.profile.seed)}, "seed", 0, MAX_SEED)
        with self.lock:
            if seed not in self._roles:
                self._roles[seed] = self.profile.roles(seed)
            return describe_roles(self._roles[seed])


HANDLERS: Mapping[str, Callable[[ProfileAnswers, Request], Answer]] = {
    "metrics": ProfileAnswers.metrics,
    "specialization": ProfileAnswers.specialization,
    "patterns": ProfileAnswers.patterns,
    "roles": ProfileAnswers.roles,
    "code": later_views,  # it prints, too
}


class ProfileWidget(CheckedTraits, Exports, NotPickled, anywidget.AnyWidget):
    """The figures of all heads over many texts: the Heads view, without a text.

    Made by ``attn_widget.show(profile)``.

    Parameters
    ----------
    profile : Profile
        What to show.
    **traits
        Initial values of the public traits below.

    Raises
    ------
    traitlets.TraitError
        A trait outside its range; the message names what is allowed.
    """

    WHY = "it is tied to the page that shows it"
    INSTEAD = "Save its profile with profile.save(path), or the page with w.to_html(path)."

    _esm = t.Unicode().tag(sync=True)
    _code = t.Instance(PageCode, allow_none=True).tag(sync=True, **widget_serialization)

    layer = t.Int(0).tag(sync=True)
    """Selected layer, 0-based. Default 0."""
    head = t.Union([t.Int(), t.Enum(["mean"])], default_value=0).tag(sync=True)
    """Selected head, 0-based, or ``"mean"``: the mean of the figures of the layer's heads."""
    metric = t.Enum([shade for shade in SHADES if shade != "thumbnails"], "confidence_avg").tag(
        sync=True
    )
    """What shades the head grid: a key of the profile, or ``"role"``. Default confidence_avg."""
    view = t.Enum(["heads"], "heads").tag(sync=True)
    """Always ``"heads"``: there is no text to show."""
    theme = t.Enum(THEMES, "auto").tag(sync=True)
    """``"auto"`` follows the host; or ``"light"``, ``"dark"``."""
    height = t.Int(None, allow_none=True, min=1, max=LARGEST_HEIGHT).tag(sync=True)
    """Height of the view in px, 1 to 100,000; None (default) fits the content."""
    chrome = t.Bool(True).tag(sync=True)
    """False: the view and its caption alone. Default True."""
    status = t.Enum(["ready", "closed"], "ready").tag(sync=True)
    """Whether the profile is still held."""
    error = t.Dict().tag(sync=True)
    """``{"message", "hint"}`` of the last failure, or ``{}``; shown in the widget."""
    first_paint = t.Bytes(b"").tag(sync=True)
    """The packed figures (see ``docs/architecture.md``)."""

    def __init__(self, profile: Profile, **traits: Any) -> None:
        check_kind(profile, Profile, "profile", "profile(texts) gives one.")
        check_traits(traits, OPTIONS, "ProfileWidget()")
        self._answers: ProfileAnswers | None = ProfileAnswers(profile)
        self._once = DisplayOnce()
        super().__init__(**page_code(), **traits)
        self.first_paint = profile_paint(profile)

    @property
    def profile(self) -> Profile:
        """What is shown.

        Raises
        ------
        InputError
            The widget was closed.
        """
        if self._answers is None:
            raise InputError("This widget is closed.", "Call show(profile) to make a new one.")
        return self._answers.profile

    def display(self) -> None:
        """Display the widget in the running notebook cell; its value adds no second copy."""
        self._once.display(self)

    def close(self) -> None:
        """Let go of the profile here and of the figures in the page. The traits stay readable."""
        if self._answers is None:
            return
        self._answers = None
        self.status = "closed"
        self.first_paint = b""
        super().close()

    @command
    def slice(self, request: object, _buffers: list[bytes]) -> tuple[object, list[bytes]]:
        """Answer a slice request of the page; see `attn_widget.protocol.answer`."""
        return self._reply(request)

    def _reply(self, request: object) -> protocol.Reply:
        return protocol.respond(self._answers, request, HANDLERS)

    @t.validate("layer")
    def _valid_layer(self, proposal: Any) -> int:
        return _in_range("layer", proposal["value"], self.profile.n_layers)

    @t.validate("head")
    def _valid_head(self, proposal: Any) -> int | str:
        value = proposal["value"]
        return value if value == "mean" else _in_range("head", value, self.profile.n_heads)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take changes from the page; one that is not allowed is refused, said, and undone there."""
        try:
            super().set_state(sync_data)
        except t.TraitError as error:
            self.error = {"message": str(error), "hint": "The selection was left as it was."}
            self.send_state([name for name in sync_data if self.has_trait(name)])

    def __repr__(self) -> str:
        if self._answers is None:
            return "<ProfileWidget, closed>"
        profile = self.profile
        head = "mean" if self.head == "mean" else f"H{self.head}"
        return f"<ProfileWidget of {profile.model}, {profile.n_texts} texts, L{self.layer} {head}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        found = super()._repr_mimebundle_(**kwargs)
        if found is None or self._answers is None:
            return found
        data, metadata = found
        return {**data, **saved_outputs(self)}, metadata

    def _ipython_display_(self) -> None:
        """Swallow the one display that `show()` makes superfluous; else leave it to the mimebundle."""
        if not self._once.takes():
            raise NotImplementedError


def _in_range(name: str, value: int, size: int) -> int:
    if not 0 <= value < size:
        raise t.TraitError(f"{name} is {value}, expected 0 to {size - 1} (0-based).")
    return value


def show_profile(profile: Profile, options: Mapping[str, Any]) -> ProfileWidget:
    """What `attn_widget.show` does with a profile.

    Raises
    ------
    InputTypeError
        An option that only a run of one text has, or none has.
    """
    check_traits(options, OPTIONS, "show(profile)")
    widget = ProfileWidget(profile, **{k: v for k, v in options.items() if v is not None})
    widget.display()
    return widget
