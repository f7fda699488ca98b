import { relative } from "node:path";
import { createVitest, type TestCase, type Vitest } from "vitest/node";
import type { FilePlan } from "./watching/hooks.ts";
import type { Met } from "./watching/state.ts";

/** A test by its file below the root and its full name, suites and all. */
export interface TestName {
  file: string;
  name: string;
}

/** A test that passed, with the routes that it met. */
export interface Heard extends TestName {
  met: Readonly<Record<string, Met>>;
}

/** What a run with routes taken away found. */
export interface Trial extends TestName {
  route: string;
  /** It failed without the route, having asked for it, and holds with it. */
  isProof: boolean;
}

/** Runs the tests of the API, watched. */
export interface Runs {
  /** Runs all tests, or those of the files, and tells what each that passed met. */
  listen(files?: readonly string[]): Promise<Heard[]>;
  /** Runs tests with routes taken away, as planned by file. */
  prove(plan: Readonly<Record<string, FilePlan>>): Promise<Trial[]>;
  close(): Promise<void>;
}

/** Opens the test runner on the tree in the current folder. */
export async function openRuns(): Promise<Runs> {
  const runner = await createVitest("test", { config: ".ci/contract.config.ts", watch: false, reporters: [{}] });
  await runner.standalone();
  return {
    async listen(files) {
      const tests = await run(runner, null, files);
      return tests
        .filter((test) => test.result().state === "passed")
        .map((test) => ({ ...nameOf(test), met: test.meta().contract?.met ?? {} }));
    },
    async prove(plan) {
      const tests = await run(runner, plan, Object.keys(plan));
      return tests.flatMap((test) => {
        const holds = plan[nameOf(test).file]?.isStory || test.result().state === "passed";
        const failed = Object.entries(test.meta().contract?.failed ?? {});
        return failed.map(([route, hasFailed]) => ({ ...nameOf(test), route, isProof: hasFailed && holds }));
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
  const wanted = all.filter(({ moduleId }) => !files || files.includes(relative(process.cwd(), moduleId)));
  const { testModules } = await runner.runTestSpecifications(wanted);
  return testModules.flatMap((module) => [...module.children.allTests()]);
}

function nameOf(test: TestCase): TestName {
  return { file: test.module.relativeModuleId, name: test.fullName };
}
