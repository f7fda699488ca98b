import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { notificationHooks } from "../../src/notifications/engine/notification-hooks.ts";
import type { NotificationService } from "../../src/notifications/notification-service.ts";
import notificationRecipients from "../../src/resources/notifications/notification-recipients.ts";
import notifications from "../../src/resources/notifications/notifications.ts";
import type { ActorContext, ResourceHooks } from "../../src/store/store.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";
import { createWav, PNG_BYTES } from "./sample-files.ts";

const PROGRAMME = createWav(0.05);

let api: ApiFixture;

/** Stores what it is told, sends nothing. */
const notificationService = {
  countRecipients: async () => null,
  findReachWarnings: async () => [],
  send: (input: Record<string, unknown>, by: ActorContext) => api.store.create(notifications, input, by),
  toneAudio: async (tone: string) => (tone === "silent" ? null : PROGRAMME),
  getRenderedAudio: async (id: string) => (api.store.get(notifications, id)?.alertTone === "silent" ? null : PROGRAMME),
} as unknown as NotificationService;

beforeAll(async () => {
  const behaviours = { notifications: { present: notificationHooks.present } as unknown as ResourceHooks };
  api = await openApi(makeTempDir(), { needs: { notificationService }, behaviours });
});
afterAll(() => api.close());

describe("sound and picture", () => {
  const sound = async () =>
    (
      await api.call("POST", "/notifications", {
        multipart: [
          ["subject", "S"],
          ["audio", new File([createWav(0.1)], "call.wav")],
          ["image", new File([PNG_BYTES], "map.png")],
        ],
      })
    ).body;
  const bytes = async (path: string, token = api.token) => {
    const response = await fetch(api.base + path, { headers: { authorization: `Bearer ${token}` } });
    return { status: response.status, headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) };
  };

  it("are returned as uploaded, and as played", async () => {
    const { id } = await sound();
    const recording = await bytes(`/notifications/${id}/audio`);
    expect(recording.headers.get("content-type")).toBe("audio/wav");
    expect(recording.bytes).toEqual(createWav(0.1));
    const programme = await bytes(`/notifications/${id}/audio?form=programme`);
    expect(programme.headers.get("content-type")).toBe("audio/wav");
    expect(programme.bytes).toEqual(PROGRAMME);
    const picture = await bytes(`/notifications/${id}/image`);
    expect(picture.headers.get("content-type")).toBe("image/png");
    expect(picture.bytes).toEqual(PNG_BYTES);
  });

  it("answer 404 if there are none, or if the caller may not see the notification", async () => {
    const silent = (await api.call("POST", "/notifications", { json: { subject: "S", alertTone: "silent" } })).body;
    expect((await bytes(`/notifications/${silent.id}/audio`)).status).toBe(404);
    expect((await bytes(`/notifications/${silent.id}/audio?form=programme`)).status).toBe(404);
    expect((await bytes(`/notifications/${silent.id}/audio?form=mp3`)).status).toBe(400);
    expect((await bytes(`/notifications/${silent.id}/image`)).status).toBe(404);
    const { id } = await sound();
    const reader = await api.user("Ann", "get /notifications/*");
    const stranger = await api.user("Bob");
    expect((await bytes(`/notifications/${id}/audio`, reader.token)).status).toBe(200);
    expect((await bytes(`/notifications/${id}/audio`, stranger.token)).status).toBe(404);
    await api.store.create(notificationRecipients, { notificationId: id }, api.system, {
      userId: stranger.id,
      name: "R",
    });
    expect((await bytes(`/notifications/${id}/audio`, stranger.token)).status).toBe(403);
    expect((await bytes(`/users/${stranger.id}/notifications/${id}/audio`, stranger.token)).status).toBe(200);
    expect((await bytes(`/users/${stranger.id}/notifications/${id}/image`, stranger.token)).status).toBe(200);
  });
});

describe("alert tones", () => {
  it("can be played by every known user", async () => {
    const { token } = await api.user("Ann");
    const listen = (name: string, as: string | null = token) =>
      fetch(`${api.base}/alert-tones/${name}/audio`, as === null ? {} : { headers: { authorization: `Bearer ${as}` } });
    const chime = await listen("chime");
    expect([chime.status, chime.headers.get("content-type")]).toEqual([200, "audio/wav"]);
    expect(new Uint8Array(await chime.arrayBuffer())).toEqual(PROGRAMME);
    expect((await listen("silent")).status).toBe(404);
    expect((await listen("constructor")).status).toBe(404);
    expect((await listen("chime", null)).status).toBe(401);
  });
});
