import { expect, test } from "vitest";
import { csvText, numpyText } from "./numpy.ts";

test("NumPy reads the same array", () => {
  expect(numpyText(["1", "nan", "-inf", "4"], [2, 2], "float32")).toBe(
    "np.array([[1, np.nan],\n          [-np.inf, 4]], dtype=np.float32)",
  );
  expect(numpyText(["true", "false"], [2], "bool")).toBe("np.array([True, False], dtype=np.bool_)");
  expect(numpyText(["7"], [], "int64")).toBe("np.array(7, dtype=np.int64)");
  expect(numpyText([], [0, 3], "float64")).toBe("np.zeros((0, 3,), dtype=np.float64)");
  expect(numpyText(["1+2j"], [1], "complex64")).toBe("np.array([1+2j], dtype=np.complex64)");
});

test("a spreadsheet reads the same rows", () => {
  expect(csvText(["1", "2", "3", "4"], 2)).toBe("1,2\n3,4");
  expect(csvText(['a "b", c', "2"], 2)).toBe('"a ""b"", c",2');
});
