/** Before every test file; what it imports runs once in each process, which files share. */
import { afterAll, afterEach } from "vitest";
import "./response-conformance.ts";
import { closeWindows } from "./browser.ts";
import { clearSessions } from "./console-pages.ts";
import { stopListeners } from "./ffmpeg-listener.ts";
import { removeTempDirs } from "./temp-dir.ts";

// A window is its test's own.
afterEach(closeWindows);

afterAll(stopListeners);

// The next file's daemon may get the port of one that has ended.
afterAll(clearSessions);

// Registered first, so that it runs when the file has ended what it started.
afterAll(removeTempDirs);
