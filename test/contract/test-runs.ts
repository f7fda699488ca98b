import { relative } from "node:path";
import { createVitest, type TestCase, type Vitest } from "vitest/node";
import type { FilePlan } from "./instrumentation/hooks.ts";
import type { RouteOutcome } from "./instrumentation/state.ts";

/** A test by its file below the root and its full name, suites and all. */
export interface TestName {
  file: string;
  name: string;
}

/** A test that passed, with the routes that it met. */
export interface ObservedTest extends TestName {
  routes: Readonly<Record<string, RouteOutcome>>;
}

/** What a run with routes taken away found. */
export interface Trial extends TestName {
  route: string;
  /** It failed without the route, having asked for it, and holds with it, having got a good answer. */
  isProof: boolean;
  /** It got none but refusals there: that proves the door, not what is behind it. */
  isRefused: boolean;
}

/** Runs the tests of the API, watched. */
export interface TestRuns {
  /** Runs the tests of the API, or those of the files, and tells what each that passed met. */
  observe(files?: readonly string[]): Promise<ObservedTest[]>;
  /** Runs tests with routes taken away, as planned by file. */
  prove(plan: Readonly<Record<string, FilePlan>>): Promise<Trial[]>;
  close(): Promise<void>;
}

/** Tests of the API lie here; stories elsewhere ask for routes of it, too, and are heard when they are named. */
const API_TESTS = "test/api/";

/** Opens the test runner on the tree in the current folder. */
export async function openTestRuns(): Promise<TestRuns> {
  const runner = await createVitest("test", { config: ".ci/contract.config.ts", watch: false, reporters: [{}] });
  await runner.standalone();
  return {
    async observe(files) {
      const tests = await run(runner, null, files);
      return tests
        .filter((test) => test.result().state === "passed")
        .map((test) => ({ ...nameOf(test), routes: test.meta().contract?.met ?? {} }));
    },
    async prove(plan) {
      const tests = await run(runner, plan, Object.keys(plan));
      return tests.flatMap((test) => {
        const { isStory = false } = plan[nameOf(test).file] ?? {};
        const holds = isStory || test.result().state === "passed";
        const { failed = {}, met } = test.meta().contract ?? {};
        return Object.entries(failed).map(([route, hasFailed]) => {
          const isRefused = holds && met?.[route] === "refused";
          return { ...nameOf(test), route, isRefused, isProof: hasFailed && holds && !isRefused };
        });
      });
    },
    close: () => runner.close(),
  };
}

async function run(
  runner: Vitest,
  plan: Readonly<Record<string, FilePlan>> | null,
  files?: readonly string[],
): Promise<TestCase[]> {
  runner.getRootProject().provide("contractPlan", plan as never);
  const all = await runner.globTestSpecifications();
  const isWanted = (file: string): boolean => (files ? files.includes(file) : file.startsWith(API_TESTS));
  const wanted = all.filter(({ moduleId }) => isWanted(relative(process.cwd(), moduleId)));
  const { testModules } = await runner.runTestSpecifications(wanted);
  return testModules.flatMap((module) => [...module.children.allTests()]);
}

function nameOf(test: TestCase): TestName {
  return { file: test.module.relativeModuleId, name: test.fullName };
}
