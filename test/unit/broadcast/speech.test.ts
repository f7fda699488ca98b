import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSpeechEngine } from "../../../src/audio/speech-engine.ts";
import { decodeWav, inspectWav } from "../../../src/audio/wav.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { createSpeech, type Speech } from "../../../src/broadcast/speech.ts";
import { applyLexicon, spokenText } from "../../../src/broadcast/spoken-text.ts";
import notificationActivities from "../../../src/resources/broadcasts/notification-activities.ts";
import messageTemplates from "../../../src/resources/messages/message-templates.ts";
import ttsDefaults from "../../../src/resources/speech/tts-defaults.ts";
import ttsLexicons from "../../../src/resources/speech/tts-lexicons.ts";
import ttsVoices from "../../../src/resources/speech/tts-voices.ts";
import { peer } from "../../support/peers.ts";
import { makeSpeechProgram } from "../../support/speech-program.ts";
import { type BroadcastFixture, openBroadcasts } from "./broadcast-fixture.ts";

let scene: BroadcastFixture;
beforeEach(async () => {
  scene = await openBroadcasts();
});
afterEach(() => scene.close());

async function speaking(program: string, longestMs?: number): Promise<Speech> {
  const engine = createSpeechEngine(systemClock, program, longestMs);
  const speech = createSpeech({ store: scene.store, engine, by: scene.by });
  await speech.start();
  scene.needs.speech = speech;
  return speech;
}
const send = async (more: object) => {
  await scene.phone("SEP001");
  const group = await scene.group("G", ["SEP001"]);
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
  drill: false,
} as const;

it("voices are those that the installed program has, under ids that stay", async () => {
  const { program } = makeSpeechProgram();
  await speaking(program);
  const voices = scene.store.find(ttsVoices, {});
  expect(voices.map(({ name, language, gender }) => [name, language, gender])).toEqual([
    ["English (Great Britain)", "en-GB", "male"],
    ["German", "de", "female"],
  ]);
  await speaking(program);
  expect(scene.store.find(ttsVoices, {}).map(({ id }) => id)).toEqual(voices.map(({ id }) => id));
});

it("voices of a program that does not answer stay for the templates that name them, marked, until it is back", async () => {
  const { program } = makeSpeechProgram();
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

it("a message is heard as tone and speech, in the voice of the defaults and by the lexicon", async () => {
  const { program, said } = makeSpeechProgram();
  await speaking(program);
  const german = scene.store.find(ttsVoices, { language: "de" })[0]?.id ?? "";
  await scene.create(ttsDefaults, { ttsVoiceId: german });
  await scene.create(ttsLexicons, { language: "de-DE", find: "fire", replace: "Feuer" });
  const { row, words } = await send({ ttsType: "subject-and-body", ttsSpeed: "slow", drill: true });
  // Tone 1.5 s, gap 0.5 s, speech 0.5 s.
  expect([row.programmeMs, words]).toEqual([2_500, []]);
  expect(readFileSync(said, "utf8")).toBe("-v de -s 130 -b 1 --stdin --stdout\nDrill. Feuer. Leave now.\n");
});

it("words in several languages are spoken one after another, each by a voice and a lexicon of its own, once", async () => {
  const { program, said } = makeSpeechProgram();
  const speech = await speaking(program);
  await scene.create(ttsLexicons, { language: "de-DE", find: "Nr", replace: "Nummer" });
  const words = { ...SPOKEN, ttsVoiceId: null, ttsType: "custom-text" } as const;
  const ttsCustomContent = "Go out [de] Ausgang Nr 2 [xx] [en-GB] now";
  const speaking1 = speech.of({ ...words, ttsCustomContent });
  const [one, two] = await Promise.all([speaking1?.speak(), speech.of({ ...words, ttsCustomContent })?.speak()]);
  expect(two).toBe(one);
  expect(readFileSync(said, "utf8").split("\n")).toEqual([
    ...[expect.stringMatching(/^-v en-gb/), "Go out", expect.stringMatching(/^-v de/), "Ausgang Nummer 2 [xx]"],
    ...[expect.stringMatching(/^-v en-gb/), "now.", ""],
  ]);
  // Three times half a second with 0.4 s between them.
  expect(inspectWav(one as Uint8Array).durationMs).toBe(2_300);
  expect(speech.of({ ...words, ttsCustomContent: "[fr] Oui" })?.key).not.toBe(speaking1?.key);
});

describe("nothing is silent about missing speech", () => {
  it.each([
    ["/nowhere/speaker", "No speech program is installed on this appliance."],
    [makeSpeechProgram("badly").program, "The speech program failed (3)."],
    [makeSpeechProgram("never").program, "The speech program took too long."],
  ])("with %s the tone is heard and the diary tells why", async (program, why) => {
    await speaking(program, 1_500);
    const { row, words } = await send({ ttsType: "body" });
    expect([row.programmeMs, row.stage, words]).toEqual([
      1_500,
      "deliver",
      [`${why} The message goes on without this sound.`],
    ]);
  });

  it("without a speech the diary tells, and a recording needs none", async () => {
    expect((await send({ ttsType: "body" })).words[0]).toContain("Nothing can speak here.");
  });
});

it("what looks like an option is spoken, not obeyed", async () => {
  const { program, said } = makeSpeechProgram();
  const speech = await speaking(program);
  const words = { subject: "-w /tmp/x; $(id)", body: null, ttsCustomContent: null, ttsVoiceId: null, ttsSpeed: null };
  const { hash, wav } = await speech.preview({ ...words, ttsType: "subject" }, { ignoreLexicon: false });
  expect(readFileSync(said, "utf8").split("\n")).toEqual([expect.stringMatching(/^-v en-gb/), "-w /tmp/x; $(id).", ""]);
  expect(decodeWav(wav)).toHaveLength(4_000);
  expect(speech.previewOf(hash)).toEqual(wav);
  expect(speech.previewOf("0")).toBeNull();
  await expect(speech.preview({ ...words, ttsType: "none" }, { ignoreLexicon: false })).rejects.toThrow("no words");
});

peer("espeak-ng").it("the real program is understood", async () => {
  const engine = createSpeechEngine(systemClock);
  const voices = await engine.voices();
  expect(voices.map(({ language }) => language)).toEqual(expect.arrayContaining(["en-US", "de", "en-GB"]));
  const wav = await engine.speak({ text: "Attention please. This is a test.", voice: "en-us", wordsPerMinute: 155 });
  inspectWav(wav);
  const samples = decodeWav(wav);
  expect(samples.length / 8_000).toBeGreaterThan(1);
  expect(samples.some((sample) => Math.abs(sample) > 0.1)).toBe(true);
});

describe("the words", () => {
  const message = { subject: "Fire", body: "Leave!", ttsCustomContent: "Own", drill: false };
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
