/** Before every test file; what it imports runs once in each process, which files share. */
import { afterAll, afterEach } from "vitest";
import "./answer-check.ts";
import { closeWindows } from "./browser.ts";
import { removeTempDirs } from "./temp-dir.ts";

// A window is its test's own.
afterEach(closeWindows);

// Registered first, so that it runs when the file has ended what it started.
afterAll(removeTempDirs);
