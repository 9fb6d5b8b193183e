/** Tests that try things by chance try the same ones each time; SEED=2 npm test tries others. */

import fc from "fast-check";

fc.configureGlobal({ seed: Number(process.env.SEED ?? 1) });
