import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";

let server: Server;
let daemon: TestDaemon;
let text: string;
beforeAll(async () => {
  server = createServer((_request, response) => void response.end(text));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  daemon = await startTestDaemon();
});
afterAll(async () => {
  await daemon.stop();
  await new Promise((done) => server.close(done));
});

it("reads a calendar as soon as somebody subscribes to it, and again when its address changes", async () => {
  text = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:20990101\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.ics`;
  const made = await daemon.call<{ id: string }>("POST", "/calendar-subscriptions", { name: "District", url });
  const path = `/calendar-subscriptions/${made.body.id}`;
  const state = async () => (await daemon.call<{ state: string }>("GET", path)).body.state;
  await expect.poll(state).toBe("current");
  text = "<html></html>";
  await daemon.call("PUT", path, { url: `${url}?moved` });
  await expect.poll(state).toBe("failed");
});
