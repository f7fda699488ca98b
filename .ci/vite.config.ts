import { resolve } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const root = resolve(import.meta.dirname, "..");

/** The browser app: from src/console/web into dist/console, which the daemon serves at `/`. */
export default defineConfig({
  root: resolve(root, "src/console/web"),
  cacheDir: resolve(root, "node_modules/.vite"),
  plugins: [react()],
  logLevel: "warn",
  build: {
    outDir: resolve(root, "dist/console"),
    emptyOutDir: true,
    target: "es2022",
    // Inlined images would need `data:` in the content security policy.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});
