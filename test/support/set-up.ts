/** Before every test file; what it imports runs once in each process, which files share. */
import { afterAll, afterEach } from "vitest";
import "./answer-check.ts";
import { closeWindows } from "./browser.ts";
import { forgetSessions } from "./console-pages.ts";
import { endListeners } from "./ffmpeg-listener.ts";
import { removeTempDirs } from "./temp-dir.ts";

// A window is its test's own.
afterEach(closeWindows);

afterAll(endListeners);

// The next file's daemon may get the port of one that has ended.
afterAll(forgetSessions);

// Registered first, so that it runs when the file has ended what it started.
afterAll(removeTempDirs);
