"""Why two texts are similar: sentence embedders, late interaction and rerankers, as exact sums."""

from attn_widget.features.similarity.ranking import Ranking
from attn_widget.features.similarity.similarity import Similarity
from attn_widget.features.similarity.texts import similarity

__all__ = ["Ranking", "Similarity", "similarity"]
