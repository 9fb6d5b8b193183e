import { rmSync } from "node:fs";
import react from "@vitejs/plugin-react";
import type { Plugin, ProxyOptions } from "vite";
import { defineConfig } from "vitest/config";

// `npm run dev` serves the sources with live reload and passes the rest to a studio started with
// `backblocks studio --port 8000 --no-browser`, whose guard wants to see its own address.
const studio = process.env.STUDIO_ADDRESS ?? "http://127.0.0.1:8000";
const toStudio: ProxyOptions = { target: studio, changeOrigin: true, headers: { origin: studio } };

const STATIC = "../src/backblocks/studio/static";

/** Takes away what the last build left; ops.json beside it is made from the registry, and stays. */
const clean: Plugin = {
  name: "clean",
  apply: (_, { command, isSsrBuild }) => command === "build" && !isSsrBuild,
  buildStart: () => rmSync(`${STATIC}/assets`, { recursive: true, force: true }),
};

export default defineConfig({
  plugins: [react(), clean],
  // Relative addresses, so that the build works below any prefix.
  base: "./",
  build: {
    outDir: STATIC,
    emptyOutDir: false,
    sourcemap: false,
    target: "es2023",
    // Inlined files would be data: addresses, which the Content-Security-Policy refuses.
    assetsInlineLimit: 0,
  },
  worker: { format: "es" },
  server: {
    proxy: {
      "/enter": toStudio,
      "/socket": { ...toStudio, ws: true },
      "/ops.json": toStudio,
      "/api": toStudio,
    },
  },
  test: {
    environment: "node",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/testing/seed.ts"],
    // By default one core is left out, which is half of two.
    maxWorkers: "100%",
  },
});
