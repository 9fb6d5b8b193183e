"""Checkpoints: what is saved comes back, TensorFlow's own are read, and broken files are refused."""

import io
import json
import random
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import backblocks as bb
from backblocks import ops
from backblocks.dtypes import NAMES

RECORDED = Path(__file__).parent / "checkpoints"
# What TensorFlow 2.21 was given to save into the files in that folder.
TENSORS = {
    "f32": np.array([[1, 2], [3, 4]], np.float32),
    "f64": np.array([1.5, -2]),
    "i32": np.array([[7, -8]], np.int32),
    "i64": np.array(2**40),
    "bool": np.array([True, False]),
    "string": np.array([b"a", b"", b"\0bc"], object),
    "f16": np.array([1.5, 2], np.float16),
    "bf16": np.array([1.5, 2], ml_dtypes.bfloat16),
    "c64": np.array([1 + 2j], np.complex64),
    "c128": np.array([1 + 2j]),
    "u8": np.array([200, 3], np.uint8),
    "i8": np.array([-3], np.int8),
    "i16": np.array([-300], np.int16),
    "u16": np.array([60000], np.uint16),
    "empty": np.zeros((0, 3), np.float32),
    "u32": np.array([2**31 + 5], np.uint32),
    "u64": np.array([2**63 + 5], np.uint64),
}
VERSION_1 = [name for name in TENSORS if name not in ("bf16", "u32", "u64")]
PIPES = np.array([[b"", b"\0"], [b"\xff\xfe", b"text"]], object)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def restored(file, name):
    return ops.restore(str(file), name, dt=NAMES[TENSORS[name].dtype])


def check(got, want):
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert got.tolist() == want.tolist()


def save_all(file="file"):
    ops.save(file, list(TENSORS), list(TENSORS.values()))


def test_what_was_saved_comes_back():
    save_all("sub/file")
    for name, want in TENSORS.items():
        check(restored("sub/file", name), want)
    names, dtypes = ["i64", "string"], ["int64", "string"]
    for got, name in zip(
        ops.restore_v2("sub/file", names, ["", ""], dtypes=dtypes), names, strict=True
    ):
        check(got, TENSORS[name])


def test_save_v2_writes_a_file_of_that_name(folder):
    ops.save_v2("run/model", ["a/b", "ü"], ["", ""], [np.arange(3), PIPES])
    assert [path.name for path in (folder / "run").iterdir()] == ["model"]
    numbers, text = ops.restore_v2("run/model", ["a/b", "ü"], ["", ""], dtypes=["int64", "string"])
    check(numbers, np.arange(3))
    check(text, PIPES)


def test_the_file_is_safetensors(folder):
    x = np.arange(6, dtype=">f4").reshape(2, 3).astype(np.float32)
    ops.save("file", "x", [x])
    data = (folder / "file").read_bytes()
    length = int.from_bytes(data[:8], "little")
    assert length % 8 == 0
    header = json.loads(data[8 : 8 + length])
    assert header == {"x": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
    assert data[8 + length :] == x.astype("<f4").tobytes()


def test_a_file_of_others_is_read(folder):
    header = (
        b'{"__metadata__":{"format":"pt"},"w":{"dtype":"I16","shape":[2],"data_offsets":[0,4]}}'
    )
    (folder / "file").write_bytes(len(header).to_bytes(8, "little") + header + b"\1\0\xff\xff")
    check(ops.restore("file", "w", dt="int16"), np.array([1, -1], np.int16))


@pytest.mark.parametrize("name", VERSION_1)
def test_tensorflows_version_1_is_read(name):
    check(restored(RECORDED / "v1", name), TENSORS[name])


@pytest.mark.parametrize("name", TENSORS)
def test_tensorflows_version_2_is_read(name):
    check(restored(RECORDED / "v2", name), TENSORS[name])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_is_read(folder, save):
    numbers = {name: x for name, x in TENSORS.items() if x.dtype.kind != "O"}
    columns = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    save(folder / "file.npz", columns=columns, big=np.arange(3, dtype=">i4"), **numbers)
    for name, want in numbers.items():
        check(restored("file.npz", name), want)
    check(ops.restore("file.npz", "columns", dt="float64"), np.arange(6.0).reshape(2, 3))
    check(ops.restore("file.npz", "big", dt="int32"), np.arange(3, dtype=np.int32))


def test_no_pickle_is_ever_read(folder):
    np.savez(folder / "file.npz", x=np.array([{}], object))
    with pytest.raises(bb.OpError, match="has type object"):
        ops.restore("file.npz", "x", dt="string")


def test_several_files_are_searched():
    ops.save("part-0", ["a"], [np.zeros(1)])
    ops.save("part-1", ["b"], [np.ones(1)])
    check(ops.restore("part-*", "b", dt="float64"), np.ones(1))


@pytest.mark.parametrize(
    ("words", "part"),
    [("2 3 -:-", np.s_[:, :]), ("2 3 0,1:-", np.s_[:1]), ("2 3 1,1:1,2", np.s_[1:, 1:])],
)
def test_parts_are_restored(words, part):
    x = np.arange(6.0).reshape(2, 3)
    ops.save("file", "x", [x])
    check(ops.restore_slice("file", "x", words, dt="float64"), x[part])
    check(ops.restore_v2("file", ["x"], [words], dtypes=["float64"])[0], x[part])


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("2 2 -:-", "begin with the shape"),
        ("junk", "begin with the shape"),
        ("2 3 -", "each of the 2 axes"),
        ("2 3 1,2:-", "lie within"),
        ("2 3 0,0:-", "lie within"),
        ("2 3 a,b:-", "start,length"),
        ("2 3 -1,2:-", "start,length"),
        (" ", "begin with the shape"),
        ("2 3 " + "9" * 5000 + ",1:-", "start,length"),
    ],
)
def test_parts_that_are_none_are_refused(words, error):
    ops.save("file", "x", [np.zeros((2, 3))])
    with pytest.raises(bb.OpError, match=rf"RestoreSlice\.shape_and_slice: .*{error}"):
        ops.restore_slice("file", "x", words, dt="float64")
    with pytest.raises(bb.OpError, match=rf"RestoreV2\.shape_and_slices: .*{error}"):
        ops.restore_v2("file", ["x"], [words], dtypes=["float64"])


def test_mistakes_are_named():
    save_all()
    with pytest.raises(bb.OpError, match=r"Restore\.tensor_name: .*got 'f23'. It has f32"):
        ops.restore("file", "f23", dt="float32")
    with pytest.raises(bb.OpError, match=r"Restore\.dt: must be float32.*got float64"):
        ops.restore("file", "f32", dt="float64")
    with pytest.raises(bb.OpError, match=r"RestoreV2\.dtypes: must be float32.*got float64"):
        ops.restore_v2("file", ["f32"], [""], dtypes=["float64"])


# -- files that are not what they seem ------------------------------------------------------------


def safetensors(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(**changed):
    return {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | changed}


def kinds(text):
    return entry(dtype="U8", shape=[8]) | {"__metadata__": {"backblocks": text}}


BROKEN = {
    "nothing": b"",
    "few bytes": b"abc",
    "another format": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "a header without end": safetensors(entry(), bytes(8), length=2**63),
    "no JSON": safetensors(b"{nonsense", bytes(8)),
    "a deep one": safetensors(b'{"x":' * 100_000, bytes(8)),
    "one name twice": safetensors(b'{"x":{},"x":{}}'),
    "a number of many digits": safetensors(b'{"x":' + b"9" * 10_000 + b"}"),
    "a list": safetensors(b"[1]"),
    "no type": safetensors(entry(dtype="F99"), bytes(8)),
    "a type that is a list": safetensors(entry(dtype=[]), bytes(8)),
    "no shape": safetensors(entry(shape=None), bytes(8)),
    "a negative size": safetensors(entry(shape=[-2]), bytes(8)),
    "a size of half": safetensors(entry(shape=[0.5]), bytes(8)),
    "a yes for a size": safetensors(entry(shape=[True, 2]), bytes(8)),
    "more than there is": safetensors(entry(shape=[2**60]), bytes(8)),
    "behind the end": safetensors(entry(data_offsets=[8, 16]), bytes(8)),
    "before the start": safetensors(entry(data_offsets=[-8, 0]), bytes(8)),
    "turned around": safetensors(entry(data_offsets=[8, 0]), bytes(8)),
    "three offsets": safetensors(entry(data_offsets=[0, 4, 8]), bytes(8)),
    "other kinds": safetensors(kinds('{"x": ["string", [2]]}'), bytes(8)),
    "kinds of nothing": safetensors(kinds('{"x": 3}'), bytes(8)),
    "no kinds": safetensors(kinds("3"), bytes(8)),
    "lengths that lie": safetensors(kinds('{"x": ["string", [1]]}'), b"\xff" * 8),
    "sizes that no array has": safetensors(entry(shape=[0, 2**40, 2**40], data_offsets=[0, 0])),
    "33 axes": safetensors(entry(shape=[1] * 33, data_offsets=[0, 4]), bytes(8)),
    "a million axes": safetensors(entry(shape=[2**60] * 10**6), bytes(8)),
    "a number for kinds": safetensors(kinds(5), bytes(8)),
    "a list for kinds": safetensors(kinds(["x"]), bytes(8)),
    "kinds of a negative size": safetensors(kinds('{"x": ["string", [-1]]}'), bytes(8)),
    "kinds of sizes beyond": safetensors(
        kinds('{"x": ["string", [99999999999999999999]]}'), bytes(8)
    ),
    "kinds of sizes that no array has": safetensors(
        kinds('{"x": ["complex64", [0, 1099511627776, 1099511627776]]}'), bytes(8)
    ),
    "kinds of a size of half": safetensors(kinds('{"x": ["string", [0.5]]}'), bytes(8)),
    "kinds that are a table": safetensors(kinds('{"x": {"a": 1, "b": 2}}'), bytes(8)),
    "half a zip": b"PK\x03\x04" + bytes(50),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_broken_files_are_refused(folder, content):
    (folder / "file").write_bytes(content)
    with pytest.raises(bb.OpError, match=r"Restore\.file_pattern: must name a checkpoint"):
        ops.restore("file", "x", dt="float32")


def test_an_array_in_a_zip_that_claims_too_much(folder):
    header = io.BytesIO()
    described = {"descr": "<f8", "fortran_order": False, "shape": (2**50,)}
    np.lib.format.write_array_header_1_0(header, described)
    with zipfile.ZipFile(folder / "file.npz", "w") as file:
        file.writestr("x.npy", header.getvalue() + bytes(8))
    with pytest.raises(bb.OpError, match="not as many bytes as its shape says"):
        ops.restore("file.npz", "x", dt="float64")


@pytest.mark.parametrize("shape", [(0, 2**40, 2**40), (1,) * 33, (1,) * 65])
def test_an_array_in_a_zip_of_a_shape_that_no_array_has(folder, shape):
    header = io.BytesIO()
    described = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, described)
    with zipfile.ZipFile(folder / "file.npz", "w") as file:
        file.writestr("x.npy", header.getvalue() + bytes(8))
    error = "'x' (has more cells than can be counted|must have at most 32 dimensions)"
    with pytest.raises(bb.OpError, match=error):
        ops.restore("file.npz", "x", dt="float64")


def varint(number):
    return bytes([number & 127 | 128, *varint(number >> 7)]) if number > 127 else bytes([number])


def in_table(entries):
    """A table of one block, with keys that share `shared` bytes with the one before."""
    data = b"".join(
        varint(shared) + varint(len(key)) + varint(len(value)) + key + value
        for shared, key, value in entries
    )
    block = data + bytes(4) + (1).to_bytes(4, "little")
    place = varint(0) + varint(len(block))
    index = varint(0) + varint(1) + varint(len(place)) + b"z" + place
    index += bytes(4) + (1).to_bytes(4, "little")
    footer = varint(0) + varint(0) + varint(len(block) + 5) + varint(len(index))
    whole = block + bytes(5) + index + bytes(5) + footer.ljust(40, b"\0")
    return whole + (0xDB4775248B80FB57).to_bytes(8, "little")


def field(number, value):
    """A field of a message: a number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def test_names_that_multiply_are_refused(folder):
    """Each name has the 30,000 letters of the one before: a gigabyte from half a megabyte."""
    entries = [(0, b"", b""), (0, b"x" * 30_000, b"")]
    entries += [(30_000, b"%05d" % i, b"") for i in range(50_000)]
    (folder / "v2.index").write_bytes(in_table(entries))
    with pytest.raises(bb.OpError, match="a name in it is too long"):
        ops.restore("v2", "x", dt="float32")


@pytest.mark.parametrize(
    ("code", "values", "error"),
    [
        (7, field(8, 5), "a number stands in place of a text"),
        (19, field(13, 70_000), "numbers that are no halves"),
        (8, field(9, bytes(4)), "a complex number is cut off"),
        (1, field(5, bytes(3)), "a number is cut off"),
    ],
)
def test_values_of_version_1_that_are_none(folder, code, values, error):
    one = field(2, field(1, 1))
    about = field(1, field(1, field(1, b"x") + field(2, one) + field(3, code)))
    data = field(2, field(1, b"x") + field(3, values))
    (folder / "v1").write_bytes(in_table([(0, b"", about), (0, b"x", data)]))
    dtype = {7: "string", 19: "float16", 8: "complex64", 1: "float32"}[code]
    with pytest.raises(bb.OpError, match=error):
        ops.restore("v1", "x", dt=dtype)


@pytest.mark.parametrize("sizes", [[0, 2**40, 2**40], [1] * 33])
def test_shapes_of_version_1_that_no_array_has(folder, sizes):
    shape = b"".join(field(2, field(1, n)) for n in sizes)
    about = field(1, field(1, field(1, b"x") + field(2, shape) + field(3, 1)))
    data = field(2, field(1, b"x") + field(3, field(5, bytes(4 * all(sizes)))))
    (folder / "v1").write_bytes(in_table([(0, b"", about), (0, b"x", data)]))
    with pytest.raises(bb.OpError, match=r"can be counted|at most 32 dimensions"):
        ops.restore("v1", "x", dt="float32")


@pytest.mark.parametrize("kind", ["safetensors", "v1", "v2.index", "v2.data-00000-of-00001", "npz"])
def test_flipped_bytes_never_do_harm(folder, kind):
    """A file with a few wrong bytes, or cut off, gives other numbers or a refusal, and nothing else."""
    for path in RECORDED.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    ops.save("safetensors", list(TENSORS), list(TENSORS.values()))
    np.savez(folder / "npz", f32=TENSORS["f32"], i64=TENSORS["i64"])
    (folder / "npz.npz").rename(folder / "npz")
    whole = (folder / kind).read_bytes()
    name = "v2" if kind.startswith("v2") else kind
    dice = random.Random(kind)  # noqa: S311
    for turn in range(150):
        data = bytearray(whole)
        for _ in range(dice.randint(1, 3)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        if turn % 5 == 0:
            del data[dice.randrange(len(data)) :]
        (folder / kind).write_bytes(data)
        for wanted in ("f32", "string", "i64"):
            try:
                ops.restore(name, wanted, dt=NAMES[TENSORS[wanted].dtype])
            except bb.OpError as error:
                assert error.hint  # noqa: PT017
