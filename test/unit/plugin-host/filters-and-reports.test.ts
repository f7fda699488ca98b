import { describe, expect, it } from "vitest";
import { type PluginReport, secret } from "../../../src/plugin-api/index.ts";
import { open, remote } from "./host-fixture.ts";

const FILTER = { manifest: { extensionType: "device-filter" as const } };
const REPORTING = { manifest: { extensionType: "report" as const } };
const REQUEST = { notificationId: "n", subject: "Hi", priority: 5, drill: false, candidates: [] };
const BADGES: PluginReport = {
  ...{ key: "badges", name: "Badges", description: "", columns: ["a"] },
  parameters: [{ name: "building", description: "", required: false }],
};

describe("plugins of type device-filter", () => {
  it("are asked while they are enabled, whatever their state", async () => {
    const { host, change, clock } = await open({
      ...{
        p: { ...FILTER, activate: (ctx) => ctx.filter(async () => ({ excluded: ["a"], reason: "x".repeat(500) })) },
      },
      ...{ q: { activate: (ctx) => ctx.filter(async () => ({ excluded: ["b"] })) } },
    });
    const { deviceFilters } = host;
    expect(deviceFilters.names()).toEqual(["p"]);
    const answer = deviceFilters.ask("p", REQUEST);
    await clock.advance(0);
    expect(await answer).toEqual({ excluded: ["a"], reason: "x".repeat(200) });
    await change("p", { disabled: true });
    expect(deviceFilters.names()).toEqual([]);
    expect(await deviceFilters.ask("none", REQUEST)).toEqual({ problem: "It is not installed." });
  });

  it("fail without telling a secret, with an invalid answer, when late and when they stop", async () => {
    const { plugin, ctx } = remote();
    const { host, clock, change } = await open({
      p: { ...FILTER, ...plugin, fields: { token: secret("Token.") } },
    });
    await change("p", { config: { token: "s3cret-token" } });
    const { deviceFilters } = host;
    const ask = async () => {
      const answer = deviceFilters.ask("p", REQUEST);
      await clock.advance(0);
      return answer;
    };
    expect(await ask()).toEqual({ excluded: [] });
    ctx().filter(() => Promise.reject(new RangeError("refused s3cret-token")));
    const refused = await ask();
    expect(refused).toEqual({ problem: expect.stringMatching(/^refused /) });
    expect(JSON.stringify(refused)).not.toContain("s3cret-token");
    ctx().filter(async () => ({ excluded: [1] }) as never);
    expect(await ask()).toEqual({ problem: "The plugin's answer has no list of ids." });
    ctx().filter(() => new Promise(() => undefined));
    const late = deviceFilters.ask("p", REQUEST);
    await clock.advance(5_000);
    expect(await late).toEqual({ problem: "No answer in time." });
    const stopped = deviceFilters.ask("p", REQUEST);
    await change("p", { disabled: true });
    expect(await stopped).toEqual({ problem: "The plugin is not running." });
  });
});

describe("plugins of type report", () => {
  it("offer valid reports, under the same id in every installation, while they run", async () => {
    const { host, change } = await open({
      p: {
        ...REPORTING,
        activate(ctx) {
          ctx.report(BADGES, async () => []);
          ctx.report({ ...BADGES, key: "A b" }, async () => []);
          ctx.report({ ...BADGES, key: "none", columns: [] }, async () => []);
        },
      },
      q: { activate: (ctx) => ctx.report(BADGES, async () => []) },
    });
    const [only, ...others] = host.reports();
    expect(others).toEqual([]);
    expect(only).toEqual({ ...BADGES, id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    await change("p", { disabled: true });
    expect(host.reports()).toEqual([]);
    expect(await host.readReport(only?.id ?? "", { parameters: {}, userId: null })).toBeNull();
  });

  it("return their lines whole, at most 10,000 of them, or say why not", async () => {
    let count = 2_345;
    const { host, clock } = await open({
      p: {
        ...REPORTING,
        activate: (ctx) =>
          ctx.report(BADGES, async ({ parameters }) => {
            if (parameters.building === "none") throw new RangeError("no such building");
            return Array.from({ length: count }, (_, at) => [at]);
          }),
      },
    });
    const id = host.reports()[0]?.id ?? "";
    const read = async (building: string) => {
      const answer = host.readReport(id, { parameters: { building }, userId: "u" });
      await clock.advance(0);
      return answer;
    };
    expect(await read("A")).toEqual({ lines: Array.from({ length: 2_345 }, (_, at) => [at]) });
    expect(await read("none")).toEqual({ problem: "no such building" });
    count = 10_001;
    expect(await read("A")).toEqual({ problem: "The report has more than 10000 lines. Ask for less." });
    const dropped = host.readReport(id, { parameters: {}, userId: null });
    await host.stop();
    expect(await dropped).toEqual({ problem: "The plugin of the report is not running. Check its extension." });
  });
});
