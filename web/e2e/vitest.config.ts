import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    // Generous, for busy machines.
    testTimeout: 240_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000, interval: 20 } },
    // Each file has a server and a browser of its own, and waits for them most of the time.
    maxWorkers: 2,
  },
});
