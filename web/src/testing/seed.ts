/** Vitest setup: seeds fast-check, so that property tests are repeatable. `SEED=2 npm test` tries other values. */

import fc from "fast-check";

fc.configureGlobal({ seed: Number(process.env.SEED ?? 1) });
