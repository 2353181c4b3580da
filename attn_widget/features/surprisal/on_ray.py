"""Workers of Ray, each with a model: they read chunks, whose words come back in the order of the texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attn_widget.errors import InputError
from attn_widget.features.corpus.engines.cluster import connected
from attn_widget.features.corpus.identity import identity_of, same_model
from attn_widget.features.corpus.reading.chunks import Failure
from attn_widget.features.surprisal.kept import Kept
from attn_widget.features.surprisal.read import Reader, Record
from attn_widget.host.installed import require_extra
from attn_widget.model.encoder import Encoder
from attn_widget.model.loading import load

AHEAD = 2  # chunks that wait for each worker


class Worker:
    """An actor with a model."""

    def __init__(self, model: Any, correction: bool, identity: dict[str, Any]) -> None:
        import torch

        torch.set_num_threads(1)
        self.reader = Reader(load(model, progress=False), correction)
        self.same = same_model(self.reader.encoder, identity)

    def read(
        self, texts: list[Any]
    ) -> tuple[list[list[Record] | None], list[tuple[int, str, str]]]:
        """Words of each text, and place, text and reason of each failure."""
        if not self.same:
            raise InputError(
                f"A worker has other weights, or another tokenizer, of {self.reader.encoder.name}."
            )
        done, failures = self.reader.read(texts)
        return done, [(one.place, one.text, one.reason) for one in failures]


def read_on_ray(
    encoder: Encoder,
    model: Any,
    correction: bool,
    chunks: list[list[Any]],
    parts: Kept | None,
    address: str | None,
    workers: int | None,
) -> Iterator[tuple[list[list[Record] | None], list[Failure]]]:
    """The results of `Reader.read` for each chunk, in their order."""
    require_extra("ray", "engine='ray' needs Ray", "ray")
    import ray
    from ray.exceptions import RayTaskError

    with connected(address, workers):
        processors = int(ray.cluster_resources().get("CPU", 1))
        n = min(workers or processors, len(chunks))
        given = (encoder.model, encoder.tokenizer) if isinstance(model, (Encoder, tuple)) else model
        shared = ray.put(given)
        remote: Any = ray.remote(num_cpus=1, max_restarts=3, max_task_retries=3)(Worker)
        actors = [remote.remote(shared, correction, identity_of(encoder)) for _ in range(n)]
        asked: dict[int, Any] = {}
        stored = {k: None if parts is None else parts.find(chunk) for k, chunk in enumerate(chunks)}
        missing = iter([k for k, found in stored.items() if found is None])

        def ask(upto: int) -> None:
            while len(asked) < upto and (k := next(missing, None)) is not None:
                asked[k] = actors[k % n].read.remote(chunks[k])

        for k, chunk in enumerate(chunks):
            ask(AHEAD * n)
            found = stored[k]
            if found is not None:
                yield found, []
                continue
            try:
                done, bad = ray.get(asked.pop(k))
            except RayTaskError as error:
                if isinstance(error.cause, InputError):
                    raise error.cause from error
                raise
            failures = [Failure(place, text, InputError(reason, "")) for place, text, reason in bad]
            if parts is not None and not failures:
                parts.write(chunk, done)
            yield done, failures
