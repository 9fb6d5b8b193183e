"""Tables, images and volumes dropped on a page, read by the real libraries, and hostile ones of each."""

import gzip
import io
import json
import pickle
import struct
import sys
import zlib

import nibabel
import numpy as np
import pytest
import tifffile
import zarr
from PIL import Image

from backblocks.errors import OpError
from backblocks.pages.constants import parse_constant
from backblocks.pages.folder import Folder
from backblocks.studio import array_readers
from backblocks.studio.array_import import MAX_INLINE_ELEMENTS, constants

IMAGE = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
VOLUME = np.arange(2 * 3 * 4, dtype=np.int16).reshape(2, 3, 4)


@pytest.fixture
def imported(tmp_path):
    """Imports bytes under a name, and gives the arrays as the page then has them."""

    def read(data, name, parts=None, is_folder=False):
        file = tmp_path / "upload"
        file.write_bytes(data)
        page = tmp_path / "p.page.json"
        found = constants(file, name, page, parts, is_folder)
        assert not [each for each in tmp_path.iterdir() if each.suffix in (".nii", ".gz")]
        folder = Folder.of(page)
        return {
            each["name"]: each["constant"] and parse_constant(each["constant"], folder)
            for each in found
        }

    return read


def same(found, **wanted):
    assert list(found) == list(wanted)
    for name, array in wanted.items():
        array = np.asarray(array)
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


# -- tables -------------------------------------------------------------------------------------------

F, N = np.float32, np.int32
TABLES = {
    "commas": ("1,2\n3,4\n", np.array([[1, 2], [3, 4]], N)),
    "tabs, as a spreadsheet copies": ("1.5\t2\r\n-3\t4e3\r\n", np.array([[1.5, 2], [-3, 4e3]], F)),
    "a header": ("x,y\n1,2\n3,4.5\n", np.array([[1, 2], [3, 4.5]], F)),
    "an empty cell": ("1,2\n,4\n", np.array([[1, 2], [np.nan, 4]], F)),
    "semicolons and decimal commas": ("1,5;2\n1.234,5;4\n", np.array([[1.5, 2], [1234.5, 4]], F)),
    "quoted thousands": ('"1,234","5"\n"2","3"\n', np.array([[1234, 5], [2, 3]], N)),
    "spaces, as np.savetxt writes": ("1 2.5\n3 4\n", np.array([[1, 2.5], [3, 4]], F)),
    "one column": ("1\n2\n3\n", np.array([[1], [2], [3]], N)),
    "long whole numbers": ("1,4000000000\n", np.array([[1, 4000000000]], np.int64)),
    "numbers that float32 has not": ("1e300,0.5\n", np.array([[1e300, 0.5]])),
    "words for numbers": ("nan,inf\n-inf,0.5\n", np.array([[np.nan, np.inf], [-np.inf, 0.5]], F)),
}


@pytest.mark.parametrize(("text", "wanted"), TABLES.values(), ids=TABLES)
def test_a_table_of_numbers_is_a_matrix(imported, text, wanted):
    same(imported(text.encode(), "data.csv"), data=wanted)


def test_tables_of_excel_are_read_in_its_encodings(imported):
    same(imported("é\n1\n".encode("utf-16"), "t.txt"), t=np.array([[1]], N))
    same(imported("é\n1\n".encode("utf-8-sig"), "t.csv"), t=np.array([[1]], N))


def test_columns_of_text_make_each_column_an_array(imported):
    found = imported(b"name,size\na,1\nb,2.5\n", "t.csv")
    same(found, name=np.array([b"a", b"b"], object), size=np.array([1, 2.5], F))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("1,2\n3\n", "must have 2 cells in every row, as in the first; got '1 in row 2'"),
        ("hello", "must hold numbers"),
        ("a,b\nc,d\n", "must hold numbers"),
        ("1,2\n\n3,4,5\n", "got '3 in row 2'"),
    ],
)
def test_what_is_no_table_is_told(imported, text, error):
    with pytest.raises(OpError, match=error):
        imported(text.encode(), "t.csv")


# -- images -------------------------------------------------------------------------------------------


def encoded(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def test_images_are_height_width_channels(imported):
    same(imported(encoded(Image.fromarray(IMAGE), "PNG"), "a.b.png"), a=IMAGE)
    grey = Image.fromarray(IMAGE[..., 0])
    same(imported(encoded(grey, "PNG"), "g.png"), g=IMAGE[..., :1])
    same(
        imported(encoded(grey.convert("1", dither=0), "PNG"), "g.png"),
        g=255 * (IMAGE[..., :1] >= 128).astype("u1"),
    )
    deep = (IMAGE[..., 0].astype(np.uint16) + 1) * 257
    same(imported(encoded(Image.fromarray(deep), "PNG"), "d.png"), d=deep[..., None])
    palette = Image.fromarray(IMAGE).convert("P")
    same(imported(encoded(palette, "PNG"), "p.png"), p=np.asarray(palette.convert("RGB")))
    plain = encoded(Image.fromarray(np.full((8, 8, 3), 77, "u1")), "JPEG")
    assert imported(plain, "j.jpg")["j"].shape == (8, 8, 3)


def test_a_photograph_is_the_way_up_that_it_is_looked_at(imported):
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(Image.fromarray(np.zeros((8, 16, 3), "u1")), "JPEG", exif=exif)
    assert imported(data, "j.jpg")["j"].shape == (16, 8, 3)


def png_claiming(width, height):
    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def test_an_image_that_claims_too_many_pixels_is_refused_before_it_is_decoded(
    imported, monkeypatch
):
    monkeypatch.setattr(Image.Image, "load", lambda *_: pytest.fail("it was decoded"))
    with pytest.raises(OpError, match=r"must need at most 4096 MiB of memory; got 27,465.8 MiB"):
        imported(png_claiming(96_000, 100_000), "big.png", {})


def test_stacks_of_tiff_are_one_array(imported):
    file = io.BytesIO()
    tifffile.imwrite(file, VOLUME, photometric="minisblack")
    same(imported(file.getvalue(), "stack.tif"), stack=VOLUME)
    file = io.BytesIO()
    tifffile.imwrite(file, VOLUME.astype(">f4"), compression="zlib", photometric="minisblack")
    same(imported(file.getvalue(), "stack.tiff"), stack=VOLUME.astype("f4"))
    file = io.BytesIO()
    with tifffile.TiffWriter(file) as writer:
        writer.write(IMAGE)
        writer.write(VOLUME[0])
    same(imported(file.getvalue(), "two.tif"), two_1=IMAGE, two_2=VOLUME[0])


# -- volumes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [nibabel.Nifti1Image, nibabel.Nifti2Image])
@pytest.mark.parametrize("suffix", [".nii", ".nii.gz"])
def test_a_scan_has_the_axes_of_its_file(imported, make, suffix):
    data = make(VOLUME, np.eye(4)).to_bytes()
    data = gzip.compress(data) if suffix.endswith("gz") else data
    same(imported(data, f"scan{suffix}"), scan=VOLUME)
    same(imported(data, f"scan{suffix}", {"scan": "1, :, 0:2"}), scan=VOLUME[1, :, 0:2])


def test_a_scan_is_scaled_as_its_header_says(imported):
    image = nibabel.Nifti1Image(VOLUME, np.eye(4))
    image.header.set_slope_inter(0.5, 10)
    data = image.to_bytes()
    found = imported(data, "scan.nii")["scan"]
    expected = nibabel.Nifti1Image.from_bytes(data).get_fdata(dtype=np.float32)
    same({"scan": found}, scan=expected)


def packed(folder):
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    listed = [[str(each.relative_to(folder)), each.stat().st_size] for each in files]
    head = json.dumps(listed).encode()
    return len(head).to_bytes(4, "little") + head + b"".join(each.read_bytes() for each in files)


@pytest.mark.parametrize("version", [2, 3])
def test_zarr_folders_are_read_by_their_arrays(imported, tmp_path, version):
    folder = tmp_path / "z.zarr"
    root = zarr.open_group(folder, mode="w", zarr_format=version)
    root.create_array("a", data=VOLUME, chunks=(1, 3, 2))
    root.create_group("deep").create_array("b", data=np.arange(3.0))
    same(dict(sorted(imported(packed(folder), "z.zarr", is_folder=True).items())),
         **{"a": VOLUME, "deep/b": np.arange(3.0)})  # fmt: skip
    one = tmp_path / "one.zarr"
    zarr.create_array(one, data=VOLUME, zarr_format=version)
    same(imported(packed(one), "one.zarr", {"one": "0"}, is_folder=True), one=VOLUME[0])


class Bomb:
    """Runs code when it is unpickled."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return open, (self.file, "w")


@pytest.mark.parametrize("dtype", ["|O", "<i2"])
def test_a_zarr_codec_that_could_run_code_is_refused(imported, tmp_path, dtype):
    folder, fired = tmp_path / "z", tmp_path / "fired"
    zarr.create_array(folder, data=VOLUME, zarr_format=2, compressors=None)
    about = json.loads((folder / ".zarray").read_text())
    about |= {"filters": [{"id": "pickle", "protocol": 5}], "dtype": dtype}
    (folder / ".zarray").write_text(json.dumps(about))
    (folder / "0.0.0").write_bytes(pickle.dumps(Bomb(str(fired))))
    with pytest.raises(OpError, match=r"^z\.zarr: "):
        imported(packed(folder), "z.zarr", {}, is_folder=True)
    assert not fired.exists()


def test_a_zarr_codec_that_is_not_known_is_refused(imported, tmp_path, monkeypatch):
    monkeypatch.setattr(array_readers, "_CODECS", set())
    zarr.create_array(tmp_path / "z", data=VOLUME)
    with pytest.raises(OpError, match="without running code; got int16 encoded by bytes, zstd"):
        imported(packed(tmp_path / "z"), "z.zarr", {}, is_folder=True)


def test_a_chunk_that_claims_too_much_is_refused(imported, tmp_path):
    folder = tmp_path / "z"
    zarr.create_array(folder, data=VOLUME, zarr_format=2)
    about = json.loads((folder / ".zarray").read_text())
    about["chunks"] = [100_000, 100_000, 10]
    (folder / ".zarray").write_text(json.dumps(about))
    with pytest.raises(OpError, match="one chunk"):
        imported(packed(folder), "z.zarr", is_folder=True)


@pytest.mark.parametrize("path", ["../x", "/x", "a//b", "a/./b", "a\\b", ""])
def test_a_folder_with_paths_that_lead_out_is_refused(imported, path):
    head = json.dumps([[path, 1]]).encode()
    with pytest.raises(OpError, match="packed by the studio"):
        imported(len(head).to_bytes(4, "little") + head + b"x", "z", is_folder=True)


# -- large ones ---------------------------------------------------------------------------------------


def test_a_part_of_a_large_array_is_taken_only_if_somebody_wants_a_part(imported):
    large = np.arange(2 * (MAX_INLINE_ELEMENTS + 1), dtype=np.int32).reshape(2, -1)
    file = io.BytesIO()
    np.save(file, np.asfortranarray(large))
    data = file.getvalue()
    assert imported(data, "x.npy") == {"x": None}
    same(imported(data, "x.npy", {}), x=large)
    same(imported(data, "x.npy", {"x": "1, 5:20:5"}), x=large[1, 5:20:5])
    for part, error in {
        "0:1, 2, 3": "at most 2 axes",
        "x": "must be an index",
        "2": "must lie inside",
        "::0": "steps from 1",
    }.items():
        with pytest.raises(OpError, match=error):
            imported(data, "x.npy", {"x": part})


def test_an_array_beyond_memory_can_be_taken_in_part(imported, monkeypatch):
    monkeypatch.setattr(array_readers, "MAX_BYTES", 1000)
    file = io.BytesIO()
    np.save(file, np.arange(1000.0))
    with pytest.raises(OpError, match="Take a part of it"):
        imported(file.getvalue(), "x.npy", {})
    same(imported(file.getvalue(), "x.npy", {"x": "3:5"}), x=np.array([3.0, 4]))


# -- hostile ones -------------------------------------------------------------------------------------


def hostile():
    png = encoded(Image.fromarray(IMAGE), "PNG")
    jpeg = encoded(Image.fromarray(IMAGE), "JPEG")
    file = io.BytesIO()
    tifffile.imwrite(file, VOLUME, photometric="minisblack")
    tiff = file.getvalue()
    scan = nibabel.Nifti1Image(VOLUME, np.eye(4)).to_bytes()
    for name, data in {"a.png": png, "a.jpg": jpeg, "a.tif": tiff, "a.nii": scan}.items():
        yield f"{name} cut off", name, data[: len(data) * 2 // 3]
        yield f"{name} cut early", name, data[:20]
    yield "a.nii.gz cut off", "a.nii.gz", gzip.compress(scan)[:-20]
    yield "a.nii.gz of nothing", "a.nii.gz", b"\x1f\x8b"
    lying = bytearray(scan)
    lying[40:56] = struct.pack("<8h", 3, 30000, 30000, 30000, 1, 1, 1, 1)
    yield "a.nii that lies", "a.nii", bytes(lying)
    yield "a.nii.gz that lies", "a.nii.gz", gzip.compress(bytes(lying))
    yield "a.png that lies", "a.png", png_claiming(90_000, 90_000)
    yield "bytes", "a.bin", bytes(range(256))
    yield "a folder of nothing", "a.zarr", b"\x02\0\0\0[]"


HOSTILE = {name: rest for name, *rest in hostile()}


@pytest.mark.parametrize(("name", "data"), HOSTILE.values(), ids=HOSTILE)
@pytest.mark.filterwarnings("default")
def test_a_hostile_file_gets_a_sentence(imported, name, data):
    with pytest.raises(OpError, match=rf"^{name}: .*\.$"):
        imported(data, name, {}, is_folder=name.endswith(".zarr"))


@pytest.mark.parametrize(
    ("module", "name", "data", "extra"),
    [
        ("PIL.Image", "a.png", encoded(Image.fromarray(IMAGE), "PNG"), "images"),
        ("tifffile", "a.tif", b"II*\0", "images"),
        ("nibabel", "a.nii", b"\0" * 400, "volumes"),
    ],
)
def test_a_missing_library_is_named_with_what_installs_it(
    imported, monkeypatch, module, name, data, extra
):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(OpError, match=rf'pip install "backblocks\[{extra}\]"'):
        imported(data, name)
