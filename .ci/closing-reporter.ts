import { writeFileSync } from "node:fs";
import type { TestCase, TestModule, TestSuite } from "vitest/node";
import type { Reporter } from "vitest/reporters";

/** What a test run comes to; `notes` tell why tests were left out, one line each. */
interface Tally {
  passed: number;
  failed: number;
  skipped: number;
  notes: string[];
}

/**
 * Counts tests, and beside them as failures whatever kept tests from running: files that can't be loaded, failed
 * hooks, unhandled rejections, an interrupted or empty run. The tally goes as JSON to the file named by
 * CARILLON_TALLY, or else as one line to stdout.
 */
export function closingReporter(): Reporter {
  return {
    onTestRunEnd(modules, unhandledErrors, reason) {
      const tally = count(modules);
      tally.failed += unhandledErrors.length;
      if (reason === "interrupted" || modules.length === 0) tally.failed += 1;
      const path = process.env.CARILLON_TALLY;
      if (path) writeFileSync(path, JSON.stringify(tally));
      else console.log(`${tally.passed} passed, ${tally.failed} failed`);
    },
  };
}

function count(modules: readonly TestModule[]): Tally {
  const tally: Tally = { passed: 0, failed: 0, skipped: 0, notes: [] };
  for (const module of modules) {
    const suites: (TestModule | TestSuite)[] = [module, ...module.children.allSuites()];
    tally.failed += suites.filter((suite) => suite.errors().length > 0).length;
    for (const test of module.children.allTests()) countTest(test, tally);
  }
  return tally;
}

function countTest(test: TestCase, tally: Tally): void {
  const result = test.result();
  if (result.state === "passed") tally.passed += 1;
  else if (result.state === "failed") tally.failed += 1;
  else {
    tally.skipped += 1;
    const note = result.state === "skipped" ? result.note : undefined;
    tally.notes.push(`${test.module.relativeModuleId} > ${test.fullName}${note ? `: ${note}` : ""}`);
  }
}
