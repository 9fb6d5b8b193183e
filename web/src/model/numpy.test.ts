import { expect, test } from "vitest";
import { csvText, numpyText, pythonBytes } from "./numpy.ts";

test("NumPy reads the same array", () => {
  expect(numpyText(["1", "nan", "-inf", "-0"], [2, 2], "float32")).toBe(
    "np.array([[1, np.nan],\n          [-np.inf, -0.0]], dtype=np.float32)",
  );
  expect(numpyText(["true", "false"], [2], "bool")).toBe("np.array([True, False], dtype=np.bool_)");
  expect(numpyText(["9007199254740993"], [], "int64")).toBe("np.array(9007199254740993, dtype=np.int64)");
  expect(numpyText([], [0, 3], "float64")).toBe("np.zeros((0, 3,), dtype=np.float64)");
  expect(numpyText(["1+2j", "nan-0j"], [2], "complex64")).toBe(
    'np.array([1+2j, complex("nan-0j")], dtype=np.complex64)',
  );
  expect(numpyText(["1.5"], [1], "bfloat16")).toBe("np.array([1.5], dtype=ml_dtypes.bfloat16)");
  expect(numpyText(["-8"], [1], "int4")).toBe("np.array([-8], dtype=ml_dtypes.int4)");
  expect(numpyText(["nan"], [], "float8_e4m3fn")).toBe("np.array(np.nan, dtype=ml_dtypes.float8_e4m3fn)");
  expect(numpyText(['b"a"'], [1], "string")).toBe('np.array([b"a"], dtype=object)');
});

test("bytes are written as Python reads them", () => {
  expect(pythonBytes([97, 34, 92, 10, 0, 255])).toBe('b"a\\"\\\\\\x0a\\x00\\xff"');
});

test("a spreadsheet reads the same rows", () => {
  expect(csvText(["1", "2", "3", "4"], 2)).toBe("1,2\n3,4");
  expect(csvText(['a "b", c', "d\re"], 2)).toBe('"a ""b"", c","d\re"');
});
