"""ImageEncoder: a model that reads pictures, with its image processor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from attn_widget.checks import check_kind, first_line, short_repr, stands_at
from attn_widget.errors import InputError, NotAvailableError, TooLongError
from attn_widget.features.images.encoding import ImageEncoding, no_rects
from attn_widget.features.images.grid import area_read, patch_size, rects
from attn_widget.features.images.heads import ImageHead
from attn_widget.features.images.pictures import EXAMPLES, is_image_file, picture_of, shown
from attn_widget.features.images.towers import before_patches, family_of, tower_of, vision_config
from attn_widget.model.checkpoint import Checkpoint
from attn_widget.model.encoder import Encoder
from attn_widget.model.encoding import Encoding
from attn_widget.model.tokens import Token

if TYPE_CHECKING:
    from attn_widget.model.embedding_head import EmbeddingHead

MOST_TOKENS = 16_384  # patches and special tokens
# Steps of a weight in the page of a picture with more weights than this: half of one is at most 0.021 of the largest. 257 tokens and 72 heads make a page of 3 MB.
CELLS, LEVELS = 1.2e6, 48
INTERPOLATE = "interpolate_pos_encoding"


class NoTokenizer:
    """Stands where a text model has its tokenizer: no vocabulary, no mask token."""

    unk_token_id = mask_token_id = bos_token_id = mask_token = chat_template = None
    model_max_length = MOST_TOKENS
    all_special_ids: tuple[int, ...] = ()

    def __init__(self, name: str) -> None:
        self.name = name

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [f"[{i}]" for i in ids]

    def __call__(self, *_given: Any, **_options: Any) -> NoReturn:
        raise NotAvailableError(
            f"{self.name} reads images and has no tokenizer, which this needs.",
            "Engines in a page, profiles, probes, windows and other options are of texts.",
        )

    @property
    def backend_tokenizer(self) -> Any:
        self()


class ImageEncoder(Encoder):
    """A model that reads pictures. `attn_widget.load` makes it.

    As `Encoder`, without a vocabulary and without a language-model head.

    Attributes
    ----------
    processor : transformers.BaseImageProcessor
    whole : transformers.PreTrainedModel
        The model that was loaded: of CLIP and SigLIP with the tower that reads texts, if it has one.
    """

    def __init__(self, checkpoint: Checkpoint, reader: Callable[[], Any] = lambda: None) -> None:
        check_kind(checkpoint, Checkpoint, "checkpoint", "load(name) makes an Encoder.")
        self.whole: Any = checkpoint.model
        self.processor: Any = checkpoint.tokenizer
        tower = tower_of(self.whole)
        self._hold(checkpoint, tower, NoTokenizer(checkpoint.name))
        self.family = family_of(tower, self.name)
        config = vision_config(tower.config)
        self.n_layers, self.n_heads = config.num_hidden_layers, config.num_attention_heads
        self.hidden_size = int(config.hidden_size)
        self.head_dim = self.hidden_size // self.n_heads
        self.vocab_size = self.n_embeddings = 0
        self.max_length = MOST_TOKENS
        self.before = before_patches(config)
        self.patch_size = patch_size(config)
        heads = "ForImageClassification" in type(tower).__name__ and not self.untrained
        self.classifier = "sequence" if heads else None
        labels = getattr(tower.config, "id2label", None) or {} if heads else {}
        self.id2label = {int(i): str(label) for i, label in labels.items()}
        self.predicts = self.family.predicts
        self.has_lm = self.has_nsp = self.takes_segments = False
        # Shared by copies of this encoder.
        self._texts: list[Encoder] = []
        self._text_reader = reader

    @property
    def lacks_lm(self) -> str:
        """Why `has_lm` is False, to follow the model's name."""
        return "reads images"

    def for_input(self, given: Any) -> tuple[Encoder, Any]:
        """The encoder that reads ``given``, of a text the other tower of a model of two, and what it reads.

        Parameters
        ----------
        given : object
            A str that ends as the name of an image file does is the path of one, any other str a text.

        Raises
        ------
        InputError
            The name of an image file that does not exist; a text, and a pooling that the model does not name.
        NotAvailableError
            A text, and no tower or no tokenizer for it.
        """
        if not isinstance(given, str):
            return self, given
        if is_image_file(given):
            if stands_at(Path(given)) != "file":
                raise InputError(
                    f"There is no image file {short_repr(given)}.",
                    "A str that ends as the name of an image file does is read as one; a text may end with a period.",
                )
            return self, Path(given)
        with self.lock:
            if not self._texts:
                from attn_widget.features.images.text_tower import text_tower

                self._texts.append(text_tower(self.whole, self._text_reader(), self.name))
        if not isinstance(self.embedding, ImageHead):
            raise InputError(
                f"The pooling of {self.name} was changed, and only its own makes vectors to compare with those of texts.",
                "Leave pooling out, or compare two images.",
            )
        return self._texts[0], given

    def with_embedding(self, head: EmbeddingHead) -> Encoder:
        """As of every encoder; an image has one vector.

        Parameters
        ----------
        head : EmbeddingHead

        Raises
        ------
        NotAvailableError
            A head of tokens (late interaction); else as `Encoder.with_embedding`.
        """
        if getattr(head, "of_tokens", False):
            raise NotAvailableError(
                f"{self.name} reads images, and late interaction (pooling 'tokens') is of texts.",
                "pooling='mean' or 'cls'.",
            )
        return super().with_embedding(head)

    def encode(
        self,
        text: Any,
        text_pair: str | None = None,
        *,
        truncation: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """The pixels of a picture, and a token for each of its patches.

        Parameters
        ----------
        text : path, PIL image or array
            The picture; a str is the path of a file. Arrays are [H, W], [H, W, 3] or [H, W, 4], uint8 or float from 0 to 1.
        text_pair, truncation, add_special_tokens
            Of texts; only their defaults.

        Returns
        -------
        ImageEncoding
            ``arrays`` has ``pixel_values``, float32 [1, 3, h, w].

        Raises
        ------
        InputError, InputTypeError
            No picture, or a text; options of texts.
        TooLongError
            More patches than a model is asked to read.
        """
        if text_pair is not None or truncation or not add_special_tokens:
            raise InputError(
                f"{self.name} reads images: text_pair, truncation and add_special_tokens are for texts.",
                "Leave them out.",
            )
        if isinstance(text, str) and stands_at(Path(text)) != "file":
            raise InputError(
                f"{self.name} reads images, and there is no image file {short_repr(text)}.",
                f"{EXAMPLES} A text is for a text model: analyze(text).",
            )
        picture = picture_of(text)
        pixels = self._pixels(picture.image)
        read: tuple[int, int] = pixels.shape[-2:]
        rows, columns = read[0] // self.patch_size[0], read[1] // self.patch_size[1]
        n = rows * columns + len(self.before)
        if not rows * columns:
            raise InputError(
                f"The image has {read[1]} × {read[0]} px for {self.name}, and a patch has {self.patch_size[1]} × {self.patch_size[0]}.",
                "Give a larger one, or a processor that resizes it.",
            )
        if n > MOST_TOKENS:
            raise TooLongError(
                f"The image has {n:,} patches, at most {MOST_TOKENS:,} are read.",
                "Make it smaller, or let the processor resize it: do_resize=True.",
            )
        image = shown(picture.image)
        area = area_read(self.processor, picture.image.size, read)
        wide, high = picture.image.size
        places = rects(area, read, self.patch_size, (image.width / wide, image.height / high))
        names = [*self.before, *(f"r{r + 1} c{c + 1}" for r in range(rows) for c in range(columns))]
        tokens = tuple(
            Token(name, i, 0, 0, name, special=i < len(self.before)) for i, name in enumerate(names)
        )
        arrays: dict[str, Any] = {"pixel_values": pixels}
        if self._interpolates(read):
            arrays[INTERPOLATE] = np.array(True)
        return ImageEncoding(
            text="",
            text_pair=None,
            tokens=tokens,
            arrays=arrays,
            note=picture.note,
            levels=LEVELS if self.n_layers * self.n_heads * n**2 > CELLS else 0,
            rows=rows,
            columns=columns,
            first=len(self.before),
            picture=image,
            dtype=self.dtype,
            rects=np.concatenate([no_rects(len(self.before)), places]),
        )

    def _pixels(self, image: Any) -> Any:
        """The pixels that the processor makes of a picture, float32 [1, 3, h, w]."""
        try:
            with self.lock:
                found = self.processor(images=image, return_tensors="np")["pixel_values"]
        except Exception as error:  # whatever a processor raises
            raise InputError(
                f"The {type(self.processor).__name__} of {self.name} refuses the image: {first_line(error)}.",
                "See its size, crop_size and do_resize.",
            ) from error
        return np.ascontiguousarray(found, np.float32)

    def _interpolates(self, read: tuple[int, int]) -> bool:
        """True if the positions of another size must be asked for: DINOv2 interpolates them by itself."""
        size = vision_config(self.traced.config).image_size
        height, width = size if isinstance(size, (tuple, list)) else (size, size)
        asks = self.family.name not in ("dinov2", "dinov2_with_registers")
        return asks and read != (height, width)

    def __repr__(self) -> str:
        return super().__repr__().replace("Encoder", "ImageEncoder", 1)
