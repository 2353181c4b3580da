"""Why two texts are similar: sentence embedders, late interaction and rerankers, as exact sums."""

from attn_widget.similarities.ranking import Ranking
from attn_widget.similarities.similarity import Similarity
from attn_widget.similarities.texts import similarity

__all__ = ["Ranking", "Similarity", "similarity"]
