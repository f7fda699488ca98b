import { expect } from "vitest";
import type { ApiFixture } from "./api-fixture.ts";

const NOW = Date.now();

/** What tests of bells make over an API; a refusal throws. */
export interface BellFixture {
  /** Makes a row and gives its id. */
  make(path: string, json: object): Promise<string>;
  /** The message that ring lists ring, the same one each time. */
  message(): Promise<string>;
  /** A ring list of these times. */
  ringList(...times: string[]): Promise<string>;
  /** A schedule in Berlin's autumn of 2031, from Monday, 1 September; it rings nothing unless told. */
  schedule(more?: object): Promise<string>;
  /** What stands in the way of a schedule's days, a text each. */
  exceptionsOf(id: string): Promise<string[]>;
  /** The fields that a refusal names. */
  refused(method: string, path: string, json: object): Promise<string[]>;
}

/** Makes it; names are given once only. */
export function createBellFixture(api: () => ApiFixture): BellFixture {
  let serial = 0;
  let bell: Promise<string> | null = null;
  const make = async (path: string, json: object): Promise<string> => {
    const answer = await api().call("POST", path, { json });
    if (answer.status !== 200) throw new Error(answer.text);
    return answer.body.id;
  };
  const message = (): Promise<string> => {
    bell ??= make("/message-templates", { name: "Bell", subject: "Bell" });
    return bell;
  };
  return {
    make,
    message,
    async ringList(...times) {
      const messageTemplateId = await message();
      const entries = times.map((time) => ({ time, messageTemplateId }));
      return make("/ring-lists", { name: `List ${++serial}`, entries });
    },
    schedule(more = {}) {
      const days = { numWeeks: 1, startDate: "2031-09-01", endDate: "2031-12-19", timeZone: "Europe/Berlin" };
      return make("/bell-schedules", { name: `Schedule ${++serial}`, ...days, ...more });
    },
    async exceptionsOf(id) {
      const { body } = await api().call("GET", `/bell-schedules/${id}`);
      return body.bellScheduleExceptions.map(
        (each: Record<string, string | null>) =>
          `${each.startDate}..${each.endDate} ${each.ringListId ?? "silent"} ${each.description}`,
      );
    },
    async refused(method, path, json) {
      const answer = await api().call(method, path, { json });
      expect([answer.status, answer.text]).toEqual([400, answer.text]);
      return answer.body.errors.map(({ field }: { field: string }) => field);
    },
  };
}

/** The date so many days from now, the same throughout a test file. */
export function dateAfterDays(days: number): string {
  return new Date(NOW + days * 86_400_000).toISOString().slice(0, 10);
}
