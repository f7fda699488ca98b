import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { collaborationGroupHooks } from "../../../src/plugin-host/collaboration-group-hooks.ts";
import collaborationGroups from "../../../src/resources/collaboration/collaboration-groups.ts";
import extensions from "../../../src/resources/devices/extensions.ts";
import deliveries from "../../../src/resources/notifications/deliveries.ts";
import type { ResourceHooks } from "../../../src/store/store.ts";
import { type BroadcastFixture, openBroadcasts } from "../notifications/notification-fixture.ts";

let fixture: BroadcastFixture;
beforeEach(async () => {
  fixture = await openBroadcasts({ "collaboration-groups": collaborationGroupHooks as unknown as ResourceHooks });
  await fixture.create(extensions, { name: "Chat", type: "collaboration", deviceType: "chat-rooms" });
  await fixture.create(extensions, { name: "Bells", type: "device", deviceType: "pagers" });
});
afterEach(() => fixture.close());

const group = (more: object = {}) => fixture.create(collaborationGroups, { name: "Ops", type: "chat-rooms", ...more });

describe("a collaboration group", () => {
  it("is of a type that a collaboration extension serves", async () => {
    await expect(group({ properties: { room: 7 } })).resolves.toMatchObject({ properties: { room: 7 } });
    for (const type of ["pagers", "chat-room", "CHAT-ROOMS"]) {
      await expect(group({ type })).rejects.toMatchObject({ faults: [{ field: "type", type: "invalid-value" }] });
    }
    await expect(group({ properties: [1] })).rejects.toMatchObject({ faults: [{ field: "properties" }] });
  });

  it("can be changed when its extension is gone", async () => {
    const { id } = await group();
    const [chat] = fixture.store.find(extensions, { deviceType: "chat-rooms" });
    await fixture.store.remove(extensions, chat?.id ?? "", fixture.by);
    await expect(fixture.store.update(collaborationGroups, id, { name: "New" }, fixture.by)).resolves.toMatchObject({
      name: "New",
      type: "chat-rooms",
    });
  });

  it("is in the ledger of a message to it, once, and not told in words", async () => {
    const [one, two] = [await group(), await group({ name: "Two" })];
    const phones = await fixture.group("All", [await fixture.phone("SEP001122334401").then(() => "SEP001122334401")]);
    const collaborationGroupIds = [one.id, two.id];
    const { id } = await fixture.send({ subject: "x", deviceGroupIds: [phones], collaborationGroupIds });
    await fixture.run(id);
    await fixture.run(id);
    const rows = fixture.store.find(deliveries, { notificationId: id });
    expect(rows.map(({ name, level, reason }) => [name, level, reason])).toEqual([
      ["The SEP001122334401", "planned", null],
      ["Ops", "skipped", "Nothing here serves groups of type chat-rooms."],
      ["Two", "skipped", "Nothing here serves groups of type chat-rooms."],
    ]);
    expect(rows[1]).toMatchObject({ collaborationGroupId: one.id, deviceId: null, endedAt: fixture.clock.now() });
  });
});
