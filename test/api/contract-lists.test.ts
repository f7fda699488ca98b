import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon();
  for (const name of ["b", "a", "c", "e", "d"]) await daemon.call("POST", "/distribution-lists", { name });
});
afterAll(() => daemon.stop());

interface Envelope {
  total: number;
  partial: boolean;
  previous: string | null;
  next: string | null;
  data: { id: string; name: string }[];
}

const LISTS = "/distribution-lists";

async function list(query: string): Promise<Envelope> {
  const { status, body } = await daemon.call<Envelope>("GET", `${LISTS}?${query}`);
  expect(status).toBe(200);
  return body;
}

async function names(query: string): Promise<string> {
  return (await list(query)).data.map(({ name }) => name).join("");
}

type Row = readonly [claim: string, check: () => Promise<void>];

/** Sentences of the API description and of what was settled about its holes, each with its check. */
const LISTING: readonly Row[] = [
  [
    "a request with limit 1 returns partial true and a next pointer (a string)",
    async () =>
      expect(await list("limit=1")).toMatchObject({
        total: 5,
        partial: true,
        previous: null,
        next: expect.any(String),
      }),
  ],
  [
    "partial is false only when this one response holds every matching row",
    async () => {
      expect((await list("")).partial).toBe(false);
      const last = await list("limit=2&start=end");
      expect(last).toMatchObject({ partial: true, next: null, previous: expect.any(String) });
    },
  ],
  [
    "the token is opaque: standard base64 of a JSON string",
    async () => {
      const { next } = await list("limit=1");
      expect(next).toMatch(/^[A-Za-z0-9+/]+={0,2}$/);
      expect(JSON.parse(Buffer.from(next ?? "", "base64").toString())).toEqual(expect.any(String));
    },
  ],
  ["start = nothing (begin)", async () => expect(await names("start=&limit=2&sort=name")).toBe("ab")],
  ["start = end (page backwards from the end)", async () => expect(await names("start=end&limit=2")).toBe("ed")],
  [
    "there is no offset; an unknown query parameter has no effect",
    async () => expect(await names("offset=3")).toBe("baced"),
  ],
  ["default order is creation time then id", async () => expect(await names("")).toBe("baced")],
  ["sort=name (one attribute)", async () => expect(await names("sort=name")).toBe("abcde")],
  ["sort=-name descends", async () => expect(await names("sort=-name")).toBe("edcba")],
  [
    "no row is shown twice or skipped while the list changes",
    async () => {
      const first = await list("limit=2&sort=name");
      const zero = await daemon.call("POST", LISTS, { name: "0" });
      const second = await list(`limit=3&sort=name&start=${encodeURIComponent(first.next ?? "")}`);
      expect(second.data.map(({ name }) => name).join("")).toBe("cde");
      const back = await list(`limit=3&sort=name&start=${encodeURIComponent(second.previous ?? "")}`);
      expect(back.data.map(({ name }) => name).join("")).toBe("0ab");
      await daemon.call("DELETE", `${LISTS}/${zero.body.id}`);
    },
  ],
  [
    "include-total=false drops total",
    async () => {
      expect(await list("include-total=false")).not.toHaveProperty("total");
      expect(await list("includeTotal=false")).not.toHaveProperty("total");
    },
  ],
  [
    "attribute filters are exact",
    async () => {
      expect(await names("name=a")).toBe("a");
      expect(await names("name=A")).toBe("");
      expect(await names("isSubscribable=false&name=b")).toBe("b");
      expect(await names("is-subscribable=true")).toBe("");
    },
  ],
  [
    "timestamps also take __gt __gte __lt __lte",
    async () => {
      const at = encodeURIComponent(
        String(((await list("name=c")).data[0] as unknown as { createdAt: string }).createdAt),
      );
      const before = await names(`createdAt__lt=${at}`);
      const after = await names(`createdAt__gt=${at}`);
      expect(await names(`createdAt__gte=${at}&createdAt__lte=${at}`)).toContain("c");
      expect(await names(`created-at__lte=${at}`)).toContain("c");
      expect(before + after).not.toContain("c");
    },
  ],
  [
    "ids[]=a&ids[]=b restricts to ids",
    async () => {
      const [first, , third] = (await list("")).data;
      expect(await names(`ids[]=${first?.id}&ids[]=${third?.id}`)).toBe("bc");
    },
  ],
  ...["limit=0", "limit=1001", "limit=1.5", "limit=all", "limit=-1", "start=bm9uZQ==", "start=x", "sort=nothing"].map(
    (query): Row => [
      `400 for ${query}`,
      async () => {
        const { status, body } = await daemon.call("GET", `${LISTS}?${query}`);
        expect([status, body.type]).toEqual([400, "invalid-value"]);
      },
    ],
  ),
  [
    "a token that was not issued by this list is a 400",
    async () => {
      const start = encodeURIComponent((await list("limit=1")).next ?? "");
      for (const at of [`/confirmation-requests?start=${start}`, `${LISTS}?sort=name&start=${start}`]) {
        expect((await daemon.call("GET", at)).status).toBe(400);
      }
    },
  ],
  [
    "results of list requests are limited to what the user may see, total too",
    async () => {
      const { body: user } = await daemon.call("POST", "/users", { name: "One", email: "one@example.org" });
      const { body: token } = await daemon.call("POST", `/users/${user.id}/tokens`, { name: "t" });
      const seen = await daemon.call("GET", "/users", undefined, String(token.token));
      expect(seen.body).toMatchObject({ total: 1, data: [{ id: user.id }] });
    },
  ],
];

describe("lists", () => {
  it.each(LISTING)("%s", async (_claim, check) => check());
});
