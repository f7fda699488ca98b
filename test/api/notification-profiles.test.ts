import { afterAll, beforeAll, expect, it } from "vitest";
import extensions from "../../src/resources/devices/extensions.ts";
import { ONPREM_EXTENSION_ID as id } from "../../src/resources/devices/on-premises-extension.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { type ApiFixture, openApi } from "./api-fixture.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await openApi(makeTempDir());
  await api.store.create(extensions, { name: "onprem", type: "endpoint-proxy" }, api.system, { id });
});
afterAll(() => api.close());

it("settings are shown, changed and copied by extension", async () => {
  const json = { name: "Loud", settings: [{ id, value: { volume: "Maximum" } }] };
  const { body: made } = await api.call("POST", "/notification-profiles", { json });
  expect(made).toMatchObject({ default: false, settings: [{ id, disabled: false, value: { volume: "Maximum" } }] });
  const at = `/notification-profiles/${made.id}/settings`;
  const listed = (await api.call("GET", at)).body;
  expect([listed.total, listed.partial, listed.next]).toEqual([1, false, null]);
  expect(listed.data[0]).toMatchObject({ id, name: "onprem", extension: { effectiveConfig: { repetitions: 1 } } });
  const changed = await api.call("PUT", `${at}/${id}`, { json: { disabled: true, value: { repetitions: 3 } } });
  expect(changed.body).toMatchObject({ disabled: true, value: { repetitions: 3 } });
  expect((await api.call("GET", `${at}/${id}`)).body).toEqual(changed.body);
  const wrong = await api.call("PUT", `${at}/${id}`, { json: { value: { repetitions: "often" } } });
  expect([wrong.status, wrong.body.errors[0].field]).toEqual([400, "settings[0].value.repetitions"]);
  expect((await api.call("GET", `${at}/3f2504e0-4f89-41d3-9a0c-0305e82c3301`)).status).toBe(404);
  const copy = await api.call("POST", `/notification-profiles/${made.id}/clone`);
  expect(copy.body).toMatchObject({ name: "Loud (Copy)", default: false, settings: [{ value: { repetitions: 3 } }] });
  const stranger = await api.user("Eve");
  expect((await api.call("GET", at, { token: stranger.token })).status).toBe(403);
});

it("settings may be an object by extension, of values or of entries", async () => {
  const post = (settings: object) => api.call("POST", "/notification-profiles", { json: { name: "P", settings } });
  for (const settings of [
    { [id]: { volume: "Low" } },
    { [id]: { value: { volume: "Low" } } },
    { [id]: { value: { volume: "Low" }, disabled: false } },
    { [id.toUpperCase()]: { id, name: "onprem", value: { volume: "Low" }, disabled: false, extension: {} } },
  ])
    expect((await post(settings)).body.settings).toEqual([{ id, disabled: false, value: { volume: "Low" } }]);
  expect((await post({ [id]: { disabled: true } })).body.settings).toEqual([{ id, disabled: true, value: {} }]);
  expect((await post({})).body.settings).toEqual([]);
  const field = async (settings: object) => {
    const { status, body } = await post(settings);
    return [status, body.errors?.[0].field];
  };
  expect(await field({ [id]: { repetitions: "often" } })).toEqual([400, `settings.${id}.value.repetitions`]);
  expect(await field({ [id]: 3 })).toEqual([400, `settings.${id}.value`]);
  expect(await field({ onprem: {} })).toEqual([400, "settings.onprem.id"]);
  expect(await field({ [id]: {}, [id.toUpperCase()]: {} })).toEqual([400, `settings.${id.toUpperCase()}.id`]);
});
