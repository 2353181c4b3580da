"""Corpus: the figures of all heads over many texts."""

from __future__ import annotations

from attn_widget.features.corpus.engines.local import ProfileError
from attn_widget.features.corpus.profile import Profile
from attn_widget.features.corpus.run import profile

__all__ = ["Profile", "ProfileError", "profile"]
