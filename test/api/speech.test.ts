import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { createTextToSpeechEngine } from "../../src/media/text-to-speech.ts";
import { createSpeechSynthesizer, type SpeechSynthesizer } from "../../src/notifications/compose/speech-synthesis.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { createTtsProgramStub } from "../support/tts-program-stub.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
let speech: SpeechSynthesizer;
beforeAll(async () => {
  const later: Pick<SpeechSynthesizer, "preview" | "check" | "previewOf"> = {
    check: (...given) => speech.check(...given),
    preview: (...given) => speech.preview(...given),
    previewOf: (hash) => speech.previewOf(hash),
  };
  api = await openApi(makeTempDir(), { needs: { speech: later } });
});
afterAll(() => api.close());

const begin = async (program: string) => {
  speech = createSpeechSynthesizer({
    store: api.store,
    engine: createTextToSpeechEngine(systemClock, program),
    by: api.system,
  });
  await speech.start();
};
const preview = (json: object) => api.call("POST", "/tts", { json });

it("has no voices without a speech engine, and a preview reports that", async () => {
  await begin("/nowhere/speaker");
  expect((await api.call("GET", "/tts-voices")).body).toMatchObject({ total: 0, data: [] });
  const { status, body } = await preview({ ttsType: "subject", subject: "x" });
  expect([status, body.type]).toEqual([400, "invalid-value"]);
  expect(body.errors[0].message).toContain("No speech engine is installed on this appliance.");
});

it("synthesizes a preview and serves it by its hash", async () => {
  await begin(createTtsProgramStub().program);
  const voices = (await api.call("GET", "/tts-voices?sort=-language")).body.data;
  expect(voices[0]).toMatchObject({ name: "English (Great Britain)", language: "en-GB", engine: "standard" });
  const words = { ttsType: "subject", subject: "Fire", ttsVoiceId: voices[1].id, "tts-speed": "fast" };
  const { body } = await preview(words);
  expect(body).toEqual({ audioHash: expect.stringMatching(/^[0-9a-f]{64}$/), audioSize: 8_044 });
  const heard = await fetch(`${api.base}/tts/${body.audioHash}`, { headers: { authorization: `Bearer ${api.token}` } });
  expect([heard.headers.get("content-type"), (await heard.arrayBuffer()).byteLength]).toEqual(["audio/wav", 8_044]);
  expect((await api.call("GET", `/tts/${"0".repeat(64)}`)).status).toBe(404);
  const wrong = await preview({ ttsType: "song", ttsSpeed: "x" });
  expect([wrong.status, wrong.body.errors.length]).toEqual([400, 2]);
  expect((await preview({ ...words, ttsVoiceId: "3f2504e0-4f89-41d3-9a0c-0305e82c3301" })).status).toBe(404);
});

it("marked-up words are checked, and the sound itself, its hash or nothing but its faults is answered", async () => {
  const { program, said } = createTtsProgramStub();
  await begin(program);
  const ssml = (content: string, more: object = {}) =>
    preview({ ttsType: "custom-ssml", ttsCustomContent: `<speak>${content}</speak>`, ...more });
  expect((await ssml("Go <break time='1s'/> out")).body.audioSize).toBe(8_044);
  expect((await ssml("Go", { return: "fail" })).body).toEqual({ audioHash: null, audioSize: 0 });
  const heard = await ssml("Now", { return: "audio", validateTts: "length" });
  expect([heard.status, heard.headers.get("content-type")]).toEqual([200, "audio/wav"]);
  expect(readFileSync(said, "utf8").match(/-m -v/g)).toHaveLength(2);
  for (const [content, words] of [
    ["a <b>", "well-formed XML"],
    ['<audio src="file:///etc/passwd"/>', "<audio> is not supported"],
    ["<script/>", "<script> is not supported"],
    ["<prosody onload='x'>a</prosody>", "does not support onload"],
    ["<break time='99s'/>a", "must not take more than 10 s"],
    ["&file;", "entity"],
    ["", "no text to speak"],
    [`${"<s>".repeat(30)}x${"</s>".repeat(30)}`, "deep"],
    ["<s/>".repeat(1_001), "more than 1000 elements"],
  ]) {
    const { status, body } = await ssml(content as string, { return: "fail" });
    expect([content, status, body.errors[0].message]).toEqual([content, 400, expect.stringContaining(words as string)]);
  }
  const typed = await preview({ ttsType: "custom-ssml", ttsCustomContent: "<!DOCTYPE speak><speak>x</speak>" });
  expect(typed.body.errors[0].message).toContain("document type");
  const template = { name: "Marked", subject: "S", ttsType: "custom-ssml", ttsCustomContent: "<speak>" };
  expect((await api.call("POST", "/message-templates", { json: template })).status).toBe(400);
});
