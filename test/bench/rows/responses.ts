import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInit, serveAppliance } from "../../support/carillon-process.ts";
import { atLeast, type BenchmarkFigure, type BenchmarkRow, median } from "../benchmark-row.ts";
import { measurePosts } from "../http-load.ts";

const ROUNDS = 5;
const BURST_MS = 1_500;
const CLIENTS = 32;
const PEOPLE = 2_000;
const OPTIONS = ["Yes", "No"];

/** Row 14: answers of recipients over HTTP, each with its entry in the diary and the message's sums, durable when answered. */
export const responses: BenchmarkRow = {
  number: 14,
  name: "answers of recipients",
  async measure(say) {
    const dataDir = mkdtempSync(join(tmpdir(), "carillon-bench-"));
    const { token } = await runInit(join(dataDir, "data"));
    const daemon = await serveAppliance(join(dataDir, "data"));
    const api = `${daemon.url}/api/v1`;
    const headers = { authorization: `Bearer ${token}` };
    const rates = { answers: [] as number[], creates: [] as number[] };
    try {
      const { people, notificationId } = await ask(api, headers);
      say(`${people.length} people are asked`);
      for (let round = 0; round < ROUNDS; round++) {
        const create = (n: number): object => ({ name: `Round ${round} ${n}`, type: "anonymous" });
        rates.creates.push((await measurePosts(`${api}/users`, headers, CLIENTS, BURST_MS, create)).perSecond);
        const to = (n: number): string =>
          `${api}/users/${people[n % people.length]}/notifications/${notificationId}/activities`;
        const answer = (n: number): object => {
          const confirmationOption = OPTIONS[Math.floor(n / people.length) % OPTIONS.length];
          return { type: "confirmation", details: { confirmationOption } };
        };
        rates.answers.push((await measurePosts(to, headers, CLIENTS, BURST_MS, answer)).perSecond);
        say(`round ${round + 1} of ${ROUNDS}`);
      }
      return figuresOf(rates);
    } finally {
      await daemon.end("SIGTERM");
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
};

function figuresOf({ answers, creates }: Record<"answers" | "creates", number[]>): BenchmarkFigure[] {
  const against = "our creates of users, 32 clients";
  return [
    atLeast({ what: "32 clients", ours: median(answers), limit: median(creates), against, unit: "a second" }, 0.5),
  ];
}

/** Sends a message that asks people for an answer; resolves once all of them are asked. */
async function ask(
  api: string,
  headers: Record<string, string>,
): Promise<{ people: string[]; notificationId: string }> {
  const call = async (path: string, body?: object): Promise<{ id: string; recipientCount: number }> => {
    const method = body ? "POST" : "GET";
    const typed = { ...headers, "content-type": "application/json" };
    const response = await fetch(`${api}${path}`, {
      method,
      headers: typed,
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return (await response.json()) as { id: string; recipientCount: number };
  };
  const list = await call("/distribution-lists", { name: "Everybody" });
  const make = async (n: number): Promise<string> => {
    const { id } = await call("/users", { name: `Person ${n}`, type: "anonymous" });
    await call(`/users/${id}/subscriptions`, { distributionListId: list.id });
    return id;
  };
  const people: string[] = [];
  while (people.length < PEOPLE)
    people.push(...(await Promise.all(Array.from({ length: 50 }, (_, n) => make(people.length + n)))));
  const { id: confirmationRequestId } = await call("/confirmation-requests", { name: "Safe?", options: OPTIONS });
  const message = {
    subject: "Are you safe?",
    confirmationRequestId,
    distributionListIds: [list.id],
    expiration: 3_600,
  };
  const { id } = await call("/notifications", message);
  while ((await call(`/notifications/${id}`)).recipientCount < PEOPLE) await new Promise((go) => setTimeout(go, 50));
  return { people, notificationId: id };
}
