import type { FloodTarget } from "./floods.ts";
import { SEARCH } from "./floods.ts";

/** How many the search returns. */
const EXPENSIVE_REQUESTS = 30;
/** Further parameters with which each list is asked, as a user could. */
const VARIANTS = ["", "limit=1000", `limit=1&q=${encodeURIComponent(SEARCH)}`, "sort=-createdAt&limit=1000"];
const REPETITIONS = 3;

/** A request and what it costs. */
export interface ExpensiveRequest {
  path: string;
  /** Fastest of some repetitions, ms. */
  ms: number;
}

interface Operation {
  parameters?: { name?: string; $ref?: string }[];
}

type Paths = Record<string, { get?: Operation; post?: Operation }>;

async function readPaths(url: string): Promise<Paths> {
  return ((await (await fetch(`${url}/api/v1/openapi.json`)).json()) as { paths: Paths }).paths;
}

/** True for an operation that returns pages. */
const isList = ({ parameters = [] }: Operation): boolean =>
  parameters.some(({ name, $ref }) => name === "limit" || $ref?.endsWith("limit"));

/** Permission paths of the resources that can be read and created. */
export async function listPaths(url: string): Promise<string[]> {
  return Object.entries(await readPaths(url))
    .filter(([path, { get, post }]) => get && post && isList(get) && !path.includes("{"))
    .map(([path]) => path.replace(/^\/api\/v1|^\/v1/, ""))
    .flatMap((path) => [path, `${path}/*`]);
}

/** Asks for everything that the API serves without an id, in several ways, and returns the slowest, slowest first. */
export async function findExpensiveRequests({ url, readerToken }: FloodTarget): Promise<ExpensiveRequest[]> {
  const paths = await readPaths(url);
  const found: ExpensiveRequest[] = [];
  for (const [path, methods] of Object.entries(paths)) {
    if (!methods.get || path.includes("{") || path.endsWith("/events")) continue;
    for (const variant of isList(methods.get) ? VARIANTS : [""]) {
      const request = `/api/v1${path.replace(/^\/api\/v1|^\/v1/, "")}${variant === "" ? "" : `?${variant}`}`;
      let ms = Number.POSITIVE_INFINITY;
      let isServed = true;
      for (let at = 0; at < REPETITIONS && isServed; at++) {
        const began = performance.now();
        const response = await fetch(`${url}${request}`, { headers: { authorization: `Bearer ${readerToken}` } });
        await response.arrayBuffer();
        isServed = response.status !== 404;
        ms = Math.min(ms, performance.now() - began);
      }
      if (isServed) found.push({ path: request, ms: Math.round(ms * 10) / 10 });
    }
  }
  return found.sort((one, other) => other.ms - one.ms).slice(0, EXPENSIVE_REQUESTS);
}
