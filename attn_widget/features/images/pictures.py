"""Pictures: whatever a picture is given as, decoded by Pillow within limits, as RGB."""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from attn_widget.checks import first_line, short_repr, stands_at
from attn_widget.errors import InputError, InputTypeError
from attn_widget.host.installed import require

#: Formats that are decoded: those of Pillow that hold pixels, and run no other program (as EPS does).
FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "MPO", "PNG", "PPM", "TIFF", "WEBP")
#: Of names of image files: a str that ends so is no text.
ENDINGS = frozenset(
    [
        ".avif",
        ".bmp",
        ".gif",
        ".jfif",
        ".jp2",
        ".jpe",
        ".jpeg",
        ".jpg",
        ".mpo",
        ".pbm",
        ".pgm",
        ".png",
        ".pnm",
        ".ppm",
        ".svg",
        ".tif",
        ".tiff",
        ".webp",
    ]
)
MOST_PIXELS = 50_000_000  # of a picture that is decoded: 150 MB as RGB
LONGEST = 100  # times the shorter side: a longer one leaves no patch of it to see
MOST_BYTES = 500_000_000  # of a file
MOST_COLORS = 256  # of a PNG with a palette
SHOWN = 768  # px of the longer side of the picture that is shown
DRAWING = "An SVG is a drawing, which has no pixels yet"
EXAMPLES = "Give the path of an image file, a PIL image, or an array [H, W], [H, W, 3] or [H, W, 4]: uint8, or float from 0 to 1."
DEPTH = 257  # 65,535 / 255: steps of 16 bits in one of 8
UNKNOWN = "\N{REPLACEMENT CHARACTER}"


class Picture(NamedTuple):
    """A decoded picture: ``image`` is a PIL image in RGB, ``note`` what was read and how."""

    image: Any
    note: str


def is_picture(given: object) -> bool:
    """True of a PIL image, or an array whose shape or type is that of pixels and not of token ids.

    >>> import numpy as np
    >>> is_picture(np.zeros((8, 8, 3), np.uint8)), is_picture(np.zeros((8, 8))), is_picture(np.array([101, 102]))
    (True, True, False)
    """
    if _is_pil(given):
        return True
    if not isinstance(given, np.ndarray):
        return False
    pixels = given.dtype.kind in "fb" or (given.dtype.kind == "u" and given.shape[0] > 1)
    return given.ndim == 3 or (given.ndim == 2 and pixels)


def is_image_file(given: str | os.PathLike[str]) -> bool:
    """True of a name that ends as that of an image does; whether such a file exists is not asked.

    >>> is_image_file("a photo.JPG"), is_image_file("a photo of a cat")
    (True, False)
    """
    return Path(given).suffix.lower() in ENDINGS


def picture_of(given: Any, name: str = "image") -> Picture:
    """The picture in RGB: of a file, a PIL image or an array.

    The first frame of a file, turned as its EXIF says, transparent parts over white; of a PIL image, which is not changed, the current frame.
    16 bits are scaled to 8.

    Raises `InputError`: a file that is none or is broken, a picture that is too large, an array that is none. Raises
    `InputTypeError`: anything else. Raises `NotAvailableError`: Pillow is not installed.

    >>> import numpy as np
    >>> found = picture_of(np.zeros((4, 6), np.uint8))
    >>> found.image.mode, found.image.size, found.note
    ('RGB', (6, 4), '6 × 4 px')
    """
    require("PIL", "An image")
    if isinstance(given, (str, os.PathLike)):
        return _of_file(Path(given))
    if _is_pil(given):
        return _plain(given, [])
    if isinstance(given, np.ndarray):
        from PIL import Image

        return _plain(Image.fromarray(_bytes(given, name)), [])
    hint = EXAMPLES
    if hasattr(given, "read"):
        hint = "Give PIL.Image.open(file)."
    elif hasattr(given, "permute"):
        hint = "Give image.numpy(), with the channels last: image.permute(1, 2, 0).numpy()."
    raise InputTypeError(f"{name} is {short_repr(given)}, expected a picture.", hint)


def _is_pil(given: object) -> bool:
    """True of a PIL image; PIL is not imported to ask."""
    kinds = type(given).__mro__
    return any(kind.__module__ == "PIL.Image" and kind.__name__ == "Image" for kind in kinds)


def _of_file(path: Path) -> Picture:
    from PIL import Image

    called = short_repr(str(path))
    place = stands_at(path)
    if place != "file":
        what = "is a folder" if place == "folder" else "does not exist"
        raise InputError(f"The image file {called} {what}.", EXAMPLES)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(
                f"The file {called} has {path.stat().st_size:,} bytes, at most {MOST_BYTES:,} are read.",
                "Save it smaller.",
            )
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{called} cannot be read: {error.strerror or error}.") from error
    Image.init()
    formats = [name for name in FORMATS if name in Image.OPEN]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(content), formats=formats)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_large(called, "more pixels than Pillow decodes") from error
    except Exception as error:  # whatever a decoder raises on a header that it does not read
        if b"<svg" in content[:4096].lower():
            raise InputError(
                f"{called} is an SVG. {DRAWING}.", "Export it as PNG, and give that file."
            ) from error
        raise InputError(
            f"{called} is no image that Pillow reads, or is broken.",
            f"Formats: {', '.join(formats)}.",
        ) from error
    return _plain(image, [_on_one_line(path.name)], called, of_file=True)


def _plain(
    image: Any, words: list[str], called: str = "The image", *, of_file: bool = False
) -> Picture:
    """A PIL image as RGB, with what was done to it."""
    from PIL import Image, ImageOps

    width, height = image.size
    if not width or not height:
        raise InputError(f"{called} has {width} × {height} px, which is no picture.", EXAMPLES)
    if width * height > MOST_PIXELS:
        raise _too_large(called, f"{width:,} × {height:,} px")
    if max(width, height) > LONGEST * min(width, height):
        raise InputError(
            f"{called} has {width:,} × {height:,} px: one side is more than {LONGEST} times the other.",
            "Crop it.",
        )
    try:
        # To count frames is to go through them, which would change the PIL image of a user.
        frames = int(getattr(image, "n_frames", 1)) if of_file else 1
        if frames > 1:
            image.seek(0)
        frame = int(image.tell())
        is_turned = _is_turned(
            image
        )  # before it is loaded: Pillow turns a TIFF then, and forgets it
        image.load()
        turned = ImageOps.exif_transpose(image)
    except Exception as error:  # whatever a decoder raises on broken data
        raise InputError(
            f"{called} is broken: it cannot be decoded ({first_line(error)}).",
            "Get it again, or save it anew.",
        ) from error
    words = [*words, f"{turned.width} × {turned.height} px"]
    if frames > 1:
        words.append(f"first of {frames} frames")
    elif frame:
        words.append(f"frame {frame + 1}")
    if is_turned:
        words.append("turned as its EXIF says")
    if turned.mode in ("La", "RGBa"):  # premultiplied by alpha: Pillow turns them into these alone
        turned = turned.convert("LA" if turned.mode == "La" else "RGBA")
    if turned.mode.startswith("I") or turned.mode == "F":
        words.append("0 to 1 as 8 bits" if turned.mode == "F" else "16 bits as 8")
        turned = Image.fromarray(_narrowed(np.asarray(turned), called))
    if turned.mode in ("RGBA", "LA", "PA") or "transparency" in turned.info:
        opaque = turned.convert("RGBA")
        turned = Image.new("RGBA", opaque.size, "white")
        turned.alpha_composite(opaque)
        if np.asarray(opaque.getchannel("A")).min() < 255:
            words.append("transparent parts over white")
    plain = turned.convert("RGB")
    # A new image, which has nothing of the file but its pixels.
    return Picture(Image.frombytes("RGB", plain.size, plain.tobytes()), ", ".join(words))


def _on_one_line(name: str) -> str:
    """A file's name for a line of text: without bytes that are no UTF-8, controls, and marks that turn the direction of writing.

    >>> _on_one_line(f"a{chr(10)}{chr(0x202E)}gpj.png{chr(0xDCFF)}") == f"a{UNKNOWN * 2}gpj.png{UNKNOWN}"
    True
    """
    hidden = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return "".join(UNKNOWN if category(letter) in hidden else letter for letter in name)


def _is_turned(image: Any) -> bool:
    orientation = 0x0112
    return image.getexif().get(orientation, 1) in range(2, 9)


def _narrowed(values: NDArray[Any], called: str) -> NDArray[np.uint8]:
    """Pixels of 16 bits, of 32 bits that hold 16, or float, as uint8."""
    if values.dtype.kind == "f":
        return _bytes(values, called)
    if values.min() < 0 or values.max() > 255 * DEPTH:
        raise InputError(
            f"{called} has pixels from {values.min():,} to {values.max():,}, expected 16 bits.",
            "Scale it to uint8 yourself.",
        )
    return _of_16_bits(values, called)


def _of_16_bits(values: NDArray[Any], called: str) -> NDArray[np.uint8]:
    if 0 < values.max() <= 255:
        raise InputError(
            f"{called} has 16 bits or more a pixel, and none above {values.max()}: of 16 bits this is black.",
            "If its numbers are 0 to 255, say so: array.astype(np.uint8), or image.convert('L') of a PIL image.",
        )
    return np.rint(values / DEPTH).astype(np.uint8)


def _bytes(values: NDArray[Any], name: str) -> NDArray[np.uint8]:
    """An array of pixels as uint8 [H, W], [H, W, 3] or [H, W, 4].

    Raises `InputError`: another shape or type, NaN, or numbers outside of 0 to 1.
    """
    if values.ndim == 3 and values.shape[-1] == 1:
        values = values[..., 0]
    if values.ndim not in (2, 3) or (values.ndim == 3 and values.shape[-1] not in (3, 4)):
        first = values.ndim == 3 and values.shape[0] in (1, 3, 4)
        hint = "Its channels come first: give np.moveaxis(image, 0, -1)." if first else EXAMPLES
        raise InputError(
            f"{name} is an array of shape {[*values.shape]}, expected [H, W], [H, W, 3] or [H, W, 4].",
            hint,
        )
    if 0 in values.shape:
        raise InputError(f"{name} is an array of shape {[*values.shape]}, without a pixel.", EXAMPLES)  # fmt: skip
    if values.shape[0] * values.shape[1] > MOST_PIXELS:
        raise _too_large(name, f"{values.shape[1]:,} × {values.shape[0]:,} px")
    if values.dtype == np.uint8:
        return np.ascontiguousarray(values)
    if values.dtype == np.bool_:
        return values.astype(np.uint8) * np.uint8(255)
    if values.dtype == np.uint16:
        return _of_16_bits(values, name)
    if values.dtype.kind != "f":
        raise InputError(
            f"{name} is an array of {values.dtype}, expected uint8, or float from 0 to 1.",
            "image.astype(np.uint8), if its numbers are 0 to 255.",
        )
    if not np.isfinite(values).all():
        raise InputError(f"{name} holds NaN or infinite numbers.", "Replace them: np.nan_to_num(image).")  # fmt: skip
    low, high = float(values.min()), float(values.max())
    if low < 0 or high > 1:
        raise InputError(
            f"{name} holds floats from {low:.3g} to {high:.3g}, expected 0 to 1.",
            "Divide them by 255, or give uint8. A processor's pixel_values are no picture: give what it was made of.",
        )
    return np.rint(values * 255).astype(np.uint8)


def _too_large(called: str, size: str) -> InputError:
    return InputError(
        f"{called} has {size}; at most {MOST_PIXELS / 1e6:.0f} million are decoded.",
        "Make it smaller: a model sees some hundred px of each side.",
    )


def shown(image: Any) -> Any:
    """The picture that is shown: a copy with a longer side of at most `SHOWN` px."""
    from PIL import Image

    scale = SHOWN / max(image.size)
    if scale >= 1:
        return image
    size = [max(1, round(side * scale)) for side in image.size]
    return image.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)


def encoded(image: Any) -> tuple[str, bytes]:
    """Type and bytes of a picture for the page, without metadata: JPEG, or of few colors PNG where that is not larger."""
    jpeg, png = io.BytesIO(), io.BytesIO()
    image.save(jpeg, "JPEG", quality=80)
    if image.getcolors(MOST_COLORS) is None:
        return "image/jpeg", jpeg.getvalue()
    image.quantize(MOST_COLORS).save(png, "PNG")
    found = ("image/png", png) if len(png.getvalue()) <= len(jpeg.getvalue()) else ("image/jpeg", jpeg)  # fmt: skip
    return found[0], found[1].getvalue()
