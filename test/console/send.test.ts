import type { Browser, Locator } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { type BroadcastHarness, startBroadcastHarness } from "../support/broadcast-harness.ts";
import { type ConsoleOptions, type ConsolePage, startBrowser } from "../support/browser.ts";
import { holdUntil, openConsole } from "../support/console-pages.ts";
import { externalProgram } from "../support/external-programs.ts";
import { eventually } from "../support/timeouts.ts";

const { describe, it } = externalProgram("chromium");

/** A microphone that beeps, and nobody to ask for it. */
const FAKE_MICROPHONE = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"];
const PHONES = 4;
const OFFLINE = 2;
const HOLD_MS = 1_500;

interface Sent {
  id: string;
  subject: string;
  drill: boolean;
  priority: string;
  alertTone: string | null;
  audio: number;
  parentNotificationId: string | null;
  notificationSource: string;
}

describe("the send page and what follows a send", () => {
  let scene: BroadcastHarness;
  let browser: Browser;

  beforeAll(async () => {
    scene = await startBroadcastHarness({ phones: PHONES, zones: 1, offline: OFFLINE }, 100);
    browser = await startBrowser(FAKE_MICROPHONE);
    const [group] = (await scene.api().get<{ data: { id: string }[] }>("/device-groups")).data;
    const template = { deviceGroupIds: [group?.id], alertTone: "chime" };
    await scene.api().post("/message-templates", { ...template, name: "Lockdown", subject: "Lock the doors" });
    const followUp = { ...template, followUp: true, bodyCustomizable: true };
    await scene.api().post("/message-templates", { ...followUp, name: "Stay inside", subject: "Stay inside" });
  });

  afterAll(async () => {
    await browser?.close();
    await scene?.end();
  });

  const loggedIn = (options?: ConsoleOptions, by = browser): Promise<ConsolePage> =>
    openConsole(by, scene.url(), options);

  const sent = async (): Promise<Sent[]> =>
    (await scene.api().get<{ data: Sent[] }>("/notifications?draft=false&sort=-createdAt&limit=100")).data;

  async function choose({ page }: ConsolePage, subject: string): Promise<void> {
    await page.getByLabel("Subject").fill(subject);
    await page.getByRole("combobox", { name: "Device groups" }).click();
    await page.getByRole("option", { name: "Everywhere" }).click();
    await page.keyboard.press("Escape");
  }

  /** An emergency tries for a minute to reach those that are not there. */
  async function stop(id = ""): Promise<void> {
    await scene.api().post(`/notifications/${id}/activities`, { type: "abort" });
    await scene.waitUntilFinished(id);
  }

  /** Presses for a third of what would be holding. */
  const slip = (button: Locator): Promise<void> => button.click({ delay: HOLD_MS / 3 });

  it("asks another question for a live message that would reach no one, which Enter does not answer", async () => {
    const console = await loggedIn();
    const { page, open, axe, errors } = console;
    await scene.api().post("/device-groups", { name: "New wing", filterType: "REJECT" });
    await open("/send");
    await page.getByLabel("Subject").fill("Hello, new wing");
    await page.getByRole("combobox", { name: "Device groups" }).click();
    await page.getByRole("option", { name: "New wing" }).click();
    await page.keyboard.press("Escape");
    await page.waitForSelector("text=The groups and lists are empty.");
    const ask = () => page.getByRole("button", { name: "Send live" }).click();
    const dialog = page.getByRole("dialog");
    await ask();
    await dialog.getByText("This message would reach no one. Send anyway?").waitFor();
    await dialog.getByText("The groups and lists are empty.").waitFor();
    expect(await dialog.getByText("This is not a drill.").count()).toBe(0);
    expect(await axe()).toEqual([]);
    const count = async () => (await sent()).filter(({ subject }) => subject === "Hello, new wing").length;
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    expect(await count()).toBe(0);
    await ask();
    await dialog.getByRole("button", { name: "Send anyway" }).click();
    await page.waitForURL(/broadcasts\/./);
    await page.waitForSelector("text=Reaches no one: The groups and lists are empty.");
    expect(await count()).toBe(1);

    await open("/send");
    await choose(console, "Hello, all");
    await page
      .getByRole("region", { name: "Recipients" })
      .getByText(/^[1-9] devices/)
      .first()
      .waitFor();
    await ask();
    await dialog.getByText("This is not a drill.").waitFor();
    expect(await dialog.getByText("reach no one").count()).toBe(0);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(errors).toEqual([]);
  });

  it("records by microphone, shows and plays it, and sends it", async () => {
    const console = await loggedIn();
    const { page, open, axe, errors } = console;
    await open("/send");
    await page.getByRole("radio", { name: "DRILL" }).check();
    await choose(console, "Spoken drill");
    await page.getByRole("button", { name: "Record", exact: true }).click();
    await page.waitForSelector("[role=meter]");
    expect(await axe()).toEqual([]);
    // The fake microphone beeps once a second.
    await page.waitForSelector("xpath=//*[@role='meter'][@aria-valuenow > 30]");
    await page.waitForSelector("[role=timer] >> text=/0:(0[2-9]|[1-5])/");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.waitForSelector("svg.waveform");
    expect(await axe()).toEqual([]);
    const seconds = await page.evaluate<number>(`(async () => {
      const audio = document.querySelector(".recording audio");
      await audio.play();
      return audio.duration;
    })()`);
    expect(seconds).toBeGreaterThan(1.5);
    await page.getByRole("button", { name: "Start drill" }).dblclick();
    await page.waitForURL(/broadcasts\/./);
    const rows = (await sent()).filter(({ subject }) => subject === "Spoken drill");
    expect(rows).toMatchObject([{ drill: true }]);
    const wav = Buffer.from(await scene.api().download(`/notifications/${rows[0]?.id}/audio`));
    expect([wav.toString("latin1", 0, 4), wav.readUInt16LE(22), wav.readUInt32LE(24)]).toEqual(["RIFF", 1, 16_000]);
    expect((wav.length - 44) / 32_000).toBeCloseTo(seconds, 1);
    await scene.waitUntilFinished(rows[0]?.id ?? "");
    expect(errors).toEqual([]);
  });

  it("pages live, shows when to speak, and keeps the recording", async () => {
    const console = await loggedIn();
    const { page, open, axe, errors } = console;
    await open("/speak");
    await page.getByRole("radio", { name: "DRILL" }).check();
    await page.getByRole("combobox", { name: "Device groups" }).click();
    await page.getByRole("option", { name: "Everywhere" }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("textbox", { name: "Subject" }).fill("Spoken in person");
    await page.getByRole("button", { name: "Speak (drill)" }).click();
    await page.waitForSelector("button.talk >> text=Speak now");
    expect(await axe()).toEqual([]);
    await page.waitForSelector(".strip.sounding >> text=speaks live");
    // A second more than is demanded of the sound: the time begins before the first sound has come in.
    await page.waitForSelector("[role=timer] >> text=/0:(0[3-9]|[1-5])/");
    await page.keyboard.press("Escape");
    await page.waitForSelector("text=Live page finished.");
    const [row] = (await sent()).filter(({ subject }) => subject === "Spoken in person");
    await scene.waitUntilFinished(row?.id ?? "");
    expect((await scene.deliveries(row?.id ?? "")).filter(({ level }) => level === "playing")).toHaveLength(
      PHONES - OFFLINE,
    );
    await eventually(async () => (await sent()).some(({ id, audio, drill }) => id === row?.id && drill && audio > 0));
    const wav = Buffer.from(await scene.api().download(`/notifications/${row?.id}/audio`));
    expect((wav.length - 44) / 16_000).toBeGreaterThan(1.9);
    expect(errors).toEqual([]);
  });

  it("says in words that the microphone was refused", async () => {
    const strict = await startBrowser(["--use-fake-device-for-media-stream", "--deny-permission-prompts"], true);
    try {
      const { page, open } = await loggedIn({}, strict);
      await open("/send");
      await page.getByRole("button", { name: "Record", exact: true }).click();
      await page.waitForSelector("[role=alert] >> text=Allow it next to the address bar");
    } finally {
      await strict.close();
    }
  });

  it("takes a file, and warns of one that is cut off by its loudness", async () => {
    const { page, open } = await loggedIn();
    await open("/send");
    const samples = Buffer.alloc(32_000);
    for (let at = 0; at < samples.length; at += 2) samples.writeInt16LE(at % 200 < 100 ? 32_767 : -32_768, at);
    const head = Buffer.from(await scene.api().download("/alert-tones/chime/audio")).subarray(0, 44);
    head.writeUInt32LE(samples.length + 36, 4);
    head.writeUInt32LE(samples.length, 40);
    await page.setInputFiles("#recording", {
      name: "loud.wav",
      mimeType: "audio/wav",
      buffer: Buffer.concat([head, samples]),
    });
    await page.waitForSelector("text=Too loud: distorted");
    await page.waitForSelector("text=0:02");
    await page.getByRole("button", { name: "Record again" }).click();
    await page.setInputFiles("#recording", { name: "a.wav", mimeType: "audio/wav", buffer: Buffer.from("nonsense") });
    await page.waitForSelector("[role=alert] >> text=Use WAV");
  });

  it("plays the tone by ear, and says whom a message reaches", async () => {
    const console = await loggedIn();
    const { page, open } = console;
    await open("/send");
    const [heard] = await Promise.all([
      page.waitForResponse(/alert-tones\/default\/audio/),
      // It is over soon.
      page.waitForSelector("text=Stop the tone"),
      page.getByRole("button", { name: "Play tone" }).click(),
    ]);
    expect(heard.headers()["content-type"]).toBe("audio/wav");
    await page.waitForSelector("text=Play tone");
    await choose(console, "Whom");
    await page.waitForSelector(`.reach-line >> text=${PHONES + 1} devices`);
    await page.waitForSelector(".reach-line >> text=/about [\\d.]+ s/");
  });

  it("asks before it discards input", async () => {
    const { page, open, axe } = await loggedIn();
    await open("/send");
    await page.getByLabel("Subject").fill("Half a thought");
    await page.click("nav >> text=People");
    await page.waitForSelector("text=Discard unsaved changes?");
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: "Stay here" }).click();
    expect(await page.getByLabel("Subject").inputValue()).toBe("Half a thought");
    await page.click("nav >> text=People");
    await page.getByRole("button", { name: "Discard changes" }).click();
    await page.waitForURL(/people/);
  });

  it("removes after ten seconds, takes it back when asked, and keeps its word when the page goes", async () => {
    const { page, open } = await loggedIn();
    const lists = async () => (await scene.api().get<{ data: { name: string }[] }>("/distribution-lists")).data;
    for (const name of ["Chess", "Drama"]) await scene.api().post("/distribution-lists", { name });
    await open("/lists");
    const remove = async (name: string) => {
      await page.getByRole("button", { name, exact: true }).click();
      await page.getByRole("button", { name: "Remove", exact: true }).click();
      await page.waitForSelector(`text=${name} will be removed in ten seconds.`);
    };
    await remove("Chess");
    await page.waitForSelector(".line.leaving >> text=Chess");
    await page.getByRole("button", { name: "Undo" }).click();
    await page.waitForSelector(".line.leaving", { state: "detached" });
    await remove("Drama");
    expect((await lists()).map(({ name }) => name)).toEqual(["Chess", "Drama"]);
    await page.goto("about:blank");
    await eventually(async () => (await lists()).length === 1);
    expect((await lists())[0]?.name).toBe("Chess");
  });

  it("sends an emergency with two taps from anywhere, the second one held", async () => {
    const console = await loggedIn();
    const { page, open, axe, errors } = console;
    await open("/templates");
    await page.getByRole("button", { name: "Lockdown", exact: true }).click();
    await page.getByLabel("Show as an emergency tile").click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.waitForSelector("text=Saved.");

    await open("/people");
    let taps = 0;
    await page.exposeFunction("tapped", () => taps++);
    await page.evaluate("addEventListener('pointerdown', () => tapped(), true)");
    await page.getByRole("button", { name: "Emergency: choose a message" }).click();
    const tile = page.getByRole("button", { name: "Lockdown Lock the doors" });
    await tile.waitFor();
    expect(await axe()).toEqual([]);
    await holdUntil(tile, () => page.waitForURL(/broadcasts\/./));
    await page.waitForSelector("h1 >> text=Lock the doors");
    await expect.poll(() => taps).toBe(2);
    const rows = (await sent()).filter(({ subject }) => subject === "Lock the doors");
    expect(rows).toMatchObject([{ drill: false, priority: "critical" }]);
    await stop(rows[0]?.id);

    // A slip calls no lockdown off.
    const allClears = async () => (await sent()).filter(({ subject }) => subject === "All clear: Lock the doors");
    const allClear = page.getByRole("button", { name: /Send all-clear/ });
    await allClear.click();
    await slip(allClear);
    expect(await axe()).toEqual([]);
    expect(await allClears()).toEqual([]);
    await holdUntil(allClear, () => page.waitForSelector("h1 >> text=All clear: Lock the doors"));
    const clear = await allClears();
    expect(clear).toMatchObject([{ drill: false, parentNotificationId: rows[0]?.id }]);
    await stop(clear[0]?.id);
    expect(errors).toEqual([]);
  });

  it("sends no emergency by a slip, one by keys, and one by two presses without holding", async () => {
    const console = await loggedIn();
    const { page, open, axe } = console;
    const count = async () => (await sent()).filter(({ subject }) => subject === "Lock the doors").length;
    const before = await count();
    const openSheet = async () => {
      await open("/devices");
      await page.getByRole("button", { name: "Emergency: choose a message" }).focus();
      await page.keyboard.press("Enter");
      await page.getByRole("radio", { name: "DRILL" }).check();
      return page.getByRole("button", { name: "Lockdown Lock the doors" });
    };
    const slipped = await openSheet();
    expect(await axe()).toEqual([]);
    await slip(slipped);
    await slipped.focus();
    await page.keyboard.press("Enter");
    await page.waitForTimeout(HOLD_MS);
    expect(await count()).toBe(before);
    await page.keyboard.down("Enter");
    await page.waitForURL(/broadcasts\/./);
    await page.keyboard.up("Enter");
    expect(await count()).toBe(before + 1);
    await stop((await sent())[0]?.id);
    const pressed = await openSheet();
    await pressed.dispatchEvent("click");
    await page.waitForSelector("text=Press again to send");
    await pressed.dispatchEvent("click");
    await page.waitForURL(/broadcasts\/./);
    expect(await count()).toBe(before + 2);
    const [last] = await sent();
    expect(last).toMatchObject({ drill: true, priority: "critical" });
    await stop(last?.id);
  });

  it("sends again to whom it missed, then the all-clear, with one tap each", async () => {
    const console = await loggedIn();
    const { page, open, axe, errors } = console;
    await scene.campus.reset();
    const id = await scene.send("Fire drill", 1, { drill: "true" });
    await scene.waitUntilFinished(id);
    await open(`/broadcasts/${id}?outcome=notReached`);
    await page.waitForSelector(`.chip-button[aria-pressed=true] >> text=Not reached`);
    await page.waitForSelector(".chart canvas");
    await page.click("text=As a table");
    await page.waitForSelector("table.numbers");
    expect(await axe()).toEqual([]);
    await page.getByRole("button", { name: `Resend to ${OFFLINE} missed` }).dblclick();
    await page.waitForSelector(`text=Resending to ${OFFLINE} devices.`);
    await page.waitForSelector(`text=Sent again to ${OFFLINE} that it had not reached or that missed the audio.`);
    const finished = async () =>
      (await scene.activityLog(id)).filter(({ type }) => type === "broadcast-finished").length;
    await eventually(async () => (await finished()) === 2);
    // Those who had it before hear nothing a second time.
    const { phones } = await scene.campus.report();
    expect(phones.filter(({ joinedAt }) => joinedAt !== null).length).toBe(PHONES - OFFLINE);
    expect((await scene.deliveries(id)).filter(({ level }) => level === "failed")).toHaveLength(OFFLINE);

    await page.getByRole("button", { name: /Send all-clear/ }).dblclick();
    await page.waitForURL((url) => !url.pathname.endsWith(id));
    await page.waitForSelector("h1 >> text=All clear: Fire drill");
    await page.waitForSelector("header.drill >> text=DRILL");
    await page.waitForSelector("text=Follow-up of");
    const clear = (await sent()).filter(({ subject }) => subject === "All clear: Fire drill");
    expect(clear).toMatchObject([{ drill: true, alertTone: "all-clear1", parentNotificationId: id }]);
    await scene.waitUntilFinished(clear[0]?.id ?? "");
    expect(await axe()).toEqual([]);
    await page.getByRole("link", { name: "Fire drill" }).click();
    await page.waitForSelector("text=Followed by");
    await page.getByRole("button", { name: "Send all-clear · DRILL" }).click();
    await page.waitForSelector("text=The all-clear has been sent already. Press again to send it once more.");
    await page.getByRole("button", { name: "Send all-clear again · DRILL" }).click();
    await page.waitForSelector("h1 >> text=All clear: Fire drill");
    const twice = (await sent()).filter(({ subject }) => subject === "All clear: Fire drill");
    expect(twice).toHaveLength(2);
    for (const { id: one } of twice) await scene.waitUntilFinished(one);
    await page.getByRole("link", { name: "Fire drill" }).click();
    await page.waitForSelector("text=Followed by");
    await page.getByRole("link", { name: "Stay inside" }).click();
    await page.waitForSelector("text=Follow-up to the drill “Fire drill”, also a drill.");
    await page.getByRole("button", { name: "Start drill" }).click();
    await page.waitForSelector("h1 >> text=Stay inside");
    const [next] = await sent();
    expect(next).toMatchObject({ drill: true, parentNotificationId: id });
    await scene.waitUntilFinished(next?.id ?? "");
    expect(errors).toEqual([expect.stringMatching(/ 409 .*\/all-clear$/)]);
  });
});
