import { afterEach, beforeEach, expect, it } from "vitest";
import {
  notificationProfileHooks,
  serializeSettings,
  updateSetting,
} from "../../../../src/notifications/compose/notification-profile-hooks.ts";
import { compileProfileSchema } from "../../../../src/notifications/compose/profile-settings.ts";
import { parseEffectiveSettings, parseSendingProfile } from "../../../../src/notifications/compose/sending-profile.ts";
import { providerSettings } from "../../../../src/notifications/engine/delivery-providers.ts";
import extensions from "../../../../src/resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID } from "../../../../src/resources/devices/on-premises-extension.ts";
import notificationProfiles from "../../../../src/resources/profiles/notification-profiles.ts";
import { integer, option } from "../../../../src/schema/field.ts";
import type { ResourceHooks } from "../../../../src/store/store.ts";
import { type BroadcastFixture, openBroadcasts } from "../notification-fixture.ts";

const id = ONPREM_EXTENSION_ID;
let scene: BroadcastFixture;
beforeEach(async () => {
  const behaviour = notificationProfileHooks((of) => scene.schemas.get(of) ?? null);
  scene = await openBroadcasts({ [notificationProfiles.name]: behaviour as unknown as ResourceHooks });
});
afterEach(() => scene.close());

const profile = (value: object, more: object = {}) =>
  scene.create(notificationProfiles, { name: "P", settings: [{ id, value }], ...more });
const message = async (more: object = {}) => {
  await scene.phone("SEP001");
  const group = await scene.group("G", ["SEP001"]);
  return { subject: "x", deviceGroupIds: [group], alertTone: "tone", ...more };
};

it("sends a message with its profile's settings and its sender's overrides", async () => {
  const { id: notificationProfileId } = await profile({ priority: 2, repetitions: 2, volume: "Low" });
  const input = await message({ notificationProfileId, extensionSettingsOverrides: { [id]: { volume: "Maximum" } } });
  const row = await scene.run((await scene.send(input)).id);
  expect(row.priorityLevel).toBe(2);
  expect(parseSendingProfile(row)).toMatchObject({ repetitions: 2, volume: "Maximum", priority: 2 });
  const once = await scene.run((await scene.send({ ...input, notificationProfileId: null })).id);
  expect([row.programmeMs, once.programmeMs]).toEqual([3_000, 1_500]);
  // An accepted message does not change.
  await scene.store.update(notificationProfiles, notificationProfileId, { settings: [] }, scene.by);
  expect(parseSendingProfile(row)).toMatchObject({ repetitions: 2 });
});

it("uses the default profile where none is named, and keeps it", async () => {
  const settings = [{ id, disabled: false, value: { priority: 7 } }];
  const made = await scene.store.create(notificationProfiles, { name: "D", settings }, scene.by, { default: true });
  expect((await scene.send(await message())).priorityLevel).toBe(7);
  await expect(scene.store.remove(notificationProfiles, made.id, scene.by)).rejects.toThrow("default");
});

it("sends text without audio, and fills the time until expiry with endless repetitions", async () => {
  const words = await profile({ messageType: "Text" });
  const silent = await scene.run((await scene.send(await message({ notificationProfileId: words.id }))).id);
  expect([silent.programmeSha, silent.programmeMs]).toEqual([null, null]);
  const endless = await profile({ repeatIndefinitely: true, repetitionPause: 0.5 });
  const input = { subject: "x", deviceGroupIds: silent.deviceGroupIds, alertTone: "tone", expiration: 11 };
  const filled = await scene.run((await scene.send({ ...input, notificationProfileId: endless.id })).id);
  // Five times 1.5 s with 0.5 s between are 9.5 s.
  expect(filled.programmeMs).toBe(9_500);
});

it("reaches no on-premises device when the profile excludes them", async () => {
  const { id: notificationProfileId } = await profile({}, { settings: [{ id, disabled: true, value: {} }] });
  const row = await scene.run((await scene.send(await message({ notificationProfileId }))).id);
  expect(scene.store.one("SELECT count(*) AS n FROM deliveries WHERE notification_pk = ?", row.pk)).toEqual({ n: 0 });
});

it.each([
  [{ volume: "Loud" }, "settings[0].value.volume"],
  [{ repetitions: 0 }, "settings[0].value.repetitions"],
  [{ loudness: 3 }, "settings[0].value.loudness"],
  [[], "settings[0].value"],
])("refuses %j", async (value, field) => {
  const error = await profile(value).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ type: "invalid-value", faults: [{ field }] });
});

it.each([[[{ id: "x" }]], [[{ id }, { id }]], [[3]], [{ x: {} }]])("rejects settings %j", async (settings) => {
  await expect(scene.create(notificationProfiles, { name: "P", settings })).rejects.toMatchObject({
    type: "invalid-value",
  });
});

it("validates plugin settings against the plugin's fields, and passes them on with defaults", async () => {
  const plugin = scene.needs.providers.extensionId("ip-phones");
  await scene.store.create(extensions, { name: "ip-phones", type: "endpoint-proxy" }, scene.by, { id: plugin });
  const fields = {
    colour: option("Colour.", ["red", "blue"], { default: "blue" }),
    blinks: integer("Blinks.", { default: 3 }),
  };
  scene.schemas.set(plugin, compileProfileSchema(fields));
  const settings = (value: object) => ({ settings: [{ id: plugin, value }] });
  for (const value of [{ colour: "green" }, { smell: "burnt" }])
    await expect(profile({}, settings(value))).rejects.toThrow(/settings\[0\]\.value\./);
  const made = await profile({}, settings({ colour: "red" }));
  expect(serializeSettings(made, scene.store, (of) => scene.schemas.get(of) ?? null)[1]).toMatchObject({
    value: { colour: "red" },
    extension: { effectiveConfig: { colour: "red", blinks: 3 } },
  });
  const input = await message({ notificationProfileId: made.id });
  const overrides = (value: object) => ({ ...input, extensionSettingsOverrides: { [plugin]: value } });
  await expect(scene.send(overrides({ blinks: "often" }))).rejects.toThrow("extensionSettingsOverrides");
  const row = await scene.run((await scene.send(overrides({ blinks: 5 }))).id);
  const told = providerSettings("ip-phones", parseEffectiveSettings(row), scene.needs.providers);
  expect(told).toEqual({ disabled: false, value: { colour: "red", blinks: 5 } });
  // A newer version knows other colours: what it does not know any more is left to the default.
  scene.schemas.set(plugin, compileProfileSchema({ colour: option("Colour.", ["white"], { default: "white" }) }));
  expect(providerSettings("ip-phones", parseEffectiveSettings(row), scene.needs.providers).value).toEqual({
    colour: "white",
  });
});

it("skips the devices of an excluded plugin with a reason, and no others", async () => {
  const plugin = scene.needs.providers.extensionId("ip-phones");
  await scene.store.create(extensions, { name: "ip-phones", type: "endpoint-proxy" }, scene.by, { id: plugin });
  const { id: notificationProfileId } = await profile({}, { settings: [{ id: plugin, disabled: true, value: {} }] });
  await scene.zone("Gym");
  await scene.phone("SEP001");
  const group = await scene.group("G", ["SEP001", "zone:Gym"]);
  const row = await scene.run((await scene.send({ subject: "x", deviceGroupIds: [group], notificationProfileId })).id);
  const sql = "SELECT level, reason FROM deliveries WHERE notification_pk = ? ORDER BY type";
  expect(scene.store.all(sql, row.pk)).toEqual([
    { level: "skipped", reason: "The notification profile excludes the plugin ip-phones." },
    { level: "planned", reason: null },
  ]);
});

it("shows and changes the settings of one extension", async () => {
  const made = await profile({ priority: 3 });
  const [shown] = serializeSettings(made, scene.store, () => null);
  expect(shown).toMatchObject({
    id,
    value: { priority: 3 },
    extension: { effectiveConfig: { priority: 3, volume: "As-Is" } },
  });
  await updateSetting(scene.store, made.id, id, { value: { volume: "Low" } }, scene.by);
  await updateSetting(scene.store, made.id, id, { disabled: true }, scene.by);
  const after = scene.store.get(notificationProfiles, made.id);
  expect(after?.settings).toEqual([{ id, disabled: true, value: { volume: "Low" } }]);
});
