import { expect, test } from "vitest";
import { viewEn } from "./view.en.ts";
import { viewKo } from "./view.ko.ts";

test("a group of ops without a translation has the title it is declared with", () => {
  expect(viewEn.groupName("nn", "Neural networks")).toBe("Neural networks");
  expect(viewKo.groupName("nn", "Neural networks")).toBe("신경망");
  expect(viewKo.groupName("signal", "Signals")).toBe("Signals");
});
