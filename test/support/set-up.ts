/** Before every test file; what it imports runs once in each process, which files share. */
import { afterEach } from "vitest";
import "./answer-check.ts";
import { closeWindows } from "./browser.ts";

// A window is its test's own.
afterEach(closeWindows);
