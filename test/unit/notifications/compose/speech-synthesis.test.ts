import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../../src/lib/clock.ts";
import { createTextToSpeechEngine } from "../../../../src/media/text-to-speech.ts";
import { decodeWav, inspectWav } from "../../../../src/media/wav.ts";
import { renderOpening } from "../../../../src/notifications/compose/audio-rendering.ts";
import {
  createSpeechSynthesizer,
  type SpeechSynthesizer,
} from "../../../../src/notifications/compose/speech-synthesis.ts";
import { applyLexicon, spokenText } from "../../../../src/notifications/compose/speech-text.ts";
import messageTemplates from "../../../../src/resources/messages/message-templates.ts";
import notificationActivities from "../../../../src/resources/notifications/notification-activities.ts";
import ttsDefaults from "../../../../src/resources/speech/tts-defaults.ts";
import ttsLexicons from "../../../../src/resources/speech/tts-lexicons.ts";
import ttsVoices from "../../../../src/resources/speech/tts-voices.ts";
import { externalProgram } from "../../../support/external-programs.ts";
import { createTtsProgramStub } from "../../../support/tts-program-stub.ts";
import { sounding } from "../engine/engine-fixture.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";

let scene: BroadcastFixture;
let group = "";
beforeEach(async () => {
  group = "";
  scene = await openBroadcasts();
});
afterEach(() => scene.close());

async function speaking(program: string, longestMs?: number): Promise<SpeechSynthesizer> {
  const engine = createTextToSpeechEngine(systemClock, program, longestMs);
  const speech = createSpeechSynthesizer({ store: scene.store, engine, by: scene.by });
  await speech.start();
  scene.needs.speech = speech;
  return speech;
}
const send = async (more: object) => {
  group ||= await scene.phone("SEP001").then(() => scene.group("G", ["SEP001"]));
  const input = { subject: "Fire", body: "Leave now", deviceGroupIds: [group], alertTone: "tone", ...more };
  const row = await scene.run((await scene.send(input)).id);
  const words = scene.store.find(notificationActivities, { notificationId: row.id, type: "info" });
  return { row, words: words.map(({ details }) => (details as { message: string }).message) };
};

const SPOKEN = {
  ttsType: "subject",
  subject: "x",
  body: null,
  ttsCustomContent: null,
  ttsSpeed: null,
} as const;

it("lists the voices of the installed engine under stable ids", async () => {
  const { program } = createTtsProgramStub();
  await speaking(program);
  const voices = scene.store.find(ttsVoices, {});
  expect(voices.map(({ name, language, gender }) => [name, language, gender])).toEqual([
    ["English (Great Britain)", "en-GB", "male"],
    ["German", "de", "female"],
  ]);
  await speaking(program);
  expect(scene.store.find(ttsVoices, {}).map(({ id }) => id)).toEqual(voices.map(({ id }) => id));
});

it("keeps the voices of an engine that does not respond, marked as unavailable, until it is back", async () => {
  const { program } = createTtsProgramStub();
  await speaking(program);
  const ttsVoiceId = scene.store.find(ttsVoices, { language: "de" })[0]?.id ?? "";
  const template = await scene.create(messageTemplates, { name: "T", subject: "x", ttsVoiceId });
  const marks = () => scene.store.find(ttsVoices, {}).map(({ unavailable }) => unavailable);
  expect(marks()).toEqual([false, false]);
  const speech = await speaking("/nowhere/speaker");
  expect(marks()).toEqual([true, true]);
  expect(scene.store.get(messageTemplates, template.id)?.ttsVoiceId).toBe(ttsVoiceId);
  await expect(speech.preview({ ...SPOKEN, ttsVoiceId }, { ignoreLexicon: false })).rejects.toThrow("ttsType");
  await speaking(program);
  expect(marks()).toEqual([false, false]);
});

it("renders a message as tone and speech, with the default voice and the lexicon", async () => {
  const { program, said } = createTtsProgramStub();
  await speaking(program);
  const german = scene.store.find(ttsVoices, { language: "de" })[0]?.id ?? "";
  await scene.create(ttsDefaults, { ttsVoiceId: german });
  await scene.create(ttsLexicons, { language: "de-DE", find: "fire", replace: "Feuer" });
  const { row, words } = await send({ ttsType: "subject-and-body", ttsSpeed: "slow", drill: true });
  // Its word 0.5 s, tone 1.5 s, speech 0.5 s, and twice a gap of 0.5 s.
  expect([row.programmeMs, words]).toEqual([3_500, []]);
  const how = "-v de -s 130 -b 1 --stdin --stdout";
  const lines = readFileSync(said, "utf8")
    .trim()
    .split(how)
    .map((line) => line.trim());
  expect(lines.sort()).toEqual(["", "Feuer. Leave now.", "Übung."]);
});

describe("a drill", () => {
  it("is announced before its recording, its tone and its speech, in every language of the message", async () => {
    const { program, said } = createTtsProgramStub();
    const speech = await speaking(program);
    const recorded = await send({ audio: await scene.recording(1_000), drill: true });
    expect([recorded.row.programmeMs, recorded.words]).toEqual([4_000, []]);
    expect((await send({ audio: await scene.recording(1_000) })).row.programmeMs).toBe(3_000);
    expect((await send({ drill: true, ...sounding(4_000) })).row.programmeMs).toBe(2 * 2_500 + 500);
    expect(readFileSync(said, "utf8")).toMatch(/^-v en-gb .*\nDrill\.\n$/);
    const opening = await renderOpening({ ...recorded.row, alertTone: "silent" }, { ...scene.needs, speech });
    expect(opening?.durationMs).toBe(500);
    const both = { ...SPOKEN, ttsVoiceId: null, ttsType: "custom-text", ttsCustomContent: "Out [de] Raus" } as const;
    await speech.drillAnnouncement(both).speak();
    expect(readFileSync(said, "utf8").split("\n").slice(-4)).toEqual([
      "Drill.",
      expect.stringMatching(/^-v de/),
      "Übung.",
      "",
    ]);
    expect((await send({ drill: true, alertTone: "silent", ttsType: "none" })).row.programmeMs).toBeNull();
  });

  it.each([null, "/nowhere/speaker", createTtsProgramStub("badly").program])(
    "is announced by a signal where %s speaks, and the activity log says why",
    async (program) => {
      if (program) await speaking(program);
      const { row, words } = await send({ drill: true });
      expect(row.programmeMs).toBeGreaterThan(2_500);
      expect(words).toHaveLength(1);
    },
  );
});

it("speaks SSML with a voice per language and the lexicon, and keeps variables as text", async () => {
  const { program, said } = createTtsProgramStub();
  await speaking(program);
  await scene.create(ttsLexicons, { language: "de-DE", find: "Nr", replace: "Nummer" });
  const ttsCustomContent = `<speak version="1.1" xmlns="x">Tom &amp; {{who}}
    <prosody rate="slow">out <voice xml:lang="de">Nr <say-as interpret-as="digits">12</say-as></voice> on</prosody></speak>`;
  const more = { ttsType: "custom-ssml", ttsCustomContent, customVars: { who: "<b>&" } };
  expect((await send(more)).words).toEqual([]);
  const [first, second, third] = readFileSync(said, "utf8")
    .split(/^-m -v .*\n/m)
    .slice(1);
  expect(first).toMatch(/^<speak>Tom &#38; &#60;b&#62;&#38;\s+<prosody rate="slow">out <\/prosody><\/speak>\n$/);
  expect(second).toBe(
    '<speak><prosody rate="slow">Nummer </prosody><prosody rate="slow"><say-as interpret-as="digits">12</say-as></prosody></speak>\n',
  );
  expect(third).toBe('<speak><prosody rate="slow"> on</prosody></speak>\n');
  await expect(send({ ttsType: "custom-ssml", ttsCustomContent: "<speak>" })).rejects.toThrow("ttsCustomContent");
});

it("speaks text in several languages with the voice and lexicon of each", async () => {
  const { program, said } = createTtsProgramStub();
  const speech = await speaking(program);
  await scene.create(ttsLexicons, { language: "de-DE", find: "Nr", replace: "Nummer" });
  const words = { ...SPOKEN, ttsVoiceId: null, ttsType: "custom-text" } as const;
  const ttsCustomContent = "Go out [de] Ausgang Nr 2 [xx] [en-GB] now";
  const speaking1 = speech.synthesize({ ...words, ttsCustomContent });
  const [one, two] = await Promise.all([
    speaking1?.speak(),
    speech.synthesize({ ...words, ttsCustomContent })?.speak(),
  ]);
  expect(two).toBe(one);
  expect(readFileSync(said, "utf8").split("\n")).toEqual([
    ...[expect.stringMatching(/^-v en-gb/), "Go out", expect.stringMatching(/^-v de/), "Ausgang Nummer 2 [xx]"],
    ...[expect.stringMatching(/^-v en-gb/), "now.", ""],
  ]);
  // Three times half a second with 0.4 s between them.
  expect(inspectWav(one as Uint8Array).durationMs).toBe(2_300);
  expect(speech.synthesize({ ...words, ttsCustomContent: "[fr] Oui" })?.key).not.toBe(speaking1?.key);
});

describe("reports missing speech everywhere", () => {
  it.each([
    ["/nowhere/speaker", "No speech engine is installed on this appliance."],
    [createTtsProgramStub("badly").program, "The speech engine failed (3)."],
    [createTtsProgramStub("never").program, "The speech engine timed out."],
  ])("with %s the tone is heard and the diary tells why", async (program, why) => {
    await speaking(program, 1_500);
    const { row, words } = await send({ ttsType: "body" });
    expect([row.programmeMs, row.stage, words]).toEqual([
      1_500,
      "deliver",
      [`${why} The message is sent without this audio.`],
    ]);
  });

  it("logs missing speech, and needs none for a recording", async () => {
    expect((await send({ ttsType: "body" })).words[0]).toContain("No speech engine is available.");
  });
});

it("speaks text that looks like an option", async () => {
  const { program, said } = createTtsProgramStub();
  const speech = await speaking(program);
  const words = { subject: "-w /tmp/x; $(id)", body: null, ttsCustomContent: null, ttsVoiceId: null, ttsSpeed: null };
  const { hash, wav } = await speech.preview({ ...words, ttsType: "subject" }, { ignoreLexicon: false });
  expect(readFileSync(said, "utf8").split("\n")).toEqual([expect.stringMatching(/^-v en-gb/), "-w /tmp/x; $(id).", ""]);
  expect(decodeWav(wav)).toHaveLength(4_000);
  expect(speech.previewOf(hash)).toEqual(wav);
  expect(speech.previewOf("0")).toBeNull();
  await expect(speech.preview({ ...words, ttsType: "none" }, { ignoreLexicon: false })).rejects.toThrow("no words");
});

externalProgram("espeak-ng").it("the real program is understood", async () => {
  const engine = createTextToSpeechEngine(systemClock);
  const voices = await engine.listVoices();
  expect(voices.map(({ language }) => language)).toEqual(expect.arrayContaining(["en-US", "de", "en-GB"]));
  const wav = await engine.synthesize({
    text: "Attention please. This is a test.",
    voice: "en-us",
    wordsPerMinute: 155,
  });
  inspectWav(wav);
  const samples = decodeWav(wav);
  expect(samples.length / 8_000).toBeGreaterThan(1);
  expect(samples.some((sample) => Math.abs(sample) > 0.1)).toBe(true);
  const slow = '<speak>Attention <break time="3s"/> please.</speak>';
  const marked = decodeWav(
    await engine.synthesize({ text: slow, isMarkedUp: true, voice: "en-us", wordsPerMinute: 155 }),
  );
  expect(marked.length / 8_000).toBeGreaterThan(3);
});

describe("lexicon entries", () => {
  const message = { subject: "Fire", body: "Leave!", ttsCustomContent: "Own" };
  it.each([
    ["none", ""],
    ["subject", "Fire."],
    ["body", "Leave!"],
    ["subject-and-body", "Fire. Leave!"],
    ["custom-text", "Own."],
  ] as const)("of %s are %j", (ttsType, text) => {
    expect(spokenText({ ...message, ttsType })).toBe(text);
  });

  it("are replaced whole, in any case, the longest first, in the voice's language", () => {
    const entries = [
      { language: "en-US", find: "Dr", replace: "Doctor" },
      { language: "en-US", find: "Dr. No", replace: "him" },
      { language: "de-DE", find: "Dr", replace: "Doktor" },
      { language: "en-US", find: "a.b", replace: "x" },
    ];
    expect(applyLexicon("dr Drive DR. NO aXb a.b", entries, "en-US")).toBe("Doctor Drive him aXb x");
    expect(applyLexicon("Dr", entries, "de")).toBe("Doktor");
    expect(applyLexicon("Dr", entries, "en-GB")).toBe("Dr");
  });
});
