"""Readers of files with arrays: each says which arrays a file has before any is decoded, then reads parts.

Files come from anywhere. What a file claims of itself is checked before memory is allocated. Libraries that
read the formats of others are extras, imported when such a file comes.
"""

from __future__ import annotations

import importlib
import math
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from backblocks.dtypes import BY_NAME, NAMES, DType
from backblocks.errors import OpError, described
from backblocks.ops._inputs import Array
from backblocks.ops._spec import check_shape, shape_text
from backblocks.ops.io.checkpoints import checkpoint
from backblocks.pages.npy import logical_dtype, read_header
from backblocks.studio.tables import read_table

MAX_BYTES = 1 << 32
"""The most bytes of an array in memory, and of all that a compressed file becomes. On a small machine the
process has less, and runs out of memory; then the tab is told that."""
MAX_ARRAYS = 1000
"""The most arrays of one file."""

Index = tuple[slice | int, ...]


@dataclass(frozen=True)
class StoredArray:
    """An array in a file, which is read when it is asked for."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    read: Callable[[Index], Array]
    """Reads a part of it. Refuses a file that does not hold what it says."""

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@contextmanager
def stored_arrays(file: Path, title: str) -> Iterator[list[StoredArray]]:
    """The arrays of a file or folder, whose name was `title`, in whatever format it is."""
    reader = _reader(file, title)
    try:
        with reader(file, Path(title).name.partition(".")[0] or "array") as found:
            if len(found) > MAX_ARRAYS:
                hint = "Take out those that the page needs."
                raise OpError(f"must hold at most {MAX_ARRAYS} arrays", got=len(found), hint=hint)
            yield [_checked(each) for each in found]
    except (OpError, MemoryError):
        raise
    except Exception as error:  # libraries tell of a broken file in many ways
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's, not the file's
        text = " ".join(str(error).split())[:200]
        got = described(f"{type(error).__name__}: {text}" if text else type(error).__name__)
        hint = "The file is cut off, or something else was written to it."
        raise OpError("must be a file that can be read", got=got, hint=hint) from None


Reader = Callable[[Path, str], Any]


def _reader(file: Path, title: str) -> Reader:
    """The reader for a file, by what it begins with; by its name where that does not say it."""
    if file.is_dir():
        return _zarr
    with open(file, "rb") as opened:
        start = opened.read(352)
    for magic, reader in _MAGIC:
        if start.startswith(magic):
            return reader
    name = title.lower()
    if name.endswith((".nii", ".nii.gz")) or start[344:348] == b"n+1\0":
        return _nifti
    is_text = b"\0" not in start or start.startswith((b"\xff\xfe", b"\xfe\xff"))
    if is_text and start and start[8:9] != b"{":
        return _table
    return _checkpoint


def _checked(array: StoredArray) -> StoredArray:
    """Refuses shapes that no array can have, and elements that are no numbers."""
    check_shape(array.shape, max(array.dtype.itemsize, 1))
    if array.dtype not in NAMES or array.dtype.names:
        hint = f"Convert it first: x.astype with one of {', '.join(BY_NAME)}."
        raise OpError("must hold numbers", got=described(str(array.dtype)), hint=hint)
    return array


def refuse_too_large(size: int, what: str) -> None:
    if size > MAX_BYTES:
        got = described(f"{size / 2**20:,.1f} MiB for {what}")
        hint = "Take a part of it, such as 0:100 of the first axis."
        raise OpError(f"must need at most {MAX_BYTES >> 20} MiB of memory", got=got, hint=hint)


def _whole(name: str, dtype: Any, shape: Any, read: Callable[[], Any]) -> StoredArray:
    """An array that can only be decoded as a whole, which is refused by its size beforehand."""
    found = np.dtype(dtype).newbyteorder("=")
    sizes = tuple(int(n) for n in shape)

    def part(index: Index) -> Array:
        refuse_too_large(math.prod(sizes) * found.itemsize, f"{shape_text(sizes)} of {found}")
        array = np.asarray(read())
        if array.shape != sizes:
            got = described(f"{shape_text(array.shape)}, not {shape_text(sizes)}")
            hint = "The file is cut off, or something else was written to it."
            raise OpError("must hold the array that it says", got=got, hint=hint)
        return array.astype(found, copy=False)[index]

    return StoredArray(name, found, sizes, part)


def _loaded(name: str, array: Array) -> StoredArray:
    return _whole(name, array.dtype, array.shape, lambda: array)


def _library(name: str, extra: str, what: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        package = {"PIL.Image": "pillow"}.get(name, name)
        raise OpError(
            f"needs the library {package}, which reads {what}",
            hint=f'Install it: pip install "backblocks[{extra}]", and start the studio again.',
        ) from None


# -- NumPy's and TensorFlow's files -------------------------------------------------------------------


@contextmanager
def _npy(file: Path, name: str) -> Iterator[list[StoredArray]]:
    with open(file, "rb") as opened:
        shape, fortran, stored = read_header(opened, file.name)
        at = opened.tell()
    check_shape(shape, max(stored.itemsize, 1))
    size = math.prod(shape) * stored.itemsize
    dtype = logical_dtype(stored.newbyteorder("="))
    if stored.hasobject or at + size != file.stat().st_size:
        hint = "It was cut off, or something else was written to it."
        raise OpError("must be a whole file of one array of numbers", hint=hint)

    def read(index: Index) -> Array:
        if size == 0:
            return np.zeros(shape, dtype)[index]
        # Only the part is brought into memory.
        order: Any = "F" if fortran else "C"
        part = np.memmap(file, stored, "r", at, shape, order)[index]
        refuse_too_large(part.nbytes, f"{shape_text(part.shape)} of {dtype}")
        array = np.array(part, stored.newbyteorder("="), order="C")
        return array.view(dtype)

    yield [StoredArray(name, dtype, shape, read)]


@contextmanager
def _checkpoint(file: Path, name: str) -> Iterator[list[StoredArray]]:
    """npz, safetensors and checkpoints of TensorFlow: tensors by name."""
    _refuse_inflated(file)
    with checkpoint("file", os.fsencode(file)) as tensors:
        names = tensors.names()
        if len(names) > MAX_ARRAYS:
            hint = "Take out those that the page needs."
            raise OpError(f"must hold at most {MAX_ARRAYS} arrays", got=len(names), hint=hint)
        found, size = [], 0
        for each in names:
            array = tensors.read("file", each)
            size += array.nbytes
            _refuse_more(size, file)
            found.append(_loaded(each, array))
        yield found


def _refuse_inflated(file: Path) -> None:
    """Refuses a zip file by the sizes that it says its files have once they are decompressed.

    zipfile reads no more of a file than that, so a size that is too small to be true makes the file broken.
    """
    with open(file, "rb") as opened:
        if opened.read(2) != b"PK":
            return
        try:
            with zipfile.ZipFile(opened) as archive:
                size = sum(each.file_size for each in archive.infolist())
        except Exception as error:  # a broken one fails in more ways than zipfile tells
            hint = "Write it with np.savez."
            raise OpError("must be a zip file", got=described(str(error)), hint=hint) from None
    _refuse_more(size, file)


def _refuse_more(size: int, file: Path) -> None:
    if size > MAX_BYTES:
        packed = file.stat().st_size
        got = described(f"{size / 2**20:.1f} MiB, in a file of {packed / 2**20:.1f} MiB")
        hint = "Keep in the file only those that the page needs."
        raise OpError(f"must hold at most {MAX_BYTES >> 20} MiB of arrays", got=got, hint=hint)


# -- tables -------------------------------------------------------------------------------------------


@contextmanager
def _table(file: Path, name: str) -> Iterator[list[StoredArray]]:
    yield [_loaded(key, array) for key, array in read_table(file, name).items()]


# -- images and volumes -------------------------------------------------------------------------------

_PLAIN_MODES = {
    "1": "L",
    "P": "RGB",
    "PA": "RGBA",
    "CMYK": "RGB",
    "YCbCr": "RGB",
    "LAB": "RGB",
    "HSV": "RGB",
}
"""Modes of Pillow whose numbers are no grey values or colours, and what they are converted to."""


@contextmanager
def _image(file: Path, name: str) -> Iterator[list[StoredArray]]:
    """PNG and JPEG, as [height, width, channels], the way up that they are looked at."""
    pillow = _library("PIL.Image", "images", "PNG and JPEG")
    orientation = importlib.import_module("PIL.ImageOps")
    pillow.MAX_IMAGE_PIXELS = None  # the size is checked here, by the bytes that it takes
    with pillow.open(file, formats=("PNG", "JPEG")) as image:
        plain = "RGBA" if "transparency" in image.info else _PLAIN_MODES.get(image.mode, image.mode)
        channels, bits = pillow.getmodebands(plain), 16 if plain.startswith("I") else 8
        width, height = image.size
        # Cameras write how they were held; to look for it in a PNG would decode it.
        photograph = image.format == "JPEG"
        turned = photograph and image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        shape = (*((width, height) if turned else (height, width)), channels)

        def read() -> Array:
            whole = orientation.exif_transpose(image) if photograph else image
            array = np.asarray(whole if whole.mode == plain else whole.convert(plain))
            return array.astype(f"uint{bits}").reshape(shape)

        yield [_whole(name, f"uint{bits}", shape, read)]


@contextmanager
def _tiff(file: Path, name: str) -> Iterator[list[StoredArray]]:
    """Every series of a TIFF file: images of one shape and type, stacked."""
    library = _library("tifffile", "images", "TIFF")
    with library.TiffFile(file) as opened:
        many = len(opened.series) > 1
        yield [
            _whole(f"{name}_{i + 1}" if many else name, each.dtype, each.shape, each.asarray)
            for i, each in enumerate(opened.series)
            if each.dtype is not None
        ]


@contextmanager
def _nifti(file: Path, name: str) -> Iterator[list[StoredArray]]:
    """A scan as its axes stand in the file, scaled as its header says."""
    library = _library("nibabel", "volumes", "NIfTI")
    with open(file, "rb") as opened:
        packed = opened.read(2) == b"\x1f\x8b"
    with _named(file, ".nii.gz" if packed else ".nii") as link:
        image = (
            library.Nifti1Image.from_filename(link)
            if _version(link, packed) == 1
            else (library.Nifti2Image.from_filename(link))
        )
        stored = image.dataobj
        scaled = (stored.slope, stored.inter) != (1, 0)
        dtype = (
            np.dtype("float32") if scaled else np.dtype(image.get_data_dtype()).newbyteorder("=")
        )
        if not packed:
            claimed = math.prod(image.shape) * image.get_data_dtype().itemsize
            if claimed + stored.offset > file.stat().st_size:
                hint = "It was cut off, or something else was written to it."
                raise OpError("must be a whole file", hint=hint)

        def read(index: Index) -> Array:
            sizes = np.broadcast_to(np.int8(0), image.shape)[index].shape
            refuse_too_large(math.prod(sizes) * 8, f"{shape_text(sizes)} of {dtype}")
            if (
                packed
            ):  # what stands before a part has to be decompressed too, which takes as long as all
                refuse_too_large(math.prod(image.shape) * 8, shape_text(image.shape))
            return np.ascontiguousarray(np.asarray(stored[index]), dtype)

        yield [StoredArray(name, dtype, tuple(int(n) for n in image.shape), read)]


def _version(file: Path, packed: bool) -> int:
    import gzip

    with gzip.open(file) if packed else open(file, "rb") as opened:
        return 2 if int.from_bytes(opened.read(4), "little") in (540, 0x1C020000) else 1


@contextmanager
def _named(file: Path, suffix: str) -> Iterator[Path]:
    """The file under a name with this suffix, by which nibabel goes."""
    link = file.with_name(file.name + suffix)
    link.symlink_to(file)
    try:
        yield link
    finally:
        link.unlink()


# -- Zarr ---------------------------------------------------------------------------------------------

_CODECS = {
    *(
        "blosc",
        "bytes",
        "bz2",
        "crc32c",
        "delta",
        "endian",
        "fixedscaleoffset",
        "gzip",
        "lz4",
        "lzma",
    ),
    *("packbits", "sharding_indexed", "shuffle", "transpose", "zlib", "zstd"),
}
"""Codecs that give numbers. Others, such as pickle, may run code."""


@contextmanager
def _zarr(folder: Path, name: str) -> Iterator[list[StoredArray]]:
    """The arrays of a Zarr folder, of format 2 or 3, by their paths in it."""
    library = _library("zarr", "volumes", "Zarr")
    root = library.open(store=str(folder), mode="r")
    if isinstance(root, library.Array):
        yield [_zarr_array(name, root)]
    else:
        yield [_zarr_array(path, each) for path, each in _zarr_members(library, root)]


def _zarr_members(library: Any, root: Any) -> Iterator[tuple[str, Any]]:
    for path, each in root.members(max_depth=None):
        if isinstance(each, library.Array):
            yield path, each


def _zarr_array(name: str, array: Any) -> StoredArray:
    """Its metadata is checked before a chunk is decoded."""
    dtype = np.dtype(array.dtype).newbyteorder("=")
    used = {_codec_name(each) for each in _codecs(array)}
    if dtype.hasobject or not used <= _CODECS:
        got = described(f"{dtype} encoded by {', '.join(sorted(used - _CODECS)) or 'objects'}")
        hint = "Write it as numbers, with a codec such as zstd."
        raise OpError("must hold numbers that can be read without running code", got=got, hint=hint)
    shape = tuple(int(n) for n in array.shape)
    chunk = math.prod(int(n) for n in array.chunks) * dtype.itemsize

    def read(index: Index) -> Array:
        sizes = np.broadcast_to(np.int8(0), shape)[index].shape
        refuse_too_large(math.prod(sizes) * dtype.itemsize, f"{shape_text(sizes)} of {dtype}")
        refuse_too_large(chunk, "one chunk")
        return np.ascontiguousarray(np.asarray(array[index]), dtype)

    return StoredArray(name, dtype, shape, read)


def _codecs(array: Any) -> list[Any]:
    metadata = array.metadata.to_dict()
    found = [*(metadata.get("codecs") or ()), *(metadata.get("filters") or ())]
    for each in [*found]:  # shards have codecs of their own
        inner = each.get("configuration") or {} if isinstance(each, dict) else {}
        found += [*(inner.get("codecs") or ()), *(inner.get("index_codecs") or ())]
    return [each for each in [*found, metadata.get("compressor")] if each]


def _codec_name(codec: Any) -> str:
    named = codec if isinstance(codec, dict) else getattr(codec, "to_dict", codec.get_config)()
    return str(named.get("name") or named.get("id")).removeprefix("numcodecs.")


_MAGIC: tuple[tuple[bytes, Reader], ...] = (
    (b"\x93NUMPY", _npy),
    (b"PK", _checkpoint),
    (b"\x89PNG\r\n\x1a\n", _image),
    (b"\xff\xd8\xff", _image),
    (b"II*\0", _tiff),
    (b"MM\0*", _tiff),
    (b"II+\0", _tiff),
    (b"MM\0+", _tiff),
)
