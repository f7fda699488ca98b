import { resolve } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { consoleMessages } from "./console-messages.ts";

const root = resolve(import.meta.dirname, "..");
const web = resolve(root, "src/console/web");
/** Browsers ask for it by its name, again and again. */
const WORKER = "inbox/worker";

/** The browser apps, console and page of recipients: from src/console/web into dist/console, which the daemon serves at `/`. */
export default defineConfig({
  root: web,
  cacheDir: resolve(root, "node_modules/.vite"),
  plugins: [react(), consoleMessages(web)],
  logLevel: "warn",
  build: {
    outDir: resolve(root, "dist/console"),
    emptyOutDir: true,
    target: "es2022",
    // Inlined images would need `data:` in the content security policy.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      input: {
        index: resolve(web, "index.html"),
        inbox: resolve(web, "inbox/index.html"),
        desktop: resolve(web, "desktop/index.html"),
        [WORKER]: resolve(web, "inbox/worker.ts"),
      },
      output: { entryFileNames: ({ name }) => (name === WORKER ? `${WORKER}.js` : "assets/[name]-[hash].js") },
    },
  },
});
