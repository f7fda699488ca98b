import type { FilePlan } from "./instrumentation/hooks.ts";
import type { ObservedTest, TestName, TestRuns } from "./test-runs.ts";

/** A route and the test that is to fail without it. */
export interface RouteClaim extends TestName {
  route: string;
}

/** So many tests are tried for a route. */
const MAX_ATTEMPTS = 4;
/** Of these, so many as part of the story that their file tells. */
const STORY_ATTEMPTS = 2;

/**
 * The tests that may hold each route, the best first: those that it served before those that it refused, then those that
 * meet few others.
 */
export function candidatesOf(heard: readonly ObservedTest[]): Map<string, TestName[]> {
  const found = new Map<string, { test: TestName; isServed: boolean; others: number }[]>();
  for (const { file, name, routes: met } of heard) {
    const routes = Object.entries(met);
    for (const [route, how] of routes) {
      const one = { test: { file, name }, isServed: how === "served", others: routes.length };
      found.set(route, [...(found.get(route) ?? []), one]);
    }
  }
  return new Map(
    [...found].map(([route, tests]) => {
      const sorted = tests.sort((a, b) => Number(b.isServed) - Number(a.isServed) || a.others - b.others);
      return [route, sorted.slice(0, MAX_ATTEMPTS).map(({ test }) => test)];
    }),
  );
}

/** Proves for each route one of its candidates; the routes that are missing in the answer have none that holds. */
export async function proveRoutes(
  routes: readonly string[],
  candidates: ReadonlyMap<string, readonly TestName[]>,
  runs: TestRuns,
  say: (progress: string) => void,
): Promise<Map<string, TestName>> {
  const proven = new Map<string, TestName>();
  const refused = new Set<string>();
  const prove = async (tries: number, isStory: boolean): Promise<void> => {
    for (let at = 0; at < tries; at++) {
      const open = routes.filter((route) => !proven.has(route));
      const claims = open.flatMap((route) => {
        const test = candidates.get(route)?.[at];
        return test && !refused.has(keyOf({ route, ...test })) ? [{ route, ...test }] : [];
      });
      for (const claim of await proveClaims(claims, isStory, runs, refused)) proven.set(claim.route, claim);
      if (claims.length > 0) say(`${proven.size} of ${routes.length} routes: their test fails without them`);
    }
  };
  await prove(MAX_ATTEMPTS, false);
  await prove(STORY_ATTEMPTS, true);
  return proven;
}

/**
 * The claims that hold; those whose test was refused there are noted. Stories are told once for each of their routes, as
 * many files at once as there are.
 */
async function proveClaims(
  claims: readonly RouteClaim[],
  isStory: boolean,
  runs: TestRuns,
  refused: Set<string>,
): Promise<RouteClaim[]> {
  const proven: RouteClaim[] = [];
  for (let open = [...claims]; open.length > 0; ) {
    const now = isStory ? open.filter(({ file }, at) => open.findIndex((each) => each.file === file) === at) : open;
    open = open.filter((claim) => !now.includes(claim));
    const trials = await runs.prove(planOf(now, isStory));
    for (const trial of trials.filter(({ isRefused }) => isRefused)) refused.add(keyOf(trial));
    const held = new Set(trials.filter(({ isProof }) => isProof).map(keyOf));
    proven.push(...now.filter((claim) => held.has(keyOf(claim))));
  }
  return proven;
}

function keyOf({ route, file, name }: RouteClaim): string {
  return [route, file, name].join("\t");
}

function planOf(claims: readonly RouteClaim[], isStory: boolean): Record<string, FilePlan> {
  const plan: Record<string, { routes: Record<string, string[]>; isStory: boolean }> = {};
  for (const { file, name, route } of claims) {
    const routes = plan[file]?.routes ?? {};
    plan[file] = { routes: { ...routes, [name]: [...(routes[name] ?? []), route] }, isStory };
  }
  return plan;
}
