import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EXIT } from "../../src/lib/exit-codes.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { sine } from "../support/signal-analysis.ts";
import { sampleBytes, wavFile } from "../support/wav-file.ts";
import { type Ran, runCommand } from "../unit/cli/run-command.ts";

const SECONDS = 60;

let daemon: TestDaemon;
let groupId: string;
let templateId: string;
beforeAll(async () => {
  daemon = await startTestDaemon();
  const { extensionId, endpointId } = daemon.first;
  const { icopId } = await make<{ icopId: string }>(`/extensions/${extensionId}/endpoints/${endpointId}/devices`, {
    ...{ type: "speakers", deviceIdentifier: "zone:Hall", description: "Hall" },
    attributes: { Group: "239.241.7.7", Port: "20530", Codec: "PCMU", TTL: "1" },
  });
  const zone = { name: "Hall", filterType: "REJECT", additionIds: [icopId] };
  groupId = (await make<{ id: string }>("/device-groups", zone)).id;
  const template = { name: "Lesson bell", subject: "Lesson", deviceGroupIds: [groupId] };
  templateId = (await make<{ id: string }>("/message-templates", template)).id;
});
afterAll(() => daemon.stop());

const carillon = (...argv: string[]): Promise<Ran> =>
  runCommand(argv, { CARILLON_URL: daemon.url, CARILLON_TOKEN: daemon.first.token });

async function make<T = { id: string }>(path: string, row: object): Promise<T> {
  const { status, body } = await daemon.call<T>("POST", path, row);
  expect([path, status]).toEqual([path, 200]);
  return body;
}

/** Sends a minute of a tone to the hall; resolves once it sounds. */
async function page(subject: string, more: Record<string, string> = {}): Promise<string> {
  const form = new FormData();
  for (const [field, value] of Object.entries({ subject, alertTone: "silent", ...more })) form.set(field, value);
  form.set("deviceGroupIds[]", groupId);
  const wav = wavFile({ rateHz: 8_000, channels: 1, bits: 16 }, sampleBytes(sine(440, SECONDS, 0.3), 16));
  form.set("audio", new Blob([new Uint8Array(wav)], { type: "audio/wav" }), "tone.wav");
  return (await make("/notifications", form)).id;
}

/** A schedule that rings on every day, in UTC. */
async function schedule(name: string, times: readonly string[]): Promise<void> {
  const entries = times.map((time) => ({ time, messageTemplateId: templateId }));
  const { id: ringListId } = await make("/ring-lists", { name, entries });
  await make("/bell-schedules", {
    ...{ name, numWeeks: 1, startDate: "2020-01-01", endDate: "2099-12-31", timeZone: "UTC" },
    bellScheduleEntries: Array.from({ length: 7 }, (_, entryNum) => ({ entryNum, ringListId })),
  });
}

describe("the commands of a day", () => {
  it("say that nothing is sent, planned or known yet", async () => {
    const status = await carillon("status");
    expect(status.out[0]).toMatch(/: (GREEN|YELLOW|RED), Carillon \d/);
    expect(status.out).toEqual(expect.arrayContaining(["Nothing is sent now.", "No bells are planned."]));
    expect(await carillon("history")).toMatchObject({ out: [], err: [expect.stringContaining("No messages yet")] });
    expect(await carillon("bells", "today")).toMatchObject({
      exitCode: EXIT.ok,
      err: [expect.stringContaining("No bells on")],
    });
    expect(await carillon("stop", "--all")).toMatchObject({ exitCode: EXIT.ok, err: ["Nothing is sent now."] });
  });

  it("show what is sent now, stop it, and keep it in the history", async () => {
    const id = await page("Fire drill", { drill: "true" });
    const other = await page("Bus 7 is late");
    const shown = new RegExp(`^ {2}Fire drill \\(drill\\) .*In progress: \\d of 1 device +${id}$`, "m");
    await expect.poll(async () => (await carillon("status")).out.join("\n")).toMatch(shown);
    const { out } = await carillon("status");
    expect(out).toContain("  Stop one: carillon stop ID");

    expect(await carillon("stop", id)).toMatchObject({ exitCode: EXIT.ok, out: ["Stopped: 1 of 1 message."] });
    const status = JSON.parse((await carillon("status", "--json")).out.join());
    expect(status.messages.map((row: { id: string }) => row.id)).toEqual([other]);
    const history = (await carillon("history")).out;
    expect(history[0]).toMatch(/^Time +Message +Result +ID$/);
    expect(history.find((line) => line.includes(id))).toMatch(/Fire drill \(drill\) +Stopped\. /);
    expect((await carillon("history", "--limit", "1")).out).toHaveLength(2);
    expect(await carillon("history", "--limit", "0")).toMatchObject({ exitCode: EXIT.usage });

    const all = await carillon("stop", "--all", "--json");
    expect([all.exitCode, JSON.parse(all.out.join())]).toEqual([EXIT.ok, { stopped: 1, failures: [] }]);
    expect((await carillon("status")).out).toContain("Nothing is sent now.");
  });

  it("send the all-clear, and refuse what is unclear", async () => {
    const id = await page("Gas in the laboratory");
    const sent = await carillon("all-clear", id, "--subject", "All clear: laboratory");
    expect([sent.exitCode, sent.err]).toEqual([EXIT.ok, []]);
    const { body } = await daemon.call<{ subject: string }>("GET", `/notifications/${sent.out[0]}`);
    expect(body.subject).toBe("All clear: laboratory");
    expect(await carillon("stop")).toMatchObject({ exitCode: EXIT.usage, err: [expect.stringContaining("--all")] });
    expect(await carillon("stop", id, "--all")).toMatchObject({ exitCode: EXIT.usage });
    expect(await carillon("stop", "unknown")).toMatchObject({ exitCode: EXIT.failure });
    expect(await carillon("stop", "--all")).toMatchObject({ exitCode: EXIT.ok });
  });

  it("list the bells of a day and the next ones", async () => {
    await schedule("Upper school", ["08:00:00", "23:59:59"]);
    const { exitCode, out } = await carillon("bells", "today", "--day", "2031-02-03");
    expect([exitCode, out.map((line) => line.split(/ {2,}/))]).toEqual([
      EXIT.ok,
      [
        ["Time", "Bell", "Schedule", "State"],
        ["08:00:00", "Lesson bell", "Upper school", "planned"],
        ["23:59:59", "Lesson bell", "Upper school", "planned"],
      ],
    ]);
    expect(await carillon("bells", "today", "--day", "2031-02-30")).toMatchObject({ exitCode: EXIT.usage });
    const status = (await carillon("status")).out;
    const next = status.slice(status.indexOf("Next bells:") + 1).slice(0, 5);
    expect(next).toHaveLength(5);
    expect(next.at(-1)).toMatch(/^ {2}\d{4}-\d\d-\d\d (?:08:00:00|23:59:59) {2}Lesson bell {2}Upper school$/);
  });
});
