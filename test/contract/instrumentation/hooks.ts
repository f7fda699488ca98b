/** Before every test file of a watched run: hears what its tests meet, and takes routes away as the run's plan says. */
import { relative } from "node:path";
import { afterEach, beforeAll, beforeEach, inject, type RunnerTask, type RunnerTestCase } from "vitest";
import { observation, type RouteOutcome } from "./state.ts";

/** What a run is to do with a test file. */
export interface FilePlan {
  /** By a test's full name: the routes to take away, one in each of its attempts; a last attempt follows with all routes. */
  routes: Readonly<Record<string, readonly string[]>>;
  /** The tests before it run as well, and there is one attempt: for tests that go on where others ended. */
  isStory: boolean;
}

/** What became of a test: what it met with all routes, and by route whether it failed as it asked for what was gone. */
export interface TestObservation {
  met?: Readonly<Record<string, RouteOutcome>>;
  failed?: Readonly<Record<string, boolean>>;
}

declare module "vitest" {
  interface ProvidedContext {
    /** By file below the root; null listens to every test. */
    contractPlan: Readonly<Record<string, FilePlan>> | null;
  }
  interface TaskMeta {
    contract?: TestObservation;
  }
}

const plan = inject("contractPlan");

// biome-ignore lint/correctness/noEmptyPattern: the runner reads the pattern to see which fixtures are wanted
beforeAll(({}, file) => {
  if (!plan) return;
  const { routes, isStory } = planOf(file.file.filepath);
  const tests = testsIn(file.file.tasks);
  const last = tests.findLastIndex((test) => test.fullTestName in routes);
  tests.forEach((test, at) => {
    const wanted = routes[test.fullTestName];
    if (wanted && !isStory) test.retry = wanted.length;
    else if (!wanted && (!isStory || at > last)) test.mode = "skip";
  });
});

beforeEach(({ task }) => {
  observation.met = new Map();
  observation.without = routeFor(task as RunnerTestCase);
  observation.isMissed = false;
});

afterEach(({ task }) => {
  const { met, without, isMissed } = observation;
  Object.assign(observation, { met: null, without: null });
  if (without === null) {
    task.meta.contract = { ...task.meta.contract, met: Object.fromEntries(met ?? []) };
    return;
  }
  const failed = task.result?.state === "fail";
  task.meta.contract = { failed: { ...task.meta.contract?.failed, [without]: failed && isMissed } };
  // The next attempt follows upon a failure only.
  if (!failed && !planOf((task as RunnerTestCase).file.filepath).isStory)
    throw new Error(`It passes without ${without}.`);
});

function routeFor(test: RunnerTestCase): string | null {
  return (plan && planOf(test.file.filepath).routes[test.fullTestName]?.[test.result?.retryCount ?? 0]) ?? null;
}

function planOf(file: string): FilePlan {
  return plan?.[relative(process.cwd(), file)] ?? { routes: {}, isStory: false };
}

function testsIn(tasks: readonly RunnerTask[]): RunnerTestCase[] {
  return tasks.flatMap((task) => (task.type === "suite" ? testsIn(task.tasks) : [task]));
}
