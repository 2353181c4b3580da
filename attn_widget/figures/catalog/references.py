"""The papers that the figures of a head are taken from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reference:
    """A paper, with its DOI; None where none is registered."""

    text: str
    doi: str | None = None


GOLSHANRAD = Reference(
    "Golshanrad & Faghih (2024), From Attention to Assurance: Enhancing Transformer Encoder "
    "Reliability Through Advanced Testing and Online Error Prediction, SSRN preprint"
)
CLARK = Reference(
    "Clark, Khandelwal, Levy & Manning (2019), What Does BERT Look At? An Analysis of BERT’s "
    "Attention, BlackboxNLP",
    "10.18653/v1/W19-4828",
)
VOITA = Reference(
    "Voita, Talbot, Moiseev, Sennrich & Titov (2019), Analyzing Multi-Head Self-Attention: "
    "Specialized Heads Do the Heavy Lifting, the Rest Can Be Pruned, ACL",
    "10.18653/v1/P19-1580",
)
KOVALEVA = Reference(
    "Kovaleva, Romanov, Rogers & Rumshisky (2019), Revealing the Dark Secrets of BERT, EMNLP-IJCNLP",
    "10.18653/v1/D19-1445",
)
