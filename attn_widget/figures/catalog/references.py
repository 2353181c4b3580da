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
XIAO = Reference(
    "Xiao, Tian, Chen, Han & Lewis (2024), Efficient Streaming Language Models with Attention Sinks, ICLR",
    "10.48550/arXiv.2309.17453",
)
WANG = Reference(
    "Wang, Variengien, Conmy, Shlegeris & Steinhardt (2023), Interpretability in the Wild: a Circuit "
    "for Indirect Object Identification in GPT-2 Small, ICLR",
    "10.48550/arXiv.2211.00593",
)
OLSSON = Reference(
    "Olsson, Elhage, Nanda, Joseph, DasSarma et al. (2022), In-context Learning and Induction Heads, "
    "Transformer Circuits Thread",
    "10.48550/arXiv.2209.11895",
)
RAFFEL = Reference(
    "Raffel, Luong, Liu, Weiss & Eck (2017), Online and Linear-Time Attention by Enforcing Monotonic Alignments, ICML",
    "10.48550/arXiv.1704.00784",
)
