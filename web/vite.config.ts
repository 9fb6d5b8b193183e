import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// `npm run dev` serves the sources with live reload and passes the rest to a studio started with
// `backblocks studio --port 8000 --no-browser`.
const studio = process.env.STUDIO ?? "http://127.0.0.1:8000";

export default defineConfig({
  plugins: [react()],
  // Relative addresses, so that the build works below any prefix.
  base: "./",
  build: {
    outDir: "../src/backblocks/studio/static",
    // ops.json is made there from the registry, and must stay.
    emptyOutDir: false,
    sourcemap: false,
    target: "es2023",
    // Inlined files would be data: addresses, which the Content-Security-Policy refuses.
    assetsInlineLimit: 0,
  },
  worker: { format: "es" },
  server: {
    proxy: {
      "/enter": { target: studio, changeOrigin: true },
      "/socket": { target: studio, changeOrigin: true, ws: true },
      "/ops.json": { target: studio, changeOrigin: true },
    },
  },
  test: {
    environment: "node",
    include: ["src/**/*.test.{ts,tsx}"],
  },
});
