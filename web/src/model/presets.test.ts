import fc from "fast-check";
import { expect, test } from "vitest";
import { PRESETS, preset } from "./presets.ts";

test("what is random is the same for the same seed, and another for another", () => {
  fc.assert(
    fc.property(fc.constantFrom(...PRESETS), fc.nat(), (how, seed) => {
      expect(preset(how, 50, { seed })).toEqual(preset(how, 50, { seed }));
    }),
  );
  expect(preset("random", 50, { seed: 1 })).not.toEqual(preset("random", 50, { seed: 2 }));
});

test("one cell is hot, and it is the one that was said", () => {
  expect(preset("one-hot", 4, { hot: 2 })).toEqual([0, 0, 1, 0]);
});

test("a ramp counts, and whole numbers stay whole", () => {
  expect(preset("ramp", 3)).toEqual([1, 2, 3]);
  expect(preset("ramp", 5, { most: 3 })).toEqual([1, 2, 3, 1, 2]);
  expect(preset("random", 100, { whole: true }).every(Number.isInteger)).toBe(true);
});

test("with ties nearly every four neighbours have their largest more than once", () => {
  const cells = preset("ties", 4000, { seed: 3 });
  let tied = 0;
  for (let i = 0; i < cells.length; i += 4) {
    const four = cells.slice(i, i + 4);
    if (four.filter((each) => each === Math.max(...four)).length > 1) tied++;
  }
  expect(tied).toBeGreaterThan(700);
});
