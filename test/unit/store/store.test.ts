import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { everybody, keepers, keys, openTestStore, rooms } from "./store-fixture.ts";

it("smoke", async () => {
  const dir = mkdtempSync(join(tmpdir(), "store-"));
  const store = openTestStore(dir);
  const room = await store.create(
    rooms,
    { name: "A", since: "2026-01-01T00:00:00Z", pin: "1234", place: { floor: 1 } },
    everybody,
  );
  expect(store.get(rooms, room.id)).toMatchObject({ name: "A", seats: 1, place: { floor: 1 }, ghostId: null });
  const keeper = await store.create(keepers, { name: "K", roomIds: [room.id] }, everybody);
  await store.update(rooms, room.id, { keeperId: keeper.id, place: { wing: "w" } }, everybody);
  expect(store.get(rooms, room.id)).toMatchObject({ keeperId: keeper.id, place: { floor: 1, wing: "w" } });
  const key = await store.create(keys, { roomId: room.id, code: "x" }, everybody);
  const page = store.page(rooms, { within: { keeperId: keeper.id }, sort: "name", limit: 1 });
  expect(page).toMatchObject({ total: 1, partial: false, next: null, previous: null });
  await store.remove(rooms, room.id, everybody);
  expect(store.get(keys, key.id)).toBeNull();
  expect(store.get(keepers, keeper.id)?.roomIds).toEqual([]);
  await expect(store.create(rooms, { name: "a", ghostId: key.id }, everybody)).rejects.toMatchObject({
    type: "invalid-value",
  });
  await store.create(rooms, { name: "a" }, everybody);
  await expect(store.create(rooms, { name: "A" }, everybody)).rejects.toMatchObject({
    type: "conflict",
    field: "name",
  });
  await store.close();
  const again = openTestStore(dir);
  expect(again.count(rooms, {})).toBe(1);
  await again.close();
});
