import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // Each file has a server and a browser of its own; two at once would only slow each other.
    fileParallelism: false,
  },
});
