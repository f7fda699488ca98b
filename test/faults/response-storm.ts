import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { seededRandom } from "../../src/tools/simulator/seeded-random.ts";
import { measurePosts } from "../bench/http-load.ts";
import { startRawServer } from "../bench/raw-server.ts";
import { type RunningDaemon, runInit, serveAppliance } from "../support/carillon-process.ts";
import { cpuTimeMs } from "../support/cpu-time.ts";

/** What a storm of answers came to. */
export interface ResponseStorm {
  recipients: number;
  answers: number;
  /** From the first answer to the last, in s. */
  seconds: number;
  /** How long one answer took, in ms. */
  p99Ms: number;
  /** Answers that the daemon takes in a second of the processor. */
  perProcessorSecond: number;
  kills: number;
  escalations: number;
  /** Promises that were broken, in words. */
  broken: string[];
}

/** How a storm is made; times in s. */
export interface StormPlan {
  recipients: number;
  /** All answer within so long. */
  within: number;
  /** From the send to the test of the rule. */
  escalatesAfter: number;
  seed: number;
}

const CLIENTS = 64;
/** Connections stay open, as those of a proxy or a channel do. */
const AGENT = new Agent({ keepAlive: true, maxSockets: CLIENTS });
const LIMIT_MS = 3_000;
/** Every so many recipients answer otherwise first. */
const CHANGED = 20;
const MAX_WAIT_MS = 120_000;
const FIRST = "Come to the gate.";
const REST = "Stay where you are.";

/**
 * Lets all recipients of a message answer at once, kills the daemon (SIGKILL) after the last answer and around the moment
 * at which an escalation is due, and counts: answers, replies of the first places, escalations.
 */
export async function runResponseStorm(plan: StormPlan, say: (progress: string) => void): Promise<ResponseStorm> {
  const dataDir = await mkdtemp(join(tmpdir(), "carillon-answers-"));
  try {
    const { token } = await runInit(dataDir);
    let daemon = await serveAppliance(dataDir);
    const restart = async (): Promise<void> => {
      await daemon.end("SIGKILL");
      daemon = await serveAppliance(dataDir);
    };
    const call = (method: string, path: string, body?: object) => callApi(daemon, token, method, path, body);
    const processorMs = () => cpuTimeMs(daemon.child.pid ?? 0);
    try {
      return await run(plan, { call, restart, processorMs, say });
    } finally {
      await daemon.end("SIGTERM");
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

/**
 * What the same machine takes in a second of the processor with next to nothing around it: node:http and rows in SQLite,
 * one transaction for all that come at once, each on the disk when it is answered.
 */
export async function maxResponseRate(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "carillon-answers-"));
  const server = await startRawServer("raw-create-server", join(folder, "raw.db"));
  try {
    const before = cpuTimeMs(server.pid);
    const body = (n: number) => ({ name: `Person ${n}`, email: `${n}@example.org` });
    const { perSecond, seconds } = await measurePosts(server.url, {}, CLIENTS, LIMIT_MS, body);
    return Math.round((perSecond * seconds * 1_000) / (cpuTimeMs(server.pid) - before));
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

type Body = Record<string, unknown> & { id: string };

interface Scene {
  call(method: string, path: string, body?: object): Promise<Body>;
  restart(): Promise<void>;
  /** What the daemon has used. */
  processorMs(): number;
  say(progress: string): void;
}

async function run({ recipients, within, escalatesAfter, seed }: StormPlan, scene: Scene): Promise<ResponseStorm> {
  const { call, restart, processorMs, say } = scene;
  const broken: string[] = [];
  const quota = Math.ceil(recipients / 10);
  const { listId, people } = await makePeople(recipients, scene);
  const ask = await makeRequest(quota, Math.floor(recipients / 4), escalatesAfter, scene);
  const sent = await call("POST", "/notifications", {
    ...{ subject: "Who can come?", confirmationRequestId: ask, distributionListIds: [listId] },
  });
  const dueAt = Date.parse(String(sent.createdAt)) + escalatesAfter * 1_000;
  await until(async () => (await call("GET", `/notifications/${sent.id}`)).recipientCount === recipients);
  say(`${recipients} people are asked`);

  const options = people.map((_id, at) => (seededRandom(seed, at) < 0.6 ? "Yes" : "No"));
  const given: { at: number; option: string; last: boolean }[] = people.flatMap((_id, at) => {
    const option = options[at] ?? "No";
    const before = { at, option: option === "Yes" ? "No" : "Yes", last: false };
    return [...(at % CHANGED === 0 ? [before] : []), { at, option, last: true }];
  });
  const before = processorMs();
  const times = await answerAll(given, within, async ({ at, option }) => {
    const path = `/users/${people[at]}/notifications/${sent.id}/activities`;
    await call("POST", path, { type: "confirmation", details: { confirmationOption: option } });
  });
  const perProcessorSecond = Math.round((given.length * 1_000) / (processorMs() - before));
  say(`${given.length} answers in ${times.seconds.toFixed(1)} s`);
  await restart();

  const expected = { Yes: options.filter((option) => option === "Yes").length, No: 0 };
  expected.No = recipients - expected.Yes;
  const shown = await call("GET", `/notifications/${sent.id}`);
  compare("answers counted", shown.confirmationResults, expected, broken);
  compare("readers", shown.readCount, recipients, broken);
  compare("entries of the diary", (shown.progress as Body).confirmationCount, given.length, broken);
  const told = await repliesOf(sent.id, scene);
  compare("first places", told.get(`Yes ${FIRST}`) ?? 0, Math.min(quota, expected.Yes), broken);
  compare("the rest", told.get(`Yes ${REST}`) ?? 0, Math.max(0, expected.Yes - quota), broken);
  compare("without a reply", told.get("No null") ?? 0, expected.No, broken);

  if (Date.now() > dueAt) broken.push("it took so long that the escalation was due before the second kill");
  await pause(Math.max(0, dueAt - Date.now() + seededRandom(seed, -1) * 60));
  await restart();
  const escalated = async () =>
    (await call("GET", `/notifications?parentNotificationId=${sent.id}`)).data as unknown as Body[];
  await until(async () => (await escalated()).length > 0);
  await restart();
  const escalations = await escalated();
  compare(
    "escalations",
    escalations.map(({ subject }) => subject),
    ["Enough can come"],
    broken,
  );
  return {
    ...{ recipients, answers: given.length, seconds: times.seconds, p99Ms: times.p99Ms, perProcessorSecond },
    ...{ kills: 3, escalations: escalations.length, broken },
  };
}

async function makePeople(n: number, { call }: Scene): Promise<{ listId: string; people: string[] }> {
  const listId = (await call("POST", "/distribution-lists", { name: "Everybody" })).id;
  const people: string[] = [];
  await eachOf(
    Array.from({ length: n }, (_, at) => at),
    async (at) => {
      const { id } = await call("POST", "/users", { name: `Person ${at}`, type: "anonymous" });
      await call("POST", `/users/${id}/subscriptions`, { distributionListId: listId });
      people[at] = id;
    },
  );
  return { listId, people };
}

async function makeRequest(quota: number, comparisonValue: number, delay: number, { call }: Scene): Promise<string> {
  const { id } = await call("POST", "/confirmation-requests", { name: "Coming?", options: ["Yes", "No"] });
  const reply = { optionLabel: "Yes", quota, first: FIRST, rest: REST };
  await call("POST", `/confirmation-requests/${id}/dynamic-replies`, reply);
  const boss = await call("POST", "/users", { name: "Boss", type: "anonymous" });
  await call("POST", `/confirmation-requests/${id}/escalation-rules`, {
    ...{ delay, optionLabel: "Yes", comparison: "GT", comparisonValue, subject: "Enough can come", userIds: [boss.id] },
  });
  return id;
}

/** Gives all answers, spread over `within` seconds; whoever answers twice does so in order. */
async function answerAll<T extends { at: number; last: boolean }>(
  given: readonly T[],
  within: number,
  give: (one: T) => Promise<void>,
): Promise<{ seconds: number; p99Ms: number }> {
  const began = performance.now();
  const took: number[] = [];
  const byPerson = new Map<number, T[]>();
  for (const one of given) byPerson.set(one.at, [...(byPerson.get(one.at) ?? []), one]);
  // A second less than allowed, so that the last ones have time for their answers.
  const stepMs = (within * 800) / byPerson.size;
  await eachOf([...byPerson.values()], async (own, index) => {
    await pause(Math.max(0, began + index * stepMs - performance.now()));
    for (const one of own) {
      const at = performance.now();
      await give(one);
      took.push(performance.now() - at);
    }
  });
  took.sort((a, b) => a - b);
  const p99Ms = Math.round(took[Math.floor(took.length * 0.99)] ?? 0);
  return { seconds: Math.round(performance.now() - began) / 1_000, p99Ms };
}

/** How many recipients with each answer were told what. */
async function repliesOf(notificationId: string, { call }: Scene): Promise<Map<string, number>> {
  const told = new Map<string, number>();
  for (let start: string | null = ""; start !== null; ) {
    const query: string = `limit=1000${start ? `&start=${encodeURIComponent(start)}` : ""}`;
    const page = await call("GET", `/notifications/${notificationId}/recipients?${query}`);
    for (const { confirmationResponse, dynamicReply } of page.data as unknown as Body[]) {
      const name = `${confirmationResponse} ${dynamicReply}`;
      told.set(name, (told.get(name) ?? 0) + 1);
    }
    start = page.next as string | null;
  }
  return told;
}

async function eachOf<T>(all: readonly T[], work: (one: T, index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const client = async (): Promise<void> => {
    for (let index = next++; index < all.length; index = next++) await work(all[index] as T, index);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + MAX_WAIT_MS; !(await isSo()); await pause(50)) {
    if (Date.now() > end) throw new Error("What was waited for did not come.");
  }
}

function compare(what: string, is: unknown, ought: unknown, broken: string[]): void {
  const [found, wanted] = [JSON.stringify(is), JSON.stringify(ought)];
  if (found !== wanted) broken.push(`${what}: ${found} instead of ${wanted}`);
}

function callApi({ url }: RunningDaemon, token: string, method: string, path: string, body?: object): Promise<Body> {
  const text = body ? JSON.stringify(body) : "";
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
  };
  return new Promise((resolve, reject) => {
    const asking = request(`${url}/api/v1${path}`, { method, agent: AGENT, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("end", () => {
        const answer = Buffer.concat(parts).toString();
        if (response.statusCode === 200) return resolve(JSON.parse(answer) as Body);
        reject(new Error(`${method} ${path} was refused: ${answer}`));
      });
    });
    asking.on("error", reject);
    asking.end(text);
  });
}
