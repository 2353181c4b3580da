"""Why two texts are similar: sentence embedders, late interaction and rerankers, as exact sums."""
